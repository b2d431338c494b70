//! What the driver owns: contexts, streams, events, modules and functions.
//!
//! Handles are created and destroyed only here. A handle keeps what it needs alive (a function its module, a module
//! its context), is cheap to clone, and may be used from every thread: a call makes its context current first.
//! `Drop` never panics and cannot report errors; `close` can.

mod block_size;
mod cache_config;
mod capture;
mod capturing;
pub(crate) mod choice;
mod contents;
mod context;
mod context_create;
mod context_flags;
mod context_primary;
mod context_settings;
mod context_work;
#[cfg(feature = "diagnostics")]
mod coredump;
mod device;
mod device_attribute;
mod event;
mod fault;
mod function;
mod function_attribute;
#[cfg(feature = "green-contexts")]
mod green;
mod hold;
pub(crate) mod host_call;
mod image;
mod jit;
mod jit_slots;
mod kernel;
mod kernel_table;
mod library;
mod library_kernel;
mod limits;
#[cfg(feature = "link")]
mod linker;
#[cfg(feature = "diagnostics")]
mod logs;
mod module;
mod numbered;
mod occupancy;
mod open_captures;
mod packed;
mod park;
mod peer;
#[cfg(feature = "diagnostics")]
mod profiler;
mod shape;
mod stream;
mod stream_info;
mod symbols;
mod thread_stream;
mod together;

pub use cache_config::CacheConfig;
pub(crate) use capture::{Capture, NamedArgument, RecordedLaunch, Resource};
pub use capturing::CaptureStatus;
pub use choice::default_driver;
pub use contents::{KernelEntry, LoadingMode};
pub use context::CudaContext;
pub use context_create::ContextOptions;
pub use context_flags::{ContextFlags, ContextSchedule};
pub use context_primary::PrimaryContextState;
pub use context_settings::ContextLimit;
#[cfg(feature = "diagnostics")]
pub use coredump::{Coredump, CoredumpFlags, CoredumpSwitch};
pub use device::{CudaDevice, DeviceUuid};
pub use device_attribute::DeviceAttribute;
#[cfg(feature = "async")]
pub(crate) use event::StreamMark;
pub use event::{AnyEvent, CudaEvent, EventFlags, EventRecordFlags, EventWaitFlags, TimingEvent};
#[cfg(feature = "interop")]
pub use event::{IpcEvent, IpcEventHandle};
pub(crate) use fault::NO_KERNEL;
pub use function::CudaFunction;
pub use function_attribute::{FunctionAttribute, FunctionLimits, SharedCarveout};
#[cfg(feature = "green-contexts")]
pub use green::{GreenContext, SmResource, SmSplitFlags};
pub use host_call::HostWait;
pub use jit::{JitCacheMode, JitFallback, JitOptions, JitReport, JitTarget};
pub use kernel::{Kernel, ParameterSource, Parameters};
pub(crate) use kernel::{biased, kind};
pub use library::{CudaLibrary, LibraryOptions};
pub use library_kernel::LibraryKernel;
pub use limits::DeviceLimits;
#[cfg(feature = "link")]
pub use linker::{LinkInput, LinkedImage, Linker};
#[cfg(feature = "diagnostics")]
pub use logs::{DriverLog, LogLevel, LogListener};
pub use module::CudaModule;
pub use occupancy::{BlockSizeQuery, OccupancyFlags, PotentialBlockSize};
pub(crate) use open_captures::{despite_captures, forbid_anywhere, forbid_here};
pub(crate) use packed::PackedArguments;
pub(crate) use park::{Keep, sweep, try_again, until_done};
pub use peer::PeerAttribute;
#[cfg(feature = "diagnostics")]
pub use profiler::Profiler;
pub(crate) use shape::{Kind, Shape};
pub use stream::{CudaStream, StreamFlags};
pub use stream_info::StreamPriorities;
pub(crate) use symbols::AnyHome;
pub(crate) use thread_stream::{StreamAccesses, StreamWaits, ThreadStream};
