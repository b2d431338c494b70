//! The check of all lanes of a warp at once.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::super::code::{Inst, Slot};
use super::super::lanes::Lanes;
use super::super::operand::Source;
use super::access::Access;
use super::address;
use super::find::region;

/// The offsets of all lanes in the one region that holds all live ones.
pub(crate) struct Together {
    /// Offsets; those of dead lanes mean nothing. At those of live ones the bytes are as of [`EffectiveAddress::Host`](super::EffectiveAddress::Host).
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
    // SAFETY: the same operand, the caller's duty 1; `& 31` makes it a lane.
    let first = unsafe { address(lanes, inst, slot, lanes.mask().trailing_zeros() as usize & 31) };
    let region = region(lanes, inst, first)?;
    let limit = region.len.checked_sub(bytes)?;
    // Where the mask counts, regions end below 2^32: an offset that wraps into one is that of an address that wraps into it.
    let (shift, mask) = (inst.imm.wrapping_sub(region.base), Access(inst.aux).address_mask());
    let (mut offsets, mut bad) = ([0u64; 32], 0u32);
    // SAFETY: the address operand, the caller's duty 1, is as wide as `narrow` says; there are 32 offsets.
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
#[inline(never)]
pub(crate) unsafe fn together_apart(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> Option<Together> {
    // SAFETY: the same operand: the caller's duty 1.
    unsafe { together(lanes, inst, slot, bytes) }
}

/// Sixteen lanes at one address, or at addresses that follow each other: nearly all accesses of real kernels.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// What the first lane accesses; there, and for the other lanes behind it, the bytes are as of [`EffectiveAddress::Host`](super::EffectiveAddress::Host).
    pub(crate) host: *mut u8,
    /// Whether all lanes access that.
    pub(crate) uniform: bool,
}

/// Checks a full warp whose two halves each are such a run: only the ends of a run have to be looked at. `None` if
/// they are not, or not where they may be.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn runs(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> Option<[Run; 2]> {
    if lanes.mask() != !0 {
        return None;
    }
    // SAFETY: the address operand, the caller's duty 1, has 32 numbers of the width that `narrow` says.
    let starts = unsafe {
        if Access(inst.aux).narrow() {
            let [low, high] = &*<u32 as Source>::place(lanes, slot).cast::<[[u32; 16]; 2]>();
            [narrow_run(low, bytes as u32)?, narrow_run(high, bytes as u32)?]
        } else {
            let [low, high] = &*<u64 as Source>::place(lanes, slot).cast::<[[u64; 16]; 2]>();
            [wide_run(low, bytes)?, wide_run(high, bytes)?]
        }
    };
    let mut runs = [Run { host: std::ptr::null_mut(), uniform: false }; 2];
    for ((start, uniform), run) in starts.into_iter().zip(&mut runs) {
        let address = start.wrapping_add(inst.imm) & Access(inst.aux).address_mask();
        let region = region(lanes, inst, address)?;
        let offset = address.wrapping_sub(region.base);
        let span = if uniform { bytes } else { 16 * bytes };
        if region.len < span || offset > region.len - span || address & (bytes - 1) != 0 {
            return None;
        }
        // SAFETY: all of the run, and so its start, lies inside the region's bytes, which are one allocation.
        *run = Run { host: unsafe { region.host.add(offset as usize) }, uniform };
    }
    Some(runs)
}

macro_rules! run_of {
    ($name:ident, $number:ty) => {
        /// The address of a run, and whether it is the same for all its lanes.
        #[inline(always)]
        fn $name(lanes: &[$number; 16], bytes: $number) -> Option<(u64, bool)> {
            let start = lanes[0];
            let uniform = lanes[1] == start;
            let step = if uniform { 0 } else { bytes };
            let mut differs = 0;
            for lane in 0..16 {
                differs |= lanes[lane] ^ start.wrapping_add((lane as $number).wrapping_mul(step));
            }
            (differs == 0).then_some((u64::from(start), uniform))
        }
    };
}
run_of!(narrow_run, u32);
run_of!(wide_run, u64);
