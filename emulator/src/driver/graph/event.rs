//! Event nodes: recording an event and waiting for one, as streams do it.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays.

use cuda_driver_sys::*;
use std::collections::HashMap;
use std::sync::Arc;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::entry::{INVALID_HANDLE, INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::event::Event;
use crate::driver::handles::to_c;
use crate::driver::state::{Call, State};
use crate::driver::stream::Completion;

entries! {
    cuGraphAddEventRecordNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, event: CUevent) = add_record;
    cuGraphAddEventWaitNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, event: CUevent) = add_wait;
    cuGraphEventRecordNodeGetEvent(node: CUgraphNode, event: *mut CUevent) = get_record;
    cuGraphEventWaitNodeGetEvent(node: CUgraphNode, event: *mut CUevent) = get_wait;
    cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) = set_record;
    cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) = set_wait;
}

/// An event, kept.
#[derive(Clone)]
pub(in crate::driver) struct Signal {
    event: Arc<Event>,
    pub(super) handle: usize,
}

impl Signal {
    pub(in crate::driver) fn new(call: &Call, event: CUevent) -> Outcome<Signal> {
        Ok(Signal { event: call.event(event)?, handle: event.addr() })
    }

    /// Whether the event is still there.
    pub(super) fn check(&self, state: &State) -> Outcome {
        state.events.get(self.handle).map(|_| ()).ok_or(INVALID_HANDLE)
    }
}

/// The points in the order of one launch that its event nodes make and wait for, by node. What was not reached when
/// the launch is over is passed all the same, so that nobody waits for ever.
#[derive(Default)]
pub(super) struct Points(HashMap<usize, Point>);

enum Point {
    Made(Arc<Completion>),
    Awaited(Option<Arc<Completion>>),
}

impl Points {
    /// The event of a node stands for a new point from now on, or for what it stands for now.
    pub(super) fn set(&mut self, node: usize, operation: &Operation) {
        match operation {
            Operation::Record(signal) => {
                let point = Arc::new(Completion::default());
                signal.event.set(Arc::clone(&point));
                self.0.insert(node, Point::Made(point));
            }
            Operation::Wait(signal) => {
                self.0.insert(node, Point::Awaited(signal.event.recorded()));
            }
            _ => {}
        }
    }

    /// The turn of an event node has come.
    pub(super) fn reach(&self, node: usize) {
        match self.0.get(&node) {
            Some(Point::Made(point)) => point.complete(),
            Some(Point::Awaited(Some(point))) => point.wait(),
            _ => {}
        }
    }
}

impl Drop for Points {
    fn drop(&mut self) {
        for point in self.0.values() {
            if let Point::Made(point) = point {
                point.complete();
            }
        }
    }
}

fn add_record(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    event: CUevent,
) -> Outcome {
    // SAFETY: by the function's contract there are `count` nodes.
    unsafe {
        insert(call, node, graph, after, count, |call| Ok(Operation::Record(Signal::new(call, event)?)))
    }
}

fn add_wait(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    event: CUevent,
) -> Outcome {
    // SAFETY: by the function's contract there are `count` nodes.
    unsafe { insert(call, node, graph, after, count, |call| Ok(Operation::Wait(Signal::new(call, event)?))) }
}

fn get_record(call: &Call, node: CUgraphNode, event: Out<CUevent>) -> Outcome {
    let place = event.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Record(signal) = operation else { return Err(INVALID_VALUE) };
        place.set(to_c(signal.handle));
        Ok(())
    })
}

fn get_wait(call: &Call, node: CUgraphNode, event: Out<CUevent>) -> Outcome {
    let place = event.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Wait(signal) = operation else { return Err(INVALID_VALUE) };
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
        let Operation::Record(signal) = self else { return Err(INVALID_VALUE) };
        *signal = new;
        Ok(())
    }

    /// Sets the event of a node that waits for one.
    pub(super) fn set_wait(&mut self, new: Signal) -> Outcome {
        let Operation::Wait(signal) = self else { return Err(INVALID_VALUE) };
        *signal = new;
        Ok(())
    }
}
