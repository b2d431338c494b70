//! Pieces of memory, and which of them an address lies in.
#![allow(unsafe_code)]
// Relies on: regions describe memory that lives as long as the launch (device allocations are held by the snapshot,
// shared memory and parameters by the block group and the launch), and that everything accesses through
// `memory::access`.

use super::super::super::code::Inst;
use super::super::super::windows;
use super::super::lanes::Lanes;
use super::access::{Access, GENERIC, GLOBAL, PARAM, SHARED};

/// A piece of memory: `len` bytes that the device sees at `base` and the host at `host`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// Address of the first byte, in the space it is looked up for.
    pub(crate) base: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    /// The bytes.
    pub(crate) host: *mut u8,
    /// Whether only the threads of this block group can touch it.
    pub(crate) private: bool,
}

// SAFETY: the bytes are accessed through `memory::access` alone, which is for bytes that many threads use; the rest is numbers.
unsafe impl Send for Region {}
// SAFETY: a shared reference gives the address of the bytes, which are accessed as above.
unsafe impl Sync for Region {}

impl Region {
    /// No bytes.
    pub(crate) const NONE: Region = Region { base: 0, len: 0, host: std::ptr::null_mut(), private: false };

    /// The same bytes seen from another address.
    pub(crate) fn at(self, base: u64) -> Region {
        Region { base, ..self }
    }

    /// Whether `bytes` bytes at `address` lie inside.
    #[inline(always)]
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        self.len >= bytes && address.wrapping_sub(self.base) <= self.len - bytes
    }
}

/// The region around `address`: nearly always that which the instruction hit last.
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
