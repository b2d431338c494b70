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
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, DeviceLimits, EventFlags, Kernel,
    ParameterSource, Parameters, StreamFlags, default_driver, load_kernel_module,
};
pub use error::{
    ArgumentMismatch, AttributeError, Axis, CompilerLog, ContextMismatch, DriverError, Error, ErrorKind,
    Faulted, Forked, Given, KernelNotFound, LaunchError, LengthMismatch, LoadError, ModuleNotFound, NoDriver,
    NotInCapture, Suspect, Tried, Wanted,
};
pub use error::{BadMapping, HostAccess};
pub use launch::{
    AccessPolicyWindow, AccessProperty, Attribute, ClusterSchedulingPolicy, Dim3, LaunchConfig,
    MemSyncDomain, PortableClusterMode, SharedMemoryMode, SynchronizationPolicy,
};
pub use memory::{
    DeviceBuffer, DeviceCopy, DevicePtr, DevicePtrMut, DeviceSlice, DeviceSliceMut, DeviceView,
    DeviceViewMut, SliceParts,
};
pub use memory::{
    ManagedAttach, ManagedBuffer, MemoryAccess, MemoryAdvice, MemoryLocation, PinnedBuffer, PinnedFlags,
    PinnedView, PinnedViewMut, RangeState, RawOwnership, RegisterFlags,
};
