//! Graphs built node by node: what each kind does, what can change, and what is refused.

#![allow(unsafe_code)] // Kernel nodes of scale and fill: an address and its length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::graph::{
    Branches, CopyNode, Dependency, DotFlags, Edge, GraphExec, HostMemory, InstantiateFlags, MemsetNode,
};
use cuda_launch::{
    Attribute, CudaContext, CudaFunction, CudaGraph, CudaStream, DeviceBuffer, Error, ErrorKind, GraphError,
    GraphNode, KernelNode, LaunchConfig, NodeKind, UpdateRefusal, kernel_args,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const N: usize = 1000;

struct Gpu {
    ctx: CudaContext,
    stream: CudaStream,
    scale: CudaFunction,
    fill: CudaFunction,
}

impl Gpu {
    fn new() -> Self {
        let ctx = CudaContext::new(0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let function = |ptx: &str, name| ctx.load_module(ptx).unwrap().load_function(name).unwrap();
        let scale = function(include_str!("../examples/kernels/scale.ptx"), "scale");
        let fill = function(include_str!("../examples/kernels/fill.ptx"), "fill");
        Self { ctx, stream, scale, fill }
    }

    fn graph(&self) -> CudaGraph {
        CudaGraph::new(&self.ctx).unwrap()
    }

    fn put(&self, host: &[f32]) -> DeviceBuffer<f32> {
        DeviceBuffer::from_host(&self.stream, host).unwrap()
    }

    fn zeros(&self) -> DeviceBuffer<u32> {
        DeviceBuffer::zeroed(&self.stream, N).unwrap()
    }

    /// out = factor * x
    fn scale(&self, factor: f32, x: &DeviceBuffer<f32>, out: &mut DeviceBuffer<f32>) -> KernelNode<'static> {
        let config = LaunchConfig::for_num_elems(x.len() as u32);
        KernelNode::new(&self.scale, config, &[], kernel_args![x.len() as u32, factor, ptr(x), ptr_mut(out)])
            .unwrap()
    }

    fn fill(&self, x: &mut DeviceBuffer<u32>, value: u32) -> KernelNode<'static> {
        let (n, config) = (x.len() as u32, LaunchConfig::for_num_elems(x.len() as u32));
        KernelNode::new(&self.fill, config, &[], kernel_args![ptr_mut(x), n, value]).unwrap()
    }

    fn run(&self, graph: &CudaGraph) {
        let mut exec = exec(graph);
        exec.launch(&self.stream).unwrap();
        exec.synchronize().unwrap();
    }
}

fn exec(graph: &CudaGraph) -> GraphExec {
    graph.instantiate(InstantiateFlags::empty()).unwrap()
}

fn graph_error<T>(result: Result<T, Error>) -> GraphError {
    let Err(error) = result else { panic!("nothing was refused") };
    assert!(error.is_graph_error(), "{error}");
    let ErrorKind::Graph(error) = error.kind() else { panic!("{error}") };
    error.clone()
}

fn input() -> Vec<f32> {
    (0..N).map(|i| i as f32).collect()
}

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
    let block = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (2048, 1, 1), shared_mem_bytes: 0 };
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
    let edge = |from, to| Dependency { from, to, edge: Edge::FULL };
    let mut edges = graph.dependencies().unwrap();
    edges.sort_by_key(|edge| edge.from.index());
    assert_eq!(edges, [edge(a, b), edge(b, c)]);
    graph.remove_dependency(a, b, Edge::FULL).unwrap();
    assert_eq!(graph.dependencies().unwrap(), [edge(b, c)]);
    assert!(graph.remove_dependency(a, b, Edge::FULL).is_err());
}

#[test]
fn a_programmatic_dependency_stands_between_kernels_only() {
    let gpu = Gpu::new();
    if gpu.ctx.limits().compute_capability.0 < 9 {
        return;
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
    let mut run = |exec: &mut GraphExec, expected: (f32, u32, u32)| {
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
    let mut fresh = self::exec(&graph);
    run(&mut fresh, (20.0, 1, 23));
    let wrong = graph_error(exec.set_host(memset, || ()));
    assert_eq!(wrong, GraphError::WrongKind { node: "node 2 (memset)".into(), wanted: "host" });
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
    exec.set_child(node, &child(&mut y, 6)).unwrap();
    exec.launch(&gpu.stream).unwrap();
    assert_eq!(y.to_host_vec(&gpu.stream).unwrap(), [6; N]);
}

#[test]
#[ignore = "the emulator's part comes with its next merge"]
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

#[test]
#[ignore = "the emulator's part comes with its next merge"]
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
