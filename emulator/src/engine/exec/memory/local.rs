//! Local memory: words of the 32 lanes side by side, as registers are.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::super::code::{Inst, Slot};
use super::super::super::windows;
use super::super::lanes::Lanes;
use super::super::operand::Source;
use super::access::{Access, GENERIC, LOCAL};
use super::address;

/// Whether the first live lane addresses local memory.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn is_local(lanes: &Lanes<'_>, inst: &Inst, slot: Slot) -> bool {
    if Access(inst.aux).space() == LOCAL {
        return true;
    }
    // SAFETY: the same operand, the caller's duty 1; `& 31` makes it a lane.
    let first = unsafe { address(lanes, inst, slot, lanes.mask().trailing_zeros() as usize & 31) };
    windows::inside(windows::LOCAL, first)
}

/// Whether the live lanes all address the same place in local memory, and which.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn uniform_local(lanes: &Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> Option<u32> {
    let mask = lanes.mask();
    // SAFETY: the same operand, the caller's duty 1; `& 31` makes it a lane.
    let first = unsafe { address(lanes, inst, slot, mask.trailing_zeros() as usize & 31) };
    let offset = match Access(inst.aux).space() {
        LOCAL => first,
        GENERIC if windows::inside(windows::LOCAL, first) => first - windows::LOCAL,
        _ => return None,
    };
    let end = offset.checked_add(bytes)?;
    if offset < u64::from(windows::LOCAL_START)
        || end > u64::from(lanes.local_top)
        || !offset.is_multiple_of(bytes)
    {
        return None;
    }
    // SAFETY: the address operand, the caller's duty 1, is as wide as `narrow` says; lanes of a mask are below 32.
    let same = unsafe {
        if Access(inst.aux).narrow() {
            let place = <u32 as Source>::place(lanes, slot);
            let first = <u32 as Source>::get(place, mask.trailing_zeros() as usize & 31);
            (0..32).fold(0, |same, lane| same | u32::from(<u32 as Source>::get(place, lane) == first) << lane)
        } else {
            let place = <u64 as Source>::place(lanes, slot);
            let first = <u64 as Source>::get(place, mask.trailing_zeros() as usize & 31);
            (0..32).fold(0, |same, lane| same | u32::from(<u64 as Source>::get(place, lane) == first) << lane)
        }
    };
    (same & mask == mask).then_some(offset as u32)
}

/// Index of a lane's local word in the warp's local memory.
#[inline(always)]
pub(crate) fn local_index(offset: u32, lane: usize) -> usize {
    ((offset - windows::LOCAL_START) / 4) as usize * 32 + lane
}

/// Reads `N` bytes of one lane's local memory, zero-extended. `bytes` is 1, 2, 4 or 8 and divides `offset`.
#[inline(always)]
pub(crate) fn local_read(local: &[u32], offset: u32, lane: usize, bytes: u32) -> u64 {
    let word = |offset| local.get(local_index(offset, lane)).copied().unwrap_or(0);
    let low = u64::from(word(offset));
    match bytes {
        8 => low | u64::from(word(offset + 4)) << 32,
        4 => low,
        _ => low >> (offset % 4 * 8) & ((1 << (bytes * 8)) - 1),
    }
}

/// Writes `bytes` bytes of one lane's local memory: 1, 2, 4 or 8, which divides `offset`.
#[inline(always)]
pub(crate) fn local_write(local: &mut [u32], offset: u32, lane: usize, bytes: u32, value: u64) {
    let mut put = |offset: u32, mask: u32, value: u32| {
        if let Some(word) = local.get_mut(local_index(offset, lane)) {
            *word = *word & !mask | value & mask;
        }
    };
    match bytes {
        8 => {
            put(offset, !0, value as u32);
            put(offset + 4, !0, (value >> 32) as u32);
        }
        4 => put(offset, !0, value as u32),
        _ => {
            let shift = offset % 4 * 8;
            put(offset, ((1 << (bytes * 8)) - 1) << shift, (value as u32) << shift);
        }
    }
}
