//! Host functions in streams on whichever driver is chosen: order, panics, calls of CUDA inside, what becomes of the closure.

#![allow(unsafe_code)] // Launches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/spies.rs"]
mod spies;

use cuda_harness::{Spy, child, skipped};
use cuda_launch::diagnostics::{DriverLog, LogListener};
use cuda_launch::error::HostPanic;
use cuda_launch::event::EventWaitFlags;
use cuda_launch::stream::HostTaskSyncMode;
use cuda_launch::sys::CUresult;
use cuda_launch::{
    CaptureMode, CudaContext, CudaDevice, CudaFunction, CudaGraph, CudaStream, DeviceBuffer, DevicePtrMut,
    Error, ErrorKind, LaunchConfig, cuda_launch,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

/// Tests of one process share a context: those that ask all of it, or count its memory, run alone.
static CONTEXT: RwLock<()> = RwLock::new(());

fn context() -> (CudaContext, RwLockReadGuard<'static, ()>) {
    (quiet(), CONTEXT.read().unwrap_or_else(|e| e.into_inner()))
}

fn context_alone() -> (CudaContext, RwLockWriteGuard<'static, ()>) {
    (quiet(), CONTEXT.write().unwrap_or_else(|e| e.into_inner()))
}

/// A context; panics that are meant to be are not printed.
fn quiet() -> CudaContext {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            if !text.is_none_or(|text| text.starts_with("on purpose")) {
                usual(info);
            }
        }));
    });
    CudaContext::new(0).unwrap()
}

fn panics(error: &Error) -> &[String] {
    assert!(error.is_host_panic() && error.call().is_none(), "{error}");
    match error.kind() {
        ErrorKind::HostPanic(HostPanic { messages, .. }) => messages,
        _ => panic!("{error}"),
    }
}

#[test]
fn host_functions_run_in_the_order_of_the_stream() {
    let (ctx, _shared) = context();
    let stream = ctx.new_stream().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    for turn in 0..100 {
        let seen = seen.clone();
        stream.call_host(move || seen.lock().unwrap().push(turn)).unwrap();
    }
    let event = ctx.new_event().unwrap();
    event.record(&stream).unwrap();
    event.synchronize().unwrap();
    assert_eq!(*seen.lock().unwrap(), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_panic_is_told_once_by_the_next_wait() {
    let (ctx, _shared) = context();
    let (stream, other) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    stream.call_host(|| panic!("on purpose: {}", 7)).unwrap();
    let zeros = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    other.synchronize().unwrap();
    let error = stream.synchronize().unwrap_err();
    assert_eq!(panics(&error), ["on purpose: 7"]);
    assert!(error.to_string().contains("panicked: on purpose: 7"), "{error}");
    stream.synchronize().unwrap();
    assert_eq!(zeros.to_host_vec(&stream).unwrap(), [0; 64]);
}

#[test]
fn panics_of_all_kinds_are_kept_in_order() {
    let (ctx, _shared) = context();
    let stream = ctx.new_stream().unwrap();
    /// Panics when it is dropped, as a payload may.
    struct Again;
    impl Drop for Again {
        fn drop(&mut self) {
            std::panic::panic_any(Again2);
        }
    }
    struct Again2;
    stream.call_host(|| panic!("on purpose")).unwrap();
    stream.call_host(|| std::panic::panic_any(3)).unwrap();
    stream.call_host(|| std::panic::panic_any(Again)).unwrap();
    stream.call_host(|| panic!("on purpose, {}", "the last")).unwrap();
    let error = stream.synchronize().unwrap_err();
    let none = "a value that is not text";
    assert_eq!(panics(&error), ["on purpose", none, none, "on purpose, the last"]);
    assert!(error.to_string().contains("4 host functions"), "{error}");
}

#[test]
fn asking_whether_all_is_done_tells_of_a_panic() {
    let (ctx, _shared) = context();
    let stream = ctx.new_stream().unwrap();
    stream.call_host(|| panic!("on purpose")).unwrap();
    let start = Instant::now();
    let error = loop {
        assert!(start.elapsed() < SOON);
        match stream.query() {
            Ok(done) => assert!(!done, "done, and nothing said"),
            Err(error) => break error,
        }
    };
    assert_eq!(panics(&error), ["on purpose"]);
    assert!(stream.query().unwrap());
}

#[test]
fn all_handles_of_a_default_stream_are_told() {
    let (ctx, _shared) = context();
    ctx.default_stream().call_host(|| panic!("on purpose, legacy")).unwrap();
    let error = ctx.default_stream().synchronize().unwrap_err();
    assert_eq!(panics(&error), ["on purpose, legacy"]);
}

#[test]
fn a_wait_for_the_context_tells_of_all_streams() {
    let (ctx, _alone) = context_alone();
    let stream = ctx.new_stream().unwrap();
    stream.call_host(|| panic!("on purpose")).unwrap();
    drop(stream);
    assert_eq!(panics(&ctx.synchronize().unwrap_err()), ["on purpose"]);
    ctx.synchronize().unwrap();
}

/// Row 40 of the misuse table.
#[test]
fn calls_of_cuda_in_a_host_function_are_named() {
    let (ctx, _shared) = context();
    let (stream, other) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let (event, start) = (ctx.new_event().unwrap(), ctx.new_timing_event().unwrap());
    let fill = || {
        ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap().load_function("fill").unwrap()
    };
    let (cold, warm) = (fill(), fill());
    let mut buffer = DeviceBuffer::<u32>::zeroed(&other, 64).unwrap();
    let fill = |fill: &CudaFunction, stream: &CudaStream, x: &mut DeviceBuffer<u32>| unsafe {
        cuda_launch! { function: fill, stream: stream, config: LaunchConfig::for_num_elems(64), args: [ptr_mut(x), 64u32, 1u32] }
    };
    (0..2).for_each(|_| fill(&warm, &other, &mut buffer).unwrap());
    // Not the context, which would be told of the panics of other tests.
    other.synchronize().unwrap();
    let (sender, receiver) = mpsc::channel();
    let inside = stream.clone();
    stream
        .call_host(move || {
            let launches = [cold, warm].map(|function| fill(&function, &other, &mut buffer));
            let [launch, warm_launch] = launches;
            let answers = [
                ("cuStreamSynchronize", inside.synchronize()),
                ("cuStreamQuery", inside.query().map(drop)),
                ("cuCtxSynchronize", inside.context().synchronize()),
                ("cuStreamCreateWithPriority", inside.context().new_stream().map(drop)),
                ("cuEventCreate", inside.context().new_event().map(drop)),
                ("cuEventRecord", event.record(&other)),
                ("cuEventQuery", event.query().map(drop)),
                ("cuEventSynchronize", event.synchronize()),
                ("cuEventElapsedTime", start.elapsed_ms(&start).map(drop)),
                ("cuStreamWaitEvent", other.wait(&event)),
                ("cuLaunchHostFunc", inside.call_host(|| ())),
                ("cuLaunchKernelEx", launch),
                ("cuLaunchKernelEx", warm_launch),
                ("cuMemGetInfo", inside.context().memory_info().map(drop)),
            ];
            sender.send(answers).unwrap();
        })
        .unwrap();
    stream.synchronize().unwrap();
    for (call, answer) in receiver.recv().unwrap() {
        let error = answer.expect_err(call);
        assert!(error.is_in_host_callback(), "{call}: {error}");
        assert!(error.to_string().starts_with(call), "{call}: {error}");
    }
    // Outside all is as before.
    assert!(ctx.memory_info().is_ok());
}

/// Free bytes, once they are `wanted`, or after a while what they are.
fn free_bytes(ctx: &CudaContext, wanted: usize) -> usize {
    let start = Instant::now();
    loop {
        let (free, _) = ctx.memory_info().unwrap();
        if free == wanted || start.elapsed() > SOON {
            return free;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_a_host_function_drops_is_freed_all_the_same() {
    let (ctx, _alone) = context_alone();
    let stream = ctx.new_stream().unwrap();
    let on_emulator = ctx.device_name().unwrap().contains("emulator");
    let (before, _) = ctx.memory_info().unwrap();
    for _ in 0..10 {
        let buffer = DeviceBuffer::<u8>::zeroed(&stream, 8 << 20).unwrap();
        let (side, event) = (ctx.new_stream().unwrap(), ctx.new_timing_event().unwrap());
        stream.call_host(move || drop((buffer, side, event))).unwrap();
    }
    stream.synchronize().unwrap();
    if on_emulator {
        // A GPU keeps freed memory in its pool.
        assert_eq!(free_bytes(&ctx, before), before);
    }
    ctx.synchronize().unwrap();
}

#[test]
fn the_last_handles_may_go_before_and_in_the_function() {
    let (ctx, _shared) = context();
    let (sender, receiver) = mpsc::channel();
    let stream = ctx.new_stream().unwrap();
    let held = stream.clone();
    stream
        .call_host(move || {
            drop(held);
            sender.send(()).unwrap();
        })
        .unwrap();
    drop((stream, ctx));
    receiver.recv_timeout(SOON).expect("it is called though nobody waits");
}

#[test]
fn a_function_that_the_driver_does_not_take_is_dropped() {
    let (_ctx, _shared) = context();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let owned = Arc::new(());
    let inside = owned.clone();
    spies::fail_nth(&spy, 2, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let error = stream.call_host(move || drop(inside)).unwrap_err();
    assert_eq!(spies::failed(&spy), Some("cuLaunchHostFunc"));
    spies::watch(&spy);
    assert_eq!(
        (error.call(), error.code()),
        (Some("cuLaunchHostFunc"), Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY))
    );
    assert_eq!(Arc::strong_count(&owned), 1);
    stream.synchronize().unwrap();
}

#[test]
fn how_the_driver_waits_can_be_said_where_it_knows_the_call() {
    let (ctx, _shared) = context();
    let stream = ctx.new_stream().unwrap();
    let owned = Arc::new(());
    for wait in [HostTaskSyncMode::Blocking, HostTaskSyncMode::Spin] {
        let inside = owned.clone();
        if let Err(error) = stream.call_host_with(wait, move || drop(inside)) {
            assert!(error.is_unsupported() && error.call() == Some("cuLaunchHostFunc_v2"), "{error}");
        }
    }
    stream.synchronize().unwrap();
    assert_eq!(Arc::strong_count(&owned), 1);
}

/// A driver calls no host function behind a fault: it is dropped when the fault is seen.
#[test]
fn functions_behind_a_fault_are_dropped_uncalled() {
    const TEST: &str = "functions_behind_a_fault_are_dropped_uncalled";
    if !child::is_child(TEST) {
        let ended = child::run(TEST).unwrap();
        assert_eq!(ended.code, Some(42), "{}\n{}", ended.stdout, ended.stderr);
        return;
    }
    let ctx = quiet();
    let stream = ctx.new_stream().unwrap();
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let (called, owned) = (Arc::new(AtomicUsize::new(0)), Arc::new(()));
    let (release, held) = mpsc::channel::<()>();
    stream.call_host(move || held.recv().unwrap_or_default()).unwrap();
    unsafe {
        cuda_launch! { kernel: write_f32, module: module, stream: stream, config: LaunchConfig::for_num_elems(1),
        args: [DevicePtrMut::<u8>::from_raw(0), 16i64, 1.0f32] }
    }
    .unwrap();
    for _ in 0..10 {
        let (called, owned) = (called.clone(), owned.clone());
        stream
            .call_host(move || {
                called.fetch_add(1, Ordering::Relaxed);
                drop(owned);
            })
            .unwrap();
    }
    drop(release);
    let error = stream.synchronize().unwrap_err();
    assert!(error.is_sticky(), "{error}");
    // On a thread of their own.
    while Arc::strong_count(&owned) != 1 {
        std::thread::yield_now();
    }
    assert_eq!(called.load(Ordering::Relaxed), 0);
    let refused = owned.clone();
    assert!(stream.call_host(move || drop(refused)).unwrap_err().is_sticky());
    assert_eq!(Arc::strong_count(&owned), 1);
    drop((stream, module, ctx));
    std::process::exit(42);
}

/// What a function owns may use the memory whose access is just being ordered where the fault is seen.
#[test]
fn what_functions_behind_a_fault_own_waits_for_nobody() {
    const TEST: &str = "what_functions_behind_a_fault_own_waits_for_nobody";
    if !child::is_child(TEST) {
        let ended = child::run(TEST).unwrap();
        assert_eq!(ended.code, Some(42), "{}\n{}", ended.stdout, ended.stderr);
        return;
    }
    struct Reads(Arc<DeviceBuffer<u32>>, CudaStream, mpsc::Sender<bool>);
    impl Drop for Reads {
        fn drop(&mut self) {
            let told = self.0.to_host_vec(&self.1).is_err_and(|error| error.is_sticky());
            self.2.send(told).unwrap();
        }
    }
    let ctx = quiet();
    let streams = [(); 3].map(|()| ctx.new_stream().unwrap());
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let x = Arc::new(DeviceBuffer::<u32>::zeroed(&streams[0], 4).unwrap());
    let mut y = DeviceBuffer::<u32>::zeroed(&streams[1], 4).unwrap();
    ctx.synchronize().unwrap();
    let ((release, held), (tell, told)) = (mpsc::channel::<()>(), mpsc::channel());
    streams[0].call_host(move || held.recv().unwrap_or_default()).unwrap();
    unsafe {
        cuda_launch! { kernel: write_f32, module: module, stream: streams[0], config: LaunchConfig::for_num_elems(1),
        args: [DevicePtrMut::<u8>::from_raw(0), 16i64, 1.0f32] }
    }
    .unwrap();
    let reads = Reads(x.clone(), streams[2].clone(), tell);
    streams[0].call_host(move || drop(reads)).unwrap();
    drop(release);
    // Behind the fault, which nobody was told of.
    while unsafe { ctx.driver().cuStreamQuery(streams[0].raw()) } == CUresult::CUDA_ERROR_NOT_READY {
        std::thread::yield_now();
    }
    assert!(y.view_mut().copy_from_device(&streams[1], &*x).unwrap_err().is_sticky());
    assert!(told.recv_timeout(SOON).unwrap(), "it was told of the fault");
    std::process::exit(42);
}

/// A driver tells its log in the middle of the call that it refuses, where this crate may hold a lock.
#[test]
fn a_listener_of_the_log_does_not_wait_for_the_call_that_it_hears_of() {
    type Act = Box<dyn Fn() -> Result<(), Error> + Send>;
    let (ctx, _alone) = context_alone();
    let act: Arc<Mutex<Option<Act>>> = Arc::default();
    let (taken, (tell, told)) = (act.clone(), mpsc::channel());
    let listener = LogListener::new(ctx.driver(), move |_, _| {
        let act = taken.lock().unwrap().take();
        act.into_iter().for_each(|act| tell.send(act()).unwrap());
    });
    let _listener = match listener {
        Err(error) if error.is_unsupported() => return skipped(error),
        listener => listener.unwrap(),
    };
    let emulated = ctx.device_name().unwrap().contains("emulator");
    let refused = || match told.try_recv() {
        Ok(answer) => assert!(matches!(answer.unwrap_err().kind(), ErrorKind::InHostCallback(_))),
        // Not all drivers log everything.
        Err(_) => assert!(!emulated),
    };
    let (event, other) = (ctx.new_event().unwrap(), Arc::new(ctx.new_event().unwrap()));
    let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| {
        event.record(stream)?;
        let (captured, other) = (stream.clone(), other.clone());
        *act.lock().unwrap() = Some(Box::new(move || other.record(&captured)));
        assert!(stream.wait_with(&event, EventWaitFlags::from_bits_retain(64)).is_err());
        act.lock().unwrap().take();
        refused();
        Ok(())
    });
    graph.unwrap();
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let same = module.clone();
    *act.lock().unwrap() = Some(Box::new(move || same.load_function("write_f32").map(drop)));
    assert!(module.load_function("missing").unwrap_err().is_not_found());
    act.lock().unwrap().take();
    refused();
    module.load_function("write_f32").unwrap();
}

/// The calls that take a listener off.
fn unregistered(spy: &Spy) -> Vec<usize> {
    let calls = spy.calls();
    calls.iter().filter(|call| call.name() == "cuLogsUnregisterCallback").map(|call| call.thread()).collect()
}

#[test]
fn a_listener_is_taken_off_before_what_it_owns_is_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let (_, _alone) = context_alone();
    let (spy, ctx) = spies::spied();
    for closes in [false, true] {
        let bomb = Bomb;
        let listener = LogListener::new(ctx.driver(), move |_, _| {
            let _owned = &bomb;
        });
        let listener = match listener {
            Err(error) if error.is_unsupported() => return skipped(error),
            listener => listener.unwrap(),
        };
        let before = unregistered(&spy).len();
        let end = || if closes { listener.close().unwrap() } else { drop(listener) };
        assert!(catch_unwind(AssertUnwindSafe(end)).is_err(), "the program's own panic");
        assert_eq!(unregistered(&spy).len(), before + 1);
    }
}

/// The driver takes no calls there, and one that waits for its listeners would wait for itself.
#[test]
fn a_listener_that_ends_in_another_is_taken_off_by_another_thread() {
    let (_, _alone) = context_alone();
    let (spy, ctx) = spies::spied();
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let logs = || assert!(module.load_function("missing").unwrap_err().is_not_found());
    for closes in [false, true] {
        let heard = Arc::new(AtomicUsize::new(0));
        let (ends, counted) = (Arc::new(Mutex::new(None::<LogListener>)), heard.clone());
        let (taken, (tell, told)) = (ends.clone(), mpsc::channel());
        let listener = LogListener::new(ctx.driver(), move |_, _| {
            if let Some(other) = taken.lock().unwrap().take() {
                tell.send(if closes {
                    other.close().err()
                } else {
                    drop(other);
                    None
                })
                .unwrap();
            }
        });
        let _listener = match listener {
            Err(error) if error.is_unsupported() => return skipped(error),
            listener => listener.unwrap(),
        };
        let other = LogListener::new(ctx.driver(), move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        *ends.lock().unwrap() = Some(other.unwrap());
        let before = unregistered(&spy).len();
        logs();
        let Ok(answer) = told.try_recv() else {
            assert!(!ctx.device_name().unwrap().contains("emulator"), "it logs all errors");
            continue;
        };
        let is_refused = |error: &Error| matches!(error.kind(), ErrorKind::InHostCallback(_));
        assert_eq!(answer.is_some_and(|error| is_refused(&error)), closes);
        let start = Instant::now();
        while unregistered(&spy).len() == before {
            assert!(start.elapsed() < SOON, "it is never taken off");
            std::thread::yield_now();
        }
        let here = spy.calls().iter().rfind(|call| call.name() == "cuModuleGetFunction").unwrap().thread();
        assert_ne!(unregistered(&spy)[before], here);
        let count = heard.load(Ordering::Relaxed);
        logs();
        assert_eq!(heard.load(Ordering::Relaxed), count, "nobody listens any more");
    }
}

/// What needs no context is refused by name, too.
#[test]
fn what_opens_devices_and_logs_is_refused_in_a_host_function() {
    let (ctx, _shared) = context();
    let (stream, driver) = (ctx.new_stream().unwrap(), ctx.driver().clone());
    let (tell, told) = mpsc::channel();
    stream
        .call_host(move || {
            let answers = [
                CudaDevice::new(0).err(),
                CudaDevice::count().err(),
                CudaContext::with_driver(&driver, 0).err(),
                DriverLog::now(&driver).err(),
                LogListener::new(&driver, |_, _| ()).err(),
            ];
            tell.send(answers).unwrap();
        })
        .unwrap();
    stream.synchronize().unwrap();
    for (number, answer) in told.recv_timeout(SOON).unwrap().into_iter().enumerate() {
        assert!(matches!(answer.unwrap().kind(), ErrorKind::InHostCallback(_)), "number {number}");
    }
}

/// Half of the functions panic; each stream is told of its own, and of no other.
#[test]
fn stress_of_threads_streams_and_panics() {
    let (ctx, _shared) = context();
    let told = AtomicUsize::new(0);
    let shared = ctx.new_stream().unwrap();
    const THREADS: usize = 8;
    const ROUNDS: usize = 60;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (ctx, told, shared) = (&ctx, &told, &shared);
            scope.spawn(move || {
                let own = ctx.new_stream().unwrap();
                for round in 0..ROUNDS {
                    round_of_stress(&own, shared, thread, round, told);
                }
            });
        }
    });
    shared.synchronize().map_or_else(|e| count_shared(&e, &told), drop);
    assert_eq!(told.into_inner(), THREADS * ROUNDS, "panics in the stream that all share");
}

/// Panics in the stream that all threads share, which whoever waits first is told of.
fn count_shared(error: &Error, told: &AtomicUsize) {
    assert!(panics(error).iter().all(|text| text == "on purpose, shared"), "{error}");
    told.fetch_add(panics(error).len(), Ordering::Relaxed);
}

fn round_of_stress(own: &CudaStream, shared: &CudaStream, thread: usize, round: usize, told: &AtomicUsize) {
    let text = format!("on purpose, {thread}.{round}");
    let message = text.clone();
    let done = Arc::new(AtomicUsize::new(0));
    own.call_host(move || panic!("{text}")).unwrap();
    shared.call_host(|| panic!("on purpose, shared")).unwrap();
    let seen = done.clone();
    own.call_host(move || seen.store(1, Ordering::Relaxed)).unwrap();
    let error = own.synchronize().unwrap_err();
    assert_eq!(panics(&error), [message]);
    assert_eq!(done.load(Ordering::Relaxed), 1, "the stream continued");
    if round.is_multiple_of(7) {
        shared.synchronize().map_or_else(|e| count_shared(&e, told), drop);
    }
}
