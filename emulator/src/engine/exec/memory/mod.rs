//! Resolves addresses: the check of every access, and the faults.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

mod access;
mod find;
mod local;
mod region;
mod runs;
mod single;
mod whole;

use super::super::code::{Inst, Slot};
use super::lanes::{Lanes, bits};
use super::operand::Source;

pub(crate) use access::Access;
pub(crate) use find::region;
pub(crate) use local::{
    agree, is_local, local_index, local_offset, local_read, local_write, scattered_local, uniform_local,
};
pub(crate) use region::Region;
pub(crate) use runs::{HALF, RUN, Run, halves, halves_again, indexed_again, one_again, runs};
pub(crate) use single::{EffectiveAddress, effective_address, effective_address_of, fetch, present};
pub(crate) use whole::{together, together_apart};

/// The address in lane `lane` of a memory instruction.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code.
/// 2. `lane` is below 32.
#[inline(always)]
pub(crate) unsafe fn address(lanes: &Lanes<'_>, inst: &Inst, slot: Slot, lane: usize) -> u64 {
    // SAFETY: the operand is as wide as `narrow` says, the caller's duty 1, and `lane` one of its lanes, duty 2; the
    // frame stays the entered one.
    let base = unsafe {
        if Access(inst.aux).narrow() {
            u64::from(<u32 as Source>::get(<u32 as Source>::place(lanes, slot), lane))
        } else {
            <u64 as Source>::get(<u64 as Source>::place(lanes, slot), lane)
        }
    };
    base.wrapping_add(inst.imm) & Access(inst.aux).address_mask()
}

/// All live lanes, lowest first.
#[inline(always)]
pub(crate) fn live(lanes: &Lanes<'_>) -> impl Iterator<Item = usize> + use<> {
    bits(lanes.mask())
}
