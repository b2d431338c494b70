//! What a launch has accessed in global memory, for the comparison with other launches, and what it may tell the host meanwhile.

use rustc_hash::FxHashMap;

use super::super::device_runtime::Kept;
use super::super::env::Env;
use super::super::kernel::Kernel;
use super::Watch;
use super::family::Family;
use super::inspect::WarpAccess;
use super::note::What;
use super::place::Touch;
use super::report::actor_in;
use super::stamp::{Cell, How, Stamp};
use crate::check::Actor;
use crate::check::launches::{AccessKind, Ongoing, Reach, Run, Runs, Touched};
use crate::memory::Allocation;

/// Hands over what a launch with all that it led to has accessed. `kernel` is that of the launch itself.
pub(in crate::engine) fn hand_over(family: Kept, kernel: &Kernel, ongoing: &Ongoing) {
    if let Ok(family) = family.downcast::<Family>() {
        ongoing.touch(family.touched(kernel));
    }
}

impl Family {
    /// What its grids have accessed of the allocations that there were when it began.
    pub(super) fn touched(&self, kernel: &Kernel) -> Touched {
        let snapshot = self.snapshot.as_deref();
        let range = |allocation: &Allocation| {
            let start = allocation.host().addr() as u64;
            (start, start + allocation.len())
        };
        let all = snapshot.into_iter().flat_map(|all| (0..all.len()).filter_map(|index| all.get(index)));
        let mut all: Vec<(u64, u64)> = all.map(range).collect();
        all.sort_unstable();
        let mut all = all.into_iter().peekable();
        let mut list =
            List { family: self, kernel, actors: Vec::new(), known: FxHashMap::default(), last: None };
        let (mut reads, mut writes) = (Runs::default(), Runs::default());
        for (start, bytes, cell) in self.global.all() {
            while all.next_if(|(_, end)| *end <= start).is_some() {}
            if all.peek().is_none_or(|(first, _)| start < *first) {
                continue;
            }
            let end = start + bytes;
            let write = cell.write().and_then(|stamp| list.entry(stamp, true));
            if let Some((kind, by)) = write {
                writes.push(Run { start, end, kind, by });
            }
            // Whoever may not read what is written may not write it either.
            if write.is_none_or(|(kind, _)| kind != AccessKind::Plain)
                && let Some((kind, by)) = list.read(cell)
            {
                reads.push(Run { start, end, kind, by });
            }
        }
        Touched { reach: Reach { reads, writes }, actors: list.actors }
    }
}

/// Who accessed what, once for each instruction.
struct List<'f> {
    family: &'f Family,
    kernel: &'f Kernel,
    actors: Vec<Actor>,
    /// The actors, by grid, site, and whether they write.
    known: FxHashMap<(usize, u32, bool), u32>,
    /// The one looked up last: neighbours were mostly accessed together.
    last: Option<(Stamp, bool, (AccessKind, u32))>,
}

impl List<'_> {
    /// How the bytes were read: by an ordinary load if there was one among the last.
    fn read(&mut self, cell: &Cell) -> Option<(AccessKind, u32)> {
        let mut found = None;
        for stamp in cell.reads() {
            let entry = self.entry(stamp, false);
            if found.is_none() || entry.is_some_and(|(way, _)| way == AccessKind::Plain) {
                found = entry;
            }
        }
        found
    }

    /// How an access was made, and the number of who made it.
    fn entry(&mut self, stamp: &Stamp, writes: bool) -> Option<(AccessKind, u32)> {
        let is_same = |last: &Stamp| (last.unit, last.site, last.how) == (stamp.unit, stamp.site, stamp.how);
        if let Some((_, _, entry)) = self.last.filter(|(last, wrote, _)| is_same(last) && *wrote == writes) {
            return Some(entry);
        }
        let (grid, kernel, shape, is_guess) = self.family.grids.maker(stamp)?;
        let kernel = kernel.unwrap_or(self.kernel);
        let note = kernel.watched.get(stamp.site as usize).and_then(|watched| watched.note);
        let is_atomic = note.is_none_or(|note| matches!(note.what, What::Atomic { .. }));
        let way = match stamp.how {
            How::Silent => AccessKind::Silent,
            How::Strong if !is_atomic => AccessKind::Flag,
            // Whether the guess was right is seen by an atomic.
            How::Plain if is_guess && !writes => AccessKind::Flag,
            How::Strong | How::CopiedAtomic | How::BulkAtomic => AccessKind::Atomic,
            How::Plain | How::StrongInBlock | How::Copied | How::Bulk => AccessKind::Plain,
        };
        let actors = &mut self.actors;
        let by = *self.known.entry((grid, stamp.site, writes)).or_insert_with(|| {
            let verb = if is_atomic && note.is_some() {
                "atomic access"
            } else if writes {
                "write"
            } else {
                "read"
            };
            actors.push(actor_in(kernel, shape, *stamp, verb));
            actors.len() as u32 - 1
        });
        self.last = Some((*stamp, writes, (way, by)));
        Some((way, by))
    }
}

impl Watch {
    /// The host, or another process, may wait for what is written, and may have written what is read.
    pub(super) fn signal(&self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        let Some(ongoing) = env.ends.ongoing.filter(|_| access.how.is_strong() || self.fenced) else {
            return;
        };
        let is_seen = |touch: &Touch| {
            let snapshot = &env.snapshot;
            let allocation = snapshot.find(touch.address).and_then(|index| snapshot.get(index));
            !touch.region.private && allocation.is_some_and(|allocation| allocation.is_seen_elsewhere())
        };
        if !touches.iter().any(is_seen) {
            return;
        }
        if access.what.writes() {
            ongoing.tell_host();
        }
        if access.what.reads() && access.how.is_strong() {
            ongoing.hear_host();
        }
    }
}
