//! Tests that keep a stream waiting: one after another, and not for ever.
//!
//! A GPU's driver waits for all work of a context in calls such as `cuModuleLoadData` and `cuMemFree`, and other calls wait
//! for these. It calls all host functions on one thread. So two tests of a process can wait for each other: the first keeps
//! a stream waiting and makes a call, the second loads a module and waits for the first's stream. In a file with such a test
//! each test that works with the device holds an [`Alone`].

#![allow(dead_code, unreachable_pub)] // Each test program needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::operation::in_flight;
use cuda_launch::{CudaContext, CudaStream};
use std::io::Write;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The slowest test takes a few seconds, under a sanitizer.
const TEST_LIMIT: Duration = Duration::from_secs(60);
/// A stream is kept waiting for as long as a few calls take.
const HOLD_LIMIT: Duration = Duration::from_secs(15);

static TURN: Mutex<()> = Mutex::new(());

/// No other test runs meanwhile; and if it lives for too long, the process ends, whatever call this test is in.
pub struct Alone {
    _ended: Sender<()>,
    _turn: MutexGuard<'static, ()>,
}

/// Waits for the tests before this one.
pub fn alone() -> Alone {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    settle();
    let (sender, ended) = mpsc::channel();
    let test = thread::current().name().unwrap_or("a test").to_owned();
    thread::spawn(move || {
        if ended.recv_timeout(TEST_LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Not by `eprintln`, which the test harness keeps to itself; and no destructors, which could hang too.
            let _ = writeln!(std::io::stderr(), "{test} did not end in {TEST_LIMIT:?}");
            process::abort();
        }
    });
    Alone { _ended: sender, _turn: turn }
}

/// Waits for what tests before this one left behind, and lets it be dropped: a module that is unloaded after the next call that
/// looks for such things waits for all streams, also for one that this test keeps waiting.
fn settle() {
    // Where there is no device the test finds out itself.
    let Ok(ctx) = CudaContext::new(0) else { return };
    while in_flight() > 0 && ctx.synchronize().is_ok() {
        thread::yield_now();
    }
    // Nobody here waits for panics and faults of tests before.
    drop(ctx.synchronize());
}

/// Keeps a stream from going on, until it is dropped.
pub struct Held {
    release: Option<Sender<()>>,
    late: Arc<AtomicBool>,
}

/// Makes `stream` wait for the drop of the result.
///
/// Meanwhile a test makes no call that waits for all streams, and launches no kernel for the first time: a driver may load
/// code then, and wait for all streams to do so.
pub fn hold(stream: &CudaStream) -> Held {
    let (release, released) = mpsc::channel();
    let late = Arc::new(AtomicBool::new(false));
    let is_late = late.clone();
    let wait = move || {
        let answer = released.recv_timeout(HOLD_LIMIT);
        is_late.store(answer == Err(RecvTimeoutError::Timeout), Ordering::Relaxed);
    };
    stream.call_host(wait).unwrap();
    Held { release: Some(release), late }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.release.take());
        let late = self.late.load(Ordering::Relaxed);
        assert!(
            !late || thread::panicking(),
            "the stream was kept waiting for {HOLD_LIMIT:?}: a call waited for it"
        );
    }
}
