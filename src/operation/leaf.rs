//! Operations that do nothing on a device by themselves.

#![allow(unsafe_code)] // Implements and forwards `execute`.

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;

/// The result of [`value`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Value<T>(T);

/// Returns this value immediately: no stream is used.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, value};
/// assert_eq!(value(7).sync()?, 7);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn value<T: Send>(value: T) -> Value<T> {
    Value(value)
}

impl<T: Send> DeviceOperation for Value<T> {
    type Output = T;

    unsafe fn execute(self, _: &ExecutionContext) -> Result<T, Error> {
        Ok(self.0)
    }
}

/// The result of [`from_result`].
#[derive(Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct FromResult<T>(Result<T, Error>);

/// Returns this value, or this error, which ends the chain.
///
/// ```
/// use cuda_launch::CudaContext;
/// use cuda_launch::operation::{DeviceOperation, from_result};
/// assert!(from_result(CudaContext::new(99)).sync().is_err());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn from_result<T: Send>(result: Result<T, Error>) -> FromResult<T> {
    FromResult(result)
}

impl<T: Send> DeviceOperation for FromResult<T> {
    type Output = T;

    unsafe fn execute(self, _: &ExecutionContext) -> Result<T, Error> {
        self.0
    }
}

/// The result of [`lazy`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Lazy<F>(F);

/// Returns the value that `f` computes when the operation is submitted.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, lazy};
/// assert_eq!(lazy(|| 6 * 7).sync()?, 42);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn lazy<T: Send, F: FnOnce() -> T + Send>(f: F) -> Lazy<F> {
    Lazy(f)
}

impl<T: Send, F: FnOnce() -> T + Send> DeviceOperation for Lazy<F> {
    type Output = T;

    unsafe fn execute(self, _: &ExecutionContext) -> Result<T, Error> {
        Ok((self.0)())
    }
}

/// The result of [`with_context`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct WithContext<F>(F);

/// The operation that `f` creates from the context of the chain, mainly from its stream.
///
/// ```
/// use cuda_launch::DeviceBuffer;
/// use cuda_launch::operation::{DeviceOperation, from_result, with_context};
/// let op = with_context(|cx| from_result(cx.stream().and_then(|stream| DeviceBuffer::<u8>::zeroed(stream, 3))));
/// assert_eq!(op.sync()?.len(), 3);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn with_context<Op, F>(f: F) -> WithContext<F>
where
    Op: DeviceOperation,
    F: FnOnce(&ExecutionContext) -> Op + Send,
{
    WithContext(f)
}

impl<Op: DeviceOperation, F: FnOnce(&ExecutionContext) -> Op + Send> DeviceOperation for WithContext<F> {
    type Output = Op::Output;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Op::Output, Error> {
        // SAFETY: 1: the caller's duty 1: the closure creates the operation from its own captures, so the operation
        // borrows no more than the closure. It cannot borrow from `cx`, because its type does not depend on the
        // lifetime of that reference.
        unsafe { (self.0)(cx).execute(cx) }
    }
}
