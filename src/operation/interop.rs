//! Operations that run after work submitted by other code; the other direction is [`DeviceOperation::submit_on`].

#![allow(unsafe_code)] // Implements `execute`.

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::driver::{CudaEvent, CudaStream};
use crate::error::Error;

/// The result of [`from_event`].
#[derive(Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct FromEvent<T> {
    event: CudaEvent,
    value: T,
}

/// The result of [`from_stream`].
#[derive(Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct FromStream<T> {
    stream: CudaStream,
    value: T,
}

/// Returns this value once the work that `event` marks is done: the stream of the chain waits for it.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, from_event};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let (stream, event) = (ctx.new_stream()?, ctx.new_event()?);
/// let buffer = DeviceBuffer::<u32>::zeroed(&stream, 3)?; // or work of another library
/// event.record(&stream)?;
/// assert_eq!(from_event(event, buffer).sync()?.len(), 3);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// Driver call, when it runs: `cuStreamWaitEvent`.
pub fn from_event<T: Send>(event: CudaEvent, value: T) -> FromEvent<T> {
    FromEvent { event, value }
}

/// Returns this value once all work that was submitted to `stream` before the operation runs is done; a per-thread stream is that of
/// the thread that runs the operation.
///
/// Driver calls, when it runs: `cuEventRecord`, `cuStreamWaitEvent`.
///
/// ```
/// use cuda_launch::{CudaContext, DeviceBuffer, DeviceOperation};
/// use cuda_launch::operation::from_stream;
/// # let ctx = CudaContext::new(0)?;
/// # let stream = ctx.new_stream()?;
/// let buffer = DeviceBuffer::<u32>::zeroed(&stream, 3)?; // or work of another library
/// assert_eq!(from_stream(&stream, buffer).sync()?.len(), 3);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn from_stream<T: Send>(stream: &CudaStream, value: T) -> FromStream<T> {
    FromStream { stream: stream.clone(), value }
}

impl<T: Send> DeviceOperation for FromEvent<T> {
    type Output = T;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<T, Error> {
        cx.stream()?.wait(&self.event)?;
        Ok(self.value)
    }
}

impl<T: Send> DeviceOperation for FromStream<T> {
    type Output = T;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<T, Error> {
        cx.stream()?.join(&self.stream)?;
        Ok(self.value)
    }
}
