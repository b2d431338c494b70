//! A driver whose functions of the warm paths are as short as they can be; they count themselves.

#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use cuda_harness::null::NullDriver;
use cuda_launch::sys::{self, Driver};
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) static DRIVER_CALLS: AtomicUsize = AtomicUsize::new(0);

macro_rules! no_ops {
    ($($call:ident, $function:ident($($argument:tt: $type:ty),*) $({ $($body:tt)* })?;)*) => {
        $(
            #[allow(clippy::too_many_arguments)] // the driver's
            unsafe extern "C" fn $function($($argument: $type),*) -> sys::CUresult {
                DRIVER_CALLS.fetch_add(1, Ordering::Relaxed);
                $(unsafe { $($body)* };)?
                sys::CUresult::SUCCESS
            }
        )*

        fn no_op(name: &str) -> Option<*const c_void> {
            Some(match name {
                $(stringify!($call) => $function as sys::pfn::$call as *const c_void,)*
                _ => return None,
            })
        }
    };
}

fn handle<T>(number: usize) -> *mut T {
    std::ptr::without_provenance_mut(number)
}

/// No two have the same handle: those that have are one stream.
#[inline(always)]
fn next_stream() -> sys::CUstream {
    static NEXT: AtomicUsize = AtomicUsize::new(0x5000);
    handle(NEXT.fetch_add(1, Ordering::Relaxed))
}

no_ops! {
    cuCtxGetCurrent, noop_get_current(out: *mut sys::CUcontext) { out.write(handle(0x1000)) };
    cuLaunchKernelEx, noop_launch_ex(
        _: *const sys::CUlaunchConfig, _: sys::CUfunction, _: *mut *mut c_void, _: *mut *mut c_void
    );
    cuLaunchKernel, noop_launch(
        _: sys::CUfunction, _: c_uint, _: c_uint, _: c_uint, _: c_uint, _: c_uint, _: c_uint, _: c_uint, _: sys::CUstream,
        _: *mut *mut c_void, _: *mut *mut c_void
    );
    cuStreamCreateWithPriority, noop_stream_create(out: *mut sys::CUstream, _: c_uint, _: c_int) { out.write(next_stream()) };
    cuStreamDestroy_v2, noop_stream_destroy(_: sys::CUstream);
    cuStreamSynchronize, noop_stream_synchronize(_: sys::CUstream);
    cuStreamQuery, noop_stream_query(_: sys::CUstream);
    cuStreamWaitEvent, noop_stream_wait(_: sys::CUstream, _: sys::CUevent, _: c_uint);
    cuEventCreate, noop_event_create(out: *mut sys::CUevent, _: c_uint) { out.write(handle(0x6000)) };
    cuEventDestroy_v2, noop_event_destroy(_: sys::CUevent);
    cuEventRecord, noop_event_record(_: sys::CUevent, _: sys::CUstream);
    cuMemAllocAsync, noop_alloc(out: *mut sys::CUdeviceptr, _: usize, _: sys::CUstream) { out.write(0x3000_0000_0000) };
    cuMemFreeAsync, noop_free(_: sys::CUdeviceptr, _: sys::CUstream);
    cuThreadExchangeStreamCaptureMode, noop_exchange(_: *mut sys::CUstreamCaptureMode);
}

/// The driver that does nothing with these functions in the place of its own.
pub(crate) fn no_op_driver() -> Arc<Driver> {
    let full = NullDriver::new().driver();
    Arc::new(unsafe {
        Driver::from_lookup(|name: &CStr| {
            let name = name.to_str().unwrap();
            no_op(name).unwrap_or_else(|| full.address(name))
        })
    })
}
