//! Functions of the program.
//!
//! Relies on the program for its functions (C7 in `entry`): they can be called from any thread with the data given, once for a stream,
//! as often as the graph is launched for a node.
#![allow(unsafe_code)]

use cuda_driver_sys::{CUDA_HOST_NODE_PARAMS, CUhostFn};
use std::ffi::c_void;

use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::state::enter_callback;

/// A function of the program and its data: as the program passed both together, so as C7 says.
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

    /// What the parameters of a node ask for.
    pub(in crate::driver) fn read(parameters: &CUDA_HOST_NODE_PARAMS) -> Outcome<HostCall> {
        HostCall::new(parameters.fn_, parameters.userData)
    }

    /// Calls it, in the order of the stream with that handle.
    pub(super) fn run(&self, stream: usize) {
        // SAFETY: by C7, as the type says, the function may be called with this data, here, whenever a stream or a graph does this work: a stream
        // runs what it is given once, and a node's function is for every launch. It does not unwind.
        enter_callback(stream, || unsafe { (self.function)(self.data) });
    }

    /// The parameters as the API tells them.
    pub(in crate::driver) fn parameters(&self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(self.function), userData: self.data }
    }
}
