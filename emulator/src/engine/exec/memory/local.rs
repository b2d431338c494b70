//! Local memory: words of the 32 lanes side by side, as registers are.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use std::ops::{BitOr, BitXor};

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
    // SAFETY: 1: the same operand, the caller's duty 1; 2: `& 31` makes it a lane.
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
    // SAFETY: 1: the same operand, the caller's duty 1; 2: `& 31` makes it a lane.
    let first = unsafe { address(lanes, inst, slot, mask.trailing_zeros() as usize & 31) };
    let offset = local_offset(lanes, inst, first, bytes)?;
    // SAFETY: the address operand, the caller's duty 1, is a row of 32 numbers with the width given by `narrow`,
    // which is not written while `agree` reads it.
    let same = unsafe {
        if Access(inst.aux).narrow() {
            agree(&*<u32 as Source>::place(lanes, slot).cast::<[u32; 32]>(), mask)
        } else {
            agree(&*<u64 as Source>::place(lanes, slot).cast::<[u64; 32]>(), mask)
        }
    };
    same.then_some(offset)
}

/// The offsets in local memory of all lanes' accesses, if those of the live ones are all in bounds and aligned; those of dead ones are
/// meaningless.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn scattered_local(
    lanes: &Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> Option<[u32; 32]> {
    let access = Access(inst.aux);
    let window = match access.space() {
        LOCAL => 0,
        GENERIC => windows::LOCAL,
        _ => return None,
    };
    let (start, counted) = (u64::from(windows::LOCAL_START), access.address_mask());
    // The last offset, counted from the first local byte; of an address below that byte it wraps around.
    let limit = u64::from(lanes.local_top).checked_sub(start + bytes)?;
    let (mut places, mut offsets, mut wrong) = ([0; 32], [0; 32], 0);
    // SAFETY: the address operand, the caller's duty 1, is as wide as `narrow` says; there are 32 places, one for each lane, and the frame
    // stays the entered one.
    unsafe {
        if access.narrow() {
            let operand = <u32 as Source>::place(lanes, slot);
            for (lane, place) in places.iter_mut().enumerate() {
                *place = u64::from(<u32 as Source>::get(operand, lane));
            }
        } else {
            let operand = <u64 as Source>::place(lanes, slot);
            for (lane, place) in places.iter_mut().enumerate() {
                *place = <u64 as Source>::get(operand, lane);
            }
        }
    }
    for (lane, place) in places.iter().enumerate() {
        let offset = (place.wrapping_add(inst.imm) & counted).wrapping_sub(window);
        let is_wrong = (offset.wrapping_sub(start) > limit) | (offset & (bytes - 1) != 0);
        offsets[lane] = offset as u32;
        wrong |= u32::from(is_wrong) << lane;
    }
    (wrong & lanes.mask() == 0).then_some(offsets)
}

/// Whether the lanes of `mask` all have one number.
#[inline(always)]
pub(crate) fn agree<T: Copy + Default + BitXor<Output = T> + BitOr<Output = T> + PartialEq>(
    row: &[T; 32],
    mask: u32,
) -> bool {
    let first = row[mask.trailing_zeros() as usize & 31];
    let mut differs = T::default();
    for (lane, number) in row.iter().enumerate() {
        differs = differs | if mask & 1 << lane != 0 { *number ^ first } else { T::default() };
    }
    differs == T::default()
}

/// The offset in local memory of a lane's access, if it is in bounds and aligned.
#[inline(always)]
pub(crate) fn local_offset(lanes: &Lanes<'_>, inst: &Inst, address: u64, bytes: u64) -> Option<u32> {
    let offset = match Access(inst.aux).space() {
        LOCAL => address,
        GENERIC if windows::inside(windows::LOCAL, address) => address - windows::LOCAL,
        _ => return None,
    };
    let inside = offset >= u64::from(windows::LOCAL_START)
        && offset.checked_add(bytes).is_some_and(|end| end <= u64::from(lanes.local_top));
    (inside && offset & (bytes - 1) == 0).then_some(offset as u32)
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
