//! The functions that do more than pass their arguments on.
//!
//! Each has the one duty of the driver's function of its name: its contract, which the caller of the export keeps to.

#![allow(unsafe_code)] // Each passes on what its caller gave.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc, reason = "C functions")]

use cuda_driver_sys::*;
use serde_json::{Value, json};
use std::ffi::{c_char, c_uchar, c_uint, c_ushort, c_void};

use crate::kernel;
use crate::real::driver;
use crate::timeline::{at_exit, call, close, described, wait, work};

struct Shape {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: CUstream,
}

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
    // SAFETY: the function that the program launches, not null.
    let known = unsafe { kernel::known(function) };
    let arguments = json!({
        "kernel": known.name,
        "grid": shape.grid,
        "block": shape.block,
        "shared_bytes": shape.shared,
        // SAFETY: by the contract of a launch, null or one pointer for each parameter of this function.
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
    // SAFETY: function, parameters and all else as the program gave them, for the driver's function of the same name.
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
    // SAFETY: function, parameters and all else as the program gave them, for the driver's function of the same name.
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
    // SAFETY: by the function's contract null, or a whole configuration.
    let Some(asked) = (unsafe { config.as_ref() }) else {
        // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
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
    // SAFETY: function, parameters and all else as the program gave them, for the driver's function of the same name.
    unsafe {
        launch("cuLaunchKernelEx", f, shape, parameters, || {
            driver().cuLaunchKernelEx(config, f, parameters, extra)
        })
    }
}

pub(crate) unsafe fn cuGraphLaunch(graph: CUgraphExec, stream: CUstream) -> CUresult {
    let name = || format!("graph {:#x}", graph.addr());
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    work("cuGraphLaunch", "graph", name, json!({}), stream, || unsafe {
        driver().cuGraphLaunch(graph, stream)
    })
}

/// Copies and fills that return when they are done: their time on the host is all that can be known.
macro_rules! blocking {
    ($($name:ident($to:ident: $to_type:ty, $from:ident: $from_type:ty);)*) => {$(
        pub(crate) unsafe fn $name($to: $to_type, $from: $from_type, bytes: usize) -> CUresult {
            // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
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

/// Copies and fills on a stream: the last number before the stream, times the unit, is their bytes.
macro_rules! queued {
    ($($name:ident($to:ident: $to_type:ty, $from:ident: $from_type:ty) $shown:literal $unit:literal;)*) => {$(
        pub(crate) unsafe fn $name($to: $to_type, $from: $from_type, count: usize, stream: CUstream) -> CUresult {
            let arguments = json!({ "bytes": count.saturating_mul($unit) });
            // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
            work(stringify!($name), "copy", || $shown.to_owned(), arguments, stream, || unsafe {
                driver().$name($to, $from, count, stream)
            })
        }
    )*};
}
queued! {
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void) "host to device" 1;
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr) "device to host" 1;
    cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr) "device to device" 1;
    cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr) "copy" 1;
    cuMemsetD8Async(to: CUdeviceptr, value: c_uchar) "fill" 1;
    cuMemsetD16Async(to: CUdeviceptr, value: c_ushort) "fill" 2;
    cuMemsetD32Async(to: CUdeviceptr, value: c_uint) "fill" 4;
}

fn stream_json(stream: CUstream) -> Value {
    json!({ "stream": format!("{:#x}", stream.addr()) })
}

pub(crate) unsafe fn cuStreamSynchronize(stream: CUstream) -> CUresult {
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    wait("cuStreamSynchronize", || stream_json(stream), || unsafe { driver().cuStreamSynchronize(stream) })
}

pub(crate) unsafe fn cuEventSynchronize(event: CUevent) -> CUresult {
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    wait("cuEventSynchronize", || json!({}), || unsafe { driver().cuEventSynchronize(event) })
}

pub(crate) unsafe fn cuCtxSynchronize() -> CUresult {
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    wait("cuCtxSynchronize", || json!({}), || unsafe { driver().cuCtxSynchronize() })
}

/// The stream waits, not the host.
pub(crate) unsafe fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> CUresult {
    let event_json =
        || json!({ "stream": format!("{:#x}", stream.addr()), "event": format!("{:#x}", event.addr()) });
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    described("cuStreamWaitEvent", "wait", event_json, || unsafe {
        driver().cuStreamWaitEvent(stream, event, flags)
    })
}

pub(crate) unsafe fn cuCtxDestroy_v2(context: CUcontext) -> CUresult {
    close();
    kernel::forget();
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    call("cuCtxDestroy_v2", || unsafe { driver().cuCtxDestroy_v2(context) })
}

pub(crate) unsafe fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult {
    close();
    kernel::forget();
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    call("cuDevicePrimaryCtxRelease_v2", || unsafe { driver().cuDevicePrimaryCtxRelease_v2(device) })
}

pub(crate) unsafe fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> CUresult {
    close();
    kernel::forget();
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    call("cuDevicePrimaryCtxReset_v2", || unsafe { driver().cuDevicePrimaryCtxReset_v2(device) })
}

pub(crate) unsafe fn cuCtxDetach(context: CUcontext) -> CUresult {
    close();
    kernel::forget();
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    call("cuCtxDetach", || unsafe { driver().cuCtxDetach(context) })
}

pub(crate) unsafe fn cuGreenCtxDestroy(context: CUgreenCtx) -> CUresult {
    close();
    kernel::forget();
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    call("cuGreenCtxDestroy", || unsafe { driver().cuGreenCtxDestroy(context) })
}

pub(crate) unsafe fn cuModuleUnload(module: CUmodule) -> CUresult {
    kernel::forget();
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    call("cuModuleUnload", || unsafe { driver().cuModuleUnload(module) })
}

pub(crate) unsafe fn cuLibraryGetKernel(
    kernel: *mut CUkernel,
    library: CUlibrary,
    name: *const c_char,
) -> CUresult {
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    let code = call("cuLibraryGetKernel", || unsafe { driver().cuLibraryGetKernel(kernel, library, name) });
    if code == CUresult::SUCCESS {
        // SAFETY: the driver has just written it.
        kernel::of_library(unsafe { *kernel });
    }
    code
}

pub(crate) unsafe fn cuLibraryUnload(library: CUlibrary) -> CUresult {
    kernel::forget();
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    call("cuLibraryUnload", || unsafe { driver().cuLibraryUnload(library) })
}

pub(crate) unsafe fn cuInit(flags: c_uint) -> CUresult {
    // SAFETY: the arguments are the program's, unchanged, for the driver's function of the same name.
    let code = call("cuInit", || unsafe { driver().cuInit(flags) });
    at_exit();
    code
}
