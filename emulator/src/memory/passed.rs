//! Copies of values that a program passes by address, such as a kernel's parameters.
#![allow(unsafe_code)]
// Relies on: memory contains bytes with values, whether or not they are initialised for Rust. A C structure has padding that is never set;
// reading it as numbers is undefined in Rust, but for a driver it is like other bytes.

use std::mem::MaybeUninit;

/// Fills `target` with the bytes at `source`, some of which may be padding that was never written and becomes arbitrary
/// numbers.
///
/// # Safety
/// 1. `source` is valid for reads of `target.len()` bytes, none of which is in `target`, and they are not written
///    meanwhile.
pub unsafe fn copy(source: *const u8, target: &mut [u8]) {
    let to = target.as_mut_ptr().cast::<MaybeUninit<u8>>();
    // SAFETY: by duty 1 that many bytes can be read and are not written meanwhile, and `target` has as many, without
    // overlap; a `MaybeUninit<u8>` may be any byte, at any address.
    unsafe { source.cast::<MaybeUninit<u8>>().copy_to_nonoverlapping(to, target.len()) };
    // SAFETY: the assembly is empty. It gets the address of `target`, and the compiler must assume that it writes those bytes: from here
    // on each is initialised with the value in memory. Miri, which cannot run it, reports bytes that were not written.
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    unsafe {
        std::arch::asm!("/* {} */", in(reg) to, options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_length_is_copied_from_every_alignment() {
        let from: Vec<u8> = (1..=64).collect();
        for start in 0..8 {
            for len in 0..=40 {
                let mut to = [0; 41];
                // SAFETY: 1: `start + len` is at most 47, and the vector has 64 bytes, which nothing writes; `to` is
                // another place.
                unsafe { super::copy(from.as_ptr().add(start), &mut to[..len]) };
                assert_eq!((&to[..len], to[len]), (&from[start..start + len], 0));
            }
        }
    }
}
