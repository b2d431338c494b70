//! `mma` of integers of 8, 4 and 1 bits. A has 8 rows or 16.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::super::code::{Inst, Step};
use super::super::lanes::Lanes;
use super::{put_words, registers, tile, whole, words};
use crate::numeric::matrix::integer::{count, multiply};
use crate::numeric::matrix::{Tile, transposed};

/// In [`Inst::aux`]: elements of A have a sign.
pub(crate) const SIGNED_A: u32 = 1;
/// Elements of B have a sign.
pub(crate) const SIGNED_B: u32 = 2;
/// The sum saturates.
pub(crate) const SATURATES: u32 = 4;
/// Counts bits that differ instead of bits that are both set.
pub(crate) const EXCLUSIVE: u32 = 8;

/// Element `within` of a word.
#[inline(always)]
pub(super) fn element<const BITS: usize>(word: u32, within: usize, signed: bool) -> i32 {
    let top = word << (32 - BITS - within * BITS);
    if signed { top as i32 >> (32 - BITS) } else { (top >> (32 - BITS)) as i32 }
}

/// Runs `add` for each eight rows of A: their registers among A's, and the rows of C that become those of D.
///
/// # Safety
/// 1. `inst` is a matrix instruction of the entered code, whose operands are words, those of D destinations.
#[inline(always)]
unsafe fn rows(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    blocks: usize,
    mut add: impl FnMut(&Lanes<'_>, usize, usize, &mut Tile<u32>),
) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    let halves = matrix.a.len() / blocks;
    let mut results = [[[0; 8]; 8]; 2];
    for (half, (rows, slots)) in results.iter_mut().zip(matrix.c.chunks_exact(2)).enumerate() {
        // SAFETY: 1: C's registers are words: the caller's duty 1; 2: what is made of them is a copy.
        *rows = unsafe { tile(words(lanes, slots[0]), words(lanes, slots[1])) };
        add(lanes, half, halves, rows);
    }
    for (rows, slots) in results.iter().zip(matrix.d.chunks_exact(2)) {
        for (slot, values) in slots.iter().zip(registers(rows)) {
            // SAFETY: 1: D's registers are words that the instruction writes: the caller's duty 1.
            unsafe { put_words(lanes, *slot, &values) };
        }
    }
    Step::Next
}

/// Integers of that many bits, in `P` planes.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn product<const BITS: usize, const P: usize>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let Some(matrix) = lanes.matrix(inst) else { return Step::Fault };
    let (each, blocks) = (32 / BITS, P * BITS / 32);
    let has = |flag| inst.aux & flag != 0;
    let mut right = [[[0; 8]; 4]; P];
    for (block, slot) in matrix.b.iter().enumerate().take(blocks) {
        // SAFETY: 1: the decoder made the operands words (duty 2 of `Exec`); 2: what is made of them is a copy.
        let columns = transposed(unsafe { words(lanes, *slot) });
        for within in 0..each {
            let plane = &mut right[block * each + within];
            for t in 0..4 {
                plane[t] = columns[t].map(|word| element::<BITS>(word, within, has(SIGNED_B)));
            }
        }
    }
    // SAFETY: duty 1 of `rows` and of `words`: the decoder made all operands words, and those of D destinations (duty 2
    // of `Exec`); duty 2 of `words`: the result is a copy, so no reference to the operands remains.
    unsafe {
        rows(lanes, inst, blocks, |lanes, half, halves, sums| {
            let mut left = [[0; 32]; P];
            for block in 0..blocks {
                let rows = words(lanes, matrix.a[block * halves + half]);
                for within in 0..each {
                    left[block * each + within] =
                        rows.map(|word| element::<BITS>(word, within, has(SIGNED_A)));
                }
            }
            multiply::<P>(&left, &right, sums, has(SATURATES));
        })
    }
}

/// Single bits, in `P` planes of words.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn bits<const P: usize>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let Some(matrix) = lanes.matrix(inst) else { return Step::Fault };
    let mut right = [[[0; 8]; 4]; P];
    for (plane, slot) in right.iter_mut().zip(&matrix.b) {
        // SAFETY: 1: the decoder made the operands words (duty 2 of `Exec`); 2: what is made of them is a copy.
        *plane = transposed(unsafe { words(lanes, *slot) });
    }
    // SAFETY: duty 1 of `rows` and of `words`: the decoder made all operands words, and those of D destinations (duty 2
    // of `Exec`); duty 2 of `words`: the result is a copy, so no reference to the operands remains.
    unsafe {
        rows(lanes, inst, P, |lanes, half, halves, sums| {
            let mut left = [[0; 32]; P];
            for (block, plane) in left.iter_mut().enumerate() {
                *plane = *words(lanes, matrix.a[block * halves + half]);
            }
            count::<P>(&left, &right, sums, inst.aux & EXCLUSIVE != 0);
        })
    }
}
