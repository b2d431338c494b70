//! Accesses in which neighbouring lanes use the same address or consecutive addresses: nearly all accesses of real
//! kernels.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; regions describe valid memory.

use super::super::super::code::{Inst, Slot};
use super::super::lanes::Lanes;
use super::super::operand::Source;
use super::super::vector::{Eight, Steps};
use super::access::Access;
use super::find::region;
use super::local::agree;
use super::region::Region;

/// Lanes of a run.
pub(crate) const RUN: usize = 8;
/// Lanes of half a warp.
pub(crate) const HALF: usize = 16;

/// The live lanes among eight, at the same address or at consecutive addresses.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// The first lane's access, whether or not that lane is live: from there the bytes of the live lanes are as for
    /// [`EffectiveAddress::Host`](super::EffectiveAddress::Host).
    pub(crate) host: *mut u8,
    /// Whether all live lanes access that.
    pub(crate) uniform: bool,
    /// The live lanes, a bit for each.
    pub(crate) live: u8,
}

/// The two halves of a warp whose lanes are all live, each at the same address or at consecutive addresses.
pub(crate) struct Halves {
    /// The access of each half's first lane; there, and for the other lanes after it, the bytes are as for
    /// [`EffectiveAddress::Host`](super::EffectiveAddress::Host).
    pub(crate) hosts: [*mut u8; 2],
    /// Whether all lanes access that.
    pub(crate) uniform: [bool; 2],
    /// The number of bytes of the region below both accesses.
    pub(crate) below: u64,
    /// The number of bytes above.
    pub(crate) above: u64,
}

/// Checks a full warp of two such halves: nearly all accesses of real kernels. `None` if they do not have this form, or are not in
/// bounds of one region.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code.
/// 2. The CPU, if it is an x86, has AVX2.
#[inline(always)]
pub(crate) unsafe fn halves(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> Option<Halves> {
    let find = |lanes: &mut Lanes<'_>, address| region(lanes, inst, address);
    // SAFETY: 1: the address operand, the caller's duty 1, has 32 numbers of the width that `narrow` says; 2: duty 2.
    unsafe {
        if Access(inst.aux).narrow() {
            let place = <u32 as Source>::place(lanes, slot);
            check_halves::<u32>(lanes, inst, place, bytes, find)
        } else {
            let place = <u64 as Source>::place(lanes, slot);
            check_halves::<u64>(lanes, inst, place, bytes, find)
        }
    }
}

/// [`halves`] for addresses of type `A`, only in the region of the instruction's last access.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code, and as wide as `A`.
/// 2. The CPU, if it is an x86, has AVX2.
#[inline(always)]
pub(crate) unsafe fn halves_again<A: Eight>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> Option<Halves> {
    // SAFETY: 1: the address operand has 32 numbers of this type: the caller's duty 1; 2: duty 2.
    unsafe {
        let place = lanes.row(slot).cast::<A>();
        check_halves(lanes, inst, place, bytes, |lanes, _| lanes.sites.get(inst.site as usize).copied())
    }
}

/// The access of all lanes of a full warp, if they have one address, in the region of the instruction's last access.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code, and as wide as `A`.
#[inline(always)]
pub(crate) unsafe fn one_again<A: Eight>(
    lanes: &Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> Option<*mut u8> {
    // SAFETY: the address operand has 32 numbers of this type, the caller's duty 1, which nobody writes meanwhile.
    let addresses = unsafe { &*lanes.row(slot).cast::<[A; 32]>() };
    if addresses[0] != addresses[1] || !agree(addresses, !0) {
        return None;
    }
    let address = addresses[0].into().wrapping_add(inst.imm) & Access(inst.aux).address_mask();
    let region = lanes.sites.get(inst.site as usize)?;
    if !region.contains(address, bytes) || address & (bytes - 1) != 0 {
        return None;
    }
    // SAFETY: `contains` found the offset inside the region's bytes, which are one allocation.
    Some(unsafe { region.host.add((address - region.base) as usize) })
}

/// [`halves_again`] for an access that computes its addresses itself, with operands as [`Indexed`](super::super::indexed::Indexed) says.
///
/// # Safety
/// 1. `inst` is such an instruction of the entered code.
/// 2. The CPU, if it is an x86, has AVX2.
#[inline(always)]
pub(crate) unsafe fn indexed_again<const SIGNED: bool>(
    lanes: &Lanes<'_>,
    inst: &Inst,
    bytes: u64,
) -> Option<Halves> {
    let wide = |index: u32| if SIGNED { index as i32 as u64 } else { u64::from(index) };
    // SAFETY: operands 2 and 3 are rows of 32 numbers of these types: the caller's duty 1, so there is one at index 17, and they are not
    // written meanwhile; 2: duty 2.
    let (array, low, high, uniform) = unsafe {
        let array = &*lanes.row(inst.ops[2]).cast::<[u64; 32]>();
        let index = lanes.row(inst.ops[3]).cast::<u32>().cast_const();
        let (low, high) = (*index, *index.add(16));
        let uniform = [*index.add(1) == low, *index.add(17) == high];
        let steps = [Steps::choose(uniform[0], 1), Steps::choose(uniform[1], 1)];
        if !u32::in_two_rows(index, steps) || !agree(array, !0) {
            return None;
        }
        (array[0], low, high, uniform)
    };
    // Consecutive 32-bit addresses: not if they wrap around.
    let ends =
        |first: u32, uniform: bool| uniform || wide(first.wrapping_add(15)) == wide(first).wrapping_add(15);
    if !ends(low, uniform[0]) || !ends(high, uniform[1]) {
        return None;
    }
    let array = array.wrapping_add(inst.imm);
    let address = |index: u32| array.wrapping_add(wide(index).wrapping_mul(bytes));
    let region = *lanes.sites.get(inst.site as usize)?;
    in_region(region, [address(low), address(high)], uniform, bytes)
}

/// In the region that `find` has for the address of the first lane, or in none.
///
/// # Safety
/// 1. `place` is a row of 32 addresses.
/// 2. The CPU, if it is an x86, has AVX2.
#[inline(always)]
unsafe fn check_halves<'e, A: Eight>(
    lanes: &mut Lanes<'e>,
    inst: &Inst,
    place: *const A,
    bytes: u64,
    find: impl FnOnce(&mut Lanes<'e>, u64) -> Option<Region>,
) -> Option<Halves> {
    let counted = Access(inst.aux).address_mask();
    // SAFETY: 1: the caller's: there are 32 addresses, of which each half has sixteen, also those at 1 and 17; 2: duty
    // 2.
    let (low, high, uniform) = unsafe {
        let (low, high) = (*place, *place.add(16));
        let uniform = [*place.add(1) == low, *place.add(17) == high];
        // No `map`, because the compiler would not inline it.
        let steps = [Steps::choose(uniform[0], bytes), Steps::choose(uniform[1], bytes)];
        if !A::in_two_rows(place, steps) {
            return None;
        }
        (low.into(), high.into(), uniform)
    };
    let (low, high) = (low.wrapping_add(inst.imm) & counted, high.wrapping_add(inst.imm) & counted);
    let region = find(lanes, low)?;
    in_region(region, [low, high], uniform, bytes)
}

/// The halves that begin at these addresses, if all of them lies in the region, aligned.
#[inline(always)]
fn in_region(region: Region, [low, high]: [u64; 2], uniform: [bool; 2], bytes: u64) -> Option<Halves> {
    let (low_offset, high_offset) = (low.wrapping_sub(region.base), high.wrapping_sub(region.base));
    let span = |uniform: bool| if uniform { bytes } else { 16 * bytes };
    let (low_span, high_span) = (span(uniform[0]), span(uniform[1]));
    let inside = |offset: u64, span: u64| region.len >= span && offset <= region.len - span;
    if !inside(low_offset, low_span) || !inside(high_offset, high_span) || (low | high) & (bytes - 1) != 0 {
        return None;
    }
    // SAFETY: the whole run, including its start, lies inside the region's bytes, which are one allocation.
    let hosts = unsafe { [region.host.add(low_offset as usize), region.host.add(high_offset as usize)] };
    let below = low_offset.min(high_offset);
    let above = region.len - (low_offset + low_span).max(high_offset + high_span);
    Some(Halves { hosts, uniform, below, above })
}

/// Checks a warp of four such runs: only the ends of a run must be checked. `None` if they do not have this form, or are not in
/// bounds.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code.
/// 2. The CPU, if it is an x86, has AVX2.
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
pub(crate) unsafe fn runs(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> Option<[Run; 4]> {
    // SAFETY: 1: the address operand, the caller's duty 1, has 32 numbers of the width that `narrow` says; 2: duty 2.
    unsafe {
        if Access(inst.aux).narrow() {
            let place = <u32 as Source>::place(lanes, slot);
            check::<u32>(lanes, inst, place, bytes)
        } else {
            let place = <u64 as Source>::place(lanes, slot);
            check::<u64>(lanes, inst, place, bytes)
        }
    }
}

/// The same if the live lanes of the warp are one such run in one region, as in most warps with dead lanes.
///
/// # Safety
/// 1. `place` is a row of 32 addresses.
/// 2. The CPU, if it is an x86, has AVX2.
#[inline(always)]
unsafe fn one_run<A: Eight>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    place: *const A,
    bytes: u64,
) -> Option<[Run; 4]> {
    let mask = lanes.mask();
    let (first, last) = (mask.trailing_zeros() as usize & 31, 31 - mask.leading_zeros() as usize % 32);
    let rest = mask & mask.wrapping_sub(1);
    // SAFETY: 1: the caller's duty 1: there are 32 addresses, and `& 31` makes a number an index of one; 2: duty 2.
    let (start, uniform) = unsafe {
        let (start, second) = (*place.add(first), *place.add(rest.trailing_zeros() as usize & 31));
        let uniform = rest == 0 || start == second;
        if A::in_one_row(place, first, if uniform { 0 } else { bytes as u32 }) & mask != mask {
            return None;
        }
        (start, uniform)
    };
    let address = start.into().wrapping_add(inst.imm) & Access(inst.aux).address_mask();
    let region = region(lanes, inst, address)?;
    let offset = address.wrapping_sub(region.base);
    let step = if uniform { 0 } else { bytes };
    let span = (last - first) as u64 * step + bytes;
    if region.len < span || offset > region.len - span || address & (bytes - 1) != 0 {
        return None;
    }
    // The live lanes' bytes lie inside the region, which is one allocation; those of dead lanes before them may not.
    let host = region.host.wrapping_add(offset as usize).wrapping_sub(first * step as usize);
    let run = |group: usize| Run {
        host: host.wrapping_add(group * RUN * step as usize),
        uniform,
        live: (mask >> (group * RUN)) as u8,
    };
    Some([run(0), run(1), run(2), run(3)])
}

/// # Safety
/// 1. `place` is a row of 32 addresses.
/// 2. The CPU, if it is an x86, has AVX2.
#[inline(always)]
unsafe fn check<A: Eight>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    place: *const A,
    bytes: u64,
) -> Option<[Run; 4]> {
    let (mask, counted) = (lanes.mask(), Access(inst.aux).address_mask());
    if mask != !0 {
        // SAFETY: 1: the caller's duty 1; 2: its duty 2.
        let one = unsafe { one_run(lanes, inst, place, bytes) };
        if one.is_some() {
            return one;
        }
    }
    let mut runs = [Run { host: std::ptr::null_mut(), uniform: true, live: 0 }; 4];
    // SAFETY: there are 32 addresses, the caller's duty 1, of which `& 31` makes it one.
    let start = unsafe { *place.add(mask.trailing_zeros() as usize & 31) }.into();
    let mut region = region(lanes, inst, start.wrapping_add(inst.imm) & counted)?;
    for (group, run) in runs.iter_mut().enumerate() {
        let live = (mask >> (group * RUN)) as u8;
        if live == 0 {
            continue;
        }
        let (first, last) = (live.trailing_zeros() as usize & 7, 7 - live.leading_zeros() as usize % 8);
        // SAFETY: 1: the caller's: four groups of eight are 32 addresses, and `first`, one of the lanes of a group, is
        // below 8; 2: duty 2.
        let (start, (same, follows)) = unsafe {
            let numbers = place.add(group * RUN);
            (*numbers.add(first), A::compare(numbers, first, bytes as u32))
        };
        let uniform = same & live == live;
        if !uniform && follows & live != live {
            return None;
        }
        let address = start.into().wrapping_add(inst.imm) & counted;
        if address.wrapping_sub(region.base) >= region.len {
            region = self::region(lanes, inst, address)?;
        }
        let offset = address.wrapping_sub(region.base);
        let span = if uniform { bytes } else { (last - first + 1) as u64 * bytes };
        if region.len < span || offset > region.len - span || address & (bytes - 1) != 0 {
            return None;
        }
        let before = if uniform { 0 } else { first * bytes as usize };
        // The live lanes' bytes lie inside the region, which is one allocation; those of dead lanes before them may not.
        let host = region.host.wrapping_add(offset as usize).wrapping_sub(before);
        *run = Run { host, uniform, live };
    }
    Some(runs)
}
