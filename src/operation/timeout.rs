//! An operation whose wait is limited.

use std::future::IntoFuture;
use std::time::Duration;

use super::block_on::block_on;
use super::context::Source;
use super::device_operation::DeviceOperation;
use super::future::DeviceFuture;
use crate::error::Error;

/// The result of [`DeviceOperation::timeout`]: an operation that is awaited or synchronised for a limited time.
///
/// Work submitted to a device cannot be stopped. When the time is up, the wait ends with an error
/// ([`Error::is_timed_out`]); the work continues, and what it uses is kept alive until it is done.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, zeroed};
/// use std::time::Duration;
/// let buffer = zeroed::<u32>(100).timeout(Duration::from_secs(60)).sync()?;
/// assert_eq!(buffer.len(), 100);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Timeout<Op> {
    op: Op,
    limit: Duration,
}

impl<Op: DeviceOperation + 'static> Timeout<Op> {
    pub(super) fn new(op: Op, limit: Duration) -> Self {
        Self { op, limit }
    }

    /// Runs it on a stream of the default device and waits, for at most this long.
    ///
    /// # Errors
    /// [`Error::is_timed_out`], and those of [`DeviceOperation::sync`].
    pub fn sync(self) -> Result<Op::Output, Error> {
        block_on(self)
    }
}

impl<Op: DeviceOperation + 'static> IntoFuture for Timeout<Op> {
    type Output = Result<Op::Output, Error>;
    type IntoFuture = DeviceFuture<Op>;

    fn into_future(self) -> DeviceFuture<Op> {
        DeviceFuture::new(self.op, Source::Default).within(self.limit)
    }
}
