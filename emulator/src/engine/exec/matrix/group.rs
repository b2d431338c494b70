//! `wgmma.mma_async`: four warps multiply 64 rows of A by up to 256 columns of B, which lie in shared memory where descriptors say (PTX ISA,
//! "Asynchronous Warpgroup Level Matrix Instructions"). Each warp makes sixteen rows of the result, whenever it comes to the instruction:
//! nothing is left to do when it waits.
//!
//! Of every type the instruction takes 32 bytes of a row of A and a column of B, two registers of a fragment of `mma`.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; what a region describes is there.

use cuda_ptx::Space;

use super::super::super::code::{ExecPair, Inst, Matrix, Slot, Step};
use super::super::super::fault::FaultKind;
use super::super::lanes::Lanes;
use super::super::memory::{Access, Region, effective_address, region};
use super::super::operand::Source;
use super::float::{Packed, element, plane};
use super::{both, put_words, registers, tile, whole, words};
use crate::memory::access::Word;
use crate::numeric::matrix::float::{Factor, Lefts, Rights, multiply};
use crate::numeric::matrix::{Tile, integer, transposed};
use crate::tensor::swizzled;

/// In [`Inst::aux`]: A is in shared memory, too.
pub(crate) const BOTH: u32 = 1;
/// A is multiplied by -1.
pub(crate) const NEGATIVE_A: u32 = 2;
/// B is multiplied by -1.
pub(crate) const NEGATIVE_B: u32 = 4;
/// Rows of A follow each other in memory, not columns.
pub(crate) const TRANSPOSED_A: u32 = 8;
/// Columns of B follow each other in memory, not rows.
pub(crate) const TRANSPOSED_B: u32 = 16;
/// Elements of A have a sign.
pub(crate) const SIGNED_A: u32 = 32;
/// Elements of B have a sign.
pub(crate) const SIGNED_B: u32 = 64;
/// The sum saturates.
pub(crate) const SATURATES: u32 = 128;
/// Above the flags: how many times eight columns B has.
pub(crate) const COLUMNS_SHIFT: u32 = 8;

// Floats, all in one group.
both!(product, fast, plain, body, [F: Factor, G: Factor, A: Packed], [P]);
// Integers of 8 bits.
both!(integers, fast_integers, plain_integers, body_integers, [], []);
// Single bits.
both!(bits, fast_bits, plain_bits, body_bits, [], []);

/// Two registers of eight rows of A or columns of B: 32 bytes of each.
type Lines = [[u32; 32]; 2];

/// A matrix in shared memory.
struct Placed {
    shared: Region,
    base: u64,
    /// Bytes between pieces, by the names of the fields of a descriptor.
    leading: u64,
    stride: u64,
    /// How many bits of an address are changed.
    swizzle: u32,
}

impl Placed {
    /// What a descriptor says.
    fn new(lanes: &mut Lanes<'_>, descriptor: u64) -> Option<Placed> {
        let field = |at: u32| (descriptor >> at & 0x3fff) << 4;
        let swizzle = [0, 3, 2, 1][(descriptor >> 62) as usize & 3];
        let (base, leading, stride) = (field(0), field(16), field(32));
        let inst = Inst { aux: Access::new(1, Some(Space::Shared), 0).0, ..Inst::NOTHING };
        if descriptor >> 49 & 7 != 0 {
            let message =
                format!("the emulator has no base offset of matrices (descriptor 0x{descriptor:x})");
            lanes.fail(FaultKind::UnsupportedInstruction, 0, None, message);
            return None;
        }
        effective_address(lanes, &inst, 0, base, 16)?;
        Some(Placed { shared: region(lanes, &inst, base)?, base, leading, stride, swizzle })
    }

    /// The 16 bytes at an address before it is swizzled. `None` if they are outside.
    #[inline(always)]
    fn chunk(&self, address: u64) -> Result<[u64; 2], u64> {
        let address = swizzled(address & 0x3_ffff, self.swizzle);
        if !self.shared.contains(address, 16) {
            return Err(address);
        }
        // SAFETY: `contains` found 16 bytes inside the region, which are there while the instruction runs, used as the head of
        // `memory::access` says, and on the host aligned as the device sees them (the head of `region`): to 16, as base, distances and
        // steps are multiples of that, and `swizzled` changes no lower bits.
        unsafe {
            let from = self.shared.host.add((address - self.shared.base) as usize);
            Ok([u64::load(from), u64::load(from.add(8))])
        }
    }

    /// Where eight lines from that one on begin, and the bytes between their pieces of 16 and between the two halves.
    #[inline(always)]
    fn steps(&self, first: usize, across: bool) -> (u64, u64, u64) {
        let group = (first / 8) as u64;
        match (across, self.swizzle) {
            (false, 0) => (self.base + group * self.stride, 16, self.leading),
            (false, bits) => (self.base + group * self.stride, 16 << bits, 16),
            (true, 0) => (self.base + group * self.stride, 16, self.leading),
            (true, bits) => {
                let outer = (group >> bits) * self.leading;
                (self.base + outer + (group & ((1 << bits) - 1)) * 16, 16 << bits, self.stride)
            }
        }
    }

    /// Eight lines from that one on, whose 32 bytes are side by side in two pieces of 16.
    #[inline(always)]
    fn lines(&self, first: usize) -> Result<Lines, u64> {
        let mut lines = [[0; 32]; 2];
        let (base, line_step, chunk_step) = self.steps(first, false);
        for (block, words) in lines.iter_mut().enumerate() {
            for (line, words) in words.chunks_exact_mut(4).enumerate() {
                let [low, high] = self.chunk(base + line as u64 * line_step + block as u64 * chunk_step)?;
                words.copy_from_slice(&[low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]);
            }
        }
        Ok(lines)
    }

    /// The same of numbers of 16 bits, where those of eight lines are side by side.
    #[inline(always)]
    fn lines_across(&self, first: usize) -> Result<Lines, u64> {
        let mut lines = [[0; 32]; 2];
        let (base, k_step, block_step) = self.steps(first, true);
        for (block, words) in lines.iter_mut().enumerate() {
            for k in 0..8 {
                let halves = self.chunk(base + k as u64 * k_step + block as u64 * block_step)?;
                for line in 0..8 {
                    let half = (halves[line / 4] >> (16 * (line % 4))) as u32 & 0xffff;
                    words[line * 4 + k / 2] |= half << (16 * (k % 2));
                }
            }
        }
        Ok(lines)
    }
}

/// Eight lines of a matrix in shared memory; `None` after a fault.
#[inline(always)]
fn placed(lanes: &mut Lanes<'_>, from: &Placed, first: usize, across: bool) -> Option<Lines> {
    let found = if across { from.lines_across(first) } else { from.lines(first) };
    found.map_err(|address| outside(lanes, address)).ok()
}

#[cold]
fn outside(lanes: &mut Lanes<'_>, address: u64) {
    let message = format!(
        "the descriptor of a matrix reaches to shared address 0x{address:x}, outside the block's memory"
    );
    lanes.fail(FaultKind::IllegalAddress, 0, Some(address), message);
}

/// What a warp reads of shared memory: regions with addresses and lengths. `None` where the instruction will fault.
///
/// # Safety
/// 1. `inst` is an instruction of this file of the entered code.
pub(in crate::engine) unsafe fn places(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Option<Vec<(Region, u64, u64)>> {
    if lanes.mask() != !0 {
        return None;
    }
    let matrix = lanes.matrix(inst)?;
    let mut all = Vec::new();
    let columns = (inst.aux >> COLUMNS_SHIFT & 63) as usize;
    let mut add = |lanes: &mut Lanes<'_>, descriptor: u64, groups: &[usize], across: bool| {
        let from = Placed::new(lanes, descriptor)?;
        let mut chunks = Vec::with_capacity(16 * groups.len());
        for first in groups {
            let (base, step, half) = from.steps(*first, across);
            chunks.extend(
                (0..16).map(|at| swizzled((base + at % 8 * step + at / 8 * half) & 0x3_ffff, from.swizzle)),
            );
        }
        chunks.sort_unstable();
        chunks.dedup();
        for pieces in chunks.chunk_by(|one, next| one + 16 == *next) {
            let bytes = 16 * pieces.len() as u64;
            let first = *pieces.first()?;
            if !from.shared.contains(first, bytes) {
                return None;
            }
            all.push((from.shared, first, bytes));
        }
        Some(())
    };
    if inst.aux & BOTH != 0 {
        // SAFETY: 1: the descriptor of A is wide, as `append` in `table::matrix_group` made it: the caller's duty 1.
        let a = unsafe { uniform(lanes, matrix.a.first()) };
        let first = (lanes.warp().index % 4) as usize * 16;
        add(lanes, a, &[first, first + 8], inst.aux & TRANSPOSED_A != 0)?;
    }
    // SAFETY: 1: as A's.
    let b = unsafe { uniform(lanes, matrix.b.first()) };
    let groups: Vec<usize> = (0..columns).map(|group| 8 * group).collect();
    add(lanes, b, &groups, inst.aux & TRANSPOSED_B != 0)?;
    Some(all)
}

/// The number that all lanes have in a wide operand.
///
/// # Safety
/// 1. `slot` is a wide operand of an instruction of the entered code.
unsafe fn uniform(lanes: &Lanes<'_>, slot: Option<&Slot>) -> u64 {
    // SAFETY: a wide operand, by the caller's duty 1; lane 0 is below 32.
    slot.map_or(0, |slot| unsafe { <u64 as Source>::get(<u64 as Source>::place(lanes, *slot), 0) })
}

/// The sixteen rows of A that this warp multiplies, in halves.
///
/// # Safety
/// 1. `matrix` has the operands of `inst`, an instruction of this file of the entered code.
unsafe fn left(lanes: &mut Lanes<'_>, inst: &Inst, matrix: &Matrix<Slot>) -> Option<[Lines; 2]> {
    let mut halves = [[[0; 32]; 2]; 2];
    if inst.aux & BOTH == 0 {
        for (half, lines) in halves.iter_mut().enumerate() {
            for (block, line) in lines.iter_mut().enumerate() {
                // SAFETY: 1: A's registers are words: the caller's duty 1; 2: it is copied at once.
                *line = unsafe { *words(lanes, *matrix.a.get(2 * block + half)?) };
            }
        }
        return Some(halves);
    }
    // SAFETY: 1: the descriptor of A is wide: the caller's duty 1.
    let descriptor = unsafe { uniform(lanes, matrix.a.first()) };
    let from = Placed::new(lanes, descriptor)?;
    let first = (lanes.warp().index % 4) as usize * 16;
    for (half, lines) in halves.iter_mut().enumerate() {
        *lines = placed(lanes, &from, first + 8 * half, inst.aux & TRANSPOSED_A != 0)?;
    }
    Some(halves)
}

/// Runs `add` for each eight columns of B and each half of A: the registers of both, and the rows of C that become those of D.
///
/// # Safety
/// 1. `inst` is an instruction of this file of the entered code, with `per_half` registers of C and D for eight columns of a half.
#[inline(always)]
unsafe fn tiles(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    per_half: usize,
    unpack: impl Fn([&[u32; 32]; 2]) -> Tile<u32>,
    pack: impl Fn(&Tile<u32>) -> [[u32; 32]; 2],
    mut add: impl FnMut(&[Lines; 2], &Lines, &mut [Tile<u32>; 2]),
) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    // SAFETY: 1, of all: the operands are those of the instruction (the caller's duty 1), as `append` in `table::matrix_group` made them:
    // A as `left` says, B's descriptor wide, behind it a predicate, C words, D words that are written; 2 of `words`: `unpack` copies
    // before anything is written. The predicate lies in the entered frame, and nobody writes it while it is read.
    unsafe {
        let Some(left) = left(lanes, inst, matrix) else { return Step::Fault };
        let descriptor = uniform(lanes, matrix.b.first());
        let Some(from) = Placed::new(lanes, descriptor) else { return Step::Fault };
        let adds = matrix.b.get(1).is_none_or(|slot| *lanes.predicate(*slot) & 1 != 0);
        for (block, (d, c)) in
            matrix.d.chunks_exact(2 * per_half).zip(matrix.c.chunks_exact(2 * per_half)).enumerate()
        {
            let Some(right) = placed(lanes, &from, 8 * block, inst.aux & TRANSPOSED_B != 0) else {
                return Step::Fault;
            };
            let mut sums = [[[0; 8]; 8]; 2];
            if adds {
                for (sums, slots) in sums.iter_mut().zip(c.chunks_exact(per_half)) {
                    *sums = unpack([words(lanes, slots[0]), words(lanes, slots[per_half - 1])]);
                }
            }
            add(&left, &right, &mut sums);
            for (sums, slots) in sums.iter().zip(d.chunks_exact(per_half)) {
                for (slot, values) in slots.iter().zip(pack(sums)) {
                    put_words(lanes, *slot, &values);
                }
            }
        }
    }
    Step::Next
}

/// The numbers of eight columns of B.
#[inline(always)]
fn rights<F: Factor, const P: usize>(lines: &Lines, sign: u32) -> Rights<P> {
    let mut right = Rights::<P>::ZERO;
    for (block, words) in lines.iter().enumerate() {
        let columns = transposed(words);
        for within in 0..32 / F::BITS {
            right.put::<F>(plane::<F, P>(block, within), &columns, |word| element::<F>(word ^ sign, within));
        }
    }
    right
}

/// The numbers of eight rows of A.
#[inline(always)]
fn lefts<F: Factor, const P: usize>(lines: &Lines, sign: u32) -> Lefts<P> {
    let mut left = Lefts::<P>::ZERO;
    for (block, words) in lines.iter().enumerate() {
        for within in 0..32 / F::BITS {
            left.put::<F>(plane::<F, P>(block, within), |lane| element::<F>(words[lane] ^ sign, within));
        }
    }
    left
}

/// The signs of all numbers of a word, if they are to be changed.
#[inline(always)]
fn signs<F: Factor>(inst: &Inst, flag: u32) -> u32 {
    let all = match F::BITS {
        8 => 0x8080_8080,
        16 => 0x8000_8000,
        _ => 0x8000_0000,
    };
    if inst.aux & flag != 0 { all } else { 0 }
}

#[inline(always)]
unsafe fn body<F: Factor, G: Factor, A: Packed, const P: usize>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let (negative_a, negative_b) = (signs::<F>(inst, NEGATIVE_A), signs::<G>(inst, NEGATIVE_B));
    // SAFETY: 1: the decoder made the instruction, with `A::REGISTERS` registers of C and D for a half (duty 2 of `Exec`).
    unsafe {
        tiles(lanes, inst, A::REGISTERS, A::unpack, A::pack, |left, right, sums| {
            let right = rights::<G, P>(right, negative_b);
            for (left, sums) in left.iter().zip(sums) {
                multiply::<A, P>(&lefts::<F, P>(left, negative_a), &right, sums, 1);
            }
        })
    }
}

fn pairs([even, odd]: [&[u32; 32]; 2]) -> Tile<u32> {
    tile(even, odd)
}

#[inline(always)]
unsafe fn body_integers(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let has = |flag| inst.aux & flag != 0;
    let number = |word, within, signed| super::integer::element::<8>(word, within, signed);
    // SAFETY: 1: the decoder made the instruction with four registers of C and D for eight columns, two for each half (duty 2 of `Exec`).
    unsafe {
        tiles(lanes, inst, 2, pairs, registers, |left, right, sums| {
            let mut columns = [[[0; 8]; 4]; 8];
            for (block, words) in right.iter().enumerate() {
                for (t, words) in transposed(words).iter().enumerate() {
                    for within in 0..4 {
                        columns[4 * block + within][t] =
                            words.map(|word| number(word, within, has(SIGNED_B)));
                    }
                }
            }
            for (left, sums) in left.iter().zip(sums) {
                let mut rows = [[0; 32]; 8];
                for (block, words) in left.iter().enumerate() {
                    for within in 0..4 {
                        rows[4 * block + within] = words.map(|word| number(word, within, has(SIGNED_A)));
                    }
                }
                integer::multiply::<8>(&rows, &columns, sums, has(SATURATES));
            }
        })
    }
}

#[inline(always)]
unsafe fn body_bits(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: 1: the decoder made the instruction with four registers of C and D for eight columns, two for each half (duty 2 of `Exec`).
    unsafe {
        tiles(lanes, inst, 2, pairs, registers, |left, right, sums| {
            let right = [transposed(&right[0]), transposed(&right[1])];
            for (left, sums) in left.iter().zip(sums) {
                integer::count::<2>(left, &right, sums, false);
            }
        })
    }
}
