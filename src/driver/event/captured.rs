//! Which capture an event was last recorded in.
//!
//! A stream that waits for an event of a capture becomes part of that capture: its work is recorded, and does not run. So a stream
//! waits only for events of its own capture, or of none, and what was compared stays so until the driver has taken the wait.

use std::sync::atomic::Ordering;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use super::AnyEvent;
use crate::driver::stream::CudaStream;
use crate::error::{Error, ErrorKind, NotInCapture};

/// The number of the capture; 0 for none.
pub(super) type CapturedBy = RwLock<u64>;

/// That number, which stays as it is while this lives.
pub(in crate::driver) type Steady<'e> = RwLockReadGuard<'e, u64>;

/// Nobody knows: the call that recorded it has unwound.
const UNKNOWN: u64 = u64::MAX;

/// A record that the driver is being told of.
#[derive(Debug)]
pub(crate) struct Recording<'e> {
    event: &'e AnyEvent,
    capture: u64,
    known: Known<'e>,
}

#[derive(Debug)]
enum Known<'e> {
    Same(#[allow(dead_code, reason = "held")] Steady<'e>),
    /// What it will be when the driver has answered.
    Other(RwLockWriteGuard<'e, u64>, u64),
}

impl AnyEvent {
    /// The capture that it was last recorded in. An error for `call` while another thread changes that.
    pub(in crate::driver) fn captured_by(&self, call: &'static str) -> Result<Steady<'_>, Error> {
        match self.captured_by.try_read() {
            Ok(steady) => Ok(steady),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use(call)),
        }
    }

    /// Call it before the driver records the event in `stream`, and [`done`](Recording::done) on the result after that.
    ///
    /// # Errors
    /// Another thread uses the event, and one of the two streams captures.
    pub(crate) fn recording(&self, stream: &CudaStream, call: &'static str) -> Result<Recording<'_>, Error> {
        self.recording_by(stream.capture_id(), call)
    }

    pub(super) fn recording_by(&self, capture: u64, call: &'static str) -> Result<Recording<'_>, Error> {
        let steady = self.captured_by(call)?;
        if *steady == capture {
            return Ok(Recording { event: self, capture, known: Known::Same(steady) });
        }
        drop(steady);
        let mut other = match self.captured_by.try_write() {
            Ok(other) => other,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(in_use(call)),
        };
        let before = std::mem::replace(&mut *other, UNKNOWN);
        Ok(Recording { event: self, capture, known: Known::Other(other, before) })
    }
}

impl Recording<'_> {
    /// The driver has recorded it.
    pub(crate) fn done(mut self) {
        self.event.recorded.store(true, Ordering::Relaxed);
        if let Known::Other(_, then) = &mut self.known {
            *then = self.capture;
        }
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if let Known::Other(now, then) = &mut self.known
            && !std::thread::panicking()
        {
            **now = *then;
        }
    }
}

#[cold]
fn in_use(call: &'static str) -> Error {
    let help = "another thread is recording the event or waiting for it, and one of the two streams captures: use an event of its \
                own for the capture";
    ErrorKind::NotInCapture(NotInCapture { call, help }).into()
}
