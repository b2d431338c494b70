//! A and B as vectors.
//!
//! Exponents are kept biased. Those of `.f16` are bytes, 31 below the field, from -30 on, and zero has -128: sums saturate, so that one with
//! zero in it is -128, too. Those of `.bf16` are numbers of 16 bits, the fields themselves, and zero has -1000.
#![allow(unsafe_code)]
// Relies on: what `vectors` does.

use std::arch::x86_64::*;

use super::vectors::{BIAS, INNER, load, store_floats, store_words, word};
use super::{Left, Register, Sixteen};

/// The largest biased exponent of a factor of `.bf16`: of two, the sum is at most 100.
const HIGHEST_FACTOR: i16 = BIAS as i16 + 50;

/// Eight columns of B.
pub(super) struct Right<const B: usize> {
    /// By block and row of B, for each column.
    pub(super) values: [[[f32; 8]; 8]; B],
    /// By block: eight exponents of each column, of `.f16` those of columns 0, 1, 4, 5 and 2, 3, 6, 7, else of 0, 4 and so on.
    pub(super) exponents: [[__m256i; 4]; B],
    /// Whether no exponent is extreme.
    pub(super) moderate: bool,
}

/// Two lines of a register, eight numbers of 16 bits each.
#[inline]
#[target_feature(enable = "avx2")]
fn lines(register: &Register, low: usize, high: usize) -> __m256i {
    let fours = register.as_chunks::<4>().0;
    let (low, high) = (&fours[low], &fours[high]);
    // SAFETY: 16 bytes each, which are borrowed.
    unsafe {
        let low = _mm_loadu_si128(std::ptr::from_ref(low).cast());
        let high = _mm_loadu_si128(std::ptr::from_ref(high).cast());
        _mm256_set_m128i(high, low)
    }
}

/// The values of eight numbers.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn widen<F: Sixteen>(numbers: __m128i) -> __m256 {
    if F::HALF {
        _mm256_cvtph_ps(numbers)
    } else {
        _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(numbers), 16))
    }
}

/// The values of sixteen numbers.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn widen_both<F: Sixteen>(numbers: __m256i) -> [__m256; 2] {
    [widen::<F>(_mm256_castsi256_si128(numbers)), widen::<F>(_mm256_extracti128_si256(numbers, 1))]
}

/// The exponents of sixteen numbers, of 16 bits each.
#[inline]
#[target_feature(enable = "avx2")]
fn exponents<F: Sixteen>(numbers: __m256i) -> __m256i {
    let magnitudes = _mm256_slli_epi16(numbers, 1);
    let zero = _mm256_cmpeq_epi16(magnitudes, _mm256_setzero_si256());
    let one = _mm256_set1_epi16(1);
    if F::HALF {
        let field = _mm256_max_epi16(_mm256_srli_epi16(magnitudes, 11), one);
        _mm256_blendv_epi8(_mm256_add_epi16(field, _mm256_set1_epi16(-31)), _mm256_set1_epi16(-128), zero)
    } else {
        let field = _mm256_max_epi16(_mm256_srli_epi16(magnitudes, 8), one);
        _mm256_blendv_epi8(field, _mm256_set1_epi16(-1000), zero)
    }
}

/// Bits that are set where exponents are extreme. Of `.f16` those of infinities and NaN are; there zero has the same bits as in `.bf16`.
#[inline]
#[target_feature(enable = "avx2")]
fn extreme<F: Sixteen>(exponents: __m256i) -> __m256i {
    _mm256_cmpgt_epi16(exponents, _mm256_set1_epi16(if F::HALF { -1 } else { HIGHEST_FACTOR }))
}

/// Puts A into `left`, as [`left`](super::left) has it.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn prepare<F: Sixteen, const B: usize>(
    registers: &[[&Register; 2]; B],
    sign: u32,
    left: &mut Left<B>,
) {
    let (sign, mut wrong) = (word(sign as i32), word(0));
    for (block, registers) in registers.iter().enumerate() {
        let values = &mut left.values[block];
        let words = left.exponents[block].as_chunks_mut::<4>().0;
        for four in 0..4 {
            let (register, at) = (registers[four / 2], four % 2 * 2);
            let mut own = [word(0); 2];
            for pair in 0..2 {
                let numbers = _mm256_xor_si256(load(register, at + pair), sign);
                let [even, odd] = widen_both::<F>(numbers);
                store_floats(&mut values[4 * four + 2 * pair], even);
                store_floats(&mut values[4 * four + 2 * pair + 1], odd);
                own[pair] = exponents::<F>(numbers);
                wrong = _mm256_or_si256(wrong, extreme::<F>(own[pair]));
            }
            if F::HALF {
                store_words(
                    &mut words[four],
                    _mm256_permute4x64_epi64(_mm256_packs_epi16(own[0], own[1]), INNER),
                );
            } else {
                store_words(&mut words[2 * four], own[0]);
                store_words(&mut words[2 * four + 1], own[1]);
            }
        }
    }
    left.moderate = _mm256_testz_si256(wrong, wrong) != 0;
}

/// Eight columns of B, of which each block is in a register.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn right<F: Sixteen, const B: usize>(registers: &[&Register; B], sign: u32) -> Right<B> {
    let (sign, nothing) = (word(sign as i32), word(0));
    let mut right = Right { values: [[[0.0; 8]; 8]; B], exponents: [[nothing; 4]; B], moderate: false };
    let mut wrong = nothing;
    for (block, register) in registers.iter().enumerate() {
        // Columns `at` and `at + 4`.
        let mut pairs = [nothing; 4];
        let mut own = [nothing; 4];
        for at in 0..4 {
            pairs[at] = _mm256_xor_si256(lines(register, at, at + 4), sign);
            own[at] = exponents::<F>(pairs[at]);
            wrong = _mm256_or_si256(wrong, extreme::<F>(own[at]));
        }
        right.exponents[block] = if F::HALF {
            [_mm256_packs_epi16(own[0], own[1]), _mm256_packs_epi16(own[2], own[3]), nothing, nothing]
        } else {
            own
        };
        let low = [_mm256_unpacklo_epi16(pairs[0], pairs[1]), _mm256_unpacklo_epi16(pairs[2], pairs[3])];
        let high = [_mm256_unpackhi_epi16(pairs[0], pairs[1]), _mm256_unpackhi_epi16(pairs[2], pairs[3])];
        // Rows 0 and 1, 2 and 3, and so on of B: each four columns of both, and then the other four.
        let rows = [
            _mm256_unpacklo_epi32(low[0], low[1]),
            _mm256_unpackhi_epi32(low[0], low[1]),
            _mm256_unpacklo_epi32(high[0], high[1]),
            _mm256_unpackhi_epi32(high[0], high[1]),
        ];
        for (at, rows) in rows.into_iter().enumerate() {
            let [even, odd] = widen_both::<F>(_mm256_permute4x64_epi64(rows, INNER));
            store_floats(&mut right.values[block][2 * at], even);
            store_floats(&mut right.values[block][2 * at + 1], odd);
        }
    }
    right.moderate = _mm256_testz_si256(wrong, wrong) != 0;
    right
}
