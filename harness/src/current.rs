//! State of the calling thread: its current context, and a number.
#![allow(unsafe_code)] // Queries a driver.

use cuda_driver_sys::{CUresult, Driver};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "check")]
use std::sync::{Arc, Weak};

static THREADS: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

/// The calling thread's number in this process, from 1; 0 while the thread ends.
pub(crate) fn thread() -> usize {
    THREAD.try_with(|thread| *thread).unwrap_or(0)
}

#[cfg(feature = "check")]
thread_local! {
    static LIFE: Arc<()> = Arc::new(());
}

/// A weak reference that is alive as long as the calling thread.
#[cfg(feature = "check")]
pub(crate) fn life() -> Weak<()> {
    LIFE.try_with(Arc::downgrade).unwrap_or_default()
}

/// The calling thread's context; 0 if there is none.
pub(crate) fn context(driver: &Driver) -> u64 {
    let mut context = null_mut();
    // SAFETY: the output is a handle and outlives the call; the function has no other requirement.
    match unsafe { driver.cuCtxGetCurrent(&mut context) } {
        CUresult::SUCCESS => context.expose_provenance() as u64,
        _ => 0,
    }
}
