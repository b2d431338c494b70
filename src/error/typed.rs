//! What can be wrong with a typed module and its launches.

use std::fmt;
use thiserror::Error;

/// None of the images of a typed module serves the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoArtifact {
    /// The device's, major and minor.
    pub compute_capability: (u32, u32),
    /// Every image, in the order in which the module names them.
    pub artifacts: Vec<ArtifactRefusal>,
}

/// An image that does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactRefusal {
    /// The file, as the module names it.
    pub path: String,
    /// What is in it: `PTX for sm_90a`.
    pub holds: Vec<String>,
    /// What the driver said, if it was asked.
    pub answer: Option<String>,
}

impl fmt::Display for NoArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(f, "no image of the module is for this device, sm_{major}{minor}:")?;
        for artifact in &self.artifacts {
            let holds =
                if artifact.holds.is_empty() { "nothing known".into() } else { artifact.holds.join(", ") };
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
pub struct ContractError {
    /// The kernel.
    pub kernel: String,
    /// What is required.
    pub required: String,
    /// What the launch has.
    pub given: String,
}
