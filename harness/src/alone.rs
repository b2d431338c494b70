//! [`alone`]: one test at a time, with a time limit.

use std::fmt;
use std::io::Write;
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The default of [`alone`].
const LIMIT: Duration = Duration::from_secs(60);

static TURN: Mutex<()> = Mutex::new(());

/// While it exists, no other test of this process that calls [`alone`] runs. See there.
#[must_use = "the next test runs when this is dropped"]
pub struct Alone {
    // Dropped in this order: the next test starts after this one is no longer watched.
    _ended: Sender<()>,
    _turn: MutexGuard<'static, ()>,
}

/// Waits for the tests that called it before, and has other tests wait, until the result is dropped.
///
/// For tests that [hold](crate::Hold) a stream, measure memory, or count what all threads do. Several tests of a process that
/// use one GPU at the same time can wait for each other forever, since many calls wait for the work of all streams. An emulator
/// per test (`cuda_emulator::Instance`) needs no turns.
///
/// If the guard exists for more than a minute, the process is aborted, whatever call the test is in, and standard error says which
/// test it was: a deadlock in a driver cannot be ended otherwise.
///
/// ```
/// let _alone = cuda_harness::alone();
/// // .. a test that needs the device for itself
/// ```
pub fn alone() -> Alone {
    alone_within(LIMIT)
}

/// As [`alone`], with this limit in place of a minute. The time that the call waits for other tests does not count.
///
/// ```
/// use std::time::Duration;
///
/// let _alone = cuda_harness::alone_within(Duration::from_secs(600));
/// ```
pub fn alone_within(limit: Duration) -> Alone {
    // A failed test, which poisons the lock, does not keep others from running.
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (sender, ended) = mpsc::channel();
    let test = thread::current().name().unwrap_or("a test").to_owned();
    thread::spawn(move || {
        if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // Not with `eprintln`, which the test harness captures; and without destructors, which could hang too.
            let _ = writeln!(std::io::stderr(), "{test} did not end within {limit:?}");
            process::abort();
        }
    });
    Alone { _ended: sender, _turn: turn }
}

impl fmt::Debug for Alone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alone").finish_non_exhaustive()
    }
}
