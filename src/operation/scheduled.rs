//! An operation with a policy of its own.

#![allow(unsafe_code)] // Implements and forwards `execute`.

use std::fmt;

use super::context::{ExecutionContext, Source};
use super::device_operation::DeviceOperation;
use crate::error::Error;

/// The result of [`DeviceOperation::schedule`] and [`DeviceOperation::on_device`].
///
/// Within a chain it runs on its own stream, possibly of another device, after the preceding work and before the
/// following. At the beginning of a chain, the following work continues on the same stream.
#[derive(Clone)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Scheduled<Op> {
    op: Op,
    source: Source,
}

impl<Op> Scheduled<Op> {
    pub(super) fn new(op: Op, source: Source) -> Self {
        Self { op, source }
    }
}

impl<Op: DeviceOperation> DeviceOperation for Scheduled<Op> {
    type Output = Op::Output;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Op::Output, Error> {
        let op = self.op;
        // SAFETY: 1: the caller's duty 1, as this operation borrows what `op` does; `elsewhere` joins the branch to the stream of `cx`, or
        // has the host wait for it.
        cx.elsewhere(self.source, |cx| unsafe { op.execute(cx) })?
    }
}

impl<Op: fmt::Debug> fmt::Debug for Scheduled<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduled").field("op", &self.op).finish_non_exhaustive()
    }
}
