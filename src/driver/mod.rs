//! What the driver owns: contexts, streams, events, modules and functions.
//!
//! Each handle is made and destroyed here alone. A handle keeps what it needs alive (a function its module, a module
//! its context), is cheap to clone, and may be used from every thread: a call makes its context current first.
//! `Drop` never panics and cannot report; `close` can.

mod capture;
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
mod packed;
mod park;
mod stream;

pub(crate) use capture::{
    Capture, Captured, NamedArgument, PackedArguments, RecordedLaunch, enter, forbid_here, leave, outside_captures,
};
pub use choice::default_driver;
pub use context::CudaContext;
pub use event::{CudaEvent, EventFlags};
pub use find::load_kernel_module;
pub use function::CudaFunction;
pub(crate) use kernel::biased;
pub use kernel::{Kernel, ParameterSource, Parameters};
pub use limits::DeviceLimits;
pub use module::CudaModule;
pub(crate) use park::{Keep, sweep, until_done};
pub use stream::{CaptureStatus, CudaStream, StreamFlags};
