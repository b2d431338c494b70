//! Errors about devices and contexts.

use std::fmt;

/// An attempt to reset a primary context while handles to it exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextInUse {
    /// Ordinal of the device.
    pub device: u32,
}

impl fmt::Display for ContextInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the primary context of device {} is in use by this program\n  \
             help: drop every CudaContext of it, and all that was made from them, before the reset",
            self.device
        )
    }
}

impl std::error::Error for ContextInUse {}

/// Objects of two different contexts in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextMismatch {
    /// The object that does not fit.
    pub what: String,
    /// What the call runs on.
    pub with: String,
    /// Ordinal of the device that the object belongs to.
    pub object: u32,
    /// Ordinal of the device that the call runs on.
    pub stream: u32,
    /// Whether they belong to two different drivers: their ordinals are then unrelated.
    pub other_driver: bool,
}

impl fmt::Display for ContextMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, with, object, stream, other_driver } = self;
        if *other_driver {
            write!(f, "{what} and {with} belong to different drivers")?;
        } else if object == stream {
            write!(f, "{what} and {with} belong to different contexts of device {object}")?;
        } else {
            write!(f, "{what} belongs to device {object}, {with} to device {stream}")?;
        }
        f.write_str(match other_driver {
            true => "\n  help: open both with the same driver",
            false => "\n  help: create both from the same CudaContext",
        })
    }
}

impl std::error::Error for ContextMismatch {}
