//! `mma.m8n8k4` of halves: four products of their own, each by a quad of lanes and the quad 16 lanes above.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::super::code::{Exec, Inst, Slot, Step};
use super::super::lanes::Lanes;
use super::{put_words, whole, words};
use crate::numeric::half::f16_to_f32;
use crate::numeric::matrix::float::{quad_to_short, quad_to_single};

/// In [`Inst::aux`]: A is row-major.
pub(crate) const ROWS_A: u32 = 1;
/// B is row-major.
pub(crate) const ROWS_B: u32 = 2;

/// The function that executes the instruction.
pub(crate) const PRODUCT: Exec = product;

/// The lane of a quad that has a row of a row-major A or of C, or a column of a column-major B.
fn lane_of(quad: usize, line: usize) -> usize {
    quad * 4 + line % 4 + line / 4 * 16
}

/// The location of an element of C or D of 32 bits: lane in the quad, and register.
fn place(quad: usize, row: usize, column: usize) -> (usize, usize) {
    (quad * 4 + row % 2 + column % 4 / 2 * 2 + row / 4 * 16, column / 4 * 4 + row / 2 % 2 * 2 + column % 2)
}

/// A half among the registers of a lane.
///
/// # Safety
/// 1. `slots` are operands of a matrix instruction of the entered code: words.
unsafe fn half(lanes: &Lanes<'_>, slots: &[Slot], lane: usize, index: usize) -> u16 {
    // SAFETY: 1: the slots are words: the caller's duty 1; 2: a copy leaves here.
    let word = unsafe { words(lanes, slots[index / 2])[lane & 31] };
    (word >> (index % 2 * 16)) as u16
}

unsafe fn product(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    let (wide_c, wide_d) = (matrix.c.len() == 8, matrix.d.len() == 8);
    let mut results = [[0u32; 32]; 8];
    for quad in 0..4 {
        for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
            // SAFETY: 1, for each call: the decoder made the operands words (duty 2 of `Exec`), two each of A and B and four or eight of C; 2: what
            // is made of them is a copy.
            let (pairs, single, short) = unsafe {
                let a = |k| match inst.aux & ROWS_A != 0 {
                    true => half(lanes, &matrix.a, lane_of(quad, row), k),
                    false => half(lanes, &matrix.a, lane_of(quad, k + row / 4 * 4), row % 4),
                };
                let b = |k| match inst.aux & ROWS_B != 0 {
                    true => half(lanes, &matrix.b, lane_of(quad, k + column / 4 * 4), column % 4),
                    false => half(lanes, &matrix.b, lane_of(quad, column), k),
                };
                let (lane, register) = place(quad, row, column);
                let single = if wide_c { words(lanes, matrix.c[register])[lane & 31] } else { 0 };
                let short = if wide_c { 0 } else { half(lanes, &matrix.c, lane_of(quad, row), column) };
                ([0, 1, 2, 3].map(|k| (a(k), b(k))), single, short)
            };
            let (lane, register) = place(quad, row, column);
            match (wide_c, wide_d) {
                (true, _) => results[register][lane & 31] = quad_to_single(pairs, single),
                (false, true) => {
                    let widened = f16_to_f32(short).to_bits();
                    results[register][lane & 31] = quad_to_single(pairs, widened);
                }
                (false, false) => {
                    let bits = quad_to_short(pairs, u32::from(short)) << (column % 2 * 16);
                    results[column / 2][lane_of(quad, row) & 31] |= bits;
                }
            }
        }
    }
    for (slot, values) in matrix.d.iter().zip(&results) {
        // SAFETY: 1: D's registers are words that the instruction writes (duty 2 of `Exec`).
        unsafe { put_words(lanes, *slot, values) };
    }
    Step::Next
}
