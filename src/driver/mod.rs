//! What the driver owns: contexts, streams, events, modules and functions.
//!
//! Each handle is made and destroyed here alone. A handle keeps what it needs alive (a function its module, a module
//! its context), is cheap to clone, and may be used from every thread: a call makes its context current first.
//! `Drop` never panics and cannot report; `close` can.

mod choice;
mod context;
mod event;
mod find;
mod function;
mod image;
mod kernel;
mod kernel_table;
mod limits;
mod module;
mod occupancy;
mod stream;

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
