//! Functions of the program.
//!
//! Relies on the program for its functions (C7 in `entry`): they may be called from any thread with the passed data: once for a
//! stream, and for a node as often as the graph is launched.
#![allow(unsafe_code)]

use cuda_driver_sys::{CUDA_HOST_NODE_PARAMS, CUhostFn};
use std::ffi::c_void;

use crate::driver::current_work;
use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::state::enter_callback;

/// A function of the program and its data, which were passed together, so C7 holds for them.
#[derive(Clone, Copy)]
pub(in crate::driver) struct HostCall {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: a function may be called from any thread with the data passed beside it, by C7; this driver only passes the data on.
unsafe impl Send for HostCall {}
// SAFETY: the fields are never changed, so a shared reference only gives copies, which may go to other threads, as for `Send`.
unsafe impl Sync for HostCall {}

impl HostCall {
    pub(in crate::driver) fn new(function: CUhostFn, data: *mut c_void) -> Outcome<HostCall> {
        Ok(HostCall { function: function.ok_or(INVALID_VALUE)?, data })
    }

    /// The call for the parameters of a node.
    pub(in crate::driver) fn read(parameters: &CUDA_HOST_NODE_PARAMS) -> Outcome<HostCall> {
        HostCall::new(parameters.fn_, parameters.userData)
    }

    /// Calls it, in the order of the stream with that handle.
    pub(super) fn run(&self, stream: usize) {
        // SAFETY: by C7 (the type's documentation) the function may be called with this data whenever a stream or a graph performs this
        // work: a stream performs it once, and a node's function is called by every launch. It does not unwind.
        current_work::host_function(|| enter_callback(stream, || unsafe { (self.function)(self.data) }));
    }

    /// The parameters in the form of the API.
    pub(in crate::driver) fn parameters(&self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(self.function), userData: self.data }
    }
}
