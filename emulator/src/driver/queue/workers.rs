//! The threads of queues: those of an instance are known, so that it ends with none of them left.

use cuda_driver_sys::CUresult;
use std::sync::{Arc, Mutex, Weak};
use std::thread::{Builder, JoinHandle};

use super::Queue;
use crate::driver::entry::Outcome;
use crate::driver::slot::{self, PerSlot, per_slot};
use crate::driver::slot_use;
use crate::driver::state::lock;

/// A thread and its queue.
struct Worker {
    thread: JoinHandle<()>,
    queue: Weak<Queue>,
}

/// Those that have not ended, and some that have; none for the process, which does not wait for them.
static WORKERS: PerSlot<Mutex<Vec<Worker>>> = per_slot!(Mutex::new(Vec::new()));

/// Starts the thread of a queue.
pub(super) fn start(queue: &Arc<Queue>) -> Outcome {
    let name = format!("cuda-emulator stream {}", queue.id);
    let own = Arc::clone(queue);
    let work = move || {
        let _within = slot_use::work_for(own.slot);
        own.work();
        drop(own);
    };
    let thread = Builder::new().name(name).spawn(work).map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)?;
    if queue.slot != slot::PROCESS {
        let mut workers = lock(WORKERS.of(queue.slot));
        workers.retain(|worker| !worker.thread.is_finished());
        workers.push(Worker { thread, queue: Arc::downgrade(queue) });
    }
    Ok(())
}

/// Waits until the threads of the current slot have ended: they have nothing to do any more, or will soon.
pub(in crate::driver) fn join() {
    let workers = std::mem::take(&mut *lock(&WORKERS));
    workers.iter().filter_map(|worker| worker.queue.upgrade()).for_each(|queue| queue.hurry());
    for worker in workers {
        // Jobs do not unwind: it ends well.
        let _ = worker.thread.join();
    }
}
