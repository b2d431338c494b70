//! Edges: the dependencies between nodes.
//!
//! Relies on the caller for the lengths of arrays: C1 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;

use super::list::list;
use super::operation::Operation;
use super::{Contents, Place};
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::state::Call;
use crate::driver::work::recorder::Edge;

entries! {
    cuGraphAddDependencies_v2(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, data: *const CUgraphEdgeData, count: usize) = add;
    cuGraphRemoveDependencies_v2(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, data: *const CUgraphEdgeData, count: usize) = remove;
    cuGraphGetEdges_v2(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, data: *mut CUgraphEdgeData, count: *mut usize) = get_edges;
    cuGraphNodeGetDependencies_v2(node: CUgraphNode, nodes: *mut CUgraphNode, data: *mut CUgraphEdgeData, count: *mut usize) = get_dependencies;
    cuGraphNodeGetDependentNodes_v2(node: CUgraphNode, nodes: *mut CUgraphNode, data: *mut CUgraphEdgeData, count: *mut usize) = get_dependents;
    cuGraphAddDependencies_v1(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, count: usize) = add_ordinary;
    cuGraphRemoveDependencies_v1(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, count: usize) = remove_ordinary;
    cuGraphGetEdges_v1(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, count: *mut usize) = get_ordinary_edges;
    cuGraphNodeGetDependencies_v1(node: CUgraphNode, nodes: *mut CUgraphNode, count: *mut usize) = get_ordinary_dependencies;
    cuGraphNodeGetDependentNodes_v1(node: CUgraphNode, nodes: *mut CUgraphNode, count: *mut usize) = get_ordinary_dependents;
}

/// The default data of an edge: the whole first node runs before the whole second one.
pub(super) const ORDINARY: CUgraphEdgeData =
    CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };

/// Whether an edge is more than an ordinary one.
pub(super) fn is_annotated(data: &CUgraphEdgeData) -> bool {
    data.from_port != 0 || data.to_port != 0 || data.type_ != 0
}

/// The dependencies of a new node.
///
/// # Safety
///
/// 1. The arrays have `count` elements, or are null.
pub(super) unsafe fn read(
    nodes: &In<'_, CUgraphNode>,
    data: &In<'_, CUgraphEdgeData>,
    count: usize,
) -> Outcome<Vec<Edge>> {
    // SAFETY: 1: null or `count` elements: the caller's duty 1.
    let nodes = unsafe { nodes.read_array(count)? };
    // SAFETY: 1: not null, so `count` elements: the caller's duty 1.
    let data = if data.is_null() { vec![ORDINARY; count] } else { unsafe { data.read_array(count)? } };
    Ok(nodes.iter().zip(data).map(|(node, data)| Edge { from: node.addr(), data }).collect())
}

impl Contents {
    /// Refuses nodes of other graphs, one node twice, and ports that the nodes do not have. `to` is what comes after.
    pub(super) fn check_edges(&self, edges: &[Edge], to: &Operation) -> Outcome {
        for (index, edge) in edges.iter().enumerate() {
            let from = self.nodes.get(&edge.from).ok_or(INVALID_VALUE)?;
            let twice = edges.iter().take(index).any(|other| other.from == edge.from);
            if twice || !is_possible(&edge.data, &from.operation, to) {
                return Err(INVALID_VALUE);
            }
        }
        Ok(())
    }
}

impl Contents {
    /// Nothing can be removed from a graph that allocates or frees memory.
    pub(super) fn check_memory(&self) -> Outcome {
        let memory = self.nodes.values().any(|node| node.operation.is_memory());
        if memory { Err(INVALID_VALUE) } else { Ok(()) }
    }
}

/// Whether nodes of those kinds have such an edge: only kernels have ports, and only between kernels is an edge
/// programmatic.
fn is_possible(data: &CUgraphEdgeData, from: &Operation, to: &Operation) -> bool {
    let kernel = Operation::is_kernel;
    let ports = match data.from_port {
        0 => true,
        port => port <= 2 && kernel(from),
    };
    let kind = match data.type_ {
        0 => true,
        kind => kind == 1 && data.from_port != 0 && kernel(from) && kernel(to),
    };
    ports && kind && data.to_port == 0 && data.reserved == [0; 5]
}

/// Driver 580 checks for cycles when a graph is instantiated, not here.
fn add(
    call: &Call,
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
) -> Outcome {
    let graph = call.graph(graph)?;
    // SAFETY: 1 of both: the three arrays and `count` are the caller's, so by C1 each is null or has `count` elements.
    let (from, to) = unsafe { (read(&from, &data, count)?, to.read_array(count)?) };
    let mut contents = graph.contents();
    let pairs = || from.iter().zip(&to).map(|(edge, to)| (*edge, to.addr()));
    for (index, (edge, to)) in pairs().enumerate() {
        let target = contents.nodes.get(&to).ok_or(INVALID_VALUE)?;
        contents.check_edges(&[edge], &target.operation)?;
        let known = target.after.iter().any(|other| other.from == edge.from);
        let twice = pairs().take(index).any(|other| (other.0.from, other.1) == (edge.from, to));
        if edge.from == to || known || twice {
            return Err(INVALID_VALUE);
        }
    }
    for (edge, to) in pairs() {
        contents.nodes.get_mut(&to).ok_or(INVALID_VALUE)?.after.push(edge);
    }
    Ok(())
}

fn remove(
    call: &Call,
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
) -> Outcome {
    let graph = call.graph(graph)?;
    // SAFETY: 1 of both: the three arrays and `count` are the caller's, so by C1 each is null or has `count` elements.
    let (from, to) = unsafe { (read(&from, &data, count)?, to.read_array(count)?) };
    let mut contents = graph.contents();
    contents.check_memory()?;
    let same = |one: &Edge, other: &Edge| {
        let ports = |edge: &Edge| (edge.from, edge.data.from_port, edge.data.to_port, edge.data.type_);
        ports(one) == ports(other)
    };
    for (edge, to) in from.iter().zip(&to) {
        let target = contents.nodes.get(&to.addr()).ok_or(INVALID_VALUE)?;
        target.after.iter().find(|known| same(known, edge)).ok_or(INVALID_VALUE)?;
    }
    for (edge, to) in from.iter().zip(&to) {
        contents.nodes.get_mut(&to.addr()).ok_or(INVALID_VALUE)?.after.retain(|known| !same(known, edge));
    }
    Ok(())
}

fn get_edges(
    call: &Call,
    graph: CUgraph,
    from: Out<CUgraphNode>,
    to: Out<CUgraphNode>,
    data: Out<CUgraphEdgeData>,
    count: Out<usize>,
) -> Outcome {
    let graph = call.graph(graph)?;
    let contents = graph.contents();
    let edges = contents.nodes.iter().flat_map(|(to, node)| node.after.iter().map(|edge| (*edge, *to)));
    let edges: Vec<(Edge, usize)> = edges.collect();
    if from.is_null() != to.is_null() {
        return Err(INVALID_VALUE);
    }
    let room = count.get().ok_or(INVALID_VALUE)?;
    let sources: Vec<Edge> = edges.iter().map(|(edge, _)| *edge).collect();
    annotated(&from, &data, &count, &sources)?;
    if !to.is_null() {
        let targets: Vec<_> = edges.iter().map(|(_, to)| to_c(*to)).collect();
        count.set(room);
        list(&to, &count, &targets)?;
    }
    Ok(())
}

/// Returns the nodes that the edges name, and the data of the edges. It is an error if edges have non-default data and
/// the caller does not ask for it.
fn annotated(
    nodes: &Out<CUgraphNode>,
    data: &Out<CUgraphEdgeData>,
    count: &Out<usize>,
    edges: &[Edge],
) -> Outcome {
    let room = count.get().ok_or(INVALID_VALUE)?;
    if !nodes.is_null() {
        let known: Vec<_> = edges.iter().take(room).map(|edge| edge.data).collect();
        if data.is_null() && known.iter().any(is_annotated) {
            return Err(CUresult::CUDA_ERROR_LOSSY_QUERY);
        }
        if !data.is_null() {
            // SAFETY: 1: it is not null, so by C1 it has `room` elements, the number in `count`, and `take` limits these to that.
            unsafe { data.write_array(&known) };
        }
    } else if !data.is_null() {
        return Err(INVALID_VALUE);
    }
    let handles: Vec<_> = edges.iter().map(|edge| to_c(edge.from)).collect();
    list(nodes, count, &handles)
}

fn get_dependencies(
    call: &Call,
    node: CUgraphNode,
    nodes: Out<CUgraphNode>,
    data: Out<CUgraphEdgeData>,
    count: Out<usize>,
) -> Outcome {
    let Place { graph, node } = call.node(node)?;
    let contents = graph.contents();
    let edges = &contents.nodes.get(&node).ok_or(INVALID_VALUE)?.after;
    annotated(&nodes, &data, &count, edges)
}

fn get_dependents(
    call: &Call,
    node: CUgraphNode,
    nodes: Out<CUgraphNode>,
    data: Out<CUgraphEdgeData>,
    count: Out<usize>,
) -> Outcome {
    let Place { graph, node } = call.node(node)?;
    let contents = graph.contents();
    let dependents = contents.nodes.iter().filter_map(|(to, other)| {
        let edge = other.after.iter().find(|edge| edge.from == node)?;
        Some(Edge { from: *to, data: edge.data })
    });
    annotated(&nodes, &data, &count, &dependents.collect::<Vec<_>>())
}

// Before CUDA 12.3 edges had no data.

fn add_ordinary(
    call: &Call,
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    count: usize,
) -> Outcome {
    add(call, graph, from, to, In::none(), count)
}

fn remove_ordinary(
    call: &Call,
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    count: usize,
) -> Outcome {
    remove(call, graph, from, to, In::none(), count)
}

fn get_ordinary_edges(
    call: &Call,
    graph: CUgraph,
    from: Out<CUgraphNode>,
    to: Out<CUgraphNode>,
    count: Out<usize>,
) -> Outcome {
    get_edges(call, graph, from, to, Out::none(), count)
}

fn get_ordinary_dependencies(
    call: &Call,
    node: CUgraphNode,
    nodes: Out<CUgraphNode>,
    count: Out<usize>,
) -> Outcome {
    get_dependencies(call, node, nodes, Out::none(), count)
}

fn get_ordinary_dependents(
    call: &Call,
    node: CUgraphNode,
    nodes: Out<CUgraphNode>,
    count: Out<usize>,
) -> Outcome {
    get_dependents(call, node, nodes, Out::none(), count)
}
