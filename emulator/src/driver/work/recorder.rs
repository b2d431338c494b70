//! Who takes the work of captured streams, and points in the order of work.

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

/// A capture, as streams see it. Some mistakes invalidate one: it is then useless until it is ended.
pub(in crate::driver) trait Recorder: Send + Sync {
    /// Its number.
    fn id(&self) -> u64;

    /// Number of the stream that it began in.
    fn origin(&self) -> u64;

    /// Whether no mistake has spoiled it.
    fn is_valid(&self) -> bool;

    /// From now on it is useless.
    fn invalidate(&self);

    /// Whether it keeps this thread, which is as strict to itself as `mode` says, from calls that are unsafe beside a
    /// capture.
    fn forbids(&self, mode: CUstreamCaptureMode) -> bool;

    /// Makes a node of work, after all that the stream of that number did before. Tells what comes after it.
    fn record(&self, stream: u64, work: Work) -> Outcome<Vec<Edge>>;

    /// What comes after all that the stream did before.
    fn point(&self, stream: u64) -> Outcome<Vec<Edge>>;

    /// What the stream does next comes after those nodes, too.
    fn wait(&self, stream: u64, after: Vec<Edge>) -> Outcome;

    /// A stream becomes a member: what it does comes after those nodes.
    fn join(&self, stream: u64, after: Vec<Edge>) -> Outcome;

    /// It can never be ended: what it made goes.
    fn abandon(&self);
}

/// A point in a capture.
#[derive(Clone)]
pub(in crate::driver) struct Captured {
    pub(in crate::driver) recorder: Weak<dyn Recorder>,
    pub(in crate::driver) after: Vec<Edge>,
}

impl Captured {
    /// The capture, while there is one.
    pub(in crate::driver) fn recorder(&self) -> Outcome<Arc<dyn Recorder>> {
        self.recorder.upgrade().ok_or(INVALID_VALUE)
    }

    /// It was asked about as if it happened in a stream: that spoils its capture.
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
