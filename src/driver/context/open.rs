//! The list of all contexts that are open: how a raw context finds its handle.

#![allow(unsafe_code)] // Passes to `adopt` what a context must release at its end, as its duty requires.

use cuda_driver_sys::{CUcontext, Driver};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{ContextInner, CudaContext};
use crate::driver::device::CudaDevice;
use crate::driver::hold::Hold;
use crate::error::Error;

/// The open contexts. There is one `ContextInner` per driver and raw context, so all handles of a context are clones of one `Arc`,
/// and comparing addresses compares contexts. Each is stored with the address of its driver: a search upgrades the entries that it
/// examines for a moment, which must not affect contexts of another driver.
static OPEN: Mutex<Vec<(usize, Weak<ContextInner>)>> = Mutex::new(Vec::new());

/// [`OPEN`], locked.
///
/// Examined entries are dropped after the lock is released: one of them may be the last handle by then, and dropping it
/// may run any code.
pub(super) struct Open {
    list: MutexGuard<'static, Vec<(usize, Weak<ContextInner>)>>,
    seen: Vec<Arc<ContextInner>>,
}

impl Open {
    pub(super) fn lock() -> Self {
        // Nothing below the lock panics; a poisoned lock would still hold a whole list.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, context)| context.strong_count() != 0);
        Self { list: open, seen: Vec::new() }
    }

    pub(super) fn find(
        &mut self,
        driver: &Arc<Driver>,
        wanted: impl Fn(&ContextInner) -> bool,
    ) -> Option<Arc<ContextInner>> {
        self.of_driver(driver).find(|context| wanted(context)).cloned()
    }

    /// The open contexts of a driver.
    fn of_driver(&mut self, driver: &Arc<Driver>) -> impl Iterator<Item = &Arc<ContextInner>> {
        let driver = Arc::as_ptr(driver).addr();
        let of_driver = self.list.iter().filter(|(other, _)| *other == driver);
        self.seen.extend(of_driver.filter_map(|(_, context)| context.upgrade()));
        self.seen.iter()
    }

    /// Those of a device.
    pub(super) fn of_device(&mut self, device: &CudaDevice) -> impl Iterator<Item = &Arc<ContextInner>> {
        self.of_driver(device.driver()).filter(move |context| context.device == *device)
    }

    /// See [`CudaContext::adopt`]; an error comes with the hold, to be given up when the list is not locked.
    ///
    /// # Safety
    /// 1. As duty 1 of [`CudaContext::adopt`].
    pub(super) unsafe fn adopt(
        &mut self,
        device: &CudaDevice,
        raw: CUcontext,
        hold: Hold,
    ) -> Result<CudaContext, (Error, Hold)> {
        if let Some(inner) = self.find(device.driver(), |c| c.raw == raw) {
            inner.holds.lock().unwrap_or_else(PoisonError::into_inner).push(hold);
            return Ok(CudaContext { inner });
        }
        // SAFETY: 1: the caller's duty 1; `hold`, which the value gets, keeps the context, or its owner does, as is said there.
        match unsafe { ContextInner::new(device.clone(), raw) } {
            Ok(inner) => {
                inner.holds.lock().unwrap_or_else(PoisonError::into_inner).push(hold);
                let green_beside = self.of_device(device).any(|c| c.green_beside.load(Ordering::SeqCst));
                inner.green_beside.store(green_beside, Ordering::SeqCst);
                self.list.push((Arc::as_ptr(device.driver()).addr(), Arc::downgrade(&inner)));
                Ok(CudaContext { inner })
            }
            Err(error) => Err((error, hold)),
        }
    }
}
