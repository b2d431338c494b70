//! Which capture an event was last recorded in.
//!
//! A stream that waits for an event of a capture becomes part of that capture: its work is recorded, and does not run. So a stream
//! waits only for events of its own capture, or of none, and what was compared stays so until the driver has taken the wait.

use std::sync::atomic::Ordering;

use super::AnyEvent;
use crate::driver::stream::CudaStream;
use crate::error::{Error, ErrorKind, NotInCapture};

/// Nobody knows: the call that recorded it has unwound.
const UNKNOWN: u64 = u64::MAX;

/// In place of the number of users: one who changes it.
const CHANGES: u32 = u32::MAX;

/// The number of the capture, 0 for none, which stays as it is while this lives. Not a lock of the standard library: results of launches
/// hold events, and would be larger.
#[derive(Debug)]
pub(in crate::driver) struct Steady<'e>(&'e AnyEvent);

impl Steady<'_> {
    pub(in crate::driver) fn capture(&self) -> u64 {
        // Relaxed: who changes it is alone, and is seen by Acquire and Release of `users`.
        self.0.captured_by.load(Ordering::Relaxed)
    }
}

impl Drop for Steady<'_> {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::Release);
    }
}

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
    Other(u64),
}

impl AnyEvent {
    /// The capture that it was last recorded in. An error for `call` while another thread changes that.
    pub(in crate::driver) fn captured_by(&self, call: &'static str) -> Result<Steady<'_>, Error> {
        let one_more = |users: u32| users.checked_add(1).filter(|users| *users != CHANGES);
        match self.users.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Steady(self)),
            Err(_) => Err(in_use(call)),
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
        if steady.capture() == capture {
            return Ok(Recording { event: self, capture, known: Known::Same(steady) });
        }
        drop(steady);
        if self.users.compare_exchange(0, CHANGES, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Err(in_use(call));
        }
        let before = self.captured_by.swap(UNKNOWN, Ordering::Relaxed);
        Ok(Recording { event: self, capture, known: Known::Other(before) })
    }
}

impl Recording<'_> {
    /// The driver has recorded it.
    pub(crate) fn done(mut self) {
        self.event.recorded.store(true, Ordering::Relaxed);
        if let Known::Other(then) = &mut self.known {
            *then = self.capture;
        }
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        let Known::Other(then) = self.known else { return };
        if !std::thread::panicking() {
            self.event.captured_by.store(then, Ordering::Relaxed);
        }
        self.event.users.store(0, Ordering::Release);
    }
}

#[cold]
fn in_use(call: &'static str) -> Error {
    let help = "another thread is recording the event or waiting for it, and one of the two streams captures: use an event of its \
                own for the capture";
    ErrorKind::NotInCapture(NotInCapture { call, help }).into()
}
