//! The fault of a kernel: after it every call on the context fails immediately, and names the launches that may have
//! caused it.

use cuda_driver_sys::{CUresult, Driver};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::choice::is_child;
use super::kernel::Kernel;
use super::numbered::Numbered;
use super::stream::StreamInner;
use crate::error::{Error, ErrorKind, FaultError, UnfinishedLaunch, log};

/// The last launches on one stream: what a fault is looked for in.
///
/// A ring of numbers of kernels by the number of the submission, with a mark where the host last waited.
#[derive(Debug)]
pub(crate) struct Launches([AtomicU32; RING]);

/// In the ring: what comes before is done.
const DONE: u32 = u32::MAX;

/// In the ring: no kernel.
pub(crate) const NO_KERNEL: u32 = u32::MAX - 1;

/// So many are remembered, less one.
const RING: usize = 256;

/// More kernels than these are not worth naming.
const NAMED: usize = 16;

impl Default for Launches {
    fn default() -> Self {
        Self([const { AtomicU32::new(DONE) }; RING])
    }
}

impl Launches {
    /// Notes what the submission of this number launches.
    #[inline(always)]
    pub(crate) fn note(&self, submission: usize, kernel: u32) {
        self.place(submission).store(kernel, Ordering::Relaxed);
    }

    /// Records that the host has seen the end of all submissions before `submission`; `announced` have been announced
    /// by now.
    pub(super) fn settle(&self, submission: usize, announced: usize) {
        // If more have been announced since, a later one occupies its place in the ring.
        if submission != 0 && announced.wrapping_sub(submission) < RING {
            self.note(submission.wrapping_sub(1), DONE);
        }
    }

    #[inline(always)]
    fn place(&self, submission: usize) -> &AtomicU32 {
        &self.0[submission % RING]
    }

    /// The numbers of those that may still be running, the oldest first, and whether there may be more before them.
    pub(super) fn pending(&self, announced: usize) -> (Vec<u32>, bool) {
        let back = (1..RING).map(|i| self.place(announced.wrapping_sub(i)).load(Ordering::Relaxed));
        let mut kernels: Vec<u32> = back.take_while(|kernel| *kernel != DONE).collect();
        let more = kernels.len() == RING - 1;
        kernels.retain(|kernel| *kernel != NO_KERNEL);
        kernels.reverse();
        (kernels, more)
    }
}

/// What a context can report about a fault.
#[derive(Debug, Default)]
pub(super) struct FaultState {
    fault: OnceLock<FaultError>,
    /// Names of the kernels that are looked up now, by number.
    names: Mutex<Numbered<u32, String>>,
    streams: Mutex<Watched>,
}

/// The streams of a context.
#[derive(Debug, Default)]
struct Watched {
    list: Vec<Weak<StreamInner>>,
    /// Those that are still being destroyed, which are no longer in the list.
    live: usize,
}

/// So few destroyed streams are not worth a walk over the list.
const FEW_STREAMS: usize = 16;

static KERNELS: AtomicU32 = AtomicU32::new(0);

impl FaultState {
    /// An error if a kernel of this context faulted.
    #[inline(always)]
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.fault.get() {
            None => Ok(()),
            Some(fault) => Err(again(fault)),
        }
    }

    /// Whether a kernel of this context faulted.
    #[inline(always)]
    pub(super) fn is_known(&self) -> bool {
        self.fault.get().is_some()
    }

    /// A number for a kernel, and its name for as long as it is looked up.
    pub(super) fn name(&self, kernel: &str) -> u32 {
        let number = KERNELS.fetch_add(1, Ordering::Relaxed);
        locked(&self.names).insert(number, kernel.to_string());
        number
    }

    /// Records that the kernel was dropped.
    pub(super) fn forget(&self, kernel: &Kernel) {
        locked(&self.names).remove(kernel.number);
    }

    /// A stream whose launches are to be named.
    pub(super) fn watch(&self, stream: Weak<StreamInner>) {
        let mut streams = locked(&self.streams);
        // Only if half of them are gone, so that the amortised cost per stream is constant.
        if streams.list.len() >= 2 * streams.live + FEW_STREAMS {
            streams.list.retain(|stream| stream.strong_count() != 0);
        }
        streams.list.push(stream);
        streams.live += 1;
    }

    /// Records that a stream has ended, with nothing left to report.
    pub(super) fn unwatch(&self) {
        if !is_child() {
            locked(&self.streams).live -= 1;
        }
    }

    /// The streams of the context; none in the child of a fork, where they are of no use.
    pub(super) fn streams(&self) -> Vec<Arc<StreamInner>> {
        if is_child() { Vec::new() } else { locked(&self.streams).upgraded() }
    }

    /// The same; `None` while one of them ends.
    pub(super) fn all_streams(&self) -> Option<Vec<Arc<StreamInner>>> {
        if is_child() {
            return None;
        }
        let watched = locked(&self.streams);
        let (streams, live) = (watched.upgraded(), watched.live);
        // Some of these may be the last handles by now, whose end asks for the lock.
        drop(watched);
        (streams.len() == live).then_some(streams)
    }

    /// `call` answered that a kernel faulted: remembers it, and says so.
    #[cold]
    pub(super) fn raise(&self, driver: &Driver, code: CUresult, call: &'static str) -> Error {
        // They may be the last handles: a stream's end asks for the fault too, so none is dropped before it is known.
        let streams = self.streams();
        let fault = self.fault.get_or_init(|| {
            let unfinished = self.unfinished(&streams);
            FaultError { code, call, unfinished, log: log::of_fault(driver, code) }
        });
        again(fault)
    }

    fn unfinished(&self, streams: &[Arc<StreamInner>]) -> Vec<UnfinishedLaunch> {
        let names = locked(&self.names);
        let mut unfinished = Vec::new();
        for stream in streams {
            let (kernels, more) = stream.pending_kernels();
            if more {
                unfinished.push(UnfinishedLaunch::Earlier);
            }
            // A stream runs in order: the oldest that has not ended is the likeliest.
            let mut named: Vec<u32> = Vec::new();
            for kernel in kernels {
                if named.contains(&kernel) {
                    continue;
                }
                if named.len() == NAMED {
                    unfinished.push(UnfinishedLaunch::Later);
                    break;
                }
                named.push(kernel);
                unfinished.push(
                    names
                        .get(kernel)
                        .map_or(UnfinishedLaunch::Unloaded, |name| UnfinishedLaunch::Kernel(name.clone())),
                );
            }
        }
        unfinished
    }
}

impl Watched {
    fn upgraded(&self) -> Vec<Arc<StreamInner>> {
        self.list.iter().filter_map(Weak::upgrade).collect()
    }
}

#[cold]
fn again(fault: &FaultError) -> Error {
    ErrorKind::Faulted(fault.clone()).into()
}

// Nothing panics while one of these locks is held, and every state behind them is whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::driver::child::{ends_in_a_child, in_use};

    #[test]
    fn a_child_waits_for_no_lock_that_was_held_at_the_fork() {
        in_use();
        let state = FaultState::default();
        let held = locked(&state.streams);
        let ends = ends_in_a_child(|| {
            state.unwatch();
            assert!(state.streams().is_empty() && state.all_streams().is_none());
        });
        drop(held);
        assert!(ends);
    }
}
