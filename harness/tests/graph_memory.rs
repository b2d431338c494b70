//! Memory that a graph allocates, at addresses where other memory was freed before: a driver uses them again, and says so in the parameters
//! of the node, or as the output of a captured call.

#![allow(unsafe_code)]
// Calls of C functions with what they ask for, or with addresses of freed memory, which the emulator refuses.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::*;
use cuda_harness::{Kind, Mistake, Spy};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use support::{Cuda, ok, spy};

const BYTES: usize = 4096;

thread_local! {
    /// The address that the next node of this thread gets.
    static ADDRESS: Cell<CUdeviceptr> = const { Cell::new(0) };
}

fn parameters() -> CUDA_MEM_ALLOC_NODE_PARAMS {
    let mut parameters = CUDA_MEM_ALLOC_NODE_PARAMS { bytesize: BYTES, ..Default::default() };
    parameters.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    parameters
}

/// The same for the functions that take parameters of every kind.
fn of_any_kind() -> CUgraphNodeParams {
    let mut any =
        CUgraphNodeParams { type_: CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC, ..Default::default() };
    any.__bindgen_anon_1.alloc = CUDA_MEM_ALLOC_NODE_PARAMS_v2 {
        poolProps: parameters().poolProps,
        bytesize: BYTES,
        ..Default::default()
    };
    any
}

unsafe extern "C" fn add_alloc(
    node: *mut CUgraphNode,
    graph: CUgraph,
    after: *const CUgraphNode,
    count: usize,
    parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> CUresult {
    unsafe {
        (*parameters).dptr = ADDRESS.get();
        cuda_emulator::driver().cuGraphAddEmptyNode(node, graph, after, count)
    }
}

unsafe extern "C" fn add_node(
    node: *mut CUgraphNode,
    graph: CUgraph,
    after: *const CUgraphNode,
    count: usize,
    parameters: *mut CUgraphNodeParams,
) -> CUresult {
    unsafe {
        (*parameters).__bindgen_anon_1.alloc.dptr = ADDRESS.get();
        cuda_emulator::driver().cuGraphAddEmptyNode(node, graph, after, count)
    }
}

unsafe extern "C" fn add_node_with_edges(
    node: *mut CUgraphNode,
    graph: CUgraph,
    after: *const CUgraphNode,
    _: *const CUgraphEdgeData,
    count: usize,
    parameters: *mut CUgraphNodeParams,
) -> CUresult {
    unsafe { add_node(node, graph, after, count, parameters) }
}

unsafe extern "C" fn tell(_: CUgraphNode, parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS) -> CUresult {
    unsafe {
        *parameters = self::parameters();
        (*parameters).dptr = ADDRESS.get();
    }
    CUresult::SUCCESS
}

unsafe extern "C" fn tell_any(_: CUgraphNode, parameters: *mut CUgraphNodeParams) -> CUresult {
    unsafe {
        *parameters = of_any_kind();
        (*parameters).__bindgen_anon_1.alloc.dptr = ADDRESS.get();
    }
    CUresult::SUCCESS
}

/// The emulator, whose graphs get the memory that the thread says.
fn chosen() -> Spy {
    let replace = |name: &str| match name {
        "cuGraphAddMemAllocNode" => add_alloc as pfn::cuGraphAddMemAllocNode as *const c_void,
        "cuGraphAddNode_v1" => add_node as pfn::cuGraphAddNode_v1 as *const c_void,
        "cuGraphAddNode_v2" => add_node_with_edges as pfn::cuGraphAddNode_v2 as *const c_void,
        "cuGraphAddNode_v3" => add_node_with_edges as pfn::cuGraphAddNode_v3 as *const c_void,
        "cuGraphMemAllocNodeGetParams" => tell as pfn::cuGraphMemAllocNodeGetParams as *const c_void,
        "cuGraphNodeGetParams" => tell_any as pfn::cuGraphNodeGetParams as *const c_void,
        _ => null(),
    };
    Spy::over(&unsafe { cuda_harness::replaced(&cuda_emulator::driver(), replace) }).unwrap()
}

/// Adds an allocation node, or asks about one.
type Call = unsafe fn(&Driver, CUgraph, &mut CUgraphNode) -> CUresult;

const CALLS: [(&str, Call); 6] = [
    ("cuGraphAddMemAllocNode", |driver, graph, node| unsafe {
        driver.cuGraphAddMemAllocNode(node, graph, null(), 0, &mut parameters())
    }),
    ("cuGraphAddNode_v1", |driver, graph, node| unsafe {
        driver.cuGraphAddNode_v1(node, graph, null(), 0, &mut of_any_kind())
    }),
    ("cuGraphAddNode_v2", |driver, graph, node| unsafe {
        driver.cuGraphAddNode_v2(node, graph, null(), null(), 0, &mut of_any_kind())
    }),
    ("cuGraphAddNode_v3", |driver, graph, node| unsafe {
        driver.cuGraphAddNode_v3(node, graph, null(), null(), 0, &mut of_any_kind())
    }),
    ("cuGraphMemAllocNodeGetParams", |driver, _, node| unsafe {
        driver.cuGraphMemAllocNodeGetParams(*node, &mut parameters())
    }),
    ("cuGraphNodeGetParams", |driver, _, node| unsafe {
        driver.cuGraphNodeGetParams(*node, &mut CUgraphNodeParams::default())
    }),
];

#[test]
fn a_node_gets_an_address_that_was_freed() {
    for ((name, call), is_there) in CALLS.into_iter().flat_map(|call| [(call, true), (call, false)]) {
        let spy = chosen();
        let cuda = Cuda::new(spy.driver());
        let (mut graph, mut node) = (null_mut(), null_mut());
        let freed = cuda.alloc(BYTES).unwrap();
        unsafe {
            ok(cuda.driver.cuMemFree(freed)).unwrap();
            ok(cuda.driver.cuGraphCreate(&mut graph, 0)).unwrap();
            ok(cuda.driver.cuGraphAddEmptyNode(&mut node, graph, null(), 0)).unwrap();
            ADDRESS.set(if is_there { freed } else { 1 << 40 });
            ok(call(&cuda.driver, graph, &mut node)).unwrap();
            // The emulator has nothing there.
            let _ = cuda.driver.cuMemsetD8(freed + 16, 1, 16);
        }
        let wrong = spy.ledger().problems().iter().map(|problem| problem.mistake()).collect::<Vec<_>>();
        assert_eq!(wrong, if is_there { vec![] } else { vec![Mistake::DeadMemory] }, "{name}");
        // The launch of another graph has left it allocated.
        unsafe {
            let _ = cuda.driver.cuMemFree(freed);
        }
        let wrong = spy.ledger().problems().len();
        assert_eq!(wrong, if is_there { 0 } else { 2 }, "{name}");
        ok(unsafe { cuda.driver.cuGraphDestroy(graph) }).unwrap();
    }
}

/// What the parameters of other nodes have in the same place is no address of memory that the driver gave them.
#[test]
fn only_allocation_nodes_tell_of_memory() {
    let spy = chosen();
    let cuda = Cuda::new(spy.driver());
    let (mut graph, mut node) = (null_mut(), null_mut());
    let freed = cuda.alloc(BYTES).unwrap();
    ADDRESS.set(freed);
    let mut parameters = of_any_kind();
    parameters.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
    unsafe {
        ok(cuda.driver.cuMemFree(freed)).unwrap();
        ok(cuda.driver.cuGraphCreate(&mut graph, 0)).unwrap();
        ok(cuda.driver.cuGraphAddNode(&mut node, graph, null(), null(), 0, &mut parameters)).unwrap();
        let _ = cuda.driver.cuMemsetD8(freed, 1, 16);
        ok(cuda.driver.cuGraphDestroy(graph)).unwrap();
    }
    assert_eq!(spy.ledger().problems().len(), 1);
}

/// What a capture allocates is there with each launch of its graph, and not before.
#[test]
fn captured_memory_is_allocated_by_launches() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (driver, stream, other) = (&cuda.driver, cuda.stream(), cuda.stream());
    let (mut graph, mut exec, mut address) = (null_mut(), null_mut(), 0);
    let relaxed = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    unsafe {
        ok(driver.cuStreamBeginCapture(stream, relaxed)).unwrap();
        ok(driver.cuMemAllocAsync(&mut address, BYTES, stream)).unwrap();
        ok(driver.cuMemsetD8Async(address, 7, BYTES, stream)).unwrap();
        ok(driver.cuStreamEndCapture(stream, &mut graph)).unwrap();
    }
    assert_eq!(spy.ledger().count(Kind::Memory), 0);
    unsafe {
        ok(driver.cuGraphInstantiate(&mut exec, graph, 0)).unwrap();
        for _ in 0..3 {
            ok(driver.cuGraphLaunch(exec, stream)).unwrap();
            ok(driver.cuMemsetD8Async(address, 8, BYTES, stream)).unwrap();
            ok(driver.cuMemFreeAsync(address, stream)).unwrap();
        }
        // On a stream that is not captured while another one is.
        ok(driver.cuStreamBeginCapture(stream, relaxed)).unwrap();
        let mut own = 0;
        ok(driver.cuMemAllocAsync(&mut own, BYTES, other)).unwrap();
        assert_eq!(spy.ledger().count(Kind::Memory), 1);
        ok(driver.cuMemFreeAsync(own, other)).unwrap();
        let mut empty = null_mut();
        ok(driver.cuStreamEndCapture(stream, &mut empty)).unwrap();
        ok(driver.cuStreamSynchronize(stream)).unwrap();
        [graph, empty].into_iter().for_each(|graph| ok(driver.cuGraphDestroy(graph)).unwrap());
        ok(driver.cuGraphExecDestroy(exec)).unwrap();
        [stream, other].into_iter().for_each(|stream| ok(driver.cuStreamDestroy(stream)).unwrap());
    }
    drop(cuda);
    spy.ledger().assert_clean();
}

/// A limit of memory is for what calls allocate.
#[test]
fn captured_memory_is_not_counted() {
    let spy = spy();
    spy.limit_memory(64);
    let cuda = Cuda::new(spy.driver());
    let (driver, stream) = (&cuda.driver, cuda.stream());
    let (mut graph, mut address) = (null_mut(), 0);
    unsafe {
        ok(driver.cuStreamBeginCapture(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)).unwrap();
        ok(driver.cuMemAllocAsync(&mut address, BYTES, stream)).unwrap();
        ok(driver.cuMemFreeAsync(address, stream)).unwrap();
        ok(driver.cuStreamEndCapture(stream, &mut graph)).unwrap();
        ok(driver.cuGraphDestroy(graph)).unwrap();
        assert_eq!(driver.cuMemAllocAsync(&mut address, BYTES, stream), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        ok(driver.cuStreamDestroy(stream)).unwrap();
    }
}
