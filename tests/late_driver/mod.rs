//! A driver of Rust functions whose device is slow: work that a stream was given is done when somebody waits for the stream, or
//! when [`work`] says so. It reads what it is to copy only then: under Miri, whatever is given back too soon is found.

#![allow(unsafe_code, dead_code, unreachable_pub)] // A table of C functions; each user needs a part of it.
#![allow(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)] // The callers' pointers, as the driver's documentation has them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod device;

use cuda_launch::sys::{self, CUresult, Driver, pfn};
use device::{Host, Work, with};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_uchar, c_uint, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

const OK: CUresult = CUresult::SUCCESS;

/// The kernels there are, with the sizes of their parameters; what they do is in `Device::kernel`.
const KERNELS: [(&str, &[usize]); 2] = [("vecadd", &[8; 6]), ("fill", &[8, 4, 4])];

/// Does all work that streams were given.
pub fn work() {
    with(|device| device.work(None));
}

/// How many allocations of the device, and of pinned memory, there are.
pub fn allocations() -> usize {
    with(|device| device.allocations()) + pinned(|pinned| pinned.len())
}

/// The table: what is not here is `others`'.
pub fn driver(others: impl Fn(&CStr) -> *const c_void) -> Arc<Driver> {
    // SAFETY: 1: `lookup` gives each name a function of its signature, which `pfn` checks, or null, and so does `others`, the
    // `lookup` of `support`; of the documented behaviour they do what the tests need, and they write only where it says; 2:
    // they are functions of this program.
    Arc::new(unsafe {
        Driver::from_lookup(|name| {
            Some(lookup(name)).filter(|f| !f.is_null()).unwrap_or_else(|| others(name))
        })
    })
}

macro_rules! table {
    ($($name:ident = $function:expr;)*) => {
        fn lookup(name: &CStr) -> *const c_void {
            match name.to_str().unwrap() {
                $(stringify!($name) => {
                    let function: pfn::$name = $function;
                    function as *const c_void
                })*
                _ => ptr::null(),
            }
        }
    };
}

table! {
    cuStreamCreateWithPriority = stream_create;
    cuStreamDestroy_v2 = stream_destroy;
    cuStreamSynchronize = stream_synchronize;
    cuStreamQuery = stream_query;
    cuCtxSynchronize = synchronize;
    cuEventCreate = event_create;
    cuEventDestroy_v2 = event_destroy;
    cuEventRecord = event_record;
    cuEventQuery = event_query;
    cuStreamWaitEvent = wait_event;
    cuMemAllocAsync = alloc_async;
    cuMemFreeAsync = free_async;
    cuMemAlloc_v2 = alloc;
    cuMemFree_v2 = free;
    cuMemHostAlloc = host_alloc;
    cuMemFreeHost = host_free;
    cuMemHostGetDevicePointer_v2 = host_address;
    cuMemcpyHtoDAsync_v2 = to_device;
    cuMemcpyDtoHAsync_v2 = to_host;
    cuMemcpyDtoDAsync_v2 = on_device;
    cuMemsetD8Async = fill_8;
    cuMemsetD32Async = fill_32;
    cuModuleGetFunction = get_function;
    cuFuncGetParamInfo = param_info;
    cuLaunchKernelEx = launch;
    cuStreamBeginCapture_v2 = begin_capture;
    cuStreamEndCapture = end_capture;
    cuStreamIsCapturing = is_capturing;
    cuStreamGetCaptureInfo_v3 = capture_info;
    cuGraphGetNodes = graph_nodes;
    cuGraphNodeGetType = node_type;
    cuGraphInstantiateWithParams = instantiate;
    cuGraphExecKernelNodeSetParams_v2 = set_kernel;
    cuGraphLaunch = graph_launch;
    cuGraphExecDestroy = exec_destroy;
    cuGraphDestroy = graph_destroy;
}

fn handle<T>(n: usize) -> *mut T {
    ptr::without_provenance_mut(n)
}

/// Writes `value` to the caller's output.
unsafe fn put<T>(out: *mut T, value: T) -> CUresult {
    unsafe { out.write(value) };
    OK
}

fn give(stream: sys::CUstream, work: Work) -> CUresult {
    with(|device| device.give(stream.addr(), work));
    OK
}

unsafe extern "C" fn stream_create(out: *mut sys::CUstream, _: c_uint, _: i32) -> CUresult {
    unsafe { put(out, handle(with(device::Device::make))) }
}

/// Its work goes on.
unsafe extern "C" fn stream_destroy(_: sys::CUstream) -> CUresult {
    OK
}

unsafe extern "C" fn stream_synchronize(stream: sys::CUstream) -> CUresult {
    with(|device| device.work(Some(stream.addr())));
    OK
}

unsafe extern "C" fn stream_query(stream: sys::CUstream) -> CUresult {
    if with(|device| device.is_idle(stream.addr())) { OK } else { CUresult::CUDA_ERROR_NOT_READY }
}

unsafe extern "C" fn synchronize() -> CUresult {
    work();
    OK
}

unsafe extern "C" fn event_create(out: *mut sys::CUevent, _: c_uint) -> CUresult {
    unsafe { put(out, handle(with(device::Device::make))) }
}

unsafe extern "C" fn event_destroy(_: sys::CUevent) -> CUresult {
    OK
}

unsafe extern "C" fn event_record(event: sys::CUevent, stream: sys::CUstream) -> CUresult {
    with(|device| device.record(stream.addr(), event.addr()));
    OK
}

unsafe extern "C" fn event_query(event: sys::CUevent) -> CUresult {
    if with(|device| device.has_come(event.addr())) { OK } else { CUresult::CUDA_ERROR_NOT_READY }
}

unsafe extern "C" fn wait_event(stream: sys::CUstream, event: sys::CUevent, _: c_uint) -> CUresult {
    with(|device| device.wait(stream.addr(), event.addr()));
    OK
}

unsafe extern "C" fn alloc(out: *mut sys::CUdeviceptr, bytes: usize) -> CUresult {
    unsafe { put(out, with(|device| device.allocate(bytes))) }
}

unsafe extern "C" fn alloc_async(out: *mut sys::CUdeviceptr, bytes: usize, _: sys::CUstream) -> CUresult {
    unsafe { alloc(out, bytes) }
}

unsafe extern "C" fn free(address: sys::CUdeviceptr) -> CUresult {
    with(|device| {
        device.work(None);
        device.free(address);
    });
    OK
}

unsafe extern "C" fn free_async(address: sys::CUdeviceptr, stream: sys::CUstream) -> CUresult {
    give(stream, Work::Free(address))
}

fn pinned<R>(f: impl FnOnce(&mut HashMap<usize, Layout>) -> R) -> R {
    static PINNED: Mutex<Option<HashMap<usize, Layout>>> = Mutex::new(None);
    f(PINNED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

unsafe extern "C" fn host_alloc(out: *mut *mut c_void, bytes: usize, _: c_uint) -> CUresult {
    let layout = Layout::from_size_align(bytes, 256).unwrap();
    let start: *mut c_void = unsafe { alloc_zeroed(layout) }.cast();
    pinned(|pinned| pinned.insert(start.addr(), layout));
    unsafe { put(out, start) }
}

/// At once: a driver would wait for copies, and nobody may rely on it.
unsafe extern "C" fn host_free(start: *mut c_void) -> CUresult {
    let layout = pinned(|pinned| pinned.remove(&start.addr())).expect("pinned memory is freed once");
    unsafe { dealloc(start.cast(), layout) };
    OK
}

unsafe extern "C" fn host_address(out: *mut sys::CUdeviceptr, start: *mut c_void, _: c_uint) -> CUresult {
    unsafe { put(out, start.addr() as u64) }
}

unsafe extern "C" fn to_device(
    to: sys::CUdeviceptr,
    from: *const c_void,
    bytes: usize,
    stream: sys::CUstream,
) -> CUresult {
    give(stream, Work::ToDevice { to, from: Host(from.cast_mut()), bytes })
}

unsafe extern "C" fn to_host(
    to: *mut c_void,
    from: sys::CUdeviceptr,
    bytes: usize,
    stream: sys::CUstream,
) -> CUresult {
    give(stream, Work::ToHost { to: Host(to), from, bytes })
}

unsafe extern "C" fn on_device(
    to: sys::CUdeviceptr,
    from: sys::CUdeviceptr,
    bytes: usize,
    stream: sys::CUstream,
) -> CUresult {
    give(stream, Work::OnDevice { to, from, bytes })
}

unsafe extern "C" fn fill_8(
    to: sys::CUdeviceptr,
    value: c_uchar,
    count: usize,
    stream: sys::CUstream,
) -> CUresult {
    give(stream, Work::Fill { to, value: vec![value], count })
}

unsafe extern "C" fn fill_32(
    to: sys::CUdeviceptr,
    value: c_uint,
    count: usize,
    stream: sys::CUstream,
) -> CUresult {
    give(stream, Work::Fill { to, value: value.to_ne_bytes().into(), count })
}

unsafe extern "C" fn get_function(
    out: *mut sys::CUfunction,
    _: sys::CUmodule,
    name: *const c_char,
) -> CUresult {
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap();
    match KERNELS.iter().position(|(kernel, _)| *kernel == name) {
        Some(index) => unsafe { put(out, handle(0x8000 + index)) },
        None => CUresult::CUDA_ERROR_NOT_FOUND,
    }
}

fn kernel(function: sys::CUfunction) -> (&'static str, &'static [usize]) {
    KERNELS[function.addr() - 0x8000]
}

unsafe extern "C" fn param_info(
    function: sys::CUfunction,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> CUresult {
    let sizes = kernel(function).1;
    let Some(bytes) = sizes.get(index) else { return CUresult::CUDA_ERROR_INVALID_VALUE };
    unsafe {
        offset.write(sizes[..index].iter().sum());
        put(size, *bytes)
    }
}

/// The arguments are read now, as a driver does.
unsafe fn packet(function: sys::CUfunction, arguments: *mut *mut c_void) -> Work {
    let (name, sizes) = kernel(function);
    let read = |(i, size): (usize, &usize)| {
        unsafe { std::slice::from_raw_parts((*arguments.add(i)).cast::<u8>(), *size) }.to_vec()
    };
    Work::Kernel { name: name.into(), packet: sizes.iter().enumerate().map(read).collect() }
}

unsafe extern "C" fn launch(
    config: *const sys::CUlaunchConfig,
    function: sys::CUfunction,
    arguments: *mut *mut c_void,
    _: *mut *mut c_void,
) -> CUresult {
    unsafe { give((*config).hStream, packet(function, arguments)) }
}

unsafe extern "C" fn begin_capture(stream: sys::CUstream, _: sys::CUstreamCaptureMode) -> CUresult {
    with(|device| {
        let graph = device.make();
        device.graphs.insert(graph, Vec::new());
        device.captures.insert(stream.addr(), graph);
    });
    OK
}

unsafe extern "C" fn end_capture(stream: sys::CUstream, out: *mut sys::CUgraph) -> CUresult {
    let graph = with(|device| {
        let graph = device.captures.remove(&stream.addr())?;
        device.captures.retain(|_, other| *other != graph);
        Some(graph)
    });
    match graph {
        Some(graph) => unsafe { put(out, handle(graph)) },
        None => CUresult::CUDA_ERROR_ILLEGAL_STATE,
    }
}

fn status(stream: sys::CUstream) -> sys::CUstreamCaptureStatus {
    match with(|device| device.captures.contains_key(&stream.addr())) {
        true => sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE,
        false => sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
    }
}

unsafe extern "C" fn is_capturing(stream: sys::CUstream, out: *mut sys::CUstreamCaptureStatus) -> CUresult {
    unsafe { put(out, status(stream)) }
}

/// The handle of a node is that of its graph and its place.
fn node(graph: usize, place: usize) -> sys::CUgraphNode {
    handle(graph + 1 + place)
}

unsafe extern "C" fn capture_info(
    stream: sys::CUstream,
    status_out: *mut sys::CUstreamCaptureStatus,
    _: *mut sys::cuuint64_t,
    _: *mut sys::CUgraph,
    nodes: *mut *const sys::CUgraphNode,
    edges: *mut *const sys::CUgraphEdgeData,
    count: *mut usize,
) -> CUresult {
    thread_local! {
        /// Valid until the next call.
        static LAST: std::cell::Cell<sys::CUgraphNode> = const { std::cell::Cell::new(ptr::null_mut()) };
    }
    let last = with(|device| {
        let graph = *device.captures.get(&stream.addr())?;
        Some(node(graph, device.graphs[&graph].len().checked_sub(1)?))
    });
    unsafe {
        status_out.write(status(stream));
        edges.write(ptr::null());
        nodes.write(LAST.with(|cell| {
            cell.set(last.unwrap_or_default());
            cell.as_ptr().cast_const()
        }));
        put(count, usize::from(last.is_some()))
    }
}

unsafe extern "C" fn graph_nodes(
    graph: sys::CUgraph,
    nodes: *mut sys::CUgraphNode,
    count: *mut usize,
) -> CUresult {
    let all = with(|device| device.graphs[&graph.addr()].len());
    if !nodes.is_null() {
        (0..all).for_each(|place| unsafe { nodes.add(place).write(node(graph.addr(), place)) });
    }
    unsafe { put(count, all) }
}

/// The graph and the place of a node.
fn place(node: sys::CUgraphNode) -> (usize, usize) {
    (node.addr() & !0xffff, (node.addr() & 0xffff) - 1)
}

unsafe extern "C" fn node_type(node: sys::CUgraphNode, out: *mut sys::CUgraphNodeType) -> CUresult {
    let (graph, place) = place(node);
    let is_kernel = with(|device| matches!(device.graphs[&graph][place], Work::Kernel { .. }));
    let kind = match is_kernel {
        true => sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
        false => sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
    };
    unsafe { put(out, kind) }
}

unsafe extern "C" fn instantiate(
    out: *mut sys::CUgraphExec,
    graph: sys::CUgraph,
    _: *mut sys::CUDA_GRAPH_INSTANTIATE_PARAMS,
) -> CUresult {
    let exec = with(|device| {
        let (exec, work) = (device.make(), device.graphs[&graph.addr()].clone());
        device.graphs.insert(exec, work);
        exec
    });
    unsafe { put(out, handle(exec)) }
}

unsafe extern "C" fn set_kernel(
    exec: sys::CUgraphExec,
    node: sys::CUgraphNode,
    params: *const sys::CUDA_KERNEL_NODE_PARAMS,
) -> CUresult {
    let work = unsafe { packet((*params).func, (*params).kernelParams) };
    with(|device| device.graphs.get_mut(&exec.addr()).unwrap()[place(node).1] = work);
    OK
}

unsafe extern "C" fn graph_launch(exec: sys::CUgraphExec, stream: sys::CUstream) -> CUresult {
    with(|device| {
        let work = device.graphs[&exec.addr()].clone();
        work.into_iter().for_each(|work| device.give(stream.addr(), work));
    });
    OK
}

unsafe extern "C" fn exec_destroy(exec: sys::CUgraphExec) -> CUresult {
    with(|device| device.graphs.remove(&exec.addr())).expect("graphs are destroyed once");
    OK
}

unsafe extern "C" fn graph_destroy(graph: sys::CUgraph) -> CUresult {
    with(|device| device.graphs.remove(&graph.addr())).expect("graphs are destroyed once");
    OK
}
