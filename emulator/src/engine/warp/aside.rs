//! Lanes that a divergent branch moved ahead to a position that the others still have to reach: the end of an `if`, or the code after a
//! loop.
//!
//! Usually the others get there next, and the lanes continue together. So they are not made a split at once: the running split keeps
//! them aside, and merges with them when it reaches their position. If it does anything else, they become a split before the scheduler
//! runs.

use super::Warp;

/// Lanes of the running split that wait at one place, or none.
#[derive(Clone, Copy)]
pub(super) struct Aside {
    /// Where they go on.
    pub(super) pc: u32,
    /// Which they are.
    pub(super) mask: u32,
}

impl Aside {
    /// No lanes, at a place that no program counter reaches.
    pub(super) const NONE: Aside = Aside { pc: u32::MAX, mask: 0 };
}

impl Warp {
    /// Takes lanes out of split `index` that wait at `pc`. Others that are aside elsewhere become a split; where that stands, or nowhere.
    #[inline(always)]
    pub(super) fn put_aside(&mut self, index: usize, aside: &mut Aside, lanes: Aside) -> u32 {
        self.splits[index].mask &= !lanes.mask;
        if aside.pc == lanes.pc {
            aside.mask |= lanes.mask;
            return u32::MAX;
        }
        let before = std::mem::replace(aside, lanes);
        self.settle(index, before);
        before.pc
    }

    /// Joins the lanes that are aside with split `index`, which stands where they do.
    #[inline(always)]
    pub(super) fn take_back(&mut self, index: usize, aside: &mut Aside) {
        self.splits[index].mask |= std::mem::replace(aside, Aside::NONE).mask;
    }

    /// Makes a split of lanes that split `index` has aside.
    pub(super) fn settle(&mut self, index: usize, aside: Aside) {
        if aside.mask != 0 {
            let frame = self.splits[index].frame;
            self.frames.hold(frame);
            self.add(frame, aside.pc, aside.mask);
        }
    }
}
