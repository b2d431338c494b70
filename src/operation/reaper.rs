//! Dropping what nobody waits for any more, on a thread of its own: the end of a module, of pinned memory or of foreign objects
//! may wait for the whole device, and the thread that watches must not.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

static DROPS: Mutex<Drops> = Mutex::new(Drops { waiting: Vec::new(), running: false });

struct Drops {
    waiting: Vec<Box<dyn Any + Send>>,
    /// Whether there is a thread that will look again.
    running: bool,
}

/// Drops `what` soon, elsewhere.
pub(super) fn drop_elsewhere(what: Vec<Box<dyn Any + Send>>) {
    if what.is_empty() {
        return;
    }
    let mut drops = drops();
    drops.waiting.extend(what);
    if std::mem::replace(&mut drops.running, true) {
        return;
    }
    drop(drops);
    let thread = std::thread::Builder::new().name("cuda-launch drops".into());
    if thread.spawn(run).is_err() {
        // There is no thread to be had.
        run();
    }
}

fn run() {
    loop {
        let mut drops = drops();
        let waiting = std::mem::take(&mut drops.waiting);
        if waiting.is_empty() {
            drops.running = false;
            return;
        }
        drop(drops);
        for what in waiting {
            // A panic ends here, where nobody could be told, and does not keep the others.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(what)));
        }
    }
}

fn drops() -> MutexGuard<'static, Drops> {
    // Nothing panics while it is locked.
    DROPS.lock().unwrap_or_else(PoisonError::into_inner)
}
