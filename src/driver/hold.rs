//! What keeps a context alive, and how it is released.

#![allow(unsafe_code)] // Each hold is released once, by the value that owns it.

use cuda_driver_sys::{CUcontext, process};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::context::work::OwnStream;
use super::device::CudaDevice;
#[cfg(feature = "async")]
use super::event::EventPool;
use crate::error::{Error, check};

/// One reason why a context lives: what a variant says is so of its context, once for each value.
pub(super) enum Hold {
    /// The device's primary context, retained once.
    Retained,
    /// A context that this crate created.
    Created,
    /// A context that other code keeps alive; so does this, if it is given.
    Foreign(Option<Arc<dyn Any + Send + Sync>>),
    /// Nothing has to be released any more.
    Released,
}

impl Hold {
    /// Releases it after an error, and returns that error.
    ///
    /// # Safety
    /// 1. As duty 1 of [`Hold::release`].
    pub(super) unsafe fn give_up(mut self, device: &CudaDevice, raw: CUcontext, error: Error) -> Error {
        // SAFETY: 1: the caller's duty 1.
        let _ = unsafe { self.release(device, raw) };
        error
    }

    /// Releases it, once.
    ///
    /// # Safety
    /// 1. It is a hold on `raw`, a context of this device, and no user that relies on this hold uses the context any
    ///    more.
    pub(super) unsafe fn release(&mut self, device: &CudaDevice, raw: CUcontext) -> Result<(), Error> {
        let asked = || format!("device {}", device.ordinal());
        match std::mem::replace(self, Self::Released) {
            Self::Retained => {
                // SAFETY: the hold represents one retain of this device's primary context, and was just replaced by
                // `Released`: so it is released once, for a device handle that the driver returned. By duty 1 no user
                // that relies on it uses the context any more.
                let code = unsafe { device.driver().cuDevicePrimaryCtxRelease(device.raw()) };
                check(code, "cuDevicePrimaryCtxRelease", asked)
            }
            Self::Created => {
                // SAFETY: this crate created the context and destroys it once, as above. By duty 1 it is `raw`, and no
                // user relies on it any more: every object of the context has a handle to it, and with that this hold.
                let code = unsafe { device.driver().cuCtxDestroy(raw) };
                check(code, "cuCtxDestroy", asked)
            }
            Self::Foreign(owner) => {
                drop(owner);
                Ok(())
            }
            Self::Released => Ok(()),
        }
    }
}

/// The objects that a context created for its own use, and destroys before it ends.
pub(super) struct OwnObjects {
    #[cfg(feature = "async")]
    pub(super) events: EventPool,
    pub(super) freeing: Option<OwnStream>,
}

/// What the end of a context has to do, on any thread where the driver may be called.
pub(super) struct ContextEnd {
    /// To be released together; none where that was done.
    pub(super) holds: Vec<Hold>,
    pub(super) own: OwnObjects,
    pub(super) device: CudaDevice,
    pub(super) raw: CUcontext,
    /// The process that made the context; no other one destroys what is in it.
    pub(super) process: u32,
    /// Whether a fault ended all that is in it.
    pub(super) is_faulty: bool,
}

// SAFETY: a CUcontext may be used from every thread: of what a driver makes, its documents except graphs alone
// ("Graph object thread safety"). The rest is Send.
unsafe impl Send for ContextEnd {}

impl ContextEnd {
    /// Releases everything; returns the first error.
    pub(super) fn pay(mut self) -> Result<(), Error> {
        if !self.holds.is_empty() && self.process == process::id() {
            self.end_own();
        }
        let mut first = Ok(());
        for mut hold in self.holds {
            // SAFETY: 1: they are holds of `raw`, by duty 1 of `Open::adopt`, and come here together at the end of the
            // last handle; all that was made from the context had one, and its own things were destroyed above, or are
            // those of the process that this one was forked from.
            first = first.and(unsafe { hold.release(&self.device, self.raw) });
        }
        first
    }

    /// Destroys them even if the context cannot be made current: the error could not be reported.
    fn end_own(&mut self) {
        let driver = self.device.driver();
        if !self.is_faulty {
            // SAFETY: the context lives until `holds`, which are not empty, are given back: it is retained, or this
            // crate's, or an owner keeps it. Who lent it without one keeps it until all that was made from its handles
            // has ended, also what ends late, on another thread, and so until this returns: duty 2 of
            // `CudaContext::from_raw`.
            let _ = unsafe { driver.cuCtxSetCurrent(self.raw) };
        }
        #[cfg(feature = "async")]
        self.own.events.empty(driver);
        if let Some(stream) = self.own.freeing.take() {
            stream.destroy(driver);
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retained => "Retained",
            Self::Created => "Created",
            Self::Foreign(None) => "Borrowed",
            Self::Foreign(Some(_)) => "Owner",
            Self::Released => "Released",
        })
    }
}
