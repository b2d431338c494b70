//! Reads what arguments point to.
//!
//! Relies on: the program keeps the contract of the function that it calls, so what the driver may read the spy may read before, and what
//! the driver has written it may read after. No thread writes it meanwhile: a program that did would race with the driver.
#![allow(unsafe_code)]

use crate::functions::Plain;
use crate::kind::Kind;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr::with_exposed_provenance;

/// The longest text that is kept.
const LONGEST: usize = 4096;

/// The C string at an address; none for null.
///
/// # Safety
///
/// 1. The address is null or that of a C string, which nothing writes during the call.
pub(crate) unsafe fn text(address: u64) -> Option<String> {
    let start = with_exposed_provenance(address as usize);
    // SAFETY: not null, as is compared before this runs, so it is a C string, which ends and which nothing writes, by duty 1; the copy is made
    // two lines below.
    let text = (address != 0).then(|| unsafe { CStr::from_ptr(start) })?;
    let text = text.to_string_lossy();
    Some(text.chars().take(LONGEST).collect())
}

/// The value at an address, as a word.
///
/// # Safety
///
/// 1. The address is that of an initialised value of the type, aligned or not, which nothing writes during the call.
pub(crate) unsafe fn value(address: u64, ty: Plain) -> u64 {
    // SAFETY: 1: there is an initialised value of the type, which nothing writes, by duty 1, and each arm reads as many
    // bytes as its type has.
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
/// 1. At the address there are that many initialised bytes, which nothing writes during the call.
unsafe fn bytes<const N: usize>(address: u64) -> u64 {
    let mut word = [0; 8];
    // SAFETY: there are so many initialised bytes, which nothing writes, by duty 1; any are a `[u8; N]`, which needs no alignment.
    let value: [u8; N] = unsafe { with_exposed_provenance::<[u8; N]>(address as usize).read_unaligned() };
    word.iter_mut().zip(value).for_each(|(word, byte)| *word = byte);
    u64::from_le_bytes(word)
}

/// That many bytes at an address.
///
/// # Safety
///
/// 1. At the address there are that many bytes, initialised or padding of a C structure, and nothing writes them during the call.
pub(crate) unsafe fn block(address: u64, count: usize) -> Vec<u8> {
    if count == 0 {
        return Vec::new();
    }
    let mut bytes = vec![0; count];
    // SAFETY: 1: that many bytes are there, initialised or padding, and nothing writes them, by duty 1; none of them is in
    // the vector, which was just allocated.
    unsafe { into(address, &mut bytes) };
    bytes
}

/// As many bytes at an address as the place has. Padding that was never written becomes some number: C passes it with the structure.
///
/// # Safety
///
/// 1. At the address there are that many bytes, initialised or padding of a C structure, which are not the place's, and nothing writes them
///    during the call.
pub(crate) unsafe fn into(address: u64, place: &mut [u8]) {
    // SAFETY: 1: the caller's duty 1.
    unsafe { copy(with_exposed_provenance(address as usize), place) };
}

/// The same, from a pointer.
///
/// # Safety
///
/// 1. It is the address of that many bytes, initialised or padding of a C structure, which are not the place's, and nothing writes them during the call.
pub(crate) unsafe fn copy(from: *const MaybeUninit<u8>, place: &mut [u8]) {
    let to = place.as_mut_ptr().cast::<MaybeUninit<u8>>();
    // SAFETY: that many bytes are there, which nothing writes, by duty 1, and `place` has as many, apart from them; a
    // `MaybeUninit<u8>` may be any byte, at any address. What `place` then has are numbers: see below.
    unsafe { from.copy_to_nonoverlapping(to, place.len()) };
    // SAFETY: no instruction is made of it. It is given the place, to which it may write, for all that the compiler knows: from here on every
    // byte of it is the number that the memory has. (`cuda_emulator::memory::passed` does the same; this crate may be built without.)
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    unsafe {
        std::arch::asm!("/* {} */", in(reg) to, options(nostack, preserves_flags));
    }
}

/// A pointer in a list of them.
///
/// # Safety
///
/// 1. At the address there is a list, aligned for pointers, that has an initialised one of that number, which nothing writes during the call.
pub(crate) unsafe fn pointer(list: u64, number: usize) -> u64 {
    let list = with_exposed_provenance::<*const c_void>(list as usize);
    // SAFETY: the list has that pointer, aligned and initialised, by duty 1, so that the offset stays inside it; nobody
    // writes it, by the same.
    unsafe { list.add(number).read() }.expose_provenance() as u64
}

/// A structure at an address.
///
/// # Safety
///
/// 1. The address is that of such a structure, aligned, with all members set, which nothing writes during the call. Of a union, any bytes.
pub(crate) unsafe fn structure<T: Copy>(address: u64) -> T {
    // SAFETY: such a structure is there, aligned and set, and nothing writes it, by duty 1; it is `Copy`, so that the
    // original stays good.
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

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    #[test]
    fn blocks_are_copied_whole_from_any_address() {
        let from: Vec<u8> = (1..=64).collect();
        for (start, count) in (0..8).flat_map(|start| (0..=40).map(move |count| (start, count))) {
            let address = from[start..].as_ptr().expose_provenance() as u64;
            // SAFETY: 1: `start + count` is at most 47, and the vector has 64 bytes, which nothing writes.
            assert_eq!(unsafe { super::block(address, count) }, from[start..start + count]);
        }
    }

    /// What `block` gives is numbers, of which each stays what it is.
    #[test]
    #[cfg_attr(miri, ignore = "the padding is read")]
    fn padding_is_some_number() {
        #[repr(C)]
        struct Padded(u8, u32);
        let mut from = MaybeUninit::<Padded>::uninit();
        let start = from.as_mut_ptr();
        // SAFETY: the place is there and aligned for both members; what is between them is left as it is.
        unsafe {
            (&raw mut (*start).0).write(7);
            (&raw mut (*start).1).write(9);
        }
        // SAFETY: 1: the structure has 8 bytes, initialised or padding, and nothing writes them.
        let bytes = unsafe { super::block(start.expose_provenance() as u64, size_of::<Padded>()) };
        assert_eq!((bytes[0], &bytes[4..]), (7, &9_u32.to_ne_bytes()[..]));
    }
}
