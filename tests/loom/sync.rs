//! What `completion`, `mark_queues`, `context_waits` and the core of `ordering` synchronise with, by loom. Time does not pass by itself: a [`Clock`] ends
//! timed waits.

pub(crate) use loom::sync::Arc;
pub(crate) use loom::sync::atomic::Ordering;
use loom::sync::atomic::fence;
use std::cell::RefCell;
use std::sync::LockResult;
pub(crate) use std::sync::PoisonError;
use std::time::Duration;

pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> std::fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mutex")
    }
}

/// Loom takes `SeqCst` for less than it is, but knows full fences: each such access stands between two.
macro_rules! atomics {
    ($($name:ident: $value:ty),*) => {$(
        #[derive(Debug, Default)]
        pub(crate) struct $name(loom::sync::atomic::$name);

        #[allow(dead_code)] // Not every one has a use for all.
        impl $name {
            pub(crate) fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                fenced(ordering, |ordering| self.0.load(ordering))
            }

            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                fenced(ordering, |ordering| self.0.store(value, ordering));
            }
        }
    )*};
}

atomics! { AtomicBool: bool, AtomicU64: u64, AtomicUsize: usize }

impl AtomicBool {
    pub(crate) fn swap(&self, value: bool, ordering: Ordering) -> bool {
        fenced(ordering, |ordering| self.0.swap(value, ordering))
    }
}

impl AtomicUsize {
    pub(crate) fn fetch_add(&self, value: usize, ordering: Ordering) -> usize {
        fenced(ordering, |ordering| self.0.fetch_add(value, ordering))
    }

    pub(crate) fn fetch_sub(&self, value: usize, ordering: Ordering) -> usize {
        fenced(ordering, |ordering| self.0.fetch_sub(value, ordering))
    }

    pub(crate) fn fetch_max(&self, value: usize, ordering: Ordering) -> usize {
        fenced(ordering, |ordering| self.0.fetch_max(value, ordering))
    }
}

/// No model has a destructor that panics.
pub(crate) fn drop_quietly<T>(values: impl IntoIterator<Item = T>) {
    values.into_iter().for_each(drop);
}

/// Lets other threads run.
pub(crate) fn pause() {
    loom::thread::yield_now();
}

impl AtomicU64 {
    pub(crate) fn fetch_or(&self, value: u64, ordering: Ordering) -> u64 {
        fenced(ordering, |ordering| self.0.fetch_or(value, ordering))
    }

    pub(crate) fn fetch_and(&self, value: u64, ordering: Ordering) -> u64 {
        fenced(ordering, |ordering| self.0.fetch_and(value, ordering))
    }
}

fn fenced<T>(ordering: Ordering, access: impl FnOnce(Ordering) -> T) -> T {
    if ordering != Ordering::SeqCst {
        return access(ordering);
    }
    fence(Ordering::SeqCst);
    let value = access(ordering);
    fence(Ordering::SeqCst);
    value
}

/// A guard that can be given up and taken again.
pub(crate) struct MutexGuard<'a, T> {
    of: &'a Mutex<T>,
    guard: loom::sync::MutexGuard<'a, T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(MutexGuard { of: self, guard })
    }
}

impl<T> std::ops::Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> std::ops::DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// Loom's has no timeouts: this one keeps what happened behind a lock of its own, which is taken before the user's is given up.
pub(crate) struct Condvar(Arc<Bell>);

struct Bell {
    rung: loom::sync::Mutex<Rung>,
    changed: loom::sync::Condvar,
}

#[derive(Default)]
struct Rung {
    notified: usize,
    /// Timed waits that are over, now or as soon as they begin.
    ticks: usize,
}

/// Ends timed waits of a condition variable.
#[derive(Clone)]
pub(crate) struct Clock(Arc<Bell>);

thread_local! {
    // All threads of a model are one of the system's.
    static LATEST: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

impl Clock {
    /// That of the condition variable made last.
    pub(crate) fn latest() -> Self {
        LATEST.with(|latest| latest.borrow_mut().take()).unwrap()
    }

    /// The time of one wait is over.
    pub(crate) fn tick(&self) {
        self.0.rung.lock().unwrap().ticks += 1;
        self.0.changed.notify_all();
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        let bell = Bell { rung: Default::default(), changed: loom::sync::Condvar::new() };
        let bell = Arc::new(bell);
        LATEST.with(|latest| *latest.borrow_mut() = Some(Clock(bell.clone())));
        Self(bell)
    }

    pub(crate) fn notify_one(&self) {
        self.0.rung.lock().unwrap().notified += 1;
        self.0.changed.notify_all();
    }

    pub(crate) fn notify_all(&self) {
        self.notify_one();
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        let (guard, _) = self.wait_or_tick(guard);
        Ok((guard, ()))
    }

    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        _: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        let mut is_over = false;
        while !is_over && condition(&mut guard) {
            (guard, is_over) = self.wait_or_tick(guard);
        }
        Ok((guard, ()))
    }

    /// Waits until somebody notifies, or its time is over: then `true`.
    fn wait_or_tick<'a, T>(&self, guard: MutexGuard<'a, T>) -> (MutexGuard<'a, T>, bool) {
        let mut rung = self.0.rung.lock().unwrap();
        let before = rung.notified;
        let of = guard.of;
        drop(guard);
        while rung.notified == before && rung.ticks == 0 {
            rung = self.0.changed.wait(rung).unwrap();
        }
        let is_over = rung.notified == before;
        if is_over {
            rung.ticks -= 1;
        }
        drop(rung);
        let guard = of.0.lock().unwrap_or_else(PoisonError::into_inner);
        (MutexGuard { of, guard }, is_over)
    }
}
