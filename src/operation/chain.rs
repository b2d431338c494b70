//! Operations that run one after another, on one stream.

#![allow(unsafe_code)] // Implements and forwards `execute`.

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;

macro_rules! chained {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use = "an operation does nothing until it is awaited or synchronised"]
        pub struct $name<Op, F> {
            op: Op,
            f: F,
        }

        impl<Op, F> $name<Op, F> {
            pub(super) fn new(op: Op, f: F) -> Self {
                Self { op, f }
            }
        }
    )*};
}

chained! {
    /// The result of [`DeviceOperation::map`].
    Map;
    /// The result of [`DeviceOperation::inspect`].
    Inspect;
    /// The result of [`DeviceOperation::and_then`].
    AndThen;
    /// The result of [`DeviceOperation::and_then_with_context`].
    AndThenWithContext;
}

impl<Op: DeviceOperation, T: Send, F: FnOnce(Op::Output) -> T + Send> DeviceOperation for Map<Op, F> {
    type Output = T;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<T, Error> {
        // SAFETY: 1: the caller's duty 1, as this operation borrows what `op` does.
        unsafe { self.op.execute(cx) }.map(self.f)
    }
}

impl<Op: DeviceOperation, F: FnOnce(&Op::Output) + Send> DeviceOperation for Inspect<Op, F> {
    type Output = Op::Output;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Op::Output, Error> {
        // SAFETY: 1: the caller's duty 1, as this operation borrows what `op` does.
        unsafe { self.op.execute(cx) }.inspect(self.f)
    }
}

impl<Op, Next, F> DeviceOperation for AndThen<Op, F>
where
    Op: DeviceOperation,
    Next: DeviceOperation,
    F: FnOnce(Op::Output) -> Next + Send,
{
    type Output = Next::Output;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Next::Output, Error> {
        // SAFETY: 1: the caller's duty 1, as this operation borrows what `op` and `f` do: `f` makes the next one of what it has itself and
        // of the output of `op`, so that this borrows no more than the two.
        unsafe {
            let output = self.op.execute(cx)?;
            (self.f)(output).execute(cx)
        }
    }
}

impl<Op, Next, F> DeviceOperation for AndThenWithContext<Op, F>
where
    Op: DeviceOperation,
    Next: DeviceOperation,
    F: FnOnce(&ExecutionContext, Op::Output) -> Next + Send,
{
    type Output = Next::Output;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Next::Output, Error> {
        // SAFETY: 1: the caller's duty 1, as this operation borrows what `op` and `f` do: `f` creates the next operation from its own
        // captures and the output of `op`, so that one borrows no more than the two. It cannot borrow from `cx`, because its type does not
        // depend on the lifetime of that reference.
        unsafe {
            let output = self.op.execute(cx)?;
            (self.f)(cx, output).execute(cx)
        }
    }
}
