//! Errors of asynchronous operations.

use std::time::Duration;
use thiserror::Error;

/// What is wrong with an operation, apart from errors that the driver reports for its work.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The devices of the process were already initialised.
    #[error(
        "init_device_contexts was already called, with default device {default} of {count}; nothing was changed\n  help: call it \
         once, early in `main`; `set_default_device` changes the default"
    )]
    AlreadyInitialised {
        /// The default device at that time.
        default: u32,
        /// The number of devices at that time.
        count: u32,
    },
    /// A device that operations were not initialised with.
    #[error(
        "there is no device {device}: operations have devices 0 to {}\n  help: pass the number of devices to `init_device_contexts`",
        count.saturating_sub(1)
    )]
    NoSuchDevice {
        /// The requested device.
        device: u32,
        /// The number of devices.
        count: u32,
    },
    /// A policy without a stream.
    #[error("a scheduling policy has no streams\n  help: give it at least one stream")]
    NoStreams,
    /// More new streams for a policy than can be of use.
    #[error(
        "a scheduling policy of {count} new streams; the limit is {limit}\n  help: a device runs at most 128 kernels at a time, so a \
         few streams keep it busy; `RoundRobin::of` takes any number of existing streams"
    )]
    TooManyStreams {
        /// The requested number.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// The work was not done in time. It continues, and what it uses is kept alive until it is done.
    #[error(
        "the work did not finish within {limit:?}; it continues, and what it uses is kept until it ends\n  help: only the \
         end of the process stops a kernel"
    )]
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
    /// A shared operation failed when another of its users ran it.
    #[error("the shared operation failed earlier: {message}")]
    SharedFailed {
        /// The message of that failure.
        message: String,
    },
    /// A launch whose dimensions were not set.
    #[error(
        "{kernel}: the launch has no configuration\n  help: set_launch_config(LaunchConfig::for_num_elems(n))"
    )]
    NoLaunchConfig {
        /// The kernel.
        kernel: String,
    },
    /// A launch that a graph cannot contain.
    #[error(
        "{kernel}: an address was passed as a number (push_device_ptr), so a graph cannot keep its memory alive\n  help: use `ptr` or \
         `slice`, or their `_mut` forms"
    )]
    RawAddress {
        /// The kernel.
        kernel: String,
    },
    /// A future was polled again after it had completed.
    #[error(
        "the future was polled after it had completed\n  help: run the operation again for another result"
    )]
    Finished,
}
