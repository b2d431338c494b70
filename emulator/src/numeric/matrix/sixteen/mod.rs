//! Products of whole matrices of `.f16` or `.bf16`, sixteen rows of A by eight columns of B, from the registers of a warp to its registers.
//!
//! The arithmetic is that of [`float`](super::float). Here are the cases that nearly all products are, by vectors; where these functions
//! decline, the caller computes with those of `float`: on a CPU without AVX2, and for numbers that are not finite, extreme exponents, and sums
//! that nearly overflow 32 bits.
#![allow(unsafe_code)]
// Relies on: nothing but what `vectors::available` finds.

use super::float::{Accumulator, Bfloat16, Factor, Float16, Short, Single};

#[cfg(target_arch = "x86_64")]
mod operands;
#[cfg(target_arch = "x86_64")]
mod rows;
#[cfg(target_arch = "x86_64")]
mod vectors;

/// A register of a warp: lane `line * 4 + t` has elements `2 * t` and `2 * t + 1` of a row of A or a column of B; of C one or both.
pub type Register = [u32; 32];

/// A format of A and B.
pub trait Sixteen: Factor {
    /// Whether it is `.f16`.
    const HALF: bool;
}

impl Sixteen for Float16 {
    const HALF: bool = true;
}

impl Sixteen for Bfloat16 {
    const HALF: bool = false;
}

/// A format of C and D.
pub trait Sum: Accumulator {
    /// Whether it is `.f16`: then each of the first two registers has eight rows, else two have.
    const SHORT: bool;
}

impl Sum for Single {
    const SHORT: bool = false;
}

impl Sum for Short {
    const SHORT: bool = true;
}

/// Sixteen rows of A, whose columns are in `B` blocks of eight.
#[derive(Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub struct Left<const B: usize> {
    /// By block and row.
    values: [[[f32; 8]; 16]; B],
    /// By block: eight exponents of each row, of `.f16` bytes in one word, else numbers of 16 bits in two.
    exponents: [[i64; 32]; B],
    /// Whether no exponent is extreme.
    moderate: bool,
}

#[cfg(target_arch = "x86_64")]
impl<const B: usize> Left<B> {
    /// All zero.
    const ZERO: Left<B> = Left { values: [[[0.0; 8]; 16]; B], exponents: [[0; 32]; B], moderate: false };
}

/// Prepares A, of which each block is in two registers, the second with rows 8 to 15. The bits of `sign` are inverted in all words. `None` if
/// the CPU lacks the vectors.
pub fn left<F: Sixteen, const B: usize>(registers: &[[&Register; 2]; B], sign: u32) -> Option<Left<B>> {
    #[cfg(target_arch = "x86_64")]
    if crate::vectors::available() {
        let mut left = Left::ZERO;
        // SAFETY: the CPU has the features that the function is compiled for, as was just checked.
        unsafe { operands::prepare::<F, B>(registers, sign, &mut left) };
        return Some(left);
    }
    let _ = (registers, sign);
    None
}

/// Puts the sum of C and the product with B into `d`. False if it declines: then `d` has no meaning.
pub fn multiply<F: Sixteen, A: Sum, const B: usize>(
    left: &Left<B>,
    (right, sign): (&[&Register; B], u32),
    c: &[&Register; 4],
    d: &mut [Register; 4],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if crate::vectors::available() {
        // SAFETY: the CPU has the features that the function is compiled for, as was just checked.
        return unsafe { vectors::multiply::<F, A, B>(left, (right, sign), c, d) };
    }
    let _ = (left, right, sign, c, d);
    false
}

/// [`left`] and [`multiply`] at once.
pub fn product<F: Sixteen, A: Sum, const B: usize>(
    a: &[[&Register; 2]; B],
    b: &[&Register; B],
    c: &[&Register; 4],
    d: &mut [Register; 4],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if crate::vectors::available() {
        // SAFETY: the CPU has the features that the function is compiled for, as was just checked.
        return unsafe { vectors::product::<F, A, B>(a, b, c, d) };
    }
    let _ = (a, b, c, d);
    false
}

#[cfg(test)]
mod tests;
