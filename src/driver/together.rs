//! Which objects may be used together in one driver call.
//!
//! A driver dereferences a handle, so a handle of another driver crashes it; most calls also need objects of a single context. Only this file
//! decides this and words the errors; `tests/two_drivers.rs` finds every public function that takes two objects, and calls it with objects of two
//! drivers, and of two contexts of one.

use cuda_driver_sys::Driver;
use std::sync::Arc;

use super::context::CudaContext;
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
        let (object, stream) = (self.ordinal(), self.ordinal());
        let (what, with) = (what.into(), with.into());
        Err(ErrorKind::Context(ContextMismatch { what, with, object, stream, other_driver: true }).into())
    }
}

/// The error for objects that do not belong together: the one that does not fit first.
#[cold]
fn mismatch(object: (&str, &CudaContext), with: (&str, &CudaContext)) -> Error {
    ErrorKind::Context(ContextMismatch {
        what: object.0.into(),
        with: with.0.into(),
        object: object.1.ordinal(),
        stream: with.1.ordinal(),
        other_driver: !Arc::ptr_eq(object.1.driver(), with.1.driver()),
    })
    .into()
}
