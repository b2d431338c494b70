//! The vectors: eight numbers of 32 bits, which are the columns of a row of the result.
#![allow(unsafe_code)]
// Relies on: the CPU has AVX2 and F16C: `mod.rs` calls `operands::prepare`, `multiply` and `product`, which call the others, and checks that before.

use std::arch::x86_64::*;

use super::operands::{prepare, right};
use super::{Left, Register, Sixteen, Sum, rows};

/// The bias of `.f32`.
pub(super) const BIAS: i32 = 127;
/// What has the order of four pairs of words exchange the second and third.
pub(super) const INNER: i32 = 0b11_01_10_00;

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load<const N: usize>(numbers: &[u32; N], at: usize) -> __m256i {
    let eight = &numbers.as_chunks::<8>().0[at];
    // SAFETY: 32 bytes, which are borrowed.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(eight).cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(numbers: &mut Register, at: usize, value: __m256i) {
    let eight = &mut numbers.as_chunks_mut::<8>().0[at];
    // SAFETY: 32 bytes, which are borrowed for writing.
    unsafe { _mm256_storeu_si256(std::ptr::from_mut(eight).cast(), value) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_floats(eight: &[f32; 8]) -> __m256 {
    // SAFETY: 32 bytes, which are borrowed.
    unsafe { _mm256_loadu_ps(eight.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store_floats(eight: &mut [f32; 8], value: __m256) {
    // SAFETY: 32 bytes, which are borrowed for writing.
    unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), value) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store_words(four: &mut [i64; 4], value: __m256i) {
    // SAFETY: 32 bytes, which are borrowed for writing.
    unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn word(value: i32) -> __m256i {
    _mm256_set1_epi32(value)
}

/// The words of even number of both, in each half, and those of odd number.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn apart(low: __m256i, high: __m256i) -> [__m256i; 2] {
    let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
    let even = _mm256_shuffle_ps(low, high, 0b10_00_10_00);
    let odd = _mm256_shuffle_ps(low, high, 0b11_01_11_01);
    [_mm256_castps_si256(even), _mm256_castps_si256(odd)]
}

/// [`multiply`](super::multiply), where the CPU has the vectors.
#[target_feature(enable = "avx2,f16c")]
pub(super) fn multiply<F: Sixteen, A: Sum, const B: usize>(
    left: &Left<B>,
    (registers, sign): (&[&Register; B], u32),
    c: &[&Register; 4],
    d: &mut [Register; 4],
) -> bool {
    rows::multiply::<F, A, B>(left, &right::<F, B>(registers, sign), c, d)
}

/// [`product`](super::product), where the CPU has the vectors.
#[target_feature(enable = "avx2,f16c")]
pub(super) fn product<F: Sixteen, A: Sum, const B: usize>(
    a: &[[&Register; 2]; B],
    b: &[&Register; B],
    c: &[&Register; 4],
    d: &mut [Register; 4],
) -> bool {
    let mut left = Left::ZERO;
    prepare::<F, B>(a, 0, &mut left);
    rows::multiply::<F, A, B>(&left, &right::<F, B>(b, 0), c, d)
}
