//! Copies as operations.

#![allow(unsafe_code)] // Implements `execute`; keeps host memory until its copy is done.

use std::borrow::{Borrow, BorrowMut};
use std::ptr::NonNull;

use super::context::ExecutionContext;
use super::device_operation::DeviceOperation;
use crate::error::Error;
use crate::memory::{
    DeviceBuffer, DeviceCopy, DeviceSlice, DeviceSliceMut, DeviceView, DeviceViewMut, FillElement,
    PinnedBuffer, PinnedFlags,
};

/// The result of [`copy_to_device`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct CopyToDevice<S, T> {
    source: S,
    of: std::marker::PhantomData<fn() -> T>,
}

/// A new buffer with the elements of `source`: a `Vec`, an array, an `Arc` of a slice, or another owner of them. It is kept alive
/// until the copy is done.
///
/// The driver reads memory that is not pinned before the submission returns, in part or as a whole: see
/// [`copy_from_pinned`].
///
/// Driver calls: those of [`DeviceBuffer::uninit`], and `cuMemcpyHtoDAsync`.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, copy_to_device, copy_to_host};
/// let there_and_back = copy_to_device(vec![1, 2, 3]).and_then(copy_to_host);
/// assert_eq!(there_and_back.sync()?.as_slice()?, [1, 2, 3]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn copy_to_device<S: AsRef<[T]> + Send + 'static, T: DeviceCopy>(source: S) -> CopyToDevice<S, T> {
    CopyToDevice { source, of: std::marker::PhantomData }
}

/// A value that neither moves nor is accessed mutably until it is dropped.
struct AliasableBox<S>(NonNull<S>);

// SAFETY: it owns an `S`, as a `Box` does, so it may be sent to another thread if an `S` may.
unsafe impl<S: Send> Send for AliasableBox<S> {}

impl<S> AliasableBox<S> {
    fn new(value: S) -> Self {
        // Not a `Box`: moving a `Box` asserts unique access to its contents, which the device is still reading.
        Self(NonNull::from(Box::leak(Box::new(value))))
    }

    fn get(&self) -> &S {
        // SAFETY: the pointer is that of the box that `new` leaked, which holds an `S` until `drop`; no `&mut S` is created before
        // then.
        unsafe { self.0.as_ref() }
    }
}

impl<S> Drop for AliasableBox<S> {
    fn drop(&mut self) {
        // SAFETY: the pointer is that of the box that `new` leaked; this value is its only owner and is being dropped, and references
        // returned by `get` borrow this value.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<S: AsRef<[T]> + Send + 'static, T: DeviceCopy + Send> DeviceOperation for CopyToDevice<S, T> {
    type Output = DeviceBuffer<T>;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<DeviceBuffer<T>, Error> {
        let stream = cx.stream()?;
        let source = AliasableBox::new(self.source);
        let elements: *const [T] = source.get().as_ref();
        let mut buffer = DeviceBuffer::uninit(stream, elements.len())?;
        // Before the copy, so that it is kept alive even if the copy fails.
        cx.keep(source);
        // SAFETY: 1: `cx` keeps the source, at the same address, until the work of this chain is done, or forever if that cannot be
        // determined; 2: the elements were borrowed from a `&S`, and no code can reach the `S` to borrow them mutably.
        unsafe { buffer.view_mut().copy_from_raw(stream, elements) }?;
        Ok(buffer)
    }
}

/// The result of [`copy_from_pinned`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct CopyFromPinned<P, T> {
    source: P,
    of: std::marker::PhantomData<fn() -> T>,
}

/// A new buffer with the elements of a [`PinnedBuffer`], or of a reference or `Arc` of one; returns both. The submission does not
/// wait for the copy.
///
/// Driver calls: those of [`DeviceBuffer::uninit`], and `cuMemcpyHtoDAsync`.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, copy_from_pinned};
/// use cuda_launch::memory::PinnedFlags;
/// use cuda_launch::{CudaContext, PinnedBuffer};
/// let ctx = CudaContext::new(0)?;
/// let source = PinnedBuffer::from_slice(&ctx, &[1, 2, 3], PinnedFlags::empty())?;
/// let (buffer, _source) = copy_from_pinned(source).sync()?;
/// assert_eq!(buffer.to_host_vec(&ctx.default_stream())?, [1, 2, 3]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn copy_from_pinned<P: Borrow<PinnedBuffer<T>> + Send, T: DeviceCopy>(source: P) -> CopyFromPinned<P, T> {
    CopyFromPinned { source, of: std::marker::PhantomData }
}

impl<P: Borrow<PinnedBuffer<T>> + Send, T: DeviceCopy + Send> DeviceOperation for CopyFromPinned<P, T> {
    type Output = (DeviceBuffer<T>, P);

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        let (stream, source) = (cx.stream()?, self.source.borrow());
        let mut buffer = DeviceBuffer::uninit(stream, source.len())?;
        buffer.view_mut().copy_from_pinned(stream, source)?;
        Ok((buffer, self.source))
    }
}

/// The result of [`copy_to_host`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct CopyToHost<S>(S);

/// New pinned host memory with the elements of `source`: a buffer or view, a reference or an `Arc` of one. A source that is passed
/// by value is freed after the copy.
///
/// The output waits for the copy when it is read, so it can be passed on in a chain. To allocate no host memory for
/// each copy, see [`copy_to_pinned`].
///
/// Driver calls: those of [`PinnedBuffer::zeroed`], and `cuMemcpyDtoHAsync`.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, copy_to_host, zeroed};
/// let host = zeroed::<f32>(3).and_then(copy_to_host).sync()?;
/// assert_eq!(host.as_slice()?, [0.0; 3]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn copy_to_host<S: DeviceSlice + Send>(source: S) -> CopyToHost<S> {
    CopyToHost(source)
}

impl<S: DeviceSlice<Element: Send> + Send> DeviceOperation for CopyToHost<S> {
    type Output = PinnedBuffer<S::Element>;

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        let stream = cx.stream()?;
        let mut host = PinnedBuffer::zeroed(stream.context(), self.0.len(), PinnedFlags::empty())?;
        DeviceView::of(&self.0).copy_to_pinned(stream, &mut host)?;
        Ok(host)
    }
}

/// The result of [`copy_to_pinned`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct CopyToPinned<S, P> {
    source: S,
    destination: P,
}

/// Copies the elements of `source` over all of a [`PinnedBuffer`]; returns both.
///
/// Driver call: `cuMemcpyDtoHAsync`.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, copy_to_pinned, zeroed};
/// use cuda_launch::memory::PinnedFlags;
/// use cuda_launch::{CudaContext, PinnedBuffer};
/// let host = PinnedBuffer::from_slice(&CudaContext::new(0)?, &[1u8, 2, 3], PinnedFlags::empty())?;
/// let (_buffer, host) = zeroed::<u8>(3).and_then(|buffer| copy_to_pinned(buffer, host)).sync()?;
/// assert_eq!(host.as_slice()?, [0; 3]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn copy_to_pinned<S, P>(source: S, destination: P) -> CopyToPinned<S, P>
where
    S: DeviceSlice + Send,
    P: BorrowMut<PinnedBuffer<S::Element>> + Send,
{
    CopyToPinned { source, destination }
}

impl<S, P> DeviceOperation for CopyToPinned<S, P>
where
    S: DeviceSlice + Send,
    P: BorrowMut<PinnedBuffer<S::Element>> + Send,
{
    type Output = (S, P);

    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        let destination = self.destination.borrow_mut();
        DeviceView::of(&self.source).copy_to_pinned(cx.stream()?, destination)?;
        Ok((self.source, self.destination))
    }
}

/// The result of [`copy_on_device`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct CopyOnDevice<S, D> {
    source: S,
    destination: D,
}

/// Copies the elements of `source` over all of `destination`; returns both.
///
/// Driver call: `cuMemcpyDtoDAsync`.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, allocate, copy_on_device, zeroed, zip};
/// let op = zip!(zeroed::<u32>(3), allocate::<u32>(3)).and_then(|(a, b)| copy_on_device(a, b));
/// assert_eq!(op.sync()?.1.len(), 3);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn copy_on_device<S, D>(source: S, destination: D) -> CopyOnDevice<S, D>
where
    S: DeviceSlice + Send,
    D: DeviceSliceMut<Element = S::Element> + Send,
{
    CopyOnDevice { source, destination }
}

impl<S, D> DeviceOperation for CopyOnDevice<S, D>
where
    S: DeviceSlice + Send,
    D: DeviceSliceMut<Element = S::Element> + Send,
{
    type Output = (S, D);

    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        DeviceViewMut::of(&mut self.destination).copy_from_device(cx.stream()?, &self.source)?;
        Ok((self.source, self.destination))
    }
}

/// The result of [`memset`].
#[derive(Clone, Debug)]
#[must_use = "an operation does nothing until it is awaited or synchronised"]
pub struct Memset<D: DeviceSlice> {
    memory: D,
    value: D::Element,
}

/// Sets each element of a buffer or mutable view to `value`; returns the buffer or view.
///
/// Driver call: `cuMemsetD8Async`, `cuMemsetD16Async` or `cuMemsetD32Async`.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, allocate, copy_to_host, memset};
/// let op = allocate::<u16>(3).and_then(|buffer| memset(buffer, 7)).and_then(copy_to_host);
/// assert_eq!(op.sync()?.as_slice()?, [7; 3]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn memset<D>(memory: D, value: D::Element) -> Memset<D>
where
    D: DeviceSliceMut<Element: FillElement + Send> + Send,
{
    Memset { memory, value }
}

impl<D: DeviceSliceMut<Element: FillElement + Send> + Send> DeviceOperation for Memset<D> {
    type Output = D;

    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<D, Error> {
        DeviceViewMut::of(&mut self.memory).fill(cx.stream()?, self.value)?;
        Ok(self.memory)
    }
}
