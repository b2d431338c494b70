//! Marks of a stream's progress, with reusable events.

#![allow(unsafe_code)] // Events that this crate made, which a pool owns between two uses.

use cuda_driver_sys::{CUevent, Driver};
use std::any::Any;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{CudaEvent, EventFlags};
use crate::driver::capture::open::outside_captures;
use crate::driver::stream::CudaStream;
use crate::error::Error;

/// So many events wait for their next use; more are destroyed.
const KEPT: usize = 1024;

/// The events of a context that are not in use.
#[derive(Debug, Default)]
pub(in crate::driver) struct EventPool(Mutex<Vec<Idle>>);

/// An event that the pool owns.
#[derive(Debug)]
struct Idle(CUevent);

// SAFETY: a CUevent may be used from every thread: of what a driver makes, its documents except graphs alone ("Graph
// object thread safety").
unsafe impl Send for Idle {}

impl EventPool {
    fn take(&self) -> Option<CUevent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().map(|idle| idle.0)
    }

    fn give(&self, event: CudaEvent) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(Idle(event.into_raw()));
        }
    }

    /// Destroys all events; the context is about to go.
    pub(in crate::driver) fn empty(&mut self, driver: &Driver) {
        for idle in self.0.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: `give` took the event's ownership by `into_raw`, and `drain` takes it out for good: it is
            // destroyed once, and no other code has it; its context lives until after that (`Debt::end_own`). An error
            // could not be reported to anyone.
            let _ = unsafe { driver.cuEventDestroy(idle.0) };
        }
    }
}

/// Where a stream stood: whether its work has come so far can be asked from every thread.
#[derive(Debug)]
pub(crate) struct StreamMark {
    /// `None` only while it is dropped.
    event: Option<CudaEvent>,
    /// Kept, so that a fault finds the launches.
    stream: CudaStream,
    /// How many submissions of the stream the driver had accepted.
    taken: usize,
}

impl StreamMark {
    /// Marks what `stream` was given so far.
    ///
    /// Driver calls: `cuEventRecord`; `cuEventCreate` where no event is left over.
    pub(crate) fn new(stream: &CudaStream) -> Result<Self, Error> {
        let context = stream.context();
        let event = match context.events().take() {
            // SAFETY: 1: `give` is only given events that this function made by `CudaEvent::new`, without timing and
            // for this process alone, for this context, whose pool it is, and which destroys them at its end; 2: `take`
            // has taken it out of the pool, which owned it.
            Some(raw) => unsafe { CudaEvent::from_raw_owned(context, raw) },
            None => CudaEvent::new(context, EventFlags::empty())?,
        };
        let taken = stream.taken();
        event.record(stream)?;
        stream.marks().fetch_add(1, Ordering::Relaxed);
        Ok(Self { event: Some(event), stream: stream.clone(), taken })
    }

    /// Whether the work is done.
    ///
    /// Driver call: `cuEventQuery`.
    pub(crate) fn is_done(&self) -> Result<bool, Error> {
        let Some(event) = &self.event else { return Ok(true) };
        // The program did not request this call, so it must not invalidate a capture of other code either.
        let done = outside_captures(self.stream.context(), || event.query())?;
        if done {
            self.stream.settle(self.taken);
        }
        Ok(done)
    }

    /// Ends it. What is left if it had the last handle of its stream: with that a context may end, whose owner may do anything.
    pub(crate) fn end(self) -> Option<Box<dyn Any + Send>> {
        let stream = self.stream.clone();
        drop(self);
        stream.into_last()
    }

    /// What tells it from all other marks while it lives.
    pub(crate) fn number(&self) -> usize {
        self.event.as_ref().map_or(0, |event| event.raw().addr())
    }
}

impl Drop for StreamMark {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            self.stream.marks().fetch_sub(1, Ordering::Relaxed);
            self.stream.context().events().give(event);
        }
    }
}

impl CudaStream {
    /// Waits until all work submitted to the stream so far is done, or was ended by a fault, even while other code
    /// captures, when a driver would refuse to wait. Leaves panics in host functions for
    /// [`synchronize`](Self::synchronize).
    ///
    /// Driver calls: `cuStreamSynchronize`, `cuThreadExchangeStreamCaptureMode` before and after.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        outside_captures(self.context(), || self.drain())
    }

    /// Whether all is done, as [`finish`](Self::finish) waits for it, when this time is over. The thread stays awake.
    ///
    /// Driver calls: `cuStreamQuery`, again and again, `cuThreadExchangeStreamCaptureMode` before and after.
    pub(crate) fn is_idle_within(&self, since: Instant, budget: Duration) -> Result<bool, Error> {
        let taken = self.taken();
        let done = outside_captures(self.context(), || {
            loop {
                let done = self.is_done()?;
                if done || since.elapsed() >= budget {
                    return Ok::<_, Error>(done);
                }
                std::hint::spin_loop();
            }
        })?;
        if done {
            self.settle(taken);
        }
        Ok(done)
    }

    /// Whether another stream waits for a mark in it: work submitted now runs after that mark. No driver call.
    pub(crate) fn is_awaited(&self) -> bool {
        self.marks().load(Ordering::Relaxed) > 0
    }

    /// Identifies the queue in whose order the work runs; `None` for a handle that means a different stream on every
    /// thread.
    pub(crate) fn lane(&self) -> Option<usize> {
        (!self.is_per_thread()).then(|| self.identity())
    }
}
