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

/// A matrix of eight rows of eight numbers of 16 bits, four to a word, the first lowest.
pub(super) type Square = [[u64; 2]; 8];

/// The register that has it in the layout of `mma`: lane `row * 4 + t` has numbers `2 * t` and `2 * t + 1` of its row.
#[inline(always)]
pub(super) fn fragment(square: &Square) -> [u32; 32] {
    let mut words = [0; 32];
    for (pair, four) in words.as_chunks_mut::<2>().0.iter_mut().zip(square.as_flattened()) {
        *pair = [*four as u32, (*four >> 32) as u32];
    }
    words
}

/// The matrix that a register has.
#[inline(always)]
pub(super) fn square(words: &[u32; 32]) -> Square {
    let mut square = [[0; 2]; 8];
    for (four, [low, high]) in square.as_flattened_mut().iter_mut().zip(words.as_chunks::<2>().0) {
        *four = u64::from(*low) | u64::from(*high) << 32;
    }
    square
}

/// The same matrix with rows and columns exchanged.
#[inline(always)]
pub(super) fn exchanged(square: &Square) -> Square {
    let mut columns = [[0; 2]; 8];
    for [high, low] in [[0, 0], [0, 1], [1, 0], [1, 1]] {
        // A quarter, whose rows and columns are exchanged in pairs, then in pairs of pairs.
        let row = |row: usize| square[4 * high + row][low];
        let [a, b] = pairs_exchanged(row(0), row(1));
        let [c, d] = pairs_exchanged(row(2), row(3));
        let lower = |x: u64, y: u64| x & 0xffff_ffff | y << 32;
        let upper = |x: u64, y: u64| x >> 32 | y & !0xffff_ffff;
        for (column, four) in [lower(a, c), lower(b, d), upper(a, c), upper(b, d)].into_iter().enumerate() {
            columns[4 * low + column][high] = four;
        }
    }
    columns
}

/// Two rows of two squares of two numbers, with rows and columns exchanged.
#[inline(always)]
fn pairs_exchanged(first: u64, second: u64) -> [u64; 2] {
    const EVEN: u64 = 0xffff_0000_ffff;
    [first & EVEN | (second & EVEN) << 16, first >> 16 & EVEN | second & !EVEN]
}
