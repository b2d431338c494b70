//! Which objects may be used together in one driver call.
//!
//! A driver dereferences a handle, so a handle of another driver crashes it; most calls also need objects of a single context. Only this file
//! decides this and words the errors; `tests/two_drivers.rs` finds every public function that takes two objects, and calls it with objects of two
//! drivers, and of two contexts of one.

use cuda_driver_sys::Driver;
use std::sync::Arc;

use super::context::CudaContext;
use super::device::CudaDevice;
use crate::error::{ContextMismatch, Error, ErrorKind};

impl CudaContext {
    /// An error unless `what`, of context `other`, is of this one, which is that of `with`.
    #[inline]
    pub(crate) fn same_context(&self, other: &Self, what: &str, with: &str) -> Result<(), Error> {
        if other.is_same(self) { Ok(()) } else { Err(mismatch((what, other), (with, self))) }
    }

    /// An error unless `what`, of context `other`, is of the driver of this one, which is that of `with`: for calls that take
    /// objects of two contexts.
    #[inline]
    pub(crate) fn same_driver(&self, other: &Self, what: &str, with: &str) -> Result<(), Error> {
        if Arc::ptr_eq(self.driver(), other.driver()) {
            return Ok(());
        }
        Err(mismatch((what, other), (with, self)))
    }

    /// The same for what belongs to a driver and to no context.
    pub(super) fn of_driver(&self, driver: &Arc<Driver>, what: &str, with: &str) -> Result<(), Error> {
        if Arc::ptr_eq(self.driver(), driver) {
            return Ok(());
        }
        Err(mismatched((what, self.ordinal(), driver), of_context(with, self)))
    }
}

impl CudaDevice {
    /// An error unless `what`, of device `other`, is of the driver of this one, which is that of `with`.
    pub(super) fn same_driver(&self, other: &Self, what: &str, with: &str) -> Result<(), Error> {
        if Arc::ptr_eq(self.driver(), other.driver()) {
            return Ok(());
        }
        Err(mismatched(of_device(what, other), of_device(with, self)))
    }

    /// The same for what is of a device.
    #[cfg(feature = "green-contexts")]
    pub(super) fn same_device(&self, other: &Self, what: &str, with: &str) -> Result<(), Error> {
        if other == self { Ok(()) } else { Err(mismatched(of_device(what, other), of_device(with, self))) }
    }
}

/// What does not fit, or what it does not fit to: its name, device and driver.
type Named<'n> = (&'n str, u32, &'n Arc<Driver>);

fn of_context<'n>(name: &'n str, context: &'n CudaContext) -> Named<'n> {
    (name, context.ordinal(), context.driver())
}

fn of_device<'n>(name: &'n str, device: &'n CudaDevice) -> Named<'n> {
    (name, device.ordinal(), device.driver())
}

/// The error for objects of two contexts; only this is in each function that compares them.
#[cold]
fn mismatch(object: (&str, &CudaContext), with: (&str, &CudaContext)) -> Error {
    mismatched(of_context(object.0, object.1), of_context(with.0, with.1))
}

/// The error for objects that do not belong together: the one that does not fit first.
#[cold]
fn mismatched((what, object, driver): Named<'_>, (with, stream, other): Named<'_>) -> Error {
    let (what, with, other_driver) = (what.into(), with.into(), !Arc::ptr_eq(driver, other));
    ErrorKind::Context(ContextMismatch { what, with, object, stream, other_driver }).into()
}
