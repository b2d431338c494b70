//! Borrowed parts of device memory: the borrow checker treats them like slices.

use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use super::DeviceBuffer;
use crate::driver::CudaContext;
use crate::memory::allocation::Allocation;
use crate::memory::device_copy::DeviceCopy;
use crate::memory::device_slice::{DeviceSlice, DeviceSliceMut, SliceParts};
use crate::memory::pointer::{DevicePtr, DevicePtrMut};

/// Elements of device memory, for reading. It is used like a `&[T]`: it can be sliced, copied from, and passed to a kernel.
///
/// ```
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let stream = CudaContext::new(0)?.new_stream()?;
/// let x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let (left, right) = x.split_at(1);
/// assert_eq!((left.len(), right.to_host_vec(&stream)?), (1, vec![2.0, 3.0, 4.0]));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct DeviceView<'a, T: DeviceCopy> {
    address: u64,
    len: usize,
    allocation: &'a Arc<Allocation>,
    of: PhantomData<&'a [T]>,
}

/// Elements of device memory, for writing: an exclusive borrow, like `&mut [T]`.
///
/// ```
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let stream = CudaContext::new(0)?.new_stream()?;
/// let mut x = DeviceBuffer::<u32>::zeroed(&stream, 4)?;
/// let (mut left, mut right) = x.split_at_mut(1);
/// left.copy_from_host(&stream, &[5])?;
/// right.fill(&stream, 7)?;
/// assert_eq!(x.to_host_vec(&stream)?, [5, 7, 7, 7]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub struct DeviceViewMut<'a, T: DeviceCopy> {
    address: u64,
    len: usize,
    allocation: &'a Arc<Allocation>,
    of: PhantomData<&'a mut [T]>,
}

macro_rules! view_methods {
    ($name:ident) => {
        impl<T: DeviceCopy> std::fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                crate::show::elements::<T>(f, stringify!($name), self.address, self.len, self.context())
            }
        }

        impl<'a, T: DeviceCopy> $name<'a, T> {
            pub(in crate::memory) fn new(address: u64, len: usize, allocation: &'a Arc<Allocation>) -> Self {
                Self { address, len, allocation, of: PhantomData }
            }

            /// The elements of `range`.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert_eq!(x.view().slice(1..3).to_host_vec(&stream)?, [2.0, 3.0]);
            /// x.view_mut().slice(2..).set_zero(&stream)?;
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            ///
            /// # Panics
            /// If the range is not inside the view, as with slices; `try_slice` does not panic.
            #[track_caller]
            pub fn slice(self, range: impl RangeBounds<usize>) -> Self {
                let (start, end) = (range.start_bound().cloned(), range.end_bound().cloned());
                let len = self.len;
                let inside = self.try_slice((start, end));
                assert!(
                    inside.is_some(),
                    "range {start:?} to {end:?} is not inside a view of {len} elements"
                );
                inside.unwrap_or_else(|| unreachable!())
            }

            /// The elements of `range`; `None` if it is not inside the view.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert!(x.view().try_slice(2..5).is_none() && x.view_mut().try_slice(..4).is_some());
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn try_slice(self, range: impl RangeBounds<usize>) -> Option<Self> {
                let range = resolve(range, self.len)?;
                Some(self.part(range))
            }

            /// The first `mid` elements and the rest.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// let (mut left, right) = x.view_mut().split_at(2);
            /// left.copy_from_device(&stream, &right)?;
            /// assert_eq!(x.to_host_vec(&stream)?, [3.0, 4.0, 3.0, 4.0]);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            ///
            /// # Panics
            /// If `mid` is past the end, as with slices.
            #[track_caller]
            pub fn split_at(self, mid: usize) -> (Self, Self) {
                let len = self.len;
                assert!(mid <= len, "cannot split a view of {len} elements at {mid}");
                // Two disjoint parts of a view that is consumed.
                let left = Self::new(self.address, mid, self.allocation);
                (left, self.part(mid..len))
            }

            fn part(self, range: Range<usize>) -> Self {
                let address = self.address + (range.start * size_of::<T>()) as u64;
                Self::new(address, range.len(), self.allocation)
            }

            /// The raw address, as driver functions take it; see [`DeviceBuffer::cu_deviceptr`].
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert_eq!(x.slice(1..).cu_deviceptr(), x.cu_deviceptr() + 4);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn cu_deviceptr(&self) -> cuda_driver_sys::CUdeviceptr {
                self.allocation.escape();
                self.address
            }

            /// The address for a kernel to read from; see [`DeviceBuffer::as_device_ptr`].
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert_eq!(x.slice(2..).as_device_ptr().addr(), x.as_device_ptr().addr() + 8);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn as_device_ptr(&self) -> DevicePtr<T> {
                self.allocation.address_taken();
                DevicePtr::from_raw(self.address)
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// The size in bytes.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert_eq!(x.slice(1..).byte_len(), 12);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn byte_len(&self) -> usize {
                self.len * size_of::<T>()
            }

            /// The context.
            pub fn context(&self) -> &'a CudaContext {
                self.allocation.context()
            }

            /// The owner of the memory.
            pub(crate) fn allocation(&self) -> &'a Arc<Allocation> {
                self.allocation
            }

            /// The address, for work whose access is recorded.
            pub(crate) fn base(&self) -> u64 {
                self.address
            }
        }

        // SAFETY: 1: it consists of elements of a buffer or of another `DeviceSlice`, all of them or a part that
        // `resolve`, `split_at` or `cast_len` found to be inside; 2: its lifetime borrows the owner of the memory; 3:
        // neither ever changes.
        #[allow(unsafe_code)]
        #[diagnostic::do_not_recommend]
        unsafe impl<T: DeviceCopy> DeviceSlice for $name<'_, T> {
            type Element = T;

            #[inline(always)]
            fn parts(&self) -> SliceParts<'_, T> {
                SliceParts::new(&self.address, &self.len, self.allocation)
            }
        }
    };
}

view_methods!(DeviceView);
view_methods!(DeviceViewMut);

impl<'a, T: DeviceCopy> DeviceView<'a, T> {
    /// All elements of a buffer or view of any kind.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, DeviceSlice, DeviceView};
    /// fn middle<T: cuda_launch::DeviceCopy>(memory: &impl DeviceSlice<Element = T>) -> DeviceView<'_, T> {
    ///     DeviceView::of(memory).slice(1..memory.len() - 1)
    /// }
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let buffer = DeviceBuffer::from_host(&stream, &[1u8, 2, 3, 4])?;
    /// assert_eq!(middle(&middle(&buffer)).len(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn of(memory: &'a (impl DeviceSlice<Element = T> + ?Sized)) -> Self {
        let parts = memory.parts();
        Self::new(*parts.address, *parts.len, parts.allocation)
    }
}

impl<'a, T: DeviceCopy> DeviceViewMut<'a, T> {
    /// All elements of any device memory, for writing.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, DeviceSliceMut, DeviceViewMut, Error};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// fn clear(memory: &mut impl DeviceSliceMut<Element = f32>, stream: &CudaStream) -> Result<(), Error> {
    ///     DeviceViewMut::of(memory).set_zero(stream)
    /// }
    /// clear(&mut x.slice_mut(1..), &stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [1.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn of(memory: &'a mut (impl DeviceSliceMut<Element = T> + ?Sized)) -> Self {
        let parts = memory.parts_mut();
        Self::new(*parts.address, *parts.len, parts.allocation)
    }
}

impl<T: DeviceCopy> DeviceViewMut<'_, T> {
    /// The address for a kernel to write to; see [`DeviceBuffer::as_device_ptr`].
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.slice_mut(1..).as_mut_device_ptr().addr(), x.as_device_ptr().addr() + 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn as_mut_device_ptr(&mut self) -> DevicePtrMut<T> {
        self.allocation.address_taken();
        DevicePtrMut::from_raw(self.address)
    }

    /// The same elements, for reading.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let tail = x.slice_mut(2..);
    /// assert_eq!(tail.as_view().to_host_vec(&stream)?, [3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn as_view(&self) -> DeviceView<'_, T> {
        DeviceView::new(self.address, self.len, self.allocation)
    }

    /// The same elements, with a shorter lifetime.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut tail = x.slice_mut(2..);
    /// tail.view_mut().slice(1..).set_zero(&stream)?; // `tail` can still be used
    /// assert_eq!(tail.len(), 2);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(self.address, self.len, self.allocation)
    }
}

/// `range` with its ends filled in, if it is inside `0..len`.
pub(in crate::memory) fn resolve(range: impl RangeBounds<usize>, len: usize) -> Option<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(&s) => s,
        Bound::Excluded(&s) => s.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&e) => e.checked_add(1)?,
        Bound::Excluded(&e) => e,
        Bound::Unbounded => len,
    };
    (start <= end && end <= len).then_some(start..end)
}

// SAFETY: 1: the buffer owns the elements; 2: its allocation keeps the memory alive, and the borrow the buffer; 3: neither
// ever changes.
#[allow(unsafe_code)]
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy> DeviceSlice for DeviceBuffer<T> {
    type Element = T;

    #[inline(always)]
    fn parts(&self) -> SliceParts<'_, T> {
        self.slice_parts()
    }
}

macro_rules! writable {
    ($({$($of:tt)*} $memory:ty;)*) => {$(
        // SAFETY: 1: a buffer owns its memory, and a mutable view borrows its part exclusively; the host can reach it only through
        // them.
        #[allow(unsafe_code)]
        #[diagnostic::do_not_recommend]
        unsafe impl<$($of)*> DeviceSliceMut for $memory {
            #[inline(always)]
            fn parts_mut(&mut self) -> SliceParts<'_, Self::Element> {
                <Self as DeviceSlice>::parts(self)
            }
        }
    )*};
}

writable! {
    {T: DeviceCopy} DeviceBuffer<T>;
    {T: DeviceCopy} DeviceViewMut<'_, T>;
}
