//! The places of the steps of a graph that runs: each comes behind those that it depends on, and not behind others that run before it here.

use crate::check::launches::VectorClock;
use crate::driver::current_work::{self, CurrentWork};

/// The places of the steps of one plan, if races between launches are checked.
pub(super) struct Branches(Option<Steps>);

struct Steps {
    /// Where the plan begins.
    start: CurrentWork,
    /// Whether a step continues the row of work that the plan is a part of.
    is_continued: bool,
    /// Of each step that was begun.
    ends: Vec<Option<End>>,
}

struct End {
    past: VectorClock,
    lane: u64,
    /// Whether another step continues its row.
    is_continued: bool,
}

impl Branches {
    /// Of a plan of so many steps that begins here.
    pub(super) fn new(steps: usize) -> Branches {
        let start = current_work::with(|place| place.clone());
        Branches(start.map(|start| Steps {
            start,
            is_continued: false,
            ends: std::iter::repeat_with(|| None).take(steps).collect(),
        }))
    }

    /// A step is about to be done, or continued: this thread's work is at its place.
    pub(super) fn enter(&mut self, step: usize, after: &[usize]) {
        if let Some(steps) = &mut self.0 {
            let place = steps.place(step, after);
            current_work::exchange(Some(place));
        }
    }

    /// That step is done, for now.
    pub(super) fn leave(&mut self, step: usize) {
        let Some(steps) = &mut self.0 else { return };
        if let (Some(end), Some(past)) = (steps.end(step), current_work::with(|place| place.past.clone())) {
            end.past = past;
        }
    }

    /// The plan is done: this thread's work is behind all of it.
    pub(super) fn finish(&mut self) {
        let Some(Steps { start, ends, .. }) = &mut self.0 else { return };
        ends.iter().flatten().for_each(|end| start.past.join(&end.past));
        current_work::exchange(Some(start.clone()));
    }
}

impl Steps {
    fn end(&mut self, step: usize) -> Option<&mut End> {
        self.ends.get_mut(step)?.as_mut()
    }

    fn place(&mut self, step: usize, after: &[usize]) -> CurrentWork {
        let mut place = self.start.clone();
        if let Some(begun) = self.end(step) {
            (place.past, place.lane) = (begun.past.clone(), begun.lane);
            return place;
        }
        let mut row = None;
        for before in after {
            let Some(end) = self.end(*before) else { continue };
            place.past.join(&end.past);
            if row.is_none() && !std::mem::replace(&mut end.is_continued, true) {
                row = Some(end.lane);
            }
        }
        if after.is_empty() && !std::mem::replace(&mut self.is_continued, true) {
            row = Some(place.lane);
        }
        place.lane = row.unwrap_or_else(|| place.another_lane());
        let (past, lane) = (place.past.clone(), place.lane);
        if let Some(end) = self.ends.get_mut(step) {
            *end = Some(End { past, lane, is_continued: false });
        }
        place
    }
}
