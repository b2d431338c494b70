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

/// A change in memory: a node, a field, and behind 16 bytes three numbers.
const CHANGE_BYTES: u64 = 40;

/// Why there is no change: a code of `cudaError_t`; `None` after a fault.
type Refused = Option<u32>;

/// Changes a node for a lane: its grid (1), parameters from an address, an offset and a size (2), or whether it runs (3); or does all changes of
/// a list, or none of them (4): the address of the list stands for the node. A code of `cudaError_t`; `None` after a fault.
pub(super) fn update(
    lanes: &mut Lanes<'_>,
    lane: usize,
    node: u64,
    field: u32,
    values: [u64; 3],
) -> Option<u32> {
    let updates = match field {
        4 => several(lanes, lane, node, values[0]),
        _ => one(lanes, lane, field, values).map(|update| vec![(node, update)]),
    };
    let updates = match updates {
        Ok(updates) => updates,
        Err(refused) => return refused,
    };
    let changed = match lanes.env.ends.nodes {
        Some(nodes) => nodes.update(updates),
        None => Err(format!("a change of node 0x{node:x} in a launch for which nobody changes nodes")),
    };
    changed
        .inspect_err(|message| {
            lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(node), message.clone())
        })
        .ok()
}

fn one(lanes: &mut Lanes<'_>, lane: usize, field: u32, values: [u64; 3]) -> Result<NodeUpdate, Refused> {
    let [a, b, c] = values;
    match field {
        1 => Ok(NodeUpdate::Grid(values.map(|extent| extent as u32))),
        2 if c > MOST_BYTES => Err(Some(INVALID_VALUE)),
        2 => Ok(NodeUpdate::Parameters { offset: b, bytes: bytes(lanes, lane, a, c)? }),
        3 => Ok(NodeUpdate::Enabled(a != 0)),
        _ => Err(Some(INVALID_VALUE)),
    }
}

/// So many changes at that address.
fn several(
    lanes: &mut Lanes<'_>,
    lane: usize,
    mut address: u64,
    count: u64,
) -> Result<Vec<(u64, NodeUpdate)>, Refused> {
    let mut updates = Vec::new();
    for _ in 0..count {
        let change = bytes(lanes, lane, address, CHANGE_BYTES)?;
        let words: Vec<u64> = change
            .chunks_exact(8)
            .map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
            .collect();
        let [node, field, a, b, c] = *words else { return Err(None) };
        let (field, low) = (field as u32, a & 0xffff_ffff);
        let values = match field {
            1 => [low, a >> 32, b & 0xffff_ffff],
            2 => [a, b, c],
            // A `bool` in a union, of which it is the first byte.
            _ => [a & 0xff, 0, 0],
        };
        updates.push((node, one(lanes, lane, field, values)?));
        address = address.wrapping_add(CHANGE_BYTES);
    }
    Ok(updates)
}

/// So many bytes at that address.
fn bytes(lanes: &mut Lanes<'_>, lane: usize, address: u64, count: u64) -> Result<Vec<u8>, Refused> {
    let bytes = fetch(lanes, lane, address, count as usize, false);
    if bytes.len() as u64 == count { Ok(bytes) } else { Err(None) }
}
