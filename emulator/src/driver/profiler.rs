//! `cuProfilerStart` and `cuProfilerStop`: there is nothing to start. They are not in the main header, so that the table
//! does not have them; `cuGetProcAddress` and the shared library do.

use cuda_driver_sys::CUresult;
use std::ffi::c_void;

use super::entry::{Outcome, Rule, call};
use super::state::Call;

/// The address of one of the two; null for other names.
pub(super) fn address(name: &str) -> *const c_void {
    match name {
        "cuProfilerStart" => start as *const c_void,
        "cuProfilerStop" => stop as *const c_void,
        _ => std::ptr::null(),
    }
}

pub(super) extern "C" fn start() -> CUresult {
    call("cuProfilerStart", Rule::Ordinary, nothing)
}

pub(super) extern "C" fn stop() -> CUresult {
    call("cuProfilerStop", Rule::Ordinary, nothing)
}

fn nothing(call: &Call) -> Outcome {
    call.context().map(|_| ())
}
