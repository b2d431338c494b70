//! Threads that pass by a barrier to which their warp has to come together.
//!
//! Threads that return early do not have to come to the barriers that follow. Those that return later than the barrier do: they were where
//! the others of their warp get after it. So what threads do while others of their warp wait is remembered until they come to a barrier
//! themselves; if they exit instead, and the others then do the same further down, they have passed by.

use std::collections::HashMap;

use super::report::AtBarrier;
use super::unit::WarpId;

/// Warps of which a part waits, or has waited without the rest.
#[derive(Debug, Default)]
pub(super) struct Passing {
    warps: HashMap<WarpId, Part>,
}

/// A part of a warp that waits.
#[derive(Debug)]
struct Part {
    at: AtBarrier,
    mask: u32,
    /// What the rest has done since: sites and lanes.
    done: Vec<(u32, u32)>,
    /// The same of those who have exited.
    passed: Vec<(u32, u32)>,
}

impl Passing {
    /// Lanes of a warp arrive at a barrier; `live` are those that have not exited.
    pub(super) fn arrive(&mut self, who: WarpId, at: AtBarrier, mask: u32, live: u32) {
        if mask == live {
            self.warps.remove(&who);
            return;
        }
        let part =
            self.warps.entry(who).or_insert(Part { at, mask: 0, done: Vec::new(), passed: Vec::new() });
        part.mask |= mask;
        part.done.iter_mut().for_each(|(_, lanes)| *lanes &= !mask);
        part.done.retain(|(_, lanes)| *lanes != 0);
    }

    /// Lanes are about to execute what is at a site; the barrier that others have passed by, and one of these lanes.
    pub(super) fn act(&mut self, who: WarpId, site: u32, mask: u32) -> Option<(AtBarrier, u8)> {
        if self.warps.is_empty() {
            return None;
        }
        let part = self.warps.get_mut(&who)?;
        if mask & part.mask == 0 {
            match part.done.iter_mut().find(|(known, _)| *known == site) {
                Some((_, lanes)) => *lanes |= mask,
                None => part.done.push((site, mask)),
            }
            return None;
        }
        let (_, lanes) = part.passed.iter().find(|(known, _)| *known == site)?;
        let found = (part.at, lanes.trailing_zeros() as u8);
        self.warps.remove(&who);
        Some(found)
    }

    /// Lanes exit.
    pub(super) fn exit(&mut self, who: WarpId, mask: u32) {
        if let Some(part) = self.warps.get_mut(&who) {
            let of_these = part.done.iter().map(|(site, lanes)| (*site, lanes & mask));
            part.passed.extend(of_these.filter(|(_, lanes)| *lanes != 0));
        }
    }

    /// A unit has ended.
    pub(super) fn left(&mut self, unit: u32) {
        self.warps.retain(|who, _| who.unit != unit);
    }
}
