//! Asynchronous work, which continues after its instruction: what completes it, and which warps know that it has
//! completed.
//!
//! Each access of such work has the number of a [`Completion`]. A wait records the warp and its epoch there, or at the phase of
//! the memory barrier at which the work completes; a warp that knows that epoch is ordered after the work.

use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

use super::clock::{Clock, Knowledge, Times};
use super::event::{Event, Group};
use super::stamp::Stamp;
use super::unit::WarpId;
use crate::check::FindingKind;
use crate::engine::exec::mbarrier::Action;

/// Lanes that have waited.
#[derive(Clone, Copy, Debug)]
struct Seen {
    who: WarpId,
    epoch: u32,
    /// Whose work is finished.
    covers: u32,
    /// Who knows; `None` if each lane knows only of its own.
    by: Option<u32>,
}

/// What finishes a piece of work.
#[derive(Debug)]
struct Completion {
    event: Event,
    seen: Vec<Seen>,
    /// Barriers, and which phase of each.
    phases: Vec<(usize, u32)>,
}

/// Something that a barrier in memory is going to learn.
#[derive(Debug)]
pub(super) struct Landing {
    completions: Vec<u32>,
    /// What is done to it.
    pub(super) action: Action,
    /// How many times.
    pub(super) times: u32,
    /// With this number.
    pub(super) value: u64,
}

/// A barrier in memory.
#[derive(Debug, Default)]
struct Barrier {
    /// Phases that are over.
    phase: u32,
    parity: bool,
    /// What those know who arrived in the current phase, and in those before.
    open: Knowledge,
    done: Knowledge,
    /// Who waited, with the number of phases that were over.
    seen: Vec<(u32, Seen)>,
    landing: VecDeque<Landing>,
}

/// Work of one thread, or of one warp.
#[derive(Clone, Debug, Default)]
struct Groups {
    open: Option<u32>,
    closed: VecDeque<Option<u32>>,
}

/// Products whose registers must be left alone.
#[derive(Clone, Debug)]
pub(super) struct Product {
    completion: u32,
    pub(super) stamp: Stamp,
    pub(super) function: usize,
    /// The registers of D, and those that have got them since.
    pub(super) results: Vec<u32>,
    /// Registers of A.
    pub(super) factors: Vec<u32>,
}

/// The work of a warp.
#[derive(Debug, Default)]
pub(super) struct Issued {
    lanes: [[Groups; 32]; 3],
    groups: Groups,
    pub(super) products: Vec<Product>,
    /// Function and number of registers that were written since the last `wgmma.fence`, and the access.
    pub(super) dirty: BTreeMap<(usize, u32), Stamp>,
}

/// All of a launch.
#[derive(Debug, Default)]
pub(super) struct Flight {
    completions: Vec<Completion>,
    barriers: Vec<Barrier>,
    /// By the unit and the host's address.
    places: FxHashMap<(u32, u64), usize>,
    warps: FxHashMap<(u32, usize), Box<Issued>>,
}

impl Flight {
    /// The work of a warp.
    pub(super) fn issued(&mut self, who: WarpId) -> &mut Issued {
        self.warps.entry((who.unit, who.warp)).or_default()
    }

    /// A unit has ended.
    pub(super) fn left(&mut self, unit: u32) {
        self.places.retain(|place, _| place.0 != unit);
        self.warps.retain(|warp, _| warp.0 != unit);
    }

    /// New work.
    pub(super) fn start(&mut self, event: Event) -> u32 {
        self.completions.push(Completion { event, seen: Vec::new(), phases: Vec::new() });
        (self.completions.len() - 1) as u32
    }

    /// The completion of what these lanes start now, by lane: of the groups that they will commit.
    pub(super) fn open(&mut self, who: WarpId, lanes: u32, group: Group) -> [u32; 32] {
        let mut all = [0; 32];
        let mut new = None;
        for lane in bits(lanes) {
            let known = self.issued(who).groups(group, lane).open;
            let completion = match known.or(new) {
                Some(completion) => completion,
                None => *new.insert(self.start(Event::Wait(group, 0))),
            };
            self.issued(who).groups(group, lane).open = Some(completion);
            all[lane] = completion;
        }
        all
    }

    /// These lanes commit what they have started.
    pub(super) fn commit(&mut self, who: WarpId, lanes: u32, group: Group) {
        let issued = self.issued(who);
        for lane in bits(lanes) {
            let groups = issued.groups(group, lane);
            let open = groups.open.take();
            groups.closed.push_back(open);
        }
    }

    /// These lanes have waited for all groups but the last `left`.
    pub(super) fn wait(&mut self, who: WarpId, epoch: u32, lanes: u32, group: Group, left: u32) {
        let issued = self.issued(who);
        let mut over = BTreeMap::<u32, u32>::new();
        for lane in bits(lanes) {
            let closed = &mut issued.groups(group, lane).closed;
            let count = closed.len().saturating_sub(left as usize);
            closed
                .drain(..count)
                .flatten()
                .for_each(|completion| *over.entry(completion).or_default() |= 1 << lane);
        }
        if group == Group::Products {
            issued.products.retain(|product| !over.contains_key(&product.completion));
        }
        for (completion, lanes) in over {
            let (covers, by) =
                if group == Group::Products { (u32::MAX, Some(u32::MAX)) } else { (lanes, None) };
            let seen = Seen { who, epoch, covers, by };
            self.completions
                .iter_mut()
                .skip(completion as usize)
                .take(1)
                .for_each(|done| done.seen.push(seen));
        }
    }

    /// Registers that this work uses until it is over.
    pub(super) fn occupy(
        &mut self,
        who: WarpId,
        stamp: Stamp,
        function: usize,
        results: &[u32],
        factors: &[u32],
    ) {
        let (results, factors) = (results.to_vec(), factors.to_vec());
        let product = Product { completion: stamp.epoch, stamp, function, results, factors };
        self.issued(who).products.push(product);
    }

    /// The barrier at a place, which has that word now.
    pub(super) fn barrier(&mut self, unit: u32, place: u64, parity: bool) -> usize {
        let barriers = &mut self.barriers;
        *self.places.entry((unit, place)).or_insert_with(|| {
            barriers.push(Barrier { parity, ..Barrier::default() });
            barriers.len() - 1
        })
    }

    /// There is a new one at a place, or none.
    pub(super) fn forget(&mut self, unit: u32, place: u64) {
        self.places.remove(&(unit, place));
    }

    /// A warp arrives, and releases what it did or not.
    pub(super) fn arrive(&mut self, barrier: usize, clock: &mut Clock, warp: usize, releases: bool) {
        match self.barriers.get_mut(barrier) {
            Some(barrier) if releases => clock.give(warp, &mut barrier.open),
            Some(barrier) => clock.give_released(&mut barrier.open),
            None => {}
        }
    }

    /// The word of a barrier may have changed: its phase is over if the parity has.
    pub(super) fn look(&mut self, barrier: usize, parity: bool) {
        if let Some(barrier) = self.barriers.get_mut(barrier).filter(|barrier| barrier.parity != parity) {
            barrier.parity = parity;
            barrier.phase += 1;
            barrier.done.raise(&barrier.open);
        }
    }

    /// Lanes of a warp have waited until the last phase was over, and acquire what was released or not.
    pub(super) fn waited(
        &mut self,
        barrier: usize,
        clock: &mut Clock,
        (who, by): (WarpId, u32),
        acquires: bool,
    ) {
        if let Some(barrier) = self.barriers.get_mut(barrier) {
            if acquires {
                clock.take(who.warp, &barrier.done);
            }
            let seen = Seen { who, epoch: clock.epoch(who.warp), covers: u32::MAX, by: Some(by) };
            barrier.seen.push((barrier.phase, seen));
        }
    }

    /// A barrier is going to learn something, later.
    pub(super) fn defer(&mut self, barrier: usize, completions: Vec<u32>, what: (Action, u32, u64)) {
        let (action, times, value) = what;
        if let Some(barrier) = self.barriers.get_mut(barrier) {
            barrier.landing.push_back(Landing { completions, action, times, value });
        }
    }

    /// What it is to learn next: it learns that now.
    pub(super) fn land(&mut self, barrier: usize) -> Option<Landing> {
        let landing = self.barriers.get_mut(barrier)?.landing.pop_front()?;
        landing.completions.iter().for_each(|completion| self.completes_at(*completion, barrier));
        Some(landing)
    }

    /// That work is over when the current phase of a barrier is.
    pub(super) fn completes_at(&mut self, completion: u32, barrier: usize) {
        let Some(phase) = self.barriers.get(barrier).map(|found| (barrier, found.phase)) else { return };
        if let Some(completion) = self.completions.get_mut(completion as usize)
            && completion.phases.last() != Some(&phase)
        {
            completion.phases.push(phase);
        }
    }

    /// Completions of the copies that these lanes have started and that have not been waited for.
    pub(super) fn copies(&mut self, who: WarpId, lanes: u32) -> Vec<u32> {
        let issued = self.issued(who);
        let mut all: Vec<u32> = Vec::new();
        for lane in bits(lanes) {
            let groups = issued.groups(Group::Copies, lane);
            all.extend(groups.open.iter().chain(groups.closed.iter().flatten()));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Those who know that the work of a stamp is over.
    fn seen(&self, stamp: &Stamp) -> impl Iterator<Item = &Seen> {
        let completion = self.completions.get(stamp.epoch as usize);
        let phases = completion.into_iter().flat_map(|completion| &completion.phases);
        let at_barriers = phases.flat_map(|(barrier, phase)| {
            let seen = self.barriers.get(*barrier).map_or(&[][..], |barrier| &barrier.seen);
            let first = seen.partition_point(|(over, _)| over <= phase);
            seen.get(first..).unwrap_or(&[]).iter().map(|(_, seen)| seen)
        });
        let lane = 1 << stamp.lane;
        let own = completion.into_iter().flat_map(|completion| &completion.seen);
        own.chain(at_barriers).filter(move |seen| seen.covers & lane != 0)
    }

    /// Whether a lane of `who`, whose unit this is the clock of, is behind the work of a stamp.
    pub(super) fn is_over(
        &self,
        stamp: &Stamp,
        (who, lane): (WarpId, u8),
        clock: &Clock,
        times: &Times,
    ) -> bool {
        self.seen(stamp).any(|seen| match seen.who.unit == who.unit {
            true => clock.knows(
                who.warp,
                seen.who.warp,
                seen.epoch,
                seen.by.map_or(stamp.lane == lane, |by| by >> lane & 1 != 0),
            ),
            false => {
                let (unit, warp, epoch) = (seen.who.unit, seen.who.warp as u16, seen.epoch);
                clock.is_after(who.unit, who.warp, &Stamp { unit, warp, epoch, ..Stamp::default() }, times)
            }
        })
    }

    /// What an access that is not behind the work of a stamp is, and what is missing.
    pub(super) fn advice(&self, stamp: &Stamp) -> (FindingKind, &'static str) {
        if self.seen(stamp).next().is_some() {
            let advice = "its completion was waited for, but no barrier orders that before this access";
            return (FindingKind::Race, advice);
        }
        let event = self.completions.get(stamp.epoch as usize).map(|completion| completion.event);
        let advice = match event {
            Some(Event::Wait(Group::Copies, _)) => {
                "its thread has to wait for it, with `cp.async.commit_group` and `cp.async.wait_group`, and others have to meet that thread at a barrier"
            }
            Some(Event::Wait(Group::Products, _)) => {
                "its warp has to wait for it, with `wgmma.commit_group` and `wgmma.wait_group`"
            }
            Some(Event::Wait(Group::BulkReads, _)) => {
                "its thread has to wait for it, with `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group.read`"
            }
            Some(Event::Wait(..)) => {
                "its thread has to wait for it, with `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group`"
            }
            _ => {
                "this thread has to wait for the phase of the mbarrier that it completes at, with `mbarrier.try_wait`"
            }
        };
        (FindingKind::MissingWait, advice)
    }
}

impl Issued {
    fn groups(&mut self, group: Group, lane: usize) -> &mut Groups {
        let index = match group {
            Group::Copies => 0,
            Group::Bulk => 1,
            Group::BulkReads => 2,
            Group::Products => return &mut self.groups,
        };
        &mut self.lanes[index][lane & 31]
    }
}

fn bits(lanes: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| lanes >> lane & 1 != 0)
}
