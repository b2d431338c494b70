//! Event nodes: recording an event and waiting for one, as streams do it.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays: C1 in `entry`.

use cuda_driver_sys::*;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::event::Signal;

entries! {
    cuGraphAddEventRecordNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, event: CUevent) = add_record;
    cuGraphAddEventWaitNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, event: CUevent) = add_wait;
    cuGraphEventRecordNodeGetEvent(node: CUgraphNode, event: *mut CUevent) = get_record;
    cuGraphEventWaitNodeGetEvent(node: CUgraphNode, event: *mut CUevent) = get_wait;
    cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) = set_record;
    cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) = set_wait;
}

fn add_record(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    event: CUevent,
) -> Outcome {
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, |call| Ok(Work::Record(Signal::new(call, event)?))) }
}

fn add_wait(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    event: CUevent,
) -> Outcome {
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, |call| Ok(Work::Wait(Signal::new(call, event)?))) }
}

fn get_record(call: &Call, node: CUgraphNode, event: Out<CUevent>) -> Outcome {
    let place = event.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Record(signal)) = operation else { return Err(INVALID_VALUE) };
        place.set(to_c(signal.handle));
        Ok(())
    })
}

fn get_wait(call: &Call, node: CUgraphNode, event: Out<CUevent>) -> Outcome {
    let place = event.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Wait(signal)) = operation else { return Err(INVALID_VALUE) };
        place.set(to_c(signal.handle));
        Ok(())
    })
}

fn set_record(call: &Call, node: CUgraphNode, event: CUevent) -> Outcome {
    call.node(node)?.change(|operation| operation.set_record(Signal::new(call, event)?))
}

fn set_wait(call: &Call, node: CUgraphNode, event: CUevent) -> Outcome {
    call.node(node)?.change(|operation| operation.set_wait(Signal::new(call, event)?))
}

impl Operation {
    /// Sets the event of a node that records one.
    pub(super) fn set_record(&mut self, new: Signal) -> Outcome {
        let Operation::Work(Work::Record(signal)) = self else { return Err(INVALID_VALUE) };
        *signal = new;
        Ok(())
    }

    /// Sets the event of a node that waits for one.
    pub(super) fn set_wait(&mut self, new: Signal) -> Outcome {
        let Operation::Work(Work::Wait(signal)) = self else { return Err(INVALID_VALUE) };
        *signal = new;
        Ok(())
    }
}
