#![doc = include_str!("../README.md")]

mod driver;
mod error;
pub mod graph;
pub mod launch;
mod memory;

pub use cuda_driver_sys as sys;
pub use cuda_driver_sys::Driver;
#[cfg(feature = "derive")]
pub use cuda_launch_macros::DeviceCopy;

pub use driver::{
    AnyEvent, CaptureStatus, CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, DeviceLimits,
    EventFlags, EventRecordFlags, EventWaitFlags, IpcEvent, IpcEventHandle, Kernel, ParameterSource,
    Parameters, StreamFlags, TimingEvent, default_driver, load_kernel_module,
};
pub use error::{
    ArgumentMismatch, AttributeError, Axis, CaptureError, CompilerLog, ContextMismatch, DriverError, Error,
    ErrorKind, EventError, Faulted, Forked, Given, GraphError, HostPanic, InHostCallback, KernelNotFound,
    LaunchError, LengthMismatch, LoadError, ModuleNotFound, NoDriver, NotInCapture, PlanError, Suspect, Tried,
    UpdateRefusal, Wanted,
};
pub use graph::{CaptureMode, CudaGraph, GraphExec, GraphNode, InstantiateFlags, LaunchPlan, NodeKind};
pub use launch::{
    AccessPolicyWindow, AccessProperty, Attribute, ClusterSchedulingPolicy, Dim3, KernelNode, LaunchConfig,
    MemSyncDomain, PortableClusterMode, SharedMemoryMode, SynchronizationPolicy,
};
pub use memory::{
    DeviceBuffer, DeviceCopy, DevicePtr, DevicePtrMut, DeviceSlice, DeviceSliceMut, DeviceView,
    DeviceViewMut, SliceParts,
};
