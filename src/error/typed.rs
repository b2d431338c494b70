//! Errors of typed modules and their launches.

use super::arguments::joined;
use std::fmt;
use thiserror::Error;

/// None of the images of a typed module fits the device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoArtifact {
    /// The device's compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Every image, in the order in which the module lists them.
    pub artifacts: Vec<ArtifactRefusal>,
}

/// An image that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArtifactRefusal {
    /// The file, as the module lists it.
    pub path: String,
    /// What it contains: `PTX for sm_90a`.
    pub holds: Vec<String>,
    /// What the driver reported, if it was called.
    pub answer: Option<String>,
}

impl fmt::Display for NoArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(f, "no image of the module is for this device, sm_{major}{minor}:")?;
        for artifact in &self.artifacts {
            let holds = if artifact.holds.is_empty() {
                "nothing known".into()
            } else {
                joined(&artifact.holds, ", ")
            };
            write!(f, "\n  {}: {holds}", artifact.path)?;
            if let Some(answer) = &artifact.answer {
                write!(f, "; {}", answer.replace('\n', "\n    "))?;
            }
        }
        write!(
            f,
            "\n  help: add PTX for sm_{major}{minor} or an older architecture: `#[cuda_module(\"a.cubin\", \"a.ptx\")]`"
        )
    }
}

impl std::error::Error for NoArtifact {}

/// A launch that the contract of its kernel does not allow; nothing was submitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{kernel}: its launch contract requires `{required}`; given: {given}")]
#[non_exhaustive]
pub struct ContractError {
    /// The kernel.
    pub kernel: String,
    /// What is required.
    pub required: String,
    /// What the launch specifies.
    pub given: String,
}

/// A texture, surface or tensor map that cannot be passed to a typed kernel together with its other arguments; nothing
/// was submitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectError {
    /// The kernel may write memory that another argument also reaches.
    #[error(
        "{kernel}: the arguments `{first}` and `{second}` reach the same memory, and the kernel may write it through one of them\n  \
         help: pass two different arrays or buffers, or declare both as `&` if the kernel only reads them"
    )]
    Aliased {
        /// The kernel.
        kernel: String,
        /// An argument.
        first: &'static str,
        /// The other one.
        second: &'static str,
    },
    /// The host may have a reference to the memory, and may write it while the kernel runs.
    #[error(
        "{kernel}: the texture `{object}` reads memory that the host may write while the kernel runs: pinned or managed\n  \
         help: make the texture from a `DeviceBuffer`, or declare the parameter as `TextureHandle`, which makes the method `unsafe`"
    )]
    SeenByHost {
        /// The kernel.
        kernel: String,
        /// The argument.
        object: &'static str,
    },
}

impl From<ObjectError> for super::Error {
    fn from(error: ObjectError) -> Self {
        super::ErrorKind::from(error).into()
    }
}
