//! Loads and stores of bytes that other threads may touch at the same time.
#![allow(unsafe_code)]
// Relies on: the caller passes pointers into memory that is live during the call, and every other access to that memory while it is
// shared is made through this module too, or by the exchanges of `engine::exec::atomics`, which are atomic: that is what "as the
// head of this file says" means. A kernel's accesses are relaxed atomics, which are plain moves on the supported machines;
// concurrent accesses of different sizes to the same bytes are not defined yet by Rust's memory model, but are by these machines.
// Copies move bytes that may be padding of the host's structures, which an atomic cannot hold: they are volatile, the same plain
// moves, and race in the same way if a program lets a kernel and a copy overlap. "Others" in the duties are all parts of the
// emulator. For memory that the host can access too (managed, registered, its own), the program itself is included: it must order
// its accesses with the device's work or make them atomic, as CUDA requires, or it has a data race here as on a GPU.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Memory of a number, which may be padding.
type Unknown<T> = MaybeUninit<T>;

/// A number that memory holds at its natural alignment.
pub trait Word: Copy + Default + 'static {
    /// Size and alignment in bytes.
    const BYTES: usize;

    /// Loads from `pointer`.
    ///
    /// # Safety
    /// 1. `pointer` is aligned to `BYTES` and valid for reads.
    /// 2. While others may write there, they do so as the head of this file says.
    unsafe fn load(pointer: *const u8) -> Self;

    /// Stores to `pointer`.
    ///
    /// # Safety
    /// 1. `pointer` is aligned to `BYTES` and valid for reads and writes.
    /// 2. While others may read or write there, they do so as the head of this file says.
    unsafe fn store(pointer: *mut u8, value: Self);
}

macro_rules! word {
    ($($word:ty, $atomic:ty;)*) => {$(
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();

            #[inline(always)]
            unsafe fn load(pointer: *const u8) -> Self {
                // SAFETY: aligned and valid for reads: duty 1. A relaxed load of at most 8 bytes does not write, and is allowed on
                // read-only memory ("Atomic accesses to read-only memory" in `std::sync::atomic`, for x86-64 and aarch64). Others use the
                // bytes meanwhile as the head of this file says (duty 2), which is equivalent to atomics for the reasons given there.
                unsafe { (*pointer.cast::<$atomic>()).load(Relaxed) }
            }

            #[inline(always)]
            unsafe fn store(pointer: *mut u8, value: Self) {
                // SAFETY: aligned and valid for reads and writes: duty 1. Others use the bytes meanwhile as in `load`:
                // duty 2.
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

/// The number of bytes to move at once: an aligned word in one move, so that a concurrent reader never sees part of it.
#[inline(always)]
fn step(address: usize, rest: usize) -> usize {
    match () {
        _ if address.is_multiple_of(8) && rest >= 8 => 8,
        _ if address.is_multiple_of(4) && rest >= 4 => 4,
        _ => 1,
    }
}

/// Copies bytes out of shared memory, numbers or padding.
///
/// # Safety
/// 1. `source` is valid for reads of `target.len()` bytes.
/// 2. While others may write there, they do so as the head of this file says.
pub unsafe fn read(source: *const u8, target: &mut [MaybeUninit<u8>]) {
    let mut done = 0;
    while done < target.len() {
        let step = step(source.addr().wrapping_add(done), target.len() - done);
        // SAFETY: `step` bytes are left on both sides (duty 1 and the loop's condition), and the address in shared
        // memory is a multiple of `step`; `target` belongs to the caller alone. Others access that memory by plain
        // moves like these, or by exchanges (duty 2; the head of this file explains the basis).
        unsafe {
            let (from, to) = (source.add(done), target.as_mut_ptr().add(done));
            match step {
                8 => to.cast::<Unknown<u64>>().write_unaligned(from.cast::<Unknown<u64>>().read_volatile()),
                4 => to.cast::<Unknown<u32>>().write_unaligned(from.cast::<Unknown<u32>>().read_volatile()),
                _ => to.write(from.cast::<Unknown<u8>>().read_volatile()),
            }
        }
        done += step;
    }
}

/// Copies `source`, numbers or padding, into shared memory.
///
/// # Safety
/// 1. `target` is valid for writes of `source.len()` bytes.
/// 2. While others may read or write there, they do so as the head of this file says.
pub unsafe fn write(target: *mut u8, source: &[MaybeUninit<u8>]) {
    let mut done = 0;
    while done < source.len() {
        let step = step(target.addr().wrapping_add(done), source.len() - done);
        // SAFETY: `step` bytes are left on both sides (duty 1 and the loop's condition), and the address in shared
        // memory is a multiple of `step`; `source` is borrowed, so it is not written. Others access that memory by
        // plain moves like these, or by exchanges (duty 2; the head of this file explains the basis).
        unsafe {
            let (from, to) = (source.as_ptr().add(done), target.add(done));
            match step {
                8 => to.cast::<Unknown<u64>>().write_volatile(from.cast::<Unknown<u64>>().read_unaligned()),
                4 => to.cast::<Unknown<u32>>().write_volatile(from.cast::<Unknown<u32>>().read_unaligned()),
                _ => to.cast::<Unknown<u8>>().write_volatile(from.read()),
            }
        }
        done += step;
    }
}

/// Loads bytes of shared memory as a kernel does. A program that reads padding as numbers gets unspecified bytes, as on a
/// GPU.
///
/// # Safety
/// 1. `source` is valid for reads of `target.len()` bytes.
/// 2. While others may write there, they do so as the head of this file says.
pub unsafe fn load(source: *const u8, target: &mut [u8]) {
    let mut done = 0;
    while done < target.len() {
        let step = step(source.addr().wrapping_add(done), target.len() - done);
        let part = &mut target[done..done + step];
        // SAFETY: `step` bytes are left, valid for reads (duty 1), at an address that is a multiple of `step`: duty 1 of `Word::load`;
        // duty 2 is the same.
        unsafe {
            let from = source.add(done);
            match step {
                8 => part.copy_from_slice(&u64::load(from).to_ne_bytes()),
                4 => part.copy_from_slice(&u32::load(from).to_ne_bytes()),
                _ => part.copy_from_slice(&[u8::load(from)]),
            }
        }
        done += step;
    }
}

/// Numbers, as bytes that may be padding.
pub fn bytes(numbers: &[u8]) -> &[MaybeUninit<u8>] {
    // SAFETY: the same bytes, lent for as long and for reading; `MaybeUninit<u8>` has the layout of `u8`, and any byte is one.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len()) }
}

/// Copies eight numbers of 4 (`WIDE`: 8) bytes out of or into shared memory: equivalent to that many relaxed accesses, in few vector
/// moves if the CPU has them. An access of 8 bytes counts as two of 4.
///
/// # Safety
/// 1. The numbers are aligned to their size and valid, for reads in the source and for reads and writes in the target; the two do not
///    overlap.
/// 2. While others may write the source, or read or write the target, they do so as the head of this file says.
/// 3. The CPU, if it is an x86, has AVX2.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
pub unsafe fn copy_eight<const WIDE: bool>(source: *const u8, target: *mut u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for part in 0..if WIDE { 2 } else { 1 } {
        // SAFETY: the assembly moves 32 bytes, which are valid on both sides (duty 1), with instructions that the CPU has (duty 3), and
        // does nothing else. Concurrent writes of other threads (duty 2) are invisible to the compiler.
        unsafe {
            std::arch::asm!(
                "vmovups {value}, [{source}]",
                "vmovups [{target}], {value}",
                value = out(ymm_reg) _,
                source = in(reg) source.add(part * 32),
                target = in(reg) target.add(part * 32),
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    for lane in 0..8 {
        // SAFETY: the number is aligned to its size and valid on both sides, and others use it as `Word` requires:
        // the caller's duties 1 and 2.
        unsafe {
            if WIDE {
                u64::store(target.add(lane * 8), u64::load(source.add(lane * 8)));
            } else {
                u32::store(target.add(lane * 4), u32::load(source.add(lane * 4)));
            }
        }
    }
}

/// Loads those of eight numbers of 4 (`WIDE`: 8) bytes whose bits are set in `live` from shared memory, as [`copy_eight`] does.
///
/// # Safety
/// 1. The numbers of `live` are aligned to their size and valid for reads in the source.
/// 2. While others may write those, they do so as the head of this file says.
/// 3. All eight numbers of the target are aligned to their size, valid for reads and writes, and not used by others
///    meanwhile.
/// 4. The CPU, if it is an x86, has AVX2.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
pub unsafe fn load_eight<const WIDE: bool>(source: *const u8, target: *mut u8, live: u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for part in 0..if WIDE { 2 } else { 1 } {
        use std::arch::{asm, x86_64::*};
        let (source, target) = (source.wrapping_add(part * 32), target.wrapping_add(part * 32));
        // A number's mask is its sign bit.
        let mask = if WIDE {
            let bits = _mm256_set1_epi64x(i64::from(live) >> (part * 4));
            _mm256_sllv_epi64(bits, _mm256_setr_epi64x(63, 62, 61, 60))
        } else {
            let bits = _mm256_set1_epi32(i32::from(live));
            _mm256_sllv_epi32(bits, _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24))
        };
        // SAFETY: the assembly reads those of the 32 bytes that the mask selects, which are valid (duty 1), and writes 32 bytes of the
        // target, which are valid and not used by others (duty 3), leaving the values of unselected numbers unchanged. It uses instructions
        // that the CPU has (duty 4) and does nothing else: bytes of other numbers of the source are neither read nor can they fault.
        // Concurrent writes of other threads (duty 2) are invisible to the compiler. It does not use a masked store, which takes ten times
        // as long on some processors.
        unsafe {
            if WIDE {
                asm!(
                    "vpmaskmovq {value}, {mask}, [{source}]",
                    "vmovups {before}, [{target}]",
                    "vblendvpd {value}, {before}, {value}, {mask}",
                    "vmovups [{target}], {value}",
                    value = out(ymm_reg) _,
                    before = out(ymm_reg) _,
                    mask = in(ymm_reg) mask,
                    source = in(reg) source,
                    target = in(reg) target,
                    options(nostack, preserves_flags),
                );
            } else {
                asm!(
                    "vpmaskmovd {value}, {mask}, [{source}]",
                    "vmovups {before}, [{target}]",
                    "vblendvps {value}, {before}, {value}, {mask}",
                    "vmovups [{target}], {value}",
                    value = out(ymm_reg) _,
                    before = out(ymm_reg) _,
                    mask = in(ymm_reg) mask,
                    source = in(reg) source,
                    target = in(reg) target,
                    options(nostack, preserves_flags),
                );
            }
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    for lane in (0..8).filter(|lane| live & 1 << lane != 0) {
        // SAFETY: the number is live, so aligned to its size and valid on both sides, and others use it as `Word`
        // requires: the caller's duties 1 to 3.
        unsafe {
            if WIDE {
                u64::store(target.wrapping_add(lane * 8), u64::load(source.wrapping_add(lane * 8)));
            } else {
                u32::store(target.wrapping_add(lane * 4), u32::load(source.wrapping_add(lane * 4)));
            }
        }
    }
}
