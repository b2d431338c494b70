//! Which captures are open, and which waits for whole contexts are under way. Independent of the driver: loom tests it.
//!
//! A driver that is asked to wait for a context first checks whether its streams are being captured, and invalidates
//! those captures. So
//!
//! 1. no wait begins while a capture of the context is open;
//! 2. a capture counts as open from before the driver is told to begin it, and first waits for the context waits
//!    already in progress;
//! 3. but not indefinitely: such a wait may be waiting for something that the capturing thread does next. After the time limit it is
//!    inside the driver, which has already made its check.

use super::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError};
use std::time::Duration;

/// An open capture.
pub(crate) trait OnContext: PartialEq {
    /// The identity of the context that it captures streams of.
    fn context(&self) -> usize;
}

/// The open captures, and the waits for contexts.
pub(crate) struct ContextWaits<C> {
    all: Mutex<All<C>>,
    /// How many captures are open: most calls find none and need no lock.
    count: AtomicUsize,
    /// A wait is over.
    waited: Condvar,
}

/// What all threads share.
pub(crate) struct All<C> {
    open: Vec<C>,
    /// The identities of the contexts that are being waited for, one for each wait.
    waits: Vec<usize>,
}

impl<C> All<C> {
    /// No capture, and no wait.
    pub(crate) const NONE: Self = Self { open: Vec::new(), waits: Vec::new() };
}

impl<C> ContextWaits<C> {
    /// Of these, which are new; loom's types know no constants.
    pub(crate) const fn of(all: Mutex<All<C>>, count: AtomicUsize, waited: Condvar) -> Self {
        Self { all, count, waited }
    }
}

impl<C: OnContext> ContextWaits<C> {
    /// A capture is about to begin. No wait for its context begins from now on; those that have begun go first, for at most so long.
    pub(crate) fn open(&self, capture: C, patience: Duration) {
        let context = capture.context();
        let mut all = self.all();
        all.open.push(capture);
        self.count.store(all.open.len(), Ordering::Release);
        // Whether they are over or have only got far enough makes no difference.
        drop(self.waited.wait_timeout_while(all, patience, |all| all.waits.contains(&context)));
    }

    /// A capture is over, and the driver knows.
    pub(crate) fn close(&self, capture: &C) {
        let mut all = self.all();
        if let Some(index) = all.open.iter().position(|other| other == capture) {
            all.open.swap_remove(index);
        }
        self.count.store(all.open.len(), Ordering::Release);
    }

    /// Whether there is an open capture. A thread misses none that it has opened itself.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.count.load(Ordering::Acquire) != 0
    }

    /// Whether there is such an open capture.
    #[inline]
    pub(crate) fn any(&self, such: impl Fn(&C) -> bool) -> bool {
        self.is_any() && self.any_of_all(&such)
    }

    /// Not in every function that calls the driver.
    #[cold]
    #[inline(never)]
    fn any_of_all(&self, such: &dyn Fn(&C) -> bool) -> bool {
        self.all().open.iter().any(such)
    }

    /// A wait for a context is about to begin, unless this returns `false`: then a stream of the context is captured, on any thread.
    pub(crate) fn begin(&self, context: usize) -> bool {
        let mut all = self.all();
        let may = !all.open.iter().any(|open| open.context() == context);
        if may {
            all.waits.push(context);
        }
        may
    }

    /// A wait that has begun is over.
    pub(crate) fn end(&self, context: usize) {
        let mut all = self.all();
        if let Some(index) = all.waits.iter().position(|other| *other == context) {
            all.waits.swap_remove(index);
        }
        drop(all);
        self.waited.notify_all();
    }

    // Nothing panics while it is locked, and every state of the lists is whole.
    fn all(&self) -> MutexGuard<'_, All<C>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
