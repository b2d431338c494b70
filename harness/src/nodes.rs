//! Events in graphs: the nodes that record or await them, created or changed by any function.
//!
//! Relies on: the words are the arguments of a successful call whose contract holds.
#![allow(unsafe_code)]

use crate::functions::{Function, Plain};
use crate::read;
use cuda_driver_sys::{CUgraphNodeParams, CUgraphNodeType};
use std::mem::offset_of;

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
