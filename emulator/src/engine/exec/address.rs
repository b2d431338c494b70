//! Instructions that query or change the space or block of an address.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::code::{Exec, Inst, Step};
use super::super::windows::{self, RANK_SHIFT};
use super::lanes::Lanes;
use super::operand::{Dest, Source};

/// A shared address, generic or not, in the block with that rank.
pub(crate) fn with_rank(address: u64, rank: u32) -> u64 {
    let tags = u64::from(u32::MAX) & !((1 << RANK_SHIFT) - 1);
    address & !tags | (u64::from(rank.wrapping_add(1)) << RANK_SHIFT) & tags
}

/// The rank of the block that a shared address belongs to; `own` is the rank of the thread's own block.
pub(crate) fn rank(address: u64, own: u32) -> u32 {
    match address as u32 >> RANK_SHIFT {
        0 => own,
        tag => tag - 1,
    }
}

/// The instruction that tests for the space of that name.
pub(crate) fn isspacep(space: &str) -> Exec {
    match space {
        "shared" | "shared::cta" => |lanes, inst| {
            test(lanes, inst, |lanes, a| {
                windows::inside(windows::SHARED, a) && rank(a, lanes.block().rank) == lanes.block().rank
            })
        },
        "shared::cluster" => |lanes, inst| test(lanes, inst, |_, a| windows::inside(windows::SHARED, a)),
        "local" => |lanes, inst| test(lanes, inst, |_, a| windows::inside(windows::LOCAL, a)),
        "param" | "param::entry" => {
            |lanes, inst| test(lanes, inst, |_, a| windows::inside(windows::PARAM, a))
        }
        "const" => |lanes, inst| test(lanes, inst, is_constant),
        _ => |lanes, inst| {
            test(lanes, inst, |_, a| {
                ![windows::SHARED, windows::LOCAL, windows::PARAM]
                    .iter()
                    .any(|window| windows::inside(*window, a))
            })
        },
    }
}

fn is_constant(lanes: &Lanes<'_>, address: u64) -> bool {
    lanes.env.kernel.constants.iter().any(|(start, bytes)| address.wrapping_sub(*start) < *bytes)
}

fn test(lanes: &mut Lanes<'_>, inst: &Inst, holds: impl Fn(&Lanes<'_>, u64) -> bool) -> Step {
    // SAFETY: the decoder made operand 0 the destination, a predicate, and operand 1 wide (duty 2 of `Exec`); live
    // lanes are below 32, and the frame stays the entered one: `holds` only looks.
    unsafe {
        let place = <u64 as Source>::place(lanes, inst.ops[1]);
        let mut result = <bool as Dest>::empty();
        for lane in super::memory::live(lanes) {
            <bool as Dest>::put(&mut result, lane, holds(lanes, <u64 as Source>::get(place, lane)));
        }
        <bool as Dest>::commit(lanes, &inst.ops, &result);
    }
    Step::Next
}
