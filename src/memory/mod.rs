//! Device memory: buffers, views into them, and copies.
//!
//! | for | use |
//! |---|---|
//! | device memory | [`DeviceBuffer`], and [`DeviceView`], [`DeviceViewMut`] of a part of it |
//! | copies that do not wait | [`PinnedBuffer`] on the host; [`CudaContext::with_registered`](crate::CudaContext::with_registered) for memory that you have |
//! | one address for host and devices | [`ManagedBuffer`]; [`PrefetchBatch`] prefetches many parts in one call |
//! | rows with a pitch, copies of rectangles and boxes | [`PitchedBuffer`], [`CudaStream::copy_region`](crate::CudaStream::copy_region) |
//! | many copies in one call | [`CopyBatch`], [`RegionBatch`] |
//! | where memory comes from | [`MemoryPool`] |
//! | buffers that grow in place | `GrowableBuffer` (feature `virtual-memory`) |
//! | your own types as arguments and elements | [`DeviceSlice`], [`DeviceCopy`] |
//!
//! Lengths and ranges count elements; only items with `byte` in their names count bytes.
//!
//! ```
//! use cuda_launch::{CudaContext, DeviceBuffer};
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
//! x.slice_mut(2..).set_zero(&stream)?;
//! let y = x.try_clone(&stream)?;
//! assert_eq!(y.to_host_vec(&stream)?, [1.0, 2.0, 0.0, 0.0]);
//! # Ok::<(), cuda_launch::Error>(())
//! ```

mod advice;
mod aligned;
mod allocation;
mod buffer;
pub(crate) mod constant_view;
mod copy;
mod device_copy;
mod device_slice;
#[cfg(feature = "dlpack")]
pub(crate) mod dlpack;
#[cfg(feature = "interop")]
pub(crate) mod external;
mod fill;
pub(crate) mod foreign;
pub(crate) mod global;
#[cfg(feature = "interop")]
pub(crate) mod ipc;
pub(crate) mod location;
mod managed;
pub(crate) mod object;
pub(crate) mod os_handle;
mod pinned;
mod pitched;
#[cfg(feature = "bytemuck")]
mod plain;
mod pointer;
mod pool;
mod prefetch_batch;
mod registered;
#[cfg(any(feature = "interop", feature = "virtual-memory"))]
mod share;
mod stream_buffers;
pub(crate) mod stream_memory;
#[cfg(feature = "tensor")]
pub(crate) mod tensor;
#[cfg(feature = "texture")]
pub(crate) mod texture;
#[cfg(feature = "virtual-memory")]
pub(crate) mod virtual_memory;

pub use advice::{MemoryAdvice, RangeState};
pub(crate) use allocation::Allocation;
pub use buffer::DeviceBuffer;
pub use buffer::parts::{Chunks, ChunksExact, ChunksExactMut, ChunksMut};
pub use buffer::view::{DeviceView, DeviceViewMut};
pub use copy::batch::CopyBatch;
pub use copy::layout::{Extent, RowLayout};
pub use copy::region::{CopySource, CopyTarget};
pub use copy::region_batch::RegionBatch;
pub use device_copy::{DeviceCopy, NoAddress};
pub use device_slice::{DeviceSlice, DeviceSliceMut, SliceParts};
pub use fill::FillElement;
pub(crate) use fill::Word;
pub use location::{MemoryAccess, MemoryLocation};
pub use managed::{ManagedAttach, ManagedBuffer};
pub(crate) use object::{ObjectParts, Reach, Shared};
pub use pinned::view::{PinnedView, PinnedViewMut};
pub use pinned::{PinnedBuffer, PinnedFlags};
pub use pitched::PitchedBuffer;
pub(crate) use pitched::RowParts;
#[cfg(feature = "bytemuck")]
pub use plain::Plain;
pub use pointer::attributes::{MemoryType, PointerAttributes};
pub use pointer::{DevicePtr, DevicePtrMut};
pub use pool::attributes::{PoolReuse, PoolUse};
pub use pool::{MemoryPool, PoolOptions};
pub use prefetch_batch::PrefetchBatch;
pub use registered::RegisterFlags;
#[cfg(feature = "virtual-memory")]
pub use virtual_memory::growable::GrowableBuffer;
