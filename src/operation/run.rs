//! Running an operation: submitting it, and waiting for it.

#![allow(unsafe_code)] // Calls `execute` where what the operation borrows outlives the work.

use super::context::{ExecutionContext, Source};
use super::device_operation::DeviceOperation;
use super::policy;
use super::reactor;
use crate::driver::CudaStream;
use crate::error::Error;
use crate::trace;

/// A chain whose work is waited for when this is dropped: also after an error, and where a closure panics.
struct Waited(ExecutionContext);

impl Waited {
    fn wait(&self) -> Result<(), Error> {
        self.0.join_forgotten();
        let result = self.0.used_stream().map_or(Ok(()), CudaStream::finish);
        if let Some(stream) = self.0.used_stream() {
            policy::done_on(stream);
        }
        if result.as_ref().is_err_and(|error| !error.is_sticky()) {
            // The work goes on, as far as is known, and what it borrows is the caller's again when this returns.
            self.0.wait_untraced();
        }
        reactor::end(self.0.take_kept(), &result);
        result
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        // Only after a panic is there something left. Without spans: a subscriber to them may be what panicked.
        if std::thread::panicking() {
            let done = self.0.wait_untraced();
            let kept = self.0.take_kept();
            if done { drop(kept) } else { std::mem::forget(kept) }
        }
    }
}

/// Submits and waits.
pub(super) fn sync<Op: DeviceOperation>(op: Op, source: Source) -> Result<Op::Output, Error> {
    // In this order: where a wait unwinds, the chain ends first, which waits.
    let output;
    let chain = Waited(ExecutionContext::new(source));
    // SAFETY: 1: what the operation borrows outlives this call, which waits for the stream before it returns, by `wait` also after an
    // error, and before it unwinds, by the end of `chain`.
    output = unsafe { op.execute(&chain.0) };
    let waited = chain.wait();
    // What stood against submitting the work comes first, but for a fault that made it so.
    let output = output?;
    waited.map(|()| output)
}

/// A chain that was submitted. What it keeps is parked when this is dropped.
pub(super) struct Submitted(pub(super) ExecutionContext);

impl Submitted {
    #[inline]
    pub(super) fn new(source: Source) -> Self {
        Self(ExecutionContext::new(source))
    }
}

impl Drop for Submitted {
    #[inline]
    fn drop(&mut self) {
        // Makes no call that could unwind: `submit` and scopes have joined before, and the branches of a named stream are on that stream.
        self.0.join_forgotten();
        if self.0.keeps_something() {
            self.park();
        }
    }
}

impl Submitted {
    #[cold]
    fn park(&self) {
        match self.0.used_stream().map(|stream| (stream, stream.capture())) {
            Some((_, Some(capture))) => self.0.leave_kept(capture),
            Some((stream, None)) => trace::contained(|| reactor::park(stream, self.0.take_kept())),
            None => drop(self.0.take_kept()),
        }
    }
}

/// Submits, and does not wait.
///
/// # Safety
/// 1. What the operation borrows stays borrowed until the work is done, also after an error or a panic.
#[inline(always)]
pub(super) unsafe fn submit_only<Op: DeviceOperation>(op: Op, source: Source) -> Result<Op::Output, Error> {
    let chain = Submitted::new(source);
    // SAFETY: 1: the caller's duty 1.
    unsafe { op.execute(&chain.0) }
}

/// Submits, does not wait, and gives the chain, to wait for.
///
/// # Safety
/// 1. What the operation borrows stays borrowed until the work is done, also after an error or a panic, or is as duty 1
///    of `DeviceFuture::borrowing` has it.
#[inline(always)]
pub(super) unsafe fn submit<Op: DeviceOperation>(
    op: Op,
    source: Source,
) -> (Result<Op::Output, Error>, Submitted) {
    /// Where the join unwinds, waits before the output goes.
    struct Joining<'c>(&'c ExecutionContext);
    impl Drop for Joining<'_> {
        fn drop(&mut self) {
            self.0.wait_untraced();
        }
    }
    let chain = Submitted::new(source);
    // SAFETY: 1: the caller's duty 1: what may end before the work orders itself, or is not looked at after this call.
    let output = unsafe { op.execute(&chain.0) };
    let joining = Joining(&chain.0);
    chain.0.join_forgotten();
    std::mem::forget(joining);
    (output, chain)
}
