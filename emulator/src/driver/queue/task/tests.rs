//! Who has a queue's thread begin that naps: everybody who waits for its work without doing it, or asks whether it is done. In these tests a
//! nap is longer than anybody waits.
#![allow(unsafe_code)] // Driver functions, with handles that they made and places that outlive the calls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::undocumented_unsafe_blocks)]

use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, ThreadId, spawn, yield_now};
use std::time::Instant;

use super::super::{Kind, Order};
use super::*;

/// What happens, does so before that.
const SOON: Duration = Duration::from_secs(20);

const NOTHING: &core::ffi::CStr =
    c".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }";

/// `work` ends soon, on a thread of its own.
#[track_caller]
fn ends(work: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = channel();
    spawn(move || {
        work();
        let _ = sender.send(());
    });
    receiver.recv_timeout(SOON).expect("it ended, and soon");
}

/// A queue whose thread naps.
fn napping(order: &Arc<Order>, kind: Kind) -> Arc<Queue> {
    assert_eq!(unsafe { crate::driver().cuInit(0) }, CUresult::SUCCESS);
    let queue = order.add(kind);
    nap(&queue);
    queue
}

/// Has the queue's thread nap.
fn nap(queue: &Arc<Queue>) {
    let start = Instant::now();
    while lock(&queue.tasks).worker != Worker::Naps {
        assert!(start.elapsed() < SOON, "its thread naps");
        // As if another thread had done work. It may see that before it does this.
        lock(&queue.tasks).helped = true;
        queue.submit(None, nothing()).unwrap().wait();
        while lock(&queue.tasks).worker == Worker::Awake {
            assert!(start.elapsed() < SOON, "its thread sleeps");
            yield_now();
        }
    }
}

fn nothing() -> Job {
    Job::Run(Box::new(|| Ok(())))
}

#[test]
fn who_waits_for_work_of_another_queue_rouses_it() {
    let order = Arc::default();
    let (first, second) = (napping(&order, Kind::NonBlocking), napping(&order, Kind::NonBlocking));
    let done = first.submit(None, nothing()).unwrap();
    let behind = second.submit([Arc::clone(&done)], nothing()).unwrap();
    // It rouses the second queue; that queue's thread, the first one.
    ends(move || behind.wait());
    assert!(done.is_done());
}

#[test]
fn who_waits_in_a_function_of_a_stream_leaves_the_work_to_its_thread() {
    let order = Arc::default();
    let (first, second) = (napping(&order, Kind::NonBlocking), napping(&order, Kind::NonBlocking));
    let (sender, receiver) = channel();
    let work = move || {
        let _ = sender.send(thread::current().id());
        Ok(())
    };
    let done = first.submit(None, Job::Run(Box::new(work))).unwrap();
    let (at, waited) = channel();
    let call = move || {
        state::enter_callback(1, || done.wait_at_work());
        let _ = at.send(thread::current().id());
        Ok(())
    };
    let called = second.submit(None, Job::Call(Box::new(call))).unwrap();
    ends(move || called.wait_at_work());
    let threads: [ThreadId; 2] = [receiver.recv().unwrap(), waited.recv().unwrap()];
    assert!(threads[0] != threads[1]);
}

#[test]
fn several_wait_for_work_that_only_the_queues_thread_does() {
    let queue = napping(&Arc::default(), Kind::Blocking);
    for _ in 0..50 {
        let order = Arc::new(AtomicU32::new(0));
        let step = |number: u32| {
            let order = Arc::clone(&order);
            Box::new(move || {
                let _ = order.compare_exchange(number, number + 1, Ordering::AcqRel, Ordering::Acquire);
                Ok(())
            })
        };
        let jobs = [Job::Run(step(0)), Job::Call(step(1)), Job::Run(step(2)), Job::Call(step(3))];
        let points = jobs.map(|job| queue.submit(None, job).unwrap());
        let waits = points.map(|point| spawn(move || ends(move || point.wait_at_work())));
        waits.into_iter().for_each(|wait| wait.join().unwrap());
        assert_eq!(order.load(Ordering::Acquire), 4, "each once, in order");
    }
}

#[test]
fn who_asks_whether_it_is_done_rouses_it() {
    let order = Arc::default();
    let (own, legacy) = (napping(&order, Kind::Blocking), order.add(Kind::Legacy));
    for asked in [Arc::clone(&own), legacy] {
        nap(&own);
        own.submit(None, nothing()).unwrap();
        ends(move || {
            while !asked.is_idle() {
                yield_now();
            }
        });
    }
}

#[test]
fn who_asks_for_an_event_rouses_its_queue() {
    let cuda = crate::driver();
    let (mut context, mut stream, mut event) = (null_mut(), null_mut(), null_mut());
    let (mut module, mut function) = (null_mut(), null_mut());
    let ok = |code| assert_eq!(code, CUresult::SUCCESS);
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    ok(unsafe { cuda.cuStreamCreate(&mut stream, 1) });
    ok(unsafe { cuda.cuEventCreate(&mut event, 2) });
    ok(unsafe { cuda.cuModuleLoadData(&mut module, NOTHING.as_ptr().cast()) });
    ok(unsafe { cuda.cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()) });
    let launch = || {
        ok(unsafe { cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut()) });
    };
    // This thread does the work; the stream's naps, if it came to that. From here nobody sees it.
    for _ in 0..10 {
        launch();
        ok(unsafe { cuda.cuStreamSynchronize(stream) });
        thread::sleep(Duration::from_millis(2));
    }
    launch();
    ok(unsafe { cuda.cuEventRecord(event, stream) });
    let start = Instant::now();
    while let code = unsafe { cuda.cuEventQuery(event) }
        && code != CUresult::SUCCESS
    {
        assert!(code == CUresult::CUDA_ERROR_NOT_READY && start.elapsed() < SOON, "the event happens");
        yield_now();
    }
    ok(unsafe { cuda.cuCtxDestroy(context) });
}

#[test]
fn idle_queues_are_not_looked_at() {
    assert_eq!(unsafe { crate::driver().cuInit(0) }, CUresult::SUCCESS);
    let order = Arc::new(Order::default());
    let queues: Vec<_> = (0..1000).map(|_| order.add(Kind::Blocking)).collect();
    for _ in 0..3 {
        for queue in &queues {
            queue.submit(None, nothing()).unwrap().wait();
            assert!(lock(&order.ends).busy.len() < 10);
        }
        assert!(lock(&order.ends).unfinished().is_empty());
    }
}

/// Of work that is given to queues again and again, the last is what others wait for.
#[test]
fn the_legacy_queue_waits_for_every_busy_one_each_time() {
    assert_eq!(unsafe { crate::driver().cuInit(0) }, CUresult::SUCCESS);
    let order = Arc::new(Order::default());
    let [legacy, blocking, other, beside] =
        [order.add(Kind::Legacy), order.add(Kind::Blocking), order.add(Kind::PerThread), order.beside()];
    let apart = order.add(Kind::NonBlocking);
    for round in 0..3 {
        let gate = Arc::new(Completion::default());
        let last = [&blocking, &other, &apart, &beside].map(|queue| {
            queue.submit(None, nothing()).unwrap();
            queue.submit(Some(Arc::clone(&gate)), nothing()).unwrap()
        });
        assert_eq!(order.last().len(), 3, "{round}: all but the one beside");
        let after = legacy.before(&mut lock(&order.ends));
        let is = |work: &Arc<Completion>| after.iter().any(|other| Arc::ptr_eq(work, other));
        assert_eq!(last.each_ref().map(is), [true, true, false, false], "{round}");
        let work = legacy.submit(None, nothing()).unwrap();
        let waits = |queue: &Queue| {
            queue.before(&mut lock(&order.ends)).iter().any(|other| Arc::ptr_eq(&work, other))
        };
        let all = [&blocking, &other, &apart, &beside].map(|queue| waits(queue));
        assert_eq!(all, [true, true, false, false], "{round}");
        gate.complete();
        work.wait();
        last.iter().for_each(|work| work.wait());
        assert!(order.last().is_empty(), "{round}");
    }
}
