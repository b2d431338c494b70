//! Which streams of a context still have work, as far as this crate knows without a driver call.

#![allow(unsafe_code)] // A stream that the context owns: it is destroyed by `OwnStream::destroy` alone.

use cuda_driver_sys::{CUstream, Driver};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::CudaContext;
use crate::driver::capture::open::is_captured;
use crate::driver::stream::{CudaStream, StreamFlags};
use crate::error::Error;
use crate::ordering::{self, NO_KEY, QUEUES};

/// What a context knows of its streams.
#[derive(Debug)]
pub(in crate::driver) struct Work {
    keys: Arc<Keys>,
    /// The number of streams that were destroyed while their work may still have been running, and how many of them have been waited for since.
    lost: AtomicUsize,
    found: AtomicUsize,
    /// The stream on which memory is freed that work on several streams may use.
    freeing: OnceLock<OwnStream>,
}

/// The keys of the streams of a context.
#[derive(Debug)]
pub(in crate::driver) struct Keys {
    /// The number of the context in the words of memory and the keys of streams; 0 if too many contexts are open.
    owner: u64,
    /// The bits that are taken.
    bits: AtomicU64,
}

impl Keys {
    /// A key that nothing else has; [`NO_KEY`] if there is none.
    pub(in crate::driver) fn claim(&self) -> u64 {
        match self.owner {
            0 => NO_KEY,
            owner => take_bit(&self.bits, QUEUES).map_or(NO_KEY, |bit| owner | 1 << bit),
        }
    }

    /// No memory contains the bit of this key any more.
    pub(in crate::driver) fn release(&self, key: u64) {
        if key != NO_KEY {
            self.bits.fetch_and(!key, Ordering::Release);
        }
    }
}

/// A stream that the context destroys at its end.
#[derive(Debug)]
pub(in crate::driver) struct OwnStream(CUstream);

// SAFETY: a CUstream may be used from every thread: of what a driver makes, its documents except graphs alone ("Graph
// object thread safety").
unsafe impl Send for OwnStream {}
// SAFETY: as above; it is never changed.
unsafe impl Sync for OwnStream {}

/// The numbers of the contexts that are open, of all drivers.
static OWNERS: AtomicU64 = AtomicU64::new(0);

/// The lowest bit below this one that `set` does not have; takes it. `None` if it has all.
fn take_bit(set: &AtomicU64, below: u32) -> Option<u32> {
    let free = |bits: u64| Some(bits.trailing_ones()).filter(|bit| *bit < below);
    // Acquire, paired with the Release when a bit is returned: no memory contains the bit of a stream that no longer exists,
    // and the new owner of the bit must see that.
    let take = |bits| free(bits).map(|bit| bits | 1 << bit);
    free(set.fetch_update(Ordering::Acquire, Ordering::Relaxed, take).unwrap_or(u64::MAX))
}

impl Default for Work {
    fn default() -> Self {
        let owner = take_bit(&OWNERS, ordering::OWNERS).map_or(0, ordering::owner);
        let keys = Arc::new(Keys { owner, bits: AtomicU64::new(0) });
        let (lost, found) = Default::default();
        Self { keys, lost, found, freeing: OnceLock::new() }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let mine = |number: &u32| ordering::owner(*number) == self.keys.owner;
        if let Some(number) = (0..ordering::OWNERS).find(mine) {
            OWNERS.fetch_and(!(1 << number), Ordering::Release);
        }
    }
}

impl Work {
    /// The stream for frees, for the end of the context.
    pub(super) fn take_freeing(&mut self) -> Option<OwnStream> {
        self.freeing.take()
    }
}

impl OwnStream {
    /// Destroys it; its work still runs. The context is about to go.
    pub(in crate::driver) fn destroy(self, driver: &Driver) {
        // SAFETY: the context made the stream (`freeing_stream`) and nobody else destroys it: every handle of it keeps
        // a handle of the context, whose end has taken it from there, and comes here while the context lives
        // (`Debt::end_own`). An error could not be reported to anyone.
        let _ = unsafe { driver.cuStreamDestroy(self.0) };
    }
}

impl CudaContext {
    /// The number of the context in the words of its memory.
    pub(crate) fn owner(&self) -> u64 {
        self.work().keys.owner
    }

    /// The keys of its streams.
    pub(in crate::driver) fn keys(&self) -> &Arc<Keys> {
        &self.work().keys
    }

    /// Records that a stream was destroyed whose work may still be running.
    pub(in crate::driver) fn lose_work(&self) {
        // Release, paired with the Acquire below: a thread that waits sees that the work was submitted.
        self.work().lost.fetch_add(1, Ordering::Release);
    }

    /// Runs `wait`, which waits for all work in the context, and remembers that it is done.
    pub(in crate::driver) fn settle_by(&self, wait: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        // Before the wait: what comes while it lasts is not waited for.
        let lost = self.work().lost.load(Ordering::Acquire);
        let streams = self.fault().streams();
        let taken: Vec<usize> = streams.iter().map(|stream| stream.taken()).collect();
        wait()?;
        streams.iter().zip(taken).for_each(|(stream, taken)| stream.settle(taken));
        // Only now: a thread that asks during the wait must not conclude that it is over.
        self.work().found.fetch_max(lost, Ordering::Relaxed);
        Ok(())
    }

    /// The streams whose work the host has not seen the end of; `None` where some of that work has no handle here: its stream is
    /// gone, or another thread's, or being captured.
    pub(crate) fn busy_streams(&self) -> Option<Vec<CudaStream>> {
        let mut streams = self.fault().all_streams()?;
        // After the list: a stream that is no longer in it has already recorded its lost work.
        let Work { lost, found, .. } = self.work();
        if lost.load(Ordering::Acquire) != found.load(Ordering::Relaxed) || is_captured(self) {
            return None;
        }
        // Not by a filter, which loses those before the one whose end unwinds: some are the last handles by now.
        streams.retain(|stream| stream.is_unsettled());
        let busy: Vec<CudaStream> = streams.into_iter().map(CudaStream::of).collect();
        busy.iter().all(|stream| !stream.is_per_thread()).then_some(busy)
    }

    /// A stream of the context's own, on which memory is freed after work on several streams, so that none of these waits for the
    /// others.
    ///
    /// Driver call, the first time: `cuStreamCreateWithPriority`.
    pub(crate) fn freeing_stream(&self) -> Result<CudaStream, Error> {
        if self.work().freeing.get().is_none() {
            let second = self.make(
                "cuStreamCreateWithPriority",
                String::new,
                // SAFETY: `make` made the context current; the output outlives the call. A `CudaStream` is not used, because it could not
                // reliably be turned into a raw stream: a thread that lists the streams of the context holds further handles for a moment.
                |driver, raw| unsafe {
                    driver.cuStreamCreateWithPriority(raw, StreamFlags::NON_BLOCKING.bits(), 0)
                },
                |raw| {
                    self.work().freeing.set(OwnStream(raw)).err().map(|OwnStream(raw)| {
                        // SAFETY: 1: the stream was just made, in this context; 2, 3: its number is in this function alone, as `set` has given
                        // it back.
                        unsafe { CudaStream::from_raw_owned(self, raw) }
                    })
                },
            )?;
            // Another thread may have been first: then this one goes again.
            drop(second);
        }
        let raw = self.work().freeing.get().map_or(std::ptr::null_mut(), |own| own.0);
        // SAFETY: 1: the stream was made in this context, and has been set by now; 2: the end of the last handle of the
        // context destroys it (`OwnStream::destroy`), and every handle of it, and memory that work on it uses, keeps
        // one; 3: no other code is given a handle of it, so that none captures it.
        Ok(unsafe { CudaStream::from_raw(self, raw) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Work, ordering};

    #[test]
    fn a_context_that_is_gone_leaves_its_number_to_another_one() {
        let open = [Work::default(), Work::default()];
        // More than there are numbers.
        for _ in 0..2 * ordering::OWNERS {
            let next = Work::default().keys.owner;
            assert!(next != 0 && open.iter().all(|other| other.keys.owner != next));
        }
    }
}
