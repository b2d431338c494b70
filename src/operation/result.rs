//! An operation that could not be created, as an operation that fails.

#![allow(unsafe_code)] // Forwards `execute`.

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;

/// Lets a chain continue with an expression that returns a `Result`, such as a method of a typed module: `.and_then(|x|
/// module.scale_async_owned(config, x, 2.0))`. The error ends the chain.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, value};
/// use cuda_launch::CudaContext;
/// let chain = value(99).and_then(|device| CudaContext::new(device).map(value));
/// assert!(chain.sync().is_err());
/// ```
impl<Op: DeviceOperation> DeviceOperation for Result<Op, Error> {
    type Output = Op::Output;

    #[inline]
    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        // SAFETY: 1: the caller's duty 1, as the result borrows what the operation in it does.
        unsafe { self?.execute(cx) }
    }
}
