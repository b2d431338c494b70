//! Operations beside what others do in the same process: captures of other code, streams of other threads, other drivers, waits
//! inside of waits, launches of other code before the one that faults.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Raw captures and launches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/mod.rs"]
mod rust_driver;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{alone, hold};
use cuda_harness::child;
use cuda_launch::memory::PinnedFlags;
use cuda_launch::operation::{
    DeviceOperation, SchedulingPolicy, SingleStream, block_on, lazy, scope, set_inline_wait, value,
    with_context, zeroed,
};
use cuda_launch::sys::{CUresult, CUstreamCaptureMode};
use cuda_launch::{
    CudaContext, CudaStream, DeviceBuffer, LaunchConfig, LaunchPlan, PinnedBuffer, cuda_launch,
};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;
use support::{context, fill_kernel, poll_once, read};

fn single(stream: &CudaStream) -> Arc<dyn SchedulingPolicy> {
    Arc::new(SingleStream::new(stream))
}

/// A capture that this crate does not know of.
struct Foreign<'a>(&'a CudaStream);

impl Foreign<'_> {
    fn begin(stream: &CudaStream) -> Foreign<'_> {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        let code = unsafe { stream.context().driver().cuStreamBeginCapture(stream.raw(), mode) };
        assert_eq!(code, CUresult::SUCCESS);
        Foreign(stream)
    }

    /// What the driver says at its end.
    fn end(self) -> CUresult {
        let (mut graph, driver) = (std::ptr::null_mut(), self.0.context().driver());
        let code = unsafe { driver.cuStreamEndCapture(self.0.raw(), &mut graph) };
        if code == CUresult::SUCCESS {
            assert_eq!(unsafe { driver.cuGraphDestroy(graph) }, CUresult::SUCCESS);
        }
        code
    }
}

/// Torch captures so: a call that may not be made meanwhile fails, and breaks the capture.
#[test]
fn waits_beside_a_capture_of_other_code_wait_and_leave_it_whole() {
    let _alone = alone();
    let (ctx, fill) = (context(), fill_kernel());
    let (captured, stream) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let mut words = DeviceBuffer::<u32>::zeroed(&stream, 1000).unwrap();
    let launch = |words: &mut DeviceBuffer<u32>, value: u32| unsafe {
        cuda_launch! { function: fill, stream: stream, config: LaunchConfig::for_num_elems(1000),
        args: [ptr_mut(words), 1000u32, value] }
        .unwrap();
    };
    launch(&mut words, 1);
    drop(zeroed::<u32>(8).sync_on(&stream).unwrap());
    stream.synchronize().unwrap();
    set_inline_wait(Duration::ZERO);
    let held = hold(&stream);
    let mut later = zeroed::<u32>(8).schedule(single(&stream)).future();
    assert!(poll_once(&mut later).is_pending());
    let capture = Foreign::begin(&captured);
    launch(&mut words, 2);
    let release = thread::spawn(move || {
        // The watcher asks meanwhile.
        thread::sleep(Duration::from_millis(30));
        drop(held);
    });
    let op = with_context(|cx| value(cx.stream().is_ok())).schedule(single(&stream));
    assert!(op.sync().unwrap(), "the wait was not refused");
    assert!(stream_is_done(&stream), "all work was waited for");
    let op = with_context(|cx| value(cx.stream().is_ok())).schedule(single(&stream));
    assert!(scope(|s| s.submit(op)).unwrap().unwrap());
    assert_eq!(block_on(later).unwrap().len(), 8);
    assert_eq!(capture.end(), CUresult::SUCCESS, "the capture was not broken");
    release.join().unwrap();
    assert_eq!(read(&words), [2; 1000]);
    set_inline_wait(Duration::from_micros(20));
}

/// A free is a call that a capture forbids, also in the thread that captures.
#[test]
fn memory_that_goes_beside_a_capture_of_other_code_leaves_it_whole() {
    let _alone = alone();
    let ctx = context();
    let (captured, stream) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let [one, other] = [(); 2].map(|()| DeviceBuffer::<u32>::zeroed(&stream, 1000).unwrap());
    let capture = Foreign::begin(&captured);
    drop(one);
    thread::scope(|scope| scope.spawn(|| drop(other)).join().unwrap());
    assert_eq!(capture.end(), CUresult::SUCCESS);
}

/// Asked outside of captures.
fn stream_is_done(stream: &CudaStream) -> bool {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    let driver = stream.context().driver();
    unsafe {
        assert_eq!(driver.cuThreadExchangeStreamCaptureMode(&mut mode), CUresult::SUCCESS);
        let code = driver.cuStreamQuery(stream.raw());
        assert_eq!(driver.cuThreadExchangeStreamCaptureMode(&mut mode), CUresult::SUCCESS);
        code == CUresult::SUCCESS
    }
}

/// Work that is recorded runs after the borrow that a wait ends.
#[test]
fn a_policy_cannot_give_a_stream_that_is_being_captured() {
    let _alone = alone();
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let mut refused = Vec::new();
    let plan = LaunchPlan::record(&ctx, |capturing| {
        refused.push(zeroed::<u32>(4).schedule(single(capturing)).sync().map(drop).unwrap_err());
        let op = zeroed::<u32>(4).schedule(single(capturing));
        refused.push(scope(|s| s.submit(op).map(drop)).unwrap().unwrap_err());
        let op = zeroed::<u32>(4).schedule(single(capturing));
        refused.push(block_on(op).map(drop).unwrap_err());
        Ok(())
    });
    for error in refused {
        assert!(error.to_string().contains("the policy gave a stream that is being captured"), "{error}");
    }
    drop(plan);
    assert_eq!(read(&zeroed::<u32>(4).sync_on(&stream).unwrap()), [0; 4]);
}

/// One handle, two streams: what the other thread reads is not written over.
#[test]
fn threads_that_share_a_handle_of_their_streams_are_told_apart() {
    let _alone = alone();
    const N: usize = 4096;
    let ctx = context();
    let pinned = || PinnedBuffer::<u32>::zeroed(&ctx, N, PinnedFlags::empty()).unwrap();
    let (here, stream) = (ctx.per_thread_stream(), ctx.new_stream().unwrap());
    let source = Arc::new(DeviceBuffer::from_host(&stream, &[1u32; N]).unwrap());
    let (mut first, mut second) = (pinned(), pinned());
    let mut warm = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
    warm.view_mut().fill(&stream, 9).unwrap();
    stream.synchronize().unwrap();
    source.view().copy_to_pinned(&here, &mut first).unwrap();
    let (other, there) = (source.clone(), here.clone());
    let (held, second) = thread::spawn(move || {
        let held = hold(&there);
        other.view().copy_to_pinned(&there, &mut second).unwrap();
        (held, second)
    })
    .join()
    .unwrap();
    let release = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        drop(held);
    });
    let mut source = Arc::into_inner(source).unwrap();
    source.view_mut().fill(&stream, 9).unwrap();
    release.join().unwrap();
    assert_eq!(second.as_slice().unwrap(), [1; N]);
    assert_eq!(first.as_slice().unwrap(), [1; N]);
    assert_eq!(read(&source), [9; N]);
}

/// The first clone ran on a stream that this thread has no handle of: whoever runs the second waits for it.
#[test]
fn a_shared_operation_on_streams_of_threads_is_ordered() {
    let _alone = alone();
    let ctx = context();
    let here = ctx.per_thread_stream();
    let released = Arc::new(AtomicBool::new(false));
    let shared = zeroed::<u32>(100).shared();
    let (first, there) = (shared.clone(), here.clone());
    let held = thread::spawn(move || {
        let held = hold(&there);
        drop(first.submit_on(&there).unwrap());
        held
    })
    .join()
    .unwrap();
    let release = {
        let released = released.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(30));
            released.store(true, Ordering::SeqCst);
            drop(held);
        })
    };
    let buffer = shared.sync_on(&here).unwrap();
    assert!(released.load(Ordering::SeqCst), "the work of the other thread was waited for");
    release.join().unwrap();
    assert_eq!(read(&buffer), [0; 100]);
}

/// Whoever runs it may be waiting for the stream of the host function.
#[test]
fn a_host_function_does_not_wait_for_a_shared_operation() {
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let ((begun, begins), (answers, answer)) = (mpsc::channel(), mpsc::channel());
    let shared = lazy(move || {
        begun.send(()).unwrap();
        answer.recv_timeout(Duration::from_secs(20)).ok()
    })
    .shared();
    let clone = shared.clone();
    let first = thread::spawn(move || shared.sync());
    begins.recv().unwrap();
    let ask = move || answers.send(clone.sync().map(drop).map_err(|error| error.to_string())).unwrap();
    stream.call_host(ask).unwrap();
    let answer: Option<Result<(), String>> = (*first.join().unwrap().unwrap()).clone();
    let error = answer.expect("it waits").unwrap_err();
    assert!(error.contains("a shared operation") && error.contains("inside a callback"), "{error}");
    stream.synchronize().unwrap();
}

/// A handle of one driver means nothing to another.
#[test]
fn events_of_another_driver_are_refused_and_its_streams_waited_for() {
    let _alone = alone();
    let other = CudaContext::with_driver(&rust_driver::driver(&[]), 0).unwrap();
    let (stream, event) = (other.new_stream().unwrap(), other.new_event().unwrap());
    event.record(&stream).unwrap();
    let here = context().new_stream().unwrap();
    let error = here.wait(&event).unwrap_err();
    assert!(error.to_string().contains("belong to different drivers"), "{error}");
    here.join(&stream).unwrap();
    stream.join(&here).unwrap();
    let event = context().new_event().unwrap();
    event.record(&here).unwrap();
    assert!(stream.wait(&event).is_err());
}

/// A thread has one token to be woken by; who waits inside a poll must not take it from the wait around it.
#[test]
fn a_wait_inside_a_poll_takes_no_wake_from_the_wait_around_it() {
    let _alone = alone();
    let mut polls = 0;
    block_on(poll_fn(|cx| {
        polls += 1;
        if polls == 2 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        let mut waker = None;
        let done = Arc::new(AtomicBool::new(false));
        block_on(poll_fn(|cx| {
            if done.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            // Woken once, and later than the wait around this one.
            waker.get_or_insert_with(|| {
                let (done, waker) = (done.clone(), cx.waker().clone());
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(20));
                    done.store(true, Ordering::SeqCst);
                    waker.wake();
                })
            });
            Poll::Pending
        }));
        Poll::Pending
    }));
    assert_eq!(polls, 2);
}

/// The launch that traps is the oldest of many, and not all of them fit the list of what a stream remembers.
#[test]
fn a_fault_names_the_launch_whatever_is_behind_it() {
    const NAME: &str = "a_fault_names_the_launch_whatever_is_behind_it";
    if !child::is_child(NAME) {
        let ended = child::run(NAME).unwrap();
        assert_eq!(ended.code, Some(7), "{}\n{}", ended.stdout, ended.stderr);
        return;
    }
    let (ctx, fill) = (context(), fill_kernel());
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let trap = module.load_function("trap_at").unwrap();
    let stream = ctx.new_stream().unwrap();
    let mut words = DeviceBuffer::<u32>::zeroed(&stream, 256).unwrap();
    let one = LaunchConfig::new((1, 1, 1), (1, 1, 1));
    let trapping = |words: &mut DeviceBuffer<u32>, block: u32| unsafe {
        cuda_launch! { function: trap, stream: stream, config: one, args: [block, 0u32, ptr_mut(words)] }
            .unwrap();
    };
    let filling = |words: &mut DeviceBuffer<u32>| unsafe {
        cuda_launch! { function: fill, stream: stream, config: one, args: [ptr_mut(words), 1u32, 7u32] }
            .unwrap();
    };
    trapping(&mut words, 99);
    filling(&mut words);
    stream.synchronize().unwrap();
    set_inline_wait(Duration::ZERO);
    // A mark, then more launches than the list is long: the end of the mark must not hide them.
    let held = hold(&stream);
    let mut before = zeroed::<u8>(1).schedule(single(&stream)).future();
    assert!(poll_once(&mut before).is_pending());
    let second = hold(&stream);
    filling(&mut words);
    trapping(&mut words, 0);
    (0..252).for_each(|_| filling(&mut words));
    let mut behind = zeroed::<u8>(1).schedule(single(&stream)).future();
    assert!(poll_once(&mut behind).is_pending());
    drop(held);
    block_on(before).unwrap();
    drop(second);
    let error = block_on(behind).unwrap_err();
    assert!(error.is_sticky() && error.to_string().contains("trap_at"), "{error}");
    std::process::exit(7);
}
