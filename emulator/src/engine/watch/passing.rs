//! Threads that pass by a barrier that their warp must execute together.
//!
//! Threads that return early need not execute later barriers. Threads that return after the barrier must have executed it: they have been
//! at code that the others of their warp reach after it. So the instructions that threads execute while others of their warp wait are
//! recorded until they reach a barrier themselves; if they exit instead, and the others then execute the same instructions further down,
//! they have passed by.

use rustc_hash::FxHashMap;

use super::report::AtBarrier;
use super::unit::WarpId;

/// Warps of which a part waits, or has waited without the rest.
#[derive(Debug, Default)]
pub(super) struct Passing {
    warps: FxHashMap<WarpId, Part>,
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

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: WarpId = WarpId { unit: 3, warp: 1 };

    fn at(pc: u32) -> AtBarrier {
        AtBarrier { function: 0, pc, lane: 0 }
    }

    fn barrier(found: Option<(AtBarrier, u8)>) -> Option<(u32, u8)> {
        found.map(|(at, lane)| (at.pc, lane))
    }

    /// Lanes 0 to 15 wait at a barrier; the others do something at site 7.
    fn waiting() -> Passing {
        let mut passing = Passing::default();
        passing.arrive(WHO, at(5), 0xffff, !0);
        assert_eq!(barrier(passing.act(WHO, 7, 0xfff0_0000)), None);
        assert_eq!(barrier(passing.act(WHO, 7, 0x000f_0000)), None);
        passing
    }

    #[test]
    fn who_exits_has_passed_by() {
        let mut passing = waiting();
        passing.exit(WHO, 0xff00_0000);
        // At another place that is nothing, nor is it what another warp does.
        assert_eq!(barrier(passing.act(WHO, 8, 0xffff)), None);
        assert_eq!(barrier(passing.act(WarpId { unit: 3, warp: 0 }, 7, 0xffff)), None);
        assert_eq!(barrier(passing.act(WHO, 7, 0xffff)), Some((5, 24)));
        // It is told once.
        assert_eq!(barrier(passing.act(WHO, 7, 0xffff)), None);
    }

    #[test]
    fn who_does_not_exit_has_not() {
        let mut passing = waiting();
        assert_eq!(barrier(passing.act(WHO, 7, 0xffff)), None);
        passing.exit(WHO, 0xffff);
        passing.exit(WarpId { unit: 2, warp: 1 }, !0);
        assert_eq!(barrier(passing.act(WHO, 7, 0xffff)), None);
        // The lanes that go on count, not those of others that were there before.
        passing.exit(WHO, 1 << 17);
        assert_eq!(barrier(passing.act(WHO, 7, 1)), Some((5, 17)));
    }

    #[test]
    fn who_comes_later_has_not_passed_by() {
        let mut passing = waiting();
        passing.arrive(WHO, at(5), 0x00ff_0000, !0);
        passing.exit(WHO, 0x00ff_0000);
        assert_eq!(barrier(passing.act(WHO, 7, 0xffff)), None);
        passing.exit(WHO, 0x8000_0000);
        assert_eq!(barrier(passing.act(WHO, 7, 0x00ff_0000)), Some((5, 31)), "those who came later wait too");
    }

    #[test]
    fn a_whole_warp_that_comes_forgets() {
        let mut passing = waiting();
        passing.exit(WHO, 0xffff_0000);
        passing.arrive(WHO, at(9), 0xffff, 0xffff);
        assert_eq!(barrier(passing.act(WHO, 7, 0xffff)), None);
        // The first barrier is the one that is named.
        let mut passing = waiting();
        passing.arrive(WHO, at(9), 0xffff, !0);
        passing.exit(WHO, 0xffff_0000);
        assert_eq!(barrier(passing.act(WHO, 7, 1)), Some((5, 16)));
    }

    #[test]
    fn units_end() {
        let mut passing = waiting();
        passing.exit(WHO, 0xffff_0000);
        passing.left(4);
        assert_eq!(passing.warps.len(), 1);
        passing.left(3);
        assert!(passing.warps.is_empty());
    }
}
