//! Which Rust values may be copied to the device byte for byte.

#![allow(unsafe_code)] // Implementing an unsafe trait for types whose every bit pattern is a value.

use std::marker::PhantomData;
use std::num::Wrapping;

use super::pointer::{DevicePtr, DevicePtrMut};
use crate::driver::Kind;

/// Plain data: may be copied to and from the device byte for byte.
///
/// Implemented for numbers, arrays, `half` floats (feature `half`), tensor maps, and device pointers. For a `repr(C)`
/// struct of such fields write `#[derive(Clone, Copy, DeviceCopy)]`.
///
/// `bool`, `char` and enums are excluded because a kernel may write bits that are not one of their values. Pass one
/// with `byval(x)`, and keep them in buffers as `u8` or `u32`. `NonZero` numbers are excluded for the same reason, and
/// so is `MaybeUninit`: a copy to the host would treat uninitialised bytes as initialised. Tuples are excluded because
/// Rust may reorder their fields, so that a kernel would read the wrong ones: use arrays, or a `repr(C)` struct.
/// References and host pointers are excluded because the device cannot dereference them.
///
/// For types from other crates that are `bytemuck::Pod`, use `Plain<T>` (feature `bytemuck`).
///
/// ```
/// use cuda_launch::{CudaContext, DeviceBuffer, DeviceCopy};
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// struct Body { position: [f32; 3], mass: f32 }
///
/// let stream = CudaContext::new(0)?.new_stream()?;
/// let bodies = DeviceBuffer::from_host(&stream, &[Body { position: [0.0; 3], mass: 1.0 }; 10])?;
/// assert_eq!(bodies.to_host_vec(&stream)?[9].mass, 1.0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Safety
/// 1. Every bit pattern is a valid value of the type.
/// 2. The type has a defined layout: a primitive, `repr(C)` or `repr(transparent)`.
/// 3. It holds no reference to or pointer into host memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain device data",
    label = "not `DeviceCopy`",
    note = "pass a buffer or view as `slice(x)` or `slice_mut(x)` if the kernel takes an address and a length, as `ptr(x)` or \
            `ptr_mut(x)` if it takes a bare pointer; copy host memory into a buffer first: `DeviceBuffer::from_host(&stream, &data)?`",
    note = "a struct of plain data needs `#[repr(C)]` and `#[derive(Clone, Copy, DeviceCopy)]`; `bool` and `char` are kept \
            as `u8` and `u32`; closures, enums, tuples and types of other crates are passed to a kernel as `byval(x)`"
)]
pub unsafe trait DeviceCopy: Copy + 'static {
    /// Whether it is a float or an integer, of the types that launches tell apart.
    #[doc(hidden)]
    const KIND: Kind = Kind::Other;
}

/// Types that neither are nor contain a device address or handle: what a `safe fn` of a typed module takes by value,
/// and the element types of its slices.
///
/// Implemented for numbers, arrays of them, and structs that derive [`DeviceCopy`] and whose fields are all
/// `NoAddress`. Not for [`DevicePtr`], texture and surface handles and tensor maps, nor for types that contain one: the
/// caller could pass any value, and no kernel can promise to be safe with it. `#[cuda_module]`
/// says what to use instead.
///
/// ```
/// use cuda_launch::memory::NoAddress;
/// use cuda_launch::DeviceCopy;
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// struct Body { position: [f32; 3], mass: f32 }
/// fn any_value_will_do<T: NoAddress>() {}
/// any_value_will_do::<[Body; 4]>();
/// ```
///
/// ```compile_fail,E0277
/// use cuda_launch::memory::NoAddress;
/// use cuda_launch::{DeviceCopy, DevicePtr};
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// struct Table { rows: DevicePtr<f32>, len: u64 }
/// fn any_value_will_do<T: NoAddress>() {}
/// any_value_will_do::<[Table; 4]>();
/// ```
///
/// # Safety
/// 1. No value of the type contains anything that a kernel dereferences: an address, or the handle of a texture,
///    surface or other object. A number does not count, whatever a kernel does with it: the author who declares the kernel as
///    `safe fn` vouches for that.
#[diagnostic::on_unimplemented(
    message = "a `safe fn` cannot take `{Self}`, which may be or contain an address or a handle: the caller could pass any value",
    label = "not `NoAddress`",
    note = "declare memory as a slice, `&[T]` or `&mut [T]`, a texture as `&TextureObject`, a surface as `&SurfaceObject` or \
            `&mut SurfaceObject`, a tensor map as `&TensorMapObject` or `&mut TensorMapObject`; or declare the kernel as `fn`, \
            which makes its method `unsafe`",
    note = "a struct that derives `DeviceCopy` is `NoAddress` if all its fields are"
)]
pub unsafe trait NoAddress {}

macro_rules! plain {
    ($kind:ident: $($ty:ty),* $(,)?) => {$(
        // Not recommended, here and below: a list of some of them would not help in a message.
        #[diagnostic::do_not_recommend]
        // SAFETY: 1: every bit pattern of this number is a value; 2: it is a primitive, or transparent around one; 3: it is no pointer.
        unsafe impl DeviceCopy for $ty {
            const KIND: Kind = Kind::$kind;
        }

        #[diagnostic::do_not_recommend]
        // SAFETY: 1: a number, which does not count.
        unsafe impl NoAddress for $ty {}
    )*};
}

plain! { Integer: u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize }
plain! { Float: f32, f64 }

#[cfg(feature = "half")]
plain! { Float: half::f16, half::bf16 }

// SAFETY: 1: it contains a `T` alone, which contains none by the bound.
#[diagnostic::do_not_recommend]
unsafe impl<T: NoAddress> NoAddress for Wrapping<T> {}

// SAFETY: 1: it contains elements alone, which contain none by the bound.
#[diagnostic::do_not_recommend]
unsafe impl<T: NoAddress, const N: usize> NoAddress for [T; N] {}

// SAFETY: 1: it holds nothing.
#[diagnostic::do_not_recommend]
unsafe impl<T: ?Sized + 'static> NoAddress for PhantomData<T> {}

// SAFETY: 1 to 3: as for what is inside, since `Wrapping` is transparent.
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy> DeviceCopy for Wrapping<T> {}

// SAFETY: 1 to 3: as for each element; the layout of arrays is defined, and they have no padding of their own.
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}

// SAFETY: 1, 2: a transparent u64; 3: an address of the device.
#[diagnostic::do_not_recommend]
unsafe impl<T: 'static> DeviceCopy for DevicePtr<T> {
    const KIND: Kind = Kind::Integer;
}

// SAFETY: 1, 2: a transparent u64; 3: an address of the device.
#[diagnostic::do_not_recommend]
unsafe impl<T: 'static> DeviceCopy for DevicePtrMut<T> {
    const KIND: Kind = Kind::Integer;
}

// SAFETY: 1, 2: nothing, in a place of size zero; 3: so it holds nothing.
#[diagnostic::do_not_recommend]
unsafe impl<T: ?Sized + 'static> DeviceCopy for PhantomData<T> {}

// SAFETY: 1, 2: a `repr(C)` array of u64, which nobody here reads; 3: the driver encodes addresses as the device sees them.
#[diagnostic::do_not_recommend]
unsafe impl DeviceCopy for cuda_driver_sys::CUtensorMap {}
