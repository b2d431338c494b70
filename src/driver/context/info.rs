//! What a context knows about its device and its driver.

#![allow(unsafe_code)] // Calls of the driver with outputs that live as long as the call.

use super::CudaContext;
use crate::driver::device::attribute::DeviceAttribute;
use crate::driver::limits::DeviceLimits;
use crate::error::Error;

impl CudaContext {
    /// The device's name.
    ///
    /// Driver call: `cuDeviceGetName`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// println!("{}", ctx.device_name()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn device_name(&self) -> Result<String, Error> {
        self.inner.device.name()
    }

    /// Multiprocessors of the device. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// let blocks = ctx.multiprocessor_count()? * f.max_active_blocks(256, 0)?; // as many as run at once
    /// assert!(blocks > 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// None at present; later devices may have to be queried.
    pub fn multiprocessor_count(&self) -> Result<u32, Error> {
        Ok(self.limits().multiprocessors)
    }

    /// Any attribute of the device; see [`CudaContext::device`] for other queries.
    ///
    /// Driver call: `cuDeviceGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::device::DeviceAttribute;
    /// # let ctx = CudaContext::new(0)?;
    /// let bytes = ctx.device_attribute(DeviceAttribute::L2_CACHE_SIZE)?;
    /// assert!(bytes >= 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an attribute that this driver does not know.
    pub fn device_attribute(&self, attribute: impl Into<DeviceAttribute>) -> Result<i32, Error> {
        self.inner.device.attribute(attribute)
    }

    /// Free and total bytes of device memory.
    ///
    /// Driver call: `cuMemGetInfo`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let (free, total) = ctx.memory_info()?;
    /// assert!(free <= total);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn memory_info(&self) -> Result<(usize, usize), Error> {
        let (mut free, mut total) = (0, 0);
        let label = || self.inner.label();
        // SAFETY: `call` made the context current; both outputs are locals, which outlive the call.
        self.call("cuMemGetInfo", label, |driver| unsafe { driver.cuMemGetInfo(&mut free, &mut total) })?;
        Ok((free, total))
    }

    /// The limits that the device sets for launches. No driver call.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let limits = ctx.limits();
    /// assert!(limits.max_threads_per_block >= 512);
    /// println!("clusters: {}", limits.cluster_launch);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn limits(&self) -> &DeviceLimits {
        &self.inner.limits
    }

    /// The newest CUDA version that the driver supports, in the format of `cuDriverGetVersion`: 13000 is 13.0. No
    /// driver call.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let version = ctx.driver_version();
    /// println!("CUDA {}.{}", version / 1000, version % 1000 / 10);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn driver_version(&self) -> u32 {
        self.inner.driver_version
    }
}
