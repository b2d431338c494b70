//! Launches of graphs by kernels.

use super::exec::lanes::Lanes;
use super::fault::FaultKind;

/// `cudaErrorNotSupported`
const NOT_SUPPORTED: u32 = 801;

/// Launches a graph for a lane. A code of `cudaError_t`; `None` after a fault.
pub(super) fn launch(lanes: &mut Lanes<'_>, lane: usize, exec: u64, stream: u64) -> Option<u32> {
    // A driver refuses to launch such a kernel other than in a graph.
    let Some(graphs) = lanes.env.graphs else { return Some(NOT_SUPPORTED) };
    match graphs.launch(exec, stream) {
        Ok(code) => Some(code),
        Err(message) => {
            lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(exec), message);
            None
        }
    }
}
