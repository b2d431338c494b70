//! Loads and stores of bytes that other threads may touch at the same time.
#![allow(unsafe_code)]
// Relies on: the caller passes pointers into memory that lives for the call, and every other access to that memory
// while it is shared is made through this module too. All accesses are relaxed atomics, plain moves on the machines
// we run on; accesses of different sizes to the same bytes race in a way that Rust's memory model does not define
// yet, and that these machines do.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A number that memory holds at its natural alignment.
pub trait Word: Copy + Default + 'static {
    /// Size and alignment in bytes.
    const BYTES: usize;

    /// Loads from `pointer`.
    ///
    /// # Safety
    /// `pointer` is aligned to `BYTES` and valid for reads, and is otherwise accessed through this module alone.
    unsafe fn load(pointer: *const u8) -> Self;

    /// Stores to `pointer`.
    ///
    /// # Safety
    /// `pointer` is aligned to `BYTES` and valid for writes, and is otherwise accessed through this module alone.
    unsafe fn store(pointer: *mut u8, value: Self);
}

macro_rules! word {
    ($($word:ty, $atomic:ty;)*) => {$(
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();

            #[inline(always)]
            unsafe fn load(pointer: *const u8) -> Self {
                // SAFETY: alignment and validity are the caller's duty; all accesses are atomic.
                unsafe { <$atomic>::from_ptr(pointer.cast_mut().cast()).load(Relaxed) }
            }

            #[inline(always)]
            unsafe fn store(pointer: *mut u8, value: Self) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(pointer.cast()).store(value, Relaxed) }
            }
        }
    )*};
}

word! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

/// Copies `bytes` bytes out of shared memory.
///
/// # Safety
/// `source` is valid for reads of `target.len()` bytes, which are accessed through this module alone.
pub unsafe fn read(source: *const u8, target: &mut [u8]) {
    let mut done = 0;
    // SAFETY: `done` stays below the length; a `u64` is only loaded where the address is a multiple of 8.
    unsafe {
        while done < target.len() && source.add(done).addr() % 8 != 0 {
            target[done] = u8::load(source.add(done));
            done += 1;
        }
        while target.len() - done >= 8 {
            target[done..done + 8].copy_from_slice(&u64::load(source.add(done)).to_ne_bytes());
            done += 8;
        }
        while done < target.len() {
            target[done] = u8::load(source.add(done));
            done += 1;
        }
    }
}

/// Copies `source` into shared memory.
///
/// # Safety
/// `target` is valid for writes of `source.len()` bytes, which are accessed through this module alone.
pub unsafe fn write(target: *mut u8, source: &[u8]) {
    let mut done = 0;
    // SAFETY: `done` stays below the length; a `u64` is only stored where the address is a multiple of 8.
    unsafe {
        while done < source.len() && target.add(done).addr() % 8 != 0 {
            u8::store(target.add(done), source[done]);
            done += 1;
        }
        while let Some(chunk) = source.get(done..).and_then(|rest| rest.first_chunk::<8>()) {
            u64::store(target.add(done), u64::from_ne_bytes(*chunk));
            done += 8;
        }
        while done < source.len() {
            u8::store(target.add(done), source[done]);
            done += 1;
        }
    }
}

/// Copies `BYTES` bytes, a multiple of 16, out of or into shared memory: as many relaxed accesses of 4 bytes in one
/// vector move where the CPU has them.
///
/// # Safety
/// Both pointers are aligned to 4 bytes and valid for `BYTES` bytes, which do not overlap; what is shared of them is
/// accessed through this module alone. With `VECTOR`, the CPU has AVX.
#[inline(always)]
pub unsafe fn copy_run<const BYTES: usize, const VECTOR: bool>(source: *const u8, target: *mut u8) {
    let step = if VECTOR && cfg!(all(target_arch = "x86_64", not(miri))) { 16 } else { 4 };
    let mut at = 0;
    while at < BYTES {
        // SAFETY: `at` stays below `BYTES`; the rest is passed on to the caller. The assembly moves 16 bytes and
        // does nothing else; that other threads may write them meanwhile is not for the compiler to know.
        unsafe {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            if VECTOR {
                std::arch::asm!(
                    "vmovups {value}, [{source}]",
                    "vmovups [{target}], {value}",
                    value = out(xmm_reg) _,
                    source = in(reg) source.add(at),
                    target = in(reg) target.add(at),
                    options(nostack, preserves_flags),
                );
                at += step;
                continue;
            }
            u32::store(target.add(at), u32::load(source.add(at)));
        }
        at += step;
    }
}
