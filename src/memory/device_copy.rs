//! Which Rust values may be copied to the device as they are.

#![allow(unsafe_code)] // Implementing an unsafe trait for types whose every bit pattern is a value.

use super::pointer::{DevicePtr, DevicePtrMut};

/// Plain data: may be copied to and from the device byte for byte.
///
/// Implemented for numbers, arrays, `half` floats (feature `half`), tensor maps, and device pointers. For a `repr(C)`
/// struct of such fields write `#[derive(Clone, Copy, DeviceCopy)]`.
///
/// `bool`, `char` and enums are not: what a kernel writes need not be one of their values. Pass one with `byval(x)`, keep
/// them in buffers as `u8` or `u32`. References and host pointers are not, because the device cannot follow them.
///
/// # Safety
/// 1. Every bit pattern is a valid value of the type.
/// 2. The type has a defined layout: a primitive, `repr(C)` or `repr(transparent)`.
/// 3. It holds no reference to or pointer into host memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel as a plain value",
    label = "not plain device data",
    note = "a buffer is passed as `slice(x)`, `slice_mut(x)` or `x.as_device_ptr()`; host data must be copied to a `DeviceBuffer` first",
    note = "a struct of plain data needs `#[repr(C)]` and `#[derive(Clone, Copy, DeviceCopy)]`; closures, tuples, `bool` and foreign types go as `byval(x)`"
)]
pub unsafe trait DeviceCopy: Copy + 'static {
    /// What a parameter of this type is called in messages about mismatches.
    #[doc(hidden)]
    const KIND: ScalarKind = ScalarKind::Other;
}

/// Scalar types that a kernel parameter can be told from by its PTX type.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// `f32` or `f64`.
    Float,
    /// Any integer.
    Integer,
    /// A device address.
    Address,
    /// Anything else.
    Other,
}

macro_rules! scalars {
    ($($ty:ty => $kind:ident),* $(,)?) => {$(
        // SAFETY: 1, 2: every bit pattern of this primitive is a value; 3: it is a number.
        unsafe impl DeviceCopy for $ty {
            const KIND: ScalarKind = ScalarKind::$kind;
        }
    )*};
}

scalars! {
    u8 => Integer, u16 => Integer, u32 => Integer, u64 => Integer, u128 => Integer, usize => Integer,
    i8 => Integer, i16 => Integer, i32 => Integer, i64 => Integer, i128 => Integer, isize => Integer,
    f32 => Float, f64 => Float,
}

#[cfg(feature = "half")]
scalars! { half::f16 => Other, half::bf16 => Other }

// SAFETY: 1 to 3 hold for each element; arrays have no padding of their own.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}

// SAFETY: 1, 2: a transparent u64; 3: an address of the device.
unsafe impl<T: 'static> DeviceCopy for DevicePtr<T> {
    const KIND: ScalarKind = ScalarKind::Address;
}

// SAFETY: as for `DevicePtr`.
unsafe impl<T: 'static> DeviceCopy for DevicePtrMut<T> {
    const KIND: ScalarKind = ScalarKind::Address;
}

// SAFETY: 1, 2: an opaque `repr(C)` array of u64; 3: the driver encodes device addresses only.
unsafe impl DeviceCopy for cuda_driver_sys::CUtensorMap {}
