//! What the driver owns: contexts, streams, events, modules and functions.
//!
//! Each handle is made and destroyed here alone. A handle keeps what it needs alive (a function its module, a module
//! its context), is cheap to clone, and may be used from every thread: a call makes its context current first.
//! `Drop` never panics and cannot report; `close` can.

mod capture;
pub(crate) mod choice;
mod context;
mod context_create;
mod context_flags;
mod context_primary;
mod context_settings;
mod device;
mod device_attribute;
mod event;
mod fault;
mod find;
mod function;
mod hold;
mod image;
mod kernel;
mod kernel_table;
mod limits;
mod module;
mod occupancy;
mod peer;
mod stream;
mod uses;

pub(crate) use capture::{Capture, Captured, Resource};
pub use choice::default_driver;
pub use context::CudaContext;
pub use context_create::ContextOptions;
pub use context_flags::{ContextFlags, ContextSchedule};
pub use context_primary::PrimaryContextState;
pub use context_settings::{CacheConfig, ContextLimit};
pub use device::{CudaDevice, DeviceUuid};
pub use device_attribute::DeviceAttribute;
pub use event::{CudaEvent, EventFlags};
pub use find::load_kernel_module;
pub use function::CudaFunction;
pub(crate) use kernel::biased;
pub use kernel::{Kernel, ParameterSource, Parameters};
pub use limits::DeviceLimits;
pub use module::CudaModule;
pub use peer::PeerAttribute;
pub use stream::{CudaStream, StreamFlags};
pub(crate) use uses::Uses;
pub use uses::Waits;
