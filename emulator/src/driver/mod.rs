//! The driver: the C functions of `libcuda`, family by family.
//!
//! [`entry`] is where C calls arrive; [`state`] is what the process has; [`stream`] is how work is ordered. The codes
//! answered are those of an H200 with driver 580 (`tests/driver_truth.rs` replays them).

mod array;
mod check;
mod config;
mod context;
mod counted;
mod current_work;
mod default_stream;
mod device;
mod entry;
mod error_texts;
mod errors;
mod event;
mod exhausted;
mod exports;
mod fault;
mod function;
mod graph;
mod handles;
mod init;
mod instance;
mod ipc;
mod launch;
mod live;
mod logs;
mod lookup;
mod memory;
mod module;
#[doc(hidden)]
pub mod older_abi;
mod profile;
mod profiler;
mod queue;
mod report;
mod schedule;
mod shims;
mod since;
mod slot;
mod slot_use;
mod state;
mod stream;
mod texture;
mod unimplemented;
mod work;

#[doc(hidden)]
pub use check::allocate_at;
pub use check::{forget_written, set_checks, take_findings};
pub use config::{set_architectures, set_time_limit};
pub use counted::{ProfileError, profile};
pub use default_stream::on_own_stream;
#[doc(hidden)]
pub use device::nvml::{NvmlDevice, nvml_devices};
pub use exports::symbol_address;
pub use instance::{Instance, InstanceError, InstanceOptions};
pub use live::{LiveHandles, live_handles};
pub use lookup::{driver, found_symbol};
pub use profile::{set_profile, take_profiles};
pub use schedule::{orders_run, set_schedules, take_differences, take_one_order};
pub use unimplemented::{refuse_export, unsupported_calls};

use std::sync::Arc;

use crate::engine::Fault;

/// The reports of all kernels that were stopped in this process, in order. Every driver function has returned the first
/// one's code since.
pub fn faults() -> Vec<Arc<Fault>> {
    state::get().map(|state| state.fault.reports()).unwrap_or_default()
}

/// The report of the kernel that was stopped last.
pub fn last_fault() -> Option<Arc<Fault>> {
    faults().pop()
}
