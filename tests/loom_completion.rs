//! All orders of events in `src/operation/completion.rs`, by loom: outputs arrive once, or are dropped once and not before the
//! work is done; no wake and no entry is lost, whoever goes first.
//!
//! `RUSTFLAGS="--cfg cuda_launch_loom" cargo test --release --test loom_completion`

#![cfg(cuda_launch_loom)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// What `completion` synchronises with here.
mod sync {
    pub(super) use loom::sync::{Mutex, MutexGuard};
    // Counts are not what is tested; loom's cannot hold a trait object.
    pub(super) use std::sync::{Arc, LockResult, PoisonError};
    use std::time::Duration;

    /// Loom knows no time: a wait of no time ends at once, any other when it is notified.
    pub(super) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(super) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub(super) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(super) fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            time: Duration,
        ) -> LockResult<(MutexGuard<'a, T>, bool)> {
            if time.is_zero() {
                return Ok((guard, true));
            }
            self.0
                .wait(guard)
                .map(|guard| (guard, false))
                .map_err(|e| PoisonError::new((e.into_inner(), false)))
        }
    }
}

#[path = "../src/operation/completion.rs"]
#[allow(dead_code)]
mod completion;

use completion::{Complete, Ended, Entry, Mark, Slot, Table, Vacancy};
use loom::sync::Notify;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use loom::thread;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// The device: whether the work is done, and what became of the output.
#[derive(Default)]
struct World {
    done: AtomicBool,
    drops: AtomicUsize,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self { done: AtomicBool::new(false), drops: AtomicUsize::new(0) })
    }
}

/// Memory that the work uses.
struct Output(Arc<World>);

impl Drop for Output {
    fn drop(&mut self) {
        assert!(self.0.done.load(SeqCst), "dropped while the device works on it");
        self.0.drops.fetch_add(1, SeqCst);
    }
}

struct Bell(Notify);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

type Shared = Arc<Slot<Output, &'static str>>;

fn slot(world: &Arc<World>) -> Shared {
    Arc::new(Slot::new(Output(world.clone())))
}

/// Polls until ready, as an executor does.
fn wait(slot: &Shared) -> Result<Output, Ended<&'static str>> {
    let bell = Arc::new(Bell(Notify::new()));
    let waker = Waker::from(bell.clone());
    loop {
        match slot.poll(&waker) {
            Poll::Ready(result) => return result,
            Poll::Pending => bell.0.wait(),
        }
    }
}

/// The worker has seen the end of the work.
fn complete(slot: &Shared, world: &World) {
    world.done.store(true, SeqCst);
    slot.complete(Ok(()));
}

#[test]
fn an_output_arrives_once() {
    loom::model(|| {
        let world = World::new();
        let slot = slot(&world);
        let (worker, its) = (slot.clone(), world.clone());
        let worker = thread::spawn(move || complete(&worker, &its));
        drop(wait(&slot).ok().expect("the work is done"));
        assert!(matches!(wait(&slot), Err(Ended::Taken)));
        worker.join().unwrap();
        assert_eq!(world.drops.load(SeqCst), 1);
    });
}

#[test]
fn a_future_that_moves_is_woken_where_it_is() {
    loom::model(|| {
        let world = World::new();
        let slot = slot(&world);
        let (worker, its) = (slot.clone(), world.clone());
        let worker = thread::spawn(move || complete(&worker, &its));
        // Polled by a task that then hands it to another one.
        let first = slot.poll(Waker::noop());
        let moved = thread::spawn(move || first.is_ready() || wait(&slot).is_ok());
        assert!(moved.join().unwrap());
        worker.join().unwrap();
        assert_eq!(world.drops.load(SeqCst), 1);
    });
}

#[test]
fn the_output_of_a_dropped_future_is_dropped_after_the_work() {
    loom::model(|| {
        let world = World::new();
        let slot = slot(&world);
        let (worker, its) = (slot.clone(), world.clone());
        let worker = thread::spawn(move || {
            complete(&worker, &its);
            drop(worker);
        });
        let _ = slot.poll(Waker::noop()).map(drop);
        drop(slot);
        worker.join().unwrap();
        assert_eq!(world.drops.load(SeqCst), 1);
    });
}

#[test]
fn a_fault_reaches_whoever_waits() {
    loom::model(|| {
        let world = World::new();
        let slot = slot(&world);
        let (worker, its) = (slot.clone(), world.clone());
        let worker = thread::spawn(move || {
            its.done.store(true, SeqCst);
            worker.complete(Err("poisoned"));
        });
        assert!(matches!(wait(&slot), Err(Ended::Failed("poisoned"))));
        worker.join().unwrap();
        drop(slot);
        assert_eq!(world.drops.load(SeqCst), 1);
    });
}

#[test]
fn a_deadline_and_the_end_of_the_work_race() {
    loom::model(|| {
        let world = World::new();
        let slot = slot(&world);
        let (worker, its) = (slot.clone(), world.clone());
        let worker = thread::spawn(move || {
            worker.expire();
            complete(&worker, &its);
        });
        match wait(&slot) {
            Ok(output) => drop(output),
            Err(ended) => assert!(matches!(ended, Ended::Expired)),
        }
        drop(slot);
        worker.join().unwrap();
        assert_eq!(world.drops.load(SeqCst), 1);
    });
}

/// Done when the world says so.
struct At(Arc<World>);

impl Mark for At {
    type Error = &'static str;

    fn is_done(&self) -> Result<bool, &'static str> {
        Ok(self.0.done.load(SeqCst))
    }
}

fn table() -> Arc<Table<At>> {
    Arc::new(Table::of(loom::sync::Mutex::new(completion::Shared::EMPTY), sync::Condvar::new()))
}

fn entry(slot: Shared, world: &Arc<World>) -> Entry<At> {
    Entry { lane: 0, mark: At(world.clone()), slot, since: Instant::now(), deadline: None }
}

const LONG: Duration = Duration::MAX;

/// The work is done already: each entry is completed as it arrives.
fn work(table: &Table<At>, mut wanted: usize) {
    while wanted > 0 {
        let arrivals = table.next(LONG).expect("waits for ever");
        wanted -= arrivals.len();
        for entry in arrivals {
            assert_eq!(entry.mark.is_done(), Ok(true));
            entry.slot.complete(Ok(()));
        }
    }
}

#[test]
fn two_submitters_and_one_worker() {
    loom::model(|| {
        let world = World::new();
        world.done.store(true, SeqCst);
        let table = table();
        let submit = |table: Arc<Table<At>>, world: Arc<World>, hire: usize| {
            let slot = slot(&world);
            let worker = table.push(entry(slot.clone(), &world)).map(|Vacancy| {
                let table = table.clone();
                thread::spawn(move || work(&table, hire))
            });
            drop(wait(&slot).ok().expect("the work is done"));
            worker
        };
        let (its, of) = (table.clone(), world.clone());
        let other = thread::spawn(move || submit(its, of, 2));
        let mine = submit(table, world.clone(), 2);
        let theirs = other.join().unwrap();
        assert!(mine.is_some() != theirs.is_some(), "one of them starts the worker");
        mine.or(theirs).unwrap().join().unwrap();
        assert_eq!(world.drops.load(SeqCst), 2);
    });
}

#[test]
fn an_entry_is_not_lost_to_a_worker_that_retires() {
    loom::model(|| {
        let world = World::new();
        world.done.store(true, SeqCst);
        let table = table();
        let first = slot(&world);
        assert_eq!(table.push(entry(first, &world)), Some(Vacancy));
        let worker = {
            let table = table.clone();
            thread::spawn(move || {
                // Until there is nothing at all.
                let mut seen = 0;
                while let Some(arrivals) = table.next(Duration::ZERO) {
                    seen += arrivals.len();
                }
                seen
            })
        };
        let second = slot(&world);
        let vacancy = table.push(entry(second, &world));
        let seen = worker.join().unwrap();
        match vacancy {
            None => assert_eq!(seen, 2),
            Some(Vacancy) => {
                assert_eq!(seen, 1);
                assert_eq!(table.next(Duration::ZERO).map(|arrivals| arrivals.len()), Some(1));
            }
        }
    });
}

#[test]
fn submit_complete_and_drop_on_three_threads() {
    loom::model(|| {
        let world = World::new();
        let table = table();
        let mine = slot(&world);
        assert_eq!(table.push(entry(mine.clone(), &world)), Some(Vacancy));
        let device = {
            let world = world.clone();
            thread::spawn(move || world.done.store(true, SeqCst))
        };
        let worker = {
            let table = table.clone();
            thread::spawn(move || {
                let mut lane = table.next(LONG).unwrap();
                while let Some(entry) = lane.pop() {
                    if entry.mark.is_done() == Ok(true) {
                        entry.slot.complete(Ok(()));
                    } else {
                        thread::yield_now();
                        lane.push(entry);
                    }
                }
            })
        };
        let _ = mine.poll(Waker::noop()).map(drop);
        drop(mine);
        device.join().unwrap();
        worker.join().unwrap();
        assert_eq!(world.drops.load(SeqCst), 1);
    });
}
