//! The lists of differences, one per kind and place in the code, and of kernels that ran in one order; both are bounded.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{OneOrder, OneOrderReason, ScheduleDifference, Schedules};

/// How many differences are reported, and how many kernels with one order.
const MOST: usize = 100;

/// What a scheduler has to report.
pub(crate) enum Report<'r> {
    Difference(&'r ScheduleDifference),
    OneOrder(&'r OneOrder),
}

type Sink = Box<dyn Fn(Report<'_>) + Send + Sync>;

/// Which orders launches are run under, and what differed.
pub struct Scheduler {
    schedules: Schedules,
    sink: Option<Sink>,
    found: Mutex<Vec<ScheduleDifference>>,
    one_order: Mutex<Vec<OneOrder>>,
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
            one_order: Mutex::default(),
            elapsed: AtomicU64::new(0),
            orders: AtomicU64::new(0),
        }
    }

    /// The same, calling `sink` with each difference and each kernel that was not told before.
    pub(crate) fn with_sink(
        schedules: Schedules,
        sink: impl Fn(Report<'_>) + Send + Sync + 'static,
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
                sink(Report::Difference(&new));
            }
        }
    }

    /// The kernels that ran in the ordinary order only since the last call.
    pub fn take_one_order(&self) -> Vec<OneOrder> {
        std::mem::take(&mut *self.one_order.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a launch in the ordinary order only.
    pub(crate) fn ran_once(&self, kernel: &str, reason: OneOrderReason) {
        let mut all = self.one_order.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter_mut().find(|known| known.kernel == kernel && known.reason == reason) {
            known.launches = known.launches.saturating_add(1);
        } else if all.len() < MOST {
            let new = OneOrder { kernel: kernel.to_owned(), launches: 1, reason };
            all.push(new.clone());
            drop(all);
            if let Some(sink) = &self.sink {
                sink(Report::OneOrder(&new));
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
