//! The kinds of error, each with its values.

use cuda_driver_sys::{CUresult, LoadError};
use cuda_ptx::image::ImageError;
use std::fmt;
use std::path::PathBuf;

use super::launch::{ArgumentMismatch, AttributeError, LaunchError};
use super::load::{CompilerLog, KernelNotFound, ModuleNotFound, NoDriver};
use super::memory::{AliasedMemory, BadMapping, DlPackError, HostAccess, Misaligned};
use super::state::{Faulted, Forked, NotInCapture};

/// What an [`Error`](crate::Error) holds.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A driver call failed.
    Driver(DriverError),
    /// A driver library could not be loaded.
    Load(LoadError),
    /// No driver serves: none was found, or none has a device.
    NoDriver(NoDriver),
    /// The argument list does not fit the kernel.
    Arguments(ArgumentMismatch),
    /// Grid, block, cluster or shared memory are not allowed.
    Launch(LaunchError),
    /// A launch attribute cannot be used here.
    Attribute(AttributeError),
    /// Objects of two contexts in one call.
    Context(ContextMismatch),
    /// A call in a host function of a stream.
    InHostCallback(super::InHostCallback),
    /// Host functions of a stream panicked.
    HostPanic(super::HostPanic),
    /// Two events between which there is no time.
    Event(super::EventError),
    /// A context that cannot be reset while it is used.
    ContextInUse(super::ContextInUse),
    /// The bytes are no kernel image, or a damaged one.
    Image {
        /// The file, or "image in memory".
        origin: String,
        /// What is wrong, with its place.
        error: ImageError,
    },
    /// The driver's compiler refused the image.
    Compiler(CompilerLog),
    /// A run-time compiler is not there, or refuses.
    Compile(super::CompileError),
    /// No kernel of this name.
    Kernel(KernelNotFound),
    /// No module file of this name.
    Module(ModuleNotFound),
    /// A variable of a module cannot be had as asked for.
    Global(super::module::GlobalError),
    /// The driver is older than what was asked of it.
    Unsupported(super::module::Unsupported),
    /// A file could not be read.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A stream capture does not allow this.
    Capture(super::CaptureError),
    /// A graph, a node of one, or a change of either.
    Graph(super::GraphError),
    /// An argument of a launch plan.
    Plan(super::PlanError),
    /// An asynchronous operation.
    #[cfg(feature = "async")]
    Operation(super::OperationError),
    /// Two lengths that must be equal are not.
    Length(LengthMismatch),
    /// A region of rows and planes that is not inside its memory.
    Region(super::region::RegionError),
    /// A texture or surface that cannot be made.
    Texture(super::texture::TextureError),
    /// A tensor map that the hardware cannot have.
    TensorMap(super::texture::TensorMapError),
    /// A range that is not inside its buffer.
    Range(super::region::IndexRange),
    /// Device memory cannot be seen as elements of this type.
    Cast(super::region::CastError),
    /// A buffer of this many elements has more bytes than an address can count.
    Capacity {
        /// Elements asked for.
        len: usize,
        /// Bytes of one element.
        size: usize,
    },
    /// A kernel faulted, in this call or an earlier one.
    Faulted(Faulted),
    /// This process is a fork of the one that initialised CUDA.
    Forked(Forked),
    /// A stream that captures cannot do this.
    NotInCapture(NotInCapture),
    /// The host may not look at memory that it shares with the device.
    HostAccess(HostAccess),
    /// A tensor of another library is not what was asked for.
    DlPack(DlPackError),
    /// Memory cannot be mapped there.
    Mapping(BadMapping),
    /// Memory that does not start where its elements must.
    Alignment(Misaligned),
    /// Memory that another buffer has or may have.
    Aliased(AliasedMemory),
    /// None of the images of a typed module is for the device.
    Artifacts(super::NoArtifact),
    /// A launch that the contract of its kernel does not allow.
    Contract(super::ContractError),
    /// A texture, surface or tensor map that does not go with the other arguments.
    Object(super::ObjectError),
    /// A name that cannot be passed to the driver.
    Name {
        /// The name as given.
        name: String,
        /// Empty, or a NUL inside.
        reason: &'static str,
    },
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver(error) => error.fmt(f),
            Self::Load(error) => error.fmt(f),
            Self::NoDriver(error) => error.fmt(f),
            Self::Arguments(error) => error.fmt(f),
            Self::Launch(error) => error.fmt(f),
            Self::Attribute(error) => error.fmt(f),
            Self::Context(error) => error.fmt(f),
            Self::InHostCallback(error) => error.fmt(f),
            Self::HostPanic(error) => error.fmt(f),
            Self::Event(error) => error.fmt(f),
            Self::ContextInUse(error) => error.fmt(f),
            Self::Image { origin, error } => write!(f, "{origin}: {error}"),
            Self::Compiler(error) => error.fmt(f),
            Self::Compile(error) => error.fmt(f),
            Self::Kernel(error) => error.fmt(f),
            Self::Module(error) => error.fmt(f),
            Self::Global(error) => error.fmt(f),
            Self::Unsupported(error) => error.fmt(f),
            Self::File { path, error } => write!(f, "cannot read {}: {error}", path.display()),
            Self::Capture(error) => error.fmt(f),
            Self::Graph(error) => error.fmt(f),
            Self::Plan(error) => error.fmt(f),
            #[cfg(feature = "async")]
            Self::Operation(error) => error.fmt(f),
            Self::Length(error) => error.fmt(f),
            Self::Region(error) => error.fmt(f),
            Self::Texture(error) => error.fmt(f),
            Self::TensorMap(error) => error.fmt(f),
            Self::Range(error) => error.fmt(f),
            Self::Cast(error) => error.fmt(f),
            Self::Capacity { len, size } => write!(
                f,
                "{len} elements of {size} bytes are more than an address can count, {} bytes\n  help: check the \
                 length; a negative number made unsigned looks like this",
                usize::MAX
            ),
            Self::Faulted(error) => error.fmt(f),
            Self::Forked(error) => error.fmt(f),
            Self::NotInCapture(error) => error.fmt(f),
            Self::HostAccess(error) => error.fmt(f),
            Self::DlPack(error) => error.fmt(f),
            Self::Mapping(error) => error.fmt(f),
            Self::Alignment(error) => error.fmt(f),
            Self::Aliased(error) => error.fmt(f),
            Self::Artifacts(error) => error.fmt(f),
            Self::Contract(error) => error.fmt(f),
            Self::Object(error) => error.fmt(f),
            Self::Name { name, reason } => write!(f, "{name:?} is no valid name: {reason}"),
        }
    }
}

impl std::error::Error for ErrorKind {}

/// Kinds that are made of the error that they hold.
macro_rules! made_of {
    ($($(#[$cfg:meta])? $kind:ident($error:ty)),* $(,)?) => {$(
        $(#[$cfg])?
        impl From<$error> for ErrorKind {
            fn from(error: $error) -> Self {
                Self::$kind(error)
            }
        }
    )*};
}

made_of! {
    Driver(DriverError),
    Load(LoadError),
    NoDriver(NoDriver),
    Arguments(ArgumentMismatch),
    Launch(LaunchError),
    Attribute(AttributeError),
    Context(ContextMismatch),
    InHostCallback(super::InHostCallback),
    HostPanic(super::HostPanic),
    Event(super::EventError),
    ContextInUse(super::ContextInUse),
    Compiler(CompilerLog),
    Compile(super::CompileError),
    Kernel(KernelNotFound),
    Module(ModuleNotFound),
    Global(super::module::GlobalError),
    Unsupported(super::module::Unsupported),
    Capture(super::CaptureError),
    Graph(super::GraphError),
    Plan(super::PlanError),
    #[cfg(feature = "async")]
    Operation(super::OperationError),
    Length(LengthMismatch),
    Region(super::region::RegionError),
    Texture(super::texture::TextureError),
    TensorMap(super::texture::TensorMapError),
    Range(super::region::IndexRange),
    Cast(super::region::CastError),
    Faulted(Faulted),
    Forked(Forked),
    NotInCapture(NotInCapture),
    HostAccess(HostAccess),
    DlPack(DlPackError),
    Mapping(BadMapping),
    Alignment(Misaligned),
    Aliased(AliasedMemory),
    Artifacts(super::NoArtifact),
    Contract(super::ContractError),
    Object(super::ObjectError),
}

/// A driver call that failed.
#[derive(Clone, Debug)]
pub struct DriverError {
    /// The driver function.
    pub call: &'static str,
    /// Its answer.
    pub code: CUresult,
    /// What was asked of it, with values.
    pub asked: String,
    /// What to do next, where that is known.
    pub hint: Option<String>,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.call, self.code)?;
        if !self.asked.is_empty() {
            write!(f, ": {}", self.asked)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for DriverError {}

/// Objects of two contexts in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextMismatch {
    /// The object that does not fit.
    pub what: String,
    /// What the call runs on.
    pub with: String,
    /// Ordinal of the device that the object belongs to.
    pub object: u32,
    /// Ordinal of the device that the call runs on.
    pub stream: u32,
    /// Whether they are of two drivers: then the ordinals have nothing to do with each other.
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

/// Two lengths that must be equal are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthMismatch {
    /// The function of this crate.
    pub call: &'static str,
    /// Elements in the source.
    pub source_len: usize,
    /// Elements in the destination.
    pub destination_len: usize,
}

impl fmt::Display for LengthMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, source_len, destination_len } = self;
        write!(
            f,
            "{call}: the source has {source_len} elements, the destination {destination_len}; slice one of them"
        )
    }
}

impl std::error::Error for LengthMismatch {}

pub(crate) fn bytes(n: usize) -> String {
    count(n, "byte")
}

pub(crate) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
