//! The order of what a graph does in safe code: captured work among other nodes, and host memory between two graphs.

#![deny(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::error::GraphError;
use cuda_launch::graph::{
    Branches, CopyNode, Edge, GraphExec, GraphNode, HostMemory, InstantiateFlags, MemsetNode,
};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig,
    cuda_module,
};
use std::thread::sleep;
use std::time::Duration;

const N: usize = 100;

#[cuda_module("tests/kernels/ordering.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn step(x: &mut [u32], m: u32, a: u32);
    }
}

fn setup() -> (CudaContext, CudaStream, DeviceBuffer<u32>, DeviceBuffer<u32>) {
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let buffers = [0; 2].map(|_| DeviceBuffer::zeroed(&stream, N).unwrap());
    let [x, y] = buffers;
    (ctx, stream, x, y)
}

/// Captures a fill, which is all that is known of it.
fn captured(graph: &mut CudaGraph, after: &[GraphNode], x: &mut DeviceBuffer<u32>, value: u32) -> GraphNode {
    let record = |stream: &CudaStream| x.fill(stream, value);
    graph.capture_into(after, CaptureMode::ThreadLocal, record).unwrap()[0]
}

fn memset(graph: &mut CudaGraph, after: &[GraphNode], x: &mut DeviceBuffer<u32>, value: u32) -> GraphNode {
    graph.add_memset(after, MemsetNode::new(x, value).unwrap()).unwrap()
}

fn exec(graph: &CudaGraph) -> GraphExec {
    graph.instantiate(InstantiateFlags::empty()).unwrap()
}

fn edges(graph: &CudaGraph) -> Vec<(usize, usize)> {
    let all = graph.dependencies().unwrap();
    assert!(all.iter().all(|edge| edge.edge == Edge::FULL));
    let mut all: Vec<_> = all.iter().map(|edge| (edge.from.index(), edge.to.index())).collect();
    all.sort_unstable();
    all
}

fn unfit<T>(result: Result<T, Error>) -> &'static str {
    let Err(error) = result else { panic!("nothing was refused") };
    match error.kind() {
        ErrorKind::Graph(GraphError::Unfit { node, .. }) => node,
        _ => panic!("{error}"),
    }
}

#[test]
fn captured_work_is_ordered_against_what_uses_its_memory() {
    let (ctx, stream, mut x, mut y) = setup();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let slow = graph.add_host(&[], || sleep(Duration::from_millis(100))).unwrap();
    captured(&mut graph, &[slow], &mut x, 1);
    memset(&mut graph, &[], &mut x, 2);
    captured(&mut graph, &[], &mut x, 3);
    // Other memory, and two nodes that safe code may let run at the same time.
    memset(&mut graph, &[], &mut y, 4);
    memset(&mut graph, &[], &mut y, 4);
    assert_eq!(edges(&graph), [(0, 1)]);
    let mut exec = exec(&graph);
    assert_eq!(edges(&graph), [(0, 1), (1, 2), (2, 3)]);
    exec.launch(&stream).unwrap();
    assert_eq!(x.to_host_vec(&stream).unwrap(), [3; N]);
    // Nothing is missing any more.
    graph.instantiate(InstantiateFlags::empty()).unwrap();
    assert_eq!(edges(&graph).len(), 3);
}

#[test]
fn safe_kernels_of_two_captures_are_ordered_whatever_the_edge() {
    let (ctx, stream, mut x, _) = setup();
    let module = kernels::load(&ctx).unwrap();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let mut step = |graph: &mut CudaGraph, after: &[GraphNode], m, a| {
        let record = |s: &CudaStream| module.step(s, LaunchConfig::for_num_elems(N as u32), &mut x, m, a);
        graph.capture_into(after, CaptureMode::ThreadLocal, record).unwrap()[0]
    };
    let slow = graph.add_host(&[], || sleep(Duration::from_millis(50))).unwrap();
    let first = step(&mut graph, &[slow], 1, 3);
    let second = step(&mut graph, &[], 10, 4);
    if ctx.limits().compute_capability.0 >= 9 {
        graph.add_dependency(first, second, Edge::PROGRAMMATIC).unwrap();
    }
    step(&mut graph, &[], 10, 5);
    let mut exec = exec(&graph);
    assert_eq!(edges(&graph), [(0, 1), (1, 2), (2, 3)]);
    exec.launch(&stream).unwrap();
    assert_eq!(x.to_host_vec(&stream).unwrap(), [345; N]);
    // The other way round, too: what has an order of another kind keeps it.
    if ctx.limits().compute_capability.0 >= 9 {
        let mut turned = CudaGraph::new(&ctx).unwrap();
        let [late, early] = [7, 8].map(|a| {
            let record = |s: &CudaStream| module.step(s, LaunchConfig::for_num_elems(N as u32), &mut x, 0, a);
            turned.capture_into(&[], CaptureMode::ThreadLocal, record).unwrap()[0]
        });
        turned.add_dependency(early, late, Edge::PROGRAMMATIC).unwrap();
        turned.instantiate(InstantiateFlags::empty()).unwrap().launch(&stream).unwrap();
        assert_eq!((edges(&turned), x.to_host_vec(&stream).unwrap()), (vec![(1, 0)], vec![7; N]));
    }
}

#[test]
fn many_captures_of_the_same_memory_get_one_dependency_each() {
    let (ctx, stream, mut x, _) = setup();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    for value in 0..300 {
        captured(&mut graph, &[], &mut x, value);
    }
    let mut exec = exec(&graph);
    assert_eq!(edges(&graph), (1..300).map(|node| (node - 1, node)).collect::<Vec<_>>());
    exec.launch(&stream).unwrap();
    assert_eq!(x.to_host_vec(&stream).unwrap(), [299; N]);
}

#[test]
fn readers_and_what_is_ordered_get_no_dependency() {
    let (ctx, _, mut x, mut y) = setup();
    let mut z = DeviceBuffer::<u32>::zeroed(&ctx.default_stream(), N).unwrap();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let read = |graph: &mut CudaGraph, to: &mut DeviceBuffer<u32>| {
        graph.capture_into(&[], CaptureMode::ThreadLocal, |s| to.view_mut().copy_from_device(s, &x)).unwrap();
    };
    read(&mut graph, &mut y);
    read(&mut graph, &mut z);
    exec(&graph);
    assert!(edges(&graph).is_empty());
    let first = captured(&mut graph, &[], &mut y, 1);
    graph.add_dependency(graph.nodes()[0], first, Edge::FULL).unwrap();
    let between = graph.add_empty(&[first]).unwrap();
    memset(&mut graph, &[between], &mut y, 2);
    let before = edges(&graph);
    exec(&graph);
    assert_eq!(edges(&graph), before);
    // The order that there is stays: the memset, which was added later, comes first.
    let mut turned = CudaGraph::new(&ctx).unwrap();
    let late = captured(&mut turned, &[], &mut x, 1);
    let early = memset(&mut turned, &[], &mut x, 2);
    turned.add_dependency(early, late, Edge::FULL).unwrap();
    exec(&turned);
    assert_eq!(edges(&turned), [(1, 0)]);
}

#[test]
fn graphs_inside_and_copies_are_ordered_too() {
    let (ctx, stream, mut x, mut y) = setup();
    let mut child = CudaGraph::new(&ctx).unwrap();
    captured(&mut child, &[], &mut x, 1);
    memset(&mut child, &[], &mut x, 2);
    let mut graph = CudaGraph::new(&ctx).unwrap();
    graph.add_child(&[], &child).unwrap();
    assert_eq!(edges(&child), [(0, 1)], "before it is copied");
    memset(&mut graph, &[], &mut x, 3);
    let value = graph.add_condition(Some(1)).unwrap();
    let (_, mut bodies) = graph.add_conditional(&[], value, Branches::If).unwrap();
    captured(&mut bodies[0], &[], &mut y, 4);
    captured(&mut bodies[0], &[], &mut y, 5);
    memset(&mut graph, &[], &mut y, 6);
    let mut exec = exec(&graph);
    assert_eq!((edges(&graph), edges(&bodies[0])), (vec![(0, 1), (2, 3)], vec![(0, 1)]));
    exec.launch(&stream).unwrap();
    assert_eq!((x.to_host_vec(&stream).unwrap(), y.to_host_vec(&stream).unwrap()), (vec![3; N], vec![6; N]));
    let mut other = CudaGraph::new(&ctx).unwrap();
    captured(&mut other, &[], &mut x, 1);
    let mut copy = other.try_clone().unwrap();
    memset(&mut copy, &[], &mut x, 2);
    copy.instantiate(InstantiateFlags::empty()).unwrap();
    assert_eq!(edges(&copy), [(0, 1)]);
}

#[test]
fn what_was_captured_together_stays_in_order() {
    let (ctx, stream, mut x, _) = setup();
    let mut graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
        (1..=4).try_for_each(|value| x.fill(stream, value))
    })
    .unwrap();
    let [a, b, c, d] = graph.nodes()[..] else { panic!("{:?}", graph.nodes()) };
    assert_eq!(unfit(graph.remove_dependency(a, b, Edge::FULL)), "dependency");
    graph.add_dependency(a, c, Edge::FULL).unwrap();
    graph.remove_dependency(a, c, Edge::FULL).unwrap();
    // What stands between two may go; they stay ordered.
    graph.remove(b).unwrap();
    graph.remove(c).unwrap();
    assert_eq!(edges(&graph), [(a.index(), d.index())]);
    // A node that was not captured with them keeps nobody in order that needs it.
    let empty = graph.add_empty(&[a]).unwrap();
    graph.remove_dependency(a, empty, Edge::FULL).unwrap();
    exec(&graph).launch(&stream).unwrap();
    assert_eq!(x.to_host_vec(&stream).unwrap(), [4; N]);
}

/// Nodes that were not captured, and their dependencies, may be removed by anybody.
#[test]
fn a_detour_over_other_nodes_keeps_nobody_in_order() {
    let (ctx, _stream, mut x, _) = setup();
    let mut graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
        (1..=2).try_for_each(|value| x.fill(stream, value))
    })
    .unwrap();
    let [a, b] = graph.nodes()[..] else { panic!("{:?}", graph.nodes()) };
    let detour = graph.add_empty(&[a]).unwrap();
    graph.add_dependency(detour, b, Edge::FULL).unwrap();
    assert_eq!(unfit(graph.remove_dependency(a, b, Edge::FULL)), "dependency");
    graph.remove(detour).unwrap();
    assert_eq!(edges(&graph), [(a.index(), b.index())]);
}

/// An executable graph runs what it was made of.
#[test]
fn what_was_removed_from_the_graph_still_runs_in_what_was_made_of_it() {
    let (ctx, _stream, mut x, mut y) = setup();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let work = captured(&mut graph, &[], &mut x, 1);
    let beside = memset(&mut graph, &[], &mut y, 2);
    let mut exec = exec(&graph);
    graph.remove(work).unwrap();
    assert_eq!(unfit(exec.set_memset(beside, MemsetNode::new(&mut x, 2).unwrap())), "memset");
    // The same in a body.
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let value = graph.add_condition(Some(1)).unwrap();
    let (_, mut bodies) = graph.add_conditional(&[], value, Branches::If).unwrap();
    let work = captured(&mut bodies[0], &[], &mut x, 4);
    let beside = memset(&mut graph, &[], &mut y, 6);
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    bodies[0].remove(work).unwrap();
    assert_eq!(unfit(exec.set_memset(beside, MemsetNode::new(&mut x, 2).unwrap())), "memset");
}

/// The graph inside may be replaced by one with captured work, also after an update.
#[test]
fn a_graph_inside_is_looked_at_after_an_update_too() {
    let (ctx, _stream, mut x, mut y) = setup();
    let mut child = CudaGraph::new(&ctx).unwrap();
    memset(&mut child, &[], &mut y, 1);
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let inside = graph.add_child(&[], &child).unwrap();
    let beside = memset(&mut graph, &[], &mut y, 2);
    let mut exec = exec(&graph);
    exec.update(&graph).unwrap();
    let mut other = CudaGraph::new(&ctx).unwrap();
    captured(&mut other, &[], &mut x, 1);
    exec.set_child(inside, &other).unwrap();
    assert_eq!(unfit(exec.set_memset(beside, MemsetNode::new(&mut x, 2).unwrap())), "memset");
}

#[test]
fn a_node_of_an_executable_graph_takes_no_memory_without_an_order() {
    let (ctx, stream, mut x, mut y) = setup();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let work = captured(&mut graph, &[], &mut x, 1);
    let (beside, behind) = (memset(&mut graph, &[], &mut y, 2), memset(&mut graph, &[work], &mut y, 3));
    let mut changed = exec(&graph);
    assert_eq!(unfit(changed.set_memset(beside, MemsetNode::new(&mut x, 2).unwrap())), "memset");
    changed.set_memset(beside, MemsetNode::new(&mut y, 4).unwrap()).unwrap();
    changed.set_memset(behind, MemsetNode::new(&mut x, 5).unwrap()).unwrap();
    changed.launch(&stream).unwrap();
    assert_eq!((x.to_host_vec(&stream).unwrap(), y.to_host_vec(&stream).unwrap()), (vec![5; N], vec![4; N]));
    // The captured node, too; and nobody knows the order of a graph that was edited since.
    assert_eq!(unfit(changed.set_memset(work, MemsetNode::new(&mut y, 1).unwrap())), "memset");
    graph.add_dependency(work, beside, Edge::FULL).unwrap();
    assert_eq!(unfit(changed.set_memset(beside, MemsetNode::new(&mut x, 2).unwrap())), "memset");
    let mut ordered = exec(&graph);
    ordered.set_memset(beside, MemsetNode::new(&mut x, 2).unwrap()).unwrap();
    ordered.update(&graph).unwrap();
    assert_eq!(
        unfit(ordered.set_memset(beside, MemsetNode::new(&mut x, 2).unwrap())),
        "memset",
        "beside `behind`"
    );
}

#[test]
fn launches_of_two_graphs_are_ordered_by_host_memory() {
    let ctx = CudaContext::new(0).unwrap();
    // One has only what it uses itself: nothing else orders the two.
    let [first, second] = [0; 2].map(|_| ctx.new_stream().unwrap());
    let x = DeviceBuffer::from_host(&first, &[7u32; N]).unwrap();
    let mut y = DeviceBuffer::<u32>::zeroed(&second, N).unwrap();
    let host = HostMemory::new(vec![1u32; N]);
    let (mut write, mut read) = (CudaGraph::new(&ctx).unwrap(), CudaGraph::new(&ctx).unwrap());
    write.add_copy(&[], CopyNode::device_to_host(&x, &host).unwrap()).unwrap();
    read.add_copy(&[], CopyNode::host_to_device(&host, &mut y).unwrap()).unwrap();
    let (mut write, mut read) = (exec(&write), exec(&read));
    first.call_host(|| sleep(Duration::from_millis(200))).unwrap();
    write.launch(&first).unwrap();
    read.launch(&second).unwrap();
    assert_eq!(y.to_host_vec(&second).unwrap(), [7; N], "a read after a write");
    // It goes while they run.
    let host = HostMemory::new(vec![1u32; N]);
    let (mut write, mut read) = (CudaGraph::new(&ctx).unwrap(), CudaGraph::new(&ctx).unwrap());
    write.add_copy(&[], CopyNode::device_to_host(&x, &host).unwrap()).unwrap();
    read.add_copy(&[], CopyNode::host_to_device(&host, &mut y).unwrap()).unwrap();
    let (mut write, mut read) = (exec(&write), exec(&read));
    second.call_host(|| sleep(Duration::from_millis(200))).unwrap();
    read.launch(&second).unwrap();
    write.launch(&first).unwrap();
    drop((write, read, host));
    assert_eq!(y.to_host_vec(&second).unwrap(), [1; N], "a write after a read");
}
