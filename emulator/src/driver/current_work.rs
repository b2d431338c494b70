//! The place in the order that the program has asked for, of the work that this thread does: for the check for races between launches.

use std::cell::RefCell;
use std::sync::Arc;

use super::state;
use crate::check::Checker;
use crate::check::launches::{AccessKind, Label, Ongoing, Reach, Run, Runs, Touched, VectorClock};
use crate::memory::Memory;

/// Where work is.
#[derive(Clone)]
pub(super) struct CurrentWork {
    pub(super) checker: Arc<Checker>,
    /// What it comes behind.
    pub(super) past: VectorClock,
    /// What is done in a row.
    pub(super) lane: u64,
    /// The run of a graph that it is a part of.
    pub(super) graph: Option<u64>,
    /// The kernel that was submitted to the stream right before, and the one that runs here, if that is all.
    pub(super) follows: Option<u64>,
    pub(super) kernel: Option<u64>,
}

thread_local! {
    static CURRENT: RefCell<Option<CurrentWork>> = const { RefCell::new(None) };
}

/// Sets the place of this thread's work; the previous one is the result. A thread that is about to end has none.
pub(super) fn exchange(place: Option<CurrentWork>) -> Option<CurrentWork> {
    CURRENT.try_with(|here| here.replace(place)).ok().flatten()
}

/// Looks at the place, or changes it; `None` if races are not checked.
pub(super) fn with<T>(look: impl FnOnce(&mut CurrentWork) -> T) -> Option<T> {
    CURRENT.try_with(|here| here.borrow_mut().as_mut().map(look)).ok().flatten()
}

/// The process's checker, if it checks for races between launches.
pub(super) fn checker() -> Option<Arc<Checker>> {
    state::get()?.checker.clone().filter(|checker| checker.launches().is_some())
}

impl CurrentWork {
    /// Another row of work, in no order with others.
    pub(super) fn another_lane(&self) -> u64 {
        self.checker.launches().map_or(0, |launches| launches.lane())
    }

    fn join_known(&mut self) {
        if let Some(launches) = self.checker.launches() {
            self.past.join(&launches.known());
        }
    }
}

/// A graph begins: its nodes are told apart from those of other runs.
pub(super) fn begin_graph() {
    with(|place| place.graph = Some(place.another_lane()));
}

/// The host, or another process, learns that all of this is over that is before this point.
pub(super) fn tell_host() {
    with(|place| {
        if let Some(launches) = place.checker.launches() {
            launches.learn(&place.past);
        }
    });
}

/// What comes now is behind all that the host knows.
pub(super) fn hear_host() {
    with(CurrentWork::join_known);
}

/// Calls a function of the program, which may tell other threads of it that all before is over, and wait for them.
pub(super) fn host_function(call: impl FnOnce()) {
    tell_host();
    call();
    hear_host();
}

/// A piece of work begins, in the stream with that handle.
pub(super) fn begin(stream: usize, name: &str) -> Option<Ongoing> {
    begin_as(stream, name, false)
}

/// A kernel begins; an early one may do so before the kernel that was submitted to its stream right before is over.
pub(super) fn begin_kernel(stream: usize, name: &str, is_early: bool) -> Option<Ongoing> {
    let ongoing = begin(stream, name)?;
    let follows = with(|place| {
        place.kernel = Some(ongoing.number()).filter(|_| place.graph.is_none());
        place.follows.filter(|_| is_early && place.graph.is_none())
    });
    follows.flatten().into_iter().for_each(|before| ongoing.begin_early(before));
    Some(ongoing)
}

/// The same for work that frees what it accesses.
pub(super) fn begin_free(stream: usize, name: &str) -> Option<Ongoing> {
    begin_as(stream, name, true)
}

fn begin_as(stream: usize, name: &str, frees: bool) -> Option<Ongoing> {
    with(|place| {
        let stream = match (stream, place.graph) {
            (1, None) => "the legacy default stream".to_owned(),
            (2, None) => "a thread's default stream".to_owned(),
            (handle, None) => format!("stream 0x{handle:x}"),
            (1, Some(_)) => "a graph in the legacy default stream".to_owned(),
            (2, Some(_)) => "a graph in a thread's default stream".to_owned(),
            (handle, Some(_)) => format!("a graph in stream 0x{handle:x}"),
        };
        let label = Label { name: name.to_owned(), stream, graph: place.graph, frees };
        Ongoing::begin(&place.checker, &mut place.past, place.lane, label)
    })
    .flatten()
}

/// A piece of work is over.
pub(super) fn end(ongoing: Ongoing, memory: &Memory) {
    if ongoing.has_heard() {
        hear_host();
    }
    ongoing.end(&|host, bytes| {
        let address = memory.device_address(host).unwrap_or(host);
        (address, memory.describe(address, bytes))
    });
}

/// What a call accesses by itself.
#[derive(Default)]
pub(super) struct Accesses {
    reads: Vec<Run>,
    writes: Vec<Run>,
}

impl Accesses {
    /// Adds a range of device memory, or of host memory that is not only the call's.
    pub(super) fn add(&mut self, memory: &Memory, address: u64, bytes: u64, way: AccessKind, writes: bool) {
        let list = if writes { &mut self.writes } else { &mut self.reads };
        let ranges = memory.host_ranges(address, bytes);
        if ranges.is_empty() {
            list.push(Run { start: address, end: address.saturating_add(bytes), way, by: 0 });
        }
        list.extend(ranges.into_iter().map(|range| Run { start: range.start, end: range.end, way, by: 0 }));
    }

    /// All of it, as what a piece of work has accessed.
    pub(super) fn touched(self) -> Touched {
        let reach = Reach { reads: Runs::of(self.reads), writes: Runs::of(self.writes) };
        Touched { reach, actors: Vec::new() }
    }
}
