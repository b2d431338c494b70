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
    AnyEvent, CacheConfig, CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, DeviceLimits,
    EventFlags, EventRecordFlags, EventWaitFlags, FunctionAttribute, FunctionLimits, IpcEvent,
    IpcEventHandle, Kernel, KernelEntry, LoadingMode, ParameterSource, Parameters, SharedCarveout,
    StreamFlags, TimingEvent, default_driver, load_kernel_module,
};
pub use error::{
    ArgumentMismatch, AttributeError, Axis, CastError, CompilerLog, ContextMismatch, DriverError, Error,
    ErrorKind, EventError, Faulted, Forked, Given, GlobalError, HostPanic, InHostCallback, IndexRange,
    KernelNotFound, LaunchError, LengthMismatch, LoadError, ModuleNotFound, NoDriver, NotInCapture,
    RegionError, Suspect, Tried, Unsupported, Wanted,
};
pub use error::{BadMapping, DlPackError, HostAccess};
pub use launch::{
    AccessPolicyWindow, AccessProperty, Attribute, ClusterSchedulingPolicy, Dim3, LaunchConfig,
    MemSyncDomain, PortableClusterMode, SharedMemoryMode, SynchronizationPolicy,
};
#[cfg(feature = "bytemuck")]
pub use memory::Plain;
pub use memory::{
    ArrayDescriptor, ArrayElement, ArrayFlags, ArrayFormat, ArrayShape, Chunks, ChunksExact, ChunksExactMut,
    ChunksMut, CopyBatch, CopySource, CopyTarget, CudaArray, DeviceBuffer, DeviceCopy, DevicePtr,
    DevicePtrMut, DeviceSlice, DeviceSliceMut, DeviceView, DeviceViewMut, Extent, FillElement,
    MipmappedArray, ModuleConstant, ModuleGlobal, PitchedBuffer, RegionBatch, RowLayout, SliceParts,
};
#[cfg(feature = "dlpack")]
pub use memory::{DlElement, DlTensor, dlpack_abi};
pub use memory::{
    ExternalMemory, ExternalMemoryHandle, ExternalSemaphore, ExternalSemaphoreHandle, GrowableBuffer,
    IpcMemoryHandle, ManagedAttach, ManagedBuffer, Mapping, MemoryAccess, MemoryAdvice, MemoryLocation,
    MemoryPool, MemoryType, MulticastBinding, MulticastObject, OsHandle, OsHandleKinds, PhysicalAllocation,
    PhysicalOptions, PinnedBuffer, PinnedFlags, PinnedView, PinnedViewMut, PointerAttributes, PoolOptions,
    PoolReuse, PoolUse, RangeState, RawOwnership, RegisterFlags, VirtualReservation,
};
