//! The architectures of GPUs that devices can be modelled on.

mod model;
mod occupancy;

use std::fmt;
use std::str::FromStr;

use cuda_ptx::image::Arch;

pub(crate) use model::{Model, PORTABLE_CLUSTER};
pub use occupancy::{Fit, Limiter, Machine, Resources};

/// The architecture of a device, which decides what code runs on it and what its limits are.
///
/// ```
/// use cuda_emulator::Architecture;
///
/// assert_eq!(Architecture::default(), Architecture::Sm90);
/// assert_eq!(Architecture::Sm86.compute_capability(), (8, 6));
/// assert_eq!(Architecture::Sm120.to_string(), "sm_120");
/// assert_eq!("sm_75".parse(), Ok(Architecture::Sm75));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Architecture {
    /// `sm_75`: Turing.
    Sm75,
    /// `sm_80`: Ampere in data centres.
    Sm80,
    /// `sm_86`: Ampere.
    Sm86,
    /// `sm_89`: Ada Lovelace.
    Sm89,
    /// `sm_90`: Hopper.
    #[default]
    Sm90,
    /// `sm_100`: Blackwell in data centres.
    Sm100,
    /// `sm_120`: Blackwell.
    Sm120,
}

impl Architecture {
    /// All of them, ascending.
    pub const ALL: &[Architecture] = &[
        Architecture::Sm75,
        Architecture::Sm80,
        Architecture::Sm86,
        Architecture::Sm89,
        Architecture::Sm90,
        Architecture::Sm100,
        Architecture::Sm120,
    ];

    /// The number in its name: 86 for `sm_86`.
    pub const fn number(self) -> u32 {
        match self {
            Architecture::Sm75 => 75,
            Architecture::Sm80 => 80,
            Architecture::Sm86 => 86,
            Architecture::Sm89 => 89,
            Architecture::Sm90 => 90,
            Architecture::Sm100 => 100,
            Architecture::Sm120 => 120,
        }
    }

    /// Major and minor.
    pub const fn compute_capability(self) -> (u32, u32) {
        (self.number() / 10, self.number() % 10)
    }

    /// Whether PTX for that target runs on it (PTX ISA, `.target`): of an older or the same architecture; with `a` only of the same;
    /// with `f` of an older or the same one of its family, the same major version.
    #[doc(hidden)]
    pub fn runs(self, target: Arch) -> bool {
        let number = self.number();
        match target.suffix {
            None => target.sm <= number,
            Some('f') => target.sm <= number && target.sm / 10 == number / 10,
            Some(_) => target.sm == number,
        }
    }
}

/// A name that is none of an [`Architecture`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownArchitecture {
    name: String,
}

impl fmt::Display for UnknownArchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = Architecture::ALL.iter().map(Architecture::to_string).collect();
        write!(
            f,
            "no device can be of the architecture `{}`\n  help: there are {}",
            self.name,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownArchitecture {}

/// `sm_80` or `80`.
impl FromStr for Architecture {
    type Err = UnknownArchitecture;

    fn from_str(name: &str) -> Result<Architecture, UnknownArchitecture> {
        let number = name.strip_prefix("sm_").unwrap_or(name);
        let known = Architecture::ALL.iter().copied().find(|known| known.number().to_string() == number);
        known.ok_or_else(|| UnknownArchitecture { name: name.to_owned() })
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for architecture in Architecture::ALL {
            assert_eq!(architecture.to_string().parse(), Ok(*architecture));
        }
        assert_eq!("86".parse(), Ok(Architecture::Sm86));
        for wrong in ["", "sm_", "sm_90a", "90.0", "compute_90", "070", "sm_103"] {
            assert!(wrong.parse::<Architecture>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn targets_that_run() {
        let runs = |device: Architecture, target| Arch::from_name(target).map(|arch| device.runs(arch));
        for target in ["sm_52", "sm_90", "sm_90a"] {
            assert_eq!(runs(Architecture::Sm90, target), Some(true), "{target}");
        }
        for target in ["sm_100", "sm_100a", "sm_100f", "sm_120"] {
            assert_eq!(runs(Architecture::Sm90, target), Some(false), "{target}");
        }
        for target in ["sm_100f", "sm_100a", "sm_90"] {
            assert_eq!(runs(Architecture::Sm100, target), Some(true), "{target}");
        }
        for target in ["sm_120f", "sm_103"] {
            assert_eq!(runs(Architecture::Sm120, target), Some(true), "{target}");
        }
        for target in ["sm_90a", "sm_100f", "sm_100a", "sm_121", "sm_121f"] {
            assert_eq!(runs(Architecture::Sm120, target), Some(false), "{target}");
        }
    }
}
