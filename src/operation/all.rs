//! Any number of operations, run concurrently.

#![allow(unsafe_code)] // Implements and forwards `execute`.

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;

/// The result of [`all`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct All<Op>(Vec<Op>);

/// Runs all of them concurrently, as [`zip`](super::zip()) does; returns the outputs in the order of the operations.
///
/// The streams are those of the chain's policy: with a pool of 8 streams, the ninth operation runs on the stream of the first, after it.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, all, value, zeroed};
/// let buffers = all((1..=5).map(|n| zeroed::<u32>(n))).sync()?;
/// assert_eq!(buffers.iter().map(|buffer| buffer.len()).sum::<usize>(), 15);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn all<Op: DeviceOperation>(operations: impl IntoIterator<Item = Op>) -> All<Op> {
    All(operations.into_iter().collect())
}

impl<Op: DeviceOperation> DeviceOperation for All<Op> {
    type Output = Vec<Op::Output>;

    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        let mut outputs = Vec::with_capacity(self.0.len());
        let Some(last) = self.0.pop() else { return Ok(outputs) };
        let mut branches = cx.branches();
        for op in self.0 {
            // SAFETY: 1: the caller's duty 1, as this operation borrows what its parts do; before the caller waits for
            // the stream of `cx`, the branch is joined to it or waited for: by `join`, or, after an error or a panic,
            // by the drop of `branches`.
            outputs.push(branches.branch(|cx| unsafe { op.execute(cx) })?);
        }
        // SAFETY: 1: the caller's duty 1, as this operation borrows what its parts do.
        outputs.push(unsafe { last.execute(cx) }?);
        branches.join()?;
        Ok(outputs)
    }
}
