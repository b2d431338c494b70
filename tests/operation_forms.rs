//! Operations on memory, graphs of operations, foreign events and streams, scopes, limits of time, the choice of one of several,
//! devices and policies of the process, faults.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{alone, hold};
use cuda_harness::wait_until;
use cuda_launch::error::OperationError;
use cuda_launch::memory::PinnedFlags;
use cuda_launch::operation::{
    self, DeviceOperation, Either, OperationGraph, OwnedKernelLaunch, RoundRobin, SchedulingPolicy,
    SingleStream, all, allocate, block_on, copy_from_pinned, copy_on_device, copy_to_device, copy_to_host,
    copy_to_pinned, default_device, from_event, from_stream, in_flight, memset, select, select_all,
    task_on_device, value, with_context, with_device, zeroed, zip,
};
use cuda_launch::{
    AsyncKernelLaunch, CaptureMode, CudaFunction, CudaGraph, DeviceBuffer, Error, ErrorKind, LaunchConfig,
    PinnedBuffer,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use support::{Fill, context, fill_kernel, poll_once, read};

/// A filled buffer, by a launch that owns it.
fn filled(
    fill: &CudaFunction,
    buffer: DeviceBuffer<u32>,
    value: u32,
) -> impl DeviceOperation<Output = DeviceBuffer<u32>> + use<> {
    let fill = fill.clone();
    unsafe {
        OwnedKernelLaunch::new(buffer, move |buffer: &mut DeviceBuffer<u32>| {
            let (len, mut launch) = (buffer.len() as u32, AsyncKernelLaunch::new(fill));
            launch.ptr_mut(buffer).value(&len).named("value", &value);
            launch.set_launch_config(LaunchConfig::for_num_elems(len));
            Ok(launch)
        })
    }
}

#[test]
fn copies_and_fills() {
    let _alone = alone();
    let numbers: Arc<[u32]> = (0..10_000).collect();
    let op = copy_to_device(numbers.clone()).and_then(|buffer| {
        allocate::<u32>(buffer.len()).and_then(move |other| copy_on_device(buffer, other))
    });
    let (first, second) = block_on(op).unwrap();
    assert_eq!(copy_to_host(&second).sync().unwrap().as_slice().unwrap(), &*numbers);
    let pinned = PinnedBuffer::from_slice(&context(), &[7u32; 10_000], PinnedFlags::empty()).unwrap();
    let (sevens, pinned) = block_on(copy_from_pinned(pinned)).unwrap();
    assert_eq!(read(&sevens), [7; 10_000]);
    let (_, pinned) = block_on(copy_to_pinned(first, pinned)).unwrap();
    assert_eq!(pinned.as_slice().unwrap(), &*numbers);
    let nines = block_on(memset(sevens, 9)).unwrap();
    assert_eq!(read(&nines), [9; 10_000]);
    let empty = copy_to_device(Vec::<u32>::new()).and_then(copy_to_host);
    assert!(block_on(empty).unwrap().as_slice().unwrap().is_empty());
}

/// cuda-oxide 251, cudarc 33: host memory freed or changed under an asynchronous copy.
#[test]
fn host_memory_outlives_its_copy_and_cannot_be_read_too_early() {
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&stream));
    let source: Vec<u32> = (0..1000).collect();
    let source = PinnedBuffer::from_slice(&context(), &source, PinnedFlags::empty()).unwrap();
    let (function, fill) = (fill_kernel(), fill_kernel());
    for kernel in [&function, &fill] {
        filled(kernel, zeroed(1).sync().unwrap(), 0).sync().unwrap();
    }
    let held = hold(&stream);
    // The future is dropped in flight: source and destination stay.
    let ended = Arc::new(AtomicUsize::new(0));
    let noted = Noted(ended.clone());
    let copy = copy_from_pinned(source).and_then_with_context(move |cx, copied| {
        cx.keep(noted);
        value(copied)
    });
    let mut dropped = copy.schedule(policy.clone()).future();
    assert!(poll_once(&mut dropped).is_pending());
    drop(dropped);
    // A closure sees the output while the stream is held; reading it waits.
    let early = zeroed::<u32>(1000)
        .and_then(|buffer| Fill { function: function.clone(), buffer, value: 3 })
        .and_then(move |buffer| filled(&fill, buffer, 3)) // the last handle of its module
        .and_then(copy_to_host)
        .map(move |host| {
            drop(held);
            assert_eq!(host.as_slice().unwrap(), [3; 1000]);
            host
        });
    assert_eq!(early.schedule(policy).sync().unwrap().as_slice().unwrap(), [3; 1000]);
    // Pinned memory that is freed while another test keeps a stream waiting would wait, too, and others for it.
    wait_until("the source is freed", || ended.load(Ordering::SeqCst) != 0).unwrap();
}

/// Counts its end.
struct Noted(Arc<AtomicUsize>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn an_operation_is_captured_once_and_replayed() {
    let _alone = alone();
    let (fill, stream) = (fill_kernel(), context().new_stream().unwrap());
    let buffer = |n| DeviceBuffer::<u32>::zeroed(&stream, n).unwrap();
    let (a, b, c) = (buffer(1000), buffer(2000), buffer(1000));
    let op = zip!(filled(&fill, a, 1), filled(&fill, b, 2))
        .and_then(move |(a, b)| copy_on_device(a, c).map(move |(a, c)| (a, b, c)));
    let mut graph: OperationGraph<_> = op.graph_in(&context()).unwrap();
    assert_eq!(read(&graph.output().2), [0; 1000], "nothing has run");
    graph.replay().sync().unwrap();
    assert_eq!((read(&graph.output().1), read(&graph.output().2)), (vec![2; 2000], vec![1; 1000]));
    assert_eq!(graph.plan().names(), ["value"]);
    for round in 10..20 {
        unsafe { graph.set("value", round) }.unwrap();
        memset(graph.output_mut().2.view_mut(), 0).sync().unwrap();
        if round % 2 == 0 {
            block_on(graph.replay()).unwrap()
        } else {
            graph.launch_on(&stream).unwrap()
        }
        assert_eq!(
            (read(&graph.output().1), read(&graph.output().2)),
            (vec![round; 2000], vec![round; 1000])
        );
    }
    let mut future = std::future::IntoFuture::into_future(graph.replay());
    let _ = poll_once(&mut future);
    drop(future);
    let (_, b, c) = graph.into_output();
    assert_eq!((read(&b), read(&c)), (vec![19; 2000], vec![19; 1000]));
}

#[test]
fn what_a_captured_chain_keeps_stays_as_long_as_its_graph() {
    let _alone = alone();
    let ended = Arc::new(AtomicUsize::new(0));
    let keeps = |ended: &Arc<AtomicUsize>| {
        let noted = Noted(ended.clone());
        with_context(move |cx| {
            cx.keep(noted);
            value(())
        })
    };
    let graph =
        CudaGraph::capture(&context(), CaptureMode::ThreadLocal, |s| unsafe { keeps(&ended).async_on(s) })
            .unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 0, "the graph has it");
    drop(graph);
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

/// Whether its work was recorded is not known: a graph of it may be launched at any time.
#[test]
fn what_a_chain_keeps_stays_where_the_capture_ends_before_it() {
    let _alone = alone();
    let ended = Arc::new(AtomicUsize::new(0));
    let noted = Noted(ended.clone());
    let ((begun, begins), (over, ends)) = (mpsc::channel(), mpsc::channel());
    let op = with_context(move |cx| {
        cx.keep(noted);
        begun.send(()).unwrap();
        ends.recv().unwrap();
        value(())
    });
    let mut chain = None;
    let graph = CudaGraph::capture(&context(), CaptureMode::ThreadLocal, |stream| {
        let stream = stream.clone();
        chain = Some(std::thread::spawn(move || unsafe { op.async_on(&stream) }));
        begins.recv().unwrap();
        Ok(())
    })
    .unwrap();
    over.send(()).unwrap();
    chain.unwrap().join().unwrap().unwrap();
    drop(graph);
    assert_eq!(ended.load(Ordering::SeqCst), 0);
}

#[test]
fn what_cannot_be_captured_says_so_by_name() {
    let _alone = alone();
    let error = zeroed::<u32>(10).graph_in(&context()).unwrap_err();
    assert!(error.is_capture_error() && error.to_string().contains("cuMemAlloc"), "{error}");
    let error = value(1).map(|_| block_on(zeroed::<u8>(1)).unwrap().len()).graph_in(&context());
    assert_eq!(error.unwrap().into_output(), 1, "other streams are not captured");
    let fill = fill_kernel();
    let raw = with_context(move |cx| {
        let mut launch = AsyncKernelLaunch::new(&fill);
        unsafe { launch.push_device_ptr(0) };
        launch.push_arg(0u32).push_arg(0u32).set_launch_config(LaunchConfig::for_num_elems(1));
        operation::from_result(unsafe { launch.execute(cx) })
    });
    let error = raw.graph_in(&context()).unwrap_err();
    assert!(error.to_string().contains("fill: an address was passed as a number"), "{error}");
}

#[test]
fn foreign_work_goes_before_and_after() {
    let _alone = alone();
    let (fill, ctx) = (fill_kernel(), context());
    let (stream, other) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let event = ctx.new_event().unwrap();
    let mut buffer = filled(&fill, zeroed(1000).sync().unwrap(), 0).sync().unwrap();
    let host = PinnedBuffer::zeroed(&ctx, 1000, PinnedFlags::empty()).unwrap();
    let held = hold(&stream);
    let address = buffer.as_mut_device_ptr();
    // Work that is not noted.
    let config = LaunchConfig::for_num_elems(1000);
    unsafe { cuda_launch::cuda_launch! { function: fill, stream: stream, config: config, args: [address, 1000u32, 4u32] } }
        .unwrap();
    event.record(&stream).unwrap();
    let policy = Arc::new(SingleStream::new(&other));
    // Not dropped in the chain: a buffer whose address was taken waits at its end.
    let copy = from_event(event, buffer).and_then(|buffer| copy_to_pinned(buffer, host));
    let mut future = copy.schedule(policy).future();
    assert!(poll_once(&mut future).is_pending());
    drop(held);
    assert_eq!(block_on(future).unwrap().1.as_slice().unwrap(), [4; 1000]);
    let behind =
        from_stream(&stream, ()).and_then_with_context(|cx, ()| value(cx.stream().unwrap().raw().addr()));
    assert_ne!(behind.sync().unwrap(), stream.raw().addr());
    let (buffer, event) = filled(&fill, zeroed(100).sync().unwrap(), 6).submit_on(&stream).unwrap();
    other.wait(&event).unwrap();
    assert_eq!(buffer.to_host_vec(&other).unwrap(), [6; 100]);
}

#[test]
fn a_scope_waits_for_what_borrows() {
    let _alone = alone();
    let fill = fill_kernel();
    let stream = context().new_stream().unwrap();
    let mut buffers: Vec<_> =
        (1..=6).map(|n| DeviceBuffer::<u32>::zeroed(&stream, n * 100).unwrap()).collect();
    operation::scope(|scope| {
        for (value, buffer) in buffers.iter_mut().enumerate() {
            let (len, mut launch) = (buffer.len() as u32, AsyncKernelLaunch::new(&fill));
            launch.ptr_mut(buffer).value(&len).value(&(value as u32));
            launch.set_launch_config(LaunchConfig::for_num_elems(len));
            scope.submit(unsafe { launch.into_operation() }).unwrap();
        }
    })
    .unwrap();
    for (value, buffer) in buffers.iter().enumerate() {
        assert_eq!(read(buffer), vec![value as u32; buffer.len()]);
    }
    let panicked = std::panic::catch_unwind(|| {
        let op = || zeroed::<u8>(1).map(|_| panic!("in a scope"));
        operation::scope(|scope| scope.submit(op()).unwrap())
    });
    assert!(panicked.is_err());
}

#[test]
fn a_wait_can_be_limited() {
    let _alone = alone();
    let stream = context().new_stream().unwrap();
    let policy: Arc<dyn SchedulingPolicy> = Arc::new(SingleStream::new(&stream));
    let held = hold(&stream);
    let limit = Duration::from_millis(30);
    let start = Instant::now();
    let error = zeroed::<u32>(10).schedule(policy.clone()).timeout(limit).sync().unwrap_err();
    assert!(error.is_timed_out() && start.elapsed() >= limit, "{error}");
    assert!(
        matches!(error.kind(), ErrorKind::Operation(OperationError::TimedOut { limit: l }) if *l == limit)
    );
    assert!(in_flight() >= 1, "the work goes on");
    let error = block_on(zeroed::<u32>(10).schedule(policy.clone()).timeout(Duration::ZERO)).unwrap_err();
    assert!(error.is_timed_out());
    drop(held);
    let in_time = zeroed::<u32>(10).schedule(policy).timeout(Duration::from_secs(60));
    assert_eq!(read(&block_on(in_time).unwrap()), [0; 10]);
}

#[test]
fn the_first_that_is_done_wins_and_nothing_is_lost() {
    let _alone = alone();
    let (slow, quick) = (context().new_stream().unwrap(), context().new_stream().unwrap());
    let on = |stream, n| zeroed::<u32>(n).schedule(Arc::new(SingleStream::new(stream)));
    let held = hold(&slow);
    let Either::Right(rest, output) = block_on(select(on(&slow, 3), on(&quick, 4))).unwrap() else {
        panic!("the slow one cannot be first")
    };
    assert_eq!(output.len(), 4);
    let (index, output, others) =
        block_on(select_all([on(&slow, 5), on(&slow, 6), on(&quick, 7), on(&slow, 8)])).unwrap();
    assert_eq!((index, output.len(), others.len()), (2, 7, 3));
    drop(held);
    let lens = others.into_iter().map(|future| block_on(future).unwrap().len());
    assert_eq!((block_on(rest).unwrap().len(), lens.collect::<Vec<_>>()), (3, vec![5, 6, 8]));
}

#[test]
fn defaults_are_of_the_task() {
    let _alone = alone();
    assert_eq!(default_device(), 0);
    let nested = || with_device(3, || (default_device(), with_device(4, default_device), default_device()));
    assert_eq!(nested(), (3, 4, 3));
    let _ = std::panic::catch_unwind(|| with_device(5, || panic!("in a task")));
    assert_eq!(default_device(), 0, "a panic puts back what was there");
    let task = task_on_device(2, async {
        let before = default_device();
        let mut yielded = false;
        std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut yielded, true) {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
        (before, default_device())
    });
    assert_eq!(std::thread::spawn(|| block_on(task)).join().unwrap(), (2, 2));
    let nowhere = with_device(63, || zeroed::<u8>(1).sync());
    assert!(nowhere.is_err());
    assert_eq!(zeroed::<u8>(1).on_device(0).sync().unwrap().context().ordinal(), 0);
    for refused in [operation::device_policy(64).map(drop), operation::set_default_device(64)] {
        assert!(refused.unwrap_err().to_string().contains("there is no device 64"));
    }
    operation::set_default_device(0).unwrap();
    assert_eq!(default_device(), 0);
}

/// Peers: a second `init` destroys what is live; state of threads; nested use builds a second set.
#[test]
fn devices_are_initialised_once_by_whoever_is_first() {
    let _alone = alone();
    let threads: Vec<_> =
        (0..8).map(|_| std::thread::spawn(|| operation::init_device_contexts(0, 1))).collect();
    let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    let error = operation::init_device_contexts(0, 1).unwrap_err();
    assert!(error.to_string().contains("already called, with default device 0 of 1"), "{error}");
    assert!(operation::init_device_contexts(3, 1).is_err());
    let pool = operation::device_policy(0).unwrap();
    let inside = value(()).map(|()| operation::device_policy(0).unwrap()).sync().unwrap();
    let elsewhere = std::thread::spawn(|| operation::device_policy(0).unwrap()).join().unwrap();
    assert!(Arc::ptr_eq(&pool, &inside) && Arc::ptr_eq(&pool, &elsewhere));
    assert_eq!(zeroed::<u8>(1).sync().unwrap().len(), 1);
}

#[test]
fn a_policy_may_refuse_and_a_round_goes_over_all_streams() {
    let _alone = alone();
    struct Refuses;
    impl SchedulingPolicy for Refuses {
        fn next_stream(&self) -> Result<cuda_launch::CudaStream, Error> {
            Err(RoundRobin::of([]).unwrap_err())
        }
    }
    let error = zeroed::<u8>(1).schedule(Arc::new(Refuses)).sync().unwrap_err();
    assert!(error.to_string().contains("at least one stream"), "{error}");
    let policy = Arc::new(RoundRobin::new(&context(), 3).unwrap());
    let addr = || with_context(|cx| value(cx.stream().unwrap().raw().addr()));
    let used = all((0..6).map(|_| addr())).schedule(policy.clone()).sync().unwrap();
    let streams: Vec<_> = policy.streams().iter().map(|stream| stream.raw().addr()).collect();
    assert_eq!(used, [&streams[..], &streams[..]].concat());
}
