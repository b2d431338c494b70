//! Accesses to the shared memory of other blocks of a cluster, which must not end before such an access.
//!
//! A block ends with its last thread. So an access is valid if it happened before the exit of any thread of the block that owns the
//! memory.

use std::collections::{BTreeMap, BTreeSet};

use super::super::env::Env;
use super::Watch;
use super::inspect::WarpAccess;
use super::note::What;
use super::place::Touch;
use super::report::Reports;
use super::stamp::Stamp;
use super::unit::{Unit, warps_of_block};
use crate::check::FindingKind;

const ADVICE: &str = "the block whose shared memory it is may have ended before: a barrier of the cluster, or an mbarrier at which that block waits, has to come after this access";

/// Accesses to the shared memory of other blocks, as far as no exit there is known to come later.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    /// The last of each warp to each block: by rank, warp and, if it continues after its instruction, the number of its completion.
    list: BTreeMap<(u32, u16, u32), (Touch, Stamp, What)>,
}

impl Foreign {
    fn note(&mut self, rank: u32, touch: Touch, stamp: Stamp, what: What) {
        let completion = if stamp.how.is_asynchronous() { stamp.epoch } else { 0 };
        self.list.insert((rank, stamp.warp, completion), (touch, stamp, what));
    }

    /// Threads of the block of that rank exit, which know of some accesses.
    pub(super) fn exit(&mut self, rank: u32, knows: impl Fn(&Stamp) -> bool) {
        self.list.retain(|(of, _, _), (_, stamp, _)| *of != rank || !knows(stamp));
    }

    /// All have met. An arrival that releases nothing comes after the accesses of its thread, too.
    pub(super) fn met(&mut self, relaxed: &BTreeSet<usize>) {
        self.list.retain(|_, (_, stamp, _)| {
            stamp.how.is_asynchronous() || !relaxed.contains(&usize::from(stamp.warp))
        });
    }

    /// All blocks have ended.
    pub(super) fn finish(self, env: &Env<'_>, reports: &mut Reports) {
        for (touch, stamp, what) in self.list.into_values() {
            reports.add(env, FindingKind::Race, &touch, (stamp, what), None, ADVICE);
        }
    }
}

impl Watch {
    /// Notes accesses to the shared memory of other blocks.
    pub(super) fn note_foreign(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        if env.cluster == [1; 3] {
            return;
        }
        let own = (access.who.warp / warps_of_block(env)) as u32;
        let unit = self.units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
        for touch in touches {
            if let Some(rank) = touch.rank().filter(|rank| *rank != own) {
                let stamp = access.stamp(unit, touch);
                unit.foreign.note(rank, *touch, stamp, access.what);
            }
        }
    }
}
