//! Errors about the state of the process: a faulted context, a fork, a capture.

use cuda_driver_sys::CUresult;
use std::fmt;

/// A kernel faulted: CUDA is of no use to this process any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faulted {
    /// What the driver answered first.
    pub code: CUresult,
    /// The driver function that answered it; seldom the one that is to blame.
    pub call: &'static str,
    /// The launches that may have been it, on each stream the oldest first.
    pub suspects: Vec<Suspect>,
}

/// A launch that had not ended when a fault was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Suspect {
    /// A launch of this kernel.
    Kernel(String),
    /// A launch of a kernel whose module was unloaded since.
    Unloaded,
    /// Launches of the stream before those that are named.
    Earlier,
    /// Launches of the stream after those that are named.
    Later,
}

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(name) => f.write_str(name),
            Self::Unloaded => f.write_str("a kernel that is unloaded"),
            Self::Earlier => f.write_str("earlier ones"),
            Self::Later => f.write_str("later ones"),
        }
    }
}

impl fmt::Display for Faulted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}: a kernel faulted", self.call, self.code)?;
        match self.suspects.as_slice() {
            [] => f.write_str("; none of the launches that this crate knows was still running")?,
            [one] => write!(f, "; it was {one}, the only launch known that had not ended")?,
            more => {
                f.write_str("; it was one of these launches:")?;
                for suspect in more {
                    write!(f, " {suspect},")?;
                }
                f.write_str(" none of which had ended")?;
            }
        }
        write!(f, "\n  help: {}", super::hint::RESTART)
    }
}

impl std::error::Error for Faulted {}

/// The process is a fork of the one that initialised CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forked {
    /// The driver function that refused.
    pub call: &'static str,
    /// The process that initialised CUDA.
    pub parent: u32,
    /// This process.
    pub child: u32,
}

impl fmt::Display for Forked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, parent, child } = self;
        write!(
            f,
            "{call}: process {child} is a fork of {parent}, which initialised CUDA: the driver serves only that one\n  help: \
             fork before the first call of CUDA, or start a new program instead (`spawn` in Python's multiprocessing)"
        )
    }
}

impl std::error::Error for Forked {}

/// Something that cannot be done while a stream is captured; the capture goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInCapture {
    /// The driver function that was not called.
    pub call: &'static str,
    /// What to do instead.
    pub help: &'static str,
}

impl fmt::Display for NotInCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, help } = self;
        write!(
            f,
            "{call} would break a capture: captured work only runs when its graph is launched, so there is nothing to wait for or to \
             give back, and host memory that is borrowed now may be gone then\n  help: {help}"
        )
    }
}

impl std::error::Error for NotInCapture {}
