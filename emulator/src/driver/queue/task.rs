//! Adding work to a queue, and the thread that runs it.

use cuda_driver_sys::CUresult;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::ticket::Ticket;
use super::{Completion, Dependencies, Queue, workers};
use crate::driver::current_work;
use crate::driver::entry::Outcome;
use crate::driver::state::{self, lock};
use crate::engine::Fault;

#[cfg(test)]
mod tests;

/// A job.
pub(in crate::driver) enum Job {
    /// Nothing: a point in the order.
    Point,
    /// Work, which is not started after a fault.
    Run(Run),
    /// Work that calls functions of the program, which expect a thread of the driver: they may use thread-local state.
    Call(Run),
    /// A callback, which is also called after a fault, with its code.
    Notify(Box<dyn FnOnce(CUresult) + Send>),
}

/// The function of a piece of work.
type Run = Box<dyn FnOnce() -> Result<(), Box<Fault>> + Send>;

/// A job in a queue. Done when dropped, whatever becomes of it.
pub(super) struct Task {
    after: Vec<Arc<Completion>>,
    job: Job,
    done: Arc<Completion>,
    /// Its place, if races between launches are checked.
    ticket: Option<Box<Ticket>>,
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.done.set_over(ticket.end());
        }
        self.done.complete();
    }
}

/// The tasks of a queue and the state of its thread.
#[derive(Default)]
pub(super) struct Tasks {
    left: VecDeque<Task>,
    worker: Worker,
    /// Whether another thread has done a task since the queue's thread last checked.
    helped: bool,
    /// Whether the thread must end as soon as there is nothing left.
    hurries: bool,
}

/// The state of a queue's thread.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Worker {
    /// There is none.
    #[default]
    None,
    /// Looks for work before it sleeps.
    Awake,
    /// Sleeps until it is woken.
    Asleep,
    /// Sleeps for a moment, and then checks for work whether or not it was woken.
    Naps,
}

/// The maximum number of pieces of work in a queue: launches, copies, marks. A caller that submits more waits until there is room, as
/// with a real driver after some thousand.
const MOST_WAITING: usize = 4096;

/// How long a queue's thread waits for more work before it ends.
const LINGER: Duration = Duration::from_millis(50);
/// The duration of a nap while other threads do its work: they need not wake it, which takes longer than a small kernel.
const NAP: Duration = if cfg!(test) { Duration::from_secs(3600) } else { Duration::from_micros(200) };

impl Queue {
    /// Submits a job to the queue, to be done after `after` and after everything that the stream waits for.
    pub(in crate::driver) fn submit(
        self: &Arc<Self>,
        after: impl IntoIterator<Item = Arc<Completion>>,
        job: Job,
    ) -> Outcome<Arc<Completion>> {
        self.submit_behind(after, Dependencies::default, job)
    }

    /// The same; for the check for races between launches it comes behind `more`, too.
    pub(in crate::driver) fn submit_behind(
        self: &Arc<Self>,
        after: impl IntoIterator<Item = Arc<Completion>>,
        more: impl FnOnce() -> Dependencies,
        job: Job,
    ) -> Outcome<Arc<Completion>> {
        let more = self.checker.as_ref().map(|checker| (checker, more()));
        let mut ends = lock(&self.order.ends);
        let mut before = self.before(&mut ends);
        let is_pending = |completion: &Arc<Completion>| !completion.is_done();
        let ticket = if let Some((checker, mut more)) = more {
            let after: Vec<_> = after.into_iter().collect();
            before.extend(after.iter().filter(|completion| is_pending(completion)).cloned());
            after.into_iter().for_each(|completion| more.add(completion));
            Some(self.ticket(checker, &mut ends, more))
        } else {
            before.extend(after.into_iter().filter(is_pending));
            None
        };
        let done = Completion::of(self);
        let task = Task { after: before, job, done: Arc::clone(&done), ticket };
        if task.after.is_empty() && matches!(task.job, Job::Point) {
            // A point that is already passed needs no thread: dropped, it is done.
            drop(task);
        } else {
            self.push(task)?;
        }
        self.set_last(&mut ends, Arc::clone(&done));
        Ok(done)
    }

    /// Does work in the queue's order, but on this thread, which waits for its turn: for functions that return when
    /// the work is done. It is not started after a fault.
    pub(in crate::driver) fn perform(
        &self,
        work: impl FnOnce() -> Result<(), Box<Fault>>,
    ) -> Outcome<Arc<Completion>> {
        let done = Arc::new(Completion::default());
        let (before, ticket) = {
            let mut ends = lock(&self.order.ends);
            let before = self.before(&mut ends);
            let checker = self.checker.as_ref();
            let ticket = checker.map(|checker| self.ticket(checker, &mut ends, Dependencies::default()));
            self.set_last(&mut ends, Arc::clone(&done));
            (before, ticket)
        };
        // Others wait for this: done when it leaves here, by a panic too.
        let mut task = Task { after: before, job: Job::Point, done: Arc::clone(&done), ticket };
        task.after.iter().for_each(|completion| completion.wait_at_work());
        let state = state::get().ok_or(CUresult::CUDA_ERROR_NOT_INITIALIZED)?;
        let fault = &state.fault;
        let here = task.ticket.as_mut().map(|ticket| ticket.enter());
        let outcome = if fault.check().is_ok() { work() } else { Ok(()) };
        drop(here);
        if let Err(report) = outcome {
            fault.raise(*report);
        }
        drop(task);
        fault.check().map(|()| done)
    }

    /// Like [`submit`](Self::submit), but on this thread if there is nothing to wait for: for work that takes less
    /// time than waking a thread.
    pub(in crate::driver) fn submit_small(
        self: &Arc<Self>,
        work: impl FnOnce() -> Result<(), Box<Fault>> + Send + 'static,
    ) -> Outcome<Arc<Completion>> {
        let done = Arc::new(Completion::default());
        let ticket = {
            let mut ends = lock(&self.order.ends);
            if !self.before(&mut ends).is_empty() {
                drop(ends);
                return self.submit(None, Job::Run(Box::new(work)));
            }
            let checker = self.checker.as_ref();
            let ticket = checker.map(|checker| self.ticket(checker, &mut ends, Dependencies::default()));
            self.set_last(&mut ends, Arc::clone(&done));
            ticket
        };
        let task = Task { after: Vec::new(), job: Job::Run(Box::new(work)), done: Arc::clone(&done), ticket };
        task.run();
        Ok(done)
    }

    /// Does a job at once, whatever the context's other work waits for: for a queue that is given nothing else.
    pub(in crate::driver) fn begin(self: &Arc<Self>, job: Job) -> Outcome<Arc<Completion>> {
        let done = Completion::of(self);
        self.push(Task { after: Vec::new(), job, done: Arc::clone(&done), ticket: None })?;
        self.hurry();
        Ok(done)
    }

    /// Waits while the queue is full: called before a submission, without holding a lock that work or other submitters could need.
    ///
    /// A host function that a stream calls does not wait, because the work that fills the queue may be ordered after that
    /// function.
    pub(in crate::driver) fn wait_for_room(&self) {
        if state::in_callback() {
            return;
        }
        let mut tasks = lock(&self.tasks);
        while tasks.left.len() >= MOST_WAITING {
            tasks = self.room.wait(tasks).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn push(self: &Arc<Self>, task: Task) -> Outcome {
        let mut tasks = lock(&self.tasks);
        match tasks.worker {
            Worker::None => workers::start(self)?,
            Worker::Asleep => self.ready.notify_one(),
            Worker::Awake | Worker::Naps => {}
        }
        if tasks.worker != Worker::Naps {
            tasks.worker = Worker::Awake;
        }
        tasks.left.push_back(task);
        Ok(())
    }

    /// The main loop of the queue's thread.
    pub(super) fn work(&self) {
        while let Some(task) = self.next() {
            task.after.iter().for_each(|completion| completion.wait());
            task.run();
        }
    }

    /// Makes the thread end soon, if there is one.
    pub(super) fn hurry(&self) {
        lock(&self.tasks).hurries = true;
        self.ready.notify_one();
    }

    /// Makes the thread check for work now if it naps.
    pub(super) fn rouse(&self) {
        let mut tasks = lock(&self.tasks);
        if tasks.worker == Worker::Naps && !tasks.left.is_empty() {
            tasks.worker = Worker::Awake;
            self.ready.notify_one();
        }
    }

    /// The next task; `None` when none came for a while: this thread is then no longer the queue's.
    fn next(&self) -> Option<Task> {
        let mut tasks = lock(&self.tasks);
        let mut waited = false;
        loop {
            if let Some(task) = self.take(&mut tasks) {
                return Some(task);
            }
            if waited || tasks.hurries {
                tasks.worker = Worker::None;
                return None;
            }
            let naps = std::mem::take(&mut tasks.helped);
            let (worker, time) = if naps { (Worker::Naps, NAP) } else { (Worker::Asleep, LINGER) };
            tasks.worker = worker;
            let (guard, timeout) =
                self.ready.wait_timeout(tasks, time).unwrap_or_else(PoisonError::into_inner);
            tasks = guard;
            tasks.worker = Worker::Awake;
            waited = !naps && timeout.timed_out();
        }
    }

    /// The next task, for a thread that waits for `end`, a point of this queue: `None` if the task comes after that, cannot begin now, or
    /// is for the queue's thread.
    pub(super) fn take_before(&self, end: &Completion) -> Option<Task> {
        let mut tasks = lock(&self.tasks);
        // The order of these checks matters: a task after `end` is not ready before `end` is done.
        let ready = tasks.left.front().is_some_and(Task::is_ready) && !end.is_done();
        tasks.helped |= ready;
        if ready { self.take(&mut tasks) } else { None }
    }

    fn take(&self, tasks: &mut Tasks) -> Option<Task> {
        if tasks.left.len() == MOST_WAITING {
            self.room.notify_all();
        }
        tasks.left.pop_front()
    }
}

impl Task {
    /// Whether any thread can do it now.
    fn is_ready(&self) -> bool {
        matches!(self.job, Job::Point | Job::Run(_))
            && self.after.iter().all(|completion| completion.is_done())
    }

    /// Does the job. Its dependencies are done.
    pub(super) fn run(mut self) {
        let Some(state) = state::get() else { return };
        let job = std::mem::replace(&mut self.job, Job::Point);
        let _here = self.ticket.as_mut().map(|ticket| ticket.enter());
        let fault = state.fault.check().err();
        let job = || match (job, fault) {
            (Job::Run(run) | Job::Call(run), None) => run(),
            (Job::Notify(call), fault) => {
                current_work::host_function(|| call(fault.unwrap_or(CUresult::CUDA_SUCCESS)));
                Ok(())
            }
            (Job::Point | Job::Run(_) | Job::Call(_), _) => Ok(()),
        };
        match catch_unwind(AssertUnwindSafe(job)) {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => state.fault.raise(*fault),
            Err(_) => {
                crate::driver::report::line(format_args!(
                    "internal error (the panic above), please report it"
                ));
                state.fault.latch(CUresult::CUDA_ERROR_UNKNOWN);
            }
        }
    }
}
