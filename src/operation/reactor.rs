//! The thread that watches the work in flight.
//!
//! It is started with the first future that has to wait, sleeps while there is none, and ends after a while of that. The end of
//! the process does not wait for it. Work that is done wakes its future. Nothing of a user is dropped on it: what nobody waits for any
//! more goes to a thread of its own (`src/driver/drops.rs`). Of a user's code only wakers run here, with the end of what they alone own; what
//! panics ends no more than itself.

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

/// Entries that are not over.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Counts the beginnings and ends of records: threads share streams, and what they recorded may arrive in another order.
static RECORDS: AtomicU64 = AtomicU64::new(0);

/// How long the thread stays without anything to watch.
const IDLE: Duration = Duration::from_secs(10);

/// So many times longer than a sweep takes is the pause after it, within limits: 5 % of a core at most while they hold.
const REST: u32 = 20;
const LONGEST_REST: Duration = Duration::from_millis(10);

/// A mark in a stream, and what is kept until the stream comes to it.
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

/// Nobody waits.
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

/// Completes `slot` when what `stream` was given so far is done, and keeps `kept` until then.
///
/// Where no event can be recorded, the host waits here.
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
    // It lends nothing any more, and has nothing.
    std::mem::forget(lent);
    let record = start..RECORDS.fetch_add(1, Ordering::AcqRel);
    // A stream of the thread has a queue of its own each time: the number of its event, which is in use once.
    let queue = stream.lane().unwrap_or_else(|| mark.number());
    COUNT.fetch_add(1, Ordering::Relaxed);
    let entry = Entry { queue, mark: InFlight { mark, kept }, record, slot, since, deadline };
    if let Some(vacancy) = TABLE.push([entry]) {
        hire(vacancy);
    }
}

/// What is kept while calls for it may unwind: the host waits then, also for the output in the slot, and where it cannot, it stays for ever.
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

/// Keeps `kept` until what `stream` was given so far is done.
pub(super) fn park(stream: &CudaStream, kept: Vec<Kept>) {
    if !kept.is_empty() {
        watch(stream, kept, Arc::new(NoWaiter), Instant::now(), None);
    }
}

/// Drops what was kept for work that ended so. Where nobody can tell whether the work goes on, memory that stays is better than
/// memory that is used after its end.
pub(super) fn end(kept: Vec<Kept>, result: &Result<(), Error>) {
    drop(done_with(kept, result));
}

/// What was kept for work that ended so, if it may be dropped.
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
        // There is no thread to be had: this one does it, until nothing is left.
        work_until(Duration::ZERO);
    }
}

fn work_until(idle: Duration) {
    let mut watch = Watch::default();
    loop {
        match catch_unwind(AssertUnwindSafe(|| watch.turn(idle))) {
            Ok(true) => {}
            Ok(false) => return,
            // What it has in hand is whole at every step; the next turn goes on with it.
            Err(payload) => watch.left.push(payload),
        }
    }
}

/// What the thread has in hand: kept outside of a turn, whose panic ends nothing but the turn.
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
    /// Waits, looks, and wakes. Whether there will be another turn.
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
            drops::later(move || drops::drop_quietly(left));
        }
        true
    }

    fn receive(&mut self, idle: Duration) -> bool {
        if !self.queues.is_empty() {
            let now = Instant::now();
            let pause = if self.queues.has_fresh(now) {
                // For at most as long as it is; whoever else wants this core goes first.
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

    /// Runs what may be foreign code: its panic ends here, where nobody could be told.
    fn guarded(&mut self, f: impl FnOnce() -> Option<Discarded>) {
        self.left.extend(catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(Some));
    }
}
