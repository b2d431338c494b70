//! Giving work to a stream, and the thread that does it.

use cuda_driver_sys::CUresult;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Completion, Stream};
use crate::driver::entry::Outcome;
use crate::driver::graph::capture::record::outside;
use crate::driver::state::{self, lock};
use crate::engine::Fault;

/// What is to be done.
pub(in crate::driver) enum Work {
    /// Nothing: a point in the order.
    Point,
    /// Something for the device. It is not begun after a fault.
    Run(Box<dyn FnOnce() -> Result<(), Box<Fault>> + Send>),
    /// A host function. It is not called after a fault.
    Host(Box<dyn FnOnce() + Send>),
    /// A callback. It is called after a fault too, with its code.
    Notify(Box<dyn FnOnce(CUresult) + Send>),
}

/// A piece of work in a queue. Done when dropped, whatever becomes of it.
pub(in crate::driver) struct Task {
    after: Vec<Arc<Completion>>,
    work: Work,
    done: Arc<Completion>,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.done.complete();
    }
}

/// The tasks of a stream and whether a thread is at work on them.
#[derive(Default)]
pub(super) struct Queue {
    tasks: VecDeque<Task>,
    worker: bool,
}

/// How long a stream's thread waits for more work before it ends.
const LINGER: Duration = Duration::from_millis(50);

impl Stream {
    /// Gives work to the stream, to be done after `after` and after all that the stream waits for.
    pub(in crate::driver) fn submit(
        self: &Arc<Self>,
        after: impl IntoIterator<Item = Arc<Completion>>,
        work: Work,
    ) -> Outcome<Arc<Completion>> {
        // What can be captured never comes here.
        outside(self)?;
        let streams = lock(&self.context.order);
        let mut before = self.before(&streams);
        before.extend(after.into_iter().filter(|completion| !completion.is_done()));
        let done = Arc::new(Completion::default());
        let task = Task { after: before, work, done: Arc::clone(&done) };
        if task.after.is_empty() && matches!(task.work, Work::Point) {
            // A point that is already passed needs no thread: dropped, it is done.
            drop(task);
        } else {
            self.push(task)?;
        }
        *lock(&self.last) = Arc::clone(&done);
        Ok(done)
    }

    /// Does work in the stream's order, but on this thread, which waits for its turn: for functions that return when
    /// the work is done.
    pub(in crate::driver) fn perform<T>(&self, work: impl FnOnce() -> T) -> T {
        let done = Arc::new(Completion::default());
        let before = {
            let streams = lock(&self.context.order);
            let before = self.before(&streams);
            *lock(&self.last) = Arc::clone(&done);
            before
        };
        // Others wait for this: done when it leaves here, by a panic too.
        let task = Task { after: before, work: Work::Point, done };
        task.after.iter().for_each(|completion| completion.wait());
        work()
    }

    /// Like [`submit`](Self::submit), but on this thread if the stream has nothing to wait for: for work that is over
    /// sooner than a thread is woken.
    pub(in crate::driver) fn submit_small(
        self: &Arc<Self>,
        work: impl FnOnce() -> Result<(), Box<Fault>> + Send + 'static,
    ) -> Outcome {
        outside(self)?;
        let done = Arc::new(Completion::default());
        {
            let streams = lock(&self.context.order);
            if !self.before(&streams).is_empty() {
                drop(streams);
                return self.submit(None, Work::Run(Box::new(work))).map(|_| ());
            }
            *lock(&self.last) = Arc::clone(&done);
        }
        let task = Task { after: Vec::new(), work: Work::Run(Box::new(work)), done };
        task.run();
        Ok(())
    }

    fn push(self: &Arc<Self>, task: Task) -> Outcome {
        let mut queue = lock(&self.queue);
        if !queue.worker {
            let stream = Arc::clone(self);
            let thread = std::thread::Builder::new().name(format!("cuda-emulator stream {}", self.id));
            thread.spawn(move || stream.work()).map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)?;
            queue.worker = true;
        }
        queue.tasks.push_back(task);
        self.ready.notify_one();
        Ok(())
    }

    /// The stream's thread.
    fn work(&self) {
        while let Some(task) = self.next() {
            task.after.iter().for_each(|completion| completion.wait());
            task.run();
        }
    }

    /// The next task; `None` when none came for a while: this thread is then no longer the stream's.
    fn next(&self) -> Option<Task> {
        let mut queue = lock(&self.queue);
        let mut waited = false;
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                return Some(task);
            }
            if waited {
                queue.worker = false;
                return None;
            }
            let (guard, timeout) =
                self.ready.wait_timeout(queue, LINGER).unwrap_or_else(PoisonError::into_inner);
            queue = guard;
            waited = timeout.timed_out();
        }
    }
}

impl Task {
    /// Does the work. What it waits for is done.
    fn run(mut self) {
        let Some(state) = state::get() else { return };
        let work = std::mem::replace(&mut self.work, Work::Point);
        let fault = state.fault.check().err();
        let work = || match (work, fault) {
            (Work::Run(run), None) => run(),
            (Work::Host(call), None) => {
                call();
                Ok(())
            }
            (Work::Notify(call), fault) => {
                call(fault.unwrap_or(CUresult::CUDA_SUCCESS));
                Ok(())
            }
            (Work::Point | Work::Run(_) | Work::Host(_), _) => Ok(()),
        };
        match catch_unwind(AssertUnwindSafe(work)) {
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
