//! Device memory: buffers, views into them, and copies.
//!
//! Lengths and ranges count elements; only items with `byte` in their names count bytes.

mod advice;
mod aligned;
#[cfg(feature = "texture")]
pub(crate) mod array;
#[cfg(feature = "texture")]
pub(crate) mod array_format;
mod buffer;
pub(crate) mod constant_view;
mod copy;
mod copy_batch;
mod copy_peer;
#[cfg(feature = "async")]
mod copy_raw;
mod copy_region;
mod device_copy;
#[cfg(feature = "dlpack")]
pub(crate) mod dlpack;
#[cfg(feature = "dlpack")]
#[doc(hidden)]
pub mod dlpack_abi;
#[cfg(feature = "interop")]
pub(crate) mod external_memory;
#[cfg(feature = "interop")]
pub(crate) mod external_semaphore;
mod fill;
pub(crate) mod foreign;
pub(crate) mod global;
#[cfg(feature = "virtual-memory")]
mod growable;
mod home;
#[cfg(feature = "interop")]
pub(crate) mod ipc;
pub(crate) mod location;
mod managed;
#[cfg(feature = "virtual-memory")]
pub(crate) mod mapping;
#[cfg(feature = "texture")]
pub(crate) mod mipmap;
#[cfg(feature = "virtual-memory")]
pub(crate) mod multicast;
pub(crate) mod object;
pub(crate) mod os_handle;
#[cfg(feature = "virtual-memory")]
pub(crate) mod physical;
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
#[cfg(any(feature = "interop", feature = "virtual-memory"))]
mod share;
mod stream_buffers;
pub(crate) mod stream_memory;
#[cfg(feature = "texture")]
pub(crate) mod surface;
#[cfg(feature = "tensor")]
pub(crate) mod tensor_layout;
#[cfg(feature = "tensor")]
pub(crate) mod tensor_map;
#[cfg(feature = "tensor")]
pub(crate) mod tensor_map_object;
#[cfg(feature = "texture")]
pub(crate) mod texture_descriptor;
#[cfg(feature = "texture")]
pub(crate) mod texture_object;
mod view;
mod view_parts;

pub use advice::{MemoryAdvice, RangeState};
pub use buffer::DeviceBuffer;
pub use copy_batch::CopyBatch;
pub use copy_region::{CopySource, CopyTarget};
pub use device_copy::{DeviceCopy, NoAddress};
pub use fill::FillElement;
pub(crate) use fill::Word;
#[cfg(feature = "virtual-memory")]
pub use growable::GrowableBuffer;
pub(crate) use home::Home;
pub use location::{MemoryAccess, MemoryLocation};
pub use managed::{ManagedAttach, ManagedBuffer};
pub(crate) use object::{ObjectParts, Reach, Shared};
pub use pinned::{PinnedBuffer, PinnedFlags};
pub use pinned_view::{PinnedView, PinnedViewMut};
pub use pitched::PitchedBuffer;
pub(crate) use pitched::RowParts;
#[cfg(feature = "bytemuck")]
pub use plain::Plain;
pub use pointer::{DevicePtr, DevicePtrMut};
pub use pointer_attributes::{MemoryType, PointerAttributes};
pub use pool::{MemoryPool, PoolOptions, PoolReuse, PoolUse};
pub use region::{Extent, RowLayout};
pub use region_batch::RegionBatch;
pub use registered::RegisterFlags;
pub use view::{DeviceSlice, DeviceSliceMut, DeviceView, DeviceViewMut, SliceParts};
pub use view_parts::{Chunks, ChunksExact, ChunksExactMut, ChunksMut};
