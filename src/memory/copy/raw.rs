//! Copies from host memory that other code keeps alive until they are done.

#![allow(unsafe_code)] // A call of the driver on memory that the caller vouches for.

use super::{asked, same_length};
use crate::driver::CudaStream;
use crate::error::Error;
use crate::memory::buffer::view::DeviceViewMut;
use crate::memory::device_copy::DeviceCopy;
use crate::ordering::Submission;

impl<T: DeviceCopy> DeviceViewMut<'_, T> {
    /// Copies all of `source` over the elements, on `stream`; does not wait.
    ///
    /// Driver call: `cuMemcpyHtoDAsync`; none for an empty view.
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context or captures, or any error returned by the driver.
    ///
    /// # Safety
    /// 1. `source` stays valid for reads until the copy is done, also after an error.
    /// 2. Nothing else writes it until then.
    pub(crate) unsafe fn copy_from_raw(
        &mut self,
        stream: &CudaStream,
        source: *const [T],
    ) -> Result<(), Error> {
        same_length("copy_from_raw", source.len(), self.len())?;
        stream.same_context(self.context(), "the buffer")?;
        let bytes = self.byte_len();
        if bytes == 0 {
            return Ok(());
        }
        stream.refuse_in_capture("cuMemcpyHtoDAsync")?;
        let mut work = Submission::on(stream);
        work.writes(self.allocation())?;
        // SAFETY: both sides have `bytes` bytes, as was checked; the device's are of the stream's context, as was
        // compared too, and are freed, and used by others, after the copy, which has noted its access; the host's stay,
        // and nothing else writes them, by the caller's duties 1 and 2. The stream lives as long as its handle
        // (`StreamInner`).
        work.call("cuMemcpyHtoDAsync", asked(bytes, stream), |driver| unsafe {
            driver.cuMemcpyHtoDAsync(self.base(), source.cast(), bytes, stream.raw())
        })
    }
}
