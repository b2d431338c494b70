//! Older ABIs that newer functions stand in for, over any driver; and the functions of the profiler's header.
//!
//! Relies on the callers: each of these functions has as its safety contract what NVIDIA's header and documentation say of the function of
//! its name, and `driver`'s functions theirs. That is for all: pointers are null or aligned and valid for what the function reads and
//! writes there (a log for as many bytes as its size says), nothing else uses that meanwhile, and handles are of `driver` and alive.
#![allow(unsafe_code)]
#![allow(non_snake_case, clippy::missing_safety_doc, reason = "C functions")]
#![allow(missing_docs, reason = "for the shared library alone, which has each under its name")]

use cuda_driver_sys::*;
use std::ffi::{c_char, c_uint};
use std::ptr::null_mut;

use super::profiler;

/// Of CUDA 3.2 to 12.x.
pub unsafe fn cuCtxCreate_v2(
    driver: &Driver,
    context: *mut CUcontext,
    flags: c_uint,
    device: CUdevice,
) -> CUresult {
    // SAFETY: the caller's place and device, of which it promises the same here; a null array with no elements is what version 3 takes.
    unsafe { driver.cuCtxCreate_v3(context, null_mut(), 0, flags, device) }
}

/// Of before CUDA 3.2, with the same parameters: addresses were of 32 bits then, and are what they are.
pub unsafe fn cuCtxCreate(
    driver: &Driver,
    context: *mut CUcontext,
    flags: c_uint,
    device: CUdevice,
) -> CUresult {
    // SAFETY: the caller's own arguments, of which it promises the same here.
    unsafe { cuCtxCreate_v2(driver, context, flags, device) }
}

/// Of CUDA 11.
pub unsafe fn cuGraphInstantiate_v2(
    driver: &Driver,
    exec: *mut CUgraphExec,
    graph: CUgraph,
    node: *mut CUgraphNode,
    log: *mut c_char,
    bytes: usize,
) -> CUresult {
    let mut parameters = CUDA_GRAPH_INSTANTIATE_PARAMS::default();
    // SAFETY: the caller's place and graph, of which it promises the same here; the parameters are set and this function's own, and outlive the
    // call.
    let code = unsafe { driver.cuGraphInstantiateWithParams(exec, graph, &mut parameters) };
    // SAFETY: each is not null where it is written, and so by the caller's promise aligned, valid for a write, and nobody else's: the log for
    // `bytes` bytes, of which there is one.
    unsafe {
        if !node.is_null() {
            node.write(parameters.hErrNode_out);
        }
        if !log.is_null() && bytes > 0 {
            log.write(0);
        }
    }
    code
}

/// Of CUDA 10.
pub unsafe fn cuGraphInstantiate(
    driver: &Driver,
    exec: *mut CUgraphExec,
    graph: CUgraph,
    node: *mut CUgraphNode,
    log: *mut c_char,
    bytes: usize,
) -> CUresult {
    // SAFETY: the caller's own arguments, of which it promises the same here.
    unsafe { cuGraphInstantiate_v2(driver, exec, graph, node, log, bytes) }
}

/// Of CUDA 10.0, when there was one mode.
pub unsafe fn cuStreamBeginCapture(driver: &Driver, stream: CUstream) -> CUresult {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: the caller's stream, of which it promises the same here, and a mode by value.
    unsafe { driver.cuStreamBeginCapture_v2(stream, mode) }
}

/// Of CUDA 10.1 to 11.2.
pub unsafe fn cuStreamGetCaptureInfo(
    driver: &Driver,
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
    id: *mut cuuint64_t,
) -> CUresult {
    let (graph, nodes, count) = (null_mut(), null_mut(), null_mut());
    // SAFETY: the caller's stream and places, of which it promises the same here; version 2 does not write to the places that are null.
    unsafe { driver.cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count) }
}

pub unsafe fn cuProfilerStart(_: &Driver) -> CUresult {
    profiler::start()
}

pub unsafe fn cuProfilerStop(_: &Driver) -> CUresult {
    profiler::stop()
}
