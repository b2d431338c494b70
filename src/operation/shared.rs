//! One operation with several users: it runs once, when the first of them runs.

#![allow(unsafe_code)] // Implements and forwards `execute`.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use super::tuple::{PartOf, Split};
use crate::driver::{CudaStream, host_call};
use crate::error::{Error, ErrorKind, OperationError};

/// An operation that can be cloned; see [`DeviceOperation::shared`].
///
/// Running the first clone submits the work. Another clone that runs in the meantime waits until it is submitted, and the work that follows
/// is ordered after it on any stream. If the first in turn waits for what this thread runs (two shared operations that each run the
/// other's clone in a closure), this one fails instead of waiting, and so does one in a host function
/// ([`CudaStream::call_host`](crate::CudaStream::call_host)), because the first may be waiting for its stream. Likewise a waker must not run a
/// clone if the first may wait for a future: see [`DeviceFuture`](super::DeviceFuture). After an error all others fail with [`OperationError::SharedFailed`].
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, zeroed, zip};
/// use std::sync::Arc;
/// let buffer = zeroed::<u32>(100).shared();
/// let (a, b) = zip!(buffer.clone(), buffer.clone()).sync()?;
/// assert!(Arc::ptr_eq(&a, &b) && Arc::ptr_eq(&a, &buffer.sync()?));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Shared<Op: DeviceOperation>(Arc<Once<Op, Arc<Op::Output>>>);

/// One part of the output of an operation; see [`DeviceOperation::unzip`].
///
/// It runs as [`Shared`] does.
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Part<Op: DeviceOperation, const N: usize>(Arc<Once<Op, Parts<Op>>>)
where
    Op::Output: Split;

type Parts<Op> = <<Op as DeviceOperation>::Output as Split>::Parts;

/// Outputs that can be [unzipped](DeviceOperation::unzip): tuples of 2 to 12.
pub trait Unzip<Op>: Sized {
    /// One operation for each part.
    type Parts;

    /// Makes them.
    fn unzip(op: Op) -> Self::Parts;
}

/// An operation, and after it has run, its result.
struct Once<Op, T> {
    state: Mutex<State<Op, T>>,
    /// Signalled when it is no longer running.
    ran: Condvar,
}

enum State<Op, T> {
    Described(Op),
    Running(ThreadId),
    /// With the stream that it ran on, if any, and the thread, which matters for a per-thread stream.
    Done {
        output: T,
        stream: Option<(CudaStream, ThreadId)>,
    },
    Failed(String),
}

impl<Op: DeviceOperation, T> Once<Op, T> {
    fn new(op: Op) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State::Described(op)), ran: Condvar::new() })
    }

    /// Runs the operation if it has not run yet, and takes its part of the result.
    ///
    /// # Safety
    /// 1. As duty 1 of [`DeviceOperation::execute`].
    unsafe fn run<R>(
        &self,
        cx: &ExecutionContext,
        keep: impl FnOnce(Op::Output) -> T,
        take: impl FnOnce(&mut T) -> Option<R>,
    ) -> Result<R, Error> {
        let mut state = self.state();
        loop {
            match &mut *state {
                State::Described(_) => break,
                State::Running(thread) if *thread == thread::current().id() => {
                    return Err(failed("it needs its own output"));
                }
                State::Running(thread) => {
                    // Whoever runs it may wait for the stream of the host function.
                    host_call::refuse("waiting for a shared operation")?;
                    let Some(_waiting) = Waiting::begin(self.identity(), *thread) else {
                        return Err(failed("it needs what waits for its own output, on another thread"));
                    };
                    state = self.ran.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                State::Done { output, stream } => {
                    let taken = take(output).ok_or_else(|| failed("its output was taken"))?;
                    let earlier = stream.clone();
                    drop(state);
                    return earlier.map_or(Ok(()), |earlier| after(cx, &earlier)).map(|()| taken);
                }
                State::Failed(message) => return Err(failed(message)),
            }
        }
        let State::Described(op) = std::mem::replace(&mut *state, State::Running(thread::current().id()))
        else {
            return Err(failed("it is gone"));
        };
        drop(state);
        let panicked = || State::Failed("a closure in it panicked".into());
        let ran = Ran { once: self, state: Some(panicked()) };
        // SAFETY: 1: the caller's duty 1, as `self` holds the operation.
        let output = unsafe { op.execute(cx) };
        let mut output = match output {
            Ok(output) => keep(output),
            Err(error) => {
                ran.end(State::Failed(error.to_string()));
                return Err(error);
            }
        };
        let taken = take(&mut output);
        let stream = cx.used_stream().map(|stream| (stream.clone(), thread::current().id()));
        ran.end(State::Done { output, stream });
        taken.ok_or_else(|| failed("its output was taken"))
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    // What the states hold is dropped outside of the lock but for messages.
    fn state(&self) -> MutexGuard<'_, State<Op, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the later work of the chain wait for the work that `thread` submitted to `earlier`.
fn after(cx: &ExecutionContext, (earlier, thread): &(CudaStream, ThreadId)) -> Result<(), Error> {
    if earlier.is_per_thread() && *thread != thread::current().id() {
        // A per-thread stream of another thread has no handle here, so the host waits for it.
        return earlier.context().drain();
    }
    cx.stream()?.after(earlier)
}

/// Who waits for whom: a thread that would wait for itself in the end must not.
static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());

/// A thread that waits for an operation which another thread runs.
struct Wait {
    waiter: ThreadId,
    once: usize,
    runner: ThreadId,
}

/// A wait of this thread; over when this is dropped.
struct Waiting;

impl Waiting {
    /// `None` if `runner`, who runs this, waits for what this thread runs.
    fn begin(once: usize, runner: ThreadId) -> Option<Self> {
        let waiter = thread::current().id();
        let mut waits = WAITS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = runner;
        while let Some(wait) = waits.iter().find(|wait| wait.waiter == last) {
            if wait.runner == waiter {
                return None;
            }
            last = wait.runner;
        }
        waits.push(Wait { waiter, once, runner });
        Some(Self)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let waiter = thread::current().id();
        WAITS.lock().unwrap_or_else(PoisonError::into_inner).retain(|wait| wait.waiter != waiter);
    }
}

/// A run of the operation; its end is signalled even if it panics.
struct Ran<'a, Op: DeviceOperation, T> {
    once: &'a Once<Op, T>,
    state: Option<State<Op, T>>,
}

impl<Op: DeviceOperation, T> Ran<'_, Op, T> {
    fn end(mut self, state: State<Op, T>) {
        self.state = Some(state);
    }
}

impl<Op: DeviceOperation, T> Drop for Ran<'_, Op, T> {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            *self.once.state() = state;
        }
        // Whoever waits for this is not awake yet, and waits for this thread no more.
        WAITS.lock().unwrap_or_else(PoisonError::into_inner).retain(|wait| wait.once != self.once.identity());
        self.once.ran.notify_all();
    }
}

fn failed(message: &str) -> Error {
    ErrorKind::from(OperationError::SharedFailed { message: message.into() }).into()
}

impl<Op: DeviceOperation> Shared<Op> {
    pub(super) fn new(op: Op) -> Self {
        Self(Once::new(op))
    }
}

impl<Op: DeviceOperation> Clone for Shared<Op> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Op: DeviceOperation> DeviceOperation for Shared<Op>
where
    Op::Output: Sync,
{
    type Output = Arc<Op::Output>;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        // SAFETY: 1: the caller's duty 1, as this handle borrows what the operation does.
        unsafe { self.0.run(cx, Arc::new, |output| Some(output.clone())) }
    }
}

impl<Op: DeviceOperation, const N: usize> DeviceOperation for Part<Op, N>
where
    Op::Output: PartOf<N>,
{
    type Output = <Op::Output as PartOf<N>>::Part;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        // SAFETY: 1: the caller's duty 1, as this handle borrows what the operation does.
        unsafe { self.0.run(cx, Split::split, <Op::Output as PartOf<N>>::take) }
    }
}

macro_rules! unzips {
    ($($of:ident $index:tt),+) => {
        impl<Op, $($of: Send),+> Unzip<Op> for ($($of,)+)
        where
            Op: DeviceOperation<Output = ($($of,)+)>,
        {
            type Parts = ($(Part<Op, $index>,)+);

            fn unzip(op: Op) -> Self::Parts {
                let once = Once::new(op);
                ($(Part::<Op, $index>(once.clone()),)+)
            }
        }
    };
}

super::tuple::for_tuples!(unzips);

impl<Op: DeviceOperation> fmt::Debug for Shared<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

impl<Op: DeviceOperation, const N: usize> fmt::Debug for Part<Op, N>
where
    Op::Output: Split,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Part({N})")
    }
}
