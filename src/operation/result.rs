//! An operation that could not be created, as an operation that fails.

#![allow(unsafe_code)] // Forwards `execute`.

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;

/// So that a chain goes on with what gives a `Result`, such as the methods of typed modules:
/// `.and_then(|x| module.scale_async_owned(config, x, 2.0))`. The error ends the chain.
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
