//! The thread that watches the work in flight.
//!
//! It is started for the first future that has to wait, sleeps while there is none, and ends when it has been idle for a while. The end of
//! the process does not wait for it. When work is done, it wakes the future. It does not drop users' values: outputs that no future waits
//! for go to a separate thread (`src/driver/drops.rs`). The only user code that runs here is wakers, including the drop of what they alone
//! own; a panic in one affects nothing else.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use super::completion::{Complete, Discarded, Entry, Mark};
use super::context::Kept;
use super::mark_queues::{Completed, MarkQueues};
use crate::driver::{CudaStream, Shared, StreamMark, Table, WorkerNeeded, drops};
use crate::error::Error;

static TABLE: Table<Entry<InFlight>> = Table::of(Mutex::new(Shared::EMPTY), Condvar::new());

/// The number of entries that are not complete.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Counts the beginnings and ends of recordings: threads share streams, and their entries may arrive here in another
/// order than they were recorded in.
static RECORDS: AtomicU64 = AtomicU64::new(0);

/// How long the thread lives on without anything to watch.
const IDLE: Duration = Duration::from_secs(10);

/// The pause after a sweep is this many times the duration of the sweep, within limits: at most 5 % of a core while the
/// limits permit it.
const REST: u32 = 20;
const LONGEST_REST: Duration = Duration::from_millis(10);

/// A mark in a stream, and the values that are kept until the stream reaches it.
pub(super) struct InFlight {
    mark: StreamMark,
    kept: Vec<Kept>,
}

impl Mark for InFlight {
    type Error = Error;

    fn is_done(&self) -> Result<bool, Error> {
        self.mark.is_done()
    }
}

/// The waiter of work that no future waits for.
struct NoWaiter;

impl Complete<Error> for NoWaiter {
    fn complete(&self, _: Result<(), Error>) -> Option<Discarded> {
        None
    }

    fn expire(&self) {}
}

/// How much work is in flight: futures that wait, and work whose future was dropped. No driver call.
///
/// ```
/// println!("{} operations are under way", cuda_launch::operation::in_flight());
/// ```
pub fn in_flight() -> usize {
    COUNT.load(Ordering::Relaxed)
}

/// Completes `slot` when all work submitted to `stream` so far is done, and keeps `kept` until then.
///
/// If no event can be recorded, the host waits here.
pub(super) fn watch(
    stream: &CudaStream,
    kept: Vec<Kept>,
    slot: Arc<dyn Complete<Error>>,
    since: Instant,
    deadline: Option<Instant>,
) {
    let start = RECORDS.fetch_add(1, Ordering::AcqRel);
    let mut lent = Lent(stream, kept);
    let mark = match StreamMark::new(stream) {
        Ok(mark) => mark,
        Err(_) => {
            let result = stream.finish();
            end(std::mem::take(&mut lent.1), &result);
            return drop(slot.complete(result));
        }
    };
    let kept = std::mem::take(&mut lent.1);
    // It no longer guards anything, and is empty.
    std::mem::forget(lent);
    let record = start..RECORDS.fetch_add(1, Ordering::AcqRel);
    // A per-thread stream gets a new queue for each entry: the number of its event, which is unique while in use.
    let queue = stream.lane().unwrap_or_else(|| mark.number());
    COUNT.fetch_add(1, Ordering::Relaxed);
    let entry = Entry { queue, mark: InFlight { mark, kept }, record, slot, since, deadline };
    if let Some(vacancy) = TABLE.push([entry]) {
        hire(vacancy);
    }
}

/// Holds the values to be kept while the calls that record the mark may unwind. If one does, the host waits, which also protects the output
/// in the slot; if it cannot wait, the values are leaked.
struct Lent<'s>(&'s CudaStream, Vec<Kept>);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let kept = std::mem::take(&mut self.1);
        let is_used = !kept.is_empty() || std::thread::panicking();
        if is_used && !self.0.wait_untraced() {
            std::mem::forget(kept);
        }
    }
}

/// Keeps `kept` until all work submitted to `stream` so far is done.
pub(super) fn park(stream: &CudaStream, kept: Vec<Kept>) {
    if !kept.is_empty() {
        watch(stream, kept, Arc::new(NoWaiter), Instant::now(), None);
    }
}

/// Drops what was kept for work that ended with `result`. If it is unknown whether the work still runs, the values are leaked,
/// which is better than a use after free.
pub(super) fn end(kept: Vec<Kept>, result: &Result<(), Error>) {
    drop(done_with(kept, result));
}

/// What was kept for work that ended with `result`, if it may be dropped.
fn done_with(kept: Vec<Kept>, result: &Result<(), Error>) -> Vec<Kept> {
    match result {
        Err(error) if !error.is_sticky() => {
            std::mem::forget(kept);
            Vec::new()
        }
        _ => kept,
    }
}

fn hire(_: WorkerNeeded) {
    let reactor = std::thread::Builder::new().name("cuda-launch reactor".into());
    let started = reactor.spawn(|| work_until(IDLE));
    if started.is_err() {
        // No thread could be started, so this one does the work until nothing is left.
        work_until(Duration::ZERO);
    }
}

fn work_until(idle: Duration) {
    let mut watch = Watch::default();
    loop {
        match catch_unwind(AssertUnwindSafe(|| watch.turn(idle))) {
            Ok(true) => {}
            Ok(false) => return,
            // Its state is valid at every step, so the next turn continues with it.
            Err(payload) => watch.left.push(payload),
        }
    }
}

/// The state of the thread, kept outside of a turn so that a panic ends only that turn.
#[derive(Default)]
struct Watch {
    queues: MarkQueues<InFlight>,
    over: VecDeque<Completed<InFlight>>,
    /// To be dropped on the other thread.
    left: Vec<Discarded>,
    /// The shortest pause.
    rest: Duration,
}

impl Watch {
    /// Waits, queries the marks, and wakes futures. Returns whether there will be another turn.
    fn turn(&mut self, idle: Duration) -> bool {
        if !self.receive(idle) {
            return false;
        }
        let start = Instant::now();
        self.queues.sweep(start, &mut self.over);
        let expired = self.queues.expired(start);
        self.rest = (start.elapsed() * REST).min(LONGEST_REST);
        while let Some(over) = self.over.pop_front() {
            self.finish(over);
        }
        for slot in expired {
            self.guarded(|| {
                slot.expire();
                None
            });
        }
        if !self.left.is_empty() {
            let left = std::mem::take(&mut self.left);
            drops::later(Box::new(move || drops::drop_quietly(left)));
        }
        true
    }

    fn receive(&mut self, idle: Duration) -> bool {
        if !self.queues.is_empty() {
            let now = Instant::now();
            let pause = if self.queues.has_fresh(now) {
                // Spins without sleeping while there is fresh work, but lets other threads use the core first.
                std::thread::yield_now();
                Duration::ZERO
            } else {
                self.queues.pause(now).max(self.rest)
            };
            self.queues.add(TABLE.arrivals(pause));
            return true;
        }
        let Some(arrivals) = TABLE.next(idle) else { return false };
        self.queues.add(arrivals);
        true
    }

    fn finish(&mut self, (entry, result): Completed<InFlight>) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
        let Entry { mark: InFlight { mark, kept }, slot, .. } = entry;
        self.left.append(&mut done_with(kept, &result));
        self.left.extend(mark.end());
        self.guarded(|| slot.complete(result));
    }

    /// Runs what may be foreign code and catches its panic, which cannot be reported to anyone.
    fn guarded(&mut self, f: impl FnOnce() -> Option<Discarded>) {
        self.left.extend(catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(Some));
    }
}
