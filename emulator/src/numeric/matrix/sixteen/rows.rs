//! Rows of a product.
//!
//! What is not done here is known at the end of a product, not at its start, so that nothing waits for it.

use std::arch::x86_64::*;

use super::super::float::Float16;
use super::operands::{Right, widen_both};
use super::vectors::{BIAS, apart, load, load_floats, store, word};
use super::{Left, Register, Sixteen, Sum};

/// The smallest and largest biased exponents, of a row's addends and of the largest terms, that are handled here.
const LOWEST: i32 = 64;
const HIGHEST: i32 = BIAS + 100;
/// Sums of products up to which one with an addend, which is below 2^26, is below 2^31.
const PEAK: i32 = i32::MAX - (1 << 26);

/// The largest biased exponent of a row's products for each column, or less than [`LOWEST`] if all are zero.
#[inline]
#[target_feature(enable = "avx2")]
fn tops<F: Sixteen, const B: usize>(left: &Left<B>, right: &Right<B>, row: usize) -> __m256i {
    let mut tops = [word(0); 4];
    for block in 0..B {
        let (words, columns) = (&left.exponents[block], &right.exponents[block]);
        for at in 0..if F::HALF { 2 } else { 4 } {
            let sum = if F::HALF {
                _mm256_adds_epi8(_mm256_set1_epi64x(words[row]), columns[at])
            } else {
                let line = _mm_set_epi64x(words[2 * row + 1], words[2 * row]);
                _mm256_add_epi16(_mm256_broadcastsi128_si256(line), columns[at])
            };
            tops[at] = match (F::HALF, block) {
                (_, 0) => sum,
                (true, _) => _mm256_max_epi8(tops[at], sum),
                (false, _) => _mm256_max_epi16(tops[at], sum),
            };
        }
    }
    if F::HALF {
        let [even, odd] = apart(tops[0], tops[1]);
        let four = _mm256_max_epi8(even, odd);
        let two = _mm256_max_epi8(four, _mm256_slli_epi32(four, 16));
        let one = _mm256_max_epi8(two, _mm256_slli_epi32(two, 8));
        _mm256_add_epi32(_mm256_srai_epi32(one, 24), word(2 * (31 - 15) + BIAS))
    } else {
        let four =
            |low, high| _mm256_max_epi16(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
        let [even, odd] = apart(four(tops[0], tops[1]), four(tops[2], tops[3]));
        let two = _mm256_max_epi16(even, odd);
        let one = _mm256_max_epi16(two, _mm256_slli_epi32(two, 16));
        _mm256_add_epi32(_mm256_srai_epi32(one, 16), word(-BIAS))
    }
}

/// Rows `2 * pair` and `2 * pair + 1` of C.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn addends<A: Sum>(c: &[&Register; 4], pair: usize) -> [__m256; 2] {
    let (half, at) = (pair / 4, pair % 4);
    if A::SHORT {
        return widen_both::<Float16>(load(c[half], at));
    }
    let (even, odd) = (load(c[2 * half], at), load(c[2 * half + 1], at));
    let (low, high) = (_mm256_unpacklo_epi32(even, odd), _mm256_unpackhi_epi32(even, odd));
    let (first, second) =
        (_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31));
    [_mm256_castsi256_ps(first), _mm256_castsi256_ps(second)]
}

/// Puts these rows into D.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn put<A: Sum>(d: &mut [Register; 4], pair: usize, [first, second]: [__m256; 2]) {
    let (half, at) = (pair / 4, pair % 4);
    if A::SHORT {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;
        let both = _mm256_set_m128i(_mm256_cvtps_ph::<NEAREST>(second), _mm256_cvtps_ph::<NEAREST>(first));
        // What becomes zero is positive.
        let zero = _mm256_cmpeq_epi16(_mm256_slli_epi16(both, 1), word(0));
        return store(&mut d[half], at, _mm256_andnot_si256(zero, both));
    }
    let (low, high) =
        (_mm256_permute2f128_ps(first, second, 0x20), _mm256_permute2f128_ps(first, second, 0x31));
    let [even, odd] = apart(_mm256_castps_si256(low), _mm256_castps_si256(high));
    store(&mut d[2 * half], at, even);
    store(&mut d[2 * half + 1], at, odd);
}

/// Sums, each in its unit, as numbers of `.f32`: cut off, or if C is short, cut off with the last bit set where that is not exact, so that
/// another rounding gives what one would.
#[inline]
#[target_feature(enable = "avx2")]
fn rounded<A: Sum>(sums: __m256i, units: __m256) -> __m256 {
    // A number of more than 24 bits has the same bits again 24 places below: the highest of those takes away the first bit that is cut off,
    // so that the conversion does not round up.
    let magnitudes = _mm256_abs_epi32(sums);
    let cut = _mm256_andnot_si256(_mm256_srli_epi32(magnitudes, 24), magnitudes);
    let mut values = _mm256_cvtepi32_ps(cut);
    if A::SHORT {
        let exact = _mm256_cmpeq_epi32(_mm256_cvttps_epi32(values), magnitudes);
        let last = _mm256_andnot_si256(exact, word(1));
        values = _mm256_or_ps(values, _mm256_castsi256_ps(last));
    }
    let signs = _mm256_and_si256(sums, word(i32::MIN));
    _mm256_or_ps(_mm256_mul_ps(values, units), _mm256_castsi256_ps(signs))
}

/// Powers of two, by their biased exponents.
#[inline]
#[target_feature(enable = "avx2")]
fn powers(biased: __m256i) -> __m256 {
    _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23))
}

/// [`multiply`](super::multiply), where the CPU has the vectors, with B prepared.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn multiply<F: Sixteen, A: Sum, const B: usize>(
    left: &Left<B>,
    right: &Right<B>,
    c: &[&Register; 4],
    d: &mut [Register; 4],
) -> bool {
    const { assert!(A::PLACES == 25 && A::FLOOR < 0 && B <= 2) };
    if !left.moderate || !right.moderate {
        return false;
    }
    let floor = word(if A::FLOOR + BIAS > LOWEST { A::FLOOR + BIAS } else { LOWEST });
    // The smallest addend but zero, the largest one, the largest sum of products.
    let (mut smallest, mut largest, mut peak) = (word(-1), word(0), word(0));
    let mut wrong = word(0);
    for pair in 0..8 {
        let addends = addends::<A>(c, pair);
        let mut tops = [floor; 2];
        for (top, (at, addend)) in tops.iter_mut().zip(addends.into_iter().enumerate()) {
            let magnitudes = _mm256_slli_epi32(_mm256_castps_si256(addend), 1);
            smallest = _mm256_min_epu32(smallest, _mm256_add_epi32(magnitudes, word(-1)));
            largest = _mm256_max_epu32(largest, magnitudes);
            let mut own = _mm256_srli_epi32(magnitudes, 24);
            if A::SHORT {
                let zero = _mm256_cmpeq_epi32(magnitudes, word(0));
                own = _mm256_andnot_si256(zero, _mm256_max_epi32(own, word(A::LOWEST + BIAS)));
            }
            let products = self::tops::<F, B>(left, right, 2 * pair + at);
            if !F::HALF {
                let low = _mm256_cmpgt_epi32(word(LOWEST), products);
                // If all are zero, it is less than that.
                let there = _mm256_cmpgt_epi32(products, word(-500));
                wrong = _mm256_or_si256(wrong, _mm256_and_si256(low, there));
            }
            *top = _mm256_max_epi32(_mm256_max_epi32(products, own), floor);
        }
        // A term is below 2^(top + 2), so below 2^27 once it is scaled, and an addend below 2^26. 16 products of significands of 11 bits
        // do not reach 2^31.
        let scale = word(A::PLACES + 2 * BIAS);
        let scales = [powers(_mm256_sub_epi32(scale, tops[0])), powers(_mm256_sub_epi32(scale, tops[1]))];
        let mut sums = [word(0); 2];
        for block in 0..B {
            for k in 0..8 {
                let column = load_floats(&right.values[block][k]);
                for at in 0..2 {
                    let factor = _mm256_set1_ps(left.values[block][2 * pair + at][k]);
                    let scaled = _mm256_mul_ps(_mm256_mul_ps(factor, column), scales[at]);
                    sums[at] = _mm256_add_epi32(sums[at], _mm256_cvttps_epi32(scaled));
                }
            }
        }
        let mut results = [_mm256_setzero_ps(); 2];
        for at in 0..2 {
            peak = _mm256_max_epu32(peak, _mm256_abs_epi32(sums[at]));
            let addend = _mm256_cvttps_epi32(_mm256_mul_ps(addends[at], scales[at]));
            let unit = powers(_mm256_sub_epi32(tops[at], word(A::PLACES)));
            results[at] = rounded::<A>(_mm256_add_epi32(sums[at], addend), unit);
        }
        put::<A>(d, pair, results);
    }
    // As magnitudes, shifted by 1: the exponent is in the upper eight bits, and zero was made the largest number above.
    let (low, high) = (word((LOWEST << 24) - 1), word((((HIGHEST + 1) as u32) << 24).wrapping_sub(1) as i32));
    let small = _mm256_cmpeq_epi32(_mm256_max_epu32(smallest, low), smallest);
    let large = _mm256_cmpeq_epi32(_mm256_min_epu32(largest, high), largest);
    let fits = _mm256_cmpeq_epi32(_mm256_min_epu32(peak, word(PEAK)), peak);
    let fine = _mm256_and_si256(_mm256_and_si256(small, large), fits);
    _mm256_movemask_epi8(_mm256_andnot_si256(wrong, fine)) == -1
}
