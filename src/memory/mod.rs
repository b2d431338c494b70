//! Device memory: buffers, views into them, and copies.
//!
//! Lengths and ranges count elements; only names with `byte` in them count bytes.

mod advice;
mod buffer;
mod copy;
mod device_copy;
mod foreign;
mod home;
mod location;
mod managed;
mod pinned;
mod pinned_view;
mod pointer;
mod registered;
mod view;

pub use advice::{MemoryAdvice, RangeState};
pub use buffer::DeviceBuffer;
pub use device_copy::DeviceCopy;
pub use foreign::RawOwnership;
pub(crate) use home::{Home, Origin};
pub use location::{MemoryAccess, MemoryLocation};
pub use managed::{ManagedAttach, ManagedBuffer};
pub use pinned::{PinnedBuffer, PinnedFlags};
pub use pinned_view::{PinnedView, PinnedViewMut};
pub use pointer::{DevicePtr, DevicePtrMut};
pub use registered::RegisterFlags;
pub use view::{DeviceSlice, DeviceSliceMut, DeviceView, DeviceViewMut, SliceParts};
