//! Objects whose release must be deferred after their last owner was dropped.
//!
//! There are two reasons. Work may still use them: the objects that a dropped executable graph needs are parked behind an event. Or
//! their release failed and may be tried again: it is not allowed now, as in a capture, or the driver refused to wait for their work. A
//! later call of this crate passes them to a separate thread to be dropped ([`sweep`], [`drops`]): the call is unrelated to them, and
//! they may belong to the program, or wait for the whole context. If that fails, they are parked again.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::capture::open::{is_capturing, outside_captures};
use super::capture::stream::CaptureStatus;
use super::event::{CudaEvent, EventFlags};
use super::stream::thread::ThreadStream;
use super::{drops, host_call};
use crate::error::Error;
use crate::trace;

/// A share in something that work on the device uses: a module, memory, an event, a host function.
pub(crate) type Keep = Arc<dyn Any + Send + Sync>;

/// What waits, and for what.
struct Parked {
    until: Until,
    what: Vec<Keep>,
}

enum Until {
    /// This event is done.
    Done(CudaEvent),
    /// This stream is idle; used if the driver created no event.
    Idle(ThreadStream),
    /// Any later call: its release is tried again.
    Again,
}

impl Until {
    /// Whether it has been reached, as far as this thread can tell without waiting. A fault ends all work; after any other error it
    /// is unknown.
    fn may_have_come(&self) -> bool {
        match self {
            // To ask for another thread's stream is to wait for the context.
            Self::Idle(work) if work.handle().is_none() => true,
            _ => self.has_come(),
        }
    }

    /// Whether it has come.
    fn has_come(&self) -> bool {
        let answer = match self {
            Self::Done(event) => outside_captures(event.context(), || event.query()),
            Self::Idle(work) => outside_captures(work.context(), || is_idle(work)),
            Self::Again => Ok(true),
        };
        answer.unwrap_or_else(|error| error.is_sticky())
    }
}

static PARKED: Mutex<Vec<Parked>> = Mutex::new(Vec::new());
/// Whether the list may contain something, so that one load is enough if it does not.
static ANY: AtomicBool = AtomicBool::new(false);

/// The number of batches passed to the other thread, and the number of those that are done.
static GIVEN: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);
/// Values passed up to this number have been waited for without success.
static GIVEN_UP: AtomicUsize = AtomicUsize::new(0);
/// How long a call that waits anyway also waits for these drops.
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps `what` until all work submitted to a stream so far is done; does not wait, unless the stream is another
/// thread's.
///
/// Driver calls: `cuStreamIsCapturing`, `cuStreamQuery`, and for a busy stream `cuEventCreate`, `cuEventRecord`; for another
/// thread's `cuCtxSynchronize`.
pub(crate) fn until_done(work: &ThreadStream, what: Vec<Keep>) {
    if what.is_empty() {
        return;
    }
    let marked = trace::contained(|| outside_captures(work.context(), || marked(work)));
    match marked {
        // No work is running any more: a sticky fault ends all work, too.
        Ok(None) => drop(what),
        Err(e) if e.is_sticky() => drop(what),
        Ok(Some(event)) => park(Until::Done(event), what),
        Err(_) => park(Until::Idle(work.clone()), what),
    }
}

/// Drops `rest` again later: what its drop could not give back just now.
///
/// That is on another thread if this one is in a host function, else in a later [`sweep`].
pub(crate) fn try_again(rest: impl Any + Send + Sync) {
    again(Arc::new(rest));
}

fn again(rest: Keep) {
    if host_call::is_running() {
        return host_call::outside(Box::new(move || drop(rest)));
    }
    park(Until::Again, vec![rest]);
}

/// Ends a value by `end`, in its `Drop`. What that leaves, which `rest` takes out, is dropped again later.
#[inline]
pub(crate) fn end_or_try_again<V, R: Any + Send + Sync>(
    value: &mut V,
    end: impl FnOnce(&mut V) -> Result<(), Error>,
    rest: impl FnOnce(&mut V) -> Option<R>,
) {
    // The error of a drop cannot be reported; `close` reports errors.
    let _ = trace::contained(|| end(value));
    if let Some(rest) = rest(value) {
        try_again(rest);
    }
}

fn park(until: Until, what: Vec<Keep>) {
    let mut parked = list();
    parked.push(Parked { until, what });
    ANY.store(true, Ordering::Release);
}

/// An event behind the work, if there is any.
fn marked(work: &ThreadStream) -> Result<Option<CudaEvent>, Error> {
    match work.handle() {
        Some(stream) if !is_idle(work)? => {
            let event = CudaEvent::new(stream.context(), EventFlags::empty())?;
            event.record(stream)?;
            Ok(Some(event))
        }
        Some(_) => Ok(None),
        None => is_idle(work).map(|_| None),
    }
}

/// Whether it is done. Where this thread has no handle of the stream, it waits to know that.
fn is_idle(work: &ThreadStream) -> Result<bool, Error> {
    match work.handle() {
        Some(stream) => Ok(stream.capture_status()? == CaptureStatus::None && stream.is_done()?),
        None => work.drain().map(|()| true),
    }
}

/// Passes what may be dropped by now to the thread that drops it; not in a host function, nor where this thread captures. One load if
/// nothing is parked.
///
/// Returns whether there was anything to pass.
///
/// Driver calls: `cuEventQuery` for each parked event.
pub(crate) fn sweep() -> bool {
    if !ANY.load(Ordering::Acquire) || host_call::is_running() || is_capturing() {
        return false;
    }
    let mut asked = Asked(std::mem::take(&mut list()));
    // Outside the lock: a question may find a fault, which drops what users own, and that may park.
    let due = asked.take_if(&|parked| parked.until.may_have_come());
    drop(asked);
    if due.is_empty() {
        return false;
    }
    GIVEN.fetch_add(1, Ordering::Relaxed);
    drops::later(Box::new(|| {
        drops::quietly(|| end(due));
        // Release, paired with the Acquire of the load: a thread that sees that everything has been dropped also sees
        // what was freed.
        ENDED.fetch_add(1, Ordering::Release);
    }));
    true
}

/// As [`sweep`], and waits until that and what was passed on earlier is dropped, for a limited time: a value's `Drop` may wait for what this
/// thread does next. Returns whether there was anything to wait for: what this call passed on may be over before it is waited for.
pub(crate) fn sweep_and_wait() -> bool {
    let passed = sweep();
    let given = GIVEN.load(Ordering::Relaxed);
    if ENDED.load(Ordering::Acquire) >= given || GIVEN_UP.load(Ordering::Relaxed) >= given {
        return passed;
    }
    if !drops::wait(PATIENCE) {
        GIVEN_UP.fetch_max(given, Ordering::Relaxed);
    }
    true
}

/// Drops these, on the separate thread, where waiting does no harm. Values that turn out not to be releasable yet are
/// parked again.
fn end(due: Vec<Parked>) {
    let mut asked = Asked(due);
    let over = asked.take_if(&|parked| !matches!(parked.until, Until::Idle(_)) || parked.until.has_come());
    drop(asked);
    for Parked { until, what } in over {
        drops::drop_quietly(what);
        drops::quietly(|| drop(until));
    }
}

/// Entries taken from the list while they are examined; the remaining ones are put back, even after a panic.
struct Asked(Vec<Parked>);

impl Asked {
    /// Takes out all that are meant; none if one of the questions panics. Written out: `extract_if` has a copy of itself for each question.
    fn take_if(&mut self, meant: &dyn Fn(&Parked) -> bool) -> Vec<Parked> {
        let answers: Vec<bool> = self.0.iter().map(meant).collect();
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for (parked, is_meant) in std::mem::take(&mut self.0).into_iter().zip(answers) {
            if is_meant { taken.push(parked) } else { left.push(parked) }
        }
        self.0 = left;
        taken
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut parked = list();
        parked.append(&mut self.0);
        ANY.store(!parked.is_empty(), Ordering::Release);
    }
}

fn list() -> MutexGuard<'static, Vec<Parked>> {
    // Nothing below the lock panics; a poisoned lock would still hold a whole list.
    PARKED.lock().unwrap_or_else(PoisonError::into_inner)
}
