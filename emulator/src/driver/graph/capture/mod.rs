//! Capture: what is given to a stream becomes nodes of a graph instead of being done.
//!
//! A [`Capture`] begins in one stream, its origin; waiting for an event that was recorded in it makes another stream a
//! member too. Each member knows the nodes that its next one comes after. Some mistakes invalidate a capture: it then
//! stays, useless, until it is ended in its origin. [`record`] is the way in for functions that give work to streams.

mod conflict;
pub(super) mod functions;
pub(in crate::driver) mod record;

use cuda_driver_sys::{CUresult, CUstreamCaptureMode};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::ThreadId;

use super::{Edge, Graph};
use crate::driver::entry::Outcome;
use crate::driver::state::{State, lock};
use crate::driver::stream::Stream;

/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`
const INVALIDATED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`
const UNSUPPORTED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

/// The captures of the process that are not ended.
#[derive(Default)]
pub(in crate::driver) struct Captures {
    /// How many there are: most calls find none and need no lock.
    count: AtomicUsize,
    all: Mutex<Vec<Arc<Capture>>>,
}

/// A capture.
pub(in crate::driver) struct Capture {
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

/// A stream that takes part.
struct Member {
    /// Its number.
    id: u64,
    stream: Weak<Stream>,
    /// What the next node of it comes after.
    after: Vec<Edge>,
    /// What the program was told about `after`, which it may read until it asks again.
    told: (Box<[usize]>, Box<[cuda_driver_sys::CUgraphEdgeData]>),
}

impl Member {
    fn new(stream: &Arc<Stream>, after: Vec<Edge>) -> Member {
        Member { id: stream.id, stream: Arc::downgrade(stream), after, told: Default::default() }
    }
}

impl Captures {
    /// Whether there is any.
    fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Whether one makes nodes of that graph.
    pub(super) fn are_into(&self, graph: &Graph) -> bool {
        self.all().iter().any(|capture| capture.graph.handle == graph.handle)
    }

    fn all(&self) -> Vec<Arc<Capture>> {
        lock(&self.all).clone()
    }

    fn add(&self, capture: Arc<Capture>) {
        let mut all = lock(&self.all);
        all.push(capture);
        self.count.store(all.len(), Ordering::Release);
    }

    fn remove(&self, capture: &Capture) {
        let mut all = lock(&self.all);
        all.retain(|other| other.id != capture.id);
        self.count.store(all.len(), Ordering::Release);
    }
}

impl Capture {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Whether no mistake has spoiled it.
    fn is_valid(&self) -> bool {
        self.inner().valid
    }

    /// From now on it is useless.
    fn invalidate(&self) {
        self.inner().valid = false;
    }

    /// It, if it is valid.
    fn valid(&self) -> Outcome<MutexGuard<'_, Inner>> {
        let inner = self.inner();
        if inner.valid { Ok(inner) } else { Err(INVALIDATED) }
    }

    /// Ends it: its streams are ordinary ones again. Its graph goes with it unless it is kept or was the program's.
    fn end(&self, state: &State, keep: bool) {
        state.captures.remove(self);
        let members = std::mem::take(&mut self.inner().members);
        for stream in members.iter().filter_map(|member| member.stream.upgrade()) {
            stream.set_capture(None);
        }
        if !keep && !self.into_graph {
            self.graph.discard(state);
        }
    }

    /// Whether the origin comes after all that the other streams did.
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
    fn member(&mut self, stream: u64) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == stream)
    }
}
