//! Why an instance cannot be created or reset.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::engine::NEWEST_PTX;

/// An error of an [`Instance`](crate::Instance).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceError {
    /// The maximum number of instances are alive.
    NoSlot {
        /// The maximum number.
        slots: usize,
        /// How long the call waited for one of them.
        waited: Duration,
    },
    /// More devices than an emulator can have.
    Devices {
        /// The requested number.
        asked: u32,
        /// The maximum number.
        most: u32,
    },
    /// Architectures that are not one for each device.
    Architectures {
        /// The number of architectures.
        asked: usize,
        /// The requested number of devices, if it was set.
        devices: Option<u32>,
        /// The maximum number.
        most: usize,
    },
    /// A version of PTX that is not known.
    Ptx {
        /// Its major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
    /// A version that the emulator cannot simulate.
    Version {
        /// The requested version.
        asked: u32,
        /// The oldest one.
        oldest: u32,
        /// The newest one.
        newest: u32,
    },
    /// A reset in a callback of the instance, which would wait for itself.
    InCallback,
    /// A reset in a forked child, which has none of the instance's threads.
    Forked,
}

impl fmt::Display for InstanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstanceError::NoSlot { slots, waited } => write!(
                f,
                "all {slots} instances of this process are in use, and none was dropped in {waited:?}\n  help: drop one with all its drivers, \
                 run fewer tests at a time (`--test-threads`), or wait longer (`InstanceOptions::patience`)"
            ),
            InstanceError::Devices { asked, most } => {
                write!(f, "an emulator of {asked} devices; the limit is {most}\n  help: ask for fewer devices")
            }
            InstanceError::Architectures { asked, devices: Some(devices), .. } => write!(
                f,
                "{asked} architectures for {devices} devices\n  help: give one for each device, or one for all"
            ),
            InstanceError::Architectures { asked, most, .. } => {
                write!(f, "an emulator of {asked} architectures\n  help: give from 1 to {most}, one for each device")
            }
            InstanceError::Ptx { major, minor } => write!(
                f,
                "there is no PTX {major}.{minor} that the emulator knows\n  help: it knows the versions up to {}.{}",
                NEWEST_PTX.0, NEWEST_PTX.1
            ),
            InstanceError::Version { asked, oldest, newest } => write!(
                f,
                "the emulator cannot be a driver of version {asked}\n  help: it can be one from {oldest} (CUDA {}) to {newest} (CUDA {})",
                Version(*oldest),
                Version(*newest)
            ),
            InstanceError::Forked => {
                f.write_str("an instance cannot be reset in a forked child\n  help: make another one there")
            }
            InstanceError::InCallback => {
                f.write_str("an instance cannot be reset by its own callback, for whose end it waits\n  help: reset it on another thread")
            }
        }
    }
}

impl Error for InstanceError {}

/// `12.4` for 12040.
struct Version(u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}
