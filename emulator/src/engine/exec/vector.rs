//! Loops that the compiler does not vectorise by itself: eight lanes at once on an x86 with AVX2, elsewhere plain loops.
#![allow(unsafe_code)]
// Relies on callers for the CPU to have AVX2, which they have checked with `vectors::available`.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64::*;
use std::ops::{BitOr, BitXor};

/// A register of addresses.
pub(crate) trait Eight:
    Copy + Default + Eq + Into<u64> + BitXor<Output = Self> + BitOr<Output = Self>
{
    /// Compares eight numbers with that of lane `first`: which are equal to it, and which differ from it by as many steps as
    /// their lanes do.
    ///
    /// # Safety
    /// 1. `numbers` is aligned and valid for reads of eight numbers, and `first` below 8.
    /// 2. The CPU, if it is an x86, has AVX2.
    unsafe fn compare(numbers: *const Self, first: usize, step: u32) -> (u8, u8);

    /// Which of 32 numbers are as many steps from the one of lane `first` as their lane is.
    ///
    /// # Safety
    /// 1. `numbers` is aligned and valid for reads of 32 numbers, and `first` below 32.
    /// 2. The CPU, if it is an x86, has AVX2.
    unsafe fn in_one_row(numbers: *const Self, first: usize, step: u32) -> u32;

    /// Whether the numbers in each half of a row follow the first one at the distances given by `steps`.
    ///
    /// # Safety
    /// 1. `numbers` is aligned and valid for reads of 32 numbers.
    /// 2. The CPU, if it is an x86, has AVX2.
    unsafe fn in_two_rows(numbers: *const Self, steps: [&Steps; 2]) -> bool;
}

/// How far each of sixteen numbers is from the first: multiples of one number, in both widths.
#[repr(C, align(32))]
pub(crate) struct Steps {
    narrow: [u32; 16],
    wide: [u64; 16],
}

impl Steps {
    const fn of(step: u32) -> Steps {
        let mut steps = Steps { narrow: [0; 16], wide: [0; 16] };
        let mut lane = 0;
        while lane < 16 {
            steps.narrow[lane] = lane as u32 * step;
            steps.wide[lane] = lane as u64 * step as u64;
            lane += 1;
        }
        steps
    }

    /// A distance of zero if all have the same address, otherwise that of consecutive numbers of that many bytes: 1, 2, 4, 8 or 16.
    #[inline(always)]
    pub(crate) fn choose(uniform: bool, bytes: u64) -> &'static Steps {
        const NONE: &Steps = &Steps::of(0);
        let steps = if uniform { NONE } else { Steps::each(bytes) };
        // SAFETY: it is the same reference, but the compiler does not know that. Otherwise it would select each number individually, with
        // branches.
        unsafe { &*another(std::ptr::from_ref(steps).cast_mut()) }
    }

    #[inline(always)]
    fn each(bytes: u64) -> &'static Steps {
        const STEPS: &[Steps; 8] = &[
            Steps::of(1),
            Steps::of(2),
            Steps::of(4),
            Steps::of(8),
            Steps::of(16),
            Steps::of(32),
            Steps::of(64),
            Steps::of(128),
        ];
        &STEPS[bytes.trailing_zeros() as usize & 7]
    }
}

macro_rules! plain_compare {
    ($number:ty, $steps:ident) => {
        /// # Safety
        /// 1. `numbers` is aligned and valid for reads of eight numbers, and `first` below 8.
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        unsafe fn compare(numbers: *const Self, first: usize, step: u32) -> (u8, u8) {
            let (mut same, mut follows) = (0, 0);
            for lane in 0..8 {
                // SAFETY: `numbers` has eight, of which `first` is one, as `lane` is: the caller's duty 1.
                let (number, start) = unsafe { (*numbers.add(lane), *numbers.add(first)) };
                let steps = (lane as $number).wrapping_sub(first as $number).wrapping_mul(step as $number);
                same |= u8::from(number == start) << lane;
                follows |= u8::from(number == start.wrapping_add(steps)) << lane;
            }
            (same, follows)
        }

        /// # Safety
        /// 1. `numbers` is aligned and valid for reads of 32 numbers, and `first` below 32.
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        unsafe fn in_one_row(numbers: *const Self, first: usize, step: u32) -> u32 {
            let follows = |lane: usize| {
                // SAFETY: `numbers` has 32, of which `first` is one, as `lane` is: the caller's duty 1.
                let (number, start) = unsafe { (*numbers.add(lane), *numbers.add(first)) };
                let steps = (lane as $number).wrapping_sub(first as $number).wrapping_mul(step as $number);
                number == start.wrapping_add(steps)
            };
            (0..32).fold(0, |lanes, lane| lanes | u32::from(follows(lane)) << lane)
        }

        /// # Safety
        /// 1. `numbers` is aligned and valid for reads of 32 numbers.
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        unsafe fn in_two_rows(numbers: *const Self, steps: [&Steps; 2]) -> bool {
            let follows = |lane: usize| {
                // SAFETY: `numbers` has 32, and `lane` is below that: the caller's duty 1.
                let (number, start) = unsafe { (*numbers.add(lane), *numbers.add(lane & 16)) };
                number.wrapping_sub(start) == steps[lane / 16].$steps[lane % 16]
            };
            (0..32).all(follows)
        }
    };
}

impl Eight for u32 {
    plain_compare!(u32, narrow);

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn compare(numbers: *const u32, first: usize, step: u32) -> (u8, u8) {
        // SAFETY: eight numbers, aligned, of which `first` is one: the caller's duty 1; the loads of all need no
        // alignment.
        let (all, start) = unsafe { (_mm256_loadu_si256(numbers.cast()), *numbers.add(first)) };
        let distance = _mm256_sub_epi32(all, _mm256_set1_epi32(start as i32));
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let lanes = _mm256_sub_epi32(lanes, _mm256_set1_epi32(first as i32));
        let steps = _mm256_mullo_epi32(lanes, _mm256_set1_epi32(step as i32));
        let bits = |equal| _mm256_movemask_ps(_mm256_castsi256_ps(equal)) as u8;
        (
            bits(_mm256_cmpeq_epi32(distance, _mm256_setzero_si256())),
            bits(_mm256_cmpeq_epi32(distance, steps)),
        )
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn in_one_row(numbers: *const u32, first: usize, step: u32) -> u32 {
        // SAFETY: `first` is one of 32 numbers: the caller's duty 1.
        let start = unsafe { *numbers.add(first) }.wrapping_sub((first as u32).wrapping_mul(step));
        let steps =
            _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(step as i32));
        let mut wanted = _mm256_add_epi32(_mm256_set1_epi32(start as i32), steps);
        let eight = _mm256_set1_epi32(step.wrapping_mul(8) as i32);
        let mut lanes = 0;
        for group in 0..4 {
            // SAFETY: 32 numbers, the caller's duty 1, are four times eight; this load needs no alignment.
            let all = unsafe { _mm256_loadu_si256(numbers.cast::<__m256i>().add(group)) };
            let equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(all, wanted));
            lanes |= (_mm256_movemask_ps(equal) as u32) << (group * 8);
            wanted = _mm256_add_epi32(wanted, eight);
        }
        lanes
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn in_two_rows(numbers: *const u32, steps: [&Steps; 2]) -> bool {
        let eights = numbers.cast::<__m256i>();
        // No `map`: it does not have these features, so that the compiler calls it, and it the closure.
        let (low, high) =
            (steps[0].narrow.as_ptr().cast::<__m256i>(), steps[1].narrow.as_ptr().cast::<__m256i>());
        // SAFETY: 32 numbers, the caller's duty 1, are four times eight, and sixteen steps two times; these loads need no alignment.
        unsafe {
            let equal = |at: usize, start: __m256i, steps: *const __m256i| {
                let wanted = _mm256_add_epi32(start, _mm256_loadu_si256(steps));
                _mm256_cmpeq_epi32(wanted, _mm256_loadu_si256(eights.add(at)))
            };
            let start = _mm256_set1_epi32(*numbers as i32);
            let first = _mm256_and_si256(equal(0, start, low), equal(1, start, low.add(1)));
            let start = _mm256_set1_epi32(*numbers.add(16) as i32);
            let second = _mm256_and_si256(equal(2, start, high), equal(3, start, high.add(1)));
            _mm256_movemask_epi8(_mm256_and_si256(first, second)) == -1
        }
    }
}

impl Eight for u64 {
    plain_compare!(u64, wide);

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn compare(numbers: *const u64, first: usize, step: u32) -> (u8, u8) {
        // SAFETY: eight numbers, aligned, of which `first` is one: the caller's duty 1; the loads of all need no
        // alignment.
        let (low, high, start) = unsafe {
            let halves = numbers.cast::<__m256i>();
            (_mm256_loadu_si256(halves), _mm256_loadu_si256(halves.add(1)), *numbers.add(first))
        };
        let start = _mm256_set1_epi64x(start as i64);
        let (low, high) = (_mm256_sub_epi64(low, start), _mm256_sub_epi64(high, start));
        // Products of signed numbers of 32 bits.
        let (lanes, step) = (_mm256_setr_epi64x(0, 1, 2, 3), _mm256_set1_epi64x(i64::from(step)));
        let lanes = _mm256_sub_epi64(lanes, _mm256_set1_epi64x(first as i64));
        let steps = _mm256_mul_epi32(lanes, step);
        let behind = _mm256_add_epi64(steps, _mm256_slli_epi64::<2>(step));
        let bits = |low, high| {
            let low = _mm256_movemask_pd(_mm256_castsi256_pd(low)) as u8;
            low | (_mm256_movemask_pd(_mm256_castsi256_pd(high)) as u8) << 4
        };
        let zero = _mm256_setzero_si256();
        (
            bits(_mm256_cmpeq_epi64(low, zero), _mm256_cmpeq_epi64(high, zero)),
            bits(_mm256_cmpeq_epi64(low, steps), _mm256_cmpeq_epi64(high, behind)),
        )
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn in_one_row(numbers: *const u64, first: usize, step: u32) -> u32 {
        let step = u64::from(step);
        // SAFETY: `first` is one of 32 numbers: the caller's duty 1.
        let start = unsafe { *numbers.add(first) }.wrapping_sub((first as u64).wrapping_mul(step));
        let at = |lane: u64| start.wrapping_add(lane * step) as i64;
        let mut wanted = _mm256_setr_epi64x(at(0), at(1), at(2), at(3));
        let four = _mm256_set1_epi64x((step * 4) as i64);
        let mut lanes = 0;
        for group in 0..8 {
            // SAFETY: 32 numbers, the caller's duty 1, are eight times four; this load needs no alignment.
            let all = unsafe { _mm256_loadu_si256(numbers.cast::<__m256i>().add(group)) };
            let equal = _mm256_castsi256_pd(_mm256_cmpeq_epi64(all, wanted));
            lanes |= (_mm256_movemask_pd(equal) as u32) << (group * 4);
            wanted = _mm256_add_epi64(wanted, four);
        }
        lanes
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn in_two_rows(numbers: *const u64, steps: [&Steps; 2]) -> bool {
        let fours = numbers.cast::<__m256i>();
        // As above.
        let steps = [steps[0].wide.as_ptr().cast::<__m256i>(), steps[1].wide.as_ptr().cast::<__m256i>()];
        // SAFETY: 32 numbers, the caller's duty 1, are two times four times four, and sixteen steps four times; these loads need no
        // alignment.
        unsafe {
            let half = |half: usize| {
                let start = _mm256_set1_epi64x(*numbers.add(half * 16) as i64);
                let equal = |at: usize| {
                    let wanted = _mm256_add_epi64(start, _mm256_loadu_si256(steps[half].add(at)));
                    _mm256_cmpeq_epi64(wanted, _mm256_loadu_si256(fours.add(half * 4 + at)))
                };
                let low = _mm256_and_si256(equal(0), equal(1));
                _mm256_and_si256(low, _mm256_and_si256(equal(2), equal(3)))
            };
            _mm256_movemask_epi8(_mm256_and_si256(half(0), half(1))) == -1
        }
    }
}

/// The same address, hidden from the compiler: otherwise it would turn a load, a selection and a store at one address into a masked
/// store, which takes ten times as long on some processors.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block)] // The block does nothing with the pointer but hand it back.
pub(crate) fn another<T>(pointer: *mut T) -> *mut T {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut pointer = pointer;
        // SAFETY: the assembly is empty and leaves the register unchanged.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) pointer, options(pure, nomem, nostack, preserves_flags));
        }
        pointer
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    pointer
}

/// The values at the indices, taken modulo 32.
///
/// # Safety
/// 1. The CPU, if it is an x86, has AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn permute(values: &[u32; 32], indices: &[u32; 32]) -> [u32; 32] {
    let mut result = [0; 32];
    let source = values.as_ptr().cast::<__m256i>();
    // SAFETY: `values` has 32 numbers, four groups of eight; these loads need no alignment.
    let (a, b, c, d) = unsafe {
        (
            _mm256_loadu_si256(source),
            _mm256_loadu_si256(source.add(1)),
            _mm256_loadu_si256(source.add(2)),
            _mm256_loadu_si256(source.add(3)),
        )
    };
    for group in 0..4 {
        // SAFETY: `indices` has 32 numbers, and `group` is below 4; this load needs no alignment.
        let index = unsafe { _mm256_loadu_si256(indices.as_ptr().cast::<__m256i>().add(group)) };
        // `vpermd` uses the low three bits; the two bits above them are shifted to the sign bit and select the group of eight.
        let (a, b) = (_mm256_permutevar8x32_epi32(a, index), _mm256_permutevar8x32_epi32(b, index));
        let (c, d) = (_mm256_permutevar8x32_epi32(c, index), _mm256_permutevar8x32_epi32(d, index));
        let odd = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index));
        let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<27>(index));
        let low = _mm256_blendv_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), odd);
        let high = _mm256_blendv_ps(_mm256_castsi256_ps(c), _mm256_castsi256_ps(d), odd);
        let chosen = _mm256_castps_si256(_mm256_blendv_ps(low, high, upper));
        // SAFETY: `result`, this function's own, has 32 numbers, and `group` is below 4; this store needs no alignment.
        unsafe { _mm256_storeu_si256(result.as_mut_ptr().cast::<__m256i>().add(group), chosen) };
    }
    result
}

/// The values at the indices, taken modulo 32.
///
/// # Safety
/// 1. None here: that of the vector code for x86.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) unsafe fn permute(values: &[u32; 32], indices: &[u32; 32]) -> [u32; 32] {
    indices.map(|index| values[index as usize & 31])
}

/// The sign bits of 32 numbers.
///
/// # Safety
/// 1. The CPU, if it is an x86, has AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn signs(numbers: &[u32; 32]) -> u32 {
    // SAFETY: `numbers` has 32 numbers, and a group is below 4; this load needs no alignment.
    let eight = |group: usize| unsafe { _mm256_loadu_si256(numbers.as_ptr().cast::<__m256i>().add(group)) };
    // Packing keeps signs, and takes from each half of a register in turn.
    let (low, high) = (_mm256_packs_epi32(eight(0), eight(1)), _mm256_packs_epi32(eight(2), eight(3)));
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_movemask_epi8(_mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order)) as u32
}

/// The sign bits of 32 numbers.
///
/// # Safety
/// 1. None here: that of the vector code for x86.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) unsafe fn signs(numbers: &[u32; 32]) -> u32 {
    (0..32).fold(0, |signs, lane| signs | numbers[lane] >> 31 << lane)
}

/// Copies the lanes of a mask from `rows` to `target`.
///
/// # Safety
/// 1. `target` is aligned, and valid for reads and writes of 32 numbers, which nobody else uses meanwhile.
/// 2. The CPU, if it is an x86, has AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn blend_words(target: *mut u32, rows: &[u32; 32], mask: u32) {
    // A number's mask is its sign bit.
    let bits = _mm256_set1_epi32(mask as i32);
    let mut up = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    let after = another(target);
    for group in 0..4 {
        let at = group * 8;
        let chosen = _mm256_castsi256_ps(_mm256_sllv_epi32(bits, up));
        // SAFETY: both have 32 numbers (duty 1), and `group` is below 4; these accesses need no alignment.
        unsafe {
            let before = _mm256_loadu_ps(target.add(at).cast());
            let new = _mm256_loadu_ps(rows.as_ptr().add(at).cast());
            _mm256_storeu_ps(after.add(at).cast(), _mm256_blendv_ps(before, new, chosen));
        }
        up = _mm256_sub_epi32(up, _mm256_set1_epi32(8));
    }
}

/// The same for numbers of 64 bits.
///
/// # Safety
/// 1. Those of [`blend_words`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn blend_wide(target: *mut u64, rows: &[u64; 32], mask: u32) {
    let bits = _mm256_set1_epi64x(i64::from(mask));
    let mut up = _mm256_setr_epi64x(63, 62, 61, 60);
    let after = another(target);
    for group in 0..8 {
        let at = group * 4;
        let chosen = _mm256_castsi256_pd(_mm256_sllv_epi64(bits, up));
        // SAFETY: both have 32 numbers (duty 1), and `group` is below 8; these accesses need no alignment.
        unsafe {
            let before = _mm256_loadu_pd(target.add(at).cast());
            let new = _mm256_loadu_pd(rows.as_ptr().add(at).cast());
            _mm256_storeu_pd(after.add(at).cast(), _mm256_blendv_pd(before, new, chosen));
        }
        up = _mm256_sub_epi64(up, _mm256_set1_epi64x(4));
    }
}
