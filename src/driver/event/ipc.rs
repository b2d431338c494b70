//! Events that several processes share.

#![allow(unsafe_code)] // Calls of the driver with live handles.

use cuda_driver_sys::{CUevent, CUipcEventHandle};
use std::fmt;
use std::ops::Deref;

use super::{AnyEvent, DISABLE_TIMING, EventFlags, INTERPROCESS};
use crate::driver::context::CudaContext;
use crate::error::Error;

/// An event that other processes can open, or one that another process created. It does not record time.
///
/// The emulator shares events only on Linux, and elsewhere returns `CUDA_ERROR_NOT_SUPPORTED` from the handle functions.
///
/// ```no_run
/// use cuda_launch::event::{EventFlags, IpcEvent, IpcEventHandle};
/// use cuda_launch::CudaContext;
/// # fn send(_: &[u8]) {}
/// # fn receive() -> [u8; 64] { [0; 64] }
/// let ctx = CudaContext::new(0)?;
/// let event = IpcEvent::new(&ctx, EventFlags::empty())?;
/// send(event.handle()?.as_bytes());
/// // in the other process:
/// let event = IpcEvent::open(&ctx, IpcEventHandle::from_bytes(receive()))?;
/// ctx.default_stream().wait(&event)?;
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "CUevent")]
pub struct IpcEvent(AnyEvent);

/// The handle of an [`IpcEvent`] for other processes: 64 bytes to send as they are.
///
/// ```
/// use cuda_launch::event::IpcEventHandle;
/// let handle = IpcEventHandle::from_bytes([7; 64]);
/// assert_eq!(handle.as_bytes(), &[7; 64]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[doc(alias = "CUipcEventHandle")]
pub struct IpcEventHandle([u8; 64]);

impl IpcEvent {
    /// Creates an event that other processes can open.
    ///
    /// Driver call: `cuEventCreate`, with `CU_EVENT_DISABLE_TIMING` and `CU_EVENT_INTERPROCESS`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuEventCreate")]
    pub fn new(context: &CudaContext, flags: EventFlags) -> Result<Self, Error> {
        AnyEvent::create(context, flags.bits() | INTERPROCESS | DISABLE_TIMING).map(Self)
    }

    /// Opens an event of another process. The process that created an event cannot open it.
    ///
    /// Driver call: `cuIpcOpenEventHandle`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` or `CUDA_ERROR_MAP_FAILED` for bytes that are not a handle, or any other error
    /// returned by the driver.
    #[doc(alias = "cuIpcOpenEventHandle")]
    pub fn open(context: &CudaContext, handle: IpcEventHandle) -> Result<Self, Error> {
        let raw_handle = CUipcEventHandle { reserved: handle.0.map(|byte| byte as _) };
        let opened = context.make(
            "cuIpcOpenEventHandle",
            String::new,
            // SAFETY: `make` made the context current; the output outlives the call; the handle is 64 bytes, which the driver checks.
            |driver, raw| unsafe { driver.cuIpcOpenEventHandle(raw, raw_handle) },
            // SAFETY: 1: the event was just opened, in this context; 2: its number is in this function alone.
            |raw| unsafe { AnyEvent::wrap(context, raw, true) },
        );
        opened.map(Self)
    }

    /// The handle for other processes.
    ///
    /// Driver call: `cuIpcGetEventHandle`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuIpcGetEventHandle")]
    pub fn handle(&self) -> Result<IpcEventHandle, Error> {
        let mut raw = CUipcEventHandle::default();
        // SAFETY: the event lives as long as this value (`AnyEvent::raw`); `raw` is a local, which outlives the call.
        self.context().call("cuIpcGetEventHandle", String::new, |driver| unsafe {
            driver.cuIpcGetEventHandle(&mut raw, self.raw())
        })?;
        Ok(IpcEventHandle(raw.reserved.map(|byte| byte as u8)))
    }

    /// Releases ownership of the event: the caller destroys it, by `cuEventDestroy`. No driver call.
    pub fn into_raw(self) -> CUevent {
        self.0.release()
    }

    /// Destroys the event now and returns any error.
    ///
    /// Driver call: `cuEventDestroy`. Other processes that opened it should have closed it before.
    ///
    /// # Errors
    /// Any error returned by the driver; the event is released in any case.
    #[doc(alias = "cuEventDestroy")]
    pub fn close(mut self) -> Result<(), Error> {
        self.0.destroy()
    }
}

impl Deref for IpcEvent {
    type Target = AnyEvent;

    fn deref(&self) -> &AnyEvent {
        &self.0
    }
}

impl IpcEventHandle {
    /// From the bytes that the other process sent. The driver checks whether they are a handle.
    pub const fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// The bytes to send.
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Debug for IpcEventHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IpcEventHandle(..)")
    }
}
