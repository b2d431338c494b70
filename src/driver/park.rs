//! Things that running work still uses, after everybody else has let go of them.
//!
//! Dropping an executable graph does not wait for its launches. What they use is parked here behind an event, and dropped by
//! a later call of this crate that finds the event done: never in a callback, where the driver may not be called.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::capturing::{CaptureStatus, outside_captures};
use super::context::CudaContext;
use super::event::{CudaEvent, EventFlags};
use super::stream::CudaStream;
use crate::error::Error;

/// A share in something that work on the device uses: a module, memory, an event, a host function.
pub(crate) type Keep = Arc<dyn Any + Send + Sync>;

/// What waits for the end of some work.
struct Parked {
    until: Until,
    // Held, not read.
    _what: Vec<Keep>,
}

/// The end of the work that something is parked for.
enum Until {
    /// This event is done.
    Done(CudaEvent),
    /// This stream is idle: where the driver made no event.
    Idle(CudaStream),
    /// The host has waited for the context: where the driver refused all else.
    Waited(CudaContext),
}

impl Until {
    /// Whether it has come. A fault ends all work; after any other error nobody knows.
    fn has_come(&self) -> bool {
        let answer = match self {
            Self::Done(event) => outside_captures(event.context(), || event.query()),
            Self::Idle(stream) => {
                outside_captures(stream.context(), || marked(stream).map(|work| work.is_none()))
            }
            Self::Waited(context) => outside_captures(context, || context.drain().map(|()| true)),
        };
        answer.unwrap_or_else(|error| error.is_sticky())
    }
}

static PARKED: Mutex<Vec<Parked>> = Mutex::new(Vec::new());
/// Whether the list may hold something: one load tells that there is nothing to do.
static ANY: AtomicBool = AtomicBool::new(false);

/// Keeps `what` until all work given to `stream` so far is done; does not wait.
///
/// Driver calls: `cuStreamIsCapturing`, `cuStreamQuery`, and for a busy stream `cuEventCreate`, `cuEventRecord`.
pub(crate) fn until_done(stream: &CudaStream, what: Vec<Keep>) {
    if what.is_empty() {
        return;
    }
    match outside_captures(stream.context(), || marked(stream)) {
        // Nothing runs any more; a sticky fault ends all work, too.
        Ok(None) => drop(what),
        Err(e) if e.is_sticky() => drop(what),
        Ok(Some(event)) => park(Until::Done(event), what),
        Err(_) => park(Until::Idle(stream.clone()), what),
    }
}

/// Keeps `what` until the host has waited for all work of the context, which the driver refused just now.
pub(crate) fn until_idle(context: &CudaContext, what: Keep) {
    park(Until::Waited(context.clone()), vec![what]);
}

fn park(until: Until, what: Vec<Keep>) {
    list().push(Parked { until, _what: what });
    ANY.store(true, Ordering::Release);
}

/// An event behind the work of `stream`, if there is work.
fn marked(stream: &CudaStream) -> Result<Option<CudaEvent>, Error> {
    if stream.capture_status()? == CaptureStatus::None && stream.query()? {
        return Ok(None);
    }
    let event = CudaEvent::new(stream.context(), EventFlags::empty())?;
    event.record(stream)?;
    Ok(Some(event))
}

/// Drops what is no longer used. One load if nothing is parked.
///
/// Driver call: `cuEventQuery`, for each parked event; `cuCtxSynchronize` for what an error parked.
pub(crate) fn sweep() {
    if !ANY.load(Ordering::Acquire) {
        return;
    }
    let done: Vec<Parked> = {
        let mut parked = list();
        let done = parked.extract_if(.., |parked| parked.until.has_come()).collect();
        ANY.store(!parked.is_empty(), Ordering::Release);
        done
    };
    // Outside the lock: dropping may drop executable graphs, which park.
    drop(done);
}

fn list() -> MutexGuard<'static, Vec<Parked>> {
    // Nothing below the lock panics; a poisoned lock would still hold a whole list.
    PARKED.lock().unwrap_or_else(|e| e.into_inner())
}
