//! Creating and destroying graphs, and their contents.

use cuda_driver_sys::*;
use std::ffi::c_uint;
use std::sync::Weak;

use super::Graph;
use super::capture::are_into;
use super::list::list;
use crate::driver::entry::{INVALID_VALUE, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::state::Call;

entries! {
    cuGraphCreate(graph: *mut CUgraph, flags: c_uint) = create;
    cuGraphDestroy(graph: CUgraph) = destroy;
    cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) = get_nodes;
    cuGraphGetRootNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) = get_roots;
}

fn create(call: &Call, graph: Out<CUgraph>, flags: c_uint) -> Outcome {
    call.healthy()?;
    let place = graph.required()?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    place.set(to_c(Graph::create(0, Weak::new()).handle));
    Ok(())
}

/// Executable graphs made of it live on.
fn destroy(call: &Call, graph: CUgraph) -> Outcome {
    let graph = call.graph(graph)?;
    if graph.level > 0 || are_into(&graph) {
        return Err(INVALID_VALUE);
    }
    graph.discard();
    Ok(())
}

fn get_nodes(call: &Call, graph: CUgraph, nodes: Out<CUgraphNode>, count: Out<usize>) -> Outcome {
    let graph = call.graph(graph)?;
    let all: Vec<_> = graph.contents().nodes.keys().map(|handle| to_c(*handle)).collect();
    list(&nodes, &count, &all)
}

fn get_roots(call: &Call, graph: CUgraph, nodes: Out<CUgraphNode>, count: Out<usize>) -> Outcome {
    let graph = call.graph(graph)?;
    let contents = graph.contents();
    let roots = contents.nodes.iter().filter(|(_, node)| node.after.is_empty());
    let roots: Vec<_> = roots.map(|(handle, _)| to_c(*handle)).collect();
    list(&nodes, &count, &roots)
}
