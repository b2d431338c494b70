//! The vector code: AVX2, eight lanes at once, four where numbers have 64 bits.
#![allow(unsafe_code)]
// Relies on callers for the CPU to have AVX2 and FMA: a function with target features is only safe to call from another.

use std::arch::x86_64::*;

use super::super::interpolator::{
    EX2, FRACTION, FRACTIONS, LG2, PLACES, RCP, RSQRT, SINE, SQRT, Segment, Table,
};
use super::super::normalised::{self, Angle};
use super::super::{BIAS, NAN, SIGN, is_positive_and_normal};
use super::{Results, Row};

/// Squares as `interpolator::square` has them, of distances of so many bits.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn squares<const BITS: u32>(distances: &Row) -> Row {
    const { assert!(BITS == 16 || BITS == 17) };
    let mut squares = [0; 32];
    for half in 0..2 {
        squares_of_sixteen::<BITS>(half, &mut squares, distances);
    }
    squares
}

/// Of the lower sixteen lanes, or the upper.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn squares_of_sixteen<const BITS: u32>(half: usize, squares: &mut Row, distances: &Row) {
    let (from, to) = (distances.as_ptr().cast::<__m256i>(), squares.as_mut_ptr().cast::<__m256i>());
    let (low, high) = (half % 2 * 2, half % 2 * 2 + 1);
    // SAFETY: 32 numbers are four times eight; these loads need no alignment.
    let (first, second) = unsafe { (_mm256_loadu_si256(from.add(low)), _mm256_loadu_si256(from.add(high))) };
    // In halves of words: the upper bits, and the lower ones shifted up, so that the upper half of the product with bit `n` of the upper ones is
    // the highest `n` of the lower ones.
    let down = _mm_cvtsi32_si128(BITS as i32 - 8);
    let up = _mm_cvtsi32_si128(24 - BITS as i32);
    let low_half = _mm256_set1_epi32(0xffff);
    let upper = _mm256_packus_epi32(_mm256_srl_epi32(first, down), _mm256_srl_epi32(second, down));
    let lower = _mm256_packus_epi32(
        _mm256_and_si256(_mm256_sll_epi32(first, up), low_half),
        _mm256_and_si256(_mm256_sll_epi32(second, up), low_half),
    );
    let mut sum = _mm256_srli_epi16::<1>(_mm256_mullo_epi16(upper, upper));
    for bit in 1..8 {
        let product = _mm256_mulhi_epu16(lower, _mm256_and_si256(upper, _mm256_set1_epi16(1 << bit)));
        sum = _mm256_add_epi16(sum, product);
    }
    let none = _mm256_setzero_si256();
    // SAFETY: as above; unpacking restores the order that packing has changed.
    unsafe {
        _mm256_storeu_si256(to.add(low), _mm256_unpacklo_epi16(sum, none));
        _mm256_storeu_si256(to.add(high), _mm256_unpackhi_epi16(sum, none));
    }
}

/// The polynomials' values, as [`Segment::at`] has them, by the numbers of the segments (those too high count as the last) and distances of so many bits.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn values<const COUNT: usize, const BITS: u32>(
    segments: &[Segment; COUNT],
    numbers: &Row,
    distances: &Row,
) -> [i64; 32] {
    let squares = squares::<BITS>(distances);
    let (mut places, mut values) = ([0; 32], [0_i64; 32]);
    // No iterators: their functions do not have these features, so that the compiler may call them.
    for lane in 0..32 {
        places[lane] = numbers[lane].min(COUNT as u32 - 1) * size_of::<Segment>() as u32;
    }
    let start = segments.as_ptr().cast::<u8>();
    for four in 0..8 {
        let at = four * 4;
        // SAFETY: a place is that of one of the segments, which are 16 bytes each: a constant and, behind it, two coefficients; this load
        // needs no alignment.
        let segment = |lane: usize| unsafe { _mm_loadu_si128(start.add(places[at + lane] as usize).cast()) };
        // SAFETY: the arrays have 32 numbers, and `at + 4` is at most that; these loads need no alignment.
        let (distance, square) = unsafe {
            let (distances, squares) = (distances.as_ptr().add(at), squares.as_ptr().add(at));
            (_mm_loadu_si128(distances.cast()), _mm_loadu_si128(squares.cast()))
        };
        let (distance, square) = (_mm256_cvtepu32_epi64(distance), _mm256_cvtepu32_epi64(square));
        let even = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(segment(0)), segment(2));
        let odd = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(segment(1)), segment(3));
        let (constant, first) = (_mm256_unpacklo_epi64(even, odd), _mm256_unpackhi_epi64(even, odd));
        // Products of the signed lower halves.
        let linear = _mm256_mul_epi32(first, distance);
        let second = _mm256_mul_epi32(_mm256_srli_epi64::<32>(first), square);
        let value = _mm256_add_epi64(_mm256_add_epi64(constant, linear), second);
        // SAFETY: the array has 32 numbers, and `at + 4` is at most that; this store needs no alignment.
        unsafe { _mm256_storeu_si256(values.as_mut_ptr().add(at).cast(), value) };
    }
    values
}

/// The values of one function of the fractions in the lowest bits, cut off behind the places of a fraction.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn fractions<const COUNT: usize, const BITS: u32>(
    segments: &[Segment; COUNT],
    numbers: &Row,
    distances: &Row,
) -> Row {
    let values = values::<COUNT, BITS>(segments, numbers, distances);
    let mut fractions = [0; 32];
    for lane in 0..32 {
        fractions[lane] = (values[lane] >> (PLACES - FRACTION)) as u32;
    }
    fractions
}

/// Two tables, one behind the other.
fn both(tables: &[Table<64>; 2]) -> &[Segment; 128] {
    // SAFETY: a table is its segments, transparently, and in an array nothing lies between them.
    unsafe { &*std::ptr::from_ref(tables).cast() }
}

/// Distances of 17 bits in a 64th.
const REST: u32 = Table::<64>::REST;
const RESTS: u32 = (1 << REST) - 1;

#[inline(always)]
fn mark(is_other: bool) -> u32 {
    u32::from(is_other).wrapping_neg()
}

/// `rcp.approx{.ftz}.f32`
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn rcp(operands: &Row) -> Results {
    let (mut numbers, mut distances, mut others) = ([0; 32], [0; 32], [0; 32]);
    for lane in 0..32 {
        let a = operands[lane];
        numbers[lane] = a >> 16 & 127;
        distances[lane] = a & 0xffff;
        others[lane] = mark((a >> FRACTION & 0xff).wrapping_sub(1) >= 252);
    }
    let mut results = fractions::<128, 16>(&RCP.0, &numbers, &distances);
    for lane in 0..32 {
        let a = operands[lane];
        let exponent = 253_u32.wrapping_sub(a >> FRACTION & 0xff) << FRACTION;
        results[lane] = (a & SIGN).wrapping_add(exponent).wrapping_add(results[lane]);
    }
    (results, others)
}

/// The fractions of a root, in 64 segments for even exponents and 64 for odd ones.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn roots(segments: &[Segment; 128], operands: &Row) -> Results {
    let (mut numbers, mut distances, mut others) = ([0; 32], [0; 32], [0; 32]);
    for lane in 0..32 {
        let a = operands[lane];
        numbers[lane] = (!a >> 17 & 64) | a >> REST & 63;
        distances[lane] = a & RESTS;
        others[lane] = mark(!is_positive_and_normal(a));
    }
    (fractions::<128, 17>(segments, &numbers, &distances), others)
}

/// `rsqrt.approx{.ftz}.f32`
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn rsqrt(operands: &Row) -> Results {
    let (mut results, others) = roots(both(&RSQRT), operands);
    for lane in 0..32 {
        let a = operands[lane];
        // Powers of 4.
        let is_exact = a % (2 * FRACTIONS) == FRACTIONS;
        let fraction = if is_exact { FRACTIONS } else { results[lane] };
        results[lane] = ((380_u32.wrapping_sub(a >> FRACTION) / 2) << FRACTION).wrapping_add(fraction);
    }
    (results, others)
}

/// `sqrt.approx{.ftz}.f32`
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn sqrt(operands: &Row) -> Results {
    let (mut results, others) = roots(both(&SQRT), operands);
    for lane in 0..32 {
        results[lane] = ((((operands[lane] >> FRACTION) + 127) / 2) << FRACTION).wrapping_add(results[lane]);
    }
    (results, others)
}

/// `ex2.approx{.ftz}.f32`
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn ex2(operands: &Row) -> Results {
    let (mut numbers, mut distances, mut others, mut whole) = ([0; 32], [0; 32], [0; 32], [0; 32]);
    for lane in 0..32 {
        let a = operands[lane];
        others[lane] = mark(a & !SIGN >= 126_f32.to_bits());
        // Of the others anything that is defined: `power` says what the rest is.
        let small = if a & !SIGN >= 126_f32.to_bits() { 0 } else { a };
        // SAFETY: a finite number below 2^7 times 2^23 is one of 32 bits.
        let cut: i32 = unsafe { (f32::from_bits(small) * FRACTIONS as f32).to_int_unchecked() };
        let has_fraction = cut & (FRACTIONS as i32 - 1) != 0;
        let fixed = cut - i32::from(cut < 0 && has_fraction);
        numbers[lane] = fixed as u32 >> REST & 63;
        distances[lane] = fixed as u32 & RESTS;
        whole[lane] = (fixed >> FRACTION) + BIAS;
    }
    let mut results = fractions::<64, 17>(&EX2.0, &numbers, &distances);
    for lane in 0..32 {
        results[lane] = ((whole[lane] as u32) << FRACTION).wrapping_add(results[lane]);
    }
    (results, others)
}

/// `lg2.approx{.ftz}.f32`
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn lg2(operands: &Row) -> Results {
    let (mut numbers, mut distances, mut others) = ([0; 32], [0; 32], [0; 32]);
    for lane in 0..32 {
        let a = operands[lane];
        numbers[lane] = a >> REST & 63;
        distances[lane] = a & RESTS;
        others[lane] = mark(!is_positive_and_normal(a));
    }
    let values = values::<64, 17>(&LG2.0, &numbers, &distances);
    let mut results = [0; 32];
    for lane in 0..32 {
        results[lane] = normalised::logarithm_of(operands[lane], values[lane]);
    }
    (results, others)
}

/// `sin.approx{.ftz}.f32`
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn sin(operands: &Row) -> Results {
    let mut results = sines(operands, 0);
    for lane in 0..32 {
        let number = results[lane];
        results[lane] = if number == NAN { NAN } else { number ^ operands[lane] & SIGN };
    }
    (results, [0; 32])
}

/// `cos.approx{.ftz}.f32`
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn cos(operands: &Row) -> Results {
    (sines(operands, 1), [0; 32])
}

/// The sines of angles that so many quarters of a turn are added to.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sines(operands: &Row, quarters: u32) -> Row {
    let (mut numbers, mut distances, mut angles) = ([0; 32], [0; 32], [0; 32]);
    for lane in 0..32 {
        let Angle { quarter, part } = normalised::angle(operands[lane], quarters);
        numbers[lane] = part >> REST & 63;
        distances[lane] = part & RESTS;
        angles[lane] = quarter;
    }
    let values = values::<64, 17>(&SINE.0, &numbers, &distances);
    let mut results = [0; 32];
    for lane in 0..32 {
        results[lane] = normalised::sine_of(operands[lane], angles[lane], values[lane]);
    }
    results
}
