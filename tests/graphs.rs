//! Graphs built node by node: what each kind does, what can change, and what is refused.

#![allow(unsafe_code)] // Kernel nodes of scale and fill: an address and its length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod graph_support;

use cuda_harness::skipped;
use cuda_launch::error::GraphError;
use cuda_launch::graph::{
    Branches, CopyNode, Dependency, DotFlags, Edge, GraphNode, HostMemory, InstantiateFlags, KernelNode,
    MemsetNode, NodeKind,
};
use cuda_launch::module::{JitOptions, LinkInput, Linker};
use cuda_launch::sys::CUresult;
use cuda_launch::{Attribute, CudaGraph, LaunchConfig, kernel_args};
use graph_support::{Gpu, N, device_runtime, exec, graph_error, input};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// nv-hosts.md, row H21.
#[test]
fn kernels_copies_memsets_and_host_functions_run_in_the_order_of_their_dependencies() {
    let gpu = Gpu::new();
    let (source, result) = (HostMemory::new(input()), HostMemory::new(vec![0f32; N]));
    let (mut x, mut y, mut z) = (gpu.put(&[0.0; N]), gpu.put(&[0.0; N]), gpu.put(&[9.0; N]));
    let order = Arc::new(AtomicU32::new(0));
    let mut graph = gpu.graph();
    let up = graph.add_copy(&[], CopyNode::host_to_device(&source, &mut x).unwrap()).unwrap();
    let zero = graph.add_memset(&[], MemsetNode::new(&mut z, 0.0).unwrap()).unwrap();
    let kernel = unsafe { graph.add_kernel(&[up, zero], gpu.scale(3.0, &x, &mut y)) }.unwrap();
    let copy = graph.add_copy(&[kernel], CopyNode::device_to_device(&y, &mut z).unwrap()).unwrap();
    let down = graph.add_copy(&[copy], CopyNode::device_to_host(&z, &result).unwrap()).unwrap();
    let (seen, there) = (order.clone(), result.clone());
    graph
        .add_host(&[down], move || {
            // The copy before this node is done, and nothing else touches the memory.
            let last = unsafe { there.to_vec() }[N - 1];
            seen.store(last as u32, Ordering::Relaxed);
        })
        .unwrap();
    drop((x, y, z));
    gpu.run(&graph);
    assert_eq!(unsafe { result.to_vec() }, input().iter().map(|x| 3.0 * x).collect::<Vec<_>>());
    assert_eq!(order.load(Ordering::Relaxed), 3 * (N as u32 - 1));
    assert_eq!(graph.dependencies().unwrap().len(), 5);
}

#[test]
fn a_kernel_node_is_checked_like_a_launch() {
    let gpu = Gpu::new();
    let (x, mut y) = (gpu.put(&[0.0; N]), gpu.put(&[0.0; N]));
    let config = LaunchConfig::for_num_elems(N as u32);
    let args = kernel_args![N as u64, 1.0f32, ptr(x), ptr_mut(y)];
    assert!(KernelNode::new(&gpu.scale, config, &[], args).unwrap_err().is_argument_mismatch());
    let block = LaunchConfig::new((1, 1, 1), (2048, 1, 1));
    let args = kernel_args![N as u32, 1.0f32, ptr(x), ptr_mut(y)];
    assert!(KernelNode::new(&gpu.scale, block, &[], args).unwrap_err().is_launch_refused());
    let args = kernel_args![N as u32, 2.0f32, ptr(x), ptr_mut(y)];
    let node = KernelNode::new(&gpu.scale, config, &[Attribute::priority(0)], args).unwrap();
    let mut graph = gpu.graph();
    let node = unsafe { graph.add_kernel(&[], node) }.unwrap();
    assert_eq!(graph.kind(node).unwrap(), NodeKind::Kernel);
    gpu.run(&graph);
}

#[test]
fn nodes_of_other_graphs_and_removed_nodes_are_refused() {
    let gpu = Gpu::new();
    let (mut one, mut other) = (gpu.graph(), gpu.graph());
    let node = one.add_empty(&[]).unwrap();
    assert_eq!(graph_error(other.add_empty(&[node])), GraphError::ForeignNode { index: 0 });
    assert_eq!(graph_error(other.kind(node)), GraphError::ForeignNode { index: 0 });
    let second = one.add_empty(&[node]).unwrap();
    one.remove(node).unwrap();
    assert_eq!(graph_error(one.remove(node)), GraphError::RemovedNode { node: "node 0".into() });
    assert_eq!((one.nodes(), one.dependencies().unwrap()), (vec![second], vec![]));
}

#[test]
fn dependencies_are_added_listed_and_removed() {
    let gpu = Gpu::new();
    let mut graph = gpu.graph();
    let nodes: [GraphNode; 3] = std::array::from_fn(|_| graph.add_empty(&[]).unwrap());
    let [a, b, c] = nodes;
    graph.add_dependency(a, b, Edge::FULL).unwrap();
    graph.add_dependency(b, c, Edge::FULL).unwrap();
    let edge = |from, to| (from, to, Edge::FULL);
    let of = |dependency: &Dependency| (dependency.from, dependency.to, dependency.edge);
    let mut edges = graph.dependencies().unwrap();
    edges.sort_by_key(|edge| edge.from.index());
    assert_eq!(edges.iter().map(of).collect::<Vec<_>>(), [edge(a, b), edge(b, c)]);
    graph.remove_dependency(a, b, Edge::FULL).unwrap();
    assert_eq!(graph.dependencies().unwrap().iter().map(of).collect::<Vec<_>>(), [edge(b, c)]);
    assert!(graph.remove_dependency(a, b, Edge::FULL).is_err());
}

#[test]
fn a_programmatic_dependency_stands_between_kernels_only() {
    let gpu = Gpu::new();
    if gpu.ctx.limits().compute_capability.0 < 9 {
        return skipped("the device is older than sm_90");
    }
    let (x, mut y, mut z) = (gpu.put(&input()), gpu.put(&[0.0; N]), gpu.put(&[0.0; N]));
    let mut graph = gpu.graph();
    let empty = graph.add_empty(&[]).unwrap();
    let first = unsafe { graph.add_kernel(&[], gpu.scale(2.0, &x, &mut y)) }.unwrap();
    let second = unsafe { graph.add_kernel(&[], gpu.scale(2.0, &x, &mut z)) }.unwrap();
    graph.add_dependency(first, second, Edge::PROGRAMMATIC).unwrap();
    assert_eq!(graph.dependencies().unwrap()[0].edge, Edge::PROGRAMMATIC);
    assert!(graph.add_dependency(empty, first, Edge::PROGRAMMATIC).is_err());
    gpu.run(&graph);
    assert_eq!(z.to_host_vec(&gpu.stream).unwrap()[7], 14.0);
}

#[test]
fn a_clone_has_nodes_of_its_own() {
    let gpu = Gpu::new();
    let mut x = gpu.zeros();
    let mut graph = gpu.graph();
    let node = unsafe { graph.add_kernel(&[], gpu.fill(&mut x, 6)) }.unwrap();
    let mut clone = graph.try_clone().unwrap();
    let copy = clone.copy_of(node);
    assert_eq!(clone.kind(copy).unwrap(), NodeKind::Kernel);
    assert!(clone.kind(node).is_err() && clone.raw_node(copy).unwrap() != graph.raw_node(node).unwrap());
    graph.remove(node).unwrap();
    drop(graph);
    clone.add_empty(&[copy]).unwrap();
    gpu.run(&clone);
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [6; N]);
}

#[test]
fn a_conditional_node_runs_the_graph_that_its_value_says() {
    let gpu = Gpu::new();
    let run = |value: u32, branches: Branches| {
        let mut outs: Vec<_> = (0..3).map(|_| gpu.zeros()).collect();
        let mut graph = gpu.graph();
        let condition = graph.add_condition(Some(value)).unwrap();
        let (node, mut bodies) = graph.add_conditional(&[], condition, branches).unwrap();
        assert_eq!(graph.kind(node).unwrap(), NodeKind::Conditional);
        for (body, out) in bodies.iter_mut().zip(&mut outs) {
            unsafe { body.add_kernel(&[], gpu.fill(out, 1)) }.unwrap();
        }
        drop(bodies);
        gpu.run(&graph);
        outs.iter().map(|out| out.to_host_vec(&gpu.stream).unwrap()[0]).collect::<Vec<_>>()
    };
    assert_eq!(run(1, Branches::If), [1, 0, 0]);
    assert_eq!(run(0, Branches::If), [0, 0, 0]);
    assert_eq!(run(0, Branches::While), [0, 0, 0]);
    if gpu.ctx.driver_version() >= 12080 {
        assert_eq!(run(0, Branches::IfElse), [0, 1, 0]);
        assert_eq!(run(2, Branches::Switch(3)), [0, 0, 1]);
        assert_eq!(run(3, Branches::Switch(3)), [0, 0, 0]);
    }
}

/// `decide`: adds one to `*p`, and sets the condition to whether it is below the limit.
const DECIDE: &str = "
.version 7.0
.target sm_52
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry decide(.param .u64 handle, .param .u64 p, .param .u32 limit)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [handle];
    ld.param.u64 %rd2, [p];
    ld.param.u32 %r1, [limit];
    cvta.to.global.u64 %rd3, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.u32 %r3, %r2, 1;
    st.global.u32 [%rd3], %r3;
    setp.lt.u32 %p1, %r3, %r1;
    selp.u32 %r4, 1, 0, %p1;
    {
    .param .b64 handle_;
    st.param.b64 [handle_], %rd1;
    .param .b32 value_;
    st.param.b32 [value_], %r4;
    call.uni cudaGraphSetConditional, (handle_, value_);
    }
    ret;
}
";

#[test]
fn a_switch_of_more_graphs_than_memory_has_room_for_is_refused() {
    let gpu = Gpu::new();
    if !gpu.ctx.device_name().unwrap().contains("emulator") {
        return skipped("a GPU's driver makes as many graphs as the host has memory for");
    }
    let mut graph = gpu.graph();
    let condition = graph.add_condition(Some(0)).unwrap();
    let error = graph.add_conditional(&[], condition, Branches::Switch(u32::MAX)).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    let text = error.to_string();
    let reason = "a SWITCH node has at most 65536 bodies on the emulator, and 4294967295 were asked for";
    assert!(text.contains(reason) && text.contains("help: use fewer bodies"), "{text}");
    let condition = graph.add_condition(Some(0)).unwrap();
    let (_, bodies) = graph.add_conditional(&[], condition, Branches::Switch(100)).unwrap();
    assert_eq!(bodies.len(), 100);
}

#[test]
fn a_condition_is_free_again_when_its_node_is_refused() {
    let gpu = Gpu::new();
    if !gpu.ctx.device_name().unwrap().contains("emulator") {
        return skipped("whether a GPU's driver takes the condition then, nothing says");
    }
    let mut graph = gpu.graph();
    let first = graph.add_empty(&[]).unwrap();
    let condition = graph.add_condition(Some(0)).unwrap();
    let error = graph.add_conditional(&[first, first], condition, Branches::If).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    graph.add_conditional(&[first], condition, Branches::If).unwrap();
    assert_eq!(graph.nodes().len(), 2);
    let error = graph.add_conditional(&[], condition, Branches::If).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE), "a node has it");
}

#[test]
fn graphs_in_graphs_are_refused_from_some_depth_on() {
    let gpu = Gpu::new();
    if !gpu.ctx.device_name().unwrap().contains("emulator") {
        return skipped("the limit is the emulator's");
    }
    let outer = |graph: &CudaGraph| {
        let mut outer = gpu.graph();
        outer.add_child(&[], graph).map(|_| outer)
    };
    let mut buffer = gpu.zeros();
    let mut graph = gpu.graph();
    // SAFETY: 1: `fill` takes an address, the length and a value, writes so many numbers of `buffer`, and ends;
    // `buffer` lives until the end, and nothing else uses it while a graph with this one node runs: `run` waits.
    unsafe { graph.add_kernel(&[], gpu.fill(&mut buffer, 7)) }.unwrap();
    for _ in 0..255 {
        graph = outer(&graph).unwrap();
    }
    let error = outer(&graph).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    let text = error.to_string();
    let reason = "graphs can be nested 256 levels deep on the emulator";
    assert!(text.contains(reason) && text.contains("help: nest fewer graphs"), "{text}");
    gpu.run(&graph.try_clone().unwrap());
    assert_eq!(buffer.to_host_vec(&gpu.stream).unwrap(), [7; N]);
    let mut exec = exec(&graph);
    exec.update(&graph).unwrap();
    drop((graph, exec));
    // Bodies of conditional nodes, each in the body of the one before.
    let mut graph = gpu.graph();
    let mut levels = 1;
    let error = loop {
        let condition = graph.add_condition(Some(1)).unwrap();
        match graph.add_conditional(&[], condition, Branches::If) {
            Ok((_, mut bodies)) => graph = bodies.remove(0),
            Err(error) => break error,
        }
        levels += 1;
    };
    assert_eq!((levels, error.code()), (256, Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY)));
}

#[test]
fn a_while_node_runs_its_graph_until_a_kernel_says_no() {
    let gpu = Gpu::new();
    let module = if gpu.ctx.device_name().unwrap().contains("emulator") {
        // It has the function itself.
        gpu.ctx.load_module(DECIDE).unwrap()
    } else {
        let Some(library) = device_runtime() else {
            return skipped("no libcudadevrt.a, which has the function, in CUDA_HOME or VIRTUAL_ENV");
        };
        let mut linker = Linker::new(&gpu.ctx, &JitOptions::default()).unwrap();
        linker.add(DECIDE, "decide").unwrap();
        // SAFETY: 1: the file is the toolkit's library, which nobody writes to.
        unsafe { linker.add_file_unchecked(LinkInput::Library, &library) }.unwrap();
        linker.complete().unwrap().load(&gpu.ctx).unwrap()
    };
    let decide = module.load_function("decide").unwrap();
    let run = |default: u32, limit: u32, launches: usize| {
        let (mut count, mut others) = (gpu.zeros(), gpu.zeros());
        let mut graph = gpu.graph();
        let condition = graph.add_condition(Some(default)).unwrap();
        let (node, mut bodies) = graph.add_conditional(&[], condition, Branches::While).unwrap();
        let one = LaunchConfig::new((1, 1, 1), (1, 1, 1));
        let handle = condition.handle();
        let counting =
            KernelNode::new(&decide, one, &[], kernel_args![handle, ptr_mut(count), limit]).unwrap();
        let counted = unsafe { bodies[0].add_kernel(&[], counting) }.unwrap();
        let copy = CopyNode::device_to_device(&count, &mut others).unwrap();
        bodies[0].add_copy(&[counted], copy).unwrap();
        drop(bodies);
        // What comes after the node comes after the last round.
        let result = HostMemory::new(vec![0u32; N]);
        graph.add_copy(&[node], CopyNode::device_to_host(&others, &result).unwrap()).unwrap();
        let mut exec = exec(&graph);
        drop((graph, count, others));
        for _ in 0..launches {
            exec.launch(&gpu.stream).unwrap();
        }
        exec.synchronize().unwrap();
        let results = unsafe { result.to_vec() };
        results[0]
    };
    assert_eq!(run(1, 7, 1), 7, "six times more than once");
    assert_eq!(run(1, 1, 1), 1, "once");
    assert_eq!(run(0, 7, 1), 0, "not at all");
    assert_eq!(run(1, 7, 3), 9, "each launch begins with the default, and finds the count too high");
}

#[test]
fn a_graph_inside_another_does_not_outlive_its_node() {
    let gpu = Gpu::new();
    let mut graph = gpu.graph();
    let condition = graph.add_condition(Some(1)).unwrap();
    let (node, bodies) = graph.add_conditional(&[], condition, Branches::If).unwrap();
    assert!(matches!(graph_error(graph.remove(node)), GraphError::Unfit { node: "conditional", .. }));
    drop(graph);
    // The family lives as long as one of its graphs.
    assert_eq!(bodies[0].dependencies().unwrap(), []);
}

#[test]
fn a_graph_allocates_and_frees_its_own_memory() {
    let gpu = Gpu::new();
    let (x, mut y) = (gpu.put(&input()), gpu.put(&[0.0; N]));
    let mut graph = gpu.graph();
    let scratch = graph.add_alloc::<f32>(&[], N).unwrap();
    let config = LaunchConfig::for_num_elems(N as u32);
    let to = scratch.as_mut_device_ptr();
    let first = KernelNode::new(&gpu.scale, config, &[], kernel_args![N as u32, 2.0f32, ptr(x), to]).unwrap();
    let first = unsafe { graph.add_kernel(&[scratch.node()], first) }.unwrap();
    let from = scratch.as_device_ptr();
    let second =
        KernelNode::new(&gpu.scale, config, &[], kernel_args![N as u32, 2.0f32, from, ptr_mut(y)]).unwrap();
    let second = unsafe { graph.add_kernel(&[first], second) }.unwrap();
    graph.add_free(&[second], &scratch).unwrap();
    let mut exec = exec(&graph);
    for _ in 0..3 {
        exec.launch(&gpu.stream).unwrap();
    }
    assert_eq!(y.to_host_vec(&gpu.stream).unwrap()[10], 40.0);
    assert!(matches!(graph_error(graph.add_alloc::<f32>(&[], 0)), GraphError::Unfit { .. }));
}

#[test]
fn a_kernel_node_keeps_its_memory() {
    let gpu = Gpu::new();
    let (mut x, mut graph) = (gpu.zeros(), gpu.graph());
    unsafe { graph.add_kernel(&[], gpu.fill(&mut x, 6)) }.unwrap();
    let mut exec = exec(&graph);
    drop((x, graph));
    exec.launch(&gpu.stream).unwrap();
    exec.synchronize().unwrap();
}

/// A launch writes what any of its nodes writes, though others only read it.
#[test]
fn memory_that_some_nodes_read_and_one_writes_is_written() {
    let gpu = Gpu::new();
    let [other, stream] = [(); 2].map(|()| gpu.ctx.new_stream().unwrap());
    for writer in 0..3 {
        let (mut memory, mut copies) = (gpu.zeros(), [gpu.zeros(), gpu.zeros(), gpu.zeros()]);
        let (mut graph, mut after) = (gpu.graph(), Vec::new());
        for (place, copy) in copies.iter_mut().enumerate() {
            let node = if place == writer {
                graph.add_memset(&after, MemsetNode::new(&mut memory, 7).unwrap())
            } else {
                graph.add_copy(&after, CopyNode::device_to_device(&memory, copy).unwrap())
            };
            after = vec![node.unwrap()];
        }
        let mut exec = exec(&graph);
        gpu.ctx.synchronize().unwrap();
        // One that has not used the memory before.
        stream.call_host(|| std::thread::sleep(std::time::Duration::from_millis(30))).unwrap();
        exec.launch(&stream).unwrap();
        assert_eq!(memory.to_host_vec(&other).unwrap(), [7; N], "node {writer} writes");
    }
}

#[test]
fn event_nodes_order_graphs_against_streams() {
    let gpu = Gpu::new();
    let event = || Arc::new(gpu.ctx.new_event().unwrap());
    let (first, second) = (event(), event());
    let mut graph = gpu.graph();
    let wait = graph.add_event_wait(&[], &first).unwrap();
    let record = graph.add_event_record(&[wait], &first).unwrap();
    assert_eq!([wait, record].map(|n| graph.kind(n).unwrap()), [NodeKind::EventWait, NodeKind::EventRecord]);
    let mut exec = exec(&graph);
    exec.set_event_record(record, &second).unwrap();
    exec.set_event_wait(wait, &second).unwrap();
    drop((first, graph));
    exec.launch(&gpu.stream).unwrap();
    second.synchronize().unwrap();
    exec.synchronize().unwrap();
}

#[test]
fn a_panic_in_a_host_function_is_raised_by_the_next_wait() {
    let gpu = Gpu::new();
    let mut graph = gpu.graph();
    graph.add_host(&[], || panic!("in the graph")).unwrap();
    let mut exec = exec(&graph);
    exec.launch(&gpu.stream).unwrap();
    let raised = catch_unwind(AssertUnwindSafe(|| exec.synchronize())).unwrap_err();
    assert_eq!(*raised.downcast::<&str>().unwrap(), "in the graph");
    exec.synchronize().unwrap();
}

#[test]
fn a_circle_is_named_when_it_is_instantiated_or_added() {
    let gpu = Gpu::new();
    let mut graph = gpu.graph();
    let a = graph.add_empty(&[]).unwrap();
    let b = graph.add_empty(&[a]).unwrap();
    // A driver may refuse the edge, or only the graph that it makes.
    let error = match graph.add_dependency(b, a, Edge::FULL) {
        Err(error) => error,
        Ok(()) => graph.instantiate(InstantiateFlags::empty()).err().unwrap(),
    };
    assert!(error.call().is_some_and(|call| call.starts_with("cuGraph")), "{error}");
    assert!(error.to_string().contains("cycle"), "{error}");
}

#[test]
fn a_graph_is_printed_in_the_dot_language() {
    let gpu = Gpu::new();
    let (mut x, mut graph) = (gpu.zeros(), gpu.graph());
    let first = unsafe { graph.add_kernel(&[], gpu.fill(&mut x, 6)) }.unwrap();
    graph.add_empty(&[first]).unwrap();
    let dot = graph.to_dot(DotFlags::VERBOSE).unwrap();
    assert!(dot.starts_with("digraph") && dot.contains("->"), "{dot}");
    assert!(graph.write_dot("/no/such/folder/graph.dot", DotFlags::empty()).is_err());
}

#[test]
fn flags_upload_and_raw_handles() {
    let gpu = Gpu::new();
    let mut graph = gpu.graph();
    graph.add_empty(&[]).unwrap();
    let flags = InstantiateFlags::AUTO_FREE_ON_LAUNCH;
    let mut exec = graph.instantiate(flags).unwrap();
    assert_eq!(exec.flags().unwrap(), flags);
    exec.upload(&gpu.stream).unwrap();
    exec.launch(&gpu.stream).unwrap();
    let borrowed = unsafe { CudaGraph::from_raw(&gpu.ctx, graph.raw()) }.unwrap();
    assert_eq!(borrowed.nodes().len(), 1);
    borrowed.close().unwrap();
    exec.close().unwrap();
    graph.close().unwrap();
}
