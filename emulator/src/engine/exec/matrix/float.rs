//! `mma` of floats of up to 32 bits. A has 16 rows: registers `2 * block` and `2 * block + 1` of it are rows 0 to 7 and 8 to 15.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::super::code::{ExecPair, Inst, Matrix, Slot, Step};
use super::super::lanes::Lanes;
use super::{both, put_words, registers, tile, whole, words};
use crate::numeric::matrix::float::{
    Accumulator, CoarseShort, CoarseSingle, Factor, Lefts, Rights, Short, Single, multiply, multiply_apart,
};
use crate::numeric::matrix::{Tile, transposed};

/// How an accumulator lies in registers.
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

// `mma`: `P` planes, all in one group.
both!(product, fast, plain, body, [F: Factor, A: Packed], [P]);
// `mma` of numbers of 8 bits.
both!(product_apart, fast_apart, plain_apart, body_apart, [F: Factor, G: Factor, A: Packed], [P]);

/// The plane of element `within` of a block's register. Of numbers of 8 bits, those come first that are first in
/// a pair of pairs: they are the first group.
#[inline(always)]
pub(super) fn plane<F: Factor, const P: usize>(block: usize, within: usize) -> usize {
    match F::BITS {
        8 => within / 2 * (P / 2) + block * 2 + within % 2,
        bits => block * (32 / bits) + within,
    }
}

#[inline(always)]
pub(super) fn element<F: Factor>(word: u32, within: usize) -> u32 {
    match F::BITS {
        32 => word,
        bits => word >> (within * bits) & ((1 << bits) - 1),
    }
}

/// B, whose registers `slots` are.
///
/// # Safety
/// 1. `slots` are operands of a matrix instruction of the entered code: words.
#[inline(always)]
unsafe fn right<F: Factor, const P: usize>(lanes: &Lanes<'_>, slots: &[Slot]) -> Rights<P> {
    let mut right = Rights::<P>::ZERO;
    for block in 0..P * F::BITS / 32 {
        let Some(slot) = slots.get(block) else { break };
        // SAFETY: 1: B's registers are words: the caller's duty 1; 2: what is made of them is a copy.
        let columns = transposed(unsafe { words(lanes, *slot) });
        for within in 0..32 / F::BITS {
            right.put::<F>(plane::<F, P>(block, within), &columns, |word| element::<F>(word, within));
        }
    }
    right
}

/// Eight rows of A, among whose registers `slots` theirs are.
///
/// # Safety
/// 1. `slots` are operands of a matrix instruction of the entered code: words.
#[inline(always)]
unsafe fn left<F: Factor, const P: usize>(lanes: &Lanes<'_>, slots: &[Slot], half: usize) -> Lefts<P> {
    let mut left = Lefts::<P>::ZERO;
    for block in 0..P * F::BITS / 32 {
        let Some(slot) = slots.get(2 * block + (half & 1)) else { break };
        // SAFETY: 1: A's registers are words: the caller's duty 1; 2: nothing is written to the frame here.
        let rows = unsafe { words(lanes, *slot) };
        for within in 0..32 / F::BITS {
            left.put::<F>(plane::<F, P>(block, within), |lane| element::<F>(rows[lane], within));
        }
    }
    left
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
    // SAFETY: 1: C's registers are words: the caller's duty 1; 2: what is made of them is a copy.
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

#[inline(always)]
unsafe fn body<F: Factor, A: Packed, const P: usize>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    // SAFETY: 1, for each call: the decoder made the operands words, those of D destinations (duty 2 of `Exec`).
    unsafe {
        let right = right::<F, P>(lanes, &matrix.b);
        let mut halves = [[[0; 8]; 8]; 2];
        for (half, rows) in halves.iter_mut().enumerate() {
            let Some(addend) = addend::<A>(lanes, matrix, half) else { return Step::Fault };
            *rows = addend;
            multiply::<A, P>(&left::<F, P>(lanes, &matrix.a, half), &right, rows, 1);
        }
        store::<A>(lanes, matrix, &halves);
    }
    Step::Next
}

#[inline(always)]
unsafe fn body_apart<F: Factor, G: Factor, A: Packed, const P: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    // SAFETY: 1, for each call: the decoder made the operands words, those of D destinations (duty 2 of `Exec`).
    unsafe {
        let right = right::<G, P>(lanes, &matrix.b);
        let mut halves = [[[0; 8]; 8]; 2];
        for (half, rows) in halves.iter_mut().enumerate() {
            let Some(addend) = addend::<A>(lanes, matrix, half) else { return Step::Fault };
            *rows = addend;
            multiply_apart::<A, P>(&left::<F, P>(lanes, &matrix.a, half), &right, rows);
        }
        store::<A>(lanes, matrix, &halves);
    }
    Step::Next
}
