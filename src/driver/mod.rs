//! What the driver owns: contexts, streams, events, modules and functions.
//!
//! Each handle is made and destroyed here alone. A handle keeps what it needs alive (a function its module, a module
//! its context), is cheap to clone, and may be used from every thread: a call makes its context current first.
//! `Drop` never panics and cannot report; `close` can.

mod capture;
mod choice;
mod context;
mod event;
mod fault;
mod find;
mod function;
pub(crate) mod host_call;
mod image;
mod kernel;
mod kernel_table;
mod limits;
mod module;
mod occupancy;
mod stream;
mod stream_info;
mod uses;

pub(crate) use capture::{Capture, Captured, Resource};
pub use choice::default_driver;
pub use context::CudaContext;
pub use event::{
    AnyEvent, CudaEvent, EventFlags, EventRecordFlags, EventWaitFlags, IpcEvent, IpcEventHandle, TimingEvent,
};
pub use find::load_kernel_module;
pub use function::CudaFunction;
pub(crate) use kernel::biased;
pub use kernel::{Kernel, ParameterSource, Parameters};
pub use limits::DeviceLimits;
pub use module::CudaModule;
pub use stream::{CudaStream, StreamFlags};
pub use stream_info::StreamPriorities;
pub(crate) use uses::Uses;
