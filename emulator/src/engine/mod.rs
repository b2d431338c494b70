//! Runs PTX kernels.
//!
//! The path of a kernel: the text is parsed ([`cuda_ptx`]) and its variables placed in device memory
//! ([`Program::load`]); on first use of a kernel its instructions and those of the functions it reaches are matched
//! against one table (`table`) and decoded (`decode`); control flow, liveness and slots decide where each virtual
//! register lives in a frame (`flow`); then blocks run on worker threads ([`run`]), each warp as lists of splits in
//! lockstep (`warp`).

mod barrier;
mod block;
mod children;
mod cluster;
mod code;
pub(crate) mod conditions;
mod decode;
mod device_calls;
mod device_runtime;
mod env;
mod exec;
mod fault;
mod float_environment;
mod flow;
mod graphs;
mod grid;
mod heap;
mod image;
mod kernel;
mod launch;
mod literal;
mod load;
mod print;
mod profile;
mod program;
mod report;
mod schedule;
mod special;
mod table;
mod valid;
mod warp;
mod warp_op;
mod watch;
pub(crate) mod windows;

pub use children::{run, run_until};
pub(crate) use code::is_provided;
pub use fault::{Fault, FaultKind};
pub use image::{LoadFailure, LoadFailureKind};
pub use kernel::Kernel;
pub use launch::{
    Asked, Child, GraphLauncher, Launch, Launcher, NodeUpdate, NodeUpdater, Printer, Question, RunControl,
    Stats,
};
pub(crate) use load::{NEWEST_PTX, is_version};
pub use program::{Countable, Program};
pub use table::{InstructionForm, instruction_forms};
