#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The examples of the page.
#[cfg(doctest)]
#[doc = include_str!("../docs/migration.md")]
mod migration {}

pub mod compile;
mod doctor;
mod driver;
mod error;
pub mod graph;
pub mod launch;
mod memory;
#[cfg(feature = "nvtx")]
pub mod nvtx;
#[cfg(feature = "async")]
pub mod operation;
mod ordering;
mod show;
mod trace;

pub use cuda_driver_sys as sys;
pub use cuda_driver_sys::Driver;
#[cfg(feature = "derive")]
pub use cuda_launch_macros::{DeviceCopy, cuda_module};

pub use compile::{load_kernel_file, load_kernel_module};
pub use doctor::{DeviceReport, Doctor, DriverReport, DriverSource, KernelModule, Variable, doctor};
pub use driver::CaptureStatus;
pub use driver::{
    AnyEvent, BlockSizeQuery, CacheConfig, ContextFlags, ContextLimit, ContextOptions, ContextSchedule,
    Coredump, CoredumpFlags, CoredumpSwitch, CudaContext, CudaDevice, CudaEvent, CudaFunction, CudaLibrary,
    CudaModule, CudaStream, DeviceAttribute, DeviceLimits, DeviceUuid, DriverLog, EventFlags,
    EventRecordFlags, EventWaitFlags, FunctionAttribute, FunctionLimits, GreenContext, HostWait, IpcEvent,
    IpcEventHandle, JitCacheMode, JitFallback, JitOptions, JitReport, JitTarget, Kernel, KernelEntry,
    LibraryKernel, LibraryOptions, LinkInput, LinkedImage, Linker, LoadingMode, LogLevel, LogListener,
    OccupancyFlags, ParameterSource, Parameters, PeerAttribute, PotentialBlockSize, PrimaryContextState,
    Profiler, SharedCarveout, SmResource, SmSplitFlags, StreamFlags, StreamPriorities, TimingEvent,
    default_driver,
};
#[cfg(feature = "async")]
pub use error::OperationError;
pub use error::{
    AliasedMemory, ArgumentMismatch, ArtifactRefusal, AttributeError, Axis, BadMapping, CaptureError,
    CastError, CompileError, CompilerLog, ContextInUse, ContextMismatch, ContractError, Diagnostic,
    DlPackError, DriverError, Error, ErrorKind, EventError, Faulted, Forked, Given, GlobalError, GraphError,
    HostAccess, HostPanic, InHostCallback, IndexRange, KernelNotFound, LaunchError, LengthMismatch,
    LoadError, Misaligned, ModuleNotFound, NoArtifact, NoDriver, NotInCapture, ObjectError, PlanError,
    Refusal, RegionError, Severity, Suspect, TensorMapError, TextureError, Tried, Unsupported, UpdateRefusal,
    Wanted,
};
pub use graph::{CaptureMode, CudaGraph, GraphExec, GraphNode, InstantiateFlags, LaunchPlan, NodeKind};
pub use launch::{
    AccessPolicyWindow, AccessProperty, Attribute, ClusterSchedulingPolicy, DeviceNode, Dim3, KernelArgument,
    KernelNode, Launch, LaunchBuilder, LaunchConfig, MemSyncDomain, PortableClusterMode, SharedMemoryMode,
    SynchronizationPolicy,
};
#[cfg(feature = "bytemuck")]
pub use memory::Plain;
pub use memory::{
    AddressMode, ArrayDescriptor, ArrayElement, ArrayFlags, ArrayFormat, ArrayShape, BarrierScope, Chunks,
    ChunksExact, ChunksExactMut, ChunksMut, ConstantViewMut, CopyBatch, CopySource, CopyTarget, CudaArray,
    DeviceBuffer, DeviceCopy, DevicePtr, DevicePtrMut, DeviceSlice, DeviceSliceMut, DeviceView,
    DeviceViewMut, Extent, ExternalMemory, ExternalMemoryHandle, ExternalSemaphore, ExternalSemaphoreHandle,
    FillElement, FilterMode, GrowableBuffer, Im2colMap, Interleave, IpcMemoryHandle, KernelObject,
    KernelObjectMut, L2Promotion, ManagedAttach, ManagedBuffer, Mapping, MemoryAccess, MemoryAdvice,
    MemoryLocation, MemoryPool, MemoryType, MipmappedArray, ModuleConstant, ModuleGlobal, MulticastBinding,
    MulticastObject, NoAddress, OsHandle, OsHandleKinds, OutOfBoundsFill, PhysicalAllocation,
    PhysicalOptions, PinnedBuffer, PinnedFlags, PinnedView, PinnedViewMut, PitchedBuffer, PointerAttributes,
    PoolOptions, PoolReuse, PoolUse, RangeState, RawOwnership, RegionBatch, RegisterFlags, RowLayout,
    SliceParts, StreamMemoryOp, StreamValue, SurfaceHandle, SurfaceObject, Swizzle, TensorDataType,
    TensorMap, TensorMapObject, TextureDescriptor, TextureFlags, TextureHandle, TextureObject, TiledMap,
    Until, VirtualReservation, WaitValueFlags, WriteValueFlags,
};
#[cfg(feature = "dlpack")]
pub use memory::{DlElement, DlTensor, dlpack_abi};
#[cfg(feature = "async")]
pub use operation::{AsyncKernelLaunch, DeviceOperation};
