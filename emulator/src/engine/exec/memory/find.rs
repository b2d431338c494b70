//! Finds the piece of memory that contains an address.

use super::super::super::code::Inst;
use super::super::super::windows;
use super::super::lanes::Lanes;
use super::access::{Access, GENERIC, GLOBAL, PARAM, SHARED};
use super::region::Region;

/// The region around `address`: nearly always that of the instruction's last access.
#[inline(always)]
pub(crate) fn region(lanes: &mut Lanes<'_>, inst: &Inst, address: u64) -> Option<Region> {
    match lanes.sites.get(inst.site as usize) {
        Some(cached) if address.wrapping_sub(cached.base) < cached.len => Some(*cached),
        _ => look_up(lanes, inst, address),
    }
}

#[inline(never)]
fn look_up(lanes: &mut Lanes<'_>, inst: &Inst, address: u64) -> Option<Region> {
    let access = Access(inst.aux);
    let writes = access.has(Access::WRITE | Access::ATOMIC);
    // Not cached: the heap block may be freed at any time.
    if matches!(access.space(), GLOBAL | GENERIC)
        && let Some(block) = lanes.env.memory.block(address)
    {
        return Some(Region { base: block.base, len: block.len, host: block.host, private: false });
    }
    let region = match access.space() {
        GLOBAL => global(lanes, address, writes),
        SHARED => shared(lanes, address),
        // A kernel's parameters are constant.
        PARAM if !writes => Some(lanes.env.params),
        GENERIC if !windows::inside_any(address) => global(lanes, address, writes),
        GENERIC if windows::inside(windows::SHARED, address) => {
            let region = shared(lanes, address - windows::SHARED)?;
            Some(region.at(region.base + windows::SHARED))
        }
        GENERIC if windows::inside(windows::PARAM, address) && !writes => {
            Some(lanes.env.params.at(windows::PARAM))
        }
        _ => None,
    }?;
    lanes.remember(inst.site, region);
    Some(region)
}

fn global(lanes: &Lanes<'_>, address: u64, writes: bool) -> Option<Region> {
    let snapshot = &lanes.env.snapshot;
    let allocation = snapshot.get(snapshot.find(address)?)?;
    if writes && !snapshot.may_write(allocation) {
        return None;
    }
    Some(Region { base: allocation.base(), len: allocation.len(), host: allocation.host(), private: false })
}

fn shared(lanes: &Lanes<'_>, address: u64) -> Option<Region> {
    let tag = address >> windows::RANK_SHIFT;
    let rank = if tag == 0 { u64::from(lanes.block().rank) } else { tag - 1 };
    let region = lanes.block().shared.get(usize::try_from(rank).ok()?)?;
    Some(region.at((tag << windows::RANK_SHIFT) + region.base))
}
