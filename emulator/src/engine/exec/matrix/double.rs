//! `mma` of `.f64`. A has 8 rows or 16, one element in each register.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::super::code::{Inst, Step};
use super::super::lanes::Lanes;
use super::{registers, tile, whole, wides};
use crate::numeric::matrix::double::multiply;
use crate::numeric::matrix::transposed;
use crate::numeric::rounding::Rounding;

/// The product, in `P` planes.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn product<R: Rounding, const P: usize>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    let halves = matrix.a.len() / P;
    let mut right = [[[0; 8]; 4]; P];
    let mut results = [[[0; 8]; 8]; 2];
    // SAFETY: 1, for each call: the decoder made the operands wide, those of D destinations (duty 2 of `Exec`); 2: they are copied, and D,
    // two rows of the frame for each register, is written at the end.
    unsafe {
        for (plane, slot) in right.iter_mut().zip(&matrix.b) {
            *plane = transposed(wides(lanes, *slot));
        }
        for (half, (rows, slots)) in results.iter_mut().zip(matrix.c.chunks_exact(2)).enumerate() {
            let mut left = [[0; 32]; P];
            for (block, plane) in left.iter_mut().enumerate() {
                *plane = *wides(lanes, matrix.a[block * halves + half]);
            }
            *rows = tile(wides(lanes, slots[0]), wides(lanes, slots[1]));
            multiply::<R, P>(&left, &right, rows);
        }
        for (rows, slots) in results.iter().zip(matrix.d.chunks_exact(2)) {
            for (slot, values) in slots.iter().zip(registers(rows)) {
                lanes.row(*slot).cast::<[u64; 32]>().write(values);
            }
        }
    }
    Step::Next
}
