//! Launches of graphs by kernels.

use super::exec::lanes::Lanes;
use super::fault::FaultKind;

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
