//! The check of all lanes of a warp at once.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::super::code::{Inst, Slot};
use super::super::lanes::Lanes;
use super::super::operand::Source;
use super::access::Access;
use super::address;
use super::find::region;
use crate::vectors;

/// The offsets of all lanes in the one region that holds all live ones.
pub(crate) struct Together {
    /// Offsets; those of dead lanes are meaningless. At those of live lanes the bytes are as for
    /// [`EffectiveAddress::Host`](super::EffectiveAddress::Host).
    pub(crate) offsets: [u64; 32],
    /// First byte of the region.
    pub(crate) host: *mut u8,
    /// Whether only the threads of this block group can touch it.
    pub(crate) private: bool,
}

/// Checks all lanes at once: `None` if they do not all lie, aligned, in one region of directly addressed memory.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn together(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> Option<Together> {
    // SAFETY: 1: the same operand, the caller's duty 1; 2: `& 31` makes it a lane.
    let first = unsafe { address(lanes, inst, slot, lanes.mask().trailing_zeros() as usize & 31) };
    let region = region(lanes, inst, first)?;
    let limit = region.len.checked_sub(bytes)?;
    // If the mask has an effect, regions end below 2^32, so an offset that wraps into one belongs to an address that wraps
    // into it.
    let (shift, mask) = (inst.imm.wrapping_sub(region.base), Access(inst.aux).address_mask());
    let (mut offsets, mut bad) = ([0u64; 32], 0u32);
    // SAFETY: the address operand, the caller's duty 1, is as wide as `narrow` says; there are 32 offsets, one for each
    // lane, and the frame stays the entered one.
    unsafe {
        if Access(inst.aux).narrow() {
            let place = <u32 as Source>::place(lanes, slot);
            for (lane, offset) in offsets.iter_mut().enumerate() {
                *offset = u64::from(<u32 as Source>::get(place, lane)).wrapping_add(shift) & mask;
            }
        } else {
            let place = <u64 as Source>::place(lanes, slot);
            for (lane, offset) in offsets.iter_mut().enumerate() {
                *offset = <u64 as Source>::get(place, lane).wrapping_add(shift) & mask;
            }
        }
    }
    // Addresses are aligned, not offsets: memory of the host may start anywhere.
    let aligned = region.base.wrapping_neg() & (bytes - 1);
    for (lane, offset) in offsets.iter().enumerate() {
        let wrong = (*offset > limit) | (offset & (bytes - 1) != aligned);
        bad |= u32::from(wrong) << lane;
    }
    (bad & lanes.mask() == 0).then_some(Together { offsets, host: region.host, private: region.private })
}

/// [`together`] out of line, for instructions that do much more than that.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code.
pub(crate) unsafe fn together_apart(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> Option<Together> {
    // SAFETY: 1: the same operand: the caller's duty 1; 2: `vectors::available` was checked.
    unsafe {
        if vectors::available() {
            together_fast(lanes, inst, slot, bytes)
        } else {
            together_plain(lanes, inst, slot, bytes)
        }
    }
}

/// # Safety
/// 1. That of [`together`].
/// 2. [`vectors::available`] holds.
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn together_fast(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> Option<Together> {
    // SAFETY: 1: the same operand: the caller's duty 1, which is that of `together`.
    unsafe { together(lanes, inst, slot, bytes) }
}

/// # Safety
/// 1. That of [`together`].
#[inline(never)]
unsafe fn together_plain(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> Option<Together> {
    // SAFETY: 1: the same operand: the caller's duty 1, which is that of `together`.
    unsafe { together(lanes, inst, slot, bytes) }
}
