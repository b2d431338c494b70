//! The recorder of captured streams' work, and points in the order of work.

use cuda_driver_sys::{CUgraphEdgeData, CUresult, CUstreamCaptureMode};
use std::sync::{Arc, Weak};

use super::Work;
use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::queue::Completion;

/// One end of an edge in a graph: the other one is the node that has it.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Edge {
    pub(in crate::driver) from: usize,
    pub(in crate::driver) data: CUgraphEdgeData,
}

/// A capture, as streams see it. Some mistakes invalidate a capture: then it can only be ended.
pub(in crate::driver) trait Recorder: Send + Sync {
    /// Its number.
    fn id(&self) -> u64;

    /// Number of the stream that it began in.
    fn origin(&self) -> u64;

    /// Whether no mistake has spoiled it.
    fn is_valid(&self) -> bool;

    /// From now on it is useless.
    fn invalidate(&self);

    /// Whether it forbids this thread, whose capture mode is `mode`, calls that are unsafe during a capture.
    fn forbids(&self, mode: CUstreamCaptureMode) -> bool;

    /// Adds work as a node after all earlier nodes of the stream with that number. Returns the edges for later nodes.
    fn record(&self, stream: u64, work: Work) -> Outcome<Vec<Edge>>;

    /// The edges for a node after all earlier nodes of the stream.
    fn point(&self, stream: u64) -> Outcome<Vec<Edge>>;

    /// Makes the stream's next node depend on those nodes, too.
    fn wait(&self, stream: u64, after: Vec<Edge>) -> Outcome;

    /// Makes a stream a member, whose nodes depend on those nodes.
    fn join(&self, stream: u64, after: Vec<Edge>) -> Outcome;

    /// Called if it can never be ended: its nodes are discarded.
    fn abandon(&self);
}

/// A point in a capture.
#[derive(Clone)]
pub(in crate::driver) struct Captured {
    pub(in crate::driver) recorder: Weak<dyn Recorder>,
    pub(in crate::driver) after: Vec<Edge>,
}

impl Captured {
    /// The capture, while it is in progress.
    pub(in crate::driver) fn recorder(&self) -> Outcome<Arc<dyn Recorder>> {
        self.recorder.upgrade().ok_or(INVALID_VALUE)
    }

    /// The error for a query of it as of an event in a stream, which invalidates its capture.
    pub(in crate::driver) fn question(&self) -> CUresult {
        if let Some(recorder) = self.recorder.upgrade() {
            recorder.invalidate();
        }
        CUresult::CUDA_ERROR_CAPTURED_EVENT
    }
}

/// A point in the order of work: what an event stands for that is recorded there.
#[derive(Clone)]
pub(in crate::driver) enum Point {
    Stream(Arc<Completion>),
    Capture(Captured),
}
