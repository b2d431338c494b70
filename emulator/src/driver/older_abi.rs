//! Older ABIs, implemented with newer functions over any driver; and the functions of the profiler's header.
//!
//! Relies on the callers: the safety contract of each of these functions is that of NVIDIA's header and documentation for the function of
//! its name, and the same holds for `driver`'s functions. For all of them: pointers are null or aligned and valid for the reads and writes
//! of the function (a log for as many bytes as its size), that memory is not used by other code meanwhile, and handles belong to `driver`
//! and are alive.
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
    // SAFETY: the caller's output and device, with the same contract; version 3 accepts a null array with no elements.
    unsafe { driver.cuCtxCreate_v3(context, null_mut(), 0, flags, device) }
}

/// The ABI before CUDA 3.2, with the same parameters; addresses had 32 bits then, and have their current size here.
pub unsafe fn cuCtxCreate(
    driver: &Driver,
    context: *mut CUcontext,
    flags: c_uint,
    device: CUdevice,
) -> CUresult {
    // SAFETY: the caller's own arguments, with the same contract.
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
    // SAFETY: the caller's output and graph, with the same contract; the parameters are initialised locals of this function, and outlive
    // the call.
    let code = unsafe { driver.cuGraphInstantiateWithParams(exec, graph, &mut parameters) };
    // SAFETY: each is written only if it is not null, so by the caller's contract it is aligned, valid for a write and not used by other
    // code; the log has `bytes` bytes, which is at least one.
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
    // SAFETY: the caller's own arguments, with the same contract.
    unsafe { cuGraphInstantiate_v2(driver, exec, graph, node, log, bytes) }
}

/// Of CUDA 10.0, when there was one mode.
pub unsafe fn cuStreamBeginCapture(driver: &Driver, stream: CUstream) -> CUresult {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: the caller's stream, with the same contract, and a mode by value.
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
    // SAFETY: the caller's stream and outputs, with the same contract; version 2 does not write to outputs that are null.
    unsafe { driver.cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count) }
}

pub unsafe fn cuProfilerStart(_: &Driver) -> CUresult {
    profiler::start()
}

pub unsafe fn cuProfilerStop(_: &Driver) -> CUresult {
    profiler::stop()
}
