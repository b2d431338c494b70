//! Running an operation: submitting it, and waiting for it.

#![allow(unsafe_code)] // Calls `execute` where what the operation borrows outlives the work.

use super::context::{ExecutionContext, Source};
use super::device_operation::DeviceOperation;
use super::policy;
use super::reactor;
use crate::driver::CudaStream;
use crate::error::Error;
use crate::trace;

/// A chain whose work is waited for when this is dropped, even after an error or a panic in a closure.
struct Waited(ExecutionContext);

impl Waited {
    fn wait(&self) -> Result<(), Error> {
        self.0.join_forgotten();
        let result = self.0.used_stream().map_or(Ok(()), CudaStream::finish);
        if let (Some(stream), Ok(())) = (self.0.used_stream(), &result) {
            policy::done_on(stream);
        }
        if result.as_ref().is_err_and(|error| !error.is_sticky()) {
            // The work may still be running, and the borrows end when this returns.
            self.0.wait_untraced();
        }
        reactor::end(self.0.take_kept(), &result);
        result
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        // Something is left only after a panic. Without spans, because a `tracing` subscriber may have caused the
        // panic.
        if std::thread::panicking() {
            let done = self.0.wait_untraced();
            let kept = self.0.take_kept();
            if done { drop(kept) } else { std::mem::forget(kept) }
        }
    }
}

/// Submits and waits.
pub(super) fn sync<Op: DeviceOperation>(op: Op, source: Source) -> Result<Op::Output, Error> {
    // Declared in this order, so that if a wait unwinds, the chain is dropped first, which waits.
    let output;
    let chain = Waited(ExecutionContext::new(source));
    // SAFETY: 1: what the operation borrows outlives this call, which waits for the stream before it returns (`wait`, even after an
    // error) and before it unwinds (the drop of `chain`).
    output = unsafe { op.execute(&chain.0) };
    let waited = chain.wait();
    // The error of submitting the work takes precedence, unless a fault caused it.
    let output = output?;
    waited.map(|()| output)
}

/// A submitted chain. When this is dropped, the values that it keeps are parked until the work is done.
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
        // Makes no call that could unwind: `submit` and scopes have already joined, and the branches of a chain on a named stream run on
        // that stream.
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
/// 1. What the operation borrows stays borrowed until the work is done, even after an error or a panic.
#[inline(always)]
pub(super) unsafe fn submit_only<Op: DeviceOperation>(op: Op, source: Source) -> Result<Op::Output, Error> {
    let chain = Submitted::new(source);
    // SAFETY: 1: the caller's duty 1.
    unsafe { op.execute(&chain.0) }
}

/// Submits without waiting, and returns the chain, to be waited for.
///
/// # Safety
/// 1. What the operation borrows stays borrowed until the work is done, even after an error or a panic, or satisfies
///    duty 1 of `DeviceFuture::borrowing`.
#[inline(always)]
pub(super) unsafe fn submit<Op: DeviceOperation>(
    op: Op,
    source: Source,
) -> (Result<Op::Output, Error>, Submitted) {
    /// If the join unwinds, waits before the output is dropped.
    struct Joining<'c>(&'c ExecutionContext);
    impl Drop for Joining<'_> {
        fn drop(&mut self) {
            self.0.wait_untraced();
        }
    }
    let chain = Submitted::new(source);
    // SAFETY: 1: the caller's duty 1: whatever may end before the work is ordered automatically, or is not accessed
    // after this call.
    let output = unsafe { op.execute(&chain.0) };
    let joining = Joining(&chain.0);
    chain.0.join_forgotten();
    std::mem::forget(joining);
    (output, chain)
}
