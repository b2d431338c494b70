//! Copies of values that a program passes by address, such as a kernel's parameters.
#![allow(unsafe_code)]
// Relies on: what an instruction loads are numbers, whether or not Rust thinks that they were written. A structure of C has padding that
// nobody sets; to read it as numbers is undefined in Rust, and for a driver it is bytes as others.

/// Fills `target` with the bytes at `source`, of which some may be padding that was never written: those are any numbers.
///
/// # Safety
/// 1. `source` is valid for reads of `target.len()` bytes, and nobody writes them meanwhile.
pub unsafe fn copy(source: *const u8, target: &mut [u8]) {
    let (words, rest) = target.as_chunks_mut::<8>();
    for (index, word) in words.iter_mut().enumerate() {
        // SAFETY: 1: a part of the caller's bytes, by duty 1.
        *word = unsafe { eight(source.add(8 * index)) };
    }
    for (index, byte) in rest.iter_mut().enumerate() {
        // SAFETY: 1: a part of the caller's bytes, by duty 1.
        *byte = unsafe { one(source.add(8 * words.len() + index)) };
    }
}

/// Eight bytes, at any address.
///
/// # Safety
/// 1. They are valid for reads, and nobody writes them meanwhile.
unsafe fn eight(source: *const u8) -> [u8; 8] {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let value: u64;
        // SAFETY: the instruction loads eight bytes, at any address, which are valid by duty 1, and does nothing else; what it leaves in the
        // register is a number for the compiler.
        unsafe {
            std::arch::asm!("mov {}, [{}]", out(reg) value, in(reg) source, options(nostack, preserves_flags, readonly));
        }
        value.to_ne_bytes()
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let value: u64;
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("ldr {}, [{}]", out(reg) value, in(reg) source, options(nostack, preserves_flags, readonly));
        }
        value.to_ne_bytes()
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    // SAFETY: eight bytes are valid for reads, by duty 1. Miri, which this is for, tells if one was not written.
    unsafe {
        source.cast::<[u8; 8]>().read()
    }
}

/// One byte.
///
/// # Safety
/// 1. It is valid for reads, and nobody writes it meanwhile.
unsafe fn one(source: *const u8) -> u8 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let value: u32;
        // SAFETY: the instruction loads a byte, which is valid by duty 1, and does nothing else; what it leaves in the register is a number
        // for the compiler.
        unsafe {
            std::arch::asm!("movzx {:e}, byte ptr [{}]", out(reg) value, in(reg) source, options(nostack, preserves_flags, readonly));
        }
        value as u8
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let value: u32;
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("ldrb {:w}, [{}]", out(reg) value, in(reg) source, options(nostack, preserves_flags, readonly));
        }
        value as u8
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    // SAFETY: the byte is valid for reads, by duty 1. Miri, which this is for, tells if it was not written.
    unsafe {
        source.read()
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
                // SAFETY: 1: the vector has more bytes than are asked for.
                unsafe { super::copy(from.as_ptr().add(start), &mut to[..len]) };
                assert_eq!((&to[..len], to[len]), (&from[start..start + len], 0));
            }
        }
    }
}
