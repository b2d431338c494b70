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
    ArgumentMismatch, AttributeError, Axis, CastError, CompilerLog, ContextMismatch, DriverError, Error,
    ErrorKind, Faulted, Forked, Given, IndexRange, KernelNotFound, LaunchError, LengthMismatch, LoadError,
    ModuleNotFound, NoDriver, NotInCapture, RegionError, Suspect, TensorMapError, TextureError, Tried,
    Wanted,
};
pub use launch::{
    AccessPolicyWindow, AccessProperty, Attribute, ClusterSchedulingPolicy, Dim3, LaunchConfig,
    MemSyncDomain, PortableClusterMode, SharedMemoryMode, SynchronizationPolicy,
};
#[cfg(feature = "bytemuck")]
pub use memory::Plain;
pub use memory::{
    AddressMode, ArrayDescriptor, ArrayElement, ArrayFlags, ArrayFormat, ArrayShape, Chunks, ChunksExact,
    ChunksExactMut, ChunksMut, CopyBatch, CopySource, CopyTarget, CudaArray, DeviceBuffer, DeviceCopy,
    DevicePtr, DevicePtrMut, DeviceSlice, DeviceSliceMut, DeviceView, DeviceViewMut, Extent, FillElement,
    FilterMode, Im2colMap, Interleave, L2Promotion, MipmappedArray, OutOfBoundsFill, PitchedBuffer,
    RegionBatch, RowLayout, SliceParts, SurfaceHandle, SurfaceObject, Swizzle, TensorDataType, TensorMap,
    TextureDescriptor, TextureFlags, TextureHandle, TextureObject, TiledMap,
};
