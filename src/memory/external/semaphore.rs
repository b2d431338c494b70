//! Semaphores of graphics APIs.

#![allow(unsafe_code)] // Calls of the driver with live handles, each owned by one value.

use cuda_driver_sys::{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_handle,
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_handle_win32, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, CUexternalSemaphore, CUexternalSemaphoreHandleType as K,
};
use std::ffi::c_void;
use std::sync::Arc;

use crate::driver::{CudaContext, CudaStream, Resource, StreamAccesses, end_or_try_again};
use crate::error::Error;
use crate::ordering::Submission;

/// A handle by which a graphics API shares a semaphore (`CUexternalSemaphoreHandleType`).
#[derive(Debug)]
#[non_exhaustive]
pub enum ExternalSemaphoreHandle {
    /// A file descriptor of a binary semaphore; owned by the driver from the import on, whether it succeeds or not.
    #[cfg(unix)]
    FileDescriptor(std::os::fd::OwnedFd),
    /// A file descriptor of a timeline semaphore; as above.
    #[cfg(unix)]
    TimelineFileDescriptor(std::os::fd::OwnedFd),
    /// A Windows handle: its kind (`CUexternalSemaphoreHandleType`), and the handle, which its holder closes.
    Windows(u32, *mut c_void),
}

// SAFETY: a handle of Windows belongs to the process, not to a thread, and nothing here follows it; the rest is Send and Sync.
unsafe impl Send for ExternalSemaphoreHandle {}
// SAFETY: as above; a shared handle is only read.
unsafe impl Sync for ExternalSemaphoreHandle {}

/// A semaphore of a graphics API: streams wait for it and signal it.
///
/// Handles are cheap to clone; the semaphore is released with the last one, which waits for the streams that wait for
/// it or signal it.
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
    /// Null once it is released.
    raw: CUexternalSemaphore,
    context: CudaContext,
    /// The streams that were given a wait or a signal. All count as readers: a signal must not wait for the wait that it ends.
    accesses: StreamAccesses,
}

// SAFETY: a CUexternalSemaphore may be used from every thread: of what a driver makes, its documents except graphs alone ("Graph
// object thread safety"). The rest is Send and Sync.
unsafe impl Send for Imported {}
// SAFETY: as above; the handle is only copied through a shared reference.
unsafe impl Sync for Imported {}

impl Resource for Imported {
    fn accesses(&self) -> &StreamAccesses {
        &self.accesses
    }

    fn escape(&self) {
        // No object is made of it.
    }
}

impl ExternalSemaphore {
    /// Imports a semaphore.
    ///
    /// Driver call: `cuImportExternalSemaphore`.
    ///
    /// # Safety
    /// 1. The handle is live, and of the kind that it claims.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` if such semaphores are not supported, or any error returned by the driver. A file
    /// descriptor that a driver rejects may stay open: drivers close some of them, and closing it again could close an
    /// unrelated file.
    #[doc(alias = "cuImportExternalSemaphore")]
    pub unsafe fn import(context: &CudaContext, handle: ExternalSemaphoreHandle) -> Result<Self, Error> {
        #[cfg(unix)]
        use std::os::fd::AsRawFd;
        #[cfg(unix)]
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
        let asked = format!("{handle:?}");
        let inner = context.make(
            "cuImportExternalSemaphore",
            || asked,
            |driver, raw| {
                // A driver owns the descriptor if it succeeds, and may have closed it if not. Closed twice, it could be a file that
                // another thread opened meanwhile; never closed, it is one descriptor too many.
                std::mem::forget(handle);
                // SAFETY: the description names the handle, which stays open, as what the caller's duty 1 says it is; it and the place
                // outlive the call.
                unsafe { driver.cuImportExternalSemaphore(raw, &description) }
            },
            |raw| Imported { raw, context: context.clone(), accesses: StreamAccesses::new(context.owner()) },
        )?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Signals it when `stream` reaches this point: with `value` for a timeline semaphore, or as the key of a keyed
    /// mutex.
    ///
    /// Driver call: `cuSignalExternalSemaphoresAsync`.
    ///
    /// # Errors
    /// The stream belongs to another context or captures, or any error returned by the driver.
    #[doc(alias = "cuSignalExternalSemaphoresAsync")]
    pub fn signal(&self, stream: &CudaStream, value: u64) -> Result<(), Error> {
        let mut parameters = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS::default();
        parameters.params.fence.value = value;
        parameters.params.keyedMutex.key = value;
        let call = "cuSignalExternalSemaphoresAsync";
        let work = self.work(stream, call)?;
        // SAFETY: semaphore and stream live as long as their handles (`Imported::raw`, `StreamInner`), and `work` found them to be of one
        // context; one semaphore with its parameters is passed, as is said, which the driver copies. The semaphore goes after the work,
        // which has noted that it uses it.
        work.call(
            call,
            || format!("value {value}"),
            |driver| unsafe {
                driver.cuSignalExternalSemaphoresAsync(&self.inner.raw, &parameters, 1, stream.raw())
            },
        )
    }

    /// Makes work submitted to `stream` from now on wait for it: until a timeline semaphore has reached `value`, or a
    /// keyed mutex has that key.
    ///
    /// Driver call: `cuWaitExternalSemaphoresAsync`.
    ///
    /// # Errors
    /// The stream belongs to another context or captures, or any error returned by the driver.
    #[doc(alias = "cuWaitExternalSemaphoresAsync")]
    pub fn wait(&self, stream: &CudaStream, value: u64) -> Result<(), Error> {
        let mut parameters = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS::default();
        parameters.params.fence.value = value;
        parameters.params.keyedMutex.key = value;
        // Without a limit.
        parameters.params.keyedMutex.timeoutMs = u32::MAX;
        let call = "cuWaitExternalSemaphoresAsync";
        let work = self.work(stream, call)?;
        // SAFETY: semaphore and stream live as long as their handles (`Imported::raw`, `StreamInner`), and `work` found them to be of one
        // context; one semaphore with its parameters is passed, as is said, which the driver copies. The semaphore goes after the work,
        // which has noted that it uses it.
        work.call(
            call,
            || format!("value {value}"),
            |driver| unsafe {
                driver.cuWaitExternalSemaphoresAsync(&self.inner.raw, &parameters, 1, stream.raw())
            },
        )
    }

    /// Announces work that uses the semaphore. A graph would not keep it.
    fn work<'s>(&self, stream: &'s CudaStream, call: &'static str) -> Result<Submission<'s>, Error> {
        stream.same_context(&self.inner.context, "the semaphore")?;
        stream.refuse_in_capture(call)?;
        let mut work = Submission::on(stream);
        work.reads(&self.inner)?;
        Ok(work)
    }

    /// The raw semaphore, valid as long as this handle lives.
    pub fn raw(&self) -> CUexternalSemaphore {
        self.inner.raw
    }
}

impl Imported {
    /// Gives it back after the work that uses it, once. Where that must not be now, it stays.
    fn destroy(&mut self) -> Result<(), Error> {
        self.context.may_give_back("cuDestroyExternalSemaphore")?;
        // "Any outstanding signals or waits must have completed" (driver API).
        self.accesses.end(&self.context, false)?;
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        // SAFETY: this value owned it, and destroys it once, as `raw` was replaced by null; this is the end of what its
        // handles share, so that none is left, and `end` has waited for the work that used it.
        self.context.give_back("cuDestroyExternalSemaphore", String::new, |driver| unsafe {
            driver.cuDestroyExternalSemaphore(raw)
        })
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        if self.raw.is_null() {
            return;
        }
        end_or_try_again(self, Self::destroy, |semaphore| {
            let raw = std::mem::replace(&mut semaphore.raw, std::ptr::null_mut());
            let rest =
                || Self { raw, context: semaphore.context.clone(), accesses: semaphore.accesses.take() };
            (!raw.is_null()).then(rest)
        });
    }
}
