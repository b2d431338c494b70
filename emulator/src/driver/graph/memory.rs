//! Memory nodes: allocations that belong to a graph, at addresses that are known when the node is created.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays and the types of attribute values: C1 and C3 in `entry`.

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::sync::Arc;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, Untyped, entries};
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::graph_memory::{Counts, Footprint};
use crate::driver::work::memory::{Alloc, Block, Free, GRAPH_MEMORY};

entries! {
    cuGraphAddMemAllocNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS) = add_alloc;
    cuGraphMemAllocNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS) = get_alloc;
    cuGraphAddMemFreeNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, address: CUdeviceptr) = add_free;
    cuGraphMemFreeNodeGetParams(node: CUgraphNode, address: *mut CUdeviceptr) = get_free;
    cuDeviceGraphMemTrim(device: CUdevice) = trim;
    cuDeviceGetGraphMemAttribute(device: CUdevice, attribute: CUgraphMem_attribute, value: *mut c_void) = get_attribute;
    cuDeviceSetGraphMemAttribute(device: CUdevice, attribute: CUgraphMem_attribute, value: *mut c_void) = set_attribute;
}

/// Records the allocations and frees of a launch, in its order. Memory that is still allocated from the previous
/// launch is an error, unless the graph was instantiated to free it. The result must be held until the launch is done.
pub(super) fn launch(operations: &[&Operation], auto_free: bool) -> Outcome<Vec<Arc<Block>>> {
    let memory = &GRAPH_MEMORY;
    let own = |address: u64| {
        operations
            .iter()
            .any(|other| matches!(other, Operation::Work(Work::Alloc(alloc)) if alloc.address() == address))
    };
    for operation in operations {
        match operation {
            Operation::Work(Work::Alloc(alloc)) if memory.is_live(alloc.address()) && !auto_free => {
                return Err(INVALID_VALUE);
            }
            Operation::Work(Work::Free(Free::OfGraph(address)))
                if !own(*address) && !memory.is_live(*address) =>
            {
                return Err(INVALID_VALUE);
            }
            _ => {}
        }
    }
    let footprint = Arc::new(take(operations));
    let mut freed = Vec::new();
    for operation in operations {
        match operation {
            Operation::Work(Work::Alloc(alloc)) => memory.set_live(alloc, &footprint),
            Operation::Work(Work::Free(Free::OfGraph(address))) => freed.extend(memory.release(*address)),
            _ => {}
        }
    }
    Ok(freed)
}

/// Counts what a launch of these needs, as it begins or is uploaded before.
pub(super) fn take(operations: &[&Operation]) -> Footprint {
    let mut footprint = Footprint::default();
    let mut allocs = Vec::new();
    for operation in operations {
        match operation {
            Operation::Work(Work::Alloc(alloc)) => {
                footprint.allocate(alloc);
                allocs.push(alloc);
            }
            Operation::Work(Work::Free(Free::OfGraph(address))) => footprint.free(*address),
            _ => {}
        }
    }
    GRAPH_MEMORY.take(&footprint, &allocs);
    footprint
}

fn add_alloc(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: Out<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Outcome {
    let mut asked = parameters.get().ok_or(INVALID_VALUE)?;
    let made = |call: &Call| {
        let alloc = Alloc::read(call, &asked)?;
        asked.dptr = alloc.address();
        Ok(Work::Alloc(alloc))
    };
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, made)? };
    parameters.set(asked);
    Ok(())
}

fn get_alloc(call: &Call, node: CUgraphNode, parameters: Out<CUDA_MEM_ALLOC_NODE_PARAMS>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Alloc(alloc)) = operation else { return Err(INVALID_VALUE) };
        place.set(alloc.parameters());
        Ok(())
    })
}

fn add_free(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    address: CUdeviceptr,
) -> Outcome {
    let twice = |operation: &Operation| matches!(operation, Operation::Work(Work::Free(Free::OfGraph(other))) if *other == address);
    let own = |operation: &Operation| matches!(operation, Operation::Work(Work::Alloc(alloc)) if alloc.address() == address);
    let graph_of = call.graph(graph)?;
    let contents = graph_of.contents();
    // Once a graph was instantiated, its allocations are freed by others.
    let is_late = contents.exec.is_some() && contents.nodes.values().any(|node| own(&node.operation));
    if is_late || contents.nodes.values().any(|node| twice(&node.operation)) {
        return Err(INVALID_VALUE);
    }
    drop(contents);
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, |_| Ok(Work::Free(Free::of_graph(address)?))) }
}

fn get_free(call: &Call, node: CUgraphNode, address: Out<CUdeviceptr>) -> Outcome {
    let place = address.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Free(Free::OfGraph(address))) = operation else {
            return Err(INVALID_VALUE);
        };
        place.set(*address);
        Ok(())
    })
}

/// Allocated memory is kept.
fn trim(_: &Call, device: CUdevice) -> Outcome {
    checked(device)?;
    GRAPH_MEMORY.table().trim(device);
    Ok(())
}

/// All of them are a `cuuint64_t`.
fn get_attribute(_: &Call, device: CUdevice, attribute: CUgraphMem_attribute, value: Untyped) -> Outcome {
    use CUgraphMem_attribute as A;
    checked(device)?;
    let value = value.required()?;
    let (table, nothing) = (GRAPH_MEMORY.table(), Counts::default());
    let counts = table.counts.get(&device).unwrap_or(&nothing);
    let ([used, reserved], [used_high, reserved_high]) = (counts.current, counts.high);
    let answer = match attribute {
        A::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT => used,
        A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => used_high,
        A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => reserved,
        A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => reserved_high,
        _ => return Err(INVALID_VALUE),
    };
    // SAFETY: 1: `required` checked that it is not null; other attributes have returned, and these are a `cuuint64_t`, like
    // `answer`.
    unsafe { value.write(answer) };
    Ok(())
}

/// The highest values can be reset to what is used now; nothing else can be set.
fn set_attribute(_: &Call, device: CUdevice, attribute: CUgraphMem_attribute, value: Untyped) -> Outcome {
    use CUgraphMem_attribute as A;
    checked(device)?;
    let value = value.required()?;
    let which = match attribute {
        A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => 0,
        A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => 1,
        _ => return Err(INVALID_VALUE),
    };
    // SAFETY: 1: `required` checked that it is not null; other attributes have returned, and both of these are a `cuuint64_t`,
    // set by C2.
    if unsafe { value.read::<u64>() } != 0 {
        return Err(INVALID_VALUE);
    }
    let mut table = GRAPH_MEMORY.table();
    let counts = table.counts.entry(device).or_default();
    if let (Some(high), Some(now)) = (counts.high.get_mut(which), counts.current.get(which)) {
        *high = *now;
    }
    Ok(())
}
