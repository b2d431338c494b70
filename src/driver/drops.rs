//! The thread on which values are dropped whose release was deferred.
//!
//! A value that is kept for running work may belong to the program, or own something that does: its `Drop` may panic, take a lock, or
//! wait for the whole device. So it is not dropped by the call that happens to find the work done, on a thread that may hold that
//! lock, may be unwinding, or may be what the device is waiting for. It is dropped here, one value after another; a panic is caught.
//! The thread is started for the first value, and ends when it has been idle for a while.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::table::{Shared, Table};

/// What ends the life of a value. In a box already where it is made, so that code for each kind is there alone.
pub(crate) type End = Box<dyn FnOnce() + Send>;
/// What a panic gave.
pub(crate) type Payload = Box<dyn Any + Send>;

static ENDS: Table<End> = Table::of(Mutex::new(Shared::EMPTY), Condvar::new());

/// How long the thread stays without anything to end.
const IDLE: Duration = Duration::from_secs(10);

thread_local! {
    /// Whether this is the thread.
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// Does what ends the life of a value soon, on the thread. If there is no thread to be had, the next call tries again.
pub(crate) fn later(end: End) {
    let Some(vacancy) = ENDS.push([end]) else { return };
    let named = std::thread::Builder::new().name("cuda-launch drops".into());
    if named.spawn(run).is_err() {
        ENDS.leave_vacant(vacancy);
    }
}

/// Waits until what was given to the thread so far has ended, for at most so long: it may be waiting for this thread. `false` where that
/// was not enough. The thread itself does not wait.
pub(super) fn wait(patience: Duration) -> bool {
    if HERE.get() {
        return true;
    }
    let ended = Arc::new((Mutex::new(false), Condvar::new()));
    let (there, (is_over, changed)) = (ended.clone(), &*ended);
    later(Box::new(move || {
        *there.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        there.1.notify_one();
    }));
    let guard = is_over.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = changed.wait_timeout_while(guard, patience, |is_over| !*is_over);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

fn run() {
    HERE.set(true);
    while let Some(ends) = ENDS.next(IDLE) {
        ends.into_iter().for_each(quietly);
    }
}

/// Drops values of the program: a panic in their destructors could not be reported, and must not keep the others.
pub(crate) fn drop_quietly<T>(values: impl IntoIterator<Item = T>) {
    values.into_iter().for_each(|value| quietly(|| drop(value)));
}

/// Runs code of the program. A panic in it ends here.
pub(super) fn quietly(code: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
        end(payload);
    }
}

/// Drops what a panic gave.
pub(super) fn end(payload: Payload) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // A panic payload that itself panics when dropped is leaked.
        std::mem::forget(another);
    }
}
