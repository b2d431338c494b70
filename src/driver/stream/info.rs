//! Properties of a stream: flags, priority, number, device; and the default stream of a thread.

#![allow(unsafe_code)] // Calls of the driver with a stream that its handle keeps.

use cuda_driver_sys::{self as sys, CUdevice};

use super::{CudaStream, StreamFlags};
use crate::driver::context::CudaContext;
use crate::error::Error;

/// The priorities that streams of a context can have; a lower number goes first.
///
/// ```
/// use cuda_launch::stream::StreamFlags;
/// use cuda_launch::{CudaContext, CudaStream};
/// let ctx = CudaContext::new(0)?;
/// let range = ctx.stream_priorities()?;
/// let urgent = CudaStream::new(&ctx, StreamFlags::NON_BLOCKING, range.greatest)?;
/// assert_eq!(urgent.priority()?, range.greatest);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPriorities {
    /// The number of the lowest priority, which streams have by default: 0.
    pub least: i32,
    /// The number of the highest priority: 0 or negative.
    pub greatest: i32,
}

impl CudaContext {
    /// The default stream of the thread that uses the handle: a different one on each thread.
    ///
    /// It synchronises with the legacy stream. A handle that moves to another thread refers to that thread's stream
    /// there; buffers distinguish the two, and wait for the context where they cannot wait for the stream. So a thread
    /// should synchronise its stream before the thread ends: other streams then need not wait for it, and buffers no
    /// longer remember it. The handle is `CU_STREAM_PER_THREAD`. No driver call.
    ///
    /// A [`GreenContext`](crate::device::GreenContext) has no such stream: driver 580 refuses every call that is given it
    /// with `CUDA_ERROR_INVALID_HANDLE` (400).
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// let stream = CudaContext::new(0)?.per_thread_stream();
    /// assert_eq!(DeviceBuffer::<u8>::zeroed(&stream, 4)?.to_host_vec(&stream)?, [0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[doc(alias = "CU_STREAM_PER_THREAD")]
    pub fn per_thread_stream(&self) -> CudaStream {
        // SAFETY: 1, 2: a special handle, which is not owned and is never destroyed; 3: only an `unsafe` call on the thread can capture its
        // stream, and what work other handles submit meanwhile is a duty of that call (`CudaStream::begin_capture`).
        unsafe { CudaStream::wrap(self, sys::CU_STREAM_PER_THREAD, false, None) }
    }

    /// The priorities that streams can have; both numbers are 0 if the device does not support priorities.
    ///
    /// Driver call: `cuCtxGetStreamPriorityRange`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let priorities = ctx.stream_priorities()?;
    /// assert!(priorities.greatest <= priorities.least);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuCtxGetStreamPriorityRange")]
    pub fn stream_priorities(&self) -> Result<StreamPriorities, Error> {
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: `call` made the context current; both outputs are locals, which outlive the call.
        self.call("cuCtxGetStreamPriorityRange", String::new, |driver| unsafe {
            driver.cuCtxGetStreamPriorityRange(&mut least, &mut greatest)
        })?;
        Ok(StreamPriorities { least, greatest })
    }
}

impl CudaStream {
    /// The flags that the stream was created with.
    ///
    /// Driver call: `cuStreamGetFlags`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::stream::StreamFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// assert!(stream.flags()?.contains(StreamFlags::NON_BLOCKING));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuStreamGetFlags")]
    pub fn flags(&self) -> Result<StreamFlags, Error> {
        let mut flags = 0;
        // SAFETY: the stream lives as long as this handle (`StreamInner`), and a default one is that of the context
        // that `call` made current; `flags` is a local, which outlives the call.
        self.context().call("cuStreamGetFlags", String::new, |driver| unsafe {
            driver.cuStreamGetFlags(self.raw(), &mut flags)
        })?;
        Ok(StreamFlags::from_bits_retain(flags))
    }

    /// The stream's priority; a lower number goes first.
    ///
    /// Driver call: `cuStreamGetPriority`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// assert_eq!(stream.priority()?, ctx.stream_priorities()?.least);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuStreamGetPriority")]
    pub fn priority(&self) -> Result<i32, Error> {
        let mut priority = 0;
        // SAFETY: the stream lives as long as this handle (`StreamInner`), and a default one is that of the context
        // that `call` made current; `priority` is a local, which outlives the call.
        self.context().call("cuStreamGetPriority", String::new, |driver| unsafe {
            driver.cuStreamGetPriority(self.raw(), &mut priority)
        })?;
        Ok(priority)
    }

    /// A number that no other stream in the process has, even after this one is destroyed.
    ///
    /// Driver call: `cuStreamGetId`, in drivers since CUDA 12.0.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// assert_ne!(stream.id()?, ctx.new_stream()?.id()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_unsupported`] on older drivers, or any error returned by the driver.
    #[doc(alias = "cuStreamGetId")]
    pub fn id(&self) -> Result<u64, Error> {
        let mut id = 0;
        // SAFETY: the stream lives as long as this handle (`StreamInner`), and a default one is that of the context
        // that `call` made current; `id` is a local, which outlives the call.
        self.context().call("cuStreamGetId", String::new, |driver| unsafe {
            driver.cuStreamGetId(self.raw(), &mut id)
        })?;
        Ok(id)
    }

    /// The device as the driver reports it: that of [`context`](Self::context), unless the handle was created from a
    /// raw one that belonged to something else.
    ///
    /// Driver call: `cuStreamGetDevice`, in drivers since CUDA 12.8.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] on older drivers, or any error returned by the driver.
    #[doc(alias = "cuStreamGetDevice")]
    pub fn device(&self) -> Result<CUdevice, Error> {
        let mut device = 0;
        // SAFETY: the stream lives as long as this handle (`StreamInner`), and a default one is that of the context
        // that `call` made current; `device` is a local, which outlives the call.
        self.context().call("cuStreamGetDevice", String::new, |driver| unsafe {
            driver.cuStreamGetDevice(self.raw(), &mut device)
        })?;
        Ok(device)
    }

    /// Whether the stream belongs to `context` according to the driver: a check for handles created from raw ones.
    ///
    /// Driver call: `cuStreamGetCtx`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// assert!(stream.belongs_to(&ctx)?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuStreamGetCtx")]
    pub fn belongs_to(&self, context: &CudaContext) -> Result<bool, Error> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the stream lives as long as this handle (`StreamInner`), and a default one is that of the context
        // that `call` made current; `raw` is a local, which outlives the call.
        self.context().call("cuStreamGetCtx", String::new, |driver| unsafe {
            driver.cuStreamGetCtx(self.raw(), &mut raw)
        })?;
        Ok(raw == context.raw())
    }
}
