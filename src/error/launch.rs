//! Launches that kernel, device or driver do not allow; nothing was submitted.

use std::fmt;

use super::kinds::{bytes, count};

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

/// One argument as the caller gave it; a slice is two of them, its address and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Size in bytes.
    pub size: usize,
    /// The Rust type, `address of [f32]`, or `length of [f32]`.
    pub type_name: String,
}

/// One parameter as the kernel declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Size in bytes.
    pub size: usize,
    /// The PTX type (`.f32`, `.b8[40]`), where the image says it.
    pub ty: Option<String>,
    /// Name in the image, if any.
    pub name: Option<String>,
}

/// An argument list that the kernel would have misread.
#[derive(Clone, Debug)]
pub struct ArgumentMismatch {
    /// The kernel.
    pub kernel: String,
    /// The arguments, one entry a parameter (a slice is two).
    pub given: Vec<Given>,
    /// The kernel's parameters.
    pub wanted: Vec<Wanted>,
    /// Index of the first difference.
    pub at: usize,
    /// The likely cause.
    pub guess: Option<String>,
}

impl fmt::Display for ArgumentMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kernel, at) = (&self.kernel, self.at);
        match (self.given.get(at), self.wanted.get(at)) {
            (Some(given), Some(wanted)) if given.size == wanted.size => write!(
                f,
                "{kernel}: argument {at} is of type `{}`; the kernel's parameter {at} is {}, {}",
                given.type_name,
                wanted.kind(),
                wanted.describe()
            )?,
            (Some(given), Some(wanted)) => write!(
                f,
                "{kernel}: argument {at} is {} ({}); the kernel's parameter {at} is {}",
                bytes(given.size),
                given.type_name,
                wanted.describe()
            )?,
            (None, Some(wanted)) => write!(
                f,
                "{kernel}: {} given, but the kernel has {}: parameter {at} ({}) has no argument",
                count(self.given.len(), "argument"),
                count(self.wanted.len(), "parameter"),
                wanted.describe()
            )?,
            (Some(given), None) => write!(
                f,
                "{kernel}: {} given, but the kernel has {}: argument {at} ({}) has no parameter",
                count(self.given.len(), "argument"),
                count(self.wanted.len(), "parameter"),
                given.type_name
            )?,
            (None, None) => write!(f, "{kernel}: arguments do not fit")?,
        }
        if let Some(guess) = &self.guess {
            write!(f, ". {guess}")?;
        }
        self.table(f)
    }
}

impl ArgumentMismatch {
    /// Both lists side by side, the first difference marked.
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given: Vec<String> =
            self.given.iter().map(|g| format!("{} ({})", g.type_name, bytes(g.size))).collect();
        let width = given.iter().map(|g| g.chars().count()).max().unwrap_or(0).max("arguments".len());
        write!(f, "\n      # {:width$} | parameters of {}", "arguments", self.kernel)?;
        for i in 0..given.len().max(self.wanted.len()) {
            let mark = if i == self.at { '>' } else { ' ' };
            let left = given.get(i).map_or("-", String::as_str);
            let right = self.wanted.get(i).map_or_else(|| "-".into(), Wanted::describe);
            write!(f, "\n  {mark} {i:3} {left:width$} | {right}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ArgumentMismatch {}

impl Wanted {
    /// In words, of one that is known to be either.
    fn kind(&self) -> &'static str {
        let is_float = self.ty.as_deref().is_some_and(|ty| ty.starts_with(".f") || ty.starts_with(".bf"));
        if is_float { "a floating-point number" } else { "an integer" }
    }

    fn describe(&self) -> String {
        match &self.ty {
            Some(ty) => format!("{} ({ty})", bytes(self.size)),
            None => bytes(self.size),
        }
    }
}

/// A launch that kernel or device do not allow; nothing was submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaunchError {
    /// A grid dimension is zero or over the device's limit.
    Grid {
        /// The kernel.
        kernel: String,
        /// Which dimension.
        axis: Axis,
        /// Blocks asked for.
        value: u32,
        /// The device's limit, in blocks.
        limit: u32,
    },
    /// A block dimension is zero or over the device's limit.
    Block {
        /// The kernel.
        kernel: String,
        /// Which dimension.
        axis: Axis,
        /// Threads asked for.
        value: u32,
        /// The device's limit, in threads.
        limit: u32,
    },
    /// The block has more threads than kernel and device allow together.
    Threads {
        /// The kernel.
        kernel: String,
        /// The block asked for.
        block: (u32, u32, u32),
        /// Threads in it.
        threads: u64,
        /// The limit.
        limit: u32,
        /// Where the limit comes from and what to do.
        why: String,
    },
    /// The kernel was compiled for one block size (`.reqntid`) and got another.
    RequiredBlock {
        /// The kernel.
        kernel: String,
        /// The block asked for.
        given: (u32, u32, u32),
        /// The only one allowed.
        required: (u32, u32, u32),
    },
    /// More dynamic shared memory than the kernel may use now.
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Dynamic bytes asked for.
        value: u32,
        /// Static bytes of the kernel.
        fixed: u32,
        /// Dynamic bytes allowed now.
        limit: u32,
        /// How to raise the limit, or that it cannot be raised.
        help: String,
    },
    /// A cluster shape that the launch or the device cannot have.
    Cluster {
        /// The kernel.
        kernel: String,
        /// The cluster asked for, in blocks.
        cluster: (u32, u32, u32),
        /// The grid, in blocks.
        grid: (u32, u32, u32),
        /// The rule that is broken.
        why: String,
    },
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grid { kernel, axis, value, limit } => write!(
                f,
                "{kernel}: grid {axis} is {value} blocks; this device takes 1 to {limit}{}",
                zero_help(*value)
            ),
            Self::Block { kernel, axis, value, limit } => write!(
                f,
                "{kernel}: block {axis} is {value} threads; this device takes 1 to {limit}{}",
                zero_help(*value)
            ),
            Self::Threads { kernel, block, threads, limit, why } => write!(
                f,
                "{kernel}: a block of {x} x {y} x {z} = {threads} threads; the kernel takes at most {limit} here{why}",
                x = block.0,
                y = block.1,
                z = block.2
            ),
            Self::RequiredBlock { kernel, given, required } => write!(
                f,
                "{kernel}: block is {given:?}; the kernel was compiled for exactly {required:?} (`.reqntid`)"
            ),
            Self::SharedMemory { kernel, value, fixed, limit, help } => write!(
                f,
                "{kernel}: {value} bytes of dynamic shared memory, and {fixed} static; the kernel may use {limit} dynamic\n  help: {help}"
            ),
            Self::Cluster { kernel, cluster, grid, why } => {
                write!(f, "{kernel}: cluster {cluster:?} over grid {grid:?}: {why}")
            }
        }
    }
}

impl std::error::Error for LaunchError {}

fn zero_help(value: u32) -> &'static str {
    if value == 0 { "; skip the launch when there is nothing to do" } else { "" }
}

/// A launch attribute that this driver or this launch cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributeError {
    /// The driver is older than the attribute.
    TooNew {
        /// The kernel.
        kernel: String,
        /// The attribute's name, as the driver has it without its prefix.
        attribute: &'static str,
        /// First version, as `cuDriverGetVersion` counts (12030 = 12.3).
        since: u32,
        /// This driver's version.
        driver: u32,
    },
    /// The attribute belongs to streams, not to launches.
    StreamOnly {
        /// The kernel.
        kernel: String,
        /// The attribute's name.
        attribute: &'static str,
    },
    /// The attribute belongs to launches, not to streams.
    LaunchOnly {
        /// The attribute's name.
        attribute: &'static str,
    },
    /// More attributes than exist.
    TooMany {
        /// The kernel.
        kernel: String,
        /// Attributes given.
        count: usize,
        /// How many are taken.
        limit: usize,
    },
}

impl fmt::Display for AttributeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooNew { kernel, attribute, since, driver } => write!(
                f,
                "{kernel}: launch attribute {attribute} came with CUDA {}; this driver is for CUDA {}: update it, or leave the attribute out",
                version(*since),
                version(*driver)
            ),
            Self::StreamOnly { kernel, attribute } => {
                write!(f, "{kernel}: {attribute} is an attribute of streams; a launch cannot have it")
            }
            Self::LaunchOnly { attribute } => write!(
                f,
                "{attribute} is an attribute of launches; a stream cannot have it\n  help: list it in `attributes:` of each launch"
            ),
            Self::TooMany { kernel, count, limit } => {
                write!(f, "{kernel}: {count} launch attributes; at most {limit} fit, give each once")
            }
        }
    }
}

impl std::error::Error for AttributeError {}

fn version(v: u32) -> String {
    format!("{}.{}", v / 1000, v % 1000 / 10)
}
