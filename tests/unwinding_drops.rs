//! A subscriber of `tracing` that panics in a call which ends something: what the device still uses stays until its work is done.

#![cfg(feature = "tracing")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/acts.rs"]
mod acts;
#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use acts::{acted, at_enter, at_exit};
use alone::alone;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{PinnedFlags, RegisterFlags};
use cuda_launch::operation::{DeviceOperation, ExecutionContext, scope, value, with_context};
use cuda_launch::sys::CUresult;
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, PinnedBuffer};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

const N: usize = 4096;

/// Keeps the stream busy for a while; whether that is over.
fn hold(stream: &CudaStream) -> Arc<AtomicBool> {
    let done = Arc::new(AtomicBool::new(false));
    let over = done.clone();
    let wait = move || {
        thread::sleep(Duration::from_millis(100));
        over.store(true, Ordering::SeqCst);
    };
    stream.call_host(wait).unwrap();
    done
}

type Log = Arc<Mutex<Vec<bool>>>;

/// Notes at its end whether the work was over.
struct Owner(Arc<AtomicBool>, Log);

impl Drop for Owner {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0.load(Ordering::SeqCst));
    }
}

/// What was noted, when something was.
#[track_caller]
fn noted(log: &Log, ctx: &CudaContext) -> Vec<bool> {
    let begin = Instant::now();
    while log.lock().unwrap().is_empty() && begin.elapsed() < Duration::from_secs(10) {
        ctx.synchronize().unwrap();
        thread::sleep(Duration::from_millis(2));
    }
    log.lock().unwrap().clone()
}

/// Whether it goes on, though a subscriber panics in the middle of the call that was named last.
fn goes_on<R>(run: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_ok() & acted()
}

/// Whether it unwinds, in the middle of the call that was named last.
fn unwinds<R>(run: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err() & acted()
}

fn rig() -> (CudaContext, CudaStream) {
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    (ctx, stream)
}

#[test]
#[allow(unsafe_code)] // Memory of other code.
fn the_owner_of_memory_stays_where_a_subscriber_panics_in_the_wait_for_its_work() {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    let (ctx, stream) = rig();
    let real = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
    stream.synchronize().unwrap();
    let (done, log) = (hold(&stream), Log::default());
    let owner = Owner(done, log.clone());
    // SAFETY: 1: `real` has so many elements in this context; 2: it outlives the buffer and its work; 3: nothing else uses them.
    let mut lent = unsafe { DeviceBuffer::<u32>::from_foreign(&ctx, real.as_device_ptr().addr(), N, owner) };
    lent.view_mut().fill(&stream, 7).unwrap();
    at_enter("cuStreamSynchronize", || panic!("a subscriber"));
    assert!(goes_on(|| drop(lent)));
    assert_eq!(noted(&log, &ctx), [true]);
}

#[test]
fn pinned_memory_stays_where_a_subscriber_panics_in_the_wait_for_its_copies() {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    for is_registered in [false, true] {
        let (spy, ctx) = spies::spied();
        let stream = ctx.new_stream().unwrap();
        let device = DeviceBuffer::filled(&stream, N, 7u32).unwrap();
        let mut pinned = match is_registered {
            true => PinnedBuffer::register(&ctx, vec![0u32; N], RegisterFlags::empty()).unwrap(),
            false => PinnedBuffer::zeroed(&ctx, N, PinnedFlags::empty()).unwrap(),
        };
        let done = hold(&stream);
        device.view().copy_to_pinned(&stream, &mut pinned).unwrap();
        at_enter("cuStreamSynchronize", || panic!("a subscriber"));
        assert!(goes_on(|| drop(pinned)));
        let ended = ["cuMemFreeHost", "cuMemHostUnregister"].map(|name| spy.calls().count(name));
        assert!(ended == [0, 0] || done.load(Ordering::SeqCst), "it went before the copy: {ended:?}");
        stream.synchronize().unwrap();
    }
}

/// Of a branch, of an operation in a scope, or of a graph: its end makes calls after the output is there.
#[test]
fn an_output_is_not_lost_where_a_subscriber_panics_at_the_end_of_its_work() {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    fn work(cx: &ExecutionContext, log: Log) -> Result<Owner, Error> {
        cx.stream()?;
        let mut forgotten = cx.branches();
        forgotten.branch(|cx| cx.stream().map(drop))?;
        std::mem::forget(forgotten);
        at_enter("cuStreamWaitEvent", || panic!("a subscriber"));
        Ok(Owner(Arc::default(), log))
    }
    let ctx = rig().0;
    let runs: [fn(Log); 3] = [
        |log| drop(with_context(|cx| value(cx.branches().branch(|cx| work(cx, log)))).sync()),
        |log| drop(scope(|s| s.submit(with_context(|cx| work(cx, log).map(value))))),
        |log| {
            let owner = Owner(Arc::default(), log);
            let graph = with_context(|cx| cx.stream().map(|_| value(owner))).graph().unwrap();
            at_enter("cuGraphExecDestroy", || panic!("a subscriber"));
            drop(graph.into_output());
        },
    ];
    for run in runs {
        let log = Log::default();
        assert!(goes_on(|| run(log.clone())));
        assert_eq!(noted(&log, &ctx).len(), 1);
    }
}

/// Whoever calls the deleter of a tensor may be C, which nothing unwinds through: the process would end.
#[test]
#[allow(unsafe_code)] // Memory of other code, and a deleter.
fn the_memory_of_a_tensor_stays_where_a_subscriber_panics_in_the_wait_for_its_work() {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    let (ctx, stream) = rig();
    let real = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
    for legacy in [false, true] {
        stream.synchronize().unwrap();
        let (done, log) = (hold(&stream), Log::default());
        let owner = Owner(done, log.clone());
        // SAFETY: 1: `real` has so many elements in this context; 2: it outlives the buffer and its work; 3: nothing else uses them.
        let mut lent =
            unsafe { DeviceBuffer::<u32>::from_foreign(&ctx, real.as_device_ptr().addr(), N, owner) };
        lent.view_mut().fill(&stream, 7).unwrap();
        let tensor = lent.into_dlpack(&stream, &[N]).unwrap();
        at_enter("cuCtxSynchronize", || panic!("a subscriber"));
        if legacy {
            let raw = tensor.into_raw_legacy();
            // SAFETY: nobody else has the tensor, which is its deleter's once.
            unsafe { raw.as_ref().deleter.unwrap()(raw.as_ptr()) };
        } else {
            drop(tensor);
        }
        assert!(acted());
        assert_eq!(noted(&log, &ctx), [true]);
    }
}

#[test]
fn what_a_graph_uses_stays_where_a_subscriber_panics_at_the_end_of_the_graph() {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    for (call, enters) in [
        ("cuGraphExecDestroy", true),
        ("cuGraphExecDestroy", false),
        ("cuEventCreate", true),
        ("cuEventRecord", true),
        ("cuEventRecord", false),
    ] {
        let (spy, ctx) = spies::spied();
        let stream = ctx.new_stream().unwrap();
        let (done, log) = (hold(&stream), Log::default());
        let owner = Owner(done, log.clone());
        let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |captured| {
            let keeps = with_context(move |cx| {
                cx.keep(owner);
                cx.stream().map(drop).map(value)
            });
            keeps.submit_on(captured).map(drop)
        });
        let mut exec = graph.unwrap().instantiate(InstantiateFlags::empty()).unwrap();
        exec.launch(&stream).unwrap();
        let panics = || panic!("a subscriber");
        if enters {
            at_enter(call, panics)
        } else {
            at_exit(call, panics)
        }
        assert!(goes_on(|| drop(exec)), "{call}");
        assert_eq!(spy.count("cuGraphExecDestroy"), 1, "{call}, at its beginning: {enters}");
        assert_eq!(noted(&log, &ctx), [true], "{call}, at its beginning: {enters}");
    }
}

/// Nobody knows which capture it belongs to, until it is recorded again.
#[test]
fn an_event_whose_record_unwinds_in_a_capture_can_be_recorded_again() {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    let (ctx, stream) = rig();
    let event = ctx.new_event().unwrap();
    let captured = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |captured| {
        at_enter("cuEventRecord", || panic!("a subscriber"));
        assert!(unwinds(|| event.record(captured)));
        Ok(())
    });
    drop(captured);
    event.record(&stream).unwrap();
    stream.wait(&event).unwrap();
}

#[test]
fn a_loan_ends_where_its_end_unwinds_and_again() {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    let (ctx, stream) = rig();
    let device = DeviceBuffer::filled(&stream, N, 7u32).unwrap();
    let mut data = vec![0u32; N];
    let closure_panics = [false, true];
    for panics in closure_panics {
        data.fill(0);
        hold(&stream);
        let lent = catch_unwind(AssertUnwindSafe(|| {
            ctx.with_registered(&mut data, RegisterFlags::empty(), |mut pinned| {
                device.view().copy_to_pinned(&stream, pinned.view_mut())?;
                let again = || at_enter("cuStreamSynchronize", || panic!("a subscriber, again"));
                at_enter("cuStreamSynchronize", move || {
                    again();
                    panic!("a subscriber");
                });
                assert!(!panics, "the closure");
                Ok(())
            })
        }));
        assert!(lent.is_err(), "the closure panics: {panics}");
        acted();
        assert_eq!(data, [7; N], "the closure panics: {panics}");
    }
    // It is registered no more.
    ctx.with_registered(&mut data, RegisterFlags::empty(), |_| Ok(())).unwrap();
}

#[test]
fn a_loan_whose_memory_stays_registered_says_so() {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let mut data = vec![0u32; N];
    spies::fail_calls_of(&spy, "cuMemHostUnregister", CUresult::CUDA_ERROR_INVALID_VALUE);
    let lent = ctx.with_registered(&mut data, RegisterFlags::empty(), |_| Ok(()));
    assert_eq!(lent.unwrap_err().call(), Some("cuMemHostUnregister"));
}

/// The output of an operation whose end panics.
fn output(
    log: &Log,
    call: &'static str,
    forgets: bool,
) -> impl DeviceOperation<Output = Owner> + 'static + use<> {
    let log = log.clone();
    with_context(move |cx| {
        if forgets {
            let mut branches = cx.branches();
            branches.branch(|cx| cx.stream().map(drop))?;
            std::mem::forget(branches);
        }
        let done = hold(cx.stream()?);
        at_enter(call, || panic!("a subscriber"));
        Ok(value(Owner(done, log)))
    })
}

#[test]
fn an_output_goes_after_its_work_where_a_wait_for_it_unwinds() {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    type Run = fn(&Log);
    let runs: [(&str, Run); 4] = [
        ("sync", |log| drop(output(log, "cuStreamSynchronize", false).sync())),
        ("sync, join", |log| drop(output(log, "cuEventRecord", true).sync())),
        ("future", |log| poll(output(log, "cuEventRecord", false))),
        ("future, join", |log| poll(output(log, "cuEventRecord", true))),
    ];
    let (ctx, _) = rig();
    for (name, run) in runs {
        let log = Log::default();
        assert!(unwinds(|| run(&log)), "{name}");
        assert_eq!(noted(&log, &ctx), [true], "{name}");
    }
}

fn poll(operation: impl DeviceOperation<Output = Owner> + 'static) {
    let mut future = pin!(operation.future());
    let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
}
