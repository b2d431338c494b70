//! Operations as futures.

#![allow(unsafe_code)] // Runs operations that own all they use, or borrow only memory that orders itself.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::completion::{Claim, Ended};
use super::context::Source;
use super::device_operation::DeviceOperation;
use super::policy::{self, SchedulingPolicy};
use super::{reactor, run};
use crate::error::{Error, ErrorKind, ForkError, OperationError};
use cuda_driver_sys::process;

/// An operation as a future. The first poll submits the work.
///
/// The first poll waits for the work for a short time ([`inline_wait`]); short work completes in it, with no allocation
/// and no event. Work that takes longer is watched by one thread of this crate, which wakes the future when it is done, or when
/// a kernel has faulted; in that case the error names the launches that may have caused it.
///
/// That thread runs the waker, and drops the task if only its waker owned it. Neither may block: otherwise all futures would be
/// delayed. They may poll and drop futures, submit work and use [`sync`](DeviceOperation::sync). If they wait for a future to be
/// woken, as [`block_on`](super::block_on()) and [`timeout`](DeviceOperation::timeout) do, they deadlock, because this thread
/// does the waking; and so they do if they run a clone of a [`Shared`](super::Shared) operation while the thread that runs the operation
/// waits for a future.
///
/// A future that is pending when the process forks returns an error in the child ([`Error::is_forked`]); it may be
/// dropped there.
///
/// # Dropping, forgetting, panics
/// Dropping a future that was never polled drops its operation, and nothing runs. If it was polled, its output is dropped when the work is
/// done, on a thread of this crate that does nothing else. So the future can be dropped, forgotten, or lost with its executor; the work
/// continues, and what it uses stays alive until it is done. A panic in a closure of the chain propagates out of the poll; work submitted
/// before it is treated like that of a dropped future.
///
/// If a waker panics when it is cloned or replaced, the panic propagates out of the poll, and the future can be polled
/// again. A panic when it wakes, or when it is dropped with the future, is caught.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, block_on, zeroed};
/// let future = zeroed::<f32>(100).future();
/// assert_eq!(block_on(future)?.len(), 100);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[must_use = "a future does nothing until it is polled"]
pub struct DeviceFuture<Op: DeviceOperation> {
    state: State<Op>,
    deadline: Option<Deadline>,
}

enum State<Op: DeviceOperation> {
    Described(Op, Source),
    InFlight(Waiting<Op::Output>),
    Over,
}

/// A claim, which is valid only in the process that created it: a forked child does not have the watching thread.
struct Waiting<T> {
    /// `None` only during `drop`.
    claim: Option<Claim<T, Error>>,
    process: u32,
}

/// When the wait is to end.
#[derive(Clone, Copy)]
struct Deadline {
    limit: Duration,
}

// Nothing is pinned: the first poll moves the operation out, and the output is in the slot.
impl<Op: DeviceOperation> Unpin for DeviceFuture<Op> {}

impl<Op: DeviceOperation> DeviceFuture<Op> {
    pub(super) fn new(op: Op, source: Source) -> Self
    where
        Op: 'static,
    {
        Self { state: State::Described(op, source), deadline: None }
    }

    /// The same for an operation that may borrow.
    ///
    /// # Safety
    /// 1. Everything that it borrows is memory that is ordered automatically, including its release, or lives until the
    ///    work is done, or is not accessed after `execute` has returned.
    pub(super) unsafe fn borrowing(op: Op) -> Self {
        Self { state: State::Described(op, Source::Default), deadline: None }
    }

    /// Runs the operation on a stream of this policy, unless it was polled before: for launches that borrow, whose
    /// [`schedule`](DeviceOperation::schedule) can only be synchronised.
    pub fn schedule(mut self, policy: Arc<dyn SchedulingPolicy>) -> Self {
        if let State::Described(_, source) = &mut self.state {
            *source = Source::Policy(policy);
        }
        self
    }

    /// Takes the future out, leaving a finished one.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self { state: State::Over, deadline: None })
    }

    /// Makes it return an error if the work takes longer than this, counted from the first poll.
    pub(super) fn within(mut self, limit: Duration) -> Self {
        self.deadline = Some(Deadline { limit });
        self
    }
}

impl<Op: DeviceOperation> Future for DeviceFuture<Op>
where
    Op::Output: 'static,
{
    type Output = Result<Op::Output, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        match std::mem::replace(&mut this.state, State::Over) {
            State::Described(op, source) => match begin(op, source, this.deadline) {
                Ok(waiting) => this.state = State::InFlight(waiting),
                Err(ready) => return Poll::Ready(ready),
            },
            other => this.state = other,
        }
        // Not moved out while the waker is cloned, which may panic: polling again then still returns the output.
        let State::InFlight(waiting) = &this.state else {
            return Poll::Ready(Err(ErrorKind::from(OperationError::Finished).into()));
        };
        let poll = waiting.poll(cx.waker(), this.deadline);
        if poll.is_ready() {
            this.state = State::Over;
        }
        poll
    }
}

impl<T> Waiting<T> {
    fn new(claim: Claim<T, Error>) -> Self {
        Self { claim: Some(claim), process: process::id() }
    }

    fn poll(&self, waker: &Waker, deadline: Option<Deadline>) -> Poll<Result<T, Error>> {
        if let Err(forked) = self.is_here() {
            return Poll::Ready(Err(forked));
        }
        let ended = self.claim.as_ref().map_or(Poll::Ready(Err(Ended::Taken)), |claim| claim.poll(waker));
        ended.map_err(|ended| why(ended, deadline))
    }

    /// An error in a forked child of the process that created the future.
    fn is_here(&self) -> Result<(), Error> {
        let (parent, child) = (self.process, process::id());
        if child == parent {
            return Ok(());
        }
        Err(ErrorKind::Forked(ForkError { call: "cuEventQuery", parent, child }).into())
    }
}

impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        if self.is_here().is_err() {
            // The device may still use the output, which belongs to the parent process; and a thread of the parent may
            // hold the lock.
            std::mem::forget(self.claim.take());
        }
    }
}

/// Submits the work. Returns a claim to its output if it is not done soon.
fn begin<Op: DeviceOperation>(
    op: Op,
    source: Source,
    deadline: Option<Deadline>,
) -> Result<Waiting<Op::Output>, Result<Op::Output, Error>>
where
    Op::Output: 'static,
{
    let begin = Instant::now();
    // SAFETY: 1: `DeviceFuture::new` takes operations that borrow nothing, and `borrowing`, by its duty 1, operations
    // whose borrows are ordered automatically, live until the work is done, or are not accessed after `execute` has
    // returned.
    let (output, chain) = unsafe { run::submit(op, source) };
    let output = output.map_err(Err)?;
    let Some(stream) = chain.0.used_stream() else { return Err(Ok(output)) };
    // If another future already sleeps for this stream, spinning is useless; and a thousand futures that spin would
    // occupy a core for 20 ms.
    let wait = if stream.is_awaited() { Duration::ZERO } else { inline_wait() };
    let budget = deadline.map_or(wait, |deadline| deadline.limit.min(wait));
    // Counted from here and not from `begin`: submitting a hundred launches takes longer than running the last one.
    let since = Instant::now();
    let idle = stream.is_idle_within(since, budget);
    if !matches!(idle, Ok(false)) {
        let result = idle.map(drop);
        if result.is_ok() {
            policy::done_on(stream);
        }
        reactor::end(chain.0.take_kept(), &result);
        return Err(result.map(|()| output));
    }
    let claim = Claim::new(output);
    // A limit that overflows `Instant` is no limit.
    let deadline = deadline.and_then(|deadline| begin.checked_add(deadline.limit));
    reactor::watch(stream, chain.0.take_kept(), claim.slot().clone(), since, deadline);
    Ok(Waiting::new(claim))
}

fn why(ended: Ended<Error>, deadline: Option<Deadline>) -> Error {
    match (ended, deadline) {
        (Ended::Failed(error), _) => error,
        (Ended::Expired, Some(Deadline { limit })) => {
            ErrorKind::from(OperationError::TimedOut { limit }).into()
        }
        (Ended::Expired | Ended::Taken, _) => ErrorKind::from(OperationError::Finished).into(),
    }
}

/// Nanoseconds; `u64::MAX` means that the variable has not been read yet.
static INLINE_WAIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// How long the first poll waits for the work before the future sleeps, if no other future waits for the same stream: 20
/// microseconds, or the value of `CUDA_LAUNCH_INLINE_WAIT_US` when it was first read, or that of [`set_inline_wait`].
///
/// The executor's thread is never blocked longer, except by the call that submits the work.
pub fn inline_wait() -> Duration {
    match INLINE_WAIT.load(Ordering::Relaxed) {
        u64::MAX => first_inline_wait(),
        nanoseconds => Duration::from_nanos(nanoseconds),
    }
}

#[cold]
fn first_inline_wait() -> Duration {
    let wait = asked_wait(std::env::var("CUDA_LAUNCH_INLINE_WAIT_US").ok().as_deref());
    // Unless it was set meanwhile.
    let asked =
        INLINE_WAIT.compare_exchange(u64::MAX, nanoseconds(wait), Ordering::Relaxed, Ordering::Relaxed);
    asked.map_or_else(Duration::from_nanos, |_| wait)
}

/// The wait that the variable asks for, or the default.
fn asked_wait(variable: Option<&str>) -> Duration {
    Duration::from_micros(variable.and_then(|value| value.trim().parse().ok()).unwrap_or(20))
}

/// Sets how long first polls wait for the work, from now on and in the whole process. With zero, the first poll makes
/// one query.
///
/// ```
/// use cuda_launch::operation::{inline_wait, set_inline_wait};
/// use std::time::Duration;
/// set_inline_wait(Duration::ZERO);
/// assert_eq!(inline_wait(), Duration::ZERO);
/// ```
pub fn set_inline_wait(time: Duration) {
    INLINE_WAIT.store(nanoseconds(time), Ordering::Relaxed);
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX - 1)
}

/// Operations of this crate become futures by themselves.
macro_rules! awaitable {
    ($([$($of:tt)*] $op:ty $(, where $of_op:path: $bound:path)?;)*) => {$(
        impl<$($of)*> IntoFuture for $op
        where
            Self: DeviceOperation + 'static,
            $($of_op: $bound)?
        {
            type Output = Result<<Self as DeviceOperation>::Output, Error>;
            type IntoFuture = DeviceFuture<Self>;

            fn into_future(self) -> DeviceFuture<Self> {
                self.future()
            }
        }
    )*};
}

awaitable! {
    [T] super::leaf::Value<T>;
    [T] super::leaf::FromResult<T>;
    [F] super::leaf::Lazy<F>;
    [F] super::leaf::WithContext<F>;
    [Op, F] super::chain::Map<Op, F>;
    [Op, F] super::chain::Inspect<Op, F>;
    [Op, F] super::chain::AndThen<Op, F>;
    [Op, F] super::chain::AndThenWithContext<Op, F>;
    [Op] super::tuple::First<Op>;
    [Op] super::tuple::Last<Op>;
    [Op: DeviceOperation] super::shared::Shared<Op>;
    [Op: DeviceOperation, const N: usize] super::shared::Part<Op, N>, where Op::Output: super::tuple::Split;
    [Op] super::scheduled::Scheduled<Op>;
    [T: crate::memory::DeviceCopy] super::memory::Allocate<T>;
    [R, F] super::launch::OwnedKernelLaunch<R, F>;
    [S, T] super::copy::CopyToDevice<S, T>;
    [P, T] super::copy::CopyFromPinned<P, T>;
    [S] super::copy::CopyToHost<S>;
    [S, P] super::copy::CopyToPinned<S, P>;
    [S, D] super::copy::CopyOnDevice<S, D>;
    [D: crate::memory::DeviceSlice] super::copy::Memset<D>;
    [T] super::interop::FromEvent<T>;
    [T] super::interop::FromStream<T>;
    [Ops] super::zip::Zip<Ops>;
    [Op] super::all::All<Op>;
    [T] super::boxed::BoxedOperation<'static, T>;
}

impl<Op: DeviceOperation> fmt::Debug for DeviceFuture<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::Described(..) => "DeviceFuture(not submitted)",
            State::InFlight(_) => "DeviceFuture(submitted)",
            State::Over => "DeviceFuture(over)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_20_us_unless_the_variable_says_otherwise() {
        let waits = [None, Some("no number"), Some(" 7 "), Some("0")].map(asked_wait);
        assert_eq!(waits, [20, 20, 7, 0].map(Duration::from_micros));
    }

    #[test]
    fn what_was_set_stays_where_the_variable_is_read_later() {
        let wait = Duration::from_micros(7);
        set_inline_wait(wait);
        // A thread that found nothing set goes on only now.
        assert_eq!((first_inline_wait(), inline_wait()), (wait, wait));
    }
}
