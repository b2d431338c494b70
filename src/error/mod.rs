//! What went wrong: which driver call, its result code, what was requested, and what to do next.
//!
//! [`Error`] is the size of one pointer. Use the `is_*` predicates, or match on [`Error::kind`] for the values.

mod arguments;
mod callback;
mod capture;
mod compile;
mod device;
mod driver;
mod event;
#[cfg(feature = "graph")]
mod graph;
mod hint;
mod images;
mod kept;
mod kinds;
mod launch;
pub(crate) mod log;
mod memory;
#[cfg(test)]
mod messages;
mod module;
#[cfg(feature = "async")]
mod operation;
mod plan;
#[cfg(feature = "emulator")]
mod profile;
mod region;
mod state;
#[cfg(any(feature = "tensor", feature = "texture"))]
mod texture;
#[cfg(feature = "macros")]
mod typed;

use kept::Kept;

pub use arguments::{ArgumentMismatch, Parameter, PassedArgument};
pub(crate) use arguments::{count, joined};
pub use callback::{HostPanic, InHostCallback};
pub(crate) use callback::{in_callback, set_in_callback};
pub use capture::CaptureError;
pub use compile::{CompileError, CompileFailure, Diagnostic, Severity};
use cuda_driver_sys::CUresult;
pub use cuda_driver_sys::LoadError;
pub use device::{ContextInUse, ContextMismatch};
pub use driver::{DriverError, NoDriver};
pub use event::EventError;
#[cfg(feature = "graph")]
pub use graph::{GraphError, UpdateRefusal};
pub(crate) use hint::{call_hint, device_hint};
pub use images::{CompilerLog, KernelNotFound, ModuleNotFound, SearchAttempt};
pub use kinds::ErrorKind;
pub use launch::{AttributeError, Axis, LaunchError};
#[cfg(feature = "dlpack")]
pub use memory::DlPackError;
#[cfg(feature = "virtual-memory")]
pub use memory::MappingError;
pub use memory::{AliasedMemory, AlignmentError, HostAccess, InaccessibleMemory};
pub use module::{GlobalError, Unsupported};
#[cfg(feature = "async")]
pub use operation::OperationError;
pub use plan::PlanError;
#[cfg(feature = "emulator")]
pub use profile::NotEmulated;
pub use region::{CastError, IndexRange, LengthMismatch, RegionError};
pub use state::{FaultError, ForkError, RefusedInCapture, StalledSubmission, UnfinishedLaunch};
#[cfg(feature = "tensor")]
pub use texture::TensorMapError;
#[cfg(feature = "texture")]
pub use texture::TextureError;
#[cfg(feature = "macros")]
pub use typed::{ArtifactRefusal, ContractError, NoArtifact, ObjectError};

/// An error of this crate.
///
/// `Display` says what happened and what to do; an argument mismatch prints both lists side by side.
///
/// ```
/// use cuda_launch::{CudaContext, Error};
/// let error: Error = CudaContext::new(99).err().expect("no machine has 100 devices");
/// assert_eq!(error.call(), Some("cuDeviceGet"));
/// assert!(error.to_string().contains("device 99"));
/// ```
pub struct Error {
    kind: Kept,
}

impl Error {
    /// What kind of error this is, with its values.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// let error = load_kernel_module(&ctx, "no such file").unwrap_err();
    /// println!("{error}: {:?}", error.kind());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The driver's result code, if a driver call failed.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, sys::CUresult};
    /// let error = CudaContext::new(99).unwrap_err();
    /// assert!(error.code().is_none_or(|code| code != CUresult::SUCCESS));
    /// ```
    pub fn code(&self) -> Option<CUresult> {
        match self.kind() {
            ErrorKind::Driver(e) => Some(e.code),
            ErrorKind::Compiler(e) => Some(e.code),
            #[cfg(feature = "graph")]
            ErrorKind::Graph(GraphError::Instantiate { code, .. } | GraphError::Change { code, .. }) => {
                Some(*code)
            }
            ErrorKind::Faulted(e) => Some(e.code),
            _ => None,
        }
    }

    /// The same error with a suggested next step, if the driver returned `code`.
    #[cold]
    pub(crate) fn with_hint_for(mut self, code: CUresult, hint: &str) -> Self {
        if let ErrorKind::Driver(error) = &mut *self.kind
            && error.code == code
        {
            error.hint = Some(hint.into());
        }
        self
    }

    /// The name of the driver function that failed, if one was called.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let error = DeviceBuffer::<u8>::uninit(&stream, 1 << 60).unwrap_err();
    /// assert!(error.call().is_none_or(|call| call.starts_with("cuMemAlloc")));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn call(&self) -> Option<&'static str> {
        match self.kind() {
            ErrorKind::Driver(e) => Some(e.call),
            ErrorKind::Compiler(e) => Some(e.call),
            #[cfg(feature = "graph")]
            ErrorKind::Graph(GraphError::Instantiate { .. }) => Some("cuGraphInstantiate"),
            #[cfg(feature = "graph")]
            ErrorKind::Graph(GraphError::Update { .. }) => Some("cuGraphExecUpdate"),
            ErrorKind::Faulted(e) => Some(e.call),
            ErrorKind::Forked(e) => Some(e.call),
            ErrorKind::RefusedInCapture(e) => Some(e.call),
            ErrorKind::Stalled(e) => Some(e.call),
            _ => None,
        }
    }

    /// The argument list does not fit the kernel's parameters; nothing was launched.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, LaunchConfig, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// // SAFETY: 1 to 6: nothing is launched, as fill has three parameters and is given none, which the launch
    /// // compares.
    /// let error = unsafe { stream.launch_builder(&f).launch(LaunchConfig::for_num_elems(1)) }.unwrap_err();
    /// assert!(error.is_argument_mismatch());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_argument_mismatch(&self) -> bool {
        matches!(self.kind(), ErrorKind::Arguments(_))
    }

    /// The kernel or the device does not allow the grid, block, cluster, shared memory or an attribute, or the launch
    /// contract of a typed kernel is not met; nothing was launched.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// # let mut x = DeviceBuffer::<u32>::zeroed(&stream, 1)?;
    /// let config = LaunchConfig::new((1, 1, 1), (4096, 1, 1)); // no device has such blocks
    /// // SAFETY: 1 to 6: nothing is launched, as no device takes such a block, which the launch compares.
    /// let error = unsafe { stream.launch_builder(&f).arg(&mut x).arg(&1u32).arg(&7u32).launch(config) }.unwrap_err();
    /// assert!(error.is_launch_refused());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_launch_refused(&self) -> bool {
        match self.kind() {
            ErrorKind::Launch(_) | ErrorKind::Attribute(_) => true,
            #[cfg(feature = "macros")]
            ErrorKind::Contract(_) | ErrorKind::Object(_) => true,
            _ => false,
        }
    }

    /// The launch contract of a typed kernel is not met; nothing was launched.
    pub fn is_contract_violation(&self) -> bool {
        #[cfg(feature = "macros")]
        return matches!(self.kind(), ErrorKind::Contract(_));
        #[cfg(not(feature = "macros"))]
        return false;
    }

    /// Objects of two different contexts, or of two different drivers, were used in one call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::context::ContextOptions;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let other = ctx.device().create_context(&ContextOptions::default())?.new_stream()?;
    /// assert!(x.to_host_vec(&other).unwrap_err().is_context_mismatch());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_context_mismatch(&self) -> bool {
        matches!(self.kind(), ErrorKind::Context(_))
    }

    /// A stream capture does not allow the call, or was broken by it.
    ///
    /// ```
    /// use cuda_launch::{CaptureMode, CudaContext, CudaGraph};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let error = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| stream.synchronize()).unwrap_err();
    /// assert!(error.is_capture_error());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_capture_error(&self) -> bool {
        matches!(self.kind(), ErrorKind::Capture(_) | ErrorKind::RefusedInCapture(_))
            || self.code().is_some_and(|code| (900..=908).contains(&code.0))
    }

    /// The driver or this crate rejected a graph, a node or an update.
    pub fn is_graph_error(&self) -> bool {
        #[cfg(feature = "graph")]
        return matches!(self.kind(), ErrorKind::Graph(_));
        #[cfg(not(feature = "graph"))]
        return false;
    }

    /// No argument of the launch plan has this name, or it has another type.
    pub fn is_plan_error(&self) -> bool {
        matches!(self.kind(), ErrorKind::Plan(_))
    }

    /// The time between two events was requested, but one of them was never recorded or is not done.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let (start, end) = (ctx.new_timing_event()?, ctx.new_timing_event()?);
    /// assert!(start.elapsed_ms(&end).unwrap_err().is_event_not_ready(), "never recorded");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_event_not_ready(&self) -> bool {
        matches!(self.kind(), ErrorKind::Event(_))
    }

    /// A host function of a stream panicked.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// stream.call_host(|| panic!("a bug"))?;
    /// assert!(stream.synchronize().unwrap_err().is_host_panic());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_host_panic(&self) -> bool {
        matches!(self.kind(), ErrorKind::HostPanic(_))
    }

    /// The call was made inside a host function of a stream.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let inner = stream.clone();
    /// stream.call_host(move || drop(sender.send(inner.synchronize())))?;
    /// stream.synchronize()?;
    /// assert!(receiver.recv().unwrap().unwrap_err().is_in_host_callback());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_in_host_callback(&self) -> bool {
        matches!(self.kind(), ErrorKind::InHostCallback(_))
    }

    /// Objects of two different devices were used in one call; [`ContextMismatch`] has both ordinals.
    pub fn is_wrong_device(&self) -> bool {
        matches!(self.kind(), ErrorKind::Context(e) if !e.other_driver && e.object != e.stream)
    }

    /// A primary context cannot be reset while handles to it exist.
    pub fn is_context_in_use(&self) -> bool {
        matches!(self.kind(), ErrorKind::ContextInUse(_))
    }

    /// No driver could be loaded or none has a device.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// match CudaContext::new(0) {
    ///     Err(error) if error.is_no_driver() => println!("on the CPU, then: {error}"),
    ///     other => drop(other?),
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_no_driver(&self) -> bool {
        matches!(self.kind(), ErrorKind::NoDriver(_) | ErrorKind::Load(_))
    }

    /// No kernel, global variable or module file has this name.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let module = load_kernel_module(&ctx, "fill")?;
    /// assert!(module.load_function("fil").unwrap_err().is_not_found());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_not_found(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::Kernel(_) | ErrorKind::Module(_) | ErrorKind::Global(GlobalError::NotFound { .. })
        ) || self.code() == Some(CUresult::CUDA_ERROR_NOT_FOUND)
    }

    /// The image could not be parsed or assembled.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// assert!(ctx.load_module("hello").unwrap_err().is_invalid_image());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_invalid_image(&self) -> bool {
        match self.kind() {
            ErrorKind::Image { .. } | ErrorKind::Compiler(_) => true,
            #[cfg(feature = "macros")]
            ErrorKind::Artifacts(_) => true,
            _ => false,
        }
    }

    /// A run-time compiler rejected its source, its options or its inputs; [`CompileFailure`] has its log.
    pub fn is_compile_error(&self) -> bool {
        match self.kind() {
            #[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
            ErrorKind::Compile(CompileError::Refused(_)) => true,
            kind => matches!(kind, ErrorKind::Compile(CompileError::Argument { .. })),
        }
    }

    /// A run-time compiler is missing, too old, or not compiled into this program.
    pub fn is_no_compiler(&self) -> bool {
        use CompileError as C;
        matches!(self.kind(), ErrorKind::Compile(C::NotFound { .. } | C::TooOld { .. } | C::NotBuilt { .. }))
    }

    /// Device memory ran out, or a size overflowed.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// assert!(DeviceBuffer::<u8>::uninit(&stream, 1 << 60).unwrap_err().is_out_of_memory());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self.kind(), ErrorKind::Capacity { .. })
            || self.code() == Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// A copy, range or cast is out of bounds for its memory; nothing was submitted.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert!(x.get(3..9).unwrap_err().is_out_of_bounds());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_out_of_bounds(&self) -> bool {
        use ErrorKind as K;
        matches!(self.kind(), K::Region(_) | K::Length(_) | K::Range(_) | K::Cast(_))
    }

    /// The driver allocated memory at an address that is misaligned for the elements; it was freed.
    pub fn is_misaligned(&self) -> bool {
        matches!(self.kind(), ErrorKind::Alignment(_))
    }

    /// The driver or the device is too old for the request, or does not support it: a program may do without it, or take
    /// another way. A mistake in the request itself, such as an attribute that launches do not have, does not count.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::stream::HostTaskSyncMode;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// match stream.call_host_with(HostTaskSyncMode::Spin, || ()) {
    ///     Err(error) if error.is_unsupported() => stream.call_host(|| ())?, // an older driver
    ///     other => other?,
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_unsupported(&self) -> bool {
        use ErrorKind as K;
        #[cfg(feature = "emulator")]
        if matches!(self.kind(), K::NotEmulated(_)) {
            return true;
        }
        matches!(
            self.kind(),
            K::Attribute(AttributeError::TooNew { .. })
                | K::Unsupported(_)
                | K::Compile(CompileError::PtxOnly { .. })
        ) || self.code() == Some(CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
            || self.code() == Some(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }

    /// A kernel faulted: from now on every driver call in this process fails with the same code.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// match stream.synchronize() {
    ///     Err(error) if error.is_sticky() => std::process::exit(1), // CUDA is of no more use to this process
    ///     other => other?,
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_sticky(&self) -> bool {
        self.code().is_some_and(CUresult::is_sticky)
    }

    /// This process is a fork of the one that initialised CUDA, and the driver does not serve it.
    pub fn is_forked(&self) -> bool {
        matches!(self.kind(), ErrorKind::Forked(_))
    }

    /// The call was refused because it would break a capture, which continues.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// // SAFETY: 1, 2: there is no capture.
    /// assert!(unsafe { stream.end_capture() }.is_err());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_refused_in_capture(&self) -> bool {
        matches!(self.kind(), ErrorKind::RefusedInCapture(_))
    }

    /// The work of an operation was not done within the time limit; it continues.
    ///
    /// ```
    /// use cuda_launch::DeviceOperation;
    /// use cuda_launch::operation::value;
    /// use std::time::Duration;
    /// let slow = value(1).timeout(Duration::from_secs(60));
    /// assert!(!slow.sync().is_err_and(|error| error.is_timed_out()));
    /// ```
    #[cfg(feature = "async")]
    pub fn is_timed_out(&self) -> bool {
        matches!(self.kind(), ErrorKind::Operation(OperationError::TimedOut { .. }))
    }

    /// The host may not currently access memory that it shares with the device.
    ///
    /// ```
    /// use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let pinned = PinnedBuffer::from_slice(&ctx, &[1u32; 4], PinnedFlags::empty())?;
    /// let mut x = DeviceBuffer::<u32>::zeroed(&stream, 4)?;
    /// let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| x.view_mut().copy_from_pinned(stream, &pinned))?;
    /// assert!(pinned.as_slice().unwrap_err().is_host_access(), "the graph may run at any time");
    /// drop(graph);
    /// pinned.as_slice()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_host_access(&self) -> bool {
        matches!(self.kind(), ErrorKind::HostAccess(_))
    }
}

impl From<ErrorKind> for Error {
    #[cold]
    #[inline(never)]
    fn from(kind: ErrorKind) -> Self {
        Self { kind: Kept::new(kind) }
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        ErrorKind::Load(error).into()
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind().fmt(f)
    }
}

// `fn main() -> Result<(), Error>` and `dbg!` print Debug: people should read the message there, not a tree of structs, which
// `kind` has. The code that prints trees is large, and in no program that does not ask for it.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.kind())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.kind)
    }
}

/// Turns a driver's result code into a `Result`. `asked` is only evaluated for an error.
#[inline(always)]
pub(crate) fn check(code: CUresult, call: &'static str, asked: impl FnOnce() -> String) -> Result<(), Error> {
    if code == CUresult::SUCCESS { Ok(()) } else { Err(failed(code, call, asked())) }
}

/// The error for a failed driver call, with the hint that its code alone allows.
#[cold]
pub(crate) fn failed(code: CUresult, call: &'static str, asked: String) -> Error {
    DriverError { call, code, asked, log: None, hint: call_hint(code, call, None) }.told()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_lacking_is_unsupported() {
        let kernel = || "k".to_string();
        let lacking: [Error; 4] = [
            ErrorKind::from(AttributeError::TooNew {
                kernel: kernel(),
                attribute: "A",
                since: 13000,
                driver: 12000,
            })
            .into(),
            ErrorKind::from(Unsupported { what: kernel(), since: 13000, driver: 12000 }).into(),
            failed(CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "cuX", String::new()),
            failed(CUresult::CUDA_ERROR_NOT_SUPPORTED, "cuX", String::new()),
        ];
        assert!(lacking.iter().all(Error::is_unsupported));
        let mistakes: [Error; 4] = [
            ErrorKind::from(AttributeError::StreamOnly { kernel: kernel(), attribute: "A" }).into(),
            ErrorKind::from(AttributeError::LaunchOnly { attribute: "A" }).into(),
            ErrorKind::from(AttributeError::TooMany { kernel: kernel(), count: 99, limit: 24 }).into(),
            failed(CUresult::CUDA_ERROR_INVALID_VALUE, "cuX", String::new()),
        ];
        assert!(!mistakes.iter().any(Error::is_unsupported));
    }
}
