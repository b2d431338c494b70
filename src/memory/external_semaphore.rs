//! Semaphores of graphics APIs.

#![allow(unsafe_code)] // Calls of the driver with live handles, each owned by one value.

use cuda_driver_sys::{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_handle,
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_handle_win32, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, CUexternalSemaphore, CUexternalSemaphoreHandleType as K,
};
use std::ffi::c_void;
use std::sync::Arc;

use crate::driver::{CudaContext, CudaStream};
use crate::error::Error;

/// A handle by which a graphics API shares a semaphore (`CUexternalSemaphoreHandleType`).
#[derive(Debug)]
#[non_exhaustive]
pub enum ExternalSemaphoreHandle {
    /// A file descriptor of a semaphore that is signalled or not; the driver's from the import on, whether it succeeds or not.
    #[cfg(unix)]
    FileDescriptor(std::os::fd::OwnedFd),
    /// A file descriptor of a semaphore that counts; as above.
    #[cfg(unix)]
    TimelineFileDescriptor(std::os::fd::OwnedFd),
    /// A handle of Windows: which kind (`CUexternalSemaphoreHandleType`), and the handle, which whoever holds it closes.
    Windows(u32, *mut c_void),
}

/// A semaphore of a graphics API: streams wait for it and signal it.
///
/// Handles are cheap to clone; it is given back with the last one.
///
/// ```no_run
/// # #[cfg(unix)] {
/// use cuda_launch::{interop::{ExternalSemaphore, ExternalSemaphoreHandle}, CudaContext};
/// # let descriptor: std::os::fd::OwnedFd = unimplemented!();
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// // SAFETY: 1: a timeline semaphore that Vulkan exported.
/// let semaphore =
///     unsafe { ExternalSemaphore::import(&ctx, ExternalSemaphoreHandle::TimelineFileDescriptor(descriptor))? };
/// semaphore.wait(&stream, 1)?; // until Vulkan has drawn
/// semaphore.signal(&stream, 2)?; // Vulkan may draw again
/// # }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "CUexternalSemaphore")]
pub struct ExternalSemaphore {
    inner: Arc<Imported>,
}

#[derive(Debug)]
struct Imported {
    raw: CUexternalSemaphore,
    context: CudaContext,
}

// SAFETY: a CUexternalSemaphore may be used from every thread; the rest is Send and Sync.
unsafe impl Send for Imported {}
// SAFETY: as above; nothing is changed after construction.
unsafe impl Sync for Imported {}

impl ExternalSemaphore {
    /// Opens a semaphore.
    ///
    /// Driver call: `cuImportExternalSemaphore`.
    ///
    /// # Safety
    /// 1. The handle is of the kind it says.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` where there are no such semaphores, or whatever the driver answers. A file descriptor that a
    /// driver refuses may stay open: drivers close some of them, and closing it again could hit another file.
    #[doc(alias = "cuImportExternalSemaphore")]
    pub unsafe fn import(context: &CudaContext, handle: ExternalSemaphoreHandle) -> Result<Self, Error> {
        #[cfg(unix)]
        use std::os::fd::AsRawFd;
        let descriptor = |fd| CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_handle { fd };
        let (type_, raw_handle) = match &handle {
            #[cfg(unix)]
            ExternalSemaphoreHandle::FileDescriptor(fd) => {
                (K::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, descriptor(fd.as_raw_fd()))
            }
            #[cfg(unix)]
            ExternalSemaphoreHandle::TimelineFileDescriptor(fd) => {
                (K::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, descriptor(fd.as_raw_fd()))
            }
            ExternalSemaphoreHandle::Windows(kind, handle) => {
                let win32 = CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_handle_win32 {
                    handle: *handle,
                    name: std::ptr::null(),
                };
                (K(*kind), CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_handle { win32 })
            }
        };
        let description =
            CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC { type_, handle: raw_handle, flags: 0, reserved: [0; 16] };
        let mut raw = std::ptr::null_mut();
        let mut given = false;
        let imported = context.call(
            "cuImportExternalSemaphore",
            || format!("{handle:?}"),
            |driver| {
                given = true;
                // SAFETY: the description is whole and true, by the caller's promise; `raw` outlives the call.
                unsafe { driver.cuImportExternalSemaphore(&mut raw, &description) }
            },
        );
        // A driver owns the descriptor if it succeeds, and may have closed it if not. Closed twice, it could be a file that
        // another thread opened meanwhile; never closed, it is one descriptor too many.
        if given {
            std::mem::forget(handle);
        }
        imported?;
        Ok(Self { inner: Arc::new(Imported { raw, context: context.clone() }) })
    }

    /// Signals it when `stream` gets there: with `value` if it counts, or as the key of a keyed mutex.
    ///
    /// Driver call: `cuSignalExternalSemaphoresAsync`.
    ///
    /// # Errors
    /// The stream is of another context, or whatever the driver answers.
    #[doc(alias = "cuSignalExternalSemaphoresAsync")]
    pub fn signal(&self, stream: &CudaStream, value: u64) -> Result<(), Error> {
        stream.same_context(&self.inner.context, "the semaphore")?;
        let mut parameters = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS::default();
        parameters.params.fence.value = value;
        parameters.params.keyedMutex.key = value;
        let call = "cuSignalExternalSemaphoresAsync";
        // SAFETY: semaphore and stream are live; one of each is passed, which the driver copies.
        self.inner.context.call(
            call,
            || format!("value {value}"),
            |driver| unsafe {
                driver.cuSignalExternalSemaphoresAsync(&self.inner.raw, &parameters, 1, stream.raw())
            },
        )
    }

    /// Makes work given to `stream` from now on wait for it: until it counts at least `value`, or is that key of a keyed mutex.
    ///
    /// Driver call: `cuWaitExternalSemaphoresAsync`.
    ///
    /// # Errors
    /// The stream is of another context, or whatever the driver answers.
    #[doc(alias = "cuWaitExternalSemaphoresAsync")]
    pub fn wait(&self, stream: &CudaStream, value: u64) -> Result<(), Error> {
        stream.same_context(&self.inner.context, "the semaphore")?;
        let mut parameters = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS::default();
        parameters.params.fence.value = value;
        parameters.params.keyedMutex.key = value;
        // Without a limit.
        parameters.params.keyedMutex.timeoutMs = u32::MAX;
        let call = "cuWaitExternalSemaphoresAsync";
        // SAFETY: semaphore and stream are live; one of each is passed, which the driver copies.
        self.inner.context.call(
            call,
            || format!("value {value}"),
            |driver| unsafe {
                driver.cuWaitExternalSemaphoresAsync(&self.inner.raw, &parameters, 1, stream.raw())
            },
        )
    }

    /// The raw semaphore, valid as long as this handle.
    pub fn raw(&self) -> CUexternalSemaphore {
        self.inner.raw
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        // SAFETY: this value owned it; work that was given to streams is not concerned.
        let _ = self.context.give_back("cuDestroyExternalSemaphore", String::new, |driver| unsafe {
            driver.cuDestroyExternalSemaphore(self.raw)
        });
    }
}
