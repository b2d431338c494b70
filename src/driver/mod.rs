//! What the driver owns: contexts, streams, events, modules and functions.
//!
//! Handles are created and destroyed only here. A handle keeps what it needs alive (a function its module, a module
//! its context), is cheap to clone, and may be used from every thread: a call makes its context current first.
//! `Drop` never panics and cannot report errors; `close` can.

mod binary;
mod block_size;
mod cache_config;
mod capture;
#[cfg(all(test, unix))]
mod child;
pub(crate) mod choice;
mod contents;
mod context;
#[cfg(feature = "diagnostics")]
mod coredump;
mod device;
pub(crate) mod drops;
mod event;
mod fault;
mod function;
#[cfg(feature = "green-contexts")]
mod green;
mod hold;
pub(crate) mod host_call;
mod image;
mod jit;
mod kernel;
mod kernel_image;
mod library;
mod limits;
#[cfg(feature = "link")]
mod linker;
#[cfg(feature = "diagnostics")]
mod logs;
mod module;
mod numbered;
mod occupancy;
pub(crate) mod older;
mod own_lock;
mod packed;
mod park;
mod peer;
#[cfg(feature = "diagnostics")]
mod profiler;
mod shape;
mod stream;
mod symbols;
mod sync;
mod table;
mod together;

pub use cache_config::CacheConfig;
pub(crate) use capture::open::{ContextWait, despite_captures, forbid_here};
pub use capture::stream::CaptureStatus;
pub(crate) use capture::{Capture, MemoryWord, NamedArgument, RecordedLaunch, Resource};
pub use choice::{default_driver, set_default_driver};
pub use contents::{KernelEntry, LoadingMode};
pub use context::CudaContext;
pub use context::create::ContextOptions;
pub use context::flags::{ContextFlags, ContextSchedule};
pub use context::primary::PrimaryContextState;
pub use context::settings::ContextLimit;
#[cfg(feature = "diagnostics")]
pub use coredump::{Coredump, CoredumpFlags, CoredumpSwitch};
pub use device::attribute::DeviceAttribute;
pub use device::{CudaDevice, DeviceUuid};
pub(crate) use event::Recording;
#[cfg(feature = "async")]
pub(crate) use event::StreamMark;
pub use event::{AnyEvent, CudaEvent, EventFlags, EventRecordFlags, EventWaitFlags, TimingEvent};
#[cfg(feature = "interop")]
pub use event::{IpcEvent, IpcEventHandle};
pub(crate) use fault::NO_KERNEL;
pub use function::CudaFunction;
pub use function::attribute::{FunctionAttribute, FunctionLimits, SharedCarveout};
#[cfg(feature = "green-contexts")]
pub use green::{GreenContext, SmResource, SmSplitFlags};
pub use host_call::HostTaskSyncMode;
pub use jit::{JitCacheMode, JitFallback, JitOptions, JitReport, JitTarget};
pub(crate) use kernel::verified::{Limits, USUAL_DIMS, USUAL_THREADS};
pub use kernel::{Kernel, ParameterSource, Parameters};
pub(crate) use kernel::{LaunchBounds, biased, kind};
pub use kernel_image::KernelImage;
pub use library::kernel::LibraryKernel;
pub use library::{CudaLibrary, LibraryOptions};
pub use limits::DeviceLimits;
#[cfg(feature = "link")]
pub use linker::{LinkInput, LinkedImage, Linker};
#[cfg(feature = "diagnostics")]
pub use logs::{DriverLog, LogLevel, LogListener};
pub use module::CudaModule;
pub use occupancy::{BlockSizeQuery, OccupancyFlags, PotentialBlockSize};
pub(crate) use own_lock::{OwnGuard, OwnLock};
pub(crate) use packed::PackedArguments;
pub(crate) use park::{Keep, end_or_try_again, sweep, sweep_and_wait, until_done};
pub use peer::PeerAttribute;
#[cfg(feature = "diagnostics")]
pub use profiler::Profiler;
pub(crate) use shape::{Kind, Shape};
pub use stream::info::StreamPriorities;
pub(crate) use stream::patience::{Launching, Patience, SubmittingElsewhere};
pub(crate) use stream::queue::{Parts, StreamQueue};
pub(crate) use stream::thread::{StreamAccesses, StreamWaits, ThreadStream};
pub use stream::{CudaStream, StreamFlags};
#[cfg(feature = "async")]
pub(crate) use table::{Shared, Table, WorkerNeeded};
