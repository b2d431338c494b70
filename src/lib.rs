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
    AnyEvent, CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, DeviceLimits, EventFlags,
    EventRecordFlags, EventWaitFlags, IpcEvent, IpcEventHandle, Kernel, ParameterSource, Parameters,
    StreamFlags, TimingEvent, default_driver, load_kernel_module,
};
pub use driver::{
    BlockSizeQuery, CacheConfig, CudaLibrary, FunctionAttribute, FunctionLimits, JitCacheMode, JitFallback,
    JitOptions, JitReport, JitTarget, KernelEntry, LibraryKernel, LibraryOptions, LinkInput, LinkedImage,
    Linker, LoadingMode, OccupancyFlags, PotentialBlockSize, SharedCarveout,
};
pub use error::{
    ArgumentMismatch, AttributeError, Axis, CompilerLog, ContextMismatch, DriverError, Error, ErrorKind,
    EventError, Faulted, Forked, Given, HostPanic, InHostCallback, KernelNotFound, LaunchError,
    LengthMismatch, LoadError, ModuleNotFound, NoDriver, NotInCapture, Suspect, Tried, Wanted,
};
pub use error::{GlobalError, Unsupported};
pub use launch::{
    AccessPolicyWindow, AccessProperty, Attribute, ClusterSchedulingPolicy, Dim3, LaunchConfig,
    MemSyncDomain, PortableClusterMode, SharedMemoryMode, SynchronizationPolicy,
};
pub use memory::{
    DeviceBuffer, DeviceCopy, DevicePtr, DevicePtrMut, DeviceSlice, DeviceSliceMut, DeviceView,
    DeviceViewMut, ModuleConstant, ModuleGlobal, SliceParts,
};
