//! Clones, and graphs in nodes of other graphs.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays: C1 in `entry`.

use cuda_driver_sys::*;

use super::Graph;
use super::nodes::insert;
use super::operation::Operation;
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::state::Call;

entries! {
    cuGraphClone(clone: *mut CUgraph, graph: CUgraph) = clone;
    cuGraphNodeFindInClone(node: *mut CUgraphNode, original: CUgraphNode, clone: CUgraph) = find_in_clone;
    cuGraphAddChildGraphNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, child: CUgraph) = add;
    cuGraphChildGraphNodeGetGraph(node: CUgraphNode, graph: *mut CUgraph) = get_graph;
}

impl Graph {
    /// Whether it has nodes that only one graph may have: those that allocate, free or decide.
    pub(super) fn is_unique(&self) -> bool {
        let contents = self.contents();
        contents.nodes.values().any(|node| {
            node.operation.is_unique() || node.operation.graphs().iter().any(|graph| graph.is_unique())
        })
    }
}

/// Whether kernels change a node of the graph, or of one in its nodes.
fn is_updatable(graph: &Graph) -> bool {
    let contents = graph.contents();
    contents.nodes.values().any(|node| {
        node.operation.updatable().is_some()
            || node.operation.graphs().iter().any(|graph| is_updatable(graph))
    })
}

fn clone(call: &Call, clone: Out<CUgraph>, graph: CUgraph) -> Outcome {
    let place = clone.required()?;
    let graph = call.graph(graph)?;
    if graph.is_unique() {
        return Err(INVALID_VALUE);
    }
    if is_updatable(&graph) {
        return Err(NOT_SUPPORTED);
    }
    place.set(to_c(graph.duplicate(0).handle));
    Ok(())
}

fn find_in_clone(call: &Call, node: Out<CUgraphNode>, original: CUgraphNode, clone: CUgraph) -> Outcome {
    let place = node.required()?;
    let clone = call.graph(clone)?;
    let contents = clone.contents();
    let found = contents.clones.get(&original.addr()).filter(|node| contents.nodes.contains_key(node));
    place.set(to_c(*found.ok_or(INVALID_VALUE)?));
    Ok(())
}

/// The node has a clone of the graph, of which nodes that kernels change keep their handles.
pub(super) fn read(call: &Call, parent: CUgraph, child: CUgraph) -> Outcome<Operation> {
    let graph = call.graph(child)?;
    if parent == child || graph.is_unique() {
        return Err(INVALID_VALUE);
    }
    let level = call.graph(parent)?.level_below(graph.depth())?;
    Ok(Operation::Child(graph.duplicate(level)))
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    child: CUgraph,
) -> Outcome {
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, |call| read(call, graph, child)) }
}

fn get_graph(call: &Call, node: CUgraphNode, graph: Out<CUgraph>) -> Outcome {
    let place = graph.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Child(child) = operation else { return Err(INVALID_VALUE) };
        place.set(to_c(child.handle));
        Ok(())
    })
}
