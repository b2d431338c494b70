//! Matrix instructions: the lanes of a warp hold parts of matrices in their registers, as described in the ISA's
//! sections on the fragments of each shape.
//!
//! Most shapes are composed of one building block: a register of A or B holds, in lane `line * 4 + t`, elements of one row
//! of A or column of B, some for each of four `t`; two registers of C hold columns `2 * t` and `2 * t + 1` of a row. So
//! each register is eight rows or columns, and instructions differ in the number and order of registers.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

pub(crate) mod double;
pub(crate) mod float;
pub(crate) mod group;
pub(crate) mod integer;
pub(crate) mod quads;
pub(crate) mod rows;
pub(crate) mod sparse;

use super::super::code::{Inst, Matrix, Slot};
use super::super::fault::FaultKind;
use super::lanes::Lanes;

/// The operands of an instruction that needs all lanes of its warp; without them the reason is recorded.
#[inline(always)]
pub(super) fn whole<'e>(lanes: &mut Lanes<'e>, inst: &Inst) -> Option<&'e Matrix<Slot>> {
    if lanes.mask() != !0 {
        incomplete(lanes);
        return None;
    }
    lanes.matrix(inst)
}

#[cold]
pub(super) fn incomplete(lanes: &mut Lanes<'_>) {
    let mask = lanes.mask();
    let message = format!(
        "a matrix instruction needs all 32 lanes of its warp, but only those of mask 0x{mask:08x} come to it: the \
         others have exited, or the block has no threads for them"
    );
    lanes.fail(FaultKind::InvalidSync, mask.trailing_zeros(), None, message);
}

/// The 32 lanes of a register of up to 32 bits.
///
/// # Safety
/// 1. `slot` is a word among the operands of an instruction of the entered code.
/// 2. Nothing is written to the frame while the reference is used.
#[inline(always)]
pub(super) unsafe fn words<'r>(lanes: &Lanes<'_>, slot: Slot) -> &'r [u32; 32] {
    // SAFETY: a word is an aligned row of 32 lanes of the frame or pool, which are valid while the instruction runs:
    // duty 1; it is not written while the reference is used: duty 2.
    unsafe { &*lanes.row(slot).cast::<[u32; 32]>() }
}

/// The 32 lanes of a register of 64 bits.
///
/// # Safety
/// 1. `slot` is a wide operand of an instruction of the entered code.
/// 2. Nothing is written to the frame while the reference is used.
#[inline(always)]
pub(super) unsafe fn wides<'r>(lanes: &Lanes<'_>, slot: Slot) -> &'r [u64; 32] {
    // SAFETY: a wide operand is two aligned rows of the frame or pool, 32 lanes of 64 bits, which are valid while the
    // instruction runs: duty 1; they are not written while the reference is used: duty 2.
    unsafe { &*lanes.row(slot).cast::<[u64; 32]>() }
}

/// Writes all lanes of a word that is a destination.
///
/// # Safety
/// 1. `slot` is a word that an instruction of the entered code writes.
#[inline(always)]
pub(super) unsafe fn put_words(lanes: &Lanes<'_>, slot: Slot, values: &[u32; 32]) {
    // SAFETY: a destination is an aligned row of the frame: duty 1. References from `words` are no longer used, which
    // is duty 2 of that function.
    unsafe { lanes.row(slot).cast::<[u32; 32]>().write(*values) }
}

/// Two registers of C, element `2 * t` and `2 * t + 1` of a row, as rows.
#[inline(always)]
pub(super) fn tile<T: Copy + Default>(even: &[T; 32], odd: &[T; 32]) -> [[T; 8]; 8] {
    let mut rows = [[T::default(); 8]; 8];
    let flat = rows.as_flattened_mut();
    for lane in 0..32 {
        flat[2 * lane] = even[lane];
        flat[2 * lane + 1] = odd[lane];
    }
    rows
}

/// The two registers from which [`tile`] makes these rows.
#[inline(always)]
pub(super) fn registers<T: Copy + Default>(rows: &[[T; 8]; 8]) -> [[T; 32]; 2] {
    let (mut even, mut odd) = ([T::default(); 32], [T::default(); 32]);
    let flat = rows.as_flattened();
    for lane in 0..32 {
        even[lane] = flat[2 * lane];
        odd[lane] = flat[2 * lane + 1];
    }
    [even, odd]
}
