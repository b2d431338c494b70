//! Streams are asynchronous, each in order; events and the legacy stream order them; what waits and what does not.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use support::*;

/// Time after which something that does not wait has surely come.
const SOON: Duration = Duration::from_secs(20);
/// Time that something is given to come too early.
const EARLY: Duration = Duration::from_millis(30);

fn sync(cuda: &Driver, stream: CUstream) {
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
}

/// Does `call` on another thread, with the context current, while `stream` is busy; `check` is told when it returned:
/// before the stream is released it gets the chance to look.
fn while_busy(
    cuda: &Arc<Driver>,
    context: CUcontext,
    stream: CUstream,
    call: impl FnOnce(&Driver) + Send,
    check: impl FnOnce(&mpsc::Receiver<()>),
) {
    let mut held = Busy::new(cuda, stream);
    let context = context.addr();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            ok(unsafe { cuda.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)) });
            call(cuda);
            sender.send(()).unwrap();
        });
        check(&receiver);
        held.release();
    });
    ok(unsafe { cuda.cuCtxSynchronize() });
}

/// `call` waits for the stream.
fn waits(cuda: &Arc<Driver>, context: CUcontext, stream: CUstream, call: impl FnOnce(&Driver) + Send) {
    while_busy(cuda, context, stream, call, |returned| assert!(returned.recv_timeout(EARLY).is_err()));
}

/// `call` does not.
fn returns(cuda: &Arc<Driver>, context: CUcontext, stream: CUstream, call: impl FnOnce(&Driver) + Send) {
    while_busy(cuda, context, stream, call, |returned| returned.recv_timeout(SOON).expect("it returns"));
}

#[test]
fn a_blocked_stream_does_not_block_another() {
    let (cuda, _) = with_own_context();
    let (a, b, memory) = (stream(&cuda, 0), stream(&cuda, 0), alloc(&cuda, 4));
    let store = function(&cuda, load(&cuda, KERNELS), "store");
    let held = Busy::new(&cuda, a);
    let (mut target, mut number) = (memory, 7_u32);
    ok(launch(&cuda, store, a, &mut [argument(&mut target), argument(&mut number)]));
    number = 8;
    ok(launch(&cuda, store, b, &mut [argument(&mut target), argument(&mut number)]));
    sync(&cuda, b);
    let mut seen = 0_u32;
    ok(unsafe { cuda.cuMemcpyDtoHAsync(argument(&mut seen), memory, 4, b) });
    assert_eq!(seen, 8, "a copy to pageable memory is done when the call returns");
    assert_eq!(unsafe { cuda.cuStreamQuery(a) }, CUresult::CUDA_ERROR_NOT_READY);
    drop(held);
    sync(&cuda, a);
    assert_eq!(read(&cuda, memory, 4), 7_u32.to_ne_bytes());
}

#[test]
fn work_of_a_stream_is_in_order() {
    let (cuda, _) = with_own_context();
    let module = load(&cuda, KERNELS);
    let (store, add) = (function(&cuda, module, "store"), function(&cuda, module, "add"));
    let (stream, memory) = (stream(&cuda, 1), alloc(&cuda, 4));
    let (mut target, mut number) = (memory, 1_u32);
    ok(launch(&cuda, store, stream, &mut [argument(&mut target), argument(&mut number)]));
    let order = Arc::new(Mutex::new(Vec::new()));
    for turn in 0..50_u32 {
        number = turn;
        ok(launch(&cuda, add, stream, &mut [argument(&mut target), argument(&mut number)]));
        let order = Arc::clone(&order);
        ok(host_function(&cuda, stream, move || order.lock().unwrap().push(turn)));
    }
    sync(&cuda, stream);
    assert_eq!(*order.lock().unwrap(), (0..50).collect::<Vec<_>>());
    assert_eq!(read(&cuda, memory, 4), (1 + 49 * 50 / 2_u32).to_ne_bytes());
}

#[test]
fn an_event_makes_a_stream_wait_for_another() {
    let (cuda, _) = with_own_context();
    let (a, b, event) = (stream(&cuda, 1), stream(&cuda, 1), event(&cuda, 2));
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |stream, what: &'static str| {
        let order = Arc::clone(&order);
        ok(host_function(&cuda, stream, move || order.lock().unwrap().push(what)));
    };
    let held = Busy::new(&cuda, a);
    note(a, "before");
    ok(unsafe { cuda.cuEventRecord(event, a) });
    ok(unsafe { cuda.cuStreamWaitEvent(b, event, 0) });
    note(b, "after");
    // Recording it again does not change what the stream waits for.
    ok(unsafe { cuda.cuEventRecord(event, b) });
    assert_eq!(unsafe { cuda.cuEventQuery(event) }, CUresult::CUDA_ERROR_NOT_READY);
    std::thread::sleep(EARLY);
    assert!(order.lock().unwrap().is_empty());
    drop(held);
    ok(unsafe { cuda.cuEventSynchronize(event) });
    assert_eq!(*order.lock().unwrap(), ["before", "after"]);
}

#[test]
fn a_destroyed_event_is_still_waited_for() {
    let (cuda, _) = with_own_context();
    let (a, b, event) = (stream(&cuda, 1), stream(&cuda, 1), event(&cuda, 2));
    let held = Busy::new(&cuda, a);
    ok(unsafe { cuda.cuEventRecord(event, a) });
    ok(unsafe { cuda.cuStreamWaitEvent(b, event, 0) });
    ok(unsafe { cuda.cuEventDestroy(event) });
    assert_eq!(unsafe { cuda.cuStreamQuery(b) }, CUresult::CUDA_ERROR_NOT_READY);
    drop(held);
    sync(&cuda, b);
}

#[test]
fn elapsed_time_is_time() {
    let (cuda, _) = with_own_context();
    let (stream, start, end) = (stream(&cuda, 1), event(&cuda, 0), event(&cuda, 0));
    ok(unsafe { cuda.cuEventRecord(start, stream) });
    ok(host_function(&cuda, stream, || std::thread::sleep(Duration::from_millis(20))));
    ok(unsafe { cuda.cuEventRecord(end, stream) });
    ok(unsafe { cuda.cuEventSynchronize(end) });
    let mut milliseconds = 0.0;
    ok(unsafe { cuda.cuEventElapsedTime(&mut milliseconds, start, end) });
    assert!(milliseconds >= 20.0, "{milliseconds}");
}

#[test]
fn what_waits_for_a_busy_stream() {
    let (cuda, context) = with_own_context();
    let (side, blocking, legacy) = (stream(&cuda, 1), stream(&cuda, 0), CU_STREAM_LEGACY);
    let (memory, other, module) = (alloc(&cuda, 4096), alloc(&cuda, 64), load(&cuda, KERNELS).addr());
    let mut pinned = null_mut();
    ok(unsafe { cuda.cuMemAllocHost(&mut pinned, 4096) });
    let (pinned, side_again) = (pinned.expose_provenance(), side.addr());
    let pinned = || std::ptr::with_exposed_provenance_mut(pinned);
    let side_again = || std::ptr::without_provenance_mut(side_again);
    let module = || std::ptr::without_provenance_mut(module);
    // These wait for all work, whatever stream it is in.
    waits(&cuda, context, side, |cuda| ok(unsafe { cuda.cuMemFree(other) }));
    waits(&cuda, context, side, |cuda| ok(unsafe { cuda.cuModuleUnload(module()) }));
    waits(&cuda, context, side, |cuda| ok(unsafe { cuda.cuCtxSynchronize() }));
    // A copy to pageable memory waits for its stream.
    waits(&cuda, context, side, |cuda| {
        let mut host = [0_u8; 64];
        ok(unsafe { cuda.cuMemcpyDtoHAsync(host.as_mut_ptr().cast(), memory, 64, side_again()) });
    });
    // The legacy stream's copies wait for it and for blocking streams.
    for stream in [legacy, blocking] {
        waits(&cuda, context, stream, |cuda| ok(unsafe { cuda.cuMemcpyHtoD(memory, pinned(), 64) }));
        waits(&cuda, context, stream, |cuda| ok(unsafe { cuda.cuStreamSynchronize(null_mut()) }));
    }
    // These do not wait.
    returns(&cuda, context, side, |cuda| assert_ne!(alloc(cuda, 64), 0));
    returns(&cuda, context, side, |cuda| {
        ok(unsafe { cuda.cuMemcpyHtoDAsync(memory, [0_u8; 64].as_ptr().cast(), 64, side_again()) });
    });
    returns(&cuda, context, side, |cuda| {
        ok(unsafe { cuda.cuMemcpyDtoHAsync(pinned(), memory, 64, side_again()) });
    });
    returns(&cuda, context, side, |cuda| ok(unsafe { cuda.cuMemcpyHtoD(memory, pinned(), 64) }));
    returns(&cuda, context, side, |cuda| ok(unsafe { cuda.cuStreamSynchronize(null_mut()) }));
    returns(&cuda, context, legacy, |cuda| ok(unsafe { cuda.cuMemsetD8(memory, 0, 64) }));
    returns(&cuda, context, legacy, |cuda| ok(unsafe { cuda.cuMemcpyDtoD(memory, memory + 128, 64) }));
}

#[test]
fn legacy_and_blocking_streams_take_turns() {
    let (cuda, _) = with_own_context();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (a, b) = (stream(&cuda, 0), stream(&cuda, 0));
    let note = |stream, what: &'static str| {
        let order = Arc::clone(&order);
        ok(host_function(&cuda, stream, move || order.lock().unwrap().push(what)));
    };
    let held = Busy::new(&cuda, a);
    note(a, "a");
    note(null_mut(), "null");
    note(b, "b");
    drop(held);
    ok(unsafe { cuda.cuCtxSynchronize() });
    assert_eq!(*order.lock().unwrap(), ["a", "null", "b"]);
}

#[test]
fn each_thread_has_a_stream_of_its_own() {
    let (cuda, context) = with_own_context();
    let context = context.addr();
    let held = Busy::new(&cuda, CU_STREAM_PER_THREAD);
    let driver = Arc::clone(&cuda);
    let other = std::thread::spawn(move || {
        ok(unsafe { driver.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)) });
        ok(unsafe { driver.cuStreamQuery(CU_STREAM_PER_THREAD) });
        let mut id = 0;
        ok(unsafe { driver.cuStreamGetId(CU_STREAM_PER_THREAD, &mut id) });
        id
    });
    let mut id = 0;
    ok(unsafe { cuda.cuStreamGetId(CU_STREAM_PER_THREAD, &mut id) });
    assert_ne!(other.join().unwrap(), id);
    assert_eq!(unsafe { cuda.cuStreamQuery(CU_STREAM_PER_THREAD) }, CUresult::CUDA_ERROR_NOT_READY);
    drop(held);
    sync(&cuda, CU_STREAM_PER_THREAD);
}

#[test]
fn memory_freed_in_order_is_there_until_then() {
    let (cuda, _) = with_own_context();
    let (side, store) = (stream(&cuda, 1), function(&cuda, load(&cuda, KERNELS), "store"));
    let mut memory = 0;
    ok(unsafe { cuda.cuMemAllocAsync(&mut memory, 64, side) });
    let held = Busy::new(&cuda, side);
    let (mut target, mut number) = (memory, 7_u32);
    ok(launch(&cuda, store, side, &mut [argument(&mut target), argument(&mut number)]));
    let mut pinned = null_mut();
    ok(unsafe { cuda.cuMemAllocHost(&mut pinned, 4) });
    ok(unsafe { cuda.cuMemcpyDtoHAsync(pinned, memory, 4, side) });
    ok(unsafe { cuda.cuMemFreeAsync(memory, side) });
    drop(held);
    sync(&cuda, side);
    assert_eq!(unsafe { pinned.cast::<u32>().read() }, 7);
    assert_eq!(unsafe { cuda.cuMemFree(memory) }, CUresult::CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn sixteen_threads_do_everything_at_once() {
    let (cuda, context) = with_own_context();
    let context = context.addr();
    let module = load(&cuda, KERNELS).addr();
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..16_u32 {
            let (cuda, done) = (&cuda, &done);
            scope.spawn(move || {
                ok(unsafe { cuda.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)) });
                let module: CUmodule = std::ptr::without_provenance_mut(module);
                for round in 0..40_u32 {
                    mixed(cuda, module, thread * 1000 + round);
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.into_inner(), 16);
    ok(unsafe { cuda.cuCtxSynchronize() });
}

/// Whoever records an event and has a stream wait for it waits for what it gave before, whatever other threads record meanwhile.
#[test]
fn threads_that_record_one_event_wait_for_their_own_work() {
    const THREADS: usize = 8;
    let (cuda, context) = with_own_context();
    let (context, shared, event) = (context.addr(), stream(&cuda, 1).addr(), event(&cuda, 2).addr());
    let given: Arc<[AtomicU32; THREADS]> = Arc::default();
    let early = Arc::new(AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (cuda, given, early) = (&cuda, given.clone(), early.clone());
            scope.spawn(move || {
                ok(unsafe { cuda.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)) });
                let (shared, event) =
                    (std::ptr::without_provenance_mut(shared), std::ptr::without_provenance_mut(event));
                let own = stream(cuda, 1);
                for round in 1..=8000_u32 {
                    let set = given.clone();
                    ok(host_function(cuda, shared, move || set[thread].store(round, Ordering::Relaxed)));
                    ok(unsafe { cuda.cuEventRecord(event, shared) });
                    ok(unsafe { cuda.cuStreamWaitEvent(own, event, 0) });
                    let (seen, early) = (given.clone(), early.clone());
                    let check = move || {
                        let is_early = seen[thread].load(Ordering::Relaxed) < round;
                        early.fetch_add(u32::from(is_early), Ordering::Relaxed);
                    };
                    ok(host_function(cuda, own, check));
                }
            });
        }
    });
    ok(unsafe { cuda.cuCtxSynchronize() });
    assert_eq!(early.load(Ordering::Relaxed), 0);
}

/// One round of a thread: a stream, an event, memory, two kernels and a callback.
fn mixed(cuda: &Driver, module: CUmodule, seed: u32) {
    let stream = match seed % 4 {
        0 => null_mut(),
        1 => CU_STREAM_PER_THREAD,
        kind => stream(cuda, kind - 2),
    };
    let (event, memory) = (event(cuda, 0), alloc(cuda, 256));
    let (mut target, mut number) = (memory, seed);
    let mut arguments = [argument(&mut target), argument(&mut number)];
    ok(unsafe { cuda.cuMemsetD32Async(memory, 0, 64, stream) });
    ok(launch(cuda, function(cuda, module, "add"), stream, &mut arguments));
    ok(unsafe { cuda.cuEventRecord(event, stream) });
    ok(unsafe { cuda.cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0) });
    ok(launch(cuda, function(cuda, module, "add"), CU_STREAM_PER_THREAD, &mut arguments));
    let (sender, receiver) = mpsc::channel();
    ok(callback(cuda, CU_STREAM_PER_THREAD, move |status| sender.send(status).unwrap()));
    ok(receiver.recv().unwrap());
    let mut result = [0_u32; 2];
    ok(unsafe { cuda.cuMemcpyDtoHAsync(result.as_mut_ptr().cast(), memory, 8, CU_STREAM_PER_THREAD) });
    assert_eq!(result, [2 * seed, 0]);
    ok(unsafe { cuda.cuEventDestroy(event) });
    ok(unsafe { cuda.cuMemFree(memory) });
    if stream.addr() > 2 {
        ok(unsafe { cuda.cuStreamDestroy(stream) });
    }
}

#[test]
fn a_process_with_busy_streams_ends() {
    const VARIABLE: &str = "DRIVER_STREAMS_EXIT";
    if std::env::var_os(VARIABLE).is_some() {
        let (cuda, _) = with_own_context();
        let stream = stream(&cuda, 0);
        std::mem::forget(Busy::new(&cuda, stream));
        std::process::exit(7);
    }
    let output = child("a_process_with_busy_streams_ends", &[(VARIABLE, "1")]);
    assert_eq!(output.status.code(), Some(7));
}

/// Nothing that waits is left waiting: streams, events, threads; callbacks hear of it, host functions are dropped.
#[test]
fn a_fault_ends_all_waiting() {
    const VARIABLE: &str = "DRIVER_STREAMS_FAULT";
    if std::env::var_os(VARIABLE).is_none() {
        let output = child("a_fault_ends_all_waiting", &[(VARIABLE, "1")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let (cuda, context) = with_own_context();
    let module = load(&cuda, KERNELS);
    let (poke, nop) = (function(&cuda, module, "poke"), function(&cuda, module, "nop"));
    let (called, told) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let first = stream(&cuda, 1);
    let held = Busy::new(&cuda, first);
    ok(launch(&cuda, poke, first, &mut [argument(&mut 0_u64)]));
    let event = event(&cuda, 2);
    ok(unsafe { cuda.cuEventRecord(event, first) });
    let streams: Vec<_> = (0..8).map(|flags| stream(&cuda, flags % 2)).collect();
    for stream in &streams {
        ok(unsafe { cuda.cuStreamWaitEvent(*stream, event, 0) });
        for _ in 0..20 {
            ok(launch(&cuda, nop, *stream, &mut []));
            let (called, told) = (Arc::clone(&called), Arc::clone(&told));
            ok(host_function(&cuda, *stream, move || {
                called.fetch_add(1, Ordering::Relaxed);
            }));
            ok(callback(&cuda, *stream, move |status| {
                assert_eq!(status, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
                told.fetch_add(1, Ordering::Relaxed);
            }));
        }
    }
    let context = context.addr();
    std::thread::scope(|scope| {
        for stream in &streams {
            let (cuda, stream) = (&cuda, stream.addr());
            scope.spawn(move || {
                let code = unsafe { cuda.cuStreamSynchronize(std::ptr::without_provenance_mut(stream)) };
                assert_eq!(code, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
                ok(unsafe { cuda.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)) });
                assert_eq!(unsafe { cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
            });
        }
        drop(held);
    });
    // A thread that comes after the fault does not wait: what its stream has may be told later.
    let end = Instant::now() + SOON;
    while told.load(Ordering::Relaxed) < 160 && Instant::now() < end {
        std::thread::yield_now();
    }
    assert_eq!((called.load(Ordering::Relaxed), told.load(Ordering::Relaxed)), (0, 160));
}
