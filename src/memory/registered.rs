//! Pinning memory that the program already owns.

#![allow(unsafe_code)] // Registers memory that a vector owns, or that a scope borrows longer than it is registered.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;

use super::allocation::{Allocation, Origin};
use super::device_copy::DeviceCopy;
use super::location::MemoryAccess;
use super::pinned::PinnedBuffer;
use super::pinned::view::PinnedViewMut;
use crate::driver::{CudaContext, forbid_here};
use crate::error::Error;
use crate::flags::flags;

flags! {
    /// How the program's own memory is pinned (`CU_MEMHOSTREGISTER_*`).
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct RegisterFlags: u32 {
        /// The memory counts as pinned in all contexts.
        const PORTABLE = 1;
        /// Kernels can access the memory.
        const DEVICE_MAP = 2;
        /// The memory belongs to another device on the bus (I/O memory).
        const IO_MEMORY = 4;
        /// The device only reads the memory: for read-only pages. Refused, since a buffer's copies and kernels may write it.
        const READ_ONLY = 8;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// Memory that is registered, until this is dropped.
struct Registration {
    /// Null once it is over.
    start: *mut c_void,
    context: CudaContext,
}

// SAFETY: an address of the process, not of a thread, to which only the driver is told to do something: its documents
// name no thread that has to unregister memory. The context is Send.
unsafe impl Send for Registration {}
// SAFETY: as above; nothing is done through a shared reference.
unsafe impl Sync for Registration {}

impl Registration {
    /// Registers `bytes` bytes, more than none.
    ///
    /// # Safety
    /// 1. `bytes` bytes at `start` are memory of this process, and stay until the result is dropped.
    unsafe fn new(
        context: &CudaContext,
        start: *mut c_void,
        bytes: usize,
        flags: RegisterFlags,
    ) -> Result<Self, Error> {
        if flags.contains(RegisterFlags::READ_ONLY) {
            let help = "omit the flag: a program that has the elements as `Vec` or `&mut` can write them";
            let what = ("cuMemHostRegister", "memory registered as `READ_ONLY`", help);
            MemoryAccess::Read.allows_kernels(context, what)?;
        }
        context.make(
            "cuMemHostRegister",
            || format!("{bytes} bytes at {start:p}, flags {flags:?}"),
            // SAFETY: the `bytes` bytes exist until `Drop` unregisters them, by the caller's duty 1; the driver checks the flags.
            |driver, ()| unsafe { driver.cuMemHostRegister(start, bytes, flags.bits()) },
            |()| Self { start, context: context.clone() },
        )
    }
}

impl Registration {
    /// Unregisters the memory, without a span: returning it to its owner must not depend on a `tracing` subscriber.
    fn end(&mut self) -> Result<(), Error> {
        let call = "cuMemHostUnregister";
        let start = std::mem::replace(&mut self.start, std::ptr::null_mut());
        if start.is_null() {
            return Ok(());
        }
        self.context.give_back_untraced(call, |driver| {
            // SAFETY: this value registered it, and unregisters it once, as null is there from now on; that is after all work that uses the
            // memory, or, of a loan, after all that could be waited for.
            unsafe { driver.cuMemHostUnregister(start) }
        })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // `drop` cannot report the error; the end of a loan does.
        let _ = self.end();
    }
}

/// A vector and its registration, which goes first.
struct RegisteredVec<T> {
    _registration: Registration,
    _elements: Vec<T>,
}

impl<T: DeviceCopy + Send + Sync> PinnedBuffer<T> {
    /// Pins the elements of a vector in place.
    ///
    /// The vector is freed with the buffer. Driver calls: `cuMemHostRegister`, `cuMemHostGetDevicePointer`, and
    /// `cuMemHostUnregister` on drop; none for an empty vector.
    ///
    /// ```
    /// use cuda_launch::memory::RegisterFlags;
    /// use cuda_launch::{CudaContext, PinnedBuffer};
    /// let ctx = CudaContext::new(0)?;
    /// let pinned = PinnedBuffer::register(&ctx, vec![1.5f32; 1000], RegisterFlags::empty())?;
    /// assert_eq!(pinned.as_slice()?[999], 1.5);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` if one of its pages is already registered,
    /// `CUDA_ERROR_INVALID_VALUE` if the driver allocated it, [`ErrorKind::Inaccessible`](crate::ErrorKind::Inaccessible) for
    /// [`RegisterFlags::READ_ONLY`], or any error returned by the driver; the vector is freed then.
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
        // SAFETY: 1: the vector goes into one value with its registration, and is the later field: it is freed after that.
        let registration = unsafe { Registration::new(context, start, bytes, flags)? };
        let owner = RegisteredVec { _registration: registration, _elements: elements };
        // SAFETY: 1: the owner keeps the elements, values that a vector aligns, and their registration; 2: the vector was moved in, and
        // nobody else has it.
        unsafe { Self::owned_by(context, start, len, Box::new(owner)) }
    }
}

impl CudaContext {
    /// Pins borrowed memory while `scope` runs, then waits for the streams that use it.
    ///
    /// The scope gets a view, for copies that do not wait, except those that another thread submits to its own
    /// [per-thread stream](CudaContext::per_thread_stream), for which this thread could not wait. A stream that captures
    /// rejects the view.
    ///
    /// Driver calls: `cuMemHostRegister`, then `cuStreamSynchronize` for each stream that used it, and `cuMemHostUnregister`;
    /// for an empty slice, only those made by the scope. If the driver refuses to wait for a stream, also
    /// `cuStreamQuery` until the stream is done, and `cuCtxSynchronize` if it refuses that, too.
    ///
    /// ```
    /// use cuda_launch::memory::RegisterFlags;
    /// use cuda_launch::{CudaContext, DeviceBuffer, Error};
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
    /// Errors of the scope; `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` if one of its pages is already registered,
    /// `CUDA_ERROR_INVALID_VALUE` if the driver allocated it, or any error returned by the driver. This thread is
    /// capturing ([`Error::is_refused_in_capture`]) when this is called.
    ///
    /// The memory is released to the caller in any case. If the driver refuses every way to wait,
    /// `cuMemHostUnregister` has revoked the device's access.
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
        let registration = match bytes {
            0 => None,
            // SAFETY: 1: the loan below drops it before this function returns or unwinds, and the slice is borrowed until then. No graph
            // keeps the allocation: the view refuses captures.
            _ => Some(unsafe { Registration::new(self, start.cast(), bytes, flags)? }),
        };
        // SAFETY: 1: what is lent is borrowed until this function returns or unwinds, before which the end of the loan waits for its work.
        let allocation = unsafe { Allocation::new(0, self, Origin::Borrowed) };
        let mut loan = Loan(allocation, registration);
        let start = NonNull::new(start).unwrap_or(NonNull::dangling());
        let result = scope(PinnedViewMut::new(start, len, &loan.0, Some(thread::current().id())));
        loan.end().and(result)
    }
}

/// Borrowed memory while it is registered: dropping this waits, even if the scope unwinds.
///
/// The borrow ends with this value, so nothing can be parked or leaked instead: the wait must succeed, and does so for each stream,
/// even during captures (`StreamAccesses::end_of_loan`). If the driver refuses every way to wait, the only thing left is to unregister
/// the memory: the device cannot access pages that the driver has released.
struct Loan(Arc<Allocation>, Option<Registration>);

impl Loan {
    fn end(&mut self) -> Result<(), Error> {
        // What is lent is given out as views alone, never as an address: no other work can use it.
        let waited = self.0.accesses().end_of_loan();
        let ended = self.1.take().map_or(Ok(()), |mut registration| registration.end());
        waited.and(ended).and(self.0.context().faulted())
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // There is something left only after a panic; its error is not the one to tell.
        if self.1.is_some() {
            let _ = self.end();
        }
    }
}
