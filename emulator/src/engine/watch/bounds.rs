//! Accesses that lead from one variable or allocation into another one, or into another space.
//!
//! The decoder knows of many address registers that they are computed from the address of one variable, or from one parameter
//! (`decode::bases`). An access that then lies elsewhere has a wrong index, though there is memory.

#![allow(unsafe_code)]
// Relies on: what a region describes is there.

use super::super::env::Env;
use super::super::exec::lanes::Lanes;
use super::super::windows;
use super::operand::Base;
use super::place::Touch;
use crate::check::{Bytes, Space};
use crate::memory::Allocation;

/// What to look for.
pub(super) const ADVICE: &str = "look for an index that is too large or negative";
/// What to do instead.
pub(super) const CONSTANT_ADVICE: &str = "`__constant__` memory is written by the host between kernels; what kernels write belongs in `__device__` memory";

/// What a lane accesses.
pub(super) struct LaneAccess {
    pub(super) space: Space,
    /// The address, as the kernel has it.
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// Where it lies in the shared memory of a block, or among the local variables of the running function.
    pub(super) offset: i64,
}

impl LaneAccess {
    /// An access of memory that threads share.
    pub(super) fn of(touch: &Touch) -> LaneAccess {
        let space = if touch.region.private { Space::Shared } else { Space::Global };
        let offset = touch.address & ((1 << windows::RANK_SHIFT) - 1);
        LaneAccess { space, address: touch.address, bytes: touch.bytes, offset: offset as i64 }
    }

    /// An access of local memory, at that offset in it.
    pub(super) fn of_local(lanes: &Lanes<'_>, offset: u32, bytes: u64) -> LaneAccess {
        let start = i64::from(windows::LOCAL_START + lanes.local_base);
        LaneAccess { space: Space::Local, address: offset.into(), bytes, offset: i64::from(offset) - start }
    }

    /// For a finding, which describes the place.
    pub(super) fn bytes_at(&self, place: String) -> Bytes {
        Bytes { space: self.space, address: self.address, count: self.bytes as u32, place }
    }

    fn describe(&self, env: &Env<'_>) -> String {
        match self.space {
            Space::Shared => "in the shared memory of a block".to_owned(),
            Space::Local => "in the local memory of the thread".to_owned(),
            Space::Global => env.memory.describe(self.address, self.bytes),
        }
    }
}

impl Base {
    /// Where an access lies, if it is not in what its address is computed from.
    pub(super) fn missed_by(&self, env: &Env<'_>, spot: &LaneAccess) -> Option<String> {
        match self {
            Base::Shared { name, address: start, bytes } => {
                own(env, spot, Space::Shared, (name, *start, *bytes))
            }
            Base::Local { name, start, bytes } => own(env, spot, Space::Local, (name, *start, Some(*bytes))),
            Base::Global { name, address } => {
                let what = format!("variable `{name}`");
                missed(env, *address, spot).map(|place| format!("{place}, not in {what}"))
            }
            Base::Parameter { name, offset } => {
                let value = parameter(env, *offset)?;
                missed(env, value, spot)
                    .map(|place| format!("{place}, not in that of parameter `{name}` (0x{value:x})"))
            }
        }
    }
}

/// Where an access lies, if it is not in that variable of shared or local memory: its name, where it begins, and how long it is.
fn own(
    env: &Env<'_>,
    spot: &LaneAccess,
    space: Space,
    (name, start, bytes): (&str, u32, Option<u64>),
) -> Option<String> {
    if spot.space != space {
        return Some(format!("{}, not in {} variable `{name}`", spot.describe(env), space.name()));
    }
    let distance = spot.offset - i64::from(start);
    let is_inside = |bytes: u64| distance as u64 <= bytes && spot.bytes <= bytes - distance as u64;
    match bytes {
        Some(bytes) => (!is_inside(bytes))
            .then(|| format!("at offset {distance} of variable `{name}`, which has {bytes} bytes")),
        None => (distance < 0).then(|| format!("at offset {distance} of variable `{name}`")),
    }
}

/// The value of a parameter of 8 bytes.
fn parameter(env: &Env<'_>, offset: u32) -> Option<u64> {
    if !env.params.contains(env.params.base + u64::from(offset), 8) {
        return None;
    }
    let mut value = [0; 8];
    // SAFETY: 1, 2: the 8 bytes lie inside the region, as was seen, whose bytes are there while the launch runs and used as the head of
    // `memory::access` says (the head of `exec::memory::region`).
    unsafe { crate::memory::access::load(env.params.host.add(offset as usize), &mut value) };
    Some(u64::from_le_bytes(value))
}

/// Where an access lies, if it does not lie in the allocation of an address.
fn missed(env: &Env<'_>, address: u64, spot: &LaneAccess) -> Option<String> {
    let of = |address| env.snapshot.get(env.snapshot.find(address)?);
    let own: &Allocation = of(address)?;
    if spot.space == Space::Global {
        let other: &Allocation = of(spot.address)?;
        // Mappings side by side are one range.
        let is_other = own.base() != other.base() && !(own.is_mapping() && other.is_mapping());
        return is_other.then(|| spot.describe(env));
    }
    Some(spot.describe(env))
}
