//! Capture: work submitted to a stream becomes nodes of a graph instead of running.
//!
//! A [`Capture`] begins in one stream, its origin; waiting for an event that was recorded in it makes another stream a
//! member too. Each member knows the nodes that its next one depends on. Streams use it as a [`Recorder`].

pub(super) mod functions;

use cuda_driver_sys::{CUgraphEdgeData, CUstreamCaptureMode};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::ThreadId;

use super::Graph;
use super::edges::ORDINARY;
use super::operation::Operation;
use crate::driver::entry::Outcome;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::lock;
use crate::driver::stream::Stream;
use crate::driver::stream::capture::{INVALIDATED, release};
use crate::driver::work::Work;
use crate::driver::work::recorder::{Edge, Recorder};

/// The captures in progress.
static CAPTURES: PerSlot<Mutex<Vec<Arc<Capture>>>> = per_slot!(Mutex::new(Vec::new()));

/// Whether a capture adds nodes to that graph.
pub(super) fn are_into(graph: &Graph) -> bool {
    lock(&CAPTURES).iter().any(|capture| capture.graph.handle == graph.handle)
}

/// Ends all of them, as if they had never begun.
pub(in crate::driver) fn end_all() {
    let captures = lock(&CAPTURES).clone();
    captures.iter().for_each(|capture| capture.end(false));
}

/// The capture that a stream is a member of.
fn of(stream: &Stream) -> Option<Arc<Capture>> {
    let id = stream.capture()?.id();
    lock(&CAPTURES).iter().find(|capture| capture.id == id).cloned()
}

/// A capture.
struct Capture {
    id: u64,
    mode: CUstreamCaptureMode,
    thread: ThreadId,
    /// Number of the stream that it began in.
    origin: u64,
    graph: Arc<Graph>,
    /// Whether the graph was the program's before.
    into_graph: bool,
    inner: Mutex<Inner>,
}

struct Inner {
    valid: bool,
    /// The origin is the first.
    members: Vec<Member>,
}

/// A participating stream.
struct Member {
    /// Its number.
    id: u64,
    /// The dependencies of its next node.
    after: Vec<Edge>,
    /// The copy of `after` that was returned to the program, which may read it until the next query.
    told: (Box<[usize]>, Box<[CUgraphEdgeData]>),
}

impl Member {
    fn new(id: u64, after: Vec<Edge>) -> Member {
        Member { id, after, told: Default::default() }
    }

    /// Makes its next node depend on those nodes, too.
    fn wait(&mut self, after: Vec<Edge>) {
        for edge in after {
            if !self.after.iter().any(|known| known.from == edge.from) {
                self.after.push(edge);
            }
        }
    }
}

impl Capture {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// It, if it is valid.
    fn valid(&self) -> Outcome<MutexGuard<'_, Inner>> {
        let inner = self.inner();
        if inner.valid { Ok(inner) } else { Err(INVALIDATED) }
    }

    /// Ends it: its streams are ordinary ones again. Its graph is discarded unless it is kept or belongs to the
    /// program.
    fn end(&self, keep: bool) {
        lock(&CAPTURES).retain(|other| other.id != self.id);
        release(self);
        self.inner().members.clear();
        if !keep && !self.into_graph {
            self.graph.discard();
        }
    }

    /// Whether the origin depends on all nodes of the other streams.
    fn is_joined(&self) -> bool {
        let inner = self.inner();
        let contents = self.graph.contents();
        let mut reached = BTreeSet::new();
        let mut left: Vec<usize> =
            inner.members.first().iter().flat_map(|origin| &origin.after).map(|edge| edge.from).collect();
        while let Some(node) = left.pop() {
            if reached.insert(node) {
                let before = contents.nodes.get(&node).map(|node| node.after.as_slice()).unwrap_or_default();
                left.extend(before.iter().map(|edge| edge.from));
            }
        }
        inner.members.iter().flat_map(|member| &member.after).all(|edge| reached.contains(&edge.from))
    }
}

impl Inner {
    fn member(&mut self, stream: u64) -> Outcome<&mut Member> {
        self.members.iter_mut().find(|member| member.id == stream).ok_or(INVALIDATED)
    }
}

impl Recorder for Capture {
    fn id(&self) -> u64 {
        self.id
    }

    fn origin(&self) -> u64 {
        self.origin
    }

    fn is_valid(&self) -> bool {
        self.inner().valid
    }

    fn invalidate(&self) {
        self.inner().valid = false;
    }

    fn forbids(&self, mode: CUstreamCaptureMode) -> bool {
        use CUstreamCaptureMode as M;
        let own =
            self.thread == std::thread::current().id() && self.mode != M::CU_STREAM_CAPTURE_MODE_RELAXED;
        match mode {
            M::CU_STREAM_CAPTURE_MODE_GLOBAL => own || self.mode == M::CU_STREAM_CAPTURE_MODE_GLOBAL,
            M::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => own,
            _ => false,
        }
    }

    fn record(&self, stream: u64, work: Work) -> Outcome<Vec<Edge>> {
        let mut inner = self.valid()?;
        let member = inner.member(stream)?;
        let mut after = member.after.clone();
        // A kernel that may begin before its predecessors are done.
        if matches!(&work, Work::Kernel(kernel) if kernel.is_programmatic()) {
            let mut contents = self.graph.contents();
            for edge in &mut after {
                if contents.operation(edge.from).is_ok_and(|before| before.is_kernel()) {
                    edge.data = CUgraphEdgeData { from_port: 1, type_: 1, ..edge.data };
                }
            }
        }
        let node = self.graph.add(Operation::Work(work), after);
        member.after = vec![Edge { from: node, data: ORDINARY }];
        Ok(member.after.clone())
    }

    fn point(&self, stream: u64) -> Outcome<Vec<Edge>> {
        Ok(self.valid()?.member(stream)?.after.clone())
    }

    fn wait(&self, stream: u64, after: Vec<Edge>) -> Outcome {
        self.valid()?.member(stream)?.wait(after);
        Ok(())
    }

    fn join(&self, stream: u64, after: Vec<Edge>) -> Outcome {
        self.valid()?.members.push(Member::new(stream, after));
        Ok(())
    }

    fn abandon(&self) {
        self.end(false);
    }
}
