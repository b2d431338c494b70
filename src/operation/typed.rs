//! Launches that own their memory, as created by methods of typed modules.

#![allow(unsafe_code)] // Declares the `unsafe` constructors, whose callers vouch for the launch.

use std::fmt;

use super::launch::{AsyncKernelLaunch, OwnedKernelLaunch};
use crate::error::Error;
use crate::launch::args::{Object, Rows};
use crate::launch::site::{slice, slice_mut};
use crate::memory::object::KernelObject;
use crate::memory::{DeviceCopy, DeviceSlice, DeviceSliceMut};

/// How an [`OwnedKernelLaunch`] builds its launch: a closure, or the [`TypedLaunch`] of a method of a typed module.
pub trait BuildLaunch<R>: Send {
    /// Builds the launch of the owned resources.
    #[doc(hidden)]
    fn describe(self, resources: &mut R) -> Result<AsyncKernelLaunch<'_>, Error>;
}

impl<R, F> BuildLaunch<R> for F
where
    F: for<'r> FnOnce(&'r mut R) -> Result<AsyncKernelLaunch<'r>, Error> + Send,
{
    fn describe(self, resources: &mut R) -> Result<AsyncKernelLaunch<'_>, Error> {
        self(resources)
    }
}

/// A launch prepared by a method of a typed module, without its memory and objects, which are filled in when it runs.
///
/// ```
/// use cuda_launch::operation::{DeviceOperation, OwnedKernelLaunch};
/// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_module};
/// #[cuda_module("examples/kernels/vecadd.ptx")]
/// mod kernels {
///     unsafe extern "C" {
///         pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
///     }
/// }
/// type Buffer = DeviceBuffer<f32>;
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let buffer = |value: f32| DeviceBuffer::from_host(&stream, &[value; 100]);
/// let module = kernels::load(&ctx)?;
/// let op: OwnedKernelLaunch<(Buffer, Buffer, Buffer)> =
///     module.vecadd_async_owned(LaunchConfig::for_num_elems(100), buffer(1.0)?, buffer(2.0)?, buffer(0.0)?)?;
/// let (_, _, c) = op.sync()?;
/// assert_eq!(c.to_host_vec(&stream)?, [3.0; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub struct TypedLaunch<R> {
    launch: AsyncKernelLaunch<'static>,
    fill: Fill<R>,
}

/// Fills in the memory and objects of a launch.
type Fill<R> = for<'r> fn(&'r mut R, &mut AsyncKernelLaunch<'r>);

impl<R> BuildLaunch<R> for TypedLaunch<R> {
    #[inline]
    fn describe(self, resources: &mut R) -> Result<AsyncKernelLaunch<'_>, Error> {
        let mut launch: AsyncKernelLaunch<'_> = self.launch;
        (self.fill)(resources, &mut launch);
        Ok(launch)
    }
}

impl<R> fmt::Debug for TypedLaunch<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.launch.fmt(f)
    }
}

impl<R> OwnedKernelLaunch<R> {
    /// Called by the methods of typed modules.
    ///
    /// # Safety
    /// 1. The duties 1 and 2 of [`OwnedKernelLaunch::new`].
    /// 2. `fill` fills each slice, address and object that was pushed for later, in order, with one of its element or handle.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn typed(resources: R, launch: AsyncKernelLaunch<'static>, fill: Fill<R>) -> Self {
        Self { resources, launch: TypedLaunch { launch, fill } }
    }
}

/// Only for [`OwnedKernelLaunch::typed`].
#[doc(hidden)]
impl<'a> AsyncKernelLaunch<'a> {
    /// A slice that is filled before the launch runs.
    ///
    /// # Safety
    /// 1. It is filled, with one of this element.
    #[inline]
    pub unsafe fn push_slice_later<T: DeviceCopy>(&mut self) {
        self.arguments.slice_later::<T>();
    }

    /// An address that is filled before the launch runs.
    ///
    /// # Safety
    /// 1. It is filled, with that of memory of this element.
    #[inline]
    pub unsafe fn push_ptr_later<T: DeviceCopy>(&mut self) {
        self.arguments.ptr_later::<T>();
    }

    /// Rows that are filled before the launch runs.
    ///
    /// # Safety
    /// 1. They are filled, with those of this element.
    #[inline]
    pub unsafe fn push_rows_later<T: DeviceCopy>(&mut self) {
        self.arguments.rows_later::<T>();
    }

    /// An object that is filled before the launch runs.
    ///
    /// # Safety
    /// 1. It is filled, with one of this handle.
    #[inline]
    pub unsafe fn push_object_later<O: KernelObject + ?Sized>(&mut self) {
        self.arguments.object_later::<O::Handle>();
    }

    /// Fills in the first object that is not filled yet.
    #[inline]
    pub fn fill_object<H, const WRITE: bool>(&mut self, object: Object<'a, H, WRITE>) {
        self.arguments.fill_object(object);
    }

    /// Fills in the first rows that are not filled yet.
    #[inline]
    pub fn fill_rows<T: DeviceCopy, const WRITE: bool>(&mut self, rows: Rows<'a, T, WRITE>) {
        self.arguments.fill_rows(rows);
    }

    /// Fills in the first slice or address that is not filled yet.
    #[inline]
    pub fn fill_memory<S: DeviceSlice + ?Sized>(&mut self, memory: &'a S) {
        self.arguments.fill(slice(memory));
    }

    /// As [`fill_memory`](Self::fill_memory), for memory that the kernel may write.
    #[inline]
    pub fn fill_memory_mut<S: DeviceSliceMut + ?Sized>(&mut self, memory: &'a mut S) {
        self.arguments.fill(slice_mut(memory));
    }
}
