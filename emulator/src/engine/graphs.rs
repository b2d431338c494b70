//! Launches of graphs by kernels, and changes of their nodes.

use super::exec::lanes::Lanes;
use super::exec::memory::fetch;
use super::fault::FaultKind;
use super::launch::NodeUpdate;

/// Launches a graph for a lane. A code of `cudaError_t`; `None` after a fault.
pub(super) fn launch(lanes: &mut Lanes<'_>, lane: usize, exec: u64, stream: u64) -> Option<u32> {
    let launched = match lanes.env.ends.graphs {
        Some(graphs) => graphs.launch(exec, stream),
        None => Err(format!("a launch of graph 0x{exec:x} by a kernel that is no node of a graph itself")),
    };
    launched
        .inspect_err(|message| {
            lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(exec), message.clone())
        })
        .ok()
}

/// More bytes than any kernel has parameters.
const MOST_BYTES: u64 = 1 << 16;
/// `cudaErrorInvalidValue`
const INVALID_VALUE: u32 = 1;

/// Changes a node for a lane: its grid (1), parameters from an address, an offset and a size (2), or whether it runs (3). A code of
/// `cudaError_t`; `None` after a fault.
pub(super) fn update(
    lanes: &mut Lanes<'_>,
    lane: usize,
    node: u64,
    field: u32,
    values: [u64; 3],
) -> Option<u32> {
    let [a, b, c] = values;
    let update = match field {
        1 => NodeUpdate::Grid(values.map(|extent| extent as u32)),
        2 if c > MOST_BYTES => return Some(INVALID_VALUE),
        2 => {
            let bytes = fetch(lanes, lane, a, c as usize, false);
            if bytes.len() < c as usize {
                return None;
            }
            NodeUpdate::Parameters { offset: b, bytes }
        }
        3 => NodeUpdate::Enabled(a != 0),
        _ => return Some(INVALID_VALUE),
    };
    let nodes = lanes.env.ends.nodes?;
    nodes
        .update(node, update)
        .inspect_err(|message| {
            lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(node), message.clone())
        })
        .ok()
}
