//! The list of differences: one per kind and place in the code, bounded.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{ScheduleDifference, Schedules};

/// How many differences are reported.
const MOST: usize = 100;

type Sink = Box<dyn Fn(&ScheduleDifference) + Send + Sync>;

/// Which orders launches are run under, and what differed.
pub struct Scheduler {
    schedules: Schedules,
    sink: Option<Sink>,
    found: Mutex<Vec<ScheduleDifference>>,
    /// What the launches that have ended took in the ordinary order, in nanoseconds of `%globaltimer`.
    elapsed: AtomicU64,
    /// Orders that launches have been run under to their end.
    orders: AtomicU64,
}

impl Scheduler {
    /// Nothing found yet.
    pub fn new(schedules: Schedules) -> Scheduler {
        Scheduler {
            schedules,
            sink: None,
            found: Mutex::default(),
            elapsed: AtomicU64::new(0),
            orders: AtomicU64::new(0),
        }
    }

    /// The same, calling `sink` with each difference of a launch that was not told before.
    pub fn with_sink(
        schedules: Schedules,
        sink: impl Fn(&ScheduleDifference) + Send + Sync + 'static,
    ) -> Scheduler {
        Scheduler { sink: Some(Box::new(sink)), ..Scheduler::new(schedules) }
    }

    /// Which orders.
    pub fn schedules(&self) -> Schedules {
        self.schedules
    }

    /// How many orders launches have been run under to their end.
    pub fn orders_run(&self) -> u64 {
        self.orders.load(Relaxed)
    }

    /// A launch has ended under one more order.
    pub(crate) fn count_order(&self) {
        self.orders.fetch_add(1, Relaxed);
    }

    /// When a launch that starts now does so, in nanoseconds of `%globaltimer`.
    pub(crate) fn now(&self) -> u64 {
        self.elapsed.load(Relaxed)
    }

    /// A launch took that long in the ordinary order.
    pub(crate) fn pass(&self, nanoseconds: u64) {
        self.elapsed.fetch_add(nanoseconds, Relaxed);
    }

    /// What differed since the last call.
    pub fn take(&self) -> Vec<ScheduleDifference> {
        std::mem::take(&mut *self.lock())
    }

    /// Adds what the orders of a launch brought out.
    pub(crate) fn add(&self, new: ScheduleDifference) {
        let mut found = self.lock();
        let same = |known: &&mut ScheduleDifference| known.kernel == new.kernel && known.key() == new.key();
        if let Some(known) = found.iter_mut().find(same) {
            known.times = known.times.saturating_add(new.times);
            known.orders = known.orders.saturating_add(new.orders);
        } else if found.len() < MOST {
            found.push(new.clone());
            drop(found);
            if let Some(sink) = &self.sink {
                sink(&new);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ScheduleDifference>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("schedules", &self.schedules).finish_non_exhaustive()
    }
}
