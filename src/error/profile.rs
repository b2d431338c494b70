//! Profiles of launches that are not emulated.

use thiserror::Error;

/// No kernel was counted: only the emulator inside this program counts, and only what the calling thread launches.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "no kernel was counted on device \"{device}\": only the emulator that is compiled into this program counts, and only what \
     the calling thread launches\n  help: CUDA_LAUNCH_DRIVER=emulator chooses it"
)]
#[non_exhaustive]
pub struct NotEmulated {
    /// The name of the context's device.
    pub device: String,
}
