//! Reads what arguments point to.
//!
//! Relies on: the program keeps the contract of the function that it calls, so what the driver may read the spy may read before, and what
//! the driver has written it may read after.
#![allow(unsafe_code)]

use crate::functions::Plain;
use crate::kind::Kind;
use std::ffi::{CStr, c_void};
use std::ptr::with_exposed_provenance;

/// The longest text that is kept.
const LONGEST: usize = 4096;

/// The C string at an address; none for null.
///
/// # Safety
///
/// 1. The address is null or that of a C string, which nobody writes during the call.
pub(crate) unsafe fn text(address: u64) -> Option<String> {
    let start = with_exposed_provenance(address as usize);
    // SAFETY: not null, so it is a C string, by duty 1.
    let text = (address != 0).then(|| unsafe { CStr::from_ptr(start) })?;
    let text = text.to_string_lossy();
    Some(text.chars().take(LONGEST).collect())
}

/// The value at an address, as a word.
///
/// # Safety
///
/// 1. The address is that of an initialised value of the type.
pub(crate) unsafe fn value(address: u64, ty: Plain) -> u64 {
    // SAFETY: 1: there is an initialised value of the type, by duty 1, and each arm reads as many bytes as its type has.
    unsafe {
        match ty {
            Plain::Unsigned(1) => bytes::<1>(address),
            Plain::Unsigned(2) => bytes::<2>(address),
            Plain::Unsigned(4) | Plain::Float | Plain::Enum(_) | Plain::Result => bytes::<4>(address),
            // Its sign counts.
            Plain::Signed => bytes::<4>(address) as u32 as i32 as i64 as u64,
            Plain::Unsigned(_) | Plain::Handle(_) | Plain::Memory | Plain::Host => bytes::<8>(address),
        }
    }
}

/// # Safety
///
/// 1. At the address there are that many initialised bytes.
unsafe fn bytes<const N: usize>(address: u64) -> u64 {
    let mut word = [0; 8];
    // SAFETY: there are so many initialised bytes, by duty 1; any are a `[u8; N]`, which needs no alignment.
    let value: [u8; N] = unsafe { with_exposed_provenance::<[u8; N]>(address as usize).read_unaligned() };
    word.iter_mut().zip(value).for_each(|(word, byte)| *word = byte);
    u64::from_le_bytes(word)
}

/// That many bytes at an address.
///
/// # Safety
///
/// 1. At the address there are that many bytes, initialised or padding of a C structure, and nobody writes them during the call.
pub(crate) unsafe fn block(address: u64, count: usize) -> Vec<u8> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: duty 1; bytes need no alignment. Padding that was never set is copied as any other byte: C has no other way to pass a
    // structure.
    unsafe { std::slice::from_raw_parts(with_exposed_provenance(address as usize), count) }.to_vec()
}

/// As many bytes at an address as the place has.
///
/// # Safety
///
/// 1. At the address there are that many bytes, initialised or padding of a C structure, which are not the place's.
#[cfg(feature = "check")]
pub(crate) unsafe fn into(address: u64, place: &mut [u8]) {
    let from = with_exposed_provenance::<u8>(address as usize);
    // SAFETY: duty 1; bytes need no alignment. Padding that was never set is copied as any other byte: C has no other way to pass a
    // structure.
    unsafe { from.copy_to_nonoverlapping(place.as_mut_ptr(), place.len()) };
}

/// A pointer in a list of them.
///
/// # Safety
///
/// 1. At the address there is a list, aligned for pointers, that has an initialised one of that number.
pub(crate) unsafe fn pointer(list: u64, number: usize) -> u64 {
    let list = with_exposed_provenance::<*const c_void>(list as usize);
    // SAFETY: the list has that pointer, aligned as C's lists are, by duty 1.
    unsafe { list.add(number).read() }.expose_provenance() as u64
}

/// A structure at an address.
///
/// # Safety
///
/// 1. The address is that of such a structure, aligned and initialised.
pub(crate) unsafe fn structure<T: Copy>(address: u64) -> T {
    // SAFETY: such a structure is there, aligned and initialised, by duty 1; it is `Copy`, so that the copy leaves it as it is.
    unsafe { with_exposed_provenance::<T>(address as usize).read() }
}

/// The streams that every context has by themselves.
pub(crate) fn common_stream(kind: Kind, handle: u64) -> Option<&'static str> {
    match (kind, handle) {
        (Kind::Stream, 0) => Some("default"),
        (Kind::Stream, 1) => Some("legacy"),
        (Kind::Stream, 2) => Some("per-thread"),
        _ => None,
    }
}
