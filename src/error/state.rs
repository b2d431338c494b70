//! Errors about the state of the process: a faulted context, a fork, a capture.

use cuda_driver_sys::CUresult;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// A kernel faulted: this process can no longer use CUDA.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultError {
    /// The first error that the driver returned.
    pub code: CUresult,
    /// The driver function that returned it; rarely the cause.
    pub call: &'static str,
    /// The launches that may have caused it, the oldest first for each stream.
    pub unfinished: Vec<UnfinishedLaunch>,
    /// What the driver's log says about the fault, if the driver has a log (CUDA 12.9 and later) that names it. The emulator's has
    /// kernel, block, thread, address, what lies there, and the line in the PTX.
    pub log: Option<String>,
}

/// A launch that had not finished when a fault was detected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnfinishedLaunch {
    /// A launch of this kernel.
    Kernel(String),
    /// A launch of a kernel whose module has been unloaded since.
    Unloaded,
    /// Launches of the stream before those that are named.
    Earlier,
    /// Launches of the stream after those that are named.
    Later,
}

impl fmt::Display for UnfinishedLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(name) => f.write_str(name),
            Self::Unloaded => f.write_str("a kernel whose module was unloaded"),
            Self::Earlier => f.write_str("earlier ones"),
            Self::Later => f.write_str("later ones"),
        }
    }
}

impl fmt::Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}: a kernel faulted", self.call, self.code)?;
        match self.unfinished.as_slice() {
            [] => f.write_str("; none of the launches known to this crate was still running")?,
            [one] => write!(f, ": {one}, the only launch known to this crate that had not ended")?,
            more => {
                f.write_str(": one of these launches, which had not ended:")?;
                for (index, launch) in more.iter().enumerate() {
                    write!(f, "{} {launch}", if index == 0 { "" } else { "," })?;
                }
            }
        }
        match &self.log {
            Some(log) => write!(f, "\n  driver's log: {log}\n  help: {}", super::hint::UNUSABLE),
            None => write!(f, "\n  help: {}. {}", super::hint::UNUSABLE, super::hint::LOOK),
        }
    }
}

impl std::error::Error for FaultError {}

/// The process was forked from one that had already initialised CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{call}: process {child} was forked from process {parent} after CUDA was initialised, so it cannot use CUDA\n  help: \
     fork before the first CUDA call, or start a new program instead (`spawn` in Python's multiprocessing)"
)]
#[non_exhaustive]
pub struct ForkError {
    /// The driver function that failed.
    pub call: &'static str,
    /// The process that initialised CUDA.
    pub parent: u32,
    /// This process.
    pub child: u32,
}

/// Something that cannot be done while a stream is being captured; the capture continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{call} would break a capture: captured work only runs when its graph is launched, so there is nothing to wait for or to \
     free now, and host memory that is borrowed now may no longer exist then\n  help: {help}"
)]
#[non_exhaustive]
pub struct RefusedInCapture {
    /// The driver function that was not called.
    pub call: &'static str,
    /// What to do instead.
    pub help: &'static str,
}

/// Another thread was about to submit work that uses the same memory and comes first, and did not for a long time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{call}: another thread has been about to submit work that must come first, since it uses memory of the same graph, for {} s\n  help: its \
     stream may be full; a host function in that stream must not wait for this thread",
    waited.as_secs()
)]
#[non_exhaustive]
pub struct StalledSubmission {
    /// The driver function that was not called.
    pub call: &'static str,
    /// How long this thread has waited.
    pub waited: Duration,
}
