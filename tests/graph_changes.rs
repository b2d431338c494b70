//! What can change in an executable graph without a new instantiation, and what cannot.

#![allow(unsafe_code)] // Kernel nodes of scale and fill: an address and its length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod graph_support;
#[path = "support/spies.rs"]
mod spies;

use cuda_launch::error::{GraphError, UpdateRefusal};
use cuda_launch::graph::{CopyNode, GraphExec, HostMemory, MemsetNode};
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaGraph, CudaStream, DeviceBuffer, ErrorKind};
use graph_support::{Gpu, N, exec, graph_error, input};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn an_executable_graph_changes_node_by_node() {
    let gpu = Gpu::new();
    let (x, mut y) = (gpu.put(&input()), gpu.put(&[0.0; N]));
    let (mut other, mut set) = (gpu.put(&[0.0; N]), gpu.zeros());
    let (calls, result) = (Arc::new(AtomicU32::new(0)), HostMemory::new(vec![0f32; N]));
    let counter = |add: u32| {
        let calls = calls.clone();
        move || {
            calls.fetch_add(add, Ordering::Relaxed);
        }
    };
    let mut graph = gpu.graph();
    let kernel = unsafe { graph.add_kernel(&[], gpu.scale(2.0, &x, &mut y)) }.unwrap();
    let copy = graph.add_copy(&[kernel], CopyNode::device_to_host(&y, &result).unwrap()).unwrap();
    let memset = graph.add_memset(&[], MemsetNode::new(&mut set, 1).unwrap()).unwrap();
    let host = graph.add_host(&[], counter(1)).unwrap();
    let mut exec = exec(&graph);
    let run = |exec: &mut GraphExec, expected: (f32, u32, u32)| {
        exec.launch(&gpu.stream).unwrap();
        exec.synchronize().unwrap();
        let last = unsafe { result.to_vec() }[10];
        assert_eq!((last, set.to_host_vec(&gpu.stream).unwrap()[5], calls.load(Ordering::Relaxed)), expected);
    };
    run(&mut exec, (20.0, 1, 1));
    unsafe { exec.set_kernel(kernel, gpu.scale(5.0, &x, &mut y)) }.unwrap();
    run(&mut exec, (50.0, 1, 2));
    exec.set_host(host, counter(10)).unwrap();
    run(&mut exec, (50.0, 1, 12));
    unsafe { exec.set_kernel(kernel, gpu.scale(7.0, &x, &mut other)) }.unwrap();
    exec.set_copy(copy, CopyNode::device_to_host(&other, &result).unwrap()).unwrap();
    run(&mut exec, (70.0, 1, 22));
    // The graph itself stays as it was, and what is made of it again does what it says.
    let mut fresh = graph_support::exec(&graph);
    run(&mut fresh, (20.0, 1, 23));
    // Nor is it changed by what a driver refuses: another kind of memory.
    let refused = exec.set_copy(copy, CopyNode::device_to_device(&x, &mut other).unwrap()).unwrap_err();
    assert_eq!(refused.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert!(refused.to_string().contains("help: build a graph with this node"), "{refused}");
    let (call, node) = ("cuGraphExecMemcpyNodeSetParams", "node 1 (memcpy)".to_string());
    let expected = GraphError::Change { call, code: CUresult::CUDA_ERROR_INVALID_VALUE, node };
    assert_eq!(graph_error(Err::<(), _>(refused)), expected);
    run(&mut exec, (70.0, 1, 33));
    let wrong = graph_error(exec.set_host(memset, || ()));
    assert_eq!(wrong, GraphError::WrongKind { node: "node 2 (memset)".into(), wanted: "host" });
}

/// The other memory is what a driver refuses of a copy or a memset. What it refuses of a kernel it alone knows.
#[test]
fn a_kernel_that_the_driver_refuses_to_change_is_not_said_to_need_a_new_graph() {
    let (spy, ctx) = spies::spied();
    let gpu = Gpu::on(ctx);
    let (x, mut y) = (gpu.put(&input()), gpu.put(&[0.0; N]));
    let mut graph = gpu.graph();
    let kernel = unsafe { graph.add_kernel(&[], gpu.scale(2.0, &x, &mut y)) }.unwrap();
    let mut exec = exec(&graph);
    let call = "cuGraphExecKernelNodeSetParams_v2";
    let refuses = spies::fail_calls_of(&spy, call, CUresult::CUDA_ERROR_INVALID_VALUE);
    let refused = unsafe { exec.set_kernel(kernel, gpu.scale(5.0, &x, &mut y)) }.unwrap_err();
    assert_eq!(spies::failed(&spy), Some(call));
    drop(refuses);
    assert!(matches!(refused.kind(), ErrorKind::Driver(_)), "{refused}");
}

#[test]
fn a_memset_changes_and_nodes_are_switched_off() {
    let gpu = Gpu::new();
    let (mut x, mut y) = (gpu.zeros(), gpu.zeros());
    let mut graph = gpu.graph();
    let memset = graph.add_memset(&[], MemsetNode::new(&mut x, 1).unwrap()).unwrap();
    let kernel = unsafe { graph.add_kernel(&[memset], gpu.fill(&mut y, 1)) }.unwrap();
    let mut exec = exec(&graph);
    exec.set_memset(memset, MemsetNode::new(&mut x, 2).unwrap()).unwrap();
    assert!(exec.is_enabled(kernel).unwrap());
    exec.set_enabled(kernel, false).unwrap();
    assert!(!exec.is_enabled(kernel).unwrap());
    exec.launch(&gpu.stream).unwrap();
    let both = |x: &DeviceBuffer<u32>, y: &DeviceBuffer<u32>| {
        (x.to_host_vec(&gpu.stream).unwrap()[3], y.to_host_vec(&gpu.stream).unwrap()[3])
    };
    assert_eq!(both(&x, &y), (2, 0));
    exec.set_enabled(kernel, true).unwrap();
    exec.launch(&gpu.stream).unwrap();
    assert_eq!(both(&x, &y), (2, 1));
    graph.remove(kernel).unwrap();
    assert!(matches!(graph_error(exec.set_enabled(kernel, true)), GraphError::RemovedNode { .. }));
}

/// A launch comes after what other streams do with the memory that a node was changed to use, and before what they do with it next.
#[test]
fn memory_of_a_changed_node_is_ordered() {
    let gpu = Gpu::new();
    let other = gpu.ctx.new_stream().unwrap();
    let late = |stream: &CudaStream| {
        stream.call_host(|| std::thread::sleep(std::time::Duration::from_millis(30))).unwrap();
    };
    let (mut of_memset, mut of_kernel) = (gpu.zeros(), gpu.zeros());
    let (of_copy, mut copied) = (gpu.zeros(), gpu.zeros());
    let mut graph = gpu.graph();
    let memset = graph.add_memset(&[], MemsetNode::new(&mut of_memset, 1).unwrap()).unwrap();
    let kernel = unsafe { graph.add_kernel(&[], gpu.fill(&mut of_kernel, 1)) }.unwrap();
    let copy = CopyNode::device_to_device(&of_copy, &mut copied).unwrap();
    let copy = graph.add_copy(&[], copy).unwrap();
    type Change<'a> = &'a dyn Fn(&mut GraphExec, &mut DeviceBuffer<u32>, &mut DeviceBuffer<u32>) -> u32;
    let changes: [Change<'_>; 4] = [
        &|exec, memory, _| {
            exec.set_memset(memset, MemsetNode::new(memory, 5).unwrap()).unwrap();
            5
        },
        &|exec, memory, _| {
            unsafe { exec.set_kernel(kernel, gpu.fill(memory, 6)) }.unwrap();
            6
        },
        // To the memory, and from it.
        &|exec, memory, third| {
            exec.set_copy(copy, CopyNode::device_to_device(third, memory).unwrap()).unwrap();
            3
        },
        &|exec, memory, third| {
            exec.set_copy(copy, CopyNode::device_to_device(memory, third).unwrap()).unwrap();
            9
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut exec = exec(&graph);
        exec.launch(&gpu.stream).unwrap();
        let [mut memory, mut third] = [9, 3].map(|value| {
            let mut buffer = gpu.zeros();
            buffer.view_mut().fill(&gpu.stream, value).unwrap();
            buffer
        });
        let expected = change(&mut exec, &mut memory, &mut third);
        gpu.ctx.synchronize().unwrap();
        let what = |when| format!("change {number}: {when}");
        let of_launch = |memory: &DeviceBuffer<u32>, third: &DeviceBuffer<u32>, stream: &CudaStream| {
            if number == 3 { third.to_host_vec(stream) } else { memory.to_host_vec(stream) }.unwrap()
        };
        // Each is late where the other one must come after it.
        late(&other);
        memory.view_mut().fill(&other, 9).unwrap();
        exec.launch(&gpu.stream).unwrap();
        gpu.ctx.synchronize().unwrap();
        assert_eq!(of_launch(&memory, &third, &other), [expected; N], "{}", what("after what came before"));
        memory.view_mut().fill(&other, 9).unwrap();
        third.view_mut().fill(&other, 3).unwrap();
        other.synchronize().unwrap();
        late(&gpu.stream);
        exec.launch(&gpu.stream).unwrap();
        assert_eq!(of_launch(&memory, &third, &other), [expected; N], "{}", what("before what is read next"));
        late(&gpu.stream);
        exec.launch(&gpu.stream).unwrap();
        memory.view_mut().fill(&other, 8).unwrap();
        gpu.ctx.synchronize().unwrap();
        assert_eq!(memory.to_host_vec(&other).unwrap(), [8; N], "{}", what("before what is written next"));
    }
}

#[test]
fn a_changed_graph_is_taken_over_or_refused_with_the_reason() {
    let gpu = Gpu::new();
    let (x, mut y, mut z) = (gpu.put(&input()), gpu.put(&[0.0; N]), gpu.zeros());
    let build = |factor, y: &mut DeviceBuffer<f32>| {
        let mut graph = gpu.graph();
        let first = unsafe { graph.add_kernel(&[], gpu.scale(factor, &x, y)) }.unwrap();
        graph.add_empty(&[first]).unwrap();
        graph
    };
    let mut exec = exec(&build(2.0, &mut y));
    let changed = build(4.0, &mut y);
    exec.update(&changed).unwrap();
    drop(changed);
    exec.launch(&gpu.stream).unwrap();
    assert_eq!(y.to_host_vec(&gpu.stream).unwrap()[10], 40.0);
    let mut larger = build(8.0, &mut y);
    larger.add_empty(&[]).unwrap();
    let mut other = gpu.graph();
    let memset = other.add_memset(&[], MemsetNode::new(&mut z, 1).unwrap()).unwrap();
    other.add_empty(&[memset]).unwrap();
    let refusal = |exec: &mut GraphExec, graph: &CudaGraph| {
        let GraphError::Update { refusal, .. } = graph_error(exec.update(graph)) else {
            panic!("another error")
        };
        refusal
    };
    assert_eq!(refusal(&mut exec, &larger), UpdateRefusal::TOPOLOGY_CHANGED);
    assert_eq!(refusal(&mut exec, &other), UpdateRefusal::NODE_TYPE_CHANGED);
    exec.launch(&gpu.stream).unwrap();
    assert_eq!(y.to_host_vec(&gpu.stream).unwrap()[10], 40.0);
}

#[test]
fn a_child_graph_runs_as_one_node_and_can_be_replaced() {
    let gpu = Gpu::new();
    let (mut x, mut y) = (gpu.zeros(), gpu.zeros());
    let child = |x: &mut DeviceBuffer<u32>, value| {
        let mut child = gpu.graph();
        unsafe { child.add_kernel(&[], gpu.fill(x, value)) }.unwrap();
        child
    };
    let mut graph = gpu.graph();
    let node = graph.add_child(&[], &child(&mut x, 5)).unwrap();
    let mut exec = exec(&graph);
    exec.launch(&gpu.stream).unwrap();
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
    for memory in [&mut x, &mut y] {
        memory.view_mut().set_zero(&gpu.stream).unwrap();
    }
    gpu.stream.synchronize().unwrap();
    exec.set_child(node, &child(&mut y, 6)).unwrap();
    exec.launch(&gpu.stream).unwrap();
    assert_eq!(y.to_host_vec(&gpu.stream).unwrap(), [6; N]);
    // What its nodes write is written by a launch of the whole.
    let mut fresh = graph_support::exec(&graph);
    for (exec, memory, value) in [(&mut exec, &y, 6), (&mut fresh, &x, 5)] {
        let [first, second] = [(); 2].map(|()| gpu.ctx.new_stream().unwrap());
        first.call_host(|| std::thread::sleep(std::time::Duration::from_millis(30))).unwrap();
        exec.launch(&first).unwrap();
        assert_eq!(memory.to_host_vec(&second).unwrap(), [value; N]);
    }
    // The graph that it was made from: of another shape, and nobody waits for himself.
    let refused = exec.set_child(node, &graph).unwrap_err();
    assert!(refused.code().is_some(), "by the driver: {refused}");
}
