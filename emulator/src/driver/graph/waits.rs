//! Runs of plans that wait for numbers in memory: what does not depend on a waiting step goes on, because it may write the number.

use std::collections::BTreeMap;

use super::branches::Branches;
use super::operation::Operation;
use super::plan::Plan;
use crate::driver::work::values::{Nap, Next};
use crate::driver::work::{Turn, Work};
use crate::engine::Fault;

/// How far a run is.
struct Progress {
    /// Which steps are done.
    done: Vec<bool>,
    /// Of steps that wait: how far each is.
    waiting: BTreeMap<usize, Next>,
    /// Of steps with a graph: how far that one is.
    inner: BTreeMap<usize, Progress>,
    branches: Branches,
}

impl Progress {
    fn new(plan: &Plan) -> Progress {
        let steps = plan.steps().len();
        let (waiting, inner) = (BTreeMap::new(), BTreeMap::new());
        Progress { done: vec![false; steps], waiting, inner, branches: Branches::new(steps) }
    }

    fn is_done(&self) -> bool {
        self.done.iter().all(|done| *done)
    }
}

impl Operation {
    /// Whether doing it can wait for numbers in memory. `inner` are the plans of its graphs.
    pub(super) fn waits(&self, inner: &[Plan]) -> bool {
        match self {
            Operation::Work(Work::Values(batch)) => batch.waits(),
            Operation::Child(_) => inner.iter().any(|plan| plan.waits()),
            Operation::Work(_) | Operation::Conditional(_) => false,
        }
    }
}

/// Does all of a plan; stops at a fault.
pub(super) fn run(plan: &Plan, turn: &Turn) -> Result<(), Box<Fault>> {
    let (mut progress, mut nap) = (Progress::new(plan), Nap::default());
    while !progress.is_done() && turn.state.fault.check().is_ok() {
        if advance(plan, &mut progress, turn)? {
            nap = Nap::default();
        } else {
            nap.take();
        }
    }
    progress.branches.finish();
    Ok(())
}

/// Does all that can be done now; whether that is anything.
fn advance(plan: &Plan, progress: &mut Progress, turn: &Turn) -> Result<bool, Box<Fault>> {
    let mut moved = false;
    for index in plan.order() {
        let is_done = |index: &usize| progress.done.get(*index).is_none_or(|done| *done);
        let Some(step) = plan.steps().get(*index) else { continue };
        if is_done(index) || !step.after.iter().all(is_done) {
            continue;
        }
        // A fault of another kernel may have ended everything.
        if turn.state.fault.check().is_err() {
            break;
        }
        progress.branches.enter(*index, &step.after);
        let done = match (&step.operation, &*step.inner) {
            (Operation::Work(Work::Values(batch)), _) => {
                let next = progress.waiting.entry(*index).or_default();
                let (before, done) = (next.done(), batch.advance(next, turn)?);
                moved |= next.done() != before;
                done
            }
            (Operation::Child(_), [inner]) if inner.waits() => {
                let within = progress.inner.entry(*index).or_insert_with(|| Progress::new(inner));
                moved |= advance(inner, within, turn)?;
                let is_done = within.is_done();
                if is_done {
                    within.branches.finish();
                }
                is_done
            }
            _ => {
                step.run(turn)?;
                true
            }
        };
        progress.branches.leave(*index);
        if let (true, Some(place)) = (done, progress.done.get_mut(*index)) {
            (*place, moved) = (true, true);
        }
    }
    Ok(moved)
}
