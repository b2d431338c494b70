//! Making and taking down graphs, and what is in them.

use cuda_driver_sys::*;
use std::ffi::c_uint;
use std::sync::atomic::Ordering;

use super::Graph;
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
    let state = call.healthy()?;
    let place = graph.required()?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    place.set(to_c(Graph::create(state).handle));
    Ok(())
}

/// Executable graphs made of it live on.
fn destroy(call: &Call, graph: CUgraph) -> Outcome {
    let graph = call.graph(graph)?;
    let state = call.state()?;
    if graph.embedded.load(Ordering::Acquire) || state.captures.are_into(&graph) {
        return Err(INVALID_VALUE);
    }
    graph.discard(state);
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

/// Answers with a list as all these functions do: for a null array with its length; else it fills the array of `count`
/// elements, with nulls behind the last one, and tells how many there are.
#[allow(unsafe_code, reason = "the size of an array is the caller's word")]
pub(super) fn list<T: Copy>(array: &Out<*mut T>, count: &Out<usize>, all: &[*mut T]) -> Outcome {
    let room = count.get().ok_or(INVALID_VALUE)?;
    if array.is_null() {
        count.set(all.len());
        return Ok(());
    }
    let filled: Vec<*mut T> =
        all.iter().copied().chain(std::iter::repeat(std::ptr::null_mut())).take(room).collect();
    // SAFETY: the array has `room` elements.
    unsafe { array.write_array(&filled) };
    count.set(all.len().min(room));
    Ok(())
}
