//! The place in the order that the program has asked for, of the work that this thread does: for the check for races between launches.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::state;
use crate::check::Checker;
use crate::check::launches::{AccessKind, Frees, Label, Ongoing, Reach, Run, Runs, Touched, VectorClock};
use crate::memory::Memory;

/// Where work is.
#[derive(Clone)]
pub(super) struct CurrentWork {
    pub(super) checker: Arc<Checker>,
    /// What it comes behind.
    pub(super) past: VectorClock,
    /// What is done in a row.
    pub(super) lane: u64,
    /// The run of a graph that it is a part of, and whether a kernel launched that.
    pub(super) graph: Option<u64>,
    pub(super) is_by_kernel: bool,
    /// The kernel that was submitted to the stream right before, and the one that runs here, if that is all.
    pub(super) follows: Option<u64>,
    pub(super) kernel: Option<u64>,
}

thread_local! {
    static CURRENT: RefCell<Option<CurrentWork>> = const { RefCell::new(None) };
}

/// Whether any thread has ever had current work. In a process that does not check for races, this is all that is looked at.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Sets the place of this thread's work; the previous one is the result. A thread that is about to end has none.
pub(super) fn exchange(place: Option<CurrentWork>) -> Option<CurrentWork> {
    if place.is_some() {
        IS_USED.store(true, Relaxed);
    }
    CURRENT.try_with(|here| here.replace(place)).ok().flatten()
}

/// Looks at the place, or changes it; `None` if races are not checked.
#[inline]
pub(super) fn with<T>(look: impl FnOnce(&mut CurrentWork) -> T) -> Option<T> {
    // What this thread has stored itself it sees.
    if IS_USED.load(Relaxed) { look_at(look) } else { None }
}

#[cold]
fn look_at<T>(look: impl FnOnce(&mut CurrentWork) -> T) -> Option<T> {
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

/// This thread's work is all that a graph does that a kernel launches: `launched` is the kernel's place. What is over when that is done is the
/// result.
pub(super) fn beside(launched: Option<CurrentWork>, work: impl FnOnce()) -> VectorClock {
    let place = launched.map(|place| CurrentWork {
        lane: place.another_lane(),
        is_by_kernel: true,
        follows: None,
        kernel: None,
        ..place
    });
    let previous = exchange(place);
    work();
    exchange(previous).map(|place| place.past).unwrap_or_default()
}

/// What is over before what comes now, if races are checked.
pub(super) fn past() -> Option<VectorClock> {
    with(|place| place.past.clone())
}

/// All of that is over before what comes now.
pub(super) fn join(past: &VectorClock) {
    with(|place| place.past.join(past));
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
    begin_as(stream, name, Frees::Nothing)
}

/// A kernel begins; an early one may do so before the kernel that was submitted to its stream right before is over.
#[inline]
pub(super) fn begin_kernel(stream: usize, name: &str, is_early: bool) -> Option<Ongoing> {
    if IS_USED.load(Relaxed) { begin_kernel_here(stream, name, is_early) } else { None }
}

#[cold]
fn begin_kernel_here(stream: usize, name: &str, is_early: bool) -> Option<Ongoing> {
    let ongoing = begin(stream, name)?;
    let follows = with(|place| {
        place.kernel = Some(ongoing.number()).filter(|_| place.graph.is_none());
        place.follows.filter(|_| is_early && place.graph.is_none())
    });
    follows.flatten().into_iter().for_each(|before| ongoing.begin_early(before));
    Some(ongoing)
}

/// The same for work that frees what it accesses.
pub(super) fn begin_free(stream: usize, name: &str, frees: Frees) -> Option<Ongoing> {
    begin_as(stream, name, frees)
}

fn begin_as(stream: usize, name: &str, frees: Frees) -> Option<Ongoing> {
    with(|place| {
        let stream = match stream {
            1 => "the legacy default stream".to_owned(),
            2 => "a thread's default stream".to_owned(),
            handle => format!("stream 0x{handle:x}"),
        };
        let stream = match place.graph {
            None => stream,
            Some(_) if place.is_by_kernel => format!("a graph that a kernel launched, in {stream}"),
            Some(_) => format!("a graph in {stream}"),
        };
        let label = Label {
            name: name.to_owned(),
            stream,
            graph: place.graph,
            is_by_kernel: place.is_by_kernel,
            frees,
        };
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
    pub(super) fn add(&mut self, memory: &Memory, address: u64, bytes: u64, kind: AccessKind, writes: bool) {
        let list = if writes { &mut self.writes } else { &mut self.reads };
        let ranges = memory.host_ranges(address, bytes);
        if ranges.is_empty() {
            list.push(Run { start: address, end: address.saturating_add(bytes), kind, by: 0 });
        }
        list.extend(ranges.into_iter().map(|range| Run { start: range.start, end: range.end, kind, by: 0 }));
    }

    /// All of it, as what a piece of work has accessed.
    pub(super) fn touched(self) -> Touched {
        let reach = Reach { reads: Runs::of(self.reads), writes: Runs::of(self.writes) };
        Touched { reach, actors: Vec::new() }
    }
}
