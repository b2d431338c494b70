//! Host functions in streams and graphs: closures that the driver calls on its own thread.
//!
//! The driver is given a number, not a pointer: a table here maps it to the function. So a function that the driver
//! never calls, because a kernel in front of it faulted, can be dropped at any time, and a call after that does
//! nothing.
//!
//! Program code that the driver calls, host functions and listeners of its log, runs in [`inside`]: nothing unwinds
//! out of it, whatever panics, and what it drops is released on another thread.

#![allow(unsafe_code)] // Gives the driver a function of this file, which is safe to call with any number.

use cuda_driver_sys::{CUDA_HOST_NODE_PARAMS, CUresult, Driver};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use super::choice::is_child;
use super::context::CudaContext;
use super::drops::{self, End, Payload, drop_quietly, end, quietly};
use super::numbered::Numbered;
use super::stream::CudaStream;
use crate::error::{
    Error, ErrorKind, HostPanic, InHostCallback, RefusedInCapture, in_callback, set_in_callback,
};

type Call = Box<dyn FnOnce() + Send>;

/// How a thread of the driver waits until a stream reaches a host function (`CUhostTaskSyncMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum HostTaskSyncMode {
    /// It sleeps, as with [`CudaStream::call_host`].
    Blocking = 0,
    /// It spins: the function is called sooner, but a core is busy until then.
    Spin = 1,
}

/// The function behind a number that was passed to the driver.
enum Entry {
    /// A function that was given to a stream: it is called once.
    Once(Pending),
    /// A function of graphs, called by each launch that reaches it.
    Again(Weak<GraphFunction>),
}

/// A function that the driver has not called yet.
struct Pending {
    call: Call,
    place: Place,
    /// Kept alive until the call: destroying a context would destroy its streams, too.
    context: CudaContext,
}

/// Which stream a function was given to: clones of a handle have the same, and so have all handles of a default stream.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    context: usize,
    stream: usize,
    /// Distinguishes streams that had the same raw handle one after the other; 0 for streams that this crate did not create.
    serial: usize,
    /// The thread whose stream it is, if the handle means a different stream on every thread.
    thread: Option<ThreadId>,
}

impl Place {
    fn of(stream: &CudaStream) -> Self {
        Self {
            context: stream.context().identity(),
            stream: stream.raw().addr(),
            serial: stream.serial(),
            thread: stream.is_per_thread().then(|| thread::current().id()),
        }
    }
}

static NEXT: AtomicUsize = AtomicUsize::new(1);
static ENTRIES: Mutex<Numbered<usize, Entry>> = Mutex::new(Numbered::new());
static PANICS: Mutex<Vec<(Place, String)>> = Mutex::new(Vec::new());
/// The number of panics waiting to be reported, so that a wait without any takes no lock. Written only while holding
/// that lock.
static PANIC_COUNT: AtomicUsize = AtomicUsize::new(0);

impl CudaStream {
    /// Calls `function` on a thread of the driver once all work submitted to the stream so far is done; work submitted
    /// later waits for it.
    ///
    /// The function cannot use CUDA: calls of this crate return [`InHostCallback`], and a driver call that waits could
    /// wait for the function itself. What it owns may be dropped in it, objects of this crate included, which another thread
    /// then frees.
    ///
    /// A function that blocks delays more than its stream: drivers call the functions of all streams on a few
    /// threads, and calls that wait for the whole context, such as [`CudaContext::load_module`], wait for it too, and
    /// make other calls wait in the meantime.
    ///
    /// A function must not wait for work on another stream that uses the same memory as earlier work on this one. That work waits
    /// for everything submitted to this stream before it, including the function, even if the function was submitted after the work
    /// that uses the memory: this is a deadlock.
    ///
    /// The context lives until the function has been called. If a kernel in front of it faults, the function is dropped
    /// instead.
    ///
    /// A panic is caught: it is reported, once, by the next wait for the stream or for the context
    /// ([`CudaStream::synchronize`], [`CudaStream::query`] when all is done, [`CudaContext::synchronize`]), as [`HostPanic`].
    ///
    /// Driver call: `cuLaunchHostFunc`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// stream.call_host(move || sender.send("done so far").unwrap())?;
    /// stream.synchronize()?;
    /// assert_eq!(receiver.recv(), Ok("done so far"));
    ///
    /// stream.call_host(|| panic!("no luck"))?;
    /// assert!(stream.synchronize().unwrap_err().to_string().contains("no luck"));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// This handle is capturing: a graph runs its functions repeatedly, so they belong in its host nodes. Or any error
    /// returned by the driver. The function is then dropped. (A capture that other code began on a raw stream is not
    /// detected: its graph calls the function the first time that it runs, and never again.)
    #[doc(alias = "cuLaunchHostFunc")]
    #[doc(alias = "cuStreamAddCallback")]
    pub fn call_host(&self, function: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let stream = self.raw();
        self.give("cuLaunchHostFunc", Box::new(function), |driver, number| {
            // SAFETY: the stream lives as long as this handle (`StreamInner`); `run` is a function of the program, which stays, and looks
            // its number up, so that it may be called with any, on any thread, at any time.
            unsafe { driver.cuLaunchHostFunc(stream, Some(run), without_provenance_mut(number)) }
        })
    }

    /// Like [`call_host`](Self::call_host), and specifies how the driver's thread waits for the stream to reach it.
    ///
    /// Driver call: `cuLaunchHostFunc_v2`, in drivers since CUDA 13.1.
    ///
    /// # Errors
    /// As for [`call_host`](Self::call_host); [`Error::is_unsupported`] on older drivers. The function is then dropped.
    #[doc(alias = "cuLaunchHostFunc_v2")]
    pub fn call_host_with(
        &self,
        wait: HostTaskSyncMode,
        function: impl FnOnce() + Send + 'static,
    ) -> Result<(), Error> {
        let stream = self.raw();
        self.give("cuLaunchHostFunc_v2", Box::new(function), |driver, number| {
            // SAFETY: the stream lives as long as this handle (`StreamInner`); `run` stays, and may be called with any number, on any
            // thread, at any time; `wait` is one of the two values that the driver knows.
            unsafe {
                driver.cuLaunchHostFunc_v2(stream, Some(run), without_provenance_mut(number), wait as u32)
            }
        })
    }

    /// Enters a function in the table and passes its number to the driver with `call`; removes it again if that fails, or unwinds
    /// before the driver has accepted it.
    fn give(
        &self,
        name: &'static str,
        function: Call,
        call: impl FnOnce(&Driver, usize) -> CUresult,
    ) -> Result<(), Error> {
        if self.capture().is_some() {
            self.capture_is_open(name)?;
            let help = "a graph calls its functions each time it runs: add a host node to it";
            return Err(ErrorKind::RefusedInCapture(RefusedInCapture { call: name, help }).into());
        }
        // In the child of a fork another thread of the parent may hold the table for ever.
        self.context().may_call(name)?;
        let (place, context) = (Place::of(self), self.context().clone());
        let number = enter(Entry::Once(Pending { call: function, place, context }));
        let mut entered = Entered { number, is_given: false };
        self.context().call(name, String::new, |driver| {
            let code = call(driver, number);
            // The driver will call it, even if a `tracing` subscriber unwinds.
            entered.is_given = code == CUresult::SUCCESS;
            code
        })
    }
}

/// A function in the table, which is taken out again unless the driver was given its number.
struct Entered {
    number: usize,
    is_given: bool,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.is_given {
            return;
        }
        // The lock is not held while the function is dropped: its drop may do anything.
        let refused = locked(&ENTRIES).remove(self.number);
        if thread::panicking() {
            drop_quietly(refused);
        }
    }
}

/// Enters a function in the table; returns its number.
fn enter(entry: Entry) -> usize {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    locked(&ENTRIES).insert(number, entry);
    number
}

/// A function that graphs call as often as they are launched, possibly on several threads at once, and the panic that it left.
///
/// The graphs keep it alive. A launch that is still running when the last of them is dropped calls nothing.
pub(crate) struct GraphFunction {
    number: usize,
    /// `None` only while it is dropped.
    function: Option<Box<dyn Fn() + Send + Sync>>,
    panic: Mutex<Option<Payload>>,
}

impl GraphFunction {
    pub(crate) fn new(function: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        let (function, panic) = (Some(Box::new(function) as _), Mutex::new(None));
        Arc::new_cyclic(|this| Self { number: enter(Entry::Again(this.clone())), function, panic })
    }

    /// The driver's form. It may be used at any time: after the end of `self` it does nothing.
    pub(crate) fn params(&self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(run), userData: without_provenance_mut(self.number) }
    }

    /// The first panic since the last time that this was asked.
    pub(crate) fn take_panic(&self) -> Option<Payload> {
        locked(&self.panic).take()
    }

    /// After a panic the function is called again by the next launch: what it captured must be prepared for that.
    fn call(&self) {
        let Some(function) = &self.function else { return };
        let Err(payload) = catch_unwind(AssertUnwindSafe(function)) else { return };
        let mut first = locked(&self.panic);
        if first.is_none() {
            *first = Some(payload);
            return;
        }
        drop(first);
        end(payload);
    }
}

impl Drop for GraphFunction {
    fn drop(&mut self) {
        // In the child of a fork another thread of the parent may hold the table for ever, and nothing calls what is in it.
        if !is_child() {
            locked(&ENTRIES).remove(self.number);
        }
        // The code that runs here is unrelated to the function: a panic in its drop must not prevent other drops.
        drop_quietly(self.function.take());
        drop_quietly(self.take_panic());
    }
}

/// The function that the driver calls, with any number. It never unwinds.
extern "C" fn run(data: *mut c_void) {
    inside(|| {
        let mut entries = locked(&ENTRIES);
        if let Some(Entry::Again(function)) = entries.get(data.addr()) {
            let function = function.upgrade();
            // Called outside of the lock.
            drop(entries);
            let Some(function) = function else { return };
            function.call();
            if let Some(last) = Arc::into_inner(function) {
                // The graphs have released it in the meantime. Its `Drop` may take a lock whose holder is waiting for
                // this thread.
                drops::later(Box::new(move || drop(last)));
            }
            return;
        }
        let entry = entries.remove(data.addr());
        drop(entries);
        if let Some(Entry::Once(pending)) = entry {
            pending.run();
        }
    });
}

impl Pending {
    fn run(self) {
        let Self { call, place, context } = self;
        if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
            let text = text(&*payload);
            let mut panics = locked(&PANICS);
            panics.push((place, text));
            PANIC_COUNT.store(panics.len(), Ordering::Release);
            drop(panics);
            end(payload);
        }
        drop(context);
    }
}

/// Runs code of the program that the driver has called: calls of CUDA in it are refused by name, what it drops is
/// released on another thread, and a panic in it ends here.
pub(super) fn inside(code: impl FnOnce()) {
    let outer = set_in_callback(true);
    quietly(code);
    set_in_callback(outer);
}

fn text(payload: &(dyn Any + Send)) -> String {
    let known = payload.downcast_ref::<&str>().map(ToString::to_string);
    known
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is not text".into())
}

/// Whether this thread is in a host function.
pub(crate) fn is_running() -> bool {
    in_callback()
}

/// An error if this thread is in a host function, where `call` must not be made.
pub(crate) fn refuse(call: &'static str) -> Result<(), Error> {
    if is_running() { Err(inside_of(call)) } else { Ok(()) }
}

/// The error for `call` in code that must not make it.
#[cold]
pub(crate) fn inside_of(call: &'static str) -> Error {
    ErrorKind::InHostCallback(InHostCallback { call }).into()
}

/// Does what ends an object's life: now, or on another thread if this one is in a host function, where the driver takes no
/// such call.
pub(crate) fn outside(end: End) {
    if !is_running() {
        return end();
    }
    drops::later(end);
}

/// Returns the panics in host functions of a stream that have not been reported yet.
pub(super) fn raise_of_stream(stream: &CudaStream) -> Result<(), Error> {
    if PANIC_COUNT.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    let wanted = Place::of(stream);
    raise(&|place| *place == wanted)
}

/// The same for all streams of a context.
pub(super) fn raise_of_context(context: usize) -> Result<(), Error> {
    if PANIC_COUNT.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    raise(&|place| place.context == context)
}

#[cold]
fn raise(is: &dyn Fn(&Place) -> bool) -> Result<(), Error> {
    let mut panics = locked(&PANICS);
    let (mut messages, mut at) = (Vec::new(), 0);
    while let Some((place, _)) = panics.get(at) {
        if is(place) {
            messages.push(panics.remove(at).1);
        } else {
            at += 1;
        }
    }
    PANIC_COUNT.store(panics.len(), Ordering::Release);
    match messages.is_empty() {
        true => Ok(()),
        false => Err(ErrorKind::HostPanic(HostPanic { messages }).into()),
    }
}

/// A kernel faulted: the functions that wait behind it are dropped. If the driver still calls one, nothing happens.
///
/// On another thread: this one may hold locks, which what they own may ask for when it ends.
#[cold]
pub(super) fn reclaim(context: usize) {
    let behind = |entry: &Entry| matches!(entry, Entry::Once(pending) if pending.place.context == context);
    // Dropped outside of the lock: it may do anything.
    let dropped = locked(&ENTRIES).take_if(behind);
    if !dropped.is_empty() {
        drops::later(Box::new(move || drop_quietly(dropped)));
    }
}

/// The context was destroyed: its panics will not be asked for.
pub(super) fn forget(context: usize) {
    let _ = raise_of_context(context);
}

// Nothing panics while one of these locks is held.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::driver::child::{ends_in_a_child, in_use};

    #[test]
    fn a_child_waits_for_no_lock_that_was_held_at_the_fork() {
        in_use();
        let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
        let held = locked(&ENTRIES);
        let ends = ends_in_a_child(|| assert!(stream.call_host(|| ()).is_err_and(|error| error.is_forked())));
        drop(held);
        assert!(ends);
    }
}
