//! What of a context's streams is still at work, as far as this crate knows without asking.

#![allow(unsafe_code)] // A stream that the context owns: it is destroyed by `OwnStream::destroy` alone.

use cuda_driver_sys::{CUstream, Driver};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::context::CudaContext;
use super::open_captures::forbid_anywhere;
use super::stream::{CudaStream, StreamFlags};
use crate::error::Error;

/// What a context knows of its streams.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The bits that stand for streams.
    bits: AtomicU64,
    /// Streams are gone whose work may still run.
    lost: AtomicBool,
    /// Where memory is freed that work on several streams may use.
    freeing: OnceLock<OwnStream>,
}

/// A stream that the context destroys at its end.
#[derive(Debug)]
struct OwnStream(CUstream);

// SAFETY: a CUstream may be used from every thread (driver API, "Stream Management").
unsafe impl Send for OwnStream {}
// SAFETY: as above; it is never changed.
unsafe impl Sync for OwnStream {}

impl Work {
    /// Destroys the stream; its work still runs. The context is current, and about to go.
    pub(super) fn end(&mut self, driver: &Driver) {
        if let Some(stream) = self.freeing.take() {
            // SAFETY: the context owned the stream, and its handles keep the context. An answer could not be told to anybody.
            let _ = unsafe { driver.cuStreamDestroy(stream.0) };
        }
    }
}

impl CudaContext {
    /// A bit that stands for no other live stream of this context; 0 if there is none.
    pub(super) fn claim_bit(&self) -> u64 {
        let take = |bits: u64| (bits != u64::MAX).then_some(bits | (bits + 1));
        // Acquire, and Release below: no memory has the bit of a stream that is gone, and who gets the bit must see that.
        match self.work().bits.fetch_update(Ordering::Acquire, Ordering::Relaxed, take) {
            Ok(bits) => !bits & (bits + 1),
            Err(_) => 0,
        }
    }

    /// The stream that had this bit is gone, or needs none.
    pub(super) fn release_bit(&self, bit: u64) {
        self.work().bits.fetch_and(!bit, Ordering::Release);
    }

    /// A stream is gone whose work may still run.
    pub(super) fn lose_work(&self) {
        self.work().lost.store(true, Ordering::Relaxed);
    }

    /// Runs `wait`, which waits for all work of the context, and remembers that it is done.
    pub(super) fn settle_by(&self, wait: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        // Before the wait: what comes while it lasts is not waited for.
        let lost = self.work().lost.swap(false, Ordering::Relaxed);
        let streams = self.fault().streams();
        let announced: Vec<usize> = streams.iter().map(|stream| stream.announced()).collect();
        let waited = wait();
        match &waited {
            Ok(()) => {
                streams.iter().zip(announced).for_each(|(stream, announced)| stream.settle(announced));
            }
            Err(_) if lost => self.lose_work(),
            Err(_) => {}
        }
        waited
    }

    /// The streams whose work the host has not seen the end of; `None` where some of that work has no handle here: its stream is
    /// gone, or another thread's, or being captured.
    pub(crate) fn busy_streams(&self) -> Option<Vec<CudaStream>> {
        if self.work().lost.load(Ordering::Relaxed) || forbid_anywhere(self, "cuEventRecord").is_err() {
            return None;
        }
        let unsettled = self.fault().streams().into_iter().filter(|stream| stream.is_unsettled());
        let busy: Vec<CudaStream> = unsettled.map(CudaStream::of).collect();
        busy.iter().all(|stream| !stream.is_per_thread()).then_some(busy)
    }

    /// A stream of the context's own, on which memory is freed after work on several streams, so that none of these waits for the
    /// others.
    ///
    /// Driver call, the first time: `cuStreamCreateWithPriority`.
    pub(crate) fn freeing_stream(&self) -> Result<CudaStream, Error> {
        if self.work().freeing.get().is_none() {
            let stream = CudaStream::new(self, StreamFlags::NON_BLOCKING, 0)?;
            // Another thread may have been first: then this one is dropped again.
            if let Ok(raw) = stream.into_raw()
                && let Err(OwnStream(raw)) = self.work().freeing.set(OwnStream(raw))
            {
                // SAFETY: 1, 2: made above, and given away by its one handle.
                drop(unsafe { CudaStream::from_raw_owned(self, raw) });
            }
        }
        let raw = self.work().freeing.get().map_or(std::ptr::null_mut(), |own| own.0);
        // SAFETY: 1: the stream is of this context; 2: the context destroys it at its end, and every handle keeps the context.
        Ok(unsafe { CudaStream::from_raw(self, raw) })
    }
}
