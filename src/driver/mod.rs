//! What the driver owns: contexts, streams, events, modules and functions.
//!
//! Each handle is made and destroyed here alone. A handle keeps what it needs alive (a function its module, a module
//! its context), is cheap to clone, and may be used from every thread: a call makes its context current first.
//! `Drop` never panics and cannot report; `close` can.

mod cache_config;
mod capture;
mod choice;
mod contents;
mod context;
mod event;
mod fault;
mod find;
mod function;
mod function_attribute;
pub(crate) mod host_call;
mod image;
mod kernel;
mod kernel_table;
mod limits;
mod module;
mod nearest;
mod occupancy;
mod stream;
mod symbols;
mod uses;

pub use cache_config::CacheConfig;
pub(crate) use capture::{Capture, Captured, Resource};
pub use choice::default_driver;
pub use contents::{KernelEntry, LoadingMode};
pub use context::CudaContext;
pub use event::{
    AnyEvent, CudaEvent, EventFlags, EventRecordFlags, EventWaitFlags, IpcEvent, IpcEventHandle, TimingEvent,
};
pub use find::load_kernel_module;
pub use function::CudaFunction;
pub use function_attribute::{FunctionAttribute, FunctionLimits, SharedCarveout};
pub(crate) use kernel::biased;
pub use kernel::{Kernel, ParameterSource, Parameters};
pub use limits::DeviceLimits;
pub use module::CudaModule;
pub use stream::{CudaStream, StreamFlags};
pub(crate) use symbols::AnyHome;
pub(crate) use uses::Uses;
pub use uses::Waits;
