//! `mma` of floats of up to 32 bits. A has 16 rows: registers `2 * block` and `2 * block + 1` of it are rows 0 to 7 and 8 to 15.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::super::code::{Inst, Matrix, Slot, Step};
use super::super::lanes::Lanes;
use super::{put_words, registers, tile, whole, words};
use crate::numeric::matrix::Tile;
use crate::numeric::matrix::float::{
    Accumulator, CoarseShort, CoarseSingle, Factor, Short, Single, lefts, multiply, multiply_apart, rights,
};
use crate::numeric::matrix::sixteen::{self, Sixteen, Sum};

/// The layout of an accumulator in registers.
pub(crate) trait Packed: Accumulator {
    /// Registers of eight rows.
    const REGISTERS: usize;
    /// Eight rows.
    fn unpack(registers: [&[u32; 32]; 2]) -> Tile<u32>;
    /// Their registers, of which the last may be missing.
    fn pack(rows: &Tile<u32>) -> [[u32; 32]; 2];
}

impl Packed for Single {
    const REGISTERS: usize = 2;
    #[inline(always)]
    fn unpack([even, odd]: [&[u32; 32]; 2]) -> Tile<u32> {
        tile(even, odd)
    }
    #[inline(always)]
    fn pack(rows: &Tile<u32>) -> [[u32; 32]; 2] {
        registers(rows)
    }
}

impl Packed for Short {
    const REGISTERS: usize = 1;
    #[inline(always)]
    fn unpack([pairs, _]: [&[u32; 32]; 2]) -> Tile<u32> {
        tile(&pairs.map(|pair| pair & 0xffff), &pairs.map(|pair| pair >> 16))
    }
    #[inline(always)]
    fn pack(rows: &Tile<u32>) -> [[u32; 32]; 2] {
        let [even, odd] = registers(rows);
        let mut pairs = [0; 32];
        for lane in 0..32 {
            pairs[lane] = even[lane] & 0xffff | odd[lane] << 16;
        }
        [pairs, pairs]
    }
}

macro_rules! packed_as {
    ($($name:ty: $other:ty;)*) => {$(
        impl Packed for $name {
            const REGISTERS: usize = <$other>::REGISTERS;
            #[inline(always)]
            fn unpack(registers: [&[u32; 32]; 2]) -> Tile<u32> {
                <$other>::unpack(registers)
            }
            #[inline(always)]
            fn pack(rows: &Tile<u32>) -> [[u32; 32]; 2] {
                <$other>::pack(rows)
            }
        }
    )*};
}

packed_as! {
    CoarseSingle: Single;
    CoarseShort: Short;
}

/// The registers of eight rows of A, or eight columns of B: one or two; if there is no second one, its value does not matter.
///
/// # Safety
/// 1. `slots` are operands of a matrix instruction of the entered code: words.
/// 2. Nothing is written to the frame while the references are used.
#[inline(always)]
unsafe fn lines<'r>(lanes: &Lanes<'_>, [first, second]: [Option<&Slot>; 2]) -> Option<[&'r [u32; 32]; 2]> {
    let first = first?;
    // SAFETY: 1, 2 of both: the caller's duties.
    Some(unsafe { [words(lanes, *first), words(lanes, *second.unwrap_or(first))] })
}

/// Runs `add` for each eight rows of A: their registers, those of B as `prepare` made them, and the rows of C that become those of D.
///
/// # Safety
/// 1. `inst` is an `mma` of the entered code, whose operands are words, those of D destinations.
#[inline(always)]
unsafe fn halves<A: Packed, R>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    prepare: impl Fn(&[&[u32; 32]; 2]) -> R,
    add: impl Fn(&[&[u32; 32]; 2], &R, &mut Tile<u32>),
) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    // SAFETY: 1, for each call: the caller's duty 1; 2, of `lines`: D is written at the end, when the references to registers are no longer
    // used.
    unsafe {
        let Some(columns) = lines(lanes, [matrix.b.first(), matrix.b.get(1)]) else { return Step::Fault };
        let right = prepare(&columns);
        let mut halves = [[[0; 8]; 8]; 2];
        for (half, sums) in halves.iter_mut().enumerate() {
            let rows = lines(lanes, [matrix.a.get(half), matrix.a.get(2 + half)]);
            let (Some(rows), Some(addend)) = (rows, addend::<A>(lanes, matrix, half)) else {
                return Step::Fault;
            };
            *sums = addend;
            add(&rows, &right, sums);
        }
        store::<A>(lanes, matrix, &halves);
    }
    Step::Next
}

/// Eight rows of C. Only with `Single` there is a second register.
///
/// # Safety
/// 1. `matrix` has the operands of an instruction of the entered code, and those of C are words.
#[inline(always)]
pub(super) unsafe fn addend<A: Packed>(
    lanes: &Lanes<'_>,
    matrix: &Matrix<Slot>,
    half: usize,
) -> Option<Tile<u32>> {
    let slots = matrix.c.get(half * A::REGISTERS..(half + 1) * A::REGISTERS)?;
    // SAFETY: 1: C's registers are words: the caller's duty 1; 2: they are copied.
    let (first, last) = unsafe { (words(lanes, *slots.first()?), words(lanes, *slots.last()?)) };
    Some(A::unpack([first, last]))
}

/// All rows of the result: nothing that is read may be written before.
///
/// # Safety
/// 1. `matrix` has the operands of an instruction of the entered code, and those of D are words that it writes.
#[inline(always)]
pub(super) unsafe fn store<A: Packed>(lanes: &Lanes<'_>, matrix: &Matrix<Slot>, halves: &[Tile<u32>; 2]) {
    for (slots, rows) in matrix.d.chunks_exact(A::REGISTERS).zip(halves) {
        for (slot, values) in slots.iter().zip(A::pack(rows)) {
            // SAFETY: 1: D's registers are words that the instruction writes: the caller's duty 1.
            unsafe { put_words(lanes, *slot, &values) };
        }
    }
}

/// `mma`: `P` planes, all in one group.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn product<F: Factor, A: Packed, const P: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Step {
    let prepare = |columns: &[&[u32; 32]; 2]| rights::<F, P>(columns, 0);
    // SAFETY: 1: the decoder made the operands words, those of D destinations (duty 2 of `Exec`).
    unsafe {
        halves::<A, _>(lanes, inst, prepare, |rows, right, sums| {
            multiply::<A, P>(&lefts::<F, P>(rows, 0), right, sums, 1);
        })
    }
}

/// `mma` of numbers of 16 bits: `B` blocks of columns, which are `P` planes.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn product_of_sixteen<F: Sixteen, A: Packed + Sum, const B: usize, const P: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    // SAFETY: 1, of both: the decoder made the operands words, those of D destinations (duty 2 of `Exec`).
    unsafe {
        match quick_product::<F, A, B>(lanes, matrix) {
            Some(()) => Step::Next,
            None => product::<F, A, P>(lanes, inst),
        }
    }
}

/// The product, by vectors; `None`, and nothing done, if it must be computed otherwise.
///
/// # Safety
/// 1. `matrix` has the operands of an `mma` of the entered code: words, those of D destinations.
#[inline(always)]
unsafe fn quick_product<F: Sixteen, A: Packed + Sum, const B: usize>(
    lanes: &Lanes<'_>,
    matrix: &Matrix<Slot>,
) -> Option<()> {
    let a = matrix.a.as_chunks::<2>().0.first_chunk::<B>()?;
    let (b, c) = (matrix.b.first_chunk::<B>()?, matrix.c.get(..2 * A::REGISTERS)?);
    // SAFETY: 1, for each call: the caller's duty 1; 2, of `words`: D is written at the end, when the references are no longer used.
    unsafe {
        let rows = a.each_ref().map(|[upper, lower]| [words(lanes, *upper), words(lanes, *lower)]);
        let columns = b.each_ref().map(|slot| words(lanes, *slot));
        // There are two or four.
        let addends = [0, 1, 2, 3].map(|at| words(lanes, c[at % (2 * A::REGISTERS)]));
        let mut sums = [[0; 32]; 4];
        if !sixteen::product::<F, A, B>(&rows, &columns, &addends, &mut sums) {
            return None;
        }
        for (slot, values) in matrix.d.iter().zip(&sums) {
            put_words(lanes, *slot, values);
        }
    }
    Some(())
}

/// `mma` of numbers of 8 bits.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn product_apart<F: Factor, G: Factor, A: Packed, const P: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Step {
    let prepare = |columns: &[&[u32; 32]; 2]| rights::<G, P>(columns, 0);
    // SAFETY: 1: the decoder made the operands words, those of D destinations (duty 2 of `Exec`).
    unsafe {
        halves::<A, _>(lanes, inst, prepare, |rows, right, sums| {
            multiply_apart::<A, P>(&lefts::<F, P>(rows, 0), right, sums);
        })
    }
}
