//! Streams that have been given as much as they take: whoever gives them more waits, and holds up nobody else.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use support::*;

/// Pieces of work that wait in a stream of the emulator.
const MOST_WAITING: usize = 4096;
/// Time after which something that does not wait has surely come.
const SOON: Duration = Duration::from_secs(60);

/// A stream, event or context for another thread.
fn handle<T>(address: usize) -> *mut T {
    without_provenance_mut(address)
}

fn count_one(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// What `program` does is over soon.
fn ends(program: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        program();
        let _ = sender.send(());
    });
    assert_ne!(receiver.recv_timeout(SOON), Err(mpsc::RecvTimeoutError::Timeout), "it hangs");
    thread.join().unwrap();
}

/// Gives the stream more functions than it takes, behind one that calls `inside` when the stream is full.
fn full(cuda: &Arc<Driver>, stream: usize, inside: impl FnOnce(&Driver) + Send + 'static) {
    let (given, own) = (Arc::new(AtomicUsize::new(0)), Arc::clone(cuda));
    let seen = Arc::clone(&given);
    let first = move || {
        let start = Instant::now();
        while seen.load(Ordering::Relaxed) < MOST_WAITING && start.elapsed() < SOON / 2 {
            thread::yield_now();
        }
        inside(&own);
    };
    ok(host_function(cuda, handle(stream), first));
    for _ in 0..MOST_WAITING + 100 {
        ok(host_function(cuda, handle(stream), || ()));
        given.fetch_add(1, Ordering::Relaxed);
    }
    ok(unsafe { cuda.cuStreamSynchronize(handle(stream)) });
}

#[test]
fn a_function_gives_work_to_its_own_stream_which_is_full() {
    ends(|| {
        let (cuda, _) = with_own_context();
        let (stream, event, memory) = (stream(&cuda, 1), event(&cuda, 2).addr(), alloc(&cuda, 4));
        let (called, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (count, codes, own) = (Arc::clone(&called), Arc::clone(&calls), stream.addr());
        full(&cuda, stream.addr(), move |cuda| {
            let mut codes = codes.lock().unwrap();
            let again = Arc::clone(&count);
            let call = move || count_one(&again);
            codes.push(host_function(cuda, handle(own), call));
            let again = Arc::clone(&count);
            let call = move |_| count_one(&again);
            codes.push(callback(cuda, handle(own), call));
            codes.push(unsafe { cuda.cuMemsetD8Async(memory, 7, 4, handle(own)) });
            codes.push(unsafe { cuda.cuEventRecord(handle(event), handle(own)) });
            codes.push(unsafe { cuda.cuStreamWaitEvent(handle(own), handle(event), 0) });
        });
        calls.lock().unwrap().iter().for_each(|code| ok(*code));
        assert_eq!(calls.lock().unwrap().len(), 5);
        assert_eq!(called.load(Ordering::Relaxed), 2);
        assert_eq!(read(&cuda, memory, 4), [7; 4]);
    });
}

#[test]
fn a_function_gives_work_to_a_full_stream_that_waits_for_it() {
    ends(|| {
        let (cuda, context) = with_own_context();
        let (first, second, event) = (stream(&cuda, 1), stream(&cuda, 1), event(&cuda, 2));
        let (given, called) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (seen, count, own, other) =
            (Arc::clone(&given), Arc::clone(&called), Arc::clone(&cuda), second.addr());
        let function = move || {
            while seen.load(Ordering::Relaxed) < MOST_WAITING {
                thread::yield_now();
            }
            ok(host_function(&own, handle(other), move || count_one(&count)));
        };
        ok(host_function(&cuda, first, function));
        ok(unsafe { cuda.cuEventRecord(event, first) });
        ok(unsafe { cuda.cuStreamWaitEvent(second, event, 0) });
        let (filler, context) = (Arc::clone(&cuda), context.addr());
        let filler = thread::spawn(move || {
            ok(unsafe { filler.cuCtxSetCurrent(handle(context)) });
            for _ in 0..MOST_WAITING + 100 {
                ok(host_function(&filler, handle(other), || ()));
                given.fetch_add(1, Ordering::Relaxed);
            }
        });
        filler.join().unwrap();
        ok(unsafe { cuda.cuCtxSynchronize() });
        assert_eq!(called.load(Ordering::Relaxed), 1);
    });
}

/// Threads give a full stream launches that record events: while they wait, functions of the stream record others.
#[test]
fn who_waits_for_room_with_a_launch_keeps_no_function_from_recording_an_event() {
    ends(|| {
        let (cuda, context) = with_own_context();
        let (nop, context) = (function(&cuda, load(&cuda, KERNELS), "nop").addr(), context.addr());
        let (shared, beside, noted) =
            (stream(&cuda, 1).addr(), stream(&cuda, 1).addr(), event(&cuda, 2).addr());
        let record = |cuda: &Arc<Driver>| {
            let own = Arc::clone(cuda);
            let function = move || ok(unsafe { own.cuEventRecord(handle(noted), handle(beside)) });
            ok(host_function(cuda, handle(shared), function));
        };
        let mut held = Busy::new(&cuda, handle(shared));
        (1..MOST_WAITING).for_each(|_| record(&cuda));
        thread::scope(|scope| {
            for _ in 0..3 {
                let cuda = &cuda;
                scope.spawn(move || {
                    ok(unsafe { cuda.cuCtxSetCurrent(handle(context)) });
                    let mut value = CUlaunchAttributeValue::default();
                    let event = event(cuda, 2);
                    value.launchCompletionEvent =
                        CUlaunchAttributeValue_launchCompletionEvent { event, flags: 0 };
                    let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
                    let mut attribute = CUlaunchAttribute { id, value, ..Default::default() };
                    let config = CUlaunchConfig {
                        gridDimX: 1,
                        gridDimY: 1,
                        gridDimZ: 1,
                        blockDimX: 1,
                        blockDimY: 1,
                        blockDimZ: 1,
                        hStream: handle(shared),
                        attrs: &mut attribute,
                        numAttrs: 1,
                        ..Default::default()
                    };
                    for _ in 0..2000 {
                        ok(unsafe { cuda.cuLaunchKernelEx(&config, handle(nop), null_mut(), null_mut()) });
                        record(cuda);
                    }
                });
            }
            thread::sleep(Duration::from_millis(100));
            held.release();
        });
        ok(unsafe { cuda.cuCtxSynchronize() });
    });
}

/// The same with graphs, which other threads ask something meanwhile.
#[test]
fn who_waits_for_room_with_a_graph_keeps_nobody_from_the_graph() {
    ends(|| {
        let (cuda, context) = with_own_context();
        let (context, shared) = (context.addr(), stream(&cuda, 1).addr());
        let (mut graph, mut exec) = (null_mut(), null_mut());
        ok(unsafe { cuda.cuGraphCreate(&mut graph, 0) });
        ok(unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0) });
        let (graph, exec) = (graph.addr(), exec.addr());
        // A thread that changes the graph when a function asks it to, and tells when it has.
        let (ask, asked) = mpsc::channel::<mpsc::Sender<()>>();
        let own = Arc::clone(&cuda);
        let changer = thread::spawn(move || {
            ok(unsafe { own.cuCtxSetCurrent(handle(context)) });
            for done in asked {
                let mut info = CUgraphExecUpdateResultInfo::default();
                ok(unsafe { own.cuGraphExecUpdate(handle(exec), handle(graph), &mut info) });
                let _ = done.send(());
            }
        });
        let change = |cuda: &Arc<Driver>, ask: &mpsc::Sender<mpsc::Sender<()>>| {
            let ask = ask.clone();
            let function = move || {
                let (done, is_done) = mpsc::channel();
                ask.send(done).unwrap();
                is_done.recv().unwrap();
            };
            ok(host_function(cuda, handle(shared), function));
        };
        let mut held = Busy::new(&cuda, handle(shared));
        (1..MOST_WAITING).for_each(|_| change(&cuda, &ask));
        thread::scope(|scope| {
            for _ in 0..3 {
                let (cuda, ask) = (&cuda, ask.clone());
                scope.spawn(move || {
                    ok(unsafe { cuda.cuCtxSetCurrent(handle(context)) });
                    for _ in 0..2000 {
                        ok(unsafe { cuda.cuGraphLaunch(handle(exec), handle(shared)) });
                        change(cuda, &ask);
                    }
                });
            }
            thread::sleep(Duration::from_millis(100));
            held.release();
        });
        ok(unsafe { cuda.cuCtxSynchronize() });
        drop(ask);
        changer.join().unwrap();
    });
}
