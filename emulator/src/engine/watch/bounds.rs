//! Accesses that lead from one variable or allocation into another one.
//!
//! The decoder knows of many address registers that they are computed from the address of one variable, or from one parameter
//! (`decode::bases`). An access that then lies elsewhere has a wrong index, though there is memory.

#![allow(unsafe_code)]
// Relies on: what a region describes is there.

use super::super::env::Env;
use super::super::windows;
use super::operand::Base;
use super::place::Touch;
use crate::memory::Allocation;

/// What to look for.
pub(super) const ADVICE: &str = "look for an index that is too large or negative";
/// What to do instead.
pub(super) const CONSTANT_ADVICE: &str = "`__constant__` memory is written by the host between kernels; what kernels write belongs in `__device__` memory";

impl Base {
    /// Where an access lies, if it is not in what its address is computed from.
    pub(super) fn missed_by(&self, env: &Env<'_>, touch: &Touch) -> Option<String> {
        match self {
            Base::Shared { name, address, bytes } => {
                let start = touch.address & ((1 << windows::RANK_SHIFT) - 1);
                let offset = start.wrapping_sub(u64::from(*address));
                let is_inside = offset <= *bytes && touch.bytes <= *bytes - offset;
                (touch.region.private && !is_inside).then(|| {
                    let distance = start as i64 - i64::from(*address);
                    format!("at offset {distance} of variable `{name}`, which has {bytes} bytes")
                })
            }
            Base::Global { name, address } => {
                let what = format!("variable `{name}`");
                missed(env, *address, touch).map(|place| format!("{place}, not in {what}"))
            }
            Base::Parameter { name, offset } => {
                let value = parameter(env, *offset)?;
                missed(env, value, touch)
                    .map(|place| format!("{place}, not in that of parameter `{name}` (0x{value:x})"))
            }
        }
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

/// Where an access lies, if an address lies in another allocation.
fn missed(env: &Env<'_>, address: u64, touch: &Touch) -> Option<String> {
    if touch.region.private || env.memory.block(touch.address).is_some() {
        return None;
    }
    let of = |address| env.snapshot.get(env.snapshot.find(address)?);
    let (own, other): (&Allocation, &Allocation) = (of(address)?, of(touch.address)?);
    // Mappings side by side are one range.
    let is_other = own.base() != other.base() && !(own.is_mapping() && other.is_mapping());
    is_other.then(|| env.memory.describe(touch.address, touch.bytes))
}
