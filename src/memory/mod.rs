//! Device memory: buffers, views into them, and copies.
//!
//! Lengths and ranges count elements; only names with `byte` in them count bytes.

mod buffer;
mod copy;
mod device_copy;
mod home;
mod pointer;
mod view;

pub use buffer::DeviceBuffer;
pub use device_copy::DeviceCopy;
pub(crate) use home::{Home, Origin};
pub use pointer::{DevicePtr, DevicePtrMut};
pub use view::{DeviceSlice, DeviceSliceMut, DeviceView, DeviceViewMut, SliceParts};
