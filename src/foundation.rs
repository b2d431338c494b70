//! What a framework builds its own launches on: argument lists, the packet, one `submit`, and submissions that are ordered against
//! all other work.
//!
//! A list of arguments is a type, `Cons<A, Cons<B, Nil>>`; [`kernel_args!`](crate::kernel_args) writes one. [`submit`] checks it
//! against the kernel and launches; [`Packet`] is the `void**` alone, for a driver call of your own.
//! Raw handles go both ways: each type of this crate has `raw`, and `from_raw` where it can own one; memory that you
//! allocated becomes a buffer by [`DeviceBuffer::from_raw_parts`](crate::DeviceBuffer::from_raw_parts), which takes its
//! [ownership](crate::interop::RawOwnership).

pub use crate::launch::args::{
    ArgumentList, Bits, Cons, Memory, Name, Nil, Object, ParameterType, Pointer, Role, Rows, Signature,
    Slice, Value,
};
pub use crate::launch::packet::Packet;
pub use crate::launch::record::Report;
pub use crate::launch::submit::submit;
pub use crate::ordering::Submission;
