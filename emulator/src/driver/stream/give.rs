//! Submitting work: a stream runs it, or its capture makes a node of it.

use cuda_driver_sys::CUresult;
use std::sync::Arc;

use super::Stream;
use super::capture::fail;
use crate::driver::counted::counted;
use crate::driver::current_work;
use crate::driver::entry::Outcome;
use crate::driver::queue::{Completion, Job};
use crate::driver::state::Call;
use crate::driver::work::event::Event;
use crate::driver::work::recorder::{Captured, Point};
use crate::driver::work::{Turn, Work};
use crate::engine::Fault;

/// How a call proceeds with the work that it submits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) enum Pace {
    /// Returns at once.
    Queued,
    /// Returns at once, but does it first if nothing is before it: it is over sooner than a thread is woken.
    Small,
    /// Returns when it is done.
    Blocking,
    /// Returns when the caller's memory that the work reads may be reused: does the work first if nothing precedes it,
    /// otherwise keeps a copy.
    Detached,
}

impl Stream {
    /// Waits while the queue is full. For calls that then submit with `give_now` or `give_apart_now` while they hold a lock:
    /// others may have filled the queue again in between, but no thread waits for room while it holds a lock.
    pub(in crate::driver) fn wait_for_room(&self) {
        self.queue.wait_for_room();
    }

    /// Submits work to the stream, after all earlier work. Returns its point in the order.
    pub(in crate::driver) fn give(self: &Arc<Self>, call: &Call, work: Work, pace: Pace) -> Outcome<Point> {
        if !self.is_recording()? {
            self.wait_for_room();
        }
        self.give_now(call, work, pace)
    }

    /// The same without a wait for room.
    pub(in crate::driver) fn give_now(
        self: &Arc<Self>,
        call: &Call,
        work: Work,
        pace: Pace,
    ) -> Outcome<Point> {
        let state = call.state()?;
        work.check_target(state)?;
        if let Some(recorder) = self.recorder()? {
            let after = recorder.record(self.id, work.into_node(call)?)?;
            return Ok(Point::Capture(Captured { recorder: Arc::downgrade(&recorder), after }));
        }
        work.check_stream()?;
        let (state, counted) = (state.clone(), counted());
        let (stream, caller) = (self.handle, Some(call.name));
        let turn = Turn { state, stream, caller, points: None, counted, graph: None };
        let queue = &self.queue;
        let work = if pace == Pace::Detached && !self.is_idle() { work.detached() } else { work };
        let done = match pace {
            // What is in the device's memory when the call returns is not promised.
            Pace::Detached if work.is_of_the_call() => queue.perform(|| work.run(0, &turn)),
            // Memory of the caller's is not left to a thread.
            _ if pace == Pace::Blocking || work.is_of_the_call() => {
                queue.perform(|| work.run(0, &turn)).inspect(|done| done.learn())
            }
            Pace::Small => queue.submit_small(move || work.run(0, &turn)),
            Pace::Queued | Pace::Detached | Pace::Blocking => {
                let job = if matches!(work, Work::Host(_)) { Job::Call } else { Job::Run };
                queue.submit(None, job(Box::new(move || work.run(0, &turn))))
            }
        };
        done.map(Point::Stream)
    }

    /// Gives something to the stream that can be no node: it spoils a capture that the stream is in.
    pub(in crate::driver) fn give_apart(
        self: &Arc<Self>,
        after: Option<Arc<Completion>>,
        job: Job,
    ) -> Outcome<Arc<Completion>> {
        self.outside()?;
        self.wait_for_room();
        self.give_apart_now(after, job)
    }

    /// The same without a wait for room.
    pub(in crate::driver) fn give_apart_now(
        self: &Arc<Self>,
        after: Option<Arc<Completion>>,
        job: Job,
    ) -> Outcome<Arc<Completion>> {
        self.outside()?;
        self.queue.submit(after, job)
    }

    /// As [`give_apart`](Self::give_apart), for work that takes less time than waking a thread.
    pub(in crate::driver) fn give_apart_small(
        self: &Arc<Self>,
        run: impl FnOnce() -> Result<(), Box<Fault>> + Send + 'static,
    ) -> Outcome {
        self.outside()?;
        self.wait_for_room();
        self.queue.submit_small(run).map(|_| ())
    }

    /// The point in the order after all earlier work of the stream, for an event that is about to be set to it.
    pub(in crate::driver) fn mark(self: &Arc<Self>, event: &Event) -> Outcome<Point> {
        if let Some(recorder) = self.recorder()? {
            let after = recorder.point(self.id)?;
            return Ok(Point::Capture(Captured { recorder: Arc::downgrade(&recorder), after }));
        }
        let done = match event.begin() {
            None => self.queue.submit(None, Job::Point),
            Some(recording) => self.queue.submit_small(move || {
                current_work::tell_host();
                recording.reached();
                Ok(())
            }),
        };
        done.map(Point::Stream)
    }

    /// Makes all later work of the stream wait for an event, whose point is in a capture, in a stream, or not set yet.
    pub(in crate::driver) fn wait_for(
        self: &Arc<Self>,
        captured: Option<Captured>,
        recorded: Option<Arc<Completion>>,
    ) -> Outcome {
        match (self.recorder()?, captured) {
            (Some(recorder), Some(event)) => {
                let other = event.recorder()?;
                if other.id() != recorder.id() {
                    recorder.invalidate();
                    return Err(fail(&*other, CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE));
                }
                other.wait(self.id, event.after)
            }
            (Some(recorder), None) => Err(fail(&*recorder, CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION)),
            (None, Some(event)) => self.join(event),
            (None, None) => {
                match recorded.filter(|recorded| !recorded.is_done() || self.queue.is_checked()) {
                    Some(recorded) => {
                        self.wait_for_room();
                        self.queue.submit(Some(recorded), Job::Point).map(|_| ())
                    }
                    None => Ok(()),
                }
            }
        }
    }
}
