//! Whether memory starts where its elements must.

use crate::error::{AlignmentError, Error, ErrorKind};

/// What to do about memory of a device.
pub(super) const OF_DEVICE: &str = "align the type less, or map memory (`DeviceBuffer::from_mapping`) at a \
                                    `VirtualReservation` of that alignment";
/// What to do about memory of the host.
pub(super) const OF_HOST: &str =
    "align the type less, or pin a vector (`PinnedBuffer::register`), which starts where its elements must";

/// An error unless elements of `T` may start at `address`, which the driver function `call` gave; 0 stands for no memory.
///
/// Drivers align to 256 bytes, and some memory to pages; `repr(align)` goes up to 2^29.
#[inline]
pub(super) fn aligned<T>(address: u64, call: &'static str, help: &'static str) -> Result<(), Error> {
    let align = align_of::<T>();
    if address.is_multiple_of(align as u64) {
        return Ok(());
    }
    let element = std::any::type_name::<T>();
    Err(ErrorKind::Alignment(AlignmentError { call, address, element, align, help }).into())
}
