//! Products of `.f64`: each element is a chain of fused operations in the order of A's columns.
#![allow(unsafe_code)] // `twice`

use super::super::fp64;
use super::super::rounding::{Mode, Rounding};
use super::{Left, Right, Tile};
use crate::vectors::twice;

const INFINITY: u64 = 0x7ff0_0000_0000_0000;

twice! {
    /// Adds the product of `a` and `b`, both bits of numbers, to `c`.
    pub fn multiply[R: Rounding][P](a: &Left<u64, P>, b: &Right<u64, P>, c: &mut Tile<u64>), by multiply_body
}

#[inline(always)]
fn multiply_body<R: Rounding, const P: usize>(a: &Left<u64, P>, b: &Right<u64, P>, c: &mut Tile<u64>) {
    for (row, sums) in c.iter_mut().enumerate() {
        let mut next = *sums;
        for plane in 0..P {
            for t in 0..4 {
                let left = f64::from_bits(a[plane][row * 4 + t]);
                for column in 0..8 {
                    let (right, sum) = (f64::from_bits(b[plane][t][column]), f64::from_bits(next[column]));
                    next[column] = left.mul_add(right, sum).to_bits();
                }
            }
        }
        // A NaN or an infinity among the operands stays in the sum.
        let finite = next.iter().all(|sum| sum & INFINITY != INFINITY);
        if R::MODE == Mode::Nearest && finite {
            *sums = next;
        } else {
            *sums = exact_row::<R, P>(a, b, row, *sums);
        }
    }
}

/// A row of the result by the functions that `fma.f64` is made of.
#[inline(never)]
fn exact_row<R: Rounding, const P: usize>(
    a: &Left<u64, P>,
    b: &Right<u64, P>,
    row: usize,
    mut sums: [u64; 8],
) -> [u64; 8] {
    for (left, right) in a.iter().zip(b) {
        for (t, right) in right.iter().enumerate() {
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = fp64::fma::<R>(left[row * 4 + t], *right, *sum);
            }
        }
    }
    sums
}
