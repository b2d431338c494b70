//! Products of integers, which are exact: only the sum with C wraps or saturates.
#![allow(unsafe_code)] // `twice`

use super::{Left, Right, Tile};
use crate::vectors::twice;

twice! {
    /// Adds the product of `a` and `b` to `c`. No sum of products that `mma` has leaves 32 bits.
    pub fn multiply[][P](a: &Left<i32, P>, b: &Right<i32, P>, c: &mut Tile<u32>, saturates: bool), by multiply_body
}

twice! {
    /// Adds how many bits are set in both words (or with `exclusive`, in one only), over all words, to `c`.
    pub fn count[][P](a: &Left<u32, P>, b: &Right<u32, P>, c: &mut Tile<u32>, exclusive: bool), by count_body
}

#[inline(always)]
fn multiply_body<const P: usize>(a: &Left<i32, P>, b: &Right<i32, P>, c: &mut Tile<u32>, saturates: bool) {
    for (row, sums) in c.iter_mut().enumerate() {
        let mut products = [0i32; 8];
        for plane in 0..P {
            for t in 0..4 {
                let left = a[plane][row * 4 + t];
                for column in 0..8 {
                    products[column] = products[column].wrapping_add(left.wrapping_mul(b[plane][t][column]));
                }
            }
        }
        add(sums, products, saturates);
    }
}

#[inline(always)]
fn count_body<const P: usize>(a: &Left<u32, P>, b: &Right<u32, P>, c: &mut Tile<u32>, exclusive: bool) {
    for (row, sums) in c.iter_mut().enumerate() {
        let mut bits = [0i32; 8];
        for plane in 0..P {
            for t in 0..4 {
                let left = a[plane][row * 4 + t];
                for column in 0..8 {
                    let right = b[plane][t][column];
                    let both = if exclusive { left ^ right } else { left & right };
                    bits[column] += both.count_ones() as i32;
                }
            }
        }
        add(sums, bits, false);
    }
}

#[inline(always)]
fn add(sums: &mut [u32; 8], products: [i32; 8], saturates: bool) {
    for (sum, product) in sums.iter_mut().zip(products) {
        let before = *sum as i32;
        *sum = if saturates { before.saturating_add(product) } else { before.wrapping_add(product) } as u32;
    }
}
