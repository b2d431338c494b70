//! Buffers from a stream: shorthands for methods of [`DeviceBuffer`].

use super::buffer::DeviceBuffer;
use super::buffer::view::DeviceView;
use super::device_copy::DeviceCopy;
use super::device_slice::DeviceSlice;
use crate::driver::CudaStream;
use crate::error::Error;

impl CudaStream {
    /// The same as [`DeviceBuffer::zeroed`], under cudarc's name: `len` elements whose bytes are zero.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let zeros = stream.alloc_zeros::<u32>(2)?;
    /// let some = stream.clone_htod(&[7u32, 8, 9])?;
    /// assert_eq!((stream.clone_dtoh(&zeros)?, stream.clone_dtoh(&some.slice(1..))?), (vec![0, 0], vec![8, 9]));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or any error returned by the driver.
    pub fn alloc_zeros<T: DeviceCopy>(&self, len: usize) -> Result<DeviceBuffer<T>, Error> {
        DeviceBuffer::zeroed(self, len)
    }

    /// The same as [`DeviceBuffer::from_host`], under cudarc's name: a copy of `source` on the device, complete when this returns.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let x = stream.clone_htod(&[1u32, 2, 3])?;
    /// assert_eq!(x.len(), 3);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or any error returned by the driver.
    pub fn clone_htod<T: DeviceCopy>(
        &self,
        source: &(impl AsRef<[T]> + ?Sized),
    ) -> Result<DeviceBuffer<T>, Error> {
        DeviceBuffer::from_host(self, source.as_ref())
    }

    /// A copy of a buffer or view on the device, on this stream; does not wait. [`DeviceBuffer::try_clone`] says more.
    ///
    /// # Errors
    /// Those of [`DeviceBuffer::try_clone`].
    pub fn clone_dtod<S: DeviceSlice + ?Sized>(&self, source: &S) -> Result<DeviceBuffer<S::Element>, Error> {
        self.same_context(source.context(), "the source")?;
        let mut copy = DeviceBuffer::uninit(self, source.len())?;
        copy.view_mut().copy_from_device(self, &source)?;
        Ok(copy)
    }

    /// The same as [`DeviceBuffer::to_host_vec`], under cudarc's name: a copy of a buffer or view on the host, after all work that
    /// writes it.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(stream.clone_dtoh(&x.slice(..2))?, [1.0, 2.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver; a fault of earlier work is also
    /// reported here.
    pub fn clone_dtoh<S: DeviceSlice + ?Sized>(&self, source: &S) -> Result<Vec<S::Element>, Error> {
        DeviceView::of(source).to_host_vec(self)
    }
}
