//! Minimal functions for the warm paths: they only count their calls.
//!
//! Relies on: output pointers are valid for their values, as the contract of each function requires. The compiler checks each against
//! the type of its name.
#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "C functions")]

use cuda_driver_sys::{
    CUcontext, CUdeviceptr, CUevent, CUfunction, CUlaunchConfig, CUresult, CUstream, CUstreamCaptureMode, pfn,
};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// The number of calls of functions that [`NullDriver::quiet`](super::NullDriver::quiet) makes minimal, on all threads, since
/// the process started.
pub fn total_calls() -> usize {
    CALLS.load(Ordering::Relaxed)
}

macro_rules! quiet {
    ($($call:ident, $function:ident($($argument:tt: $type:ty),*) $({ $($body:tt)* })?;)*) => {
        $(
            unsafe extern "C" fn $function($($argument: $type),*) -> CUresult {
                CALLS.fetch_add(1, Ordering::Relaxed);
                // SAFETY: if something is written, the output is valid for it by the function's contract.
                $(unsafe { $($body)* };)?
                CUresult::SUCCESS
            }
        )*

        /// The function of that name, or null.
        pub(super) fn lookup(name: &str) -> *const c_void {
            match name {
                $(stringify!($call) => $function as pfn::$call as *const c_void,)*
                _ => null(),
            }
        }
    };
}

fn handle<T>(number: usize) -> *mut T {
    without_provenance_mut(number)
}

/// Handles are distinct, because equal handles mean the same stream.
#[inline(always)]
fn next_stream() -> CUstream {
    static NEXT: AtomicUsize = AtomicUsize::new(0x5000);
    handle(NEXT.fetch_add(1, Ordering::Relaxed))
}

quiet! {
    cuCtxGetCurrent, get_current(out: *mut CUcontext) { out.write(handle(0x1000)) };
    cuLaunchKernelEx, launch_ex(_: *const CUlaunchConfig, _: CUfunction, _: *mut *mut c_void, _: *mut *mut c_void);
    cuLaunchKernel, launch(
        _: CUfunction, _: c_uint, _: c_uint, _: c_uint, _: c_uint, _: c_uint, _: c_uint, _: c_uint, _: CUstream,
        _: *mut *mut c_void, _: *mut *mut c_void
    );
    cuStreamCreateWithPriority, stream_create(out: *mut CUstream, _: c_uint, _: c_int) { out.write(next_stream()) };
    cuStreamDestroy_v2, stream_destroy(_: CUstream);
    cuStreamSynchronize, stream_synchronize(_: CUstream);
    cuStreamQuery, stream_query(_: CUstream);
    cuStreamWaitEvent, stream_wait(_: CUstream, _: CUevent, _: c_uint);
    cuEventCreate, event_create(out: *mut CUevent, _: c_uint) { out.write(handle(0x6000)) };
    cuEventDestroy_v2, event_destroy(_: CUevent);
    cuEventRecord, event_record(_: CUevent, _: CUstream);
    cuMemAllocAsync, alloc(out: *mut CUdeviceptr, _: usize, _: CUstream) { out.write(0x3000_0000_0000) };
    cuMemFreeAsync, free(_: CUdeviceptr, _: CUstream);
    cuThreadExchangeStreamCaptureMode, exchange(_: *mut CUstreamCaptureMode);
}
