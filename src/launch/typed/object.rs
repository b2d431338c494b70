//! Objects among the arguments of a typed kernel: textures, surfaces and tensor maps.

#![allow(unsafe_code)] // Declares functions that put objects into a list; their callers vouch for the use of the list.

use crate::error::{Error, ObjectError};
use crate::launch::args::Object;
use crate::memory::object::{KernelObject, KernelObjectMut};
use crate::memory::{DeviceCopy, DeviceSlice, NoAddress, PitchedBuffer, Reach};

/// An object that the kernel only reads.
///
/// # Safety
/// 1. The list that it is put into goes to [`submit`](crate::foundation::submit), or into an operation: those order the object and keep it.
#[inline(always)]
pub unsafe fn object<O: KernelObject + ?Sized>(object: &O) -> Object<'_, O::Handle, false> {
    Object(object.parts())
}

/// An object that the kernel may write through.
///
/// # Safety
/// 1. As [`object`].
#[inline(always)]
pub unsafe fn object_mut<O: KernelObjectMut + ?Sized>(object: &mut O) -> Object<'_, O::Handle, true> {
    Object(object.parts())
}

/// Refuses, at compile time, types that a `safe fn` cannot take.
pub const fn without_address<T: NoAddress>() {}

/// An argument of a kernel that takes objects: its name, the memory that it reaches, and how it is accessed.
#[derive(Debug)]
pub struct Argument {
    name: &'static str,
    reach: Reach,
    written: bool,
    /// Whether it is an object, and of memory that the host may see.
    object: Option<bool>,
}

/// A slice among them.
pub fn of_slice<S: DeviceSlice + ?Sized>(name: &'static str, slice: &S, written: bool) -> Argument {
    let parts = slice.parts();
    let bytes = (*parts.len * size_of::<S::Element>()) as u64;
    let reach = Reach::Addresses(*parts.address..parts.address.saturating_add(bytes));
    Argument { name, reach, written, object: None }
}

/// Rows among them.
pub fn of_rows<T: DeviceCopy>(name: &'static str, rows: &PitchedBuffer<T>, written: bool) -> Argument {
    Argument { name, reach: Reach::Addresses(rows.reach()), written, object: None }
}

/// An object among them.
pub fn of_object<O: KernelObject + ?Sized>(name: &'static str, object: &O, written: bool) -> Argument {
    let used = object.parts().of.used();
    Argument { name, reach: used.reach().clone(), written, object: Some(used.is_seen_by_host()) }
}

/// Refuses an object whose memory another argument reaches, too, if one of them writes it: unlike slices, objects do not borrow
/// their memory, so the compiler cannot check this.
///
/// # Errors
/// [`ObjectError`].
pub fn apart(kernel: &str, arguments: &[Argument]) -> Result<(), Error> {
    let kernel = || kernel.to_string();
    for (index, one) in arguments.iter().enumerate() {
        if one.object == Some(true) {
            return Err(ObjectError::SeenByHost { kernel: kernel(), object: one.name }.into());
        }
        let of_interest = |other: &&Argument| {
            (one.written || other.written)
                && (one.object.is_some() || other.object.is_some())
                && one.reach.meets(&other.reach)
        };
        if let Some(other) = arguments.iter().skip(index + 1).find(of_interest) {
            let error = ObjectError::Aliased { kernel: kernel(), first: one.name, second: other.name };
            return Err(error.into());
        }
    }
    Ok(())
}
