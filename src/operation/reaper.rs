//! Drops values that no future waits for any more, on a separate thread: releasing a module, pinned memory or foreign objects
//! may wait for the whole device, and the watching thread must not. Like that thread, it ends when it has been idle.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::completion::{Left, Shared, Table, Vacancy};

static DROPS: Table<Left> = Table::of(Mutex::new(Shared::EMPTY), Condvar::new());

/// How long the thread stays without anything to drop.
const IDLE: Duration = Duration::from_secs(10);

/// Drops `what` soon, elsewhere.
pub(super) fn drop_elsewhere(what: Vec<Left>) {
    if what.is_empty() {
        return;
    }
    if let Some(vacancy) = DROPS.push(what) {
        hire(vacancy);
    }
}

fn hire(_: Vacancy) {
    let thread = std::thread::Builder::new().name("cuda-launch drops".into());
    if thread.spawn(|| run(IDLE)).is_err() {
        // There is no thread to be had.
        run(Duration::ZERO);
    }
}

fn run(idle: Duration) {
    while let Some(waiting) = DROPS.next(idle) {
        waiting.into_iter().for_each(end);
    }
}

/// A panic ends here, where nobody could be told, and does not keep the others.
fn end(what: Left) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(what))) else { return };
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Whoever panics with a value that panics when dropped gets no third chance.
        std::mem::forget(another);
    }
}
