//! The vector code: AVX2, eight lanes at once, four where numbers have 64 bits.
#![allow(unsafe_code)]
#![allow(clippy::needless_range_loop)] // Iterators do not have these features, so that the compiler may call them.
// Relies on callers for the CPU to have AVX2 and FMA: a function with target features is only safe to call from another.

use std::arch::x86_64::*;

use super::super::interpolator::{
    EX2, FRACTION, FRACTIONS, LG2, PLACES, RCP, RSQRT, SINE, SQRT, Segment, Table,
};
use super::super::normalised::{self, Angle};
use super::super::{BIAS, INFINITY, NAN, SIGN, is_large};
use super::Row;

/// Half of a row.
type Half = [u32; 16];

/// A number in each lane of half a row: of the lower eight, and of the upper.
type Eights = [__m256i; 2];

#[inline]
#[target_feature(enable = "avx2,fma")]
fn eights(half: &Half) -> Eights {
    let eights = half.as_ptr().cast::<__m256i>();
    // SAFETY: sixteen numbers are two times eight; these loads need no alignment.
    unsafe { [_mm256_loadu_si256(eights), _mm256_loadu_si256(eights.add(1))] }
}

/// The same number in all lanes.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn all(number: u32) -> __m256i {
    _mm256_set1_epi32(number as i32)
}

/// Squares as `interpolator::square` has them, of distances.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn squares<F: Function>([first, second]: Eights) -> Eights {
    const { assert!(F::BITS == 16 || F::BITS == 17) };
    // The first eight in the lower halves of words, the second in the upper. In these halves: the upper bits, and the lower ones shifted up, so that
    // the upper half of the product with bit `n` of the upper ones is the highest `n` of the lower ones.
    let count = |bits: u32| _mm_cvtsi32_si128(bits as i32);
    let (down, up, above) = (count(F::BITS - 8), count(24 - F::BITS), count(40 - F::BITS));
    let upper = _mm256_blend_epi16::<0xaa>(_mm256_srl_epi32(first, down), _mm256_sll_epi32(second, up));
    let lower = _mm256_blend_epi16::<0xaa>(_mm256_sll_epi32(first, up), _mm256_sll_epi32(second, above));
    let mut sum = _mm256_srli_epi16::<1>(_mm256_mullo_epi16(upper, upper));
    for bit in 1..8 {
        let product = _mm256_mulhi_epu16(lower, _mm256_and_si256(upper, _mm256_set1_epi16(1 << bit)));
        sum = _mm256_add_epi16(sum, product);
    }
    [_mm256_and_si256(sum, all(0xffff)), _mm256_srli_epi32::<16>(sum)]
}

/// A function whose values are polynomials of the lowest bits of a number, chosen by those above them.
pub(super) trait Function {
    /// Bits of a distance.
    const BITS: u32;
    /// Chosen by as many bits as there are for their number, which is a power of 2.
    const SEGMENTS: &'static [Segment];

    /// The results for eight numbers and the values, cut off behind the places of a fraction.
    ///
    /// # Safety
    /// 1. The CPU has AVX2 and FMA.
    unsafe fn finish(numbers: __m256i, fractions: __m256i) -> __m256i;
}

/// The polynomials' values, as [`Segment::at`] has them: of each eight lanes the even ones and the odd ones.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn values<F: Function>(numbers: &Half) -> [[__m256i; 2]; 2] {
    const { assert!(F::SEGMENTS.len().is_power_of_two() && size_of::<Segment>() == 16) };
    let mut distances = eights(numbers);
    for eight in 0..2 {
        distances[eight] = _mm256_and_si256(distances[eight], all((1 << F::BITS) - 1));
    }
    let squares = squares::<F>(distances);
    let start = F::SEGMENTS.as_ptr().cast::<u8>();
    let segment = |lane: usize| {
        let place = numbers[lane] >> (F::BITS - 4) & (F::SEGMENTS.len() as u32 * 16 - 16);
        // SAFETY: the place is that of one of the segments, which are 16 bytes each: a constant and, behind it, two coefficients; this load needs no
        // alignment.
        unsafe { _mm256_castsi128_si256(_mm_loadu_si128(start.add(place as usize).cast())) }
    };
    let mut values = [[_mm256_setzero_si256(); 2]; 2];
    for eight in 0..2 {
        for odd in 0..2 {
            let (mut distance, mut square) = (distances[eight], squares[eight]);
            if odd == 1 {
                (distance, square) = (_mm256_srli_epi64::<32>(distance), _mm256_srli_epi64::<32>(square));
            }
            let two = |lane: usize| _mm256_permute2x128_si256::<0x20>(segment(lane), segment(lane + 4));
            let (first, second) = (two(eight * 8 + odd), two(eight * 8 + odd + 2));
            let constants = _mm256_unpacklo_epi64(first, second);
            let factors = _mm256_unpackhi_epi64(first, second);
            // Products of the signed lower halves.
            let linear = _mm256_mul_epi32(factors, distance);
            let quadratic = _mm256_mul_epi32(_mm256_srli_epi64::<32>(factors), square);
            values[eight][odd] = _mm256_add_epi64(_mm256_add_epi64(constants, linear), quadratic);
        }
    }
    values
}

/// The results for a row of numbers.
///
/// # Safety
/// 1. `numbers` are valid for reads of a row, and `results` for writes; they may be the same.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn row<F: Function>(numbers: *const Row, results: *mut Row) {
    const DOWN: i32 = (PLACES - FRACTION) as i32;
    for half in 0..2 {
        // SAFETY: a row has two halves: duty 1. It is read before its results are written.
        let (numbers, results) = unsafe {
            (&*numbers.cast::<Half>().add(half), results.cast::<Half>().add(half).cast::<__m256i>())
        };
        let (values, numbers) = (values::<F>(numbers), eights(numbers));
        for eight in 0..2 {
            let [even, odd] = values[eight];
            let (even, odd) = (_mm256_srli_epi64::<DOWN>(even), _mm256_slli_epi64::<{ 32 - DOWN }>(odd));
            let fractions = _mm256_blend_epi32::<0xaa>(even, odd);
            // SAFETY: 1: the caller has these features. Half a row is two times eight numbers: duty 1; this store needs no alignment.
            unsafe { _mm256_storeu_si256(results.add(eight), F::finish(numbers[eight], fractions)) };
        }
    }
}

/// The values for a row of numbers.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn values_of_row<F: Function>(row: &Row) -> [i64; 32] {
    let mut values_of_row = [0; 32];
    for half in 0..2 {
        let values = values::<F>(&row.as_chunks().0[half]);
        let fours = values_of_row[half * 16..].as_mut_ptr().cast::<__m256i>();
        for eight in 0..2 {
            let [even, odd] = values[eight];
            let (low, high) = (_mm256_unpacklo_epi64(even, odd), _mm256_unpackhi_epi64(even, odd));
            // SAFETY: from each half on there are four times four numbers of 64 bits; these stores need no alignment.
            unsafe {
                _mm256_storeu_si256(fours.add(eight * 2), _mm256_permute2x128_si256::<0x20>(low, high));
                _mm256_storeu_si256(fours.add(eight * 2 + 1), _mm256_permute2x128_si256::<0x31>(low, high));
            }
        }
    }
    values_of_row
}

/// Distances of 17 bits in a 64th.
const REST: u32 = Table::<64>::REST;

/// Two tables, one behind the other.
const fn both(tables: &'static [Table<64>; 2]) -> &'static [Segment] {
    // SAFETY: a table is its segments, transparently, and in an array nothing lies between them.
    unsafe { std::slice::from_raw_parts(tables.as_ptr().cast(), 128) }
}

/// Functions: bits of a distance, segments, and how the results come of numbers and fractions.
macro_rules! functions {
    ($($(#[$about:meta])* $name:ident = $bits:expr, $segments:expr, |$numbers:ident, $fractions:ident| $finish:expr;)*) => {$(
        $(#[$about])*
        pub(super) enum $name {}

        impl Function for $name {
            const BITS: u32 = $bits;
            const SEGMENTS: &'static [Segment] = $segments;

            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn finish($numbers: __m256i, $fractions: __m256i) -> __m256i {
                $finish
            }
        }
    )*};
}

functions! {
    /// `rcp.approx{.ftz}.f32`
    Rcp = 16, &RCP.0, |numbers, fractions| {
        // Less the sign is as much as with it.
        let signed = _mm256_and_si256(numbers, all(SIGN | INFINITY));
        _mm256_add_epi32(_mm256_sub_epi32(all(253 << FRACTION), signed), fractions)
    };
    /// `rsqrt.approx{.ftz}.f32`
    Rsqrt = REST, both(&RSQRT), |numbers, fractions| {
        // Half of 380 less the exponent, without a carry from the fraction.
        let twice = _mm256_sub_epi32(all((380 << FRACTION) + FRACTIONS - 1), numbers);
        let exponents = _mm256_and_si256(_mm256_srli_epi32::<1>(twice), all(INFINITY));
        // Of powers of 4 one more than the polynomial's value.
        let exact = _mm256_cmpeq_epi32(_mm256_and_si256(numbers, all(2 * FRACTIONS - 1)), all(FRACTIONS));
        _mm256_add_epi32(exponents, _mm256_sub_epi32(fractions, exact))
    };
    /// `sqrt.approx{.ftz}.f32`
    Sqrt = REST, both(&SQRT), |numbers, fractions| {
        let twice = _mm256_add_epi32(numbers, all(127 << FRACTION));
        let exponents = _mm256_and_si256(_mm256_srli_epi32::<1>(twice), all(INFINITY));
        _mm256_add_epi32(exponents, fractions)
    };
    /// 2 to the power of numbers with a fixed point.
    Power = REST, &EX2.0, |numbers, fractions| {
        let whole = _mm256_andnot_si256(all(FRACTIONS - 1), numbers);
        _mm256_add_epi32(_mm256_add_epi32(whole, all((BIAS as u32) << FRACTION)), fractions)
    };
    /// Of `lg2.approx{.ftz}.f32`.
    Lg2 = REST, &LG2.0, |_numbers, fractions| fractions;
    /// Of `sin.approx{.ftz}.f32` and `cos.approx{.ftz}.f32`.
    Sine = REST, &SINE.0, |_numbers, fractions| fractions;
}

/// `ex2.approx{.ftz}.f32`
///
/// # Safety
/// 1. Those of [`row`].
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn ex2(operands: *const Row, results: *mut Row) {
    // SAFETY: a row: duty 1.
    let operands = unsafe { *operands };
    let mut fixed = [0; 32];
    for lane in 0..32 {
        // Of the others anything that is defined: `power` says what the rest is.
        let small = if is_large(operands[lane]) { 0 } else { operands[lane] };
        // SAFETY: a finite number below 2^7 times 2^23 is one of 32 bits.
        let cut: i32 = unsafe { (f32::from_bits(small) * FRACTIONS as f32).to_int_unchecked() };
        let has_fraction = cut & (FRACTIONS as i32 - 1) != 0;
        fixed[lane] = (cut - i32::from(cut < 0 && has_fraction)) as u32;
    }
    // SAFETY: 1: a row, and the caller's duty 1.
    unsafe { row::<Power>(&raw const fixed, results) };
}

/// `lg2.approx{.ftz}.f32`
///
/// # Safety
/// 1. Those of [`row`].
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn lg2(operands: *const Row, results: *mut Row) {
    // SAFETY: a row: duty 1.
    let operands = unsafe { *operands };
    let values = values_of_row::<Lg2>(&operands);
    let mut numbers = [0; 32];
    for lane in 0..32 {
        numbers[lane] = normalised::logarithm_of(operands[lane], values[lane]);
    }
    // SAFETY: a row: duty 1.
    unsafe { *results = numbers };
}

/// `sin.approx{.ftz}.f32`
///
/// # Safety
/// 1. Those of [`row`].
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn sin(operands: *const Row, results: *mut Row) {
    // SAFETY: a row: duty 1.
    let operands = unsafe { *operands };
    let mut numbers = sines(&operands, 0);
    for lane in 0..32 {
        let number = numbers[lane];
        numbers[lane] = if number == NAN { NAN } else { number ^ operands[lane] & SIGN };
    }
    // SAFETY: a row: duty 1.
    unsafe { *results = numbers };
}

/// `cos.approx{.ftz}.f32`
///
/// # Safety
/// 1. Those of [`row`].
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn cos(operands: *const Row, results: *mut Row) {
    // SAFETY: rows: duty 1; the operands are copied before.
    unsafe { *results = sines(&*operands, 1) };
}

/// The sines of angles that so many quarters of a turn are added to.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sines(operands: &Row, quarters: u32) -> Row {
    let (mut parts, mut angles) = ([0; 32], [0; 32]);
    for lane in 0..32 {
        let Angle { quarter, part } = normalised::angle(operands[lane], quarters);
        (parts[lane], angles[lane]) = (part, quarter);
    }
    let values = values_of_row::<Sine>(&parts);
    let mut results = [0; 32];
    for lane in 0..32 {
        results[lane] = normalised::sine_of(operands[lane], angles[lane], values[lane]);
    }
    results
}
