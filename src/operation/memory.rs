//! Operations that allocate device memory.

#![allow(unsafe_code)] // Implements `execute`.

use std::marker::PhantomData;

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;
use crate::memory::{DeviceBuffer, DeviceCopy};

/// The result of [`allocate`] and [`zeroed`].
#[derive(Clone, Copy, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Allocate<T> {
    len: usize,
    zeroed: bool,
    of: PhantomData<fn() -> T>,
}

/// A buffer of `len` uninitialised elements.
///
/// Driver calls: those of [`DeviceBuffer::uninit`].
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, allocate};
/// assert_eq!(allocate::<f32>(100).sync()?.len(), 100);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn allocate<T: DeviceCopy>(len: usize) -> Allocate<T> {
    Allocate { len, zeroed: false, of: PhantomData }
}

/// A buffer of `len` elements whose bytes are zero.
///
/// Driver calls: those of [`DeviceBuffer::zeroed`].
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, zeroed};
/// assert_eq!(zeroed::<f32>(100).sync()?.len(), 100);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn zeroed<T: DeviceCopy>(len: usize) -> Allocate<T> {
    Allocate { zeroed: true, ..allocate(len) }
}

impl<T: DeviceCopy + Send> DeviceOperation for Allocate<T> {
    type Output = DeviceBuffer<T>;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<DeviceBuffer<T>, Error> {
        let allocate = if self.zeroed { DeviceBuffer::zeroed } else { DeviceBuffer::uninit };
        allocate(cx.stream()?, self.len)
    }
}
