//! What a graph knows of its nodes: kinds, names in messages, and what they use.

#![allow(unsafe_code)] // A kernel node; a borrowed graph.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod graph_support;

use cuda_launch::error::GraphError;
use cuda_launch::graph::{Branches, CopyNode, GraphNode, HostMemory, InstantiateFlags, MemsetNode, NodeKind};
use cuda_launch::{CaptureMode, CudaGraph, ErrorKind};
use graph_support::{Gpu, N};
use std::sync::Arc;

/// A graph with a node of each kind that can be added, with their kinds and words.
fn all(gpu: &Gpu) -> (CudaGraph, Vec<(GraphNode, NodeKind, &'static str)>) {
    let (mut x, mut y) = (gpu.put(&[1.0; N]), gpu.put(&[0.0; N]));
    let (mut graph, mut inner) = (gpu.graph(), gpu.graph());
    inner.add_empty(&[]).unwrap();
    let event = Arc::new(gpu.ctx.new_event().unwrap());
    let kernel = unsafe { graph.add_kernel(&[], gpu.scale(3.0, &x, &mut y)) }.unwrap();
    let copy = graph.add_copy(&[kernel], CopyNode::device_to_device(&y, &mut x).unwrap()).unwrap();
    let memset = graph.add_memset(&[copy], MemsetNode::new(&mut x, 0.0).unwrap()).unwrap();
    let host = graph.add_host(&[], || ()).unwrap();
    let child = graph.add_child(&[], &inner).unwrap();
    let empty = graph.add_empty(&[]).unwrap();
    let wait = graph.add_event_wait(&[], &event).unwrap();
    let record = graph.add_event_record(&[], &event).unwrap();
    let memory = graph.add_alloc::<u32>(&[], N).unwrap();
    let free = graph.add_free(&[memory.node()], &memory).unwrap();
    let value = graph.add_condition(Some(0)).unwrap();
    let (conditional, _) = graph.add_conditional(&[], value, Branches::If).unwrap();
    let nodes = vec![
        (kernel, NodeKind::Kernel, "kernel"),
        (copy, NodeKind::Memcpy, "memcpy"),
        (memset, NodeKind::Memset, "memset"),
        (host, NodeKind::Host, "host"),
        (child, NodeKind::Child, "child graph"),
        (empty, NodeKind::Empty, "empty"),
        (wait, NodeKind::EventWait, "event wait"),
        (record, NodeKind::EventRecord, "event record"),
        (memory.node(), NodeKind::MemAlloc, "memory allocation"),
        (free, NodeKind::MemFree, "memory free"),
        (conditional, NodeKind::Conditional, "conditional"),
    ];
    (graph, nodes)
}

#[test]
fn kinds_are_those_of_the_driver() {
    let gpu = Gpu::new();
    let (graph, nodes) = all(&gpu);
    let borrowed = unsafe { CudaGraph::from_raw(&gpu.ctx, graph.raw()) }.unwrap();
    let found = borrowed.nodes();
    assert_eq!(found.len(), nodes.len());
    for (node, kind, _) in nodes {
        assert_eq!(graph.kind(node).unwrap(), kind);
        let raw = graph.raw_node(node).unwrap();
        let same = found.iter().find(|found| borrowed.raw_node(**found).unwrap() == raw).unwrap();
        assert_eq!(borrowed.kind(*same).unwrap(), kind);
    }
}

#[test]
fn messages_name_the_node_and_what_it_is() {
    let gpu = Gpu::new();
    let (graph, nodes) = all(&gpu);
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    for (node, kind, word) in nodes {
        let refused = match kind {
            NodeKind::Host => exec.set_memset(node, MemsetNode::new(&mut gpu.put(&[0.0; N]), 1.0).unwrap()),
            _ => exec.set_host(node, || ()),
        };
        let error = refused.unwrap_err();
        let ErrorKind::Graph(GraphError::WrongKind { node: label, wanted, .. }) = error.kind() else {
            panic!("{error}")
        };
        let name = if kind == NodeKind::Kernel { "kernel scale" } else { word };
        assert_eq!(*label, format!("node {} ({name})", node.index()));
        assert_eq!(*wanted, if kind == NodeKind::Host { "memset" } else { "host" });
    }
}

/// What a graph reads first and writes later it writes.
#[test]
fn a_graph_inside_another_writes_what_any_of_its_nodes_writes() {
    let gpu = Gpu::new();
    for order in [[true, false], [false, true], [true, true]] {
        let (mut x, mut y) = (gpu.put(&[1.0; N]), gpu.put(&[0.0; N]));
        let mut inner = gpu.graph();
        for writes in order {
            let last = inner.nodes().last().copied();
            let after = last.as_slice();
            match writes {
                true => inner.add_memset(after, MemsetNode::new(&mut x, 2.0).unwrap()),
                false => inner.add_copy(after, CopyNode::device_to_device(&x, &mut y).unwrap()),
            }
            .unwrap();
        }
        let mut graph = gpu.graph();
        graph.add_child(&[], &inner).unwrap();
        let mut read = gpu.put(&[0.0; N]);
        let record = |stream: &_| read.view_mut().copy_from_device(stream, &x);
        graph.capture_into(&[], CaptureMode::ThreadLocal, record).unwrap();
        graph.instantiate(InstantiateFlags::empty()).unwrap();
        assert_eq!(graph.dependencies().unwrap().len(), 1, "{order:?}");
    }
}

#[test]
fn host_memory_has_a_length_and_elements() {
    let memory = HostMemory::new(vec![1u32, 2, 3]);
    assert_eq!((memory.len(), memory.is_empty()), (3, false));
    // No graph uses it, and nobody else has it.
    unsafe { memory.write(&[7, 8]) };
    assert_eq!(unsafe { memory.to_vec() }, [7, 8, 3], "the rest stays");
    assert!(HostMemory::<u32>::new(Vec::new()).is_empty());
}

#[test]
fn sides_of_different_lengths_are_refused() {
    let gpu = Gpu::new();
    let (mut x, host) = (gpu.put(&[1.0; N]), HostMemory::new(vec![0f32; N + 1]));
    let refused = [
        CopyNode::host_to_device(&host, &mut x).unwrap_err(),
        CopyNode::device_to_host(&x, &host).unwrap_err(),
        CopyNode::device_to_device(&gpu.put(&[1.0; N - 1]), &mut x).unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error.kind(), ErrorKind::Length(_)), "{error}");
    }
}
