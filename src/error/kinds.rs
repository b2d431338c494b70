//! The kinds of error. Each has its values, and their words, in the file of its topic.

use cuda_driver_sys::LoadError;
use cuda_ptx::image::ImageError;
use std::fmt;
use std::path::PathBuf;

use super::arguments::ArgumentMismatch;
use super::device::ContextMismatch;
use super::driver::{DriverError, NoDriver};
use super::images::{CompilerLog, KernelNotFound, ModuleNotFound};
use super::launch::{AttributeError, LaunchError};
use super::memory::{AliasedMemory, AlignmentError, DlPackError, HostAccess, MappingError};
use super::region::LengthMismatch;
use super::state::{FaultError, ForkError, NotInCapture, StalledSubmission};

/// The contents of an [`Error`](crate::Error).
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A driver call failed.
    Driver(DriverError),
    /// A driver library could not be loaded.
    Load(LoadError),
    /// No usable driver: none was found, or none has a device.
    NoDriver(NoDriver),
    /// The argument list does not fit the kernel.
    Arguments(ArgumentMismatch),
    /// The grid, block, cluster or shared memory size is not allowed.
    Launch(LaunchError),
    /// A launch attribute cannot be used here.
    Attribute(AttributeError),
    /// Objects of two different contexts in one call.
    Context(ContextMismatch),
    /// A call inside a host function of a stream.
    InHostCallback(super::InHostCallback),
    /// Host functions of a stream panicked.
    HostPanic(super::HostPanic),
    /// Two events between which no time can be measured.
    Event(super::EventError),
    /// A context that cannot be reset because it is in use.
    ContextInUse(super::ContextInUse),
    /// The bytes are not a kernel image, or are a damaged one.
    Image {
        /// The file, or "image in memory".
        origin: String,
        /// What is wrong, and where.
        error: ImageError,
    },
    /// The driver's compiler rejected the image.
    Compiler(CompilerLog),
    /// A run-time compiler is missing, or rejected its input.
    Compile(super::CompileError),
    /// No kernel of this name.
    Kernel(KernelNotFound),
    /// No module file of this name.
    Module(ModuleNotFound),
    /// A variable of a module cannot be accessed as requested.
    Global(super::module::GlobalError),
    /// The driver is too old for the request.
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
    /// Two lengths that must be equal differ.
    Length(LengthMismatch),
    /// A region of rows and planes that is not inside its memory.
    Region(super::region::RegionError),
    /// A texture or surface that cannot be made.
    Texture(super::texture::TextureError),
    /// A tensor map that the hardware does not support.
    TensorMap(super::texture::TensorMapError),
    /// A range that is not inside its buffer.
    Range(super::region::IndexRange),
    /// Device memory cannot be viewed as elements of this type.
    Cast(super::region::CastError),
    /// A buffer of this many elements would exceed the address space.
    Capacity {
        /// Number of elements requested.
        len: usize,
        /// Size of one element, in bytes.
        size: usize,
    },
    /// A kernel faulted, in this call or an earlier one.
    Faulted(FaultError),
    /// This process is a fork of the one that initialised CUDA.
    Forked(ForkError),
    /// A stream that captures cannot do this.
    NotInCapture(NotInCapture),
    /// Another thread does not finish submitting work that comes first: of a graph's launch, or of what uses memory of a graph that is being
    /// launched.
    Stalled(StalledSubmission),
    /// The host may not access memory that it shares with the device.
    HostAccess(HostAccess),
    /// A tensor from another library does not match the request.
    DlPack(DlPackError),
    /// Memory cannot be mapped there.
    Mapping(MappingError),
    /// Memory that is misaligned for its elements.
    Alignment(AlignmentError),
    /// Memory that another buffer owns or may own.
    Aliased(AliasedMemory),
    /// None of the images of a typed module fits the device.
    Artifacts(super::NoArtifact),
    /// A launch that the contract of its kernel does not allow.
    Contract(super::ContractError),
    /// A texture, surface or tensor map that conflicts with the other arguments.
    Object(super::ObjectError),
    /// A name that cannot be passed to the driver.
    Name {
        /// The name as given.
        name: String,
        /// It is empty, or contains a NUL byte.
        reason: &'static str,
    },
}

/// For each kind that is a type of its own: `From` it, and that its words and its source are the kind's.
macro_rules! of_types {
    ($($(#[$condition:meta])? $kind:ident($type:ty),)*) => {
        $(
            $(#[$condition])?
            impl From<$type> for ErrorKind {
                fn from(error: $type) -> Self {
                    Self::$kind(error)
                }
            }
        )*

        impl fmt::Display for ErrorKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[$condition])? Self::$kind(error) => fmt::Display::fmt(error, f),)*
                    Self::Image { origin, error } => write!(f, "{origin}: {error}{}", source_help(error)),
                    Self::File { path, error } => write!(f, "cannot read {}: {error}", path.display()),
                    Self::Capacity { len, size } => write!(
                        f,
                        "{len} elements of {size} bytes exceed the address space of {} bytes\n  help: check the length: it \
                         may be a negative number cast to an unsigned type",
                        usize::MAX
                    ),
                    Self::Name { name, reason } => write!(f, "{name:?} is not a valid name: {reason}"),
                }
            }
        }

        impl std::error::Error for ErrorKind {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                match self {
                    $($(#[$condition])? Self::$kind(error) => error.source(),)*
                    Self::Image { .. } | Self::File { .. } | Self::Capacity { .. } | Self::Name { .. } => None,
                }
            }
        }
    };
}

of_types! {
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
    Faulted(FaultError),
    Forked(ForkError),
    NotInCapture(NotInCapture),
    Stalled(StalledSubmission),
    HostAccess(HostAccess),
    DlPack(DlPackError),
    Mapping(MappingError),
    Alignment(AlignmentError),
    Aliased(AliasedMemory),
    Artifacts(super::NoArtifact),
    Contract(super::ContractError),
    Object(super::ObjectError),
}

/// What to do with source code that was passed as an image.
fn source_help(error: &ImageError) -> &'static str {
    if error.kind() != cuda_ptx::image::ImageErrorKind::Source {
        return "";
    }
    "\n  help: `load_kernel_file` compiles `.cu` (feature `nvrtc`), `.ll` and `.bc` (feature `nvvm`)"
}
