//! How work that is given to a stream becomes nodes.

use cuda_driver_sys::{CUgraphEdgeData, CUresult};
use std::sync::{Arc, Weak};

use super::conflict::implicit;
pub(in crate::driver) use super::conflict::{question, whole};
use super::{Capture, INVALIDATED, Member, UNSUPPORTED};
use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::graph::Edge;
use crate::driver::graph::edges::ORDINARY;
use crate::driver::graph::operation::Operation;
use crate::driver::state::State;
use crate::driver::stream::{Kind, Stream};

/// Takes what is given to a stream that is captured.
pub(in crate::driver) struct Recorder {
    capture: Arc<Capture>,
    stream: Arc<Stream>,
}

/// The recorder of a stream; `None` where work is done as ever.
pub(in crate::driver) fn recorder(stream: &Arc<Stream>) -> Outcome<Option<Recorder>> {
    match stream.capture() {
        Some(capture) if capture.is_valid() => Ok(Some(Recorder { capture, stream: Arc::clone(stream) })),
        Some(_) => Err(INVALIDATED),
        None => implicit(stream).map(|()| None),
    }
}

/// For work that cannot be a node.
pub(in crate::driver) fn outside(stream: &Stream) -> Outcome {
    match stream.capture() {
        Some(capture) => Err(capture.fail(UNSUPPORTED)),
        None => implicit(stream),
    }
}

/// What a point in a captured stream stands for: an event that was recorded there has one.
#[derive(Clone)]
pub(in crate::driver) struct Captured {
    capture: Weak<Capture>,
    after: Vec<Edge>,
}

impl Captured {
    /// It was asked about as if it happened in a stream: that spoils its capture.
    pub(in crate::driver) fn question(&self) -> CUresult {
        if let Some(capture) = self.capture.upgrade() {
            capture.invalidate();
        }
        CUresult::CUDA_ERROR_CAPTURED_EVENT
    }
}

impl Recorder {
    /// Makes a node of an operation, after all that the stream did before; tells its handle.
    pub(in crate::driver) fn add(&self, state: &State, operation: Operation) -> Outcome<usize> {
        self.add_after(state, operation, |edge| edge)
    }

    /// As [`add`](Self::add), for a kernel that may begin before those before it are done.
    pub(in crate::driver) fn add_programmatic(&self, state: &State, operation: Operation) -> Outcome<usize> {
        let graph = &self.capture.graph;
        self.add_after(state, operation, |edge| {
            let kernel = graph.contents().operation(edge.from).is_ok_and(|before| before.is_kernel());
            let data = CUgraphEdgeData { from_port: 1, type_: 1, ..edge.data };
            if kernel { Edge { data, ..edge } } else { edge }
        })
    }

    fn add_after(&self, state: &State, operation: Operation, edge: impl Fn(Edge) -> Edge) -> Outcome<usize> {
        let mut inner = self.capture.valid()?;
        let member = inner.member(self.stream.id).ok_or(INVALIDATED)?;
        let after = member.after.iter().copied().map(edge).collect();
        let node = self.capture.graph.add(state, operation, after);
        member.after = vec![Edge { from: node, data: ORDINARY }];
        Ok(node)
    }

    /// What an event stands for that is recorded now.
    pub(in crate::driver) fn point(&self) -> Outcome<Captured> {
        let mut inner = self.capture.valid()?;
        let member = inner.member(self.stream.id).ok_or(INVALIDATED)?;
        Ok(Captured { capture: Arc::downgrade(&self.capture), after: member.after.clone() })
    }

    /// What an event stands for that a kernel signals.
    pub(in crate::driver) fn point_at(&self, node: usize) -> Captured {
        let after = vec![Edge { from: node, data: ORDINARY }];
        Captured { capture: Arc::downgrade(&self.capture), after }
    }

    /// The operation cannot be captured: the capture is over.
    pub(in crate::driver) fn fail(&self, code: CUresult) -> CUresult {
        self.capture.fail(code)
    }

    /// The stream, captured as it is, shall wait for an event.
    pub(in crate::driver) fn wait(&self, event: Option<Captured>) -> Outcome {
        let Some(event) = event else {
            return Err(self.fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION));
        };
        let capture = event.capture.upgrade().ok_or(INVALID_VALUE)?;
        if capture.id != self.capture.id {
            self.capture.invalidate();
            return Err(capture.fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE));
        }
        let mut inner = capture.valid()?;
        let member = inner.member(self.stream.id).ok_or(INVALIDATED)?;
        for edge in event.after {
            if !member.after.iter().any(|known| known.from == edge.from) {
                member.after.push(edge);
            }
        }
        Ok(())
    }
}

/// A stream that is not captured waits for an event that is: it becomes a member.
pub(in crate::driver) fn join(stream: &Arc<Stream>, event: Captured) -> Outcome {
    let capture = event.capture.upgrade().ok_or(INVALID_VALUE)?;
    if stream.kind == Kind::Legacy {
        return Err(capture.fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));
    }
    let mut inner = capture.valid()?;
    inner.members.push(Member::new(stream, event.after));
    drop(inner);
    stream.set_capture(Some(capture));
    Ok(())
}

/// A stream is destroyed. A capture that began in it can never be ended; what another stream did has to be joined all
/// the same.
pub(in crate::driver) fn abandon(state: &State, stream: &Stream) {
    if let Some(capture) = stream.capture() {
        stream.set_capture(None);
        if capture.origin == stream.id {
            capture.end(state, false);
        }
    }
}
