//! Host nodes: functions of the program.
//!
//! Relies on the program for its functions: they can be called from any thread, as often as the graph is launched, with
//! the data given.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_void;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::state::{Call, enter_callback};

entries! {
    cuGraphAddHostNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_HOST_NODE_PARAMS) = add;
    cuGraphHostNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_HOST_NODE_PARAMS) = get_parameters;
    cuGraphHostNodeSetParams(node: CUgraphNode, parameters: *const CUDA_HOST_NODE_PARAMS) = set_parameters;
}

/// A function of the program and its data.
#[derive(Clone, Copy)]
pub(in crate::driver) struct HostCall {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: `CUhostFn` is called on a thread of the driver's, by its contract, so both are for other threads.
unsafe impl Send for HostCall {}
// SAFETY: a shared reference only gives copies, which may go to other threads as above.
unsafe impl Sync for HostCall {}

impl HostCall {
    pub(in crate::driver) fn new(function: CUhostFn, data: *mut c_void) -> Outcome<HostCall> {
        Ok(HostCall { function: function.ok_or(INVALID_VALUE)?, data })
    }

    /// Calls it, in the order of the stream with that handle.
    pub(super) fn run(&self, stream: usize) {
        // SAFETY: the program gave both to the node, for one call with this data whenever the node runs.
        enter_callback(stream, || unsafe { (self.function)(self.data) });
    }

    pub(super) fn read(parameters: &CUDA_HOST_NODE_PARAMS) -> Outcome<HostCall> {
        HostCall::new(parameters.fn_, parameters.userData)
    }

    pub(super) fn parameters(&self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(self.function), userData: self.data }
    }
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_HOST_NODE_PARAMS>,
) -> Outcome {
    let made = |_: &Call| Ok(Operation::Host(HostCall::read(&parameters.read()?)?));
    // SAFETY: by the function's contract there are `count` nodes.
    unsafe { insert(call, node, graph, after, count, made) }
}

fn get_parameters(call: &Call, node: CUgraphNode, parameters: Out<CUDA_HOST_NODE_PARAMS>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Host(host) = operation else { return Err(INVALID_VALUE) };
        place.set(host.parameters());
        Ok(())
    })
}

fn set_parameters(call: &Call, node: CUgraphNode, parameters: In<CUDA_HOST_NODE_PARAMS>) -> Outcome {
    let parameters = parameters.read()?;
    call.node(node)?.change(|operation| operation.set_host(&parameters))
}

impl Operation {
    /// Sets the function of a host node.
    pub(super) fn set_host(&mut self, parameters: &CUDA_HOST_NODE_PARAMS) -> Outcome {
        let Operation::Host(host) = self else { return Err(INVALID_VALUE) };
        *host = HostCall::read(parameters)?;
        Ok(())
    }
}
