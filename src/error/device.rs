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
