//! `ldmatrix`, `stmatrix`, `movmatrix`: matrices of eight rows of eight numbers of 16 bits, spread over the warp in the layout
//! of `mma`. Lane `row * 4 + t` holds numbers `2 * t` and `2 * t + 1` of its row, or transposed of its column.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `together` and `effective_address`, which checked bounds and alignment.

use super::super::super::code::{Exec, Inst, Step};
use super::super::super::fault::FaultKind;
use super::super::super::windows;
use super::super::lanes::{Lanes, bits};
use super::super::memory::{Access, EffectiveAddress, address, effective_address, together_apart};
use super::{exchanged, fragment, incomplete, put_words, square, words};
use crate::memory::access::Word;

/// Bytes of a row.
pub(crate) const ROW: u64 = 16;
/// The bit of [`Inst::aux`] that says that matrices are transposed; the rest is an [`Access`].
pub(crate) const TRANSPOSED: u32 = 1 << 16;

/// `ldmatrix`. Operands: the destinations, then the address.
pub(crate) const LOAD: Exec = load;
/// `stmatrix`. Operands: the sources, then the address.
pub(crate) const STORE: Exec = store;
/// `movmatrix`. Operands: destination, source.
pub(crate) const MOVE: Exec = transpose;

/// A matrix as 32 lanes hold it.
type Fragment = [u32; 32];

/// The lanes whose addresses count: one for each row of that many matrices.
pub(crate) fn addressing(matrices: usize) -> u32 {
    u32::MAX >> (32 - 8 * matrices.clamp(1, 4))
}

/// The same matrix with rows and columns exchanged.
fn transposed(matrix: &Fragment) -> Fragment {
    fragment(&exchanged(&square(matrix)))
}

/// The addresses of the rows; on failure the reason is recorded.
///
/// # Safety
/// 1. `inst` is [`LOAD`] or [`STORE`], an instruction of the entered code.
/// 2. The lanes of [`addressing`] for its elements are live.
unsafe fn places(lanes: &mut Lanes<'_>, inst: &Inst) -> Option<[*mut u8; 32]> {
    let access = Access(inst.aux);
    let slot = inst.ops[access.elements()];
    let mut rows = [std::ptr::null_mut(); 32];
    let wanted = addressing(access.elements());
    if access.may_be_local() {
        for lane in bits(wanted) {
            // SAFETY: 1: the decoder made the last operand the address: the caller's duty 1; 2: lanes of a mask are below 32.
            let address = unsafe { address(lanes, inst, slot, lane) };
            if !windows::inside(windows::SHARED, address) {
                let message = format!("0x{address:x} is not an address of shared memory");
                lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(address), message);
                return None;
            }
        }
    }
    // SAFETY: 1: the decoder made the last operand the address: the caller's duty 1.
    if let Some(together) = unsafe { together_apart(lanes, inst, slot, ROW) } {
        for lane in bits(wanted) {
            // SAFETY: a lane that counts is live (duty 2), and by the documentation of `Together` its offset lies in
            // the memory, with a whole row after it, because `ROW` bytes were requested.
            rows[lane] = unsafe { together.host.add(together.offsets[lane] as usize) };
        }
        return Some(rows);
    }
    for lane in bits(wanted) {
        // SAFETY: 1: the decoder made the last operand the address: the caller's duty 1; 2: lanes of a mask are below 32.
        let address = unsafe { address(lanes, inst, slot, lane) };
        match effective_address(lanes, inst, lane, address, ROW)? {
            EffectiveAddress::Host { pointer, .. } => rows[lane] = pointer,
            EffectiveAddress::Local(_) => return None,
        }
    }
    Some(rows)
}

/// The rows of an instruction that all lanes execute, but for which only some lanes provide addresses.
///
/// # Safety
/// 1. `inst` is [`LOAD`] or [`STORE`], an instruction of the entered code.
unsafe fn all_places(lanes: &mut Lanes<'_>, inst: &Inst) -> Option<[*mut u8; 32]> {
    let mask = lanes.mask();
    if mask != !0 {
        incomplete(lanes);
        return None;
    }
    lanes.set_mask(addressing(Access(inst.aux).elements()));
    // SAFETY: 1: the same instruction: the caller's duty 1; 2: the mask was just set to them.
    let rows = unsafe { places(lanes, inst) };
    lanes.set_mask(mask);
    rows
}

unsafe fn load(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: 1: the decoder made the instruction, of the entered code, for this function (duty 2 of `Exec`).
    let Some(rows) = (unsafe { all_places(lanes, inst) }) else { return Step::Fault };
    for (matrix, slot) in inst.ops.iter().take(Access(inst.aux).elements()).enumerate() {
        let mut values = [[0; 2]; 8];
        for (row, fours) in rows[matrix * 8..].iter().zip(&mut values) {
            // SAFETY: 1, 2, for both halves: `places` found all of the row to be as `EffectiveAddress::Host` says, aligned to 16.
            *fours = unsafe { [u64::load(*row), u64::load(row.add(8))] };
        }
        let values = if inst.aux & TRANSPOSED != 0 { exchanged(&values) } else { values };
        // SAFETY: 1: the operands before the address are words that the instruction writes (duty 2 of `Exec`).
        unsafe { put_words(lanes, *slot, &fragment(&values)) };
    }
    Step::Next
}

/// The row that `stmatrix` writes at the address of a lane.
///
/// # Safety
/// 1. `inst` is [`STORE`], an instruction of the entered code.
pub(crate) unsafe fn stored(lanes: &Lanes<'_>, inst: &Inst, lane: usize) -> [u8; ROW as usize] {
    let mut bytes = [0; ROW as usize];
    let Some(slot) = inst.ops.get(lane / 8).filter(|_| lane / 8 < Access(inst.aux).elements()) else {
        return bytes;
    };
    // SAFETY: 1: the operands before the address are words: duty 1; 2: what is made of them is a copy.
    let values = unsafe { words(lanes, *slot) };
    let values = if inst.aux & TRANSPOSED != 0 { transposed(values) } else { *values };
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(&values[lane % 8 * 4..]) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

unsafe fn store(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: 1: the decoder made the instruction, of the entered code, for this function (duty 2 of `Exec`).
    let Some(rows) = (unsafe { all_places(lanes, inst) }) else { return Step::Fault };
    for lane in bits(addressing(Access(inst.aux).elements())) {
        // SAFETY: 1 of `stored`: the decoder made the instruction for this function. 1, 2 of the stores: `places` found
        // all of the row to be as `EffectiveAddress::Host` says, aligned to 16, and so each of its words, at `at * 4`,
        // aligned to 4.
        unsafe {
            let bytes = stored(lanes, inst, lane);
            for (at, word) in bytes.chunks_exact(4).enumerate() {
                let word = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
                u32::store(rows[lane].add(at * 4), word);
            }
        }
    }
    Step::Next
}

unsafe fn transpose(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    if lanes.mask() != !0 {
        incomplete(lanes);
        return Step::Fault;
    }
    // SAFETY: 1, for both calls: the decoder made both operands words, the first of which is written (duty 2 of `Exec`); 2: `values` is a copy.
    unsafe {
        let values = transposed(words(lanes, inst.ops[1]));
        put_words(lanes, inst.ops[0], &values);
    }
    Step::Next
}
