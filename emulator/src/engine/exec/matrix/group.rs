//! `wgmma.mma_async`: four warps multiply 64 rows of A by up to 256 columns of B, which descriptors locate in shared memory (PTX ISA,
//! "Asynchronous Warpgroup Level Matrix Instructions"). Each warp computes sixteen rows of the result when it executes the instruction, so
//! nothing is left to do when it waits.
//!
//! For every type the instruction uses 32 bytes of a row of A and of a column of B, which are two registers of an `mma` fragment; if A is
//! sparse, with half of its elements selected by metadata, it uses 64 bytes of a column of B.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; the memory of a region is valid.

use std::cell::OnceCell;

use cuda_ptx::Space;

use super::super::super::code::{Inst, Matrix, Slot, Step};
use super::super::super::fault::FaultKind;
use super::super::lanes::Lanes;
use super::super::memory::{Access, Region, effective_address, region};
use super::super::operand::Source;
use super::float::Packed;
use super::sparse::Metadata;
use super::{exchanged, fragment, put_words, registers, tile, whole, words};
use crate::memory::access::Word;
use crate::numeric::matrix::float::{Factor, Lefts, element, lefts, multiply, plane, rights};
use crate::numeric::matrix::sixteen::{self, Register, Sixteen, Sum};
use crate::numeric::matrix::{Tile, integer, transposed};

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
/// Above the flags: the selector of the lanes that have metadata.
pub(crate) const SELECTOR_SHIFT: u32 = 16;
/// A has half of its elements, which metadata select.
pub(crate) const SPARSE: u32 = 1 << 18;
/// Above the flags: how many times eight columns B has.
pub(crate) const COLUMNS_SHIFT: u32 = 8;

/// Registers of eight rows of A or columns of B: 16 bytes of each to one, so that two have 32 bytes.
type Lines<const R: usize = 2> = [[u32; 32]; R];

/// A matrix in shared memory.
struct Placed {
    shared: Region,
    base: u64,
    /// Bytes between pieces, by the names of the fields of a descriptor.
    leading: u64,
    stride: u64,
    /// How many bits of an address are changed.
    swizzle: u32,
    /// How many lines of 128 bytes before the matrix the pattern begins that they are changed by.
    offset: u64,
}

impl Placed {
    /// Reads a descriptor.
    fn new(lanes: &mut Lanes<'_>, descriptor: u64) -> Option<Placed> {
        let field = |at: u32| (descriptor >> at & 0x3fff) << 4;
        let swizzle = [0, 3, 2, 1][(descriptor >> 62) as usize & 3];
        let (base, leading, stride) = (field(0), field(16), field(32));
        let inst = Inst { aux: Access::new(1, Some(Space::Shared), 0).0, ..Inst::NOTHING };
        let offset = descriptor >> 49 & 7;
        effective_address(lanes, &inst, 0, base, 16)?;
        Some(Placed { shared: region(lanes, &inst, base)?, base, leading, stride, swizzle, offset })
    }

    /// The swizzled address of 16 bytes.
    #[inline(always)]
    fn moved(&self, address: u64) -> u64 {
        let address = address & 0x3_ffff;
        address ^ ((address >> 7).wrapping_sub(self.offset) & ((1 << self.swizzle) - 1)) << 4
    }

    /// The 16 bytes at an address, which is swizzled first. The error is their address if it is outside.
    #[inline(always)]
    fn chunk(&self, address: u64) -> Result<[u64; 2], u64> {
        let address = self.moved(address);
        if !self.shared.contains(address, 16) {
            return Err(address);
        }
        // SAFETY: `contains` found 16 bytes inside the region, which are valid while the instruction runs, are used as the head of
        // `memory::access` says, and are aligned on the host as on the device (the head of `region`): to 16, because base, distances
        // and steps are multiples of that, and `swizzled` does not change lower bits.
        unsafe {
            let from = self.shared.host.add((address - self.shared.base) as usize);
            Ok([u64::load(from), u64::load(from.add(8))])
        }
    }

    /// Where eight lines from that one on begin, and the bytes between their pieces of 16.
    #[inline(always)]
    fn steps(&self, first: usize, across: bool) -> (u64, u64) {
        let group = (first / 8) as u64;
        match (across, self.swizzle) {
            (_, 0) => (self.base + group * self.stride, 16),
            (false, bits) => (self.base + group * self.stride, 16 << bits),
            (true, bits) => {
                let outer = (group >> bits) * self.leading;
                (self.base + outer + (group & ((1 << bits) - 1)) * 16, 16 << bits)
            }
        }
    }

    /// Bytes from there to the pieces of the 16 bytes of that number of each line.
    #[inline(always)]
    fn piece(&self, block: usize, across: bool) -> u64 {
        let block = block as u64;
        match (across, self.swizzle) {
            (_, 0) => block * self.leading,
            // A pattern of 32 bytes has room for two, the ISA does not say where more are.
            (false, bits) => (block >> bits) * self.leading + (block & ((1 << bits) - 1)) * 16,
            (true, _) => block * self.stride,
        }
    }

    /// Eight lines from that one on, whose bytes are in pieces of 16.
    #[inline(always)]
    fn lines<const R: usize>(&self, first: usize) -> Result<Lines<R>, u64> {
        let mut lines = [[0; 32]; R];
        let (base, line_step) = self.steps(first, false);
        for (block, words) in lines.iter_mut().enumerate() {
            let mut rows = [[0; 2]; 8];
            for (line, row) in rows.iter_mut().enumerate() {
                *row = self.chunk(base + line as u64 * line_step + self.piece(block, false))?;
            }
            *words = fragment(&rows);
        }
        Ok(lines)
    }

    /// The same of numbers of 16 bits, where those of eight lines are side by side.
    #[inline(always)]
    fn lines_across<const R: usize>(&self, first: usize) -> Result<Lines<R>, u64> {
        let mut lines = [[0; 32]; R];
        let (base, k_step) = self.steps(first, true);
        for (block, words) in lines.iter_mut().enumerate() {
            let mut rows = [[0; 2]; 8];
            for (k, row) in rows.iter_mut().enumerate() {
                *row = self.chunk(base + k as u64 * k_step + self.piece(block, true))?;
            }
            *words = fragment(&exchanged(&rows));
        }
        Ok(lines)
    }
}

/// Eight lines of a matrix in shared memory; `None` after a fault.
#[inline(always)]
fn placed<const R: usize>(
    lanes: &mut Lanes<'_>,
    from: &Placed,
    first: usize,
    across: bool,
) -> Option<Lines<R>> {
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

/// The regions of shared memory that a warp reads, with addresses and lengths. `None` if the instruction will fault.
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
    let mut add = |lanes: &mut Lanes<'_>, descriptor: u64, groups: &[usize], pieces: usize, across: bool| {
        let from = Placed::new(lanes, descriptor)?;
        let mut chunks = Vec::with_capacity(8 * pieces * groups.len());
        for first in groups {
            let (base, step) = from.steps(*first, across);
            let place = |at: usize| base + (at % 8) as u64 * step + from.piece(at / 8, across);
            chunks.extend((0..8 * pieces).map(|at| from.moved(place(at))));
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
        add(lanes, a, &[first, first + 8], 2, inst.aux & TRANSPOSED_A != 0)?;
    }
    // SAFETY: 1: as A's.
    let b = unsafe { uniform(lanes, matrix.b.first()) };
    let groups: Vec<usize> = (0..columns).map(|group| 8 * group).collect();
    let pieces = if inst.aux & SPARSE != 0 { 4 } else { 2 };
    add(lanes, b, &groups, pieces, inst.aux & TRANSPOSED_B != 0)?;
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

/// Runs `add` for each eight columns of B: A as `prepare` made it of the registers of both halves, the registers of B, and those of C, from
/// which come those of D.
///
/// # Safety
/// 1. `inst` is an instruction of this file of the entered code, with `per_half` registers of C and D, one or two, for eight columns of a half.
#[inline(always)]
unsafe fn blocks<L, const R: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    per_half: usize,
    prepare: impl FnOnce(&[Lines; 2]) -> L,
    mut add: impl FnMut(&L, &Lines<R>, &[&Register; 4]) -> [Register; 4],
) -> Step {
    let Some(matrix) = whole(lanes, inst) else { return Step::Fault };
    let nothing = [0; 32];
    // SAFETY: 1, of all: the operands are those of the instruction (the caller's duty 1), as `append` in `table::matrix_group` made them:
    // A as `left` says, B's descriptor wide, behind it a predicate and, of a sparse A, a word, C words, D words that are written; 2 of `words`: the references
    // are no longer used when `add` has returned. The predicate lies in the entered frame, and nothing writes it while it is read.
    unsafe {
        let Some(rows) = left(lanes, inst, matrix) else { return Step::Fault };
        let left = prepare(&rows);
        let descriptor = uniform(lanes, matrix.b.first());
        let Some(from) = Placed::new(lanes, descriptor) else { return Step::Fault };
        let adds = matrix.b.get(1).is_none_or(|slot| *lanes.predicate(*slot) & 1 != 0);
        for (block, (d, c)) in
            matrix.d.chunks_exact(2 * per_half).zip(matrix.c.chunks_exact(2 * per_half)).enumerate()
        {
            let Some(right) = placed(lanes, &from, 8 * block, inst.aux & TRANSPOSED_B != 0) else {
                return Step::Fault;
            };
            let mut addends = [&nothing; 4];
            if adds {
                for (addend, slot) in addends.iter_mut().zip(c) {
                    *addend = words(lanes, *slot);
                }
            }
            let sums = add(&left, &right, &addends);
            for (slot, values) in d.iter().zip(&sums) {
                put_words(lanes, *slot, values);
            }
        }
    }
    Step::Next
}

/// Sums by `add`, of tiles, from registers of C, `per_half` for eight rows, to those of D.
#[inline(always)]
fn by_tiles(
    c: &[&Register; 4],
    per_half: usize,
    unpack: impl Fn([&Register; 2]) -> Tile<u32>,
    pack: impl Fn(&Tile<u32>) -> [Register; 2],
    add: impl FnOnce(&mut [Tile<u32>; 2]),
) -> [Register; 4] {
    let (second, last) = if per_half == 2 { (c[2], c[3]) } else { (c[1], c[1]) };
    let mut sums = [unpack([c[0], if per_half == 2 { c[1] } else { c[0] }]), unpack([second, last])];
    add(&mut sums);
    let [first, second] = sums.each_ref().map(pack);
    if per_half == 2 {
        [first[0], first[1], second[0], second[1]]
    } else {
        [first[0], second[0], [0; 32], [0; 32]]
    }
}

/// The same with a half of A as `prepare` made it of its number and registers, and `add` for both halves and the rows of C that become those
/// of D.
///
/// # Safety
/// 1. That of [`blocks`].
#[inline(always)]
unsafe fn tiles<L, const R: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    per_half: usize,
    unpack: impl Fn([&Register; 2]) -> Tile<u32>,
    pack: impl Fn(&Tile<u32>) -> [Register; 2],
    prepare: impl Fn(usize, &Lines) -> L,
    mut add: impl FnMut(&[L; 2], &Lines<R>, &mut [Tile<u32>; 2]),
) -> Step {
    let both = |[upper, lower]: &[Lines; 2]| [prepare(0, upper), prepare(1, lower)];
    // SAFETY: 1: the caller's.
    unsafe {
        blocks(lanes, inst, per_half, both, |left, right, c| {
            by_tiles(c, per_half, &unpack, &pack, |sums| add(left, right, sums))
        })
    }
}

/// The signs of all numbers of a word, if they must be changed.
#[inline(always)]
fn signs<F: Factor>(inst: &Inst, flag: u32) -> u32 {
    let all = match F::BITS {
        8 => 0x8080_8080,
        16 => 0x8000_8000,
        _ => 0x8000_0000,
    };
    if inst.aux & flag != 0 { all } else { 0 }
}

/// Floats, all in one group.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn product<F: Factor, G: Factor, A: Packed, const P: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Step {
    let (negative_a, negative_b) = (signs::<F>(inst, NEGATIVE_A), signs::<G>(inst, NEGATIVE_B));
    // SAFETY: 1: the decoder made the instruction, with `A::REGISTERS` registers of C and D for a half (duty 2 of `Exec`).
    unsafe {
        let prepare = |_, lines: &Lines| lefts::<F, P>(&lines.each_ref(), negative_a);
        tiles(lanes, inst, A::REGISTERS, A::unpack, A::pack, prepare, |left, right: &Lines, sums| {
            let right = rights::<G, P>(&right.each_ref(), negative_b);
            for (left, sums) in left.iter().zip(sums) {
                multiply::<A, P>(left, &right, sums, 1);
            }
        })
    }
}

/// Floats of 16 bits.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn product_of_sixteen<F: Sixteen, A: Packed + Sum>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Step {
    let (negative_a, negative_b) = (signs::<F>(inst, NEGATIVE_A), signs::<F>(inst, NEGATIVE_B));
    let prepare = |rows: &[Lines; 2]| {
        let [upper, lower] = rows;
        let quick = sixteen::left::<F, 2>(&[[&upper[0], &lower[0]], [&upper[1], &lower[1]]], negative_a);
        // What other columns need is made for the first of them.
        (quick, *rows, OnceCell::new())
    };
    // SAFETY: 1: the decoder made the instruction, with `A::REGISTERS` registers of C and D for a half (duty 2 of `Exec`).
    unsafe {
        blocks(lanes, inst, A::REGISTERS, prepare, |(quick, rows, slow), right: &Lines, c| {
            let (columns, mut sums) = (right.each_ref(), [[0; 32]; 4]);
            if let Some(left) = quick
                && sixteen::multiply::<F, A, 2>(left, (&columns, negative_b), c, &mut sums)
            {
                return sums;
            }
            let lefts = || rows.each_ref().map(|lines| lefts::<F, 4>(&lines.each_ref(), negative_a));
            let (left, right) = (slow.get_or_init(lefts), rights::<F, 4>(&columns, negative_b));
            by_tiles(c, A::REGISTERS, A::unpack, A::pack, |sums| {
                for (left, sums) in left.iter().zip(sums) {
                    multiply::<A, 4>(left, &right, sums, 1);
                }
            })
        })
    }
}

/// The metadata of a sparse A.
///
/// # Safety
/// 1. `inst` is a sparse instruction of this file of the entered code.
unsafe fn metadata(lanes: &Lanes<'_>, inst: &Inst) -> Option<[u32; 32]> {
    let slot = *lanes.matrix(inst)?.b.get(2)?;
    // SAFETY: 1: the third of B's operands is the metadata, a word: the caller's duty 1; 2: it is copied at once.
    Some(unsafe { *words(lanes, slot) })
}

/// Calls `put` with lane `8 rows * 4 + t`, block, element and word of what is there of eight rows of a sparse A.
#[inline(always)]
fn spread(
    (metadata, inst, bits): (&[u32; 32], &Inst, usize),
    half: usize,
    lines: &Lines,
    mut put: impl FnMut(usize, usize, usize, u32, usize),
) {
    let each = 32 / bits;
    let selector = (inst.aux >> SELECTOR_SHIFT) as usize & 3;
    // Codes of four bits for each row: one for two columns of `.tf32`, and for four of others.
    let codes = if bits == 8 { 16 } else { 8 };
    let metadata = Metadata { words: metadata, bits, selector, codes };
    for (block, words) in lines.iter().enumerate() {
        for (lane, word) in words.iter().enumerate() {
            for within in 0..each {
                let column = metadata.column(half * 8 + lane / 4, (block * 4 + lane % 4) * each + within);
                let (block, t) = (column / (4 * each), column / each % 4);
                put(lane / 4 * 4 + t, block, column % each, *word, within);
            }
        }
    }
}

/// Floats, with a sparse A.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn sparse_product<F: Factor, G: Factor, A: Packed, const P: usize>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
) -> Step {
    let (negative_a, negative_b) = (signs::<F>(inst, NEGATIVE_A), signs::<G>(inst, NEGATIVE_B));
    // SAFETY: 1, of both: the decoder made the instruction, which is sparse, with `A::REGISTERS` registers of C and D for a half (duty 2 of
    // `Exec`).
    unsafe {
        let Some(metadata) = metadata(lanes, inst) else { return Step::Fault };
        let prepare = |half, lines: &Lines| {
            let mut left = Lefts::<P>::ABSENT;
            spread((&metadata, inst, F::BITS), half, lines, |lane, block, element_at, word, within| {
                let bits = element::<F>(word ^ negative_a, within);
                left.put_one::<F>(plane::<F, P>(block, element_at), lane, bits);
            });
            left
        };
        tiles(lanes, inst, A::REGISTERS, A::unpack, A::pack, prepare, |left, right: &Lines<4>, sums| {
            let right = rights::<G, P>(&right.each_ref(), negative_b);
            for (left, sums) in left.iter().zip(sums) {
                multiply::<A, P>(left, &right, sums, 1);
            }
        })
    }
}

/// Integers of 8 bits, with a sparse A.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn sparse_integers(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let has = |flag| inst.aux & flag != 0;
    let number = |word, within, signed| super::integer::element::<8>(word, within, signed);
    // SAFETY: 1, of both: the decoder made the instruction, which is sparse, with four registers of C and D for eight columns, two for each
    // half (duty 2 of `Exec`).
    unsafe {
        let Some(metadata) = metadata(lanes, inst) else { return Step::Fault };
        let prepare = |half, lines: &Lines| {
            let mut rows = [[0; 32]; 16];
            spread((&metadata, inst, 8), half, lines, |lane, block, element_at, word, within| {
                rows[(4 * block + element_at) & 15][lane & 31] = number(word, within, has(SIGNED_A));
            });
            rows
        };
        tiles(lanes, inst, 2, pairs, registers, prepare, |left, right: &Lines<4>, sums| {
            let mut columns = [[[0; 8]; 4]; 16];
            for (block, words) in right.iter().enumerate() {
                for (t, words) in transposed(words).iter().enumerate() {
                    for within in 0..4 {
                        columns[4 * block + within][t] =
                            words.map(|word| number(word, within, has(SIGNED_B)));
                    }
                }
            }
            for (rows, sums) in left.iter().zip(sums) {
                integer::multiply::<16>(rows, &columns, sums, has(SATURATES));
            }
        })
    }
}

fn pairs([even, odd]: [&Register; 2]) -> Tile<u32> {
    tile(even, odd)
}

/// Integers of 8 bits.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn integers(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let has = |flag| inst.aux & flag != 0;
    let number = |word, within, signed| super::integer::element::<8>(word, within, signed);
    // SAFETY: 1: the decoder made the instruction with four registers of C and D for eight columns, two for each half (duty 2 of `Exec`).
    unsafe {
        let prepare = |_, lines: &Lines| {
            let mut rows = [[0; 32]; 8];
            for (block, words) in lines.iter().enumerate() {
                for within in 0..4 {
                    rows[4 * block + within] = words.map(|word| number(word, within, has(SIGNED_A)));
                }
            }
            rows
        };
        tiles(lanes, inst, 2, pairs, registers, prepare, |left, right: &Lines, sums| {
            let mut columns = [[[0; 8]; 4]; 8];
            for (block, words) in right.iter().enumerate() {
                for (t, words) in transposed(words).iter().enumerate() {
                    for within in 0..4 {
                        columns[4 * block + within][t] =
                            words.map(|word| number(word, within, has(SIGNED_B)));
                    }
                }
            }
            for (rows, sums) in left.iter().zip(sums) {
                integer::multiply::<8>(rows, &columns, sums, has(SATURATES));
            }
        })
    }
}

/// Single bits.
///
/// # Safety
/// 1. The duties of [`Exec`](crate::engine::code::Exec).
pub(crate) unsafe fn bits(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: 1: the decoder made the instruction with four registers of C and D for eight columns, two for each half (duty 2 of `Exec`).
    unsafe {
        tiles(
            lanes,
            inst,
            2,
            pairs,
            registers,
            |_, lines| *lines,
            |left, right: &Lines, sums| {
                let right = [transposed(&right[0]), transposed(&right[1])];
                for (left, sums) in left.iter().zip(sums) {
                    integer::count::<2>(left, &right, sums, false);
                }
            },
        )
    }
}
