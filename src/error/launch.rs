//! Errors about a launch: its dimensions, its shared memory, its attributes.

use std::fmt;
use thiserror::Error;

/// A dimension of a grid, block or cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // x, y, z
pub enum Axis {
    X,
    Y,
    Z,
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
        })
    }
}

/// A launch that the kernel or the device does not allow; nothing was submitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaunchError {
    /// A grid dimension is zero or exceeds the device's limit.
    #[error(
        "{kernel}: grid {axis} is {value} blocks; this device supports 1 to {limit}{}",
        size_help(*value, "put more blocks on x, or let each thread handle several elements")
    )]
    Grid {
        /// The kernel.
        kernel: String,
        /// Which dimension.
        axis: Axis,
        /// Number of blocks requested.
        value: u32,
        /// The device's limit, in blocks.
        limit: u32,
    },
    /// A block dimension is zero or exceeds the device's limit.
    #[error(
        "{kernel}: block {axis} is {value} threads; this device supports 1 to {limit}{}",
        size_help(*value, "use smaller blocks, and more of them")
    )]
    Block {
        /// The kernel.
        kernel: String,
        /// Which dimension.
        axis: Axis,
        /// Number of threads requested.
        value: u32,
        /// The device's limit, in threads.
        limit: u32,
    },
    /// The block has more threads than the kernel and the device allow.
    #[error(
        "{kernel}: a block of {x} x {y} x {z} = {threads} threads; the kernel takes at most {limit} here{why}",
        x = block.0, y = block.1, z = block.2
    )]
    Threads {
        /// The kernel.
        kernel: String,
        /// The block size requested.
        block: (u32, u32, u32),
        /// The number of threads in it.
        threads: u64,
        /// The limit.
        limit: u32,
        /// Where the limit comes from, and what to do.
        why: String,
    },
    /// The kernel was compiled for one block size (`.reqntid`) and got another.
    #[error(
        "{kernel}: block is {given:?}; the kernel was compiled for exactly {required:?} (`.reqntid`)\n  help: launch it with that block"
    )]
    RequiredBlock {
        /// The kernel.
        kernel: String,
        /// The block size requested.
        given: (u32, u32, u32),
        /// The only block size allowed.
        required: (u32, u32, u32),
    },
    /// More dynamic shared memory than the kernel may currently use.
    #[error(
        "{kernel}: {value} bytes of dynamic shared memory, and {fixed} static; the kernel may use {limit} dynamic\n  help: {help}"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Dynamic bytes requested.
        value: u32,
        /// Static bytes used by the kernel.
        fixed: u32,
        /// Dynamic bytes currently allowed.
        limit: u32,
        /// How to raise the limit, or that it cannot be raised.
        help: String,
    },
    /// A cluster shape that the launch or the device does not support.
    #[error("{kernel}: cluster {cluster:?} over grid {grid:?}: {why}")]
    Cluster {
        /// The kernel.
        kernel: String,
        /// The cluster shape requested, in blocks.
        cluster: (u32, u32, u32),
        /// The grid, in blocks.
        grid: (u32, u32, u32),
        /// The rule that is broken.
        why: String,
    },
}

fn size_help(value: u32, too_large: &str) -> String {
    let help = if value == 0 { "skip the launch when there is nothing to do" } else { too_large };
    format!("\n  help: {help}")
}

/// A launch attribute that this driver or this launch does not support.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributeError {
    /// The driver is older than the attribute.
    #[error(
        "{kernel}: launch attribute {attribute} requires CUDA {}; this driver supports CUDA {}\n  help: update the driver, or omit the attribute",
        version(*since), version(*driver)
    )]
    TooNew {
        /// The kernel.
        kernel: String,
        /// The attribute's name in the driver, without its prefix.
        attribute: &'static str,
        /// The first version that has it, in the format of `cuDriverGetVersion` (12030 is 12.3).
        since: u32,
        /// This driver's version.
        driver: u32,
    },
    /// The attribute belongs to streams, not to launches.
    #[error(
        "{kernel}: {attribute} is a stream attribute; a launch cannot have it\n  help: set it with `CudaStream::set_attribute`"
    )]
    StreamOnly {
        /// The kernel.
        kernel: String,
        /// The attribute's name.
        attribute: &'static str,
    },
    /// The attribute belongs to launches, not to streams.
    #[error(
        "{attribute} is a launch attribute; a stream cannot have it\n  help: list it in `attributes:` of each launch"
    )]
    LaunchOnly {
        /// The attribute's name.
        attribute: &'static str,
    },
    /// More attributes than exist.
    #[error("{kernel}: {count} launch attributes; the limit is {limit}\n  help: give each attribute once")]
    TooMany {
        /// The kernel.
        kernel: String,
        /// Attributes given.
        count: usize,
        /// The maximum number.
        limit: usize,
    },
}

fn version(v: u32) -> String {
    format!("{}.{}", v / 1000, v % 1000 / 10)
}
