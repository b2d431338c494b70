//! Copies of values that a program passes by address, such as a kernel's parameters.
#![allow(unsafe_code)]
// Relies on: what memory has are numbers, whether or not Rust thinks that they were written. A structure of C has padding that nobody sets; to
// read it as numbers is undefined in Rust, and for a driver it is bytes as others.

use std::mem::MaybeUninit;

/// Fills `target` with the bytes at `source`, of which some may be padding that was never written: those are any numbers.
///
/// # Safety
/// 1. `source` is valid for reads of `target.len()` bytes, none of which is in `target`, and nothing writes them meanwhile.
pub unsafe fn copy(source: *const u8, target: &mut [u8]) {
    let to = target.as_mut_ptr().cast::<MaybeUninit<u8>>();
    // SAFETY: by duty 1 that many bytes can be read, which nothing writes meanwhile, and `target` has as many, apart from
    // them; a `MaybeUninit<u8>` may be any byte, at any address.
    unsafe { source.cast::<MaybeUninit<u8>>().copy_to_nonoverlapping(to, target.len()) };
    // SAFETY: no instruction is made of it. It is given the address of `target`, whose bytes it may write for all that the compiler knows:
    // from here on each is the number that the memory has. Miri, which cannot run it, tells if one was not written.
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
