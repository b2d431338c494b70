//! Whatever ends late, elsewhere or beside others: it ends, and nothing is left in the driver.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;

use alone::alone;
use cuda_harness::{Ledger, Spy, skipped, wait_until};
use cuda_launch::diagnostics::LogListener;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::RegisterFlags;
use cuda_launch::operation::{DeviceOperation, SingleStream, block_on, value, with_context, zeroed};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

fn spied() -> (Spy, CudaContext) {
    let spy = Spy::over(&cuda_launch::default_driver().unwrap()).unwrap();
    let context = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    (spy, context)
}

/// What is left when nothing more goes.
fn left(spy: &Spy) -> Ledger {
    // The caller says what is left.
    let _ = wait_until("all is released", || spy.ledger().live().is_empty());
    spy.ledger()
}

#[track_caller]
fn assert_nothing_left(spy: &Spy) {
    let ledger = left(spy);
    assert!(ledger.live().is_empty() && ledger.is_clean(), "{ledger}");
}

fn in_host_function(error: Result<(), Error>) -> bool {
    error.is_err_and(|error| matches!(error.kind(), ErrorKind::InHostCallback(_)))
}

#[test]
fn a_capture_ends_while_threads_try_its_stream_again_and_again() {
    const THREADS: usize = 16;
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let outside = ctx.new_stream().unwrap();
    let mut buffers =
        (0..THREADS).map(|_| DeviceBuffer::<u32>::zeroed(&outside, 8).unwrap()).collect::<Vec<_>>();
    let (given, started, over) = (OnceLock::<CudaStream>::new(), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let (given, started, over) = (&given, &started, &over);
        for buffer in &mut buffers {
            scope.spawn(move || {
                let stream = loop {
                    match given.get() {
                        Some(stream) => break stream,
                        None => thread::yield_now(),
                    }
                };
                started.fetch_add(1, Ordering::SeqCst);
                // Recorded at first, refused later.
                while !over.load(Ordering::SeqCst) {
                    let _ = buffer.view_mut().set_zero(stream);
                }
            });
        }
        let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| {
            given.set(stream.clone()).unwrap();
            while started.load(Ordering::SeqCst) < THREADS {
                thread::yield_now();
            }
            Ok(())
        });
        over.store(true, Ordering::SeqCst);
        let exec = graph.unwrap().instantiate(InstantiateFlags::empty()).unwrap();
        drop(exec);
    });
}

#[test]
fn a_loan_ends_while_two_threads_capture_in_turn() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 1000).unwrap();
    let (captures, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    let captured = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |_| {
                        thread::sleep(Duration::from_millis(2));
                        Ok(())
                    });
                    drop(captured.unwrap());
                    captures.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while captures.load(Ordering::SeqCst) < 4 {
            thread::yield_now();
        }
        let mut data = vec![1_u32; 1000];
        let lent = ctx.with_registered(&mut data, RegisterFlags::empty(), |pinned| {
            // Nobody else has a handle of this stream, and its thread ends.
            let copy = || buffer.view_mut().copy_from_pinned(&ctx.per_thread_stream(), pinned.as_view());
            thread::scope(|scope| scope.spawn(copy).join().unwrap())
        });
        over.store(true, Ordering::SeqCst);
        lent.unwrap();
    });
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [1; 1000]);
}

#[test]
fn forks_that_are_made_while_the_capture_ends_go_with_it() {
    let _alone = alone();
    let (spy, ctx) = spied();
    let before = spy.ledger().live().len();
    for round in 0..3000 {
        let (sender, receiver) = mpsc::channel::<CudaStream>();
        thread::scope(|scope| {
            scope.spawn(move || {
                let stream = receiver.recv().unwrap();
                while stream.fork().is_ok() {}
            });
            // Not joined, it breaks the capture; that is told.
            let _ = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| {
                sender.send(stream.clone()).unwrap();
                (0..round % 50 * 20).for_each(|_| std::hint::spin_loop());
                if round % 3 == 0 {
                    thread::yield_now();
                }
                Ok(())
            });
        });
        ctx.synchronize().unwrap();
        assert_eq!(spy.ledger().live().len(), before, "round {round}");
        spy.clear();
    }
    drop(ctx);
    assert_nothing_left(&spy);
}

struct Noted(#[allow(dead_code)] CudaStream, Arc<AtomicBool>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.1.store(true, Ordering::SeqCst);
    }
}

#[test]
fn what_an_operation_keeps_on_the_stream_of_an_ended_capture_is_dropped() {
    let _alone = alone();
    let (spy, ctx) = spied();
    let mut stale = None;
    let captured = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| {
        stale = Some(stream.clone());
        Ok(())
    });
    drop(captured.unwrap());
    let (stale, ended) = (stale.unwrap(), Arc::new(AtomicBool::new(false)));
    // In a branch, too: it belongs to the chain.
    for in_branch in [false, true] {
        ended.store(false, Ordering::SeqCst);
        let kept = Noted(stale.clone(), ended.clone());
        let operation = with_context(move |cx| {
            if in_branch {
                cx.branches().branch(|cx| cx.keep(kept));
            } else {
                cx.keep(kept);
            }
            value(())
        });
        let _ = operation.submit_on(&stale);
        assert!(ended.load(Ordering::SeqCst), "in a branch: {in_branch}");
    }
    drop((stale, ctx));
    assert_nothing_left(&spy);
}

#[test]
fn a_context_that_ends_in_a_host_function_leaves_nothing_that_it_made_for_itself() {
    let _alone = alone();
    // Another user of the primary context, which does not end here.
    let other = CudaContext::new(0).unwrap();
    let (spy, ctx) = spied();
    let stream = ctx.new_stream().unwrap();
    // An event, for a future that waits.
    let (sender, receiver) = mpsc::channel::<()>();
    stream.call_host(move || _ = receiver.recv()).unwrap();
    let future = zeroed::<u8>(4).schedule(Arc::new(SingleStream::new(&stream))).future();
    let waiting = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(sender);
    });
    drop(block_on(future).unwrap());
    waiting.join().unwrap();
    // A stream, for memory that several streams use.
    let (a, b) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::zeroed(&a, 8).unwrap();
    let _ = buffer.as_device_ptr();
    buffer.view_mut().set_zero(&b).unwrap();
    drop(buffer);
    ctx.synchronize().unwrap();
    // The last owner is the host function.
    let (sender, receiver) = mpsc::channel::<()>();
    stream.call_host(move || _ = receiver.recv()).unwrap();
    drop((a, b, stream, ctx));
    drop(sender);
    assert_nothing_left(&spy);
    other.synchronize().unwrap();
}

#[test]
fn what_is_closed_in_a_host_function_is_refused_and_goes_elsewhere() {
    let _alone = alone();
    let (spy, ctx) = spied();
    let work = ctx.new_stream().unwrap();
    let (stream, event) = (ctx.new_stream().unwrap(), ctx.new_event().unwrap());
    let (timing, graph) = (ctx.new_timing_event().unwrap(), CudaGraph::new(&ctx).unwrap());
    // Of another graph, which it keeps.
    let exec = CudaGraph::new(&ctx).unwrap().instantiate(InstantiateFlags::empty()).unwrap();
    let buffer = DeviceBuffer::<u32>::zeroed(&work, 8).unwrap();
    work.synchronize().unwrap();
    let (sender, refused) = mpsc::channel();
    work.call_host(move || {
        let closed =
            [stream.close(), event.close(), timing.close(), exec.close(), graph.close(), buffer.close()];
        sender.send(closed.map(in_host_function)).unwrap();
    })
    .unwrap();
    assert_eq!(refused.recv().unwrap(), [true; 6]);
    drop((work, ctx));
    assert_nothing_left(&spy);
}

#[test]
fn a_context_that_is_closed_in_a_host_function_goes_elsewhere() {
    let _alone = alone();
    let (spy, ctx) = spied();
    let (_, other) = spied();
    let (work, (sender, refused)) = (other.new_stream().unwrap(), mpsc::channel());
    work.call_host(move || sender.send(in_host_function(ctx.close())).unwrap()).unwrap();
    assert!(refused.recv().unwrap());
    work.synchronize().unwrap();
    assert_nothing_left(&spy);
}

#[test]
fn a_listener_launches_the_graph_whose_change_was_refused() {
    type Act = Box<dyn FnOnce() + Send>;
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    if !ctx.device_name().unwrap().contains("emulator") {
        return skipped("a GPU's driver waits for itself where a listener of its log calls it");
    }
    let act: Arc<Mutex<Option<Act>>> = Arc::default();
    let taken = act.clone();
    let listener = LogListener::new(ctx.driver(), move |_, _| {
        let act = taken.lock().unwrap().take();
        act.into_iter().for_each(|act| act());
    });
    let _listener = listener.unwrap();
    let stream = ctx.new_stream().unwrap();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let memory = graph.add_alloc::<u32>(&[], 8).unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    exec.launch(&stream).unwrap();
    let (sender, heard) = mpsc::channel();
    // The memory of the first launch was not freed: a second one is refused.
    *act.lock().unwrap() = Some(Box::new(move || sender.send(exec.launch(&stream).is_err()).unwrap()));
    assert!(graph.add_free(&[memory.node()], &memory).is_err(), "it was instantiated without that");
    assert_eq!(heard.try_recv(), Ok(true));
}
