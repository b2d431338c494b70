//! Device memory: buffers, views into them, and copies.
//!
//! Lengths and ranges count elements; only names with `byte` in them count bytes.

mod array;
mod array_format;
mod buffer;
mod copy;
mod copy_batch;
mod copy_peer;
mod copy_region;
mod device_copy;
mod fill;
mod global;
mod home;
mod mipmap;
mod pitched;
#[cfg(feature = "bytemuck")]
mod plain;
mod pointer;
mod region;
mod region_batch;
mod tensor_layout;
mod tensor_map;
mod texture;
mod view;
mod view_parts;

pub use array::{ArrayFlags, ArrayShape, CudaArray};
pub use array_format::{ArrayDescriptor, ArrayElement, ArrayFormat};
pub use buffer::DeviceBuffer;
pub use copy_batch::CopyBatch;
pub use copy_region::{CopySource, CopyTarget};
pub use device_copy::DeviceCopy;
pub use fill::FillElement;
pub use global::{ModuleConstant, ModuleGlobal};
pub(crate) use home::{Home, Origin};
pub use mipmap::MipmappedArray;
pub use pitched::PitchedBuffer;
#[cfg(feature = "bytemuck")]
pub use plain::Plain;
pub use pointer::{DevicePtr, DevicePtrMut};
pub use region::{Extent, RowLayout};
pub use region_batch::RegionBatch;
pub use tensor_layout::{Interleave, L2Promotion, OutOfBoundsFill, Swizzle, TensorDataType};
pub use tensor_map::{Im2colMap, TensorMap, TiledMap};
pub use texture::{
    AddressMode, FilterMode, SurfaceHandle, SurfaceObject, TextureDescriptor, TextureFlags, TextureHandle,
    TextureObject,
};
pub use view::{DeviceSlice, DeviceSliceMut, DeviceView, DeviceViewMut, SliceParts};
pub use view_parts::{Chunks, ChunksExact, ChunksExactMut, ChunksMut};
