//! The thread that watches what is in flight.
//!
//! It is started with the first future that has to wait, sleeps while there is none, and ends after a while of that. The end of
//! the process does not wait for it. Work that is done wakes its future; what nobody waits for any more goes to `reaper`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use super::completion::{self, Complete, Entry, Mark, Table, Vacancy};
use super::context::Kept;
use super::lanes::{Lanes, Over};
use super::reaper::drop_elsewhere;
use crate::driver::{CudaStream, StreamMark};
use crate::error::Error;

static TABLE: Table<InFlight> = Table::of(Mutex::new(completion::Shared::EMPTY), Condvar::new());

/// Entries that are not over.
static COUNT: AtomicUsize = AtomicUsize::new(0);

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
struct Nobody;

impl Complete<Error> for Nobody {
    fn complete(&self, _: Result<(), Error>) {}

    fn expire(&self) {}
}

/// How many pieces of work are in flight: futures that wait, and work whose future was dropped. No driver call.
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
    let mark = match StreamMark::new(stream, since) {
        Ok(mark) => mark,
        Err(_) => {
            let result = stream.drain();
            end(kept, &result);
            return slot.complete(result);
        }
    };
    // A stream of the thread is a lane of its own each time: the number of its event, which is in use once.
    let lane = stream.lane().unwrap_or_else(|| mark.number());
    COUNT.fetch_add(1, Ordering::Relaxed);
    let entry = Entry { lane, mark: InFlight { mark, kept }, slot, since, deadline };
    if let Some(vacancy) = TABLE.push(entry) {
        hire(vacancy);
    }
}

/// Keeps `kept` until what `stream` was given so far is done.
pub(super) fn park(stream: &CudaStream, kept: Vec<Kept>) {
    if !kept.is_empty() {
        watch(stream, kept, Arc::new(Nobody), Instant::now(), None);
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

fn hire(_: Vacancy) {
    let started = std::thread::Builder::new().name("cuda-launch reactor".into()).spawn(work);
    if started.is_err() {
        // There is no thread to be had: this one does it, until nothing is left.
        work_until(Duration::ZERO);
    }
}

fn work() {
    work_until(IDLE);
}

fn work_until(idle: Duration) {
    let mut lanes = Lanes::default();
    let mut rest = Duration::ZERO;
    loop {
        if lanes.is_empty() {
            match TABLE.next(idle) {
                Some(arrivals) => lanes.add(arrivals),
                None => return,
            }
        } else {
            let pause = lanes.pause(Instant::now());
            if pause.is_zero() {
                // Work that has only begun, for at most that long; whoever else wants this core goes first.
                std::thread::yield_now();
                lanes.add(TABLE.arrivals(Duration::ZERO));
            } else {
                lanes.add(TABLE.arrivals(pause.max(rest)));
            }
        }
        let start = Instant::now();
        let over = lanes.sweep(start);
        let expired = lanes.expired(start);
        rest = (start.elapsed() * REST).min(LONGEST_REST);
        over.into_iter().for_each(finish);
        for slot in expired.iter().filter_map(std::sync::Weak::upgrade) {
            guarded(|| slot.expire());
        }
    }
}

fn finish((entry, result): Over<InFlight>) {
    COUNT.fetch_sub(1, Ordering::Relaxed);
    let Entry { mark: InFlight { mark, kept }, slot, .. } = entry;
    let mut rest = done_with(kept, &result);
    drop(mark);
    guarded(|| slot.complete(result));
    if Arc::strong_count(&slot) == 1 {
        // The future is gone: this is the last share of the output.
        rest.push(Box::new(slot));
    }
    drop_elsewhere(rest);
}

/// Runs what may be foreign code: its panic ends here, where nobody could be told.
fn guarded(f: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(f));
}
