//! Graphs that are made node by node: what is in them, what runs, in which order, and what is refused.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use support::graphs::*;
use support::*;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

#[test]
fn kernels_fills_copies_and_host_functions_run_in_the_order_of_the_edges() {
    let (cuda, context) = with_own_context();
    let module = load(&cuda, KERNELS);
    let (store, add) = (function(&cuda, module, "store"), function(&cuda, module, "add"));
    let (memory, graph, stream) = (alloc(&cuda, 64), graph(&cuda), stream(&cuda, 1));
    let first = number(&cuda, graph, &[], store, memory, 5);
    let fill =
        CUDA_MEMSET_NODE_PARAMS { dst: memory + 4, pitch: 0, value: 7, elementSize: 4, width: 3, height: 1 };
    let mut filled = null_mut();
    ok(unsafe { cuda.cuGraphAddMemsetNode(&mut filled, graph, null(), 0, &fill, context) });
    let added = number(&cuda, graph, &[first, filled], add, memory, 2);
    let added_to_fill = number(&cuda, graph, &[filled], add, memory + 4, 100);
    let join = empty(&cuda, graph, &[added, added_to_fill]);
    let mut seen = [0_u32; 4];
    let mut copied = null_mut();
    let copy = to_host(seen.as_mut_ptr().cast(), memory, 16);
    ok(unsafe { cuda.cuGraphAddMemcpyNode(&mut copied, graph, &join, 1, &copy, context) });
    unsafe extern "C" fn look(data: *mut c_void) {
        let (seen, calls) = unsafe { &*data.cast::<(*const [u32; 4], Mutex<Vec<[u32; 4]>>)>() };
        calls.lock().unwrap().push(unsafe { seen.read() });
    }
    let calls = (std::ptr::from_ref(&seen), Mutex::new(Vec::<[u32; 4]>::new()));
    let host =
        CUDA_HOST_NODE_PARAMS { fn_: Some(look), userData: std::ptr::from_ref(&calls).cast_mut().cast() };
    let mut called = null_mut();
    ok(unsafe { cuda.cuGraphAddHostNode(&mut called, graph, &copied, 1, &host) });
    let exec = instantiate(&cuda, graph);
    ok(unsafe { cuda.cuGraphDestroy(graph) });
    run(&cuda, exec, stream);
    run(&cuda, exec, stream);
    assert_eq!(*calls.1.lock().unwrap(), [[7, 107, 7, 7]; 2]);
    ok(unsafe { cuda.cuGraphExecDestroy(exec) });
}

#[test]
fn a_launch_is_asynchronous_and_launches_of_one_exec_wait_for_each_other() {
    let (cuda, _) = with_own_context();
    let module = load(&cuda, KERNELS);
    let (store, add) = (function(&cuda, module, "store"), function(&cuda, module, "add"));
    let (a, b, memory) = (stream(&cuda, 1), stream(&cuda, 1), alloc(&cuda, 4));
    let graph = graph(&cuda);
    number(&cuda, graph, &[], add, memory, 1);
    let exec = instantiate(&cuda, graph);
    let held = Busy::new(&cuda, a);
    let (mut target, mut value) = (memory, 10_u32);
    ok(launch(&cuda, store, a, &mut [argument(&mut target), argument(&mut value)]));
    ok(unsafe { cuda.cuGraphLaunch(exec, a) });
    ok(unsafe { cuda.cuGraphUpload(exec, b) });
    ok(unsafe { cuda.cuGraphLaunch(exec, b) });
    assert_eq!(unsafe { cuda.cuStreamQuery(b) }, CUresult::CUDA_ERROR_NOT_READY);
    // What is under way runs on.
    ok(unsafe { cuda.cuGraphExecDestroy(exec) });
    drop(held);
    ok(unsafe { cuda.cuStreamSynchronize(b) });
    assert_eq!(read(&cuda, memory, 4), 12_u32.to_ne_bytes());
}

#[test]
fn parameters_are_copied_when_they_are_set() {
    let (cuda, _) = with_own_context();
    let module = load(&cuda, KERNELS);
    let store = function(&cuda, module, "store");
    let (memory, graph, stream) = (alloc(&cuda, 64), graph(&cuda), stream(&cuda, 1));
    let node = number(&cuda, graph, &[], store, memory, 5);
    let before = instantiate(&cuda, graph);
    let mut told = CUDA_KERNEL_NODE_PARAMS::default();
    ok(unsafe { cuda.cuGraphKernelNodeGetParams(node, &mut told) });
    assert_eq!((told.func, told.gridDimX, told.blockDimX), (store, 1, 1));
    let told_number = unsafe { told.kernelParams.add(1).read().cast::<u32>().read() };
    assert_eq!(told_number, 5);
    let (mut target, mut value) = (memory, 6_u32);
    let mut arguments = [argument(&mut target), argument(&mut value)];
    ok(unsafe { cuda.cuGraphKernelNodeSetParams(node, &kernel(store, &mut arguments)) });
    value = 99;
    run(&cuda, before, stream);
    assert_eq!(read(&cuda, memory, 4), 5_u32.to_ne_bytes(), "made before the change, not {value}");
    run(&cuda, instantiate(&cuda, graph), stream);
    assert_eq!(read(&cuda, memory, 4), 6_u32.to_ne_bytes());
}

#[test]
fn rectangles_are_copied_by_rows() {
    let (cuda, context) = with_own_context();
    let (memory, graph, stream) = (alloc(&cuda, 4096), graph(&cuda), stream(&cuda, 1));
    let bytes: Vec<u8> = (0..240).collect();
    let parameters = CUDA_MEMCPY3D {
        srcXInBytes: 1,
        srcY: 2,
        srcZ: 1,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: bytes.as_ptr().cast(),
        srcPitch: 10,
        srcHeight: 6,
        dstXInBytes: 4,
        dstY: 1,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: memory,
        dstPitch: 64,
        dstHeight: 8,
        WidthInBytes: 7,
        Height: 3,
        Depth: 2,
        ..Default::default()
    };
    let mut node = null_mut();
    ok(unsafe { cuda.cuGraphAddMemcpyNode(&mut node, graph, null(), 0, &parameters, context) });
    write(&cuda, memory, &[0xee; 4096]);
    run(&cuda, instantiate(&cuda, graph), stream);
    let found = read(&cuda, memory, 4096);
    let mut expected = vec![0xee; 4096];
    for (z, y, x) in (0..2).flat_map(|z| (0..3).flat_map(move |y| (0..7).map(move |x| (z, y, x)))) {
        expected[z * 8 * 64 + (y + 1) * 64 + x + 4] = bytes[(z + 1) * 60 + (y + 2) * 10 + x + 1];
    }
    assert_eq!(found, expected);
    let mut told = CUDA_MEMCPY3D::default();
    ok(unsafe { cuda.cuGraphMemcpyNodeGetParams(node, &mut told) });
    assert_eq!((told.dstDevice, told.Depth, told.srcPitch), (memory, 2, 10));
    let past = CUDA_MEMCPY3D { dstDevice: memory + 4096 - 64, ..parameters };
    assert_eq!(unsafe { cuda.cuGraphMemcpyNodeSetParams(node, &past) }, INVALID);
}

#[test]
fn edges_are_what_they_were_made() {
    let (cuda, _) = with_own_context();
    let graph = graph(&cuda);
    let a = empty(&cuda, graph, &[]);
    let b = empty(&cuda, graph, &[a]);
    let c = empty(&cuda, graph, &[a, b]);
    assert_eq!(nodes(&cuda, graph), [a, b, c]);
    let mut count = 3;
    let mut found = [null_mut(); 3];
    ok(unsafe { cuda.cuGraphGetRootNodes(graph, found.as_mut_ptr(), &mut count) });
    assert_eq!((count, found), (1, [a, null_mut(), null_mut()]));
    let (mut from, mut to, mut count) = ([null_mut(); 4], [null_mut(); 4], 4);
    ok(unsafe { cuda.cuGraphGetEdges(graph, from.as_mut_ptr(), to.as_mut_ptr(), null_mut(), &mut count) });
    assert_eq!((count, from, to), (3, [a, a, b, null_mut()], [b, c, c, null_mut()]));
    ok(unsafe { cuda.cuGraphNodeGetDependencies(c, null_mut(), null_mut(), &mut count) });
    assert_eq!(count, 2);
    ok(unsafe { cuda.cuGraphNodeGetDependentNodes(a, found.as_mut_ptr(), null_mut(), &mut count) });
    assert_eq!((count, &found[..2]), (2, &[b, c][..]));
    assert_eq!(unsafe { cuda.cuGraphAddDependencies(graph, &a, &b, null(), 1) }, INVALID, "twice");
    ok(unsafe { cuda.cuGraphRemoveDependencies(graph, &a, &c, null(), 1) });
    assert_eq!(unsafe { cuda.cuGraphRemoveDependencies(graph, &a, &c, null(), 1) }, INVALID, "gone");
    assert_eq!(unsafe { cuda.cuGraphAddDependencies(graph, &a, &a, null(), 1) }, INVALID, "itself");
    ok(unsafe { cuda.cuGraphDestroyNode(b) });
    assert_eq!(nodes(&cuda, graph), [a, c]);
    assert_eq!(unsafe { cuda.cuGraphDestroyNode(b) }, INVALID);
    let mut kind = CUgraphNodeType(99);
    ok(unsafe { cuda.cuGraphNodeGetType(c, &mut kind) });
    assert_eq!(kind, CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY);
}

#[test]
fn flags_that_exclude_each_other_are_refused() {
    let (cuda, _) = with_own_context();
    let (mut graph, mut exec) = (null_mut(), null_mut());
    ok(unsafe { cuda.cuGraphCreate(&mut graph, 0) });
    // AUTO_FREE_ON_LAUNCH and DEVICE_LAUNCH.
    let mut parameters = CUDA_GRAPH_INSTANTIATE_PARAMS { flags: 5, ..Default::default() };
    unsafe {
        assert_eq!(cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 5), INVALID);
        assert_eq!(cuda.cuGraphInstantiateWithParams(&mut exec, graph, &mut parameters), INVALID);
    }
}

#[test]
fn circles_are_refused_when_the_graph_is_instantiated() {
    let (cuda, _) = with_own_context();
    let graph = graph(&cuda);
    let a = empty(&cuda, graph, &[]);
    let b = empty(&cuda, graph, &[a]);
    ok(unsafe { cuda.cuGraphAddDependencies(graph, &b, &a, null(), 1) });
    let mut exec = null_mut();
    assert_eq!(unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0) }, INVALID);
    let mut parameters = CUDA_GRAPH_INSTANTIATE_PARAMS::default();
    let code = unsafe { cuda.cuGraphInstantiateWithParams(&mut exec, graph, &mut parameters) };
    assert_eq!(code, INVALID);
    assert_eq!(parameters.result_out, CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    assert!(exec.is_null());
}

#[test]
fn what_is_none_is_refused() {
    let (cuda, context) = with_own_context();
    let module = load(&cuda, KERNELS);
    let store = function(&cuda, module, "store");
    let (memory, mine, other) = (alloc(&cuda, 64), graph(&cuda), graph(&cuda));
    let foreign = empty(&cuda, other, &[]);
    let (mut node, mut graph) = (null_mut(), null_mut());
    unsafe {
        assert_eq!(cuda.cuGraphCreate(null_mut(), 0), INVALID);
        assert_eq!(cuda.cuGraphCreate(&mut graph, 1), INVALID);
        assert_eq!(cuda.cuGraphAddEmptyNode(&mut node, mine, &foreign, 1), INVALID, "of another graph");
        assert_eq!(cuda.cuGraphAddEmptyNode(null_mut(), mine, null(), 0), INVALID);
        assert_eq!(cuda.cuGraphAddEmptyNode(&mut node, null_mut(), null(), 0), INVALID);
        let (mut target, mut value) = (memory, 6_u32);
        let mut arguments = [argument(&mut target), argument(&mut value)];
        let good = kernel(store, &mut arguments);
        let bad = CUDA_KERNEL_NODE_PARAMS { blockDimX: 1025, ..good };
        assert_eq!(cuda.cuGraphAddKernelNode(&mut node, mine, null(), 0, &bad), INVALID);
        let bad = CUDA_KERNEL_NODE_PARAMS { kernelParams: null_mut(), ..good };
        assert_eq!(cuda.cuGraphAddKernelNode(&mut node, mine, null(), 0, &bad), INVALID);
        let bad = CUDA_MEMSET_NODE_PARAMS {
            dst: memory,
            pitch: 0,
            value: 256,
            elementSize: 1,
            width: 4,
            height: 1,
        };
        assert_eq!(cuda.cuGraphAddMemsetNode(&mut node, mine, null(), 0, &bad, context), INVALID);
        assert!(nodes(&cuda, mine).is_empty());
        ok(cuda.cuGraphDestroy(mine));
        assert_eq!(cuda.cuGraphDestroy(mine), INVALID);
        ok(cuda.cuGraphDestroy(other));
        assert_eq!(cuda.cuGraphDestroyNode(foreign), INVALID, "it went with its graph");
        assert_eq!(cuda.cuGraphLaunch(null_mut(), null_mut()), INVALID);
    }
}
