//! Operations that can be awaited, as a bound.

use std::future::IntoFuture;

use super::device_operation::DeviceOperation;
use super::future::DeviceFuture;
use crate::error::Error;

/// An operation that can be awaited and returns a `T`: the return type of functions whose callers write `.await`.
///
/// Not every [`DeviceOperation`] can be awaited, because a future may be forgotten while its work goes on, and some operations
/// borrow values that must outlive the work. So `impl DeviceOperation<Output = T>` does not promise it; `impl Awaitable<T>`
/// does, and has all methods of operations, too. It is implemented for every type that is both.
///
/// ```
/// use cuda_launch::operation::{Awaitable, DeviceOperation, block_on, copy_to_device, memset};
/// use cuda_launch::{CudaContext, DeviceBuffer, Error};
///
/// fn sevens(len: usize) -> impl Awaitable<DeviceBuffer<u32>> {
///     copy_to_device(vec![0u32; len]).and_then(|buffer| memset(buffer, 7))
/// }
///
/// let length: Result<usize, Error> = block_on(async {
///     let buffer = sevens(3).await?;
///     assert_eq!(buffer.to_host_vec(&CudaContext::new(0)?.default_stream())?, [7; 3]);
///     sevens(5).map(|buffer| buffer.len()).await
/// });
/// assert_eq!(length?, 5);
/// # Ok::<(), Error>(())
/// ```
///
/// Your own operation needs a few lines for it:
///
/// ```
/// use cuda_launch::operation::{Awaitable, DeviceFuture, DeviceOperation, ExecutionContext, block_on};
/// use cuda_launch::Error;
///
/// struct Device;
///
/// impl DeviceOperation for Device {
///     type Output = u32;
///     unsafe fn execute(self, cx: &ExecutionContext) -> Result<u32, Error> {
///         cx.device()
///     }
/// }
///
/// impl IntoFuture for Device {
///     type Output = Result<u32, Error>;
///     type IntoFuture = DeviceFuture<Self>;
///     fn into_future(self) -> DeviceFuture<Self> {
///         self.future()
///     }
/// }
///
/// fn device() -> impl Awaitable<u32> {
///     Device
/// }
/// assert_eq!(block_on(device())?, 0);
/// # Ok::<(), Error>(())
/// ```
pub trait Awaitable<T: 'static>:
    DeviceOperation<Output = T> + IntoFuture<Output = Result<T, Error>, IntoFuture = DeviceFuture<Self>>
{
}

impl<T: 'static, Op> Awaitable<T> for Op where
    Op: DeviceOperation<Output = T> + IntoFuture<Output = Result<T, Error>, IntoFuture = DeviceFuture<Op>>
{
}
