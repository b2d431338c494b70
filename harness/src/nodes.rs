//! What the parameters of graph nodes tell: the events that nodes record or await, created or changed by any function, and the memory that
//! they allocate.
//!
//! Relies on: the words are the arguments of a call whose contract holds; where a function says so, it has succeeded.
#![allow(unsafe_code)]

use crate::functions::{Function, Plain};
use crate::read;
use cuda_driver_sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS_v2, CUgraphNodeParams, CUgraphNodeType, CUresult,
    CUstreamCaptureStatus, Driver,
};
use std::mem::offset_of;
use std::ptr::with_exposed_provenance_mut;

/// How a node affects the order of work outside of its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// It records this event, whenever its graph is launched.
    Records(u64),
    /// It waits for something outside of its graph.
    Waits,
}

impl Node {
    /// The node that a call created or changed.
    ///
    /// # Safety
    ///
    /// 1. `words` are the arguments of a successful call of that function.
    pub(crate) unsafe fn of(function: &Function, words: &[u64]) -> Option<Node> {
        let last = words.last().copied();
        match function.name {
            "cuGraphAddEventRecordNode"
            | "cuGraphExecEventRecordNodeSetEvent"
            | "cuGraphEventRecordNodeSetEvent" => last.map(Node::Records),
            "cuGraphAddEventWaitNode"
            | "cuGraphEventWaitNodeSetEvent"
            | "cuGraphExecEventWaitNodeSetEvent"
            | "cuGraphAddExternalSemaphoresWaitNode"
            | "cuGraphAddBatchMemOpNode"
            | "cuGraphAddHostNode" => Some(Node::Waits),
            "cuGraphAddNode_v1"
            | "cuGraphAddNode_v2"
            | "cuGraphAddNode_v3"
            | "cuGraphNodeSetParams"
            | "cuGraphNodeSetParams_v2"
            | "cuGraphExecNodeSetParams" => {
                // SAFETY: 1: the last argument of all of these is the address of a node's parameters, which the driver has read: duty 1.
                unsafe { Node::in_parameters(last?) }
            }
            _ => None,
        }
    }

    /// # Safety
    ///
    /// 1. The address is that of the parameters of a node that was created or changed.
    unsafe fn in_parameters(parameters: u64) -> Option<Node> {
        // SAFETY: 1: parameters of every kind begin with their type, which is set: duty 1.
        let kind = CUgraphNodeType(unsafe { read::value(parameters, Plain::Unsigned(4)) } as u32);
        match kind {
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD => {
                let event = parameters + offset_of!(CUgraphNodeParams, __bindgen_anon_1) as u64;
                // SAFETY: 1: the type, checked above, determines the member of the union that is set; it begins with the event:
                // duty 1.
                Some(Node::Records(unsafe { read::value(event, Plain::Host) }))
            }
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT
            | CUgraphNodeType::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT
            | CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP
            | CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST => Some(Node::Waits),
            _ => None,
        }
    }
}

/// Address and size of the memory of an allocation node that a call created or asked about. The driver writes the address to the
/// parameters; it may be one that was freed.
///
/// # Safety
///
/// 1. `words` are the arguments of a successful call of that function.
pub(crate) unsafe fn memory(function: &Function, words: &[u64]) -> Option<(u64, u64)> {
    let parameters = words.last().copied()?;
    let at = |offset: usize| parameters + offset as u64;
    let (address, bytes) = match function.name {
        "cuGraphAddMemAllocNode" | "cuGraphMemAllocNodeGetParams" => (
            at(offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS, dptr)),
            at(offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize)),
        ),
        "cuGraphAddNode_v1" | "cuGraphAddNode_v2" | "cuGraphAddNode_v3" | "cuGraphNodeGetParams" => {
            // SAFETY: 1: the last argument of all of these is the address of a node's parameters, which begin with their type: the driver
            // has read or written it, by duty 1.
            let kind = CUgraphNodeType(unsafe { read::value(parameters, Plain::Unsigned(4)) } as u32);
            if kind != CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC {
                return None;
            }
            let own = |offset| at(offset_of!(CUgraphNodeParams, __bindgen_anon_1) + offset);
            (
                own(offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS_v2, dptr)),
                own(offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS_v2, bytesize)),
            )
        }
        _ => return None,
    };
    // SAFETY: 1, 1: the function, or the type, says which structure is there; the driver has written the address, and has read or written
    // the size: duty 1.
    unsafe { Some((read::value(address, Plain::Memory), read::value(bytes, Plain::Unsigned(8)))) }
}

/// Whether a call adds a node to a capture that allocates or frees memory; `may_capture` is asked first, of calls that could.
///
/// # Safety
///
/// 1. `words` are the arguments of a call of that function of that driver, which is in progress.
pub(crate) unsafe fn captures_memory(
    driver: &Driver,
    function: &Function,
    words: &[u64],
    may_capture: impl FnOnce() -> bool,
) -> bool {
    let is_of_memory =
        matches!(function.name, "cuMemAllocAsync" | "cuMemAllocFromPoolAsync" | "cuMemFreeAsync");
    let stream = function.stream.filter(|_| is_of_memory && may_capture()).and_then(|at| words.get(at));
    let Some(stream) = stream else { return false };
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is the call's, which keeps it live, by duty 1; the output is a local, which outlives the call.
    let answer =
        unsafe { driver.cuStreamIsCapturing(with_exposed_provenance_mut(*stream as usize), &mut status) };
    answer == CUresult::SUCCESS && status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE
}
