#![doc = include_str!("../README.md")]

mod driver;
mod error;
pub mod launch;
mod memory;

pub use cuda_driver_sys as sys;
pub use cuda_driver_sys::Driver;
#[cfg(feature = "derive")]
pub use cuda_launch_macros::DeviceCopy;

pub use driver::{
    BlockSizeQuery, CacheConfig, CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, DeviceLimits,
    EventFlags, FunctionAttribute, FunctionLimits, JitCacheMode, JitFallback, JitOptions, JitReport,
    JitTarget, Kernel, KernelEntry, LoadingMode, OccupancyFlags, ParameterSource, Parameters,
    PotentialBlockSize, SharedCarveout, StreamFlags, default_driver, load_kernel_module,
};
pub use error::{
    ArgumentMismatch, AttributeError, Axis, CompilerLog, ContextMismatch, DriverError, Error, ErrorKind,
    Faulted, Forked, Given, GlobalError, KernelNotFound, LaunchError, LengthMismatch, LoadError,
    ModuleNotFound, NoDriver, NotInCapture, Suspect, Tried, Unsupported, Wanted,
};
pub use launch::{
    AccessPolicyWindow, AccessProperty, Attribute, ClusterSchedulingPolicy, Dim3, LaunchConfig,
    MemSyncDomain, PortableClusterMode, SharedMemoryMode, SynchronizationPolicy,
};
pub use memory::{
    DeviceBuffer, DeviceCopy, DevicePtr, DevicePtrMut, DeviceSlice, DeviceSliceMut, DeviceView,
    DeviceViewMut, ModuleConstant, ModuleGlobal, SliceParts,
};
