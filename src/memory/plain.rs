//! Types that implement `bytemuck::Pod`, as elements and arguments.

#![allow(unsafe_code)] // Implementing an unsafe trait for a wrapper whose content `bytemuck` vouches for.

use bytemuck::{AnyBitPattern, Pod};

use super::device_copy::{DeviceCopy, NoAddress};

/// A `bytemuck::Pod` value as an element of a buffer or as an argument of a kernel.
///
/// Rust's coherence rules let this crate implement [`DeviceCopy`] for its own types and for named ones only, not for
/// every type of another trait. This wrapper is the bridge: it has the layout of `T`, and slices convert in both
/// directions without a copy. It is [`NoAddress`](crate::memory::NoAddress): do not implement `Pod` yourself for a type
/// that holds an address of the device.
///
/// ```
/// use cuda_launch::memory::Plain;
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, Debug, PartialEq)]
/// #[repr(C)]
/// struct Body { position: [f32; 3], mass: f32 }
///
/// let stream = CudaContext::new(0)?.new_stream()?;
/// let bodies = [Body { position: [0.0, 1.0, 2.0], mass: 5.0 }];
/// let buffer = DeviceBuffer::from_host(&stream, Plain::wrap_slice(&bodies))?;
/// assert_eq!(Plain::unwrap_slice(&buffer.to_host_vec(&stream)?), bodies);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Plain<T>(pub T);

#[diagnostic::do_not_recommend]
// SAFETY: 1: `Pod` says so, and `Plain` is transparent; 2: `Pod` asks for a defined layout; 3: a `Pod` type has no references, and host
// pointers are not `Pod`.
unsafe impl<T: Pod> DeviceCopy for Plain<T> {}

#[diagnostic::do_not_recommend]
// SAFETY: 1: a `Pod` type is made of numbers: neither pointers nor the addresses and handles of this crate are `Pod`, so that none can
// be derived for a type that holds one. For one that is `Pod` by hand, `Plain` says that it must not be; and the author of a `safe fn`
// that names it has it before his eyes.
unsafe impl<T: Pod> NoAddress for Plain<T> {}

impl<T: AnyBitPattern> Plain<T> {
    /// The same elements, wrapped.
    pub fn wrap_slice(values: &[T]) -> &[Self] {
        // SAFETY: `Plain<T>` is transparent around `T`, and the result borrows `values`.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
    }

    /// The same elements, wrapped, for writing.
    pub fn wrap_slice_mut(values: &mut [T]) -> &mut [Self] {
        // SAFETY: `Plain<T>` is transparent around `T`, so that what is written are values of `T`; the result borrows `values`.
        unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) }
    }

    /// The same elements, unwrapped.
    pub fn unwrap_slice(values: &[Self]) -> &[T] {
        // SAFETY: `Plain<T>` is transparent around `T`, and the result borrows `values`.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
    }
}
