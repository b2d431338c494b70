//! `mma.sp`: in each group of columns of A only half of the elements exist, and metadata select them. A is first spread over all
//! its columns; missing elements do not contribute, whatever B contains there.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::super::code::{Inst, Matrix, Slot, Step};
use super::super::lanes::Lanes;
use super::float::{Packed, addend, store};
use super::integer::{SATURATES, SIGNED_A, SIGNED_B};
use super::{put_words, registers, tile, whole, words};
use crate::numeric::matrix::float::{self, Factor, Lefts, Rights, element, multiply_apart};
use crate::numeric::matrix::{integer, transposed};

/// In [`Inst::aux`], above the flags of integers: the selector.
pub(crate) const SELECTOR_SHIFT: u32 = 8;

/// The columns of A that exist.
pub(super) struct Metadata<'r> {
    pub(super) words: &'r [u32; 32],
    /// Bits of an element.
    pub(super) bits: usize,
    /// Which of four lanes hold the words, if not all do.
    pub(super) selector: usize,
    /// Codes of four bits for each row.
    pub(super) codes: usize,
}

impl Metadata<'_> {
    /// The column of a row of A, of which `index` is the place among those that are there.
    pub(super) fn column(&self, row: usize, index: usize) -> usize {
        // Existing elements for each code, and columns.
        let (there, columns) = match self.bits {
            32 => (1, 2),
            4 => (4, 8),
            _ => (2, 4),
        };
        let (code, within) = (index / there, index % there);
        let (half, threads) = (row / 8, self.codes / 4);
        let (thread, shift) = match self.bits {
            16 | 32 if threads == 1 => (self.selector, code % 4 * 4 + half * 16),
            16 | 32 => (2 * self.selector + code / 4, code % 4 * 4 + half * 16),
            _ => (2 * self.selector + half + code / 8 * 2, code % 8 * 4),
        };
        let bits = self.words[(row % 8 * 4 + thread) & 31] >> (shift & 31);
        let chosen = match self.bits {
            32 => bits >> 3 & 1,
            4 => (bits >> (within / 2 * 2) & 3) * 2 + within as u32 % 2,
            _ => bits >> (within * 2) & 3,
        };
        code * columns + chosen as usize
    }
}

/// Plane and `t` of a column of A. Of floats of 8 bits, the first group are every other four columns.
fn place<const P: usize>(column: usize, bits: usize, apart: bool) -> (usize, usize) {
    let each = 32 / bits;
    let (block, t, within) = (column / (4 * each), column / each % 4, column % each);
    if apart { (t % 2 * (P / 2) + block * 2 + t / 2, within) } else { (block * each + within, t) }
}

/// Calls `put` with lane `8 rows * 4 + t`, plane and word of each element of eight rows of A that is there.
///
/// # Safety
/// 1. `matrix` has the operands of `inst`, an `mma.sp` of the entered code: words, of which C's last is the metadata.
/// 2. `put` writes nothing to the frame.
unsafe fn spread<const P: usize>(
    lanes: &Lanes<'_>,
    (matrix, inst): (&Matrix<Slot>, &Inst),
    (bits, half, apart): (usize, usize, bool),
    mut put: impl FnMut(usize, usize, u32, usize),
) -> Option<()> {
    let columns = match bits {
        32 => 2,
        4 => 8,
        _ => 4,
    };
    let codes = P * 4 / columns;
    let selector = (inst.aux >> SELECTOR_SHIFT) as usize & 3;
    // SAFETY: 1: the last of C's operands is the metadata, a word: the caller's duty 1; 2: nothing is written while this runs: duty 2.
    let metadata = Metadata { words: unsafe { words(lanes, *matrix.c.last()?) }, bits, selector, codes };
    let each = 32 / bits;
    for (block, slots) in matrix.a.chunks_exact(2).enumerate() {
        // SAFETY: 1: A's registers are words: the caller's duty 1; 2: nothing is written while this runs: duty 2.
        let rows = unsafe { words(lanes, slots[half & 1]) };
        for (lane, word) in rows.iter().enumerate() {
            for within in 0..each {
                let index = block * 4 * each + lane % 4 * each + within;
                let column = metadata.column(half * 8 + lane / 4, index);
                let (plane, t) = place::<P>(column, bits, apart);
                put(lane / 4 * 4 + t, plane.min(P - 1), *word, within);
            }
        }
    }
    Some(())
}

/// Eight rows of A.
///
/// # Safety
/// 1. `both` are an `mma.sp` of the entered code and its operands, which are words.
unsafe fn left<F: Factor, const P: usize>(
    lanes: &Lanes<'_>,
    both: (&Matrix<Slot>, &Inst),
    half: usize,
    apart: bool,
) -> Option<Lefts<P>> {
    let mut left = Lefts::<P>::ABSENT;
    // SAFETY: 1: the same instruction: the caller's duty 1; 2: the closure writes to `left` alone.
    unsafe {
        spread::<P>(lanes, both, (F::BITS, half, apart), |lane, plane, word, within| {
            left.put_one::<F>(plane, lane, element::<F>(word, within));
        })?;
    }
    Some(left)
}

/// B, whose registers `slots` are.
///
/// # Safety
/// 1. `slots` are operands of a matrix instruction of the entered code: words.
unsafe fn right<F: Factor, const P: usize>(lanes: &Lanes<'_>, slots: &[Slot], apart: bool) -> Rights<P> {
    let mut right = Rights::<P>::ZERO;
    let each = 32 / F::BITS;
    for (block, slot) in slots.iter().enumerate().take(P / each) {
        // SAFETY: 1: B's registers are words: the caller's duty 1; 2: what is made of them is a copy.
        let columns = transposed(unsafe { words(lanes, *slot) });
        for (t, columns) in columns.iter().enumerate() {
            for within in 0..each {
                let (plane, t) = place::<P>((block * 4 + t) * each + within, F::BITS, apart);
                right.put_row::<F>(plane, t, &columns.map(|word| element::<F>(word, within)));
            }
        }
    }
    right
}

/// `mma.sp` of floats of at least 16 bits, in `P` planes.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn product<F: Factor, A: Packed, const P: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    // SAFETY: duty 1 of each function that is called: the decoder made all operands words, and those of D destinations
    // (duty 2 of `Exec`).
    unsafe {
        let right = right::<F, P>(lanes, &matrix.b, false);
        let mut halves = [[[0; 8]; 8]; 2];
        for (half, rows) in halves.iter_mut().enumerate() {
            let Some(addend) = addend::<A>(lanes, matrix, half) else { return Step::Fault };
            let Some(left) = left::<F, P>(lanes, (matrix, inst), half, false) else { return Step::Fault };
            *rows = addend;
            float::multiply::<A, P>(&left, &right, rows, 1);
        }
        store::<A>(lanes, matrix, &halves);
    }
    Step::Next
}

/// `mma.sp` of numbers of 8 bits.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn product_apart<F: Factor, G: Factor, A: Packed, const P: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    // SAFETY: duty 1 of each function that is called: the decoder made all operands words, and those of D destinations
    // (duty 2 of `Exec`).
    unsafe {
        let right = right::<G, P>(lanes, &matrix.b, true);
        let mut halves = [[[0; 8]; 8]; 2];
        for (half, rows) in halves.iter_mut().enumerate() {
            let Some(addend) = addend::<A>(lanes, matrix, half) else { return Step::Fault };
            let Some(left) = left::<F, P>(lanes, (matrix, inst), half, true) else { return Step::Fault };
            *rows = addend;
            multiply_apart::<A, P>(&left, &right, rows);
        }
        store::<A>(lanes, matrix, &halves);
    }
    Step::Next
}

/// `mma.sp` of integers of that many bits.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn integers<const BITS: usize, const P: usize>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    let (each, has) = (32 / BITS, |flag| inst.aux & flag != 0);
    let number = super::integer::element::<BITS>;
    let mut right = [[[0; 8]; 4]; P];
    let mut results = [[[0; 8]; 8]; 2];
    // SAFETY: 1, for each call: the decoder made the operands words, those of D destinations (duty 2 of `Exec`); 2: what is made of them is a
    // copy, the closure writes to `left` alone, and D is written at the end.
    unsafe {
        for (block, slot) in matrix.b.iter().enumerate().take(P / each) {
            for (t, columns) in transposed(words(lanes, *slot)).iter().enumerate() {
                for within in 0..each {
                    right[block * each + within][t] = columns.map(|word| number(word, within, has(SIGNED_B)));
                }
            }
        }
        for (half, (rows, slots)) in results.iter_mut().zip(matrix.c.chunks_exact(2)).enumerate() {
            let mut left = [[0; 32]; P];
            let there =
                spread::<P>(lanes, (matrix, inst), (BITS, half, false), |lane, plane, word, within| {
                    left[plane][lane] = number(word, within, has(SIGNED_A));
                });
            if there.is_none() {
                return Step::Fault;
            }
            *rows = tile(words(lanes, slots[0]), words(lanes, slots[1]));
            integer::multiply::<P>(&left, &right, rows, has(SATURATES));
        }
        for (rows, slots) in results.iter().zip(matrix.d.chunks_exact(2)) {
            for (slot, values) in slots.iter().zip(registers(rows)) {
                put_words(lanes, *slot, &values);
            }
        }
    }
    Step::Next
}
