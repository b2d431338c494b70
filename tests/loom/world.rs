//! What the models have in common: a device, its outputs, futures that wait, and the worker.

#![allow(unsafe_code)] // The memory of a device, behind a cell that loom watches.
#![allow(dead_code)] // Only the models use it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::task::{Poll, Wake, Waker};
use std::time::{Duration, Instant};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::thread::{self, JoinHandle};

use crate::completion::{Claim, Complete, Discarded, Ended, Entry, Mark, Slot};
use crate::mark_queues::MarkQueues;
use crate::sync::{Clock, Condvar, Mutex};
use crate::table::{Shared, Table};

pub(crate) type Fault = &'static str;

loom::thread_local! {
    /// Whether this is the worker, where nothing of a user may end.
    static WATCHES: Cell<bool> = Cell::new(false);
}

/// What a user, or the thread for drops, may do on a thread.
pub(crate) fn foreign<R>(f: impl FnOnce() -> R) -> R {
    let before = WATCHES.with(|watches| watches.replace(false));
    let result = f();
    WATCHES.with(|watches| watches.set(before));
    result
}

const FAULTED: usize = usize::MAX;

/// One piece of work: the memory that it uses, and how far it is.
pub(crate) struct Work {
    done: AtomicUsize,
    memory: UnsafeCell<u32>,
    /// Outputs of it that were dropped.
    pub(crate) ended: AtomicUsize,
}

// SAFETY: all but `memory` is atomic. `memory` is loom's `UnsafeCell`, which tracks its accesses and fails the model before two of
// them meet: it is what the models test.
unsafe impl Sync for Work {}

impl Work {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { done: AtomicUsize::new(0), memory: UnsafeCell::new(0), ended: AtomicUsize::new(0) })
    }

    /// What the device does: loom sees it where anybody else touches the memory meanwhile.
    fn run(&self, end: usize) {
        // SAFETY: `with_mut` is loom's: it panics before the closure where another access is under way, so the pointer is this
        // one's alone.
        self.memory.with_mut(|memory| unsafe { *memory += 1 });
        self.done.store(end, Ordering::Release);
    }

    /// The device comes to the end of it; nobody looks because of that.
    pub(crate) fn finish(&self) {
        self.run(1);
    }

    pub(crate) fn ended(&self) -> usize {
        self.ended.load(Ordering::SeqCst)
    }
}

/// The memory of a piece of work: nobody may end it before the work, nor on the worker.
pub(crate) struct Output(pub(crate) Arc<Work>);

impl Drop for Output {
    fn drop(&mut self) {
        assert!(!WATCHES.with(Cell::get), "it ends on the thread that watches");
        assert_ne!(self.0.done.load(Ordering::Acquire), 0, "the device still uses it");
        // SAFETY: `with_mut` is loom's, as in `run`: it panics where another access is under way.
        self.0.memory.with_mut(|memory| unsafe { *memory += 1 });
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// A stream: how many marks were recorded in it, and to how many of them it has come.
pub(crate) struct Stream {
    recorded: AtomicUsize,
    reached: AtomicUsize,
}

impl Stream {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { recorded: AtomicUsize::new(0), reached: AtomicUsize::new(0) })
    }

    /// The device comes to its mark of this number.
    pub(crate) fn reach(&self, mark: usize) {
        self.reached.store(mark, Ordering::Release);
    }
}

pub(crate) enum End {
    Of(Arc<Work>),
    /// This mark of a stream.
    At(usize, Arc<Stream>),
}

impl Mark for End {
    type Error = Fault;

    fn is_done(&self) -> Result<bool, Fault> {
        match self {
            Self::Of(work) => match work.done.load(Ordering::Acquire) {
                FAULTED => Err("kernel k trapped"),
                done => Ok(done != 0),
            },
            Self::At(mark, stream) => Ok(stream.reached.load(Ordering::Acquire) >= *mark),
        }
    }
}

/// A share of a slot in the table; loom's `Arc` makes no trait object by itself.
struct Share<T>(Arc<Slot<T, Fault>>);

impl<T: Send + 'static> Complete<Fault> for Share<T> {
    fn complete(&self, result: Result<(), Fault>) -> Option<Discarded> {
        self.0.complete(result)
    }

    fn expire(&self) {
        self.0.expire();
    }
}

/// What a process has one of.
#[derive(Clone)]
pub(crate) struct World(Arc<Process>);

struct Process {
    table: Table<Entry<End>>,
    clock: Clock,
    workers: Mutex<Vec<JoinHandle<()>>>,
    at_work: AtomicUsize,
    records: AtomicU64,
    /// Loom need not try every order of these.
    queues: std::sync::atomic::AtomicUsize,
}

impl World {
    pub(crate) fn new() -> Self {
        let table = Table::of(Mutex::new(Shared::EMPTY), Condvar::new());
        let (workers, at_work) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let (records, queues) = (AtomicU64::new(0), Default::default());
        Self(Arc::new(Process { table, clock: Clock::latest(), workers, at_work, records, queues }))
    }

    /// Submits the work as a future does in its first poll, to a stream of its own.
    pub(crate) fn submit<T: Send + 'static>(&self, work: &Arc<Work>, output: T) -> Waiting<T> {
        self.submit_until(work, output, None)
    }

    /// With a deadline, which has come when the worker looks.
    pub(crate) fn submit_until<T: Send + 'static>(
        &self,
        work: &Arc<Work>,
        output: T,
        deadline: Option<Instant>,
    ) -> Waiting<T> {
        let queue = 1 + self.0.queues.fetch_add(1, Ordering::Relaxed);
        // They differ, as deadlines need.
        let end = queue as u64;
        self.push(queue, End::Of(work.clone()), 0..end, output, deadline)
    }

    /// Submits something to a stream that others use; the number of its mark there.
    pub(crate) fn submit_to<T: Send + 'static>(
        &self,
        stream: &Arc<Stream>,
        output: T,
    ) -> (usize, Waiting<T>) {
        let start = self.0.records.fetch_add(1, Ordering::AcqRel);
        let mark = 1 + stream.recorded.fetch_add(1, Ordering::AcqRel);
        let record = start..self.0.records.fetch_add(1, Ordering::AcqRel);
        (mark, self.push(0, End::At(mark, stream.clone()), record, output, None))
    }

    fn push<T: Send + 'static>(
        &self,
        queue: usize,
        mark: End,
        record: Range<u64>,
        output: T,
        deadline: Option<Instant>,
    ) -> Waiting<T> {
        let claim = Claim::new(output);
        let share: std::sync::Arc<dyn Complete<Fault>> = std::sync::Arc::new(Share(claim.slot().clone()));
        let (slot, since) = (Arc::from_std(share), Instant::now());
        if self.0.table.push([Entry { queue, mark, record, slot, since, deadline }]).is_some() {
            let world = self.clone();
            let worker = thread::spawn(move || world.work());
            self.0.workers.lock().unwrap().push(worker);
        }
        Waiting(claim)
    }

    /// The worker, as in `reactor.rs`.
    fn work(&self) {
        WATCHES.with(|watches| watches.set(true));
        assert_eq!(self.0.at_work.fetch_add(1, Ordering::SeqCst), 0, "two workers");
        let (mut queues, mut over, mut now) = (MarkQueues::default(), VecDeque::new(), Instant::now());
        loop {
            if queues.is_empty() {
                // Before: who is told of a vacancy may start before this one's end.
                self.0.at_work.fetch_sub(1, Ordering::SeqCst);
                let Some(arrivals) = self.0.table.next(Duration::ZERO) else { return };
                assert_eq!(self.0.at_work.fetch_add(1, Ordering::SeqCst), 0, "two workers");
                queues.add(arrivals);
            } else {
                // A pause, not only a look: how long it is, the clock of the model says.
                queues.add(self.0.table.arrivals(Duration::MAX));
            }
            // All pauses are over, and all deadlines have come.
            now += Duration::from_secs(3600);
            queues.sweep(now, &mut over);
            let expired = queues.expired(now);
            for (Entry { mark, slot, .. }, result) in over.drain(..) {
                drop(mark);
                let left = slot.complete(result);
                drop(slot);
                foreign(|| drop(left));
            }
            expired.for_each(|slot| slot.expire());
        }
    }

    /// Time passes.
    pub(crate) fn tick(&self) {
        self.0.clock.tick();
    }

    /// The device comes to the end of this work; then time passes.
    pub(crate) fn finish(&self, work: &Work) {
        work.finish();
        self.tick();
    }

    /// The work of all of them faults.
    pub(crate) fn fault(&self, works: &[&Work]) {
        works.iter().for_each(|work| work.run(FAULTED));
        works.iter().for_each(|_| self.tick());
    }

    /// Nothing is in flight: the worker retires.
    pub(crate) fn end(&self) {
        self.tick();
        loop {
            let worker = self.0.workers.lock().unwrap().pop();
            let Some(worker) = worker else { return };
            worker.join().unwrap();
        }
    }
}

/// Runs `f` on another thread.
pub(crate) fn beside(f: impl FnOnce() + 'static) -> JoinHandle<()> {
    thread::spawn(f)
}

/// A future that was polled.
pub(crate) struct Waiting<T>(Claim<T, Fault>);

impl<T: Send> Waiting<T> {
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Result<T, Ended<Fault>>> {
        self.0.poll(waker)
    }

    /// Sleeps until it is woken, as an executor does. Loom says so where nobody wakes it.
    pub(crate) fn wait(self) -> Result<T, Ended<Fault>> {
        let parked = std::sync::Arc::new(Parked {
            woken: loom::sync::Mutex::new(false),
            changed: loom::sync::Condvar::new(),
        });
        let waker = Waker::from(parked.clone());
        loop {
            match self.poll(&waker) {
                Poll::Ready(result) => return result,
                Poll::Pending => parked.park(),
            }
        }
    }
}

struct Parked {
    woken: loom::sync::Mutex<bool>,
    changed: loom::sync::Condvar,
}

impl Parked {
    fn park(&self) {
        let mut woken = self.woken.lock().unwrap();
        while !*woken {
            woken = self.changed.wait(woken).unwrap();
        }
        *woken = false;
    }
}

impl Wake for Parked {
    fn wake(self: std::sync::Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.changed.notify_one();
    }
}
