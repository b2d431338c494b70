//! Events, and what records them and waits for them.

use cuda_driver_sys::{CUevent, CUresult};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::Work;
use super::recorder::{Captured, Point};
use super::shared_event::{Awaited as Other, Recording, SharedEvent};
use crate::driver::context::Context;
use crate::driver::current_work;
use crate::driver::entry::{INVALID_CONTEXT, INVALID_HANDLE, Outcome};
use crate::driver::handles::{Found, Handles};
use crate::driver::queue::Completion;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{Call, lock};

/// An event.
pub(in crate::driver) struct Event {
    pub(in crate::driver) context: Arc<Context>,
    pub(in crate::driver) timing: bool,
    interprocess: bool,
    /// The part that is shared with other processes, if any.
    pub(in crate::driver) shared: Option<Arc<SharedEvent>>,
    /// The point it was recorded at last.
    recorded: Mutex<Option<Arc<Completion>>>,
    /// The point in a capture that it was recorded at instead.
    captured: Mutex<Option<Captured>>,
}

/// All events.
pub(in crate::driver) static EVENTS: PerSlot<Handles<Event>> = per_slot!(Handles::new(2));

impl Event {
    /// An event that was not recorded yet.
    pub(in crate::driver) fn new(context: Arc<Context>, timing: bool, interprocess: bool) -> Event {
        let (shared, recorded, captured) = (None, Mutex::default(), Mutex::default());
        Event { context, timing, interprocess, shared, recorded, captured }
    }

    /// An event that other processes can open, too.
    pub(in crate::driver) fn shared(context: Arc<Context>, shared: SharedEvent) -> Event {
        Event { shared: Some(Arc::new(shared)), ..Event::new(context, false, true) }
    }

    /// The point it was recorded at last.
    pub(in crate::driver) fn recorded(&self) -> Option<Arc<Completion>> {
        match self.elsewhere() {
            Some(other) => Some(Completion::of_other(other)),
            None => lock(&self.recorded).clone(),
        }
    }

    /// The record by another process, if that is the last one.
    pub(in crate::driver) fn elsewhere(&self) -> Option<Other> {
        self.shared.as_ref()?.elsewhere()
    }

    /// Called when it is about to be set to a new point; other processes are notified when that is reached.
    pub(in crate::driver) fn begin(&self) -> Option<Recording> {
        self.shared.as_ref().map(|shared| shared.begin())
    }

    /// The point in a capture that it was recorded at last.
    pub(in crate::driver) fn captured(&self) -> Option<Captured> {
        lock(&self.captured).clone()
    }

    /// Sets it to a point. A point in a stream is kept beside one in a capture.
    pub(in crate::driver) fn set(&self, point: Point) {
        match point {
            Point::Stream(point) => {
                *lock(&self.captured) = None;
                *lock(&self.recorded) = Some(point);
            }
            Point::Capture(point) => *lock(&self.captured) = Some(point),
        }
    }

    /// For functions that query its completion: in a capture there is none.
    pub(in crate::driver) fn question(&self) -> Outcome {
        self.captured().map_or(Ok(()), |captured| Err(captured.question()))
    }

    /// Whether a launch may signal it: it has no timing and stays in this process.
    pub(in crate::driver) fn is_plain(&self) -> bool {
        !self.timing && !self.interprocess
    }
}

impl Call {
    /// The event that a handle means.
    pub(in crate::driver) fn event(&self, handle: CUevent) -> Outcome<Arc<Event>> {
        self.healthy()?;
        match EVENTS.find(handle.addr()) {
            Found::Live(event) if event.context.is_alive() => Ok(event),
            Found::Live(event) if event.context.primary => Err(INVALID_CONTEXT),
            Found::Live(_) | Found::Gone => Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
            Found::Unknown => Err(INVALID_HANDLE),
        }
    }
}

/// An event, kept.
#[derive(Clone)]
pub(in crate::driver) struct Signal {
    pub(in crate::driver) event: Arc<Event>,
    pub(in crate::driver) handle: usize,
}

impl Signal {
    pub(in crate::driver) fn new(call: &Call, event: CUevent) -> Outcome<Signal> {
        Ok(Signal { event: call.event(event)?, handle: event.addr() })
    }

    /// Whether the event still exists.
    pub(super) fn check(&self) -> Outcome {
        EVENTS.get(self.handle).map(|_| ()).ok_or(INVALID_HANDLE)
    }
}

/// The points in the order of one launch that its event nodes record and wait for, by node. Points that were not
/// reached when the launch is over are completed, so that no thread waits forever.
#[derive(Default)]
pub(in crate::driver) struct Points(BTreeMap<usize, Awaited>);

enum Awaited {
    Made(Arc<Completion>, Mutex<Option<Recording>>),
    Before(Option<Arc<Completion>>),
}

impl Points {
    /// Sets the event of a node to a new point, or takes its current point.
    pub(in crate::driver) fn set(&mut self, node: usize, work: &Work) {
        match work {
            Work::Record(signal) => {
                let point = Arc::new(Completion::default());
                let recording = Mutex::new(signal.event.begin());
                signal.event.set(Point::Stream(Arc::clone(&point)));
                self.0.insert(node, Awaited::Made(point, recording));
            }
            Work::Wait(signal) => {
                self.0.insert(node, Awaited::Before(signal.event.recorded()));
            }
            _ => {}
        }
    }

    /// Called when an event node runs.
    pub(super) fn reach(&self, node: usize) {
        match self.0.get(&node) {
            Some(Awaited::Made(point, recording)) => {
                if let Some(recording) = lock(recording).take() {
                    current_work::tell_host();
                    recording.reached();
                }
                current_work::with(|place| point.set_past(place.past.clone()));
                point.complete();
            }
            Some(Awaited::Before(Some(point))) => {
                point.wait();
                current_work::with(|place| point.past().into_iter().for_each(|past| place.past.join(past)));
                if point.is_elsewhere() {
                    current_work::hear_host();
                }
            }
            _ => {}
        }
    }
}

impl Drop for Points {
    fn drop(&mut self) {
        for point in self.0.values() {
            if let Awaited::Made(point, _) = point {
                point.complete();
            }
        }
    }
}
