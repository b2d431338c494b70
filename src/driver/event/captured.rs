//! Which capture an event was last recorded in.
//!
//! A stream that waits for an event of a capture becomes part of that capture: its work is recorded, and does not run. So a stream
//! waits only for events of its own capture, or of none, and what was compared stays so until the driver has taken the wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::panicking;

use super::AnyEvent;
use crate::driver::stream::CudaStream;
use crate::error::{Error, ErrorKind, RefusedInCapture};

/// The number of the capture, 0 for none; in the upper bits the number of its current users, or [`CHANGING`] while it is being changed.
/// It is never waited for: an access at the wrong time is refused. A single word, because a launch returns two events.
#[derive(Debug, Default)]
pub(super) struct CapturedBy(AtomicU64);

/// The bits that hold the number of the capture.
const NUMBER: u64 = (1 << 48) - 1;

/// One user that relies on the number.
const USER: u64 = 1 << 48;

const CHANGING: u64 = !NUMBER;

/// Unknown: the call that recorded it has unwound.
const UNKNOWN: u64 = NUMBER;

/// The capture of an event, which stays as it is while this lives.
#[derive(Debug)]
pub(in crate::driver) struct Steady<'e>(&'e CapturedBy);

impl Steady<'_> {
    pub(in crate::driver) fn capture(&self) -> u64 {
        // It was read when this one was let in, and has not changed since.
        self.0.0.load(Ordering::Relaxed) & NUMBER
    }
}

impl Drop for Steady<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(USER, Ordering::Release);
    }
}

/// A recording whose driver call is in progress.
#[derive(Debug)]
pub(crate) struct Recording<'e> {
    event: &'e AnyEvent,
    capture: u64,
    known: Known<'e>,
}

#[derive(Debug)]
enum Known<'e> {
    Same(#[allow(dead_code, reason = "held")] Steady<'e>),
    Other(Changing<'e>),
}

/// The capture of an event is about to be another one.
#[derive(Debug)]
struct Changing<'e> {
    of: &'e CapturedBy,
    /// What it will be when the driver call has returned.
    then: u64,
    /// Whether this thread was already unwinding: work recorded in a destructor is still recorded.
    unwinding: bool,
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        let interrupted = panicking() && !self.unwinding;
        let then = if interrupted { UNKNOWN } else { self.then };
        self.of.0.store(then & NUMBER, Ordering::Release);
    }
}

impl AnyEvent {
    /// The capture that it was last recorded in. An error for `call` while another thread changes that.
    pub(in crate::driver) fn captured_by(&self, call: &'static str) -> Result<Steady<'_>, Error> {
        // `None` if it is already being changed, or if the count would look like it.
        let one_more = |word: u64| word.checked_add(USER).filter(|word| word & CHANGING != CHANGING);
        let entered = self.captured_by.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more);
        entered.map(|_| Steady(&self.captured_by)).map_err(|_| in_use(call))
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
        let then = steady.capture();
        drop(steady);
        let of = &self.captured_by;
        match of.0.compare_exchange(then, CHANGING | then, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                let changing = Changing { of, then, unwinding: panicking() };
                Ok(Recording { event: self, capture, known: Known::Other(changing) })
            }
            Err(_) => Err(in_use(call)),
        }
    }
}

impl Recording<'_> {
    /// The driver has recorded it.
    pub(crate) fn done(mut self) {
        self.event.recorded.store(true, Ordering::Relaxed);
        if let Known::Other(changing) = &mut self.known {
            changing.then = self.capture;
        }
    }
}

#[cold]
fn in_use(call: &'static str) -> Error {
    let help = "another thread is recording the event or waiting for it, and one of the two streams captures: use an event of its \
                own for the capture";
    ErrorKind::RefusedInCapture(RefusedInCapture { call, help }).into()
}
