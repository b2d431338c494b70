//! Operations without their type.

#![allow(unsafe_code)] // Implements and forwards `execute`.

use std::fmt;

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;

/// An operation whose type is hidden: the result of [`DeviceOperation::boxed`].
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct BoxedOperation<'a, T>(Box<dyn Erased<T> + 'a>);

trait Erased<T>: Send {
    /// # Safety
    /// 1. As duty 1 of [`DeviceOperation::execute`].
    unsafe fn execute_boxed(self: Box<Self>, cx: &ExecutionContext) -> Result<T, Error>;
}

impl<Op: DeviceOperation> Erased<Op::Output> for Op {
    unsafe fn execute_boxed(self: Box<Self>, cx: &ExecutionContext) -> Result<Op::Output, Error> {
        // SAFETY: 1: the caller's duty 1, of the same value.
        unsafe { self.execute(cx) }
    }
}

impl<'a, T> BoxedOperation<'a, T> {
    pub(super) fn new(op: impl DeviceOperation<Output = T> + 'a) -> Self {
        Self(Box::new(op))
    }
}

impl<T: Send> DeviceOperation for BoxedOperation<'_, T> {
    type Output = T;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<T, Error> {
        // SAFETY: 1: the caller's duty 1, as the box borrows what the operation in it does.
        unsafe { self.0.execute_boxed(cx) }
    }
}

impl<T> fmt::Debug for BoxedOperation<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxedOperation")
    }
}
