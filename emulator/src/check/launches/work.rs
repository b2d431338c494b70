//! Pieces of work, and the finding for two of them.

use super::held::RaceSite;
use super::runs::{Clash, Reach};
use super::vector_clock::{Epoch, VectorClock};
use super::{Actor, Finding};
use crate::check::{Bytes, FindingKind, Space};

const STREAM_ADVICE: &str = "nothing orders the two: record an event behind the one and let the other's stream wait for it (`cuEventRecord`, `cuStreamWaitEvent`), or submit both to one stream";
const EARLY_ADVICE: &str = "the later kernel may begin before the one before it in the stream is over (programmatic stream serialization): it has to execute `griddepcontrol.wait` (`cudaGridDependencySynchronize`) before it uses what that one writes";
const KERNEL_ADVICE: &str = "nothing orders the two: a graph that a kernel launches runs beside all that comes behind that kernel, unless it is launched into the tail (`cudaStreamGraphTailLaunch`)";
const EDGE_ADVICE: &str = "nothing orders the two nodes: add an edge between them";

/// What a piece of work is.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// The kernel, or the driver call.
    pub(crate) name: String,
    /// Where it was submitted to, in words.
    pub(crate) stream: String,
    /// The run of a graph that it is a part of.
    pub(crate) graph: Option<u64>,
    /// Whether a kernel launched that.
    pub(crate) is_by_kernel: bool,
    /// What becomes of the bytes that it accesses.
    pub(crate) frees: Frees,
}

/// What a piece of work frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frees {
    Nothing,
    /// Memory of a graph: there is nothing else at its addresses.
    GraphMemory,
    /// An allocation: later there may be another one.
    Allocation,
}

/// A piece of work that has begun.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) epoch: Epoch,
    pub(super) past: VectorClock,
    pub(super) label: Label,
    /// Since when it is over: the number of what begins next then.
    pub(super) ended: Option<u64>,
    /// When the host learned that it is over.
    pub(super) known: Option<u64>,
    pub(super) reach: Reach,
    /// Who accessed the runs of `reach`.
    pub(super) actors: Vec<Actor>,
    /// Whether others may learn of something by what it does.
    pub(super) may_synchronise: bool,
    /// What it may have synchronised with by itself.
    pub(super) partners: Vec<Epoch>,
    /// Whether the kernel behind it in its stream may begin before it is over.
    pub(super) releases: bool,
    /// What is before it in its stream and yet may not be over.
    pub(super) beside: Vec<u64>,
    /// What was given back while it ran.
    pub(super) gone: Vec<(u64, u64)>,
}

impl Work {
    pub(super) fn new(epoch: Epoch, past: VectorClock, label: Label) -> Work {
        let (reach, actors, partners, gone) = (Reach::default(), Vec::new(), Vec::new(), Vec::new());
        let (ended, known, may_synchronise, releases, beside) = (None, None, false, false, Vec::new());
        Work {
            epoch,
            past,
            label,
            ended,
            known,
            reach,
            actors,
            may_synchronise,
            partners,
            releases,
            beside,
            gone,
        }
    }

    /// Whether it is over before that one begins.
    pub(super) fn is_before(&self, other: &Work) -> bool {
        self.is_in(&other.past) && !other.beside.contains(&self.epoch.count)
            || self.known.is_some_and(|known| known <= other.past.host)
    }

    /// Whether it, or what it has synchronised with, is in that past.
    pub(super) fn is_in(&self, past: &VectorClock) -> bool {
        past.contains(self.epoch) || self.partners.iter().any(|partner| past.contains(*partner))
    }

    /// Whether its bytes can be compared with those of a later one: not where that began after these were freed.
    pub(super) fn concerns(&self, later: &Work) -> bool {
        self.label.frees != Frees::Allocation || later.epoch.count < self.epoch.count
    }

    /// The finding for bytes that it shares with an earlier one; `bytes` says where they are.
    pub(super) fn finding(&self, earlier: &Work, clash: &Clash, bytes: (u64, String)) -> Finding {
        let count = u32::try_from(clash.end - clash.start).unwrap_or(u32::MAX);
        let is_edge = self.label.graph.is_some() && self.label.graph == earlier.label.graph;
        Finding {
            kind: FindingKind::LaunchRace,
            kernel: self.label.name.clone(),
            bytes: Some(Bytes { space: Space::Global, address: bytes.0, count, place: bytes.1 }),
            access: self.actor(clash.by[1], clash.writes[1]),
            other: Some(earlier.actor(clash.by[0], clash.writes[0])),
            advice: Some(match is_edge {
                _ if self.beside.contains(&earlier.epoch.count) => EARLY_ADVICE,
                true => EDGE_ADVICE,
                false if self.label.is_by_kernel || earlier.label.is_by_kernel => KERNEL_ADVICE,
                false => STREAM_ADVICE,
            }),
            times: 1,
        }
    }

    /// The place of that race with an earlier one.
    pub(super) fn place(&self, earlier: &Work, clash: &Clash) -> RaceSite {
        let line = |work: &Work, by: u32| work.actors.get(by as usize).map_or(0, |actor| actor.ptx_line);
        let lines = [line(earlier, clash.by[0]), line(self, clash.by[1])];
        let range = Some((clash.start, clash.end)).filter(|_| lines == [0, 0]);
        RaceSite { names: [earlier.label.name.clone(), self.label.name.clone()], lines, range }
    }

    fn actor(&self, by: u32, writes: bool) -> Actor {
        let known = self.actors.get(by as usize).cloned();
        let verb = match (self.label.frees, writes) {
            (Frees::Nothing, true) => "write",
            (Frees::Nothing, false) => "read",
            (Frees::GraphMemory | Frees::Allocation, _) => "free",
        };
        let actor = known.unwrap_or_else(|| Actor::of_call(verb));
        Actor { kernel: Some(self.label.name.clone()), stream: Some(self.label.stream.clone()), ..actor }
    }
}
