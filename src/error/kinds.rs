//! The kinds of error, each with its values.

use cuda_driver_sys::{CUresult, LoadError};
use cuda_ptx::image::ImageError;
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

use super::memory::{AliasedMemory, BadMapping, DlPackError, HostAccess, Misaligned};
use super::state::{Faulted, Forked, NotInCapture};
/// The contents of an [`Error`](crate::Error).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A driver call failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A driver library could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No usable driver: none was found, or none has a device.
    #[error(transparent)]
    NoDriver(#[from] NoDriver),
    /// The argument list does not fit the kernel.
    #[error(transparent)]
    Arguments(#[from] ArgumentMismatch),
    /// The grid, block, cluster or shared memory size is not allowed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A launch attribute cannot be used here.
    #[error(transparent)]
    Attribute(#[from] AttributeError),
    /// Objects of two different contexts in one call.
    #[error(transparent)]
    Context(#[from] ContextMismatch),
    /// A call inside a host function of a stream.
    #[error(transparent)]
    InHostCallback(#[from] super::InHostCallback),
    /// Host functions of a stream panicked.
    #[error(transparent)]
    HostPanic(#[from] super::HostPanic),
    /// Two events between which no time can be measured.
    #[error(transparent)]
    Event(#[from] super::EventError),
    /// A context that cannot be reset because it is in use.
    #[error(transparent)]
    ContextInUse(#[from] super::ContextInUse),
    /// The bytes are not a kernel image, or are a damaged one.
    #[error("{origin}: {error}{}", source_help(error))]
    Image {
        /// The file, or "image in memory".
        origin: String,
        /// What is wrong, and where.
        error: ImageError,
    },
    /// The driver's compiler rejected the image.
    #[error(transparent)]
    Compiler(#[from] CompilerLog),
    /// A run-time compiler is missing, or rejected its input.
    #[error(transparent)]
    Compile(#[from] super::CompileError),
    /// No kernel of this name.
    #[error(transparent)]
    Kernel(#[from] KernelNotFound),
    /// No module file of this name.
    #[error(transparent)]
    Module(#[from] ModuleNotFound),
    /// A variable of a module cannot be accessed as requested.
    #[error(transparent)]
    Global(#[from] super::module::GlobalError),
    /// The driver is too old for the request.
    #[error(transparent)]
    Unsupported(#[from] super::module::Unsupported),
    /// A file could not be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A stream capture does not allow this.
    #[error(transparent)]
    Capture(#[from] super::CaptureError),
    /// A graph, a node of one, or a change of either.
    #[error(transparent)]
    Graph(#[from] super::GraphError),
    /// An argument of a launch plan.
    #[error(transparent)]
    Plan(#[from] super::PlanError),
    /// An asynchronous operation.
    #[cfg(feature = "async")]
    #[error(transparent)]
    Operation(#[from] super::OperationError),
    /// Two lengths that must be equal differ.
    #[error(transparent)]
    Length(#[from] LengthMismatch),
    /// A region of rows and planes that is not inside its memory.
    #[error(transparent)]
    Region(#[from] super::region::RegionError),
    /// A texture or surface that cannot be made.
    #[error(transparent)]
    Texture(#[from] super::texture::TextureError),
    /// A tensor map that the hardware does not support.
    #[error(transparent)]
    TensorMap(#[from] super::texture::TensorMapError),
    /// A range that is not inside its buffer.
    #[error(transparent)]
    Range(#[from] super::region::IndexRange),
    /// Device memory cannot be viewed as elements of this type.
    #[error(transparent)]
    Cast(#[from] super::region::CastError),
    /// A buffer of this many elements would exceed the address space.
    #[error(
        "{len} elements of {size} bytes exceed the address space of {} bytes\n  help: check the length; a negative number \
         made unsigned looks like this",
        usize::MAX
    )]
    Capacity {
        /// Number of elements requested.
        len: usize,
        /// Size of one element, in bytes.
        size: usize,
    },
    /// A kernel faulted, in this call or an earlier one.
    #[error(transparent)]
    Faulted(#[from] Faulted),
    /// This process is a fork of the one that initialised CUDA.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// A stream that captures cannot do this.
    #[error(transparent)]
    NotInCapture(#[from] NotInCapture),
    /// The host may not access memory that it shares with the device.
    #[error(transparent)]
    HostAccess(#[from] HostAccess),
    /// A tensor from another library does not match the request.
    #[error(transparent)]
    DlPack(#[from] DlPackError),
    /// Memory cannot be mapped there.
    #[error(transparent)]
    Mapping(#[from] BadMapping),
    /// Memory that is misaligned for its elements.
    #[error(transparent)]
    Alignment(#[from] Misaligned),
    /// Memory that another buffer owns or may own.
    #[error(transparent)]
    Aliased(#[from] AliasedMemory),
    /// None of the images of a typed module fits the device.
    #[error(transparent)]
    Artifacts(#[from] super::NoArtifact),
    /// A launch that the contract of its kernel does not allow.
    #[error(transparent)]
    Contract(#[from] super::ContractError),
    /// A texture, surface or tensor map that conflicts with the other arguments.
    #[error(transparent)]
    Object(#[from] super::ObjectError),
    /// A name that cannot be passed to the driver.
    #[error("{name:?} is not a valid name: {reason}")]
    Name {
        /// The name as given.
        name: String,
        /// It is empty, or contains a NUL byte.
        reason: &'static str,
    },
}

/// A driver call that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DriverError {
    /// The driver function.
    pub call: &'static str,
    /// Its result.
    pub code: CUresult,
    /// What was requested, with values.
    pub asked: String,
    /// What the driver's log says of it, for launches and for what the driver or device does not support: drivers from CUDA
    /// 12.9 on have a log (`cuLogsDumpToMemory`), and so has the emulator.
    pub log: Option<String>,
    /// What to do next, if known.
    pub hint: Option<String>,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.call, self.code)?;
        if !self.asked.is_empty() {
            write!(f, ": {}", self.asked)?;
        }
        if let Some(log) = &self.log {
            write!(f, "\n  driver's log: {log}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for DriverError {}

/// No usable driver: everything that was tried, and why it failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NoDriver {
    /// What was tried, in order.
    pub tried: Vec<String>,
}

impl fmt::Display for NoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no usable CUDA driver:")?;
        for line in &self.tried {
            write!(f, "\n  - {}", line.replace('\n', "\n    "))?;
        }
        f.write_str(
            "\n  help: install NVIDIA's driver, name one with CUDA_LAUNCH_DRIVER, or build with feature `emulator`",
        )
    }
}

impl std::error::Error for NoDriver {}

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

/// One argument as the caller passed it; a slice counts as two, its address and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Given {
    /// The size in bytes.
    pub size: usize,
    /// The Rust type, `address of [f32]`, or `length of [f32]`.
    pub type_name: String,
}

/// One parameter as the kernel declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wanted {
    /// The size in bytes.
    pub size: usize,
    /// The PTX type (`.f32`, `.b8[40]`), if the image states it.
    pub ty: Option<String>,
    /// Name in the image, if any.
    pub name: Option<String>,
}

/// An argument list that the kernel would have misread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArgumentMismatch {
    /// The kernel.
    pub kernel: String,
    /// The arguments, one entry per parameter (a slice takes two).
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
    /// In words, for one that is known to be either.
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

pub(crate) fn bytes(n: usize) -> String {
    count(n, "byte")
}

pub(crate) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// A launch that the kernel or the device does not allow; nothing was submitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaunchError {
    /// A grid dimension is zero or exceeds the device's limit.
    #[error("{kernel}: grid {axis} is {value} blocks; this device supports 1 to {limit}{}", zero_help(*value))]
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
    #[error("{kernel}: block {axis} is {value} threads; this device supports 1 to {limit}{}", zero_help(*value))]
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
    #[error("{kernel}: block is {given:?}; the kernel was compiled for exactly {required:?} (`.reqntid`)")]
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

/// What to do with source code that was passed as an image.
fn source_help(error: &ImageError) -> &'static str {
    if error.kind() != cuda_ptx::image::ImageErrorKind::Source {
        return "";
    }
    "\n  help: `load_kernel_file` compiles `.cu` (feature `nvrtc`), `.ll` and `.bc` (feature `nvvm`)"
}

fn zero_help(value: u32) -> &'static str {
    if value == 0 { "; skip the launch when there is nothing to do" } else { "" }
}

/// A launch attribute that this driver or this launch does not support.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributeError {
    /// The driver is older than the attribute.
    #[error(
        "{kernel}: launch attribute {attribute} requires CUDA {}; this driver supports CUDA {}: update it, or omit the attribute",
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
    #[error("{kernel}: {attribute} is a stream attribute; a launch cannot have it")]
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
    #[error("{kernel}: {count} launch attributes; at most {limit} fit, give each once")]
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

/// Objects of two different contexts in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextMismatch {
    /// The object that does not fit.
    pub what: String,
    /// What the call runs on.
    pub with: String,
    /// Ordinal of the device that the object belongs to.
    pub object: u32,
    /// Ordinal of the device that the call runs on.
    pub stream: u32,
    /// Whether they belong to two different drivers: their ordinals are then unrelated.
    pub other_driver: bool,
}

impl fmt::Display for ContextMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, with, object, stream, other_driver } = self;
        if *other_driver {
            write!(f, "{what} belongs to another driver than {with}")?;
        } else if object == stream {
            write!(f, "{what} belongs to another context of device {object} than {with}")?;
        } else {
            write!(f, "{what} belongs to device {object}, {with} to device {stream}")?;
        }
        f.write_str("\n  help: create both from the same CudaContext")
    }
}

impl std::error::Error for ContextMismatch {}

/// The driver's compiler or loader rejected an image.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompilerLog {
    /// The driver function.
    pub call: &'static str,
    /// Its result.
    pub code: CUresult,
    /// The file, or "image in memory".
    pub origin: String,
    /// The error log, as the driver wrote it.
    pub error_log: String,
    /// The info log.
    pub info_log: String,
    /// The line of the PTX text that the log points at, counted from 1.
    pub line: Option<u32>,
    /// That line's text.
    pub excerpt: Option<String>,
    /// What to do next, computed from image and device.
    pub hint: Option<String>,
}

impl fmt::Display for CompilerLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}: {}", self.call, self.code, self.origin)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(text) = &self.excerpt {
            write!(f, "\n  | {}", text.trim_end())?;
        }
        for line in self.error_log.lines() {
            write!(f, "\n  {line}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CompilerLog {}

/// No kernel of this name in the module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelNotFound {
    /// The requested name.
    pub name: String,
    /// The module.
    pub module: String,
    /// The most similar names, best first.
    pub nearest: Vec<String>,
    /// How many kernels the module has, if known.
    pub available: Option<usize>,
}

impl fmt::Display for KernelNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no kernel {:?} in {}", self.name, self.module)?;
        if let Some(n) = self.available {
            write!(f, ", which has {}", count(n, "kernel"))?;
        }
        if !self.nearest.is_empty() {
            write!(f, "\n  help: did you mean {}?", self.nearest.join(" or "))?;
        }
        if self.nearest.iter().any(|n| n.starts_with("_Z") || n.starts_with("_R")) {
            write!(f, " (names like _Z.. are mangled: declare the kernel `extern \"C\"` or `#[no_mangle]`)")?;
        }
        Ok(())
    }
}

impl std::error::Error for KernelNotFound {}

/// One place that was searched for a module file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tried {
    /// The file.
    pub path: PathBuf,
    /// Why it could not be used.
    pub reason: String,
}

/// No usable module file of this name; every path that was tried.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModuleNotFound {
    /// The requested name.
    pub name: String,
    /// The paths, in the order in which they were tried.
    pub tried: Vec<Tried>,
}

impl fmt::Display for ModuleNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no kernel module {:?}; tried:", self.name)?;
        // Files of one folder that are all not there are one line: `kernels/name.cubin, .fatbin, .ptx: no such file`.
        let alike = |a: &Tried, b: &Tried| {
            a.reason == b.reason && a.path.with_extension("") == b.path.with_extension("")
        };
        for group in self.tried.chunk_by(alike) {
            let Some((first, more)) = group.split_first() else { continue };
            write!(f, "\n  {}", first.path.display())?;
            let endings = more.iter().filter_map(|t| t.path.extension());
            endings.into_iter().try_for_each(|ending| write!(f, ", .{}", ending.display()))?;
            write!(f, ": {}", first.reason.replace('\n', "\n    "))?;
        }
        f.write_str("\n  help: set CUDA_LAUNCH_KERNEL_DIR to the folder that holds the file")
    }
}

impl std::error::Error for ModuleNotFound {}

/// Two lengths that must be equal differ.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{call}: the source has {source_len} elements, the destination {destination_len}; slice one of them")]
#[non_exhaustive]
pub struct LengthMismatch {
    /// The function of this crate.
    pub call: &'static str,
    /// The number of elements in the source.
    pub source_len: usize,
    /// The number of elements in the destination.
    pub destination_len: usize,
}
