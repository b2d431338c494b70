//! What all kinds of nodes have in common: adding, querying, removing.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays: C1 in `entry`.

use cuda_driver_sys::*;

use super::edges::ORDINARY;
use super::operation::Operation;
use super::{NODES, Place};
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::recorder::Edge;

entries! {
    cuGraphAddEmptyNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize) = add_empty;
    cuGraphDestroyNode(node: CUgraphNode) = destroy;
    cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType) = get_type;
}

/// Adds a node that does what `make` makes of the call, after `count` others.
///
/// # Safety
///
/// 1. `after` has `count` elements, or is null.
pub(super) unsafe fn insert<O: Into<Operation>>(
    call: &Call,
    node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    after: In<'_, CUgraphNode>,
    count: usize,
    make: impl FnOnce(&Call) -> Outcome<O>,
) -> Outcome {
    // SAFETY: 1: null or `count` elements: the caller's duty 1.
    let nodes = unsafe { after.read_array(count)? };
    let after = nodes.iter().map(|node| Edge { from: node.addr(), data: ORDINARY }).collect();
    insert_after(call, node, graph, after, make)
}

/// Adds a node behind those edges.
pub(super) fn insert_after<O: Into<Operation>>(
    call: &Call,
    node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    after: Vec<Edge>,
    make: impl FnOnce(&Call) -> Outcome<O>,
) -> Outcome {
    let place = node.required()?;
    let graph = call.graph(graph)?;
    let operation = make(call)?.into();
    let contents = graph.contents();
    if let Err(refused) = contents.check_edges(&after, &operation) {
        if let Operation::Conditional(conditional) = &operation {
            conditional.release();
        }
        drop(contents);
        operation.graphs().iter().for_each(|graph| graph.discard());
        return Err(refused);
    }
    drop(contents);
    place.set(to_c(graph.add(operation, after)));
    Ok(())
}

fn add_empty(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
) -> Outcome {
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, |_| Ok(Work::Empty)) }
}

/// The edges of the node go with it.
fn destroy(call: &Call, node: CUgraphNode) -> Outcome {
    let Place { graph, node } = call.node(node)?;
    let mut contents = graph.contents();
    contents.check_memory()?;
    if contents.operation(node)?.updatable().is_some() {
        return Err(NOT_SUPPORTED);
    }
    let gone = contents.nodes.remove(&node).ok_or(INVALID_VALUE)?;
    for other in contents.nodes.values_mut() {
        other.after.retain(|edge| edge.from != node);
    }
    drop(contents);
    NODES.remove(node);
    gone.operation.graphs().iter().for_each(|graph| graph.discard());
    Ok(())
}

fn get_type(call: &Call, node: CUgraphNode, kind: Out<CUgraphNodeType>) -> Outcome {
    let place = kind.required()?;
    call.node(node)?.look(|operation| {
        place.set(operation.kind());
        Ok(())
    })
}
