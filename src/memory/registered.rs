//! Pinning memory that the program has already.

#![allow(unsafe_code)] // Registers memory that a vector owns, or that a scope borrows longer than it is registered.

use bitflags::bitflags;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use super::device_copy::DeviceCopy;
use super::home::{Home, Origin};
use super::pinned::PinnedBuffer;
use super::pinned_view::PinnedViewMut;
use crate::driver::{CudaContext, forbid_here};
use crate::error::Error;

bitflags! {
    /// How memory of the program is pinned (`CU_MEMHOSTREGISTER_*`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RegisterFlags: u32 {
        /// The memory counts as pinned in all contexts.
        const PORTABLE = 1;
        /// Kernels reach the memory.
        const DEVICE_MAP = 2;
        /// The memory belongs to another device of the bus.
        const IO_MEMORY = 4;
        /// The device only reads the memory: for pages that the program may not write.
        const READ_ONLY = 8;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// Memory that is registered, until this is dropped.
struct Registration {
    start: *mut c_void,
    context: CudaContext,
}

// SAFETY: the address of memory of the process, which every thread may unregister.
unsafe impl Send for Registration {}
// SAFETY: as above; nothing is done through a shared reference.
unsafe impl Sync for Registration {}

impl Registration {
    /// Registers `bytes` bytes, more than none.
    ///
    /// # Safety
    /// 1. The memory is valid, and stays until the result is dropped.
    unsafe fn new(
        context: &CudaContext,
        start: *mut c_void,
        bytes: usize,
        flags: RegisterFlags,
    ) -> Result<Self, Error> {
        let asked = || format!("{bytes} bytes at {start:p}, flags {flags:?}");
        // SAFETY: the caller's promise.
        context.call("cuMemHostRegister", asked, |driver| unsafe {
            driver.cuMemHostRegister(start, bytes, flags.bits())
        })?;
        Ok(Self { start, context: context.clone() })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: this value registered it, and nothing uses it any more.
        let _ = self.context.give_back("cuMemHostUnregister", String::new, |driver| unsafe {
            driver.cuMemHostUnregister(self.start)
        });
    }
}

/// A vector and its registration, which goes first.
struct RegisteredVec<T> {
    _registration: Registration,
    _elements: Vec<T>,
}

impl<T: DeviceCopy + Send + Sync> PinnedBuffer<T> {
    /// Pins the elements of a vector, where they are.
    ///
    /// The vector is freed with the buffer. Driver calls: `cuMemHostRegister`, `cuMemHostGetDevicePointer`, and
    /// `cuMemHostUnregister` at the end; none for an empty vector.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, PinnedBuffer, RegisterFlags};
    /// let ctx = CudaContext::new(0)?;
    /// let pinned = PinnedBuffer::register(&ctx, vec![1.5f32; 1000], RegisterFlags::empty())?;
    /// assert_eq!(pinned.as_slice()?[999], 1.5);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` if a page of it is registered already, `CUDA_ERROR_INVALID_VALUE` if the driver
    /// allocated it, or whatever the driver answers; the vector is freed then.
    #[doc(alias = "cuMemHostRegister", alias = "cuMemHostUnregister")]
    pub fn register(
        context: &CudaContext,
        mut elements: Vec<T>,
        flags: RegisterFlags,
    ) -> Result<Self, Error> {
        let (start, len) = (elements.as_mut_ptr().cast(), elements.len());
        let bytes = size_of_val(elements.as_slice());
        if bytes == 0 {
            return Ok(Self::empty(context, len));
        }
        // SAFETY: the vector is freed after its registration.
        let registration = unsafe { Registration::new(context, start, bytes, flags)? };
        let owner = RegisteredVec { _registration: registration, _elements: elements };
        // SAFETY: 1: the owner keeps the elements, which a vector aligns; 2: nobody else has them.
        unsafe { Self::owned_by(context, start, len, Box::new(owner)) }
    }
}

impl CudaContext {
    /// Pins borrowed memory while `scope` runs, then waits for the streams that use it.
    ///
    /// The scope gets a view, for copies that do not wait; a stream that captures refuses it. Driver calls:
    /// `cuMemHostRegister`, then `cuStreamSynchronize` for each stream that used it, `cuMemHostUnregister`; none but those of
    /// the scope for an empty slice.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, Error, RegisterFlags};
    /// let ctx = CudaContext::new(0)?;
    /// let stream = ctx.new_stream()?;
    /// let mut buffer = DeviceBuffer::<u32>::uninit(&stream, 3)?;
    /// let mut data = [1u32, 2, 3];
    /// ctx.with_registered(&mut data, RegisterFlags::empty(), |mut pinned| {
    ///     buffer.view_mut().copy_from_pinned(&stream, pinned.as_view())?;
    ///     buffer.view().copy_to_pinned(&stream, pinned.view_mut())
    /// })?;
    /// assert_eq!(data, [1, 2, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the scope; `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` if a page of it is registered already,
    /// `CUDA_ERROR_INVALID_VALUE` if the driver allocated it, or whatever the driver answers. This thread captures
    /// ([`Error::is_not_in_capture`]): the end would have to wait until the capture is over.
    #[doc(alias = "cuMemHostRegister")]
    pub fn with_registered<T: DeviceCopy, R>(
        &self,
        memory: &mut [T],
        flags: RegisterFlags,
        scope: impl FnOnce(PinnedViewMut<'_, T>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (start, len, bytes) = (memory.as_mut_ptr(), memory.len(), size_of_val(memory));
        if bytes != 0 {
            // Else the end below would be put off, to when the memory is no longer borrowed.
            forbid_here(self, "cuMemHostRegister")?;
        }
        let origin = match bytes {
            0 => Origin::Empty,
            // SAFETY: the home below drops it before this function returns, and the slice is borrowed until then. No graph keeps the
            // home: the view refuses captures.
            _ => Origin::Foreign(Box::new(unsafe { Registration::new(self, start.cast(), bytes, flags)? })),
        };
        let home = Home::new(0, self, origin);
        let start = NonNull::new(start).unwrap_or(NonNull::dangling());
        // If the scope panics, dropping the home waits and unregisters as well.
        let result = scope(PinnedViewMut::new(start, len, &home, false));
        let released = Arc::into_inner(home).map_or(Ok(()), |mut home| {
            let released = home.release();
            // The borrow ends here, whatever the driver says.
            home.give_up();
            released
        });
        released.and(result)
    }
}
