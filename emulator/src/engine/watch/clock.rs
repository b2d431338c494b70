//! The order of accesses: vector clocks for the warps of a block, and timestamps between blocks.
//!
//! A unit is a block, or the blocks of a cluster. Each of its warps counts epochs and knows, for each other warp, the last
//! epoch that has happened before entirely. At a barrier, all warps that meet learn what any of them knew. In the same way
//! it knows the last epoch whose writes a `fence.proxy.async` has made visible to bulk copies and `wgmma`.
//!
//! Fences, volatile and relaxed accesses and atomics are treated as operations on one global lock: a release stores
//! the warp's knowledge there, an acquire reads it. So real synchronisation is always recognised, whichever word is
//! the flag; but some unsynchronised code counts as synchronised. Between units the same is done with timestamps: an
//! access is ordered before another if its unit released it before the other's warp acquired something.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::Range;

use super::stamp::Stamp;

/// Order within one unit.
#[derive(Debug)]
pub(super) struct Clock {
    /// For each warp a row: the last epoch known of each warp, and then the last whose writes bulk copies see.
    known: Vec<u32>,
    /// What was released.
    released: Vec<u32>,
    /// For each warp: when it last acquired.
    acquired: Vec<u64>,
}

/// What those who arrive at a barrier in memory know.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    row: Vec<u32>,
    acquired: u64,
}

impl Knowledge {
    /// Adds what others knew.
    pub(super) fn raise(&mut self, other: &Knowledge) {
        self.row.resize(other.row.len().max(self.row.len()), 0);
        raise(&mut self.row, &other.row);
        self.acquired = self.acquired.max(other.acquired);
    }
}

/// Order between units: a counter of releases and acquires, and when which epoch was released.
#[derive(Debug, Default)]
pub(super) struct Times {
    now: u64,
    /// By unit and warp: times, each with the last epoch that was released then; both ascend.
    released: FxHashMap<(u32, u16), Vec<(u64, u32)>>,
}

impl Clock {
    /// A unit of so many warps that start.
    pub(super) fn new(warps: usize) -> Clock {
        let mut clock = Clock {
            known: vec![0; 2 * warps * warps],
            released: vec![0; 2 * warps],
            acquired: vec![0; warps],
        };
        (0..warps).for_each(|warp| clock.step(warp));
        clock
    }

    fn warps(&self) -> usize {
        self.acquired.len()
    }

    fn range(&self, warp: usize) -> Range<usize> {
        let length = 2 * self.warps();
        warp * length..(warp + 1) * length
    }

    fn row(&self, warp: usize) -> &[u32] {
        self.known.get(self.range(warp)).unwrap_or(&[])
    }

    fn row_mut(&mut self, warp: usize) -> &mut [u32] {
        let range = self.range(warp);
        self.known.get_mut(range).unwrap_or(&mut [])
    }

    /// The epoch that a warp is in.
    pub(super) fn epoch(&self, warp: usize) -> u32 {
        self.row(warp).get(warp).copied().unwrap_or(0)
    }

    /// A new epoch of a warp: its lanes have met.
    pub(super) fn step(&mut self, warp: usize) {
        if let Some(epoch) = self.row_mut(warp).get_mut(warp) {
            *epoch = epoch.saturating_add(1);
        }
    }

    /// These warps have met at a barrier.
    pub(super) fn join(&mut self, warps: &[usize]) {
        self.meet(warps, warps, vec![0; 2 * self.warps()]);
    }

    /// The same, where `relaxed` warps arrived without releasing what they did: of that only is seen what fences released.
    pub(super) fn join_relaxed(&mut self, warps: &[usize], relaxed: &BTreeSet<usize>) {
        let givers: Vec<usize> = warps.iter().copied().filter(|warp| !relaxed.contains(warp)).collect();
        self.meet(warps, &givers, self.released.clone());
    }

    /// Warps learn what `givers` know, and `all`.
    fn meet(&mut self, warps: &[usize], givers: &[usize], mut all: Vec<u32>) {
        let mut acquired = 0;
        for warp in givers {
            raise(&mut all, self.row(*warp));
            acquired = acquired.max(self.acquired(*warp));
        }
        for warp in warps {
            raise(self.row_mut(*warp), &all);
            self.acquired.iter_mut().skip(*warp).take(1).for_each(|time| *time = acquired.max(*time));
            self.step(*warp);
        }
    }

    /// What the warp did and knows can be seen by whoever acquires from now on: in its unit, and with `times` in all.
    pub(super) fn release(&mut self, unit: u32, warp: usize, times: Option<&mut Times>) {
        let row = self.known.get(self.range(warp)).unwrap_or(&[]);
        raise(&mut self.released, row);
        if let Some(times) = times {
            times.release(unit, row.get(..self.acquired.len()).unwrap_or(row));
        }
        self.step(warp);
    }

    /// The warp sees what was released: in its unit, and with `times` in all.
    pub(super) fn acquire(&mut self, warp: usize, times: Option<&mut Times>) {
        let range = self.range(warp);
        if let Some(row) = self.known.get_mut(range) {
            raise(row, &self.released);
        }
        if let (Some(times), Some(time)) = (times, self.acquired.get_mut(warp)) {
            times.now += 1;
            *time = times.now;
        }
        self.step(warp);
    }

    /// What the warp did and knows goes into a barrier in memory.
    pub(super) fn give(&mut self, warp: usize, knowledge: &mut Knowledge) {
        let row = self.row(warp);
        knowledge.row.resize(row.len().max(knowledge.row.len()), 0);
        raise(&mut knowledge.row, row);
        knowledge.acquired = knowledge.acquired.max(self.acquired(warp));
        self.step(warp);
    }

    /// What fences have released goes into a barrier in memory.
    pub(super) fn give_released(&self, knowledge: &mut Knowledge) {
        knowledge.row.resize(self.released.len().max(knowledge.row.len()), 0);
        raise(&mut knowledge.row, &self.released);
    }

    /// The warp sees what is in a barrier in memory.
    pub(super) fn take(&mut self, warp: usize, knowledge: &Knowledge) {
        raise(self.row_mut(warp), &knowledge.row);
        if let Some(time) = self.acquired.get_mut(warp) {
            *time = knowledge.acquired.max(*time);
        }
        self.step(warp);
    }

    /// What the warp knows of can be seen by the async proxy.
    pub(super) fn fence_proxy(&mut self, warp: usize) {
        let warps = self.warps();
        if let Some((known, seen)) = self.row_mut(warp).split_at_mut_checked(warps) {
            raise(seen, known);
        }
        self.step(warp);
    }

    /// Whether bulk copies that `warp` starts now see what `other` of the same unit did in that epoch.
    pub(super) fn is_in_proxy(&self, warp: usize, other: usize, epoch: u32) -> bool {
        self.row(warp).get(self.warps() + other).is_some_and(|seen| epoch <= *seen)
    }

    /// Whether what `other` of the same unit knew in that epoch is known to `warp`; `same` if lanes of one warp need not have met.
    pub(super) fn knows(&self, warp: usize, other: usize, epoch: u32, same: bool) -> bool {
        let known = self.row(warp).get(other).copied().unwrap_or(0);
        if other == warp && !same { epoch < known } else { epoch <= known }
    }

    /// What a warp knows of each of its unit, and when it last acquired something.
    pub(super) fn known(&self, warp: usize) -> (Box<[u32]>, u64) {
        let row = self.row(warp);
        (row.get(..self.warps()).unwrap_or(row).into(), self.acquired(warp))
    }

    /// When a warp last acquired something.
    pub(super) fn acquired(&self, warp: usize) -> u64 {
        self.acquired.get(warp).copied().unwrap_or(0)
    }

    /// Whether `earlier` happened before what `warp` of `unit`, which this is the clock of, does now.
    pub(super) fn is_after(&self, unit: u32, warp: usize, earlier: &Stamp, times: &Times) -> bool {
        let other = usize::from(earlier.warp);
        if earlier.unit != unit {
            return times.when_released(earlier).is_some_and(|released| released < self.acquired(warp));
        }
        let known = self.row(warp).get(other).copied().unwrap_or(0);
        // Lanes of one warp have met if it is in a later epoch.
        if other == warp { earlier.epoch < known } else { earlier.epoch <= known }
    }
}

impl Times {
    fn release(&mut self, unit: u32, row: &[u32]) {
        self.now += 1;
        for (warp, epoch) in (0..).zip(row).filter(|(_, epoch)| **epoch > 0) {
            let log = self.released.entry((unit, warp)).or_default();
            if log.last().is_none_or(|(_, last)| last < epoch) {
                log.push((self.now, *epoch));
            }
        }
    }

    /// The time of the last release or acquire.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// When what a stamp stands for was released to others.
    pub(super) fn when_released(&self, stamp: &Stamp) -> Option<u64> {
        let log = self.released.get(&(stamp.unit, stamp.warp))?;
        let at = log.partition_point(|(_, epoch)| *epoch < stamp.epoch);
        log.get(at).map(|(time, _)| *time)
    }
}

fn raise(row: &mut [u32], other: &[u32]) {
    row.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(unit: u32, warp: u16, epoch: u32) -> Stamp {
        Stamp { unit, warp, epoch, ..Stamp::default() }
    }

    #[test]
    fn barriers_order_and_nothing_else_does() {
        let (mut clock, times) = (Clock::new(3), Times::default());
        let before = stamp(1, 0, clock.epoch(0));
        assert!(!clock.is_after(1, 1, &before, &times) && !clock.is_after(1, 0, &before, &times));
        clock.join(&[0, 1]);
        assert!(clock.is_after(1, 1, &before, &times) && clock.is_after(1, 0, &before, &times));
        assert!(!clock.is_after(1, 2, &before, &times));
        let later = stamp(1, 0, clock.epoch(0));
        assert!(!clock.is_after(1, 1, &later, &times));
        clock.join(&[1, 2]);
        assert!(clock.is_after(1, 2, &before, &times) && !clock.is_after(1, 2, &later, &times));
    }

    #[test]
    fn a_release_before_an_acquire_orders_blocks() {
        let (mut one, mut two, mut times) = (Clock::new(2), Clock::new(2), Times::default());
        let early = stamp(1, 1, one.epoch(1));
        two.acquire(0, Some(&mut times));
        one.join(&[0, 1]);
        let late = stamp(1, 1, one.epoch(1));
        one.release(1, 0, Some(&mut times));
        assert!(!two.is_after(2, 0, &early, &times), "nothing was acquired since");
        two.acquire(0, Some(&mut times));
        assert!(two.is_after(2, 0, &early, &times) && !two.is_after(2, 1, &early, &times));
        assert!(!two.is_after(2, 0, &late, &times), "warp 0 did not know of it");
        two.join(&[0, 1]);
        assert!(two.is_after(2, 1, &early, &times));
    }
}
