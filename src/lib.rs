#![doc = include_str!("../README.md")]

mod doctor;
mod driver;
mod error;
pub mod launch;
mod memory;

pub use cuda_driver_sys as sys;
pub use cuda_driver_sys::Driver;
#[cfg(feature = "derive")]
pub use cuda_launch_macros::DeviceCopy;

pub use doctor::{DeviceReport, Doctor, DriverReport, DriverSource, KernelModule, Variable, doctor};
pub use driver::{
    CacheConfig, ContextFlags, ContextLimit, ContextOptions, ContextSchedule, CudaContext, CudaDevice,
    CudaEvent, CudaFunction, CudaModule, CudaStream, DeviceAttribute, DeviceLimits, DeviceUuid, EventFlags,
    Kernel, ParameterSource, Parameters, PeerAttribute, PrimaryContextState, StreamFlags, default_driver,
    load_kernel_module,
};
pub use error::{
    ArgumentMismatch, AttributeError, Axis, CompilerLog, ContextInUse, ContextMismatch, DriverError, Error,
    ErrorKind, Faulted, Forked, Given, KernelNotFound, LaunchError, LengthMismatch, LoadError,
    ModuleNotFound, NoDriver, NotInCapture, Suspect, Tried, Wanted,
};
pub use launch::{
    AccessPolicyWindow, AccessProperty, Attribute, ClusterSchedulingPolicy, Dim3, LaunchConfig,
    MemSyncDomain, PortableClusterMode, SharedMemoryMode, SynchronizationPolicy,
};
pub use memory::{
    DeviceBuffer, DeviceCopy, DevicePtr, DevicePtrMut, DeviceSlice, DeviceSliceMut, DeviceView,
    DeviceViewMut, SliceParts,
};
