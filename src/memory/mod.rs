//! Device memory: buffers, views into them, and copies.
//!
//! Lengths and ranges count elements; only names with `byte` in them count bytes.

mod advice;
mod aligned;
mod array;
mod array_format;
mod buffer;
mod constant_view;
mod copy;
mod copy_batch;
mod copy_peer;
#[cfg(feature = "async")]
mod copy_raw;
mod copy_region;
mod device_copy;
#[cfg(feature = "dlpack")]
mod dlpack;
#[cfg(feature = "dlpack")]
pub mod dlpack_abi;
mod external_memory;
mod external_semaphore;
mod fill;
mod foreign;
mod global;
mod growable;
mod home;
mod ipc;
mod location;
mod managed;
mod mapping;
mod mipmap;
mod multicast;
mod os_handle;
mod physical;
mod pinned;
mod pinned_view;
mod pitched;
#[cfg(feature = "bytemuck")]
mod plain;
mod pointer;
mod pointer_attributes;
mod pool;
mod region;
mod region_batch;
mod registered;
mod share;
mod stream_buffers;
mod stream_memory;
mod surface;
mod tensor_layout;
mod tensor_map;
mod texture;
mod texture_descriptor;
mod view;
mod view_parts;

pub use advice::{MemoryAdvice, RangeState};
pub use array::{ArrayFlags, ArrayShape, CudaArray};
pub use array_format::{ArrayDescriptor, ArrayElement, ArrayFormat};
pub use buffer::DeviceBuffer;
pub use constant_view::ConstantViewMut;
pub use copy_batch::CopyBatch;
pub use copy_region::{CopySource, CopyTarget};
pub use device_copy::DeviceCopy;
#[cfg(feature = "dlpack")]
pub use dlpack::{DlElement, DlTensor};
pub use external_memory::{ExternalMemory, ExternalMemoryHandle};
pub use external_semaphore::{ExternalSemaphore, ExternalSemaphoreHandle};
pub use fill::FillElement;
pub(crate) use fill::Word;
pub use foreign::RawOwnership;
pub use global::{ModuleConstant, ModuleGlobal};
pub use growable::GrowableBuffer;
pub(crate) use home::Home;
pub use ipc::IpcMemoryHandle;
pub use location::{MemoryAccess, MemoryLocation};
pub use managed::{ManagedAttach, ManagedBuffer};
pub use mapping::Mapping;
pub use mipmap::MipmappedArray;
pub use multicast::{MulticastBinding, MulticastObject};
pub use os_handle::{OsHandle, OsHandleKinds};
pub use physical::{PhysicalAllocation, PhysicalOptions, VirtualReservation};
pub use pinned::{PinnedBuffer, PinnedFlags};
pub use pinned_view::{PinnedView, PinnedViewMut};
pub use pitched::PitchedBuffer;
#[cfg(feature = "bytemuck")]
pub use plain::Plain;
pub use pointer::{DevicePtr, DevicePtrMut};
pub use pointer_attributes::{MemoryType, PointerAttributes};
pub use pool::{MemoryPool, PoolOptions, PoolReuse, PoolUse};
pub use region::{Extent, RowLayout};
pub use region_batch::RegionBatch;
pub use registered::RegisterFlags;
pub use stream_memory::{BarrierScope, StreamMemoryOp, StreamValue, Until, WaitValueFlags, WriteValueFlags};
pub use surface::{SurfaceHandle, SurfaceObject};
pub use tensor_layout::{Interleave, L2Promotion, OutOfBoundsFill, Swizzle, TensorDataType};
pub use tensor_map::{Im2colMap, TensorMap, TiledMap};
pub use texture::{TextureHandle, TextureObject};
pub use texture_descriptor::{AddressMode, FilterMode, TextureDescriptor, TextureFlags};
pub use view::{DeviceSlice, DeviceSliceMut, DeviceView, DeviceViewMut, SliceParts};
pub use view_parts::{Chunks, ChunksExact, ChunksExactMut, ChunksMut};
