//! `cuLaunchHostFunc` and `cuStreamAddCallback`.
//!
//! Relies on the program for its callbacks (C7 in `entry`): they may be called from any thread, with the passed data, until they
//! have been called.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_uint, c_void};

use super::Pace;
use crate::driver::entry::{INVALID_VALUE, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::queue::Job;
use crate::driver::state::{Call, enter_callback};
use crate::driver::work::Work;
use crate::driver::work::host::HostCall;

entries! {
    cuLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void) [callback] = launch_host_function;
    cuStreamAddCallback(stream: CUstream, callback: CUstreamCallback, data: *mut c_void, flags: c_uint) [callback] = add_callback;
}

/// The program's own pointer, on its way to the program's own function.
struct Data(*mut c_void);

// SAFETY: a callback may be called from any thread with the data passed beside it, by C7; this driver only passes the data on.
unsafe impl Send for Data {}

impl Data {
    fn get(self) -> *mut c_void {
        self.0
    }
}

fn launch_host_function(call: &Call, stream: CUstream, function: CUhostFn, data: *mut c_void) -> Outcome {
    let work = Work::Host(HostCall::new(function, data)?);
    call.stream(stream)?.give(call, work, Pace::Queued).map(|_| ())
}

fn add_callback(
    call: &Call,
    stream: CUstream,
    callback: CUstreamCallback,
    data: *mut c_void,
    flags: c_uint,
) -> Outcome {
    let callback = callback.ok_or(INVALID_VALUE)?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let stream = call.stream(stream)?;
    let (handle, data) = (stream.handle, Data(data));
    let notify = move |status| {
        let (stream, data) = (to_c(handle), data.get());
        // SAFETY: by C7 the callback, which is not null, may be called once on any thread with the stream's handle, a status and the data
        // that was passed with it: a stream runs a job once. It does not unwind.
        enter_callback(handle, || unsafe { callback(stream, status, data) });
    };
    stream.give_apart(None, Job::Notify(Box::new(notify))).map(|_| ())
}
