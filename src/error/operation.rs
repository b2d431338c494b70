//! Errors of asynchronous operations.

use std::fmt;
use std::time::Duration;

/// What is wrong with an operation, apart from what the driver says of its work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationError {
    /// The devices of the process were initialised before.
    AlreadyInitialised {
        /// The default device then.
        default: u32,
        /// The number of devices then.
        count: u32,
    },
    /// A device that operations were not told of.
    NoSuchDevice {
        /// The device asked for.
        device: u32,
        /// How many there are.
        count: u32,
    },
    /// A policy without a stream.
    NoStreams,
    /// The work was not done in time. It goes on, and what it uses is kept until it is done.
    TimedOut {
        /// The time it was given.
        limit: Duration,
    },
    /// The operation that several share failed when another of them ran it.
    SharedFailed {
        /// What it said then.
        message: String,
    },
    /// A launch whose dimensions were not set.
    NoLaunchConfig {
        /// The kernel.
        kernel: String,
    },
    /// A launch that a graph cannot take.
    RawAddress {
        /// The kernel.
        kernel: String,
    },
    /// A future was polled again after it was ready.
    Finished,
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyInitialised { default, count } => write!(
                f,
                "init_device_contexts was called before, with default device {default} of {count}; nothing was changed\n  help: call it \
                 once, early in `main`; `set_default_device` changes the default"
            ),
            Self::NoSuchDevice { device, count } => write!(
                f,
                "there is no device {device}: operations have devices 0 to {}",
                count.saturating_sub(1)
            ),
            Self::NoStreams => f.write_str("a scheduling policy needs at least one stream"),
            Self::TimedOut { limit } => write!(
                f,
                "the work was not done within {limit:?}; it goes on, and what it uses is kept until it is done\n  help: nothing stops a \
                 kernel but the end of the process"
            ),
            Self::SharedFailed { message } => {
                write!(f, "the operation behind this one failed before: {message}")
            }
            Self::NoLaunchConfig { kernel } => write!(
                f,
                "{kernel}: the launch has no configuration\n  help: set_launch_config(LaunchConfig::for_num_elems(n))"
            ),
            Self::RawAddress { kernel } => write!(
                f,
                "{kernel}: an address was given as a number (push_device_ptr): a graph cannot keep its memory\n  help: push_buffer or \
                 push_slice, and their `_mut` forms"
            ),
            Self::Finished => f.write_str("the future was polled after it had given its output"),
        }
    }
}

impl std::error::Error for OperationError {}
