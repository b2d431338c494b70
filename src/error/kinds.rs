//! The kinds of error. Each has its values, and their words, in the file of its topic.

use cuda_driver_sys::LoadError;
use cuda_ptx::image::{ImageError, ImageErrorKind as K};
use std::path::{Path, PathBuf};
use thiserror::Error;

use super::arguments::ArgumentMismatch;
use super::device::ContextMismatch;
use super::driver::{DriverError, NoDriver};
use super::images::{CompilerLog, KernelNotFound, ModuleNotFound};
use super::launch::{AttributeError, LaunchError};
use super::memory::{AliasedMemory, AlignmentError, HostAccess, InaccessibleMemory};
use super::region::LengthMismatch;
use super::state::{FaultError, ForkError, RefusedInCapture, StalledSubmission};

/// The contents of an [`Error`](crate::Error), for programs that need the values; the `is_*` methods of `Error` are enough for most.
///
/// ```
/// use cuda_launch::{CudaContext, ErrorKind, load_kernel_module};
/// let ctx = CudaContext::new(0)?;
/// let error = load_kernel_module(&ctx, "fill")?.load_function("fil").unwrap_err();
/// match error.kind() {
///     ErrorKind::Kernel(missing) => assert_eq!(missing.nearest, ["fill"]),
///     other => panic!("{other}"),
/// }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
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
    #[error("{origin}: {error}\n  help: {}", image_help(error))]
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
    /// A profile was requested of launches that the emulator does not run.
    #[cfg(feature = "emulator")]
    #[error(transparent)]
    NotEmulated(#[from] super::NotEmulated),
    /// A file could not be read.
    #[error("cannot read {}: {error}\n  help: {}", path.display(), where_it_is(path))]
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
    #[cfg(feature = "graph")]
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
    #[cfg(feature = "texture")]
    #[error(transparent)]
    Texture(#[from] super::texture::TextureError),
    /// A tensor map that the hardware does not support.
    #[cfg(feature = "tensor")]
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
        "{len} elements of {size} bytes exceed the address space of {} bytes\n  help: check the length: it may be a negative \
         number cast to an unsigned type",
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
    Faulted(#[from] FaultError),
    /// This process is a fork of the one that initialised CUDA.
    #[error(transparent)]
    Forked(#[from] ForkError),
    /// A stream that captures cannot do this.
    #[error(transparent)]
    RefusedInCapture(#[from] RefusedInCapture),
    /// Another thread does not finish submitting work that comes first: of a graph's launch, or of what uses memory of a graph that is being
    /// launched.
    #[error(transparent)]
    Stalled(#[from] StalledSubmission),
    /// The host may not access memory that it shares with the device.
    #[error(transparent)]
    HostAccess(#[from] HostAccess),
    /// A tensor from another library does not match the request.
    #[cfg(feature = "dlpack")]
    #[error(transparent)]
    DlPack(#[from] super::DlPackError),
    /// Memory cannot be mapped there.
    #[cfg(feature = "virtual-memory")]
    #[error(transparent)]
    Mapping(#[from] super::MappingError),
    /// Memory that is misaligned for its elements.
    #[error(transparent)]
    Alignment(#[from] AlignmentError),
    /// Memory that another buffer owns or may own.
    #[error(transparent)]
    Aliased(#[from] AliasedMemory),
    /// Memory that a device cannot both read and write.
    #[error(transparent)]
    Inaccessible(#[from] InaccessibleMemory),
    /// None of the images of a typed module fits the device.
    #[cfg(feature = "macros")]
    #[error(transparent)]
    Artifacts(#[from] super::NoArtifact),
    /// A launch that the contract of its kernel does not allow.
    #[cfg(feature = "macros")]
    #[error(transparent)]
    Contract(#[from] super::ContractError),
    /// A texture, surface or tensor map that conflicts with the other arguments.
    #[cfg(feature = "macros")]
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

fn where_it_is(path: &Path) -> &'static str {
    match path.is_relative() {
        true => "a relative path starts at the current folder",
        false => "does the file exist, and may this process read it?",
    }
}

/// What to do about bytes that are no image.
fn image_help(error: &ImageError) -> &'static str {
    match error.kind() {
        K::Source => "`load_kernel_file` compiles `.cu` (feature `nvrtc`), `.ll` and `.bc` (feature `nvvm`)",
        K::Unrecognized => {
            "pass the content of a `.ptx`, `.cubin` or `.fatbin` file; `load_module_from_file` takes its path"
        }
        K::Ptx => "correct the text, if it was written or edited by hand",
        K::Compressed | K::TooLarge => "compile it with `nvcc --no-compress`, or to PTX",
        _ => "the file is damaged or incomplete: copy or compile it again",
    }
}
