//! Streams: queues of work, each in order, with a thread of its own while it has something to do.
//!
//! Every piece of work names the [`Completion`]s that it comes after; they always belong to work that was given to the
//! driver earlier, so that no circle of waiting can form. Three rules make the names:
//! - the work before it in its own stream;
//! - the legacy stream and every blocking stream of a context wait for each other (a per-thread stream is a blocking one);
//! - what `cuStreamWaitEvent` asked for.

mod attributes;
mod callback;
mod completion;
pub(super) mod functions;
mod queue;

use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::context::Context;
use super::graph::capture::Capture;
use super::state::{self, State, lock};
use attributes::Attributes;
pub(super) use completion::Completion;
use queue::Queue;
pub(super) use queue::Work;

/// How a stream takes part in the ordering with the legacy stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The stream that NULL means.
    Legacy,
    /// A thread's own default stream.
    PerThread,
    /// Made without flags.
    Blocking,
    /// Made with `CU_STREAM_NON_BLOCKING`.
    NonBlocking,
}

/// A stream.
pub(super) struct Stream {
    /// What the program calls it; 1 and 2 for the default streams.
    pub(super) handle: usize,
    /// Its number.
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) priority: c_int,
    pub(super) context: Arc<Context>,
    attributes: Mutex<Attributes>,
    /// The work given last. Changed only while the context's `order` is locked.
    last: Mutex<Arc<Completion>>,
    queue: Mutex<Queue>,
    ready: Condvar,
    retired: AtomicBool,
    /// The capture that it is a member of.
    capture: Mutex<Option<Arc<Capture>>>,
}

impl Stream {
    pub(super) fn new(context: &Arc<Context>, handle: usize, kind: Kind, priority: c_int) -> Stream {
        Stream {
            handle,
            id: state::get().map_or(0, State::id),
            kind,
            priority,
            context: Arc::clone(context),
            attributes: Mutex::new(Attributes::new(priority)),
            last: Mutex::new(Completion::past()),
            queue: Mutex::default(),
            ready: Condvar::new(),
            retired: AtomicBool::new(false),
            capture: Mutex::default(),
        }
    }

    /// The flags it was made with.
    fn flags(&self) -> c_uint {
        c_uint::from(self.kind == Kind::NonBlocking)
    }

    /// The work given last.
    pub(super) fn last(&self) -> Arc<Completion> {
        Arc::clone(&lock(&self.last))
    }

    /// The capture that it is a member of.
    pub(super) fn capture(&self) -> Option<Arc<Capture>> {
        lock(&self.capture).clone()
    }

    /// Makes it a member of a capture, or of none.
    pub(super) fn set_capture(&self, capture: Option<Arc<Capture>>) {
        *lock(&self.capture) = capture;
    }

    /// It will get no more work.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Whether it will get no more work and has none left.
    pub(super) fn is_over(&self) -> bool {
        self.retired.load(Ordering::Acquire) && lock(&self.last).is_done()
    }

    /// What has to be done before the stream counts as empty: NULL includes the blocking streams.
    fn pending(&self) -> Vec<Arc<Completion>> {
        self.turn(&lock(&self.context.order))
    }

    /// Whether all its work is done.
    pub(super) fn is_idle(&self) -> bool {
        if self.kind == Kind::Legacy { self.pending().is_empty() } else { lock(&self.last).is_done() }
    }

    /// Waits until all its work is done.
    pub(super) fn synchronize(&self) {
        if self.kind == Kind::Legacy {
            self.pending().iter().for_each(|completion| completion.wait());
        } else {
            self.last().wait();
        }
    }

    /// What the next piece of work has to wait for, besides the events that it names.
    fn before(&self, streams: &[Arc<Stream>]) -> Vec<Arc<Completion>> {
        let mut before = self.turn(streams);
        before.extend(lock(&self.context.gates).iter().filter(|gate| !gate.is_done()).cloned());
        before
    }

    /// What it has to wait for of its own context. `streams` are those of the context.
    fn turn(&self, streams: &[Arc<Stream>]) -> Vec<Arc<Completion>> {
        let ordered = |other: &&Arc<Stream>| match self.kind {
            Kind::Legacy => other.kind != Kind::NonBlocking,
            Kind::PerThread | Kind::Blocking => other.kind == Kind::Legacy,
            Kind::NonBlocking => false,
        };
        let others = streams.iter().filter(ordered).map(|stream| stream.last());
        others.chain([self.last()]).filter(|completion| !completion.is_done()).collect()
    }
}
