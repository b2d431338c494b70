//! The exports that do more than pass their arguments on.
//!
//! Each has one duty, the contract of the driver's function of its name, which the caller of the export upholds. That is: handles are live
//! and of their type, and are not destroyed during the call; output pointers are aligned, valid for writes and not used by other threads
//! meanwhile; memory has as many bytes as the call says, for as long as its work runs; and for a launch, the arguments are those of the
//! kernel.

#![allow(unsafe_code)] // Each passes on its caller's arguments.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc, reason = "C functions")]

use cuda_driver_sys::*;
use serde_json::{Value, json};
use std::ffi::{c_char, c_uchar, c_uint, c_ushort, c_void};

use crate::kernel;
use crate::real::driver;
use crate::timeline::{Ending, at_exit, call, close, described, wait, work};

struct Shape {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: CUstream,
}

/// # Safety
/// 1. The function is null, or one that the driver accepts for a launch at this time.
/// 2. `parameters` is null, or has a pointer for each parameter of the function. Each is valid for reads of the
///    parameter's size; the bytes are initialised or padding of a C structure, and are not written during the call.
unsafe fn launch(
    name: &str,
    function: CUfunction,
    shape: Shape,
    parameters: *mut *mut c_void,
    forward: impl FnOnce() -> CUresult,
) -> CUresult {
    if function.is_null() {
        return call(name, forward);
    }
    // SAFETY: 1: duty 1, because it is not null.
    let known = unsafe { kernel::known(function) };
    let arguments = json!({
        "kernel": known.name,
        "grid": shape.grid,
        "block": shape.block,
        "shared_bytes": shape.shared,
        // SAFETY: 1: duty 2. 2: `known` is the result of the line above for this function.
        "arguments": unsafe { kernel::arguments(&known, parameters) },
    });
    work(name, "kernel", || known.name.clone(), arguments, shape.stream, forward)
}

pub(crate) unsafe fn cuLaunchKernel(
    f: CUfunction,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: CUstream,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    let shape = Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared, stream };
    // SAFETY: 1, 2: the contract of a launch in the module's documentation; it is also the only duty of the driver's function,
    // which gets the same arguments.
    unsafe {
        launch("cuLaunchKernel", f, shape, parameters, || {
            driver().cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra)
        })
    }
}

pub(crate) unsafe fn cuLaunchCooperativeKernel(
    f: CUfunction,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: CUstream,
    parameters: *mut *mut c_void,
) -> CUresult {
    let shape = Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared, stream };
    // SAFETY: 1, 2: the contract of a launch in the module's documentation; it is also the only duty of the driver's function,
    // which gets the same arguments.
    unsafe {
        launch("cuLaunchCooperativeKernel", f, shape, parameters, || {
            driver().cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters)
        })
    }
}

pub(crate) unsafe fn cuLaunchKernelEx(
    config: *const CUlaunchConfig,
    f: CUfunction,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    // SAFETY: by the function's contract null, or the address of an aligned configuration with all members set, which is not written
    // during the call; the reference is not used after it.
    let Some(asked) = (unsafe { config.as_ref() }) else {
        // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it
        // gets the same arguments.
        return call("cuLaunchKernelEx", || unsafe {
            driver().cuLaunchKernelEx(config, f, parameters, extra)
        });
    };
    let shape = Shape {
        grid: [asked.gridDimX, asked.gridDimY, asked.gridDimZ],
        block: [asked.blockDimX, asked.blockDimY, asked.blockDimZ],
        shared: asked.sharedMemBytes,
        stream: asked.hStream,
    };
    // SAFETY: 1, 2: the contract of a launch in the module's documentation; it is also the only duty of the driver's function,
    // which gets the same arguments.
    unsafe {
        launch("cuLaunchKernelEx", f, shape, parameters, || {
            driver().cuLaunchKernelEx(config, f, parameters, extra)
        })
    }
}

pub(crate) unsafe fn cuGraphLaunch(graph: CUgraphExec, stream: CUstream) -> CUresult {
    let name = || format!("graph {:#x}", graph.addr());
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    work("cuGraphLaunch", "graph", name, json!({}), stream, || unsafe {
        driver().cuGraphLaunch(graph, stream)
    })
}

pub(crate) unsafe fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void) -> CUresult {
    let name = || "host function".to_owned();
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    work("cuLaunchHostFunc", "host function", name, json!({}), stream, || unsafe {
        driver().cuLaunchHostFunc(stream, function, data)
    })
}

/// Copies and fills that return when they are done: only their time on the host can be measured.
macro_rules! blocking {
    ($($name:ident($to:ident: $to_type:ty, $from:ident: $from_type:ty);)*) => {$(
        pub(crate) unsafe fn $name($to: $to_type, $from: $from_type, bytes: usize) -> CUresult {
            // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it
            // gets the same arguments.
            described(stringify!($name), "copy", || json!({ "bytes": bytes }), || unsafe { driver().$name($to, $from, bytes) })
        }
    )*};
}
blocking! {
    cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void);
    cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr);
    cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr);
    cuMemcpy(to: CUdeviceptr, from: CUdeviceptr);
}

/// Copies and fills on a stream: their size in bytes is the last number before the stream, times the unit.
macro_rules! queued {
    ($($name:ident($to:ident: $to_type:ty, $from:ident: $from_type:ty) $category:literal $shown:literal $unit:literal;)*) => {$(
        pub(crate) unsafe fn $name($to: $to_type, $from: $from_type, count: usize, stream: CUstream) -> CUresult {
            let arguments = json!({ "bytes": count.saturating_mul($unit) });
            // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it
            // gets the same arguments.
            work(stringify!($name), $category, || $shown.to_owned(), arguments, stream, || unsafe {
                driver().$name($to, $from, count, stream)
            })
        }
    )*};
}
queued! {
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void) "copy" "host to device" 1;
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr) "copy" "device to host" 1;
    cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr) "copy" "device to device" 1;
    cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr) "copy" "copy" 1;
    cuMemsetD8Async(to: CUdeviceptr, value: c_uchar) "fill" "fill" 1;
    cuMemsetD16Async(to: CUdeviceptr, value: c_ushort) "fill" "fill" 2;
    cuMemsetD32Async(to: CUdeviceptr, value: c_uint) "fill" "fill" 4;
}

fn stream_json(stream: CUstream) -> Value {
    json!({ "stream": format!("{:#x}", stream.addr()) })
}

pub(crate) unsafe fn cuStreamSynchronize(stream: CUstream) -> CUresult {
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    wait("cuStreamSynchronize", || stream_json(stream), || unsafe { driver().cuStreamSynchronize(stream) })
}

pub(crate) unsafe fn cuEventSynchronize(event: CUevent) -> CUresult {
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    wait("cuEventSynchronize", || json!({}), || unsafe { driver().cuEventSynchronize(event) })
}

pub(crate) unsafe fn cuCtxSynchronize() -> CUresult {
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    wait("cuCtxSynchronize", || json!({}), || unsafe { driver().cuCtxSynchronize() })
}

/// The stream waits, not the host.
pub(crate) unsafe fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> CUresult {
    let event_json =
        || json!({ "stream": format!("{:#x}", stream.addr()), "event": format!("{:#x}", event.addr()) });
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    described("cuStreamWaitEvent", "wait", event_json, || unsafe {
        driver().cuStreamWaitEvent(stream, event, flags)
    })
}

pub(crate) unsafe fn cuCtxDestroy_v2(context: CUcontext) -> CUresult {
    close(Ending::Context(context));
    kernel::forget();
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    call("cuCtxDestroy_v2", || unsafe { driver().cuCtxDestroy_v2(context) })
}

pub(crate) unsafe fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult {
    close(Ending::Primary(device));
    kernel::forget();
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    call("cuDevicePrimaryCtxRelease_v2", || unsafe { driver().cuDevicePrimaryCtxRelease_v2(device) })
}

pub(crate) unsafe fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> CUresult {
    close(Ending::Primary(device));
    kernel::forget();
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    call("cuDevicePrimaryCtxReset_v2", || unsafe { driver().cuDevicePrimaryCtxReset_v2(device) })
}

pub(crate) unsafe fn cuCtxDetach(context: CUcontext) -> CUresult {
    close(Ending::Context(context));
    kernel::forget();
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    call("cuCtxDetach", || unsafe { driver().cuCtxDetach(context) })
}

pub(crate) unsafe fn cuGreenCtxDestroy(context: CUgreenCtx) -> CUresult {
    close(Ending::Any);
    kernel::forget();
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    call("cuGreenCtxDestroy", || unsafe { driver().cuGreenCtxDestroy(context) })
}

pub(crate) unsafe fn cuModuleUnload(module: CUmodule) -> CUresult {
    kernel::forget();
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    call("cuModuleUnload", || unsafe { driver().cuModuleUnload(module) })
}

pub(crate) unsafe fn cuLibraryGetKernel(
    kernel: *mut CUkernel,
    library: CUlibrary,
    name: *const c_char,
) -> CUresult {
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    let code = call("cuLibraryGetKernel", || unsafe { driver().cuLibraryGetKernel(kernel, library, name) });
    if code == CUresult::SUCCESS && !kernel.is_null() {
        // SAFETY: not null, so by the function's contract an aligned output for a handle, which no other thread uses during the call; the
        // driver has written it, because the call succeeded.
        kernel::of_library(unsafe { *kernel });
    }
    code
}

pub(crate) unsafe fn cuLibraryUnload(library: CUlibrary) -> CUresult {
    kernel::forget();
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    call("cuLibraryUnload", || unsafe { driver().cuLibraryUnload(library) })
}

pub(crate) unsafe fn cuInit(flags: c_uint) -> CUresult {
    // SAFETY: the only duty of the driver's function is also the duty of this one (module documentation), and it gets
    // the same arguments.
    let code = call("cuInit", || unsafe { driver().cuInit(flags) });
    at_exit();
    code
}
