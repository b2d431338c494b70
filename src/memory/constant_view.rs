//! Constants, written by copies.

use std::ops::RangeBounds;

use super::buffer::view::{DeviceView, DeviceViewMut};
use super::copy::layout::RowLayout;
use super::copy::region::CopyTarget;
use super::device_copy::DeviceCopy;
use super::device_slice::DeviceSlice;
use super::fill::FillElement;
use super::pinned::view::PinnedView;
use crate::driver::{CudaContext, CudaStream};
use crate::error::Error;

/// Elements of a `__constant__` variable, for copies to write; an exclusive borrow.
///
/// Kernels read constants through a cache that is not coherent with writes by kernels. So this is not a
/// [`DeviceSliceMut`](crate::DeviceSliceMut), and no kernel takes it as `slice_mut(x)` or `&mut [T]`:
///
/// ```compile_fail,E0277
/// # use cuda_launch::{CudaContext, DeviceViewMut};
/// # let ctx = CudaContext::new(0)?;
/// # let module = ctx.load_module(include_str!("../../tests/kernels/globals.ptx"))?;
/// let mut coefficients = module.constant::<f32>("coefficients")?;
/// let view = DeviceViewMut::of(&mut coefficients.view_mut());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// ```standalone_crate
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let module = ctx.load_module(include_str!("../../tests/kernels/globals.ptx"))?;
/// let mut coefficients = module.constant::<f32>("coefficients")?;
/// coefficients.view_mut().slice(1..3).copy_from_host(&stream, &[7.0, 8.0])?;
/// assert_eq!(coefficients.to_host_vec(&stream)?, [1.0, 7.0, 8.0, 4.0]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
pub struct ConstantViewMut<'a, T: DeviceCopy>(DeviceViewMut<'a, T>);

impl<'a, T: DeviceCopy> ConstantViewMut<'a, T> {
    pub(super) fn new(all: DeviceViewMut<'a, T>) -> Self {
        Self(all)
    }

    /// The elements of `range`.
    ///
    /// # Panics
    /// If the range is not inside the view, as with slices; `try_slice` does not panic.
    #[track_caller]
    pub fn slice(self, range: impl RangeBounds<usize>) -> Self {
        Self(self.0.slice(range))
    }

    /// The elements of `range`; `None` if it is not inside the view.
    pub fn try_slice(self, range: impl RangeBounds<usize>) -> Option<Self> {
        self.0.try_slice(range).map(Self)
    }

    /// The same elements, with a shorter lifetime.
    pub fn view_mut(&mut self) -> ConstantViewMut<'_, T> {
        ConstantViewMut(self.0.view_mut())
    }

    /// The same elements, for reading.
    pub fn as_view(&self) -> DeviceView<'_, T> {
        self.0.as_view()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The size in bytes.
    pub fn byte_len(&self) -> usize {
        self.0.byte_len()
    }

    /// The context.
    pub fn context(&self) -> &'a CudaContext {
        self.0.context()
    }

    /// Copies `source` over the elements; returns when the copy is complete. Calls are those of
    /// [`DeviceViewMut::copy_from_host`].
    ///
    /// # Errors
    /// As for [`DeviceViewMut::copy_from_host`].
    pub fn copy_from_host(&mut self, stream: &CudaStream, source: &[T]) -> Result<(), Error> {
        self.0.copy_from_host(stream, source)
    }

    /// Copies `source` over the elements, on `stream`; does not wait. Calls are those of
    /// [`DeviceViewMut::copy_from_device`].
    ///
    /// # Errors
    /// As for [`DeviceViewMut::copy_from_device`].
    pub fn copy_from_device(
        &mut self,
        stream: &CudaStream,
        source: &impl DeviceSlice<Element = T>,
    ) -> Result<(), Error> {
        self.0.copy_from_device(stream, source)
    }

    /// Copies `source` over the elements, on `stream`; does not wait. Calls are those of
    /// [`DeviceViewMut::copy_from_pinned`].
    ///
    /// # Errors
    /// As for [`DeviceViewMut::copy_from_pinned`].
    pub fn copy_from_pinned<'p>(
        &mut self,
        stream: &CudaStream,
        source: impl Into<PinnedView<'p, T>>,
    ) -> Result<(), Error> {
        self.0.copy_from_pinned(stream, source)
    }

    /// Copies `source`, which may be memory of another device, over the elements, on `stream`; does not wait. Calls as
    /// [`DeviceViewMut::copy_from_peer`].
    ///
    /// # Errors
    /// As for [`DeviceViewMut::copy_from_peer`].
    pub fn copy_from_peer(
        &mut self,
        stream: &CudaStream,
        source: &impl DeviceSlice<Element = T>,
    ) -> Result<(), Error> {
        self.0.copy_from_peer(stream, source)
    }

    /// Sets every byte to zero, on `stream`; does not wait. Calls are those of [`DeviceViewMut::set_zero`].
    ///
    /// # Errors
    /// As for [`DeviceViewMut::set_zero`].
    pub fn set_zero(&mut self, stream: &CudaStream) -> Result<(), Error> {
        self.0.set_zero(stream)
    }

    /// Sets every element to `value`, on `stream`; does not wait. Calls are those of [`DeviceViewMut::fill`].
    ///
    /// # Errors
    /// As for [`DeviceViewMut::fill`].
    pub fn fill(&mut self, stream: &CudaStream, value: T) -> Result<(), Error>
    where
        T: FillElement,
    {
        self.0.fill(stream, value)
    }

    /// What [`CudaStream::copy_region`] writes.
    pub fn as_target(&mut self, layout: RowLayout) -> CopyTarget<'_, T> {
        CopyTarget::device(&mut self.0, layout)
    }
}
