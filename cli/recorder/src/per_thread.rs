//! The functions whose NULL stream is the calling thread's own (`_ptsz`, `_ptds`): programs built with
//! `--default-stream per-thread` link against them, or look them up with a flag.
//!
//! They call the plain functions with `CU_STREAM_PER_THREAD`, and are recorded or checked as those. `lookup` names every such function of
//! the pinned header, so it does not compile if one is missing here.

#![allow(unsafe_code)] // Each passes on its caller's arguments.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc, reason = "C functions")]

use cuda_driver_sys::*;
use std::ffi::{CStr, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::layer;
use crate::real::driver;

/// The stream that a per-thread function means.
fn own(stream: CUstream) -> CUstream {
    if stream.is_null() { CU_STREAM_PER_THREAD } else { stream }
}

/// `name = plain(before; stream; after)`
macro_rules! on_own_stream {
    ($($name:ident = $plain:ident($($before:ident: $before_type:ty),*; $stream:ident; $($after:ident: $after_type:ty),*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        // SAFETY: the name is that of a function of the driver's library with this signature; no other function of this library has
        // the name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($before: $before_type,)* $stream: CUstream $(, $after: $after_type)*) -> CUresult {
            // SAFETY: the contract of the plain function on this stream, which every context has, is that of this function, and the
            // caller upholds it.
            unsafe { crate::$plain($($before,)* own($stream) $(, $after)*) }
        }
    )*};
}
on_own_stream! {
    cuLaunchKernel_ptsz = cuLaunchKernel(
        f: CUfunction, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint; stream;
        parameters: *mut *mut c_void, extra: *mut *mut c_void
    );
    cuLaunchCooperativeKernel_ptsz = cuLaunchCooperativeKernel(
        f: CUfunction, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint; stream;
        parameters: *mut *mut c_void
    );
    cuGraphLaunch_ptsz = cuGraphLaunch(graph: CUgraphExec; stream;);
    cuMemcpyHtoDAsync_v2_ptsz = cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize; stream;);
    cuMemcpyDtoHAsync_v2_ptsz = cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize; stream;);
    cuMemcpyDtoDAsync_v2_ptsz = cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize; stream;);
    cuMemcpyAsync_ptsz = cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize; stream;);
    cuMemsetD8Async_ptsz = cuMemsetD8Async(to: CUdeviceptr, value: c_uchar, count: usize; stream;);
    cuMemsetD16Async_ptsz = cuMemsetD16Async(to: CUdeviceptr, value: c_ushort, count: usize; stream;);
    cuMemsetD32Async_ptsz = cuMemsetD32Async(to: CUdeviceptr, value: c_uint, count: usize; stream;);
    cuMemsetD2D8Async_ptsz = cuMemsetD2D8Async(to: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, rows: usize; stream;);
    cuMemsetD2D16Async_ptsz = cuMemsetD2D16Async(to: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, rows: usize; stream;);
    cuMemsetD2D32Async_ptsz = cuMemsetD2D32Async(to: CUdeviceptr, pitch: usize, value: c_uint, width: usize, rows: usize; stream;);
    cuMemcpy2DAsync_v2_ptsz = cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D; stream;);
    cuMemcpy3DAsync_v2_ptsz = cuMemcpy3DAsync_v2(copy: *const CUDA_MEMCPY3D; stream;);
    cuMemcpyPeerAsync_ptsz = cuMemcpyPeerAsync(
        to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize; stream;
    );
    cuMemcpy3DPeerAsync_ptsz = cuMemcpy3DPeerAsync(copy: *const CUDA_MEMCPY3D_PEER; stream;);
    cuMemcpyHtoAAsync_v2_ptsz = cuMemcpyHtoAAsync_v2(to: CUarray, offset: usize, from: *const c_void, bytes: usize; stream;);
    cuMemcpyAtoHAsync_v2_ptsz = cuMemcpyAtoHAsync_v2(to: *mut c_void, from: CUarray, offset: usize, bytes: usize; stream;);
    cuMemcpyBatchAsync_v2_ptsz = cuMemcpyBatchAsync_v2(
        to: *mut CUdeviceptr, from: *mut CUdeviceptr, sizes: *mut usize, count: usize, attributes: *mut CUmemcpyAttributes,
        starts: *mut usize, attribute_count: usize; stream;
    );
    cuMemcpy3DBatchAsync_v2_ptsz = cuMemcpy3DBatchAsync_v2(
        count: usize, copies: *mut CUDA_MEMCPY3D_BATCH_OP, flags: c_ulonglong; stream;
    );
    cuMemcpyWithAttributesAsync_ptsz = cuMemcpyWithAttributesAsync(
        to: CUdeviceptr, from: CUdeviceptr, bytes: usize, attributes: *mut CUmemcpyAttributes; stream;
    );
    cuMemcpy3DWithAttributesAsync_ptsz = cuMemcpy3DWithAttributesAsync(
        copy: *mut CUDA_MEMCPY3D_BATCH_OP, flags: c_ulonglong; stream;
    );
    cuMemAllocAsync_ptsz = cuMemAllocAsync(place: *mut CUdeviceptr, bytes: usize; stream;);
    cuMemAllocFromPoolAsync_ptsz = cuMemAllocFromPoolAsync(place: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool; stream;);
    cuMemFreeAsync_ptsz = cuMemFreeAsync(memory: CUdeviceptr; stream;);
    cuEventRecord_ptsz = cuEventRecord(event: CUevent; stream;);
    cuEventRecordWithFlags_ptsz = cuEventRecordWithFlags(event: CUevent; stream; flags: c_uint);
    cuStreamQuery_ptsz = cuStreamQuery(; stream;);
    cuStreamAddCallback_ptsz = cuStreamAddCallback(; stream; function: CUstreamCallback, data: *mut c_void, flags: c_uint);
    cuStreamAttachMemAsync_ptsz = cuStreamAttachMemAsync(; stream; memory: CUdeviceptr, bytes: usize, flags: c_uint);
    cuLaunchHostFunc_ptsz = cuLaunchHostFunc(; stream; function: CUhostFn, data: *mut c_void);
    cuStreamBeginCapture_v2_ptsz = cuStreamBeginCapture_v2(; stream; mode: CUstreamCaptureMode);
    cuStreamBeginCaptureToGraph_ptsz = cuStreamBeginCaptureToGraph(
        ; stream; graph: CUgraph, after: *const CUgraphNode, data: *const CUgraphEdgeData, count: usize, mode: CUstreamCaptureMode
    );
    cuStreamBeginRecaptureToGraph_ptsz = cuStreamBeginRecaptureToGraph(
        ; stream; mode: CUstreamCaptureMode, graph: CUgraph, function: CUgraphRecaptureCallback, data: *mut c_void
    );
    cuStreamBeginCaptureToCig_ptsz = cuStreamBeginCaptureToCig(; stream; parameters: *mut CUstreamCigCaptureParams);
    cuStreamEndCaptureToCig_ptsz = cuStreamEndCaptureToCig(; stream;);
    cuStreamEndCapture_ptsz = cuStreamEndCapture(; stream; graph: *mut CUgraph);
    cuStreamIsCapturing_ptsz = cuStreamIsCapturing(; stream; status: *mut CUstreamCaptureStatus);
    cuStreamWaitValue32_v2_ptsz = cuStreamWaitValue32_v2(; stream; at: CUdeviceptr, value: cuuint32_t, flags: c_uint);
    cuStreamWaitValue64_v2_ptsz = cuStreamWaitValue64_v2(; stream; at: CUdeviceptr, value: cuuint64_t, flags: c_uint);
    cuStreamWriteValue32_v2_ptsz = cuStreamWriteValue32_v2(; stream; at: CUdeviceptr, value: cuuint32_t, flags: c_uint);
    cuStreamWriteValue64_v2_ptsz = cuStreamWriteValue64_v2(; stream; at: CUdeviceptr, value: cuuint64_t, flags: c_uint);
    cuStreamBatchMemOp_v2_ptsz = cuStreamBatchMemOp_v2(
        ; stream; count: c_uint, operations: *mut CUstreamBatchMemOpParams, flags: c_uint
    );
    cuStreamGetAttribute_ptsz = cuStreamGetAttribute(; stream; which: CUstreamAttrID, value: *mut CUstreamAttrValue);
    cuStreamSetAttribute_ptsz = cuStreamSetAttribute(; stream; which: CUstreamAttrID, value: *const CUstreamAttrValue);
    cuStreamGetCaptureInfo_v2_ptsz = cuStreamGetCaptureInfo_v2(
        ; stream; status: *mut CUstreamCaptureStatus, id: *mut cuuint64_t, graph: *mut CUgraph, nodes: *mut *const CUgraphNode,
        count: *mut usize
    );
    cuStreamGetCaptureInfo_v3_ptsz = cuStreamGetCaptureInfo_v3(
        ; stream; status: *mut CUstreamCaptureStatus, id: *mut cuuint64_t, graph: *mut CUgraph, nodes: *mut *const CUgraphNode,
        data: *mut *const CUgraphEdgeData, count: *mut usize
    );
    cuStreamUpdateCaptureDependencies_ptsz = cuStreamUpdateCaptureDependencies_v1(
        ; stream; nodes: *mut CUgraphNode, count: usize, flags: c_uint
    );
    cuStreamUpdateCaptureDependencies_v2_ptsz = cuStreamUpdateCaptureDependencies_v2(
        ; stream; nodes: *mut CUgraphNode, data: *const CUgraphEdgeData, count: usize, flags: c_uint
    );
    cuStreamGetCtx_ptsz = cuStreamGetCtx(; stream; context: *mut CUcontext);
    cuStreamGetCtx_v2_ptsz = cuStreamGetCtx_v2(; stream; context: *mut CUcontext, green: *mut CUgreenCtx);
    cuStreamGetDevResource_ptsz = cuStreamGetDevResource(; stream; resource: *mut CUdevResource, kind: CUdevResourceType);
    cuStreamGetDevice_ptsz = cuStreamGetDevice(; stream; device: *mut CUdevice);
    cuStreamGetFlags_ptsz = cuStreamGetFlags(; stream; flags: *mut c_uint);
    cuStreamGetId_ptsz = cuStreamGetId(; stream; id: *mut c_ulonglong);
    cuStreamGetPriority_ptsz = cuStreamGetPriority(; stream; priority: *mut c_int);
    cuGraphUpload_ptsz = cuGraphUpload(graph: CUgraphExec; stream;);
    cuLaunchHostFunc_v2_ptsz = cuLaunchHostFunc_v2(; stream; function: CUhostFn, data: *mut c_void, mode: c_uint);
    cuMemcpyBatchAsync_ptsz = cuMemcpyBatchAsync_v1(
        to: *mut CUdeviceptr, from: *mut CUdeviceptr, sizes: *mut usize, count: usize, attributes: *mut CUmemcpyAttributes,
        starts: *mut usize, attribute_count: usize, failed: *mut usize; stream;
    );
    cuMemcpy3DBatchAsync_ptsz = cuMemcpy3DBatchAsync_v1(
        count: usize, copies: *mut CUDA_MEMCPY3D_BATCH_OP, failed: *mut usize, flags: c_ulonglong; stream;
    );
    cuFabricCpyBatchAsync_ptsz = cuFabricCpyBatchAsync(
        count: usize, copies: *mut CUDA_FABRIC_COPY_BATCH_OP, flags: c_ulonglong; stream;
    );
    cuMemMapArrayAsync_ptsz = cuMemMapArrayAsync(list: *mut CUarrayMapInfo, count: c_uint; stream;);
    cuMemBatchDecompressAsync_ptsz = cuMemBatchDecompressAsync(
        list: *mut CUmemDecompressParams, count: usize, flags: c_uint, failed: *mut usize; stream;
    );
    cuMemPrefetchAsync_ptsz = cuMemPrefetchAsync_v1(memory: CUdeviceptr, bytes: usize, device: CUdevice; stream;);
    cuMemPrefetchAsync_v2_ptsz = cuMemPrefetchAsync_v2(
        memory: CUdeviceptr, bytes: usize, place: CUmemLocation, flags: c_uint; stream;
    );
    cuMemPrefetchBatchAsync_ptsz = cuMemPrefetchBatchAsync(
        memory: *mut CUdeviceptr, sizes: *mut usize, count: usize, places: *mut CUmemLocation, starts: *mut usize,
        place_count: usize, flags: c_ulonglong; stream;
    );
    cuMemDiscardBatchAsync_ptsz = cuMemDiscardBatchAsync(
        memory: *mut CUdeviceptr, sizes: *mut usize, count: usize, flags: c_ulonglong; stream;
    );
    cuMemDiscardAndPrefetchBatchAsync_ptsz = cuMemDiscardAndPrefetchBatchAsync(
        memory: *mut CUdeviceptr, sizes: *mut usize, count: usize, places: *mut CUmemLocation, starts: *mut usize,
        place_count: usize, flags: c_ulonglong; stream;
    );
    cuSignalExternalSemaphoresAsync_ptsz = cuSignalExternalSemaphoresAsync(
        list: *const CUexternalSemaphore, parameters: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, count: c_uint; stream;
    );
    cuWaitExternalSemaphoresAsync_ptsz = cuWaitExternalSemaphoresAsync(
        list: *const CUexternalSemaphore, parameters: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, count: c_uint; stream;
    );
    cuGraphicsMapResources_ptsz = cuGraphicsMapResources(count: c_uint, list: *mut CUgraphicsResource; stream;);
    cuGraphicsUnmapResources_ptsz = cuGraphicsUnmapResources(count: c_uint, list: *mut CUgraphicsResource; stream;);
    cuStreamSynchronize_ptsz = cuStreamSynchronize(; stream;);
    cuStreamWaitEvent_ptsz = cuStreamWaitEvent(; stream; event: CUevent, flags: c_uint);
}

/// The first ABI of `cuStreamBeginCapture`, without a mode: the capture was global.
// SAFETY: the name is that of a function of the driver's library with this signature; no other function of this library has
// the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamBeginCapture(stream: CUstream) -> CUresult {
    // SAFETY: the contract of the newer function is that of this one, and the caller upholds it; it accepts every
    // mode.
    unsafe { crate::cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL) }
}

/// `cuStreamBeginCapture_ptsz`
// SAFETY: as above.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamBeginCapture_ptsz(stream: CUstream) -> CUresult {
    // SAFETY: the contract of the plain function on this stream, which every context has, is that of this function, and the
    // caller upholds it.
    unsafe { cuStreamBeginCapture(own(stream)) }
}

/// `name = queued(arguments)`: a copy on the thread's stream, followed by a wait for it.
macro_rules! and_wait {
    ($($name:ident = $queued:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        // SAFETY: the name is that of a function of the driver's library with this signature; no other function of this library has
        // the name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the contract of the plain function on this stream, which every context has, is that of this
            // function, and the caller upholds it; the memory lives until this returns, which is after the wait for
            // the copy.
            unsafe {
                match crate::$queued($($argument,)* CU_STREAM_PER_THREAD) {
                    CUresult::SUCCESS => crate::cuStreamSynchronize(CU_STREAM_PER_THREAD),
                    code => code,
                }
            }
        }
    )*};
}
and_wait! {
    cuMemcpyHtoD_v2_ptds = cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
    cuMemcpyDtoH_v2_ptds = cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
    cuMemcpyDtoD_v2_ptds = cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
    cuMemcpy_ptds = cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
    cuMemcpy2D_v2_ptds = cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D);
    cuMemcpy3D_v2_ptds = cuMemcpy3DAsync_v2(copy: *const CUDA_MEMCPY3D);
    cuMemcpy3DPeer_ptds = cuMemcpy3DPeerAsync(copy: *const CUDA_MEMCPY3D_PEER);
    cuMemcpyPeer_ptds = cuMemcpyPeerAsync(
        to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize
    );
    cuMemcpyHtoA_v2_ptds = cuMemcpyHtoAAsync_v2(to: CUarray, offset: usize, from: *const c_void, bytes: usize);
    cuMemcpyAtoH_v2_ptds = cuMemcpyAtoHAsync_v2(to: *mut c_void, from: CUarray, offset: usize, bytes: usize);
}

/// `name = queued(arguments)`: a fill on the thread's stream, which the host does not wait for.
macro_rules! fills {
    ($($name:ident = $queued:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        // SAFETY: the name is that of a function of the driver's library with this signature; no other function of this library has
        // the name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the contract of the plain function on this stream, which every context has, is that of this function, and the
            // caller upholds it.
            unsafe { crate::$queued($($argument,)* CU_STREAM_PER_THREAD) }
        }
    )*};
}
fills! {
    cuMemsetD8_v2_ptds = cuMemsetD8Async(to: CUdeviceptr, value: c_uchar, count: usize);
    cuMemsetD16_v2_ptds = cuMemsetD16Async(to: CUdeviceptr, value: c_ushort, count: usize);
    cuMemsetD32_v2_ptds = cuMemsetD32Async(to: CUdeviceptr, value: c_uint, count: usize);
    cuMemsetD2D8_v2_ptds = cuMemsetD2D8Async(to: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, rows: usize);
    cuMemsetD2D16_v2_ptds = cuMemsetD2D16Async(to: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, rows: usize);
    cuMemsetD2D32_v2_ptds = cuMemsetD2D32Async(to: CUdeviceptr, pitch: usize, value: c_uint, width: usize, rows: usize);
}

/// `cuLaunchKernelEx_ptsz`
// SAFETY: the name is that of a function of the driver's library with this signature; no other function of this library has
// the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuLaunchKernelEx_ptsz(
    config: *const CUlaunchConfig,
    f: CUfunction,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    // SAFETY: by the function's contract null, or the address of an aligned configuration with all members set, which is not written
    // during the call; the reference is used only for the copy.
    let copy =
        unsafe { config.as_ref() }.map(|asked| CUlaunchConfig { hStream: own(asked.hStream), ..*asked });
    let config = copy.as_ref().map_or(config, |copy| copy);
    // SAFETY: the contract of the plain function is that of this one, and the caller upholds it; the copy of the configuration outlives
    // the call.
    unsafe { crate::cuLaunchKernelEx(config, f, parameters, extra) }
}

/// `cuStreamCopyAttributes_ptsz`
// SAFETY: the name is that of a function of the driver's library with this signature; no other function of this library has
// the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamCopyAttributes_ptsz(to: CUstream, from: CUstream) -> CUresult {
    // SAFETY: the contract of the plain function on these streams, which every context has, is that of this function, and the
    // caller upholds it.
    unsafe { crate::cuStreamCopyAttributes(own(to), own(from)) }
}

/// `cuGraphInstantiateWithParams_ptsz`
// SAFETY: the name is that of a function of the driver's library with this signature; no other function of this library has
// the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphInstantiateWithParams_ptsz(
    exec: *mut CUgraphExec,
    graph: CUgraph,
    parameters: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
) -> CUresult {
    // SAFETY: by the function's contract null, or the address of an aligned structure in which all members that are read are set, and the
    // others are a number or a handle of any value; no other code uses it during the call.
    let Some(mut copy) = (unsafe { parameters.as_ref() }).copied() else {
        // SAFETY: the contract of the plain function is that of this one, and the caller upholds it.
        return unsafe { crate::cuGraphInstantiateWithParams(exec, graph, parameters) };
    };
    copy.hUploadStream = own(copy.hUploadStream);
    // SAFETY: the contract of the plain function on this stream is that of this function, and the caller upholds it; the copy outlives the
    // call. Its results are written to the caller's structure, which was checked to be not null and which no other code uses during the
    // call.
    unsafe {
        let code = crate::cuGraphInstantiateWithParams(exec, graph, &mut copy);
        (*parameters).hErrNode_out = copy.hErrNode_out;
        (*parameters).result_out = copy.result_out;
        code
    }
}

/// A function of the driver whose NULL stream is the thread's own.
fn of_the_driver(place: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = place.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let mut found = null_mut();
    let flags = CUdriverProcAddress_flags::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM.0.into();
    // SAFETY: the name is a C string; the output outlives the call; the status may be null.
    let code = unsafe { driver().cuGetProcAddress_v2(name.as_ptr(), &mut found, 12_000, flags, null_mut()) };
    let found = if code == CUresult::SUCCESS { found } else { null_mut() };
    place.store(found, Ordering::Relaxed);
    found
}

/// `name = plain "asked"(arguments)`: copies that have no variant with a stream. The driver's own function makes them, and the checks see
/// the plain function, which orders work in the same way.
macro_rules! without_stream {
    ($($name:ident = $plain:ident $asked:literal($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        // SAFETY: the name is that of a function of the driver's library with this signature; no other function of this library has
        // the name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
            let found = of_the_driver(&FOUND, $asked);
            if found.is_null() {
                return CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
            }
            // SAFETY: checked to be not null, so it is the function that the driver has under this name since CUDA 7.0 with the flag,
            // whose signature is that of the plain function.
            let function: pfn::$plain = unsafe { std::mem::transmute(found) };
            let words = [$(Word::word($argument)),*];
            // SAFETY: 1: the words are the arguments of this call, whose contract is that of the plain function, and the caller upholds
            // it; the driver's own function gets the same arguments.
            unsafe { layer::seen(stringify!($plain), &words, &mut || function($($argument),*)) }
        }
    )*};
}

/// An argument in the form that the checks use.
trait Word {
    fn word(self) -> u64;
}

impl<T> Word for *const T {
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl<T> Word for *mut T {
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl Word for CUdeviceptr {
    fn word(self) -> u64 {
        self
    }
}

impl Word for usize {
    fn word(self) -> u64 {
        self as u64
    }
}

without_stream! {
    cuMemcpy2DUnaligned_v2_ptds = cuMemcpy2DUnaligned_v2 c"cuMemcpy2DUnaligned"(copy: *const CUDA_MEMCPY2D);
    cuMemcpyAtoA_v2_ptds = cuMemcpyAtoA_v2 c"cuMemcpyAtoA"(
        to: CUarray, to_offset: usize, from: CUarray, from_offset: usize, bytes: usize
    );
    cuMemcpyAtoD_v2_ptds = cuMemcpyAtoD_v2 c"cuMemcpyAtoD"(to: CUdeviceptr, from: CUarray, offset: usize, bytes: usize);
    cuMemcpyDtoA_v2_ptds = cuMemcpyDtoA_v2 c"cuMemcpyDtoA"(to: CUarray, offset: usize, from: CUdeviceptr, bytes: usize);
}
