//! `cuLaunchHostFunc` and `cuStreamAddCallback`.
//!
//! Relies on the program for its callbacks: they can be called from any thread, with the data given, until they have
//! been called.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_uint, c_void};

use super::Work;
use crate::driver::entry::{INVALID_VALUE, Outcome, entries};
use crate::driver::graph::capture::record::recorder;
use crate::driver::graph::host::HostCall;
use crate::driver::graph::operation::Operation;
use crate::driver::state::{Call, enter_callback};

entries! {
    cuLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void) [callback] = launch_host_function;
    cuStreamAddCallback(stream: CUstream, callback: CUstreamCallback, data: *mut c_void, flags: c_uint) [callback] = add_callback;
}

/// The program's own pointer, on its way to the program's own function.
struct Data(*mut c_void);

// SAFETY: callbacks of streams are called on a thread of the driver's, by their contract, so the data is for other threads.
unsafe impl Send for Data {}

impl Data {
    fn get(self) -> *mut c_void {
        self.0
    }
}

fn launch_host_function(call: &Call, stream: CUstream, function: CUhostFn, data: *mut c_void) -> Outcome {
    let function = function.ok_or(INVALID_VALUE)?;
    let stream = call.stream(stream)?;
    if let Some(recorder) = recorder(&stream)? {
        let operation = Operation::Host(HostCall::new(Some(function), data)?);
        return recorder.add(call.state()?, operation).map(|_| ());
    }
    let (handle, data) = (stream.handle, Data(data));
    stream.submit(
        None,
        Work::Host(Box::new(move || {
            let data = data.get();
            // SAFETY: the program gave both for one call of the function with this data; the work runs once.
            enter_callback(handle, || unsafe { function(data) });
        })),
    )?;
    Ok(())
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
    stream.submit(
        None,
        Work::Notify(Box::new(move |status| {
            let data = data.get();
            let stream = crate::driver::handles::to_c(handle);
            // SAFETY: the program gave both for one call with the stream, its status and this data; the work runs once.
            enter_callback(handle, || unsafe { callback(stream, status, data) });
        })),
    )?;
    Ok(())
}
