//! Subscribers of `tracing` that use the driver in the middle of a call that they are told of: what the call holds is refused to them,
//! nothing waits for itself, and everything else works.

#![cfg(feature = "tracing")]
#![allow(unsafe_code)] // A capture by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/acts.rs"]
mod acts;
#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use acts::{at_close, at_enter, at_exit};
use alone::{alone, hold};
use cuda_launch::context::ContextOptions;
use cuda_launch::graph::{InstantiateFlags, MemsetNode, NodeKind};
use cuda_launch::memory::PinnedFlags;
use cuda_launch::module::CudaLibrary;
use cuda_launch::sys::CUresult;
use cuda_launch::{
    CaptureMode, CudaContext, CudaDevice, CudaGraph, CudaStream, DeviceBuffer, Error, ErrorKind,
    LaunchConfig, PinnedBuffer, cuda_launch,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const FILL: &str = include_str!("../examples/kernels/fill.ptx");
const N: usize = 16;

fn acted() {
    assert!(acts::acted(), "there was no such call");
}

fn refused<T>(result: Result<T, Error>) {
    let Err(error) = result else { panic!("not refused") };
    assert!(matches!(error.kind(), ErrorKind::InHostCallback(_)), "{error}");
}

/// Ends the program unless it is dropped within a minute.
struct Watchdog(#[allow(dead_code)] Sender<()>);

impl Watchdog {
    fn new() -> Self {
        let (alive, end) = channel();
        thread::spawn(move || {
            if end.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                eprintln!("the listener waits for its own thread");
                std::process::abort();
            }
        });
        Self(alive)
    }
}

fn rig() -> (CudaContext, CudaStream) {
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    (ctx, stream)
}

#[test]
fn a_captured_stream_is_given_nothing_in_the_middle_of_a_launch() {
    let _alone = alone();
    let (ctx, plain) = rig();
    let fill = Arc::new(ctx.load_module(FILL).unwrap().load_function("fill").unwrap());
    let (mut x, mut y) =
        (DeviceBuffer::<u32>::zeroed(&plain, N).unwrap(), DeviceBuffer::<u32>::zeroed(&plain, N).unwrap());
    let event = ctx.new_event().unwrap();
    let launch = move |stream: &CudaStream, x: &mut DeviceBuffer<u32>| unsafe {
        cuda_launch! { function: fill, stream: stream, config: LaunchConfig::for_num_elems(N as u32),
        args: [ptr_mut(x), N as u32, 5u32] }
    };
    let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| {
        let (captured, again) = (stream.clone(), launch.clone());
        at_exit("cuLaunchKernelEx", move || {
            refused(y.view_mut().fill(&captured, 3));
            refused(again(&captured, &mut y));
            refused(event.record(&captured));
            refused(captured.capture_info());
            refused(captured.fork());
        });
        launch(stream, &mut x)
    });
    acted();
    assert_eq!(graph.unwrap().nodes().len(), 1);
}

#[test]
fn a_capture_by_hand_is_not_ended_in_the_middle_of_its_work() {
    let _alone = alone();
    let (_ctx, plain) = rig();
    let mut x = DeviceBuffer::<u32>::zeroed(&plain, N).unwrap();
    let capturing = unsafe { plain.begin_capture(CaptureMode::Relaxed) }.unwrap();
    let captured = capturing.clone();
    at_exit("cuMemsetD32Async", move || refused(unsafe { captured.end_capture() }));
    x.view_mut().fill(&capturing, 9).unwrap();
    acted();
    assert_eq!(unsafe { capturing.end_capture() }.unwrap().nodes().len(), 1);
}

/// It reads what the driver keeps as long as the capture lasts.
#[test]
fn a_capture_ends_after_another_thread_has_been_told_of_it() {
    let _alone = alone();
    let (ctx, _) = rig();
    let ended = Arc::new(AtomicBool::new(false));
    let (asking, waits) = channel();
    let (mut thread, seen) = (None, ended.clone());
    let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| {
        let stream = stream.clone();
        thread = Some(thread::spawn(move || {
            let early = Arc::new(AtomicBool::new(false));
            let told = early.clone();
            at_exit("cuStreamGetCaptureInfo", move || {
                asking.send(()).unwrap();
                thread::sleep(Duration::from_millis(100));
                told.store(seen.load(Ordering::SeqCst), Ordering::SeqCst);
            });
            let number = stream.capture_info().map(|info| info.id);
            acted();
            (number, early.load(Ordering::SeqCst))
        }));
        waits.recv().unwrap();
        Ok(())
    });
    ended.store(true, Ordering::SeqCst);
    let (number, early) = thread.unwrap().join().unwrap();
    assert!(graph.unwrap().nodes().is_empty() && number.unwrap() != 0);
    assert!(!early, "the capture ended while its list was read");
}

#[test]
fn memory_whose_access_is_being_ordered_is_not_accessed() {
    let _alone = alone();
    let (ctx, first) = rig();
    let (second, third) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let x = Arc::new(DeviceBuffer::<u32>::zeroed(&first, N).unwrap());
    let same = x.clone();
    at_exit("cuEventRecord", move || refused(same.to_host_vec(&third)));
    assert_eq!(x.to_host_vec(&second).unwrap(), [0; N]);
    acted();
}

/// A stream that waits for an event of a capture would become part of that, and what it is given would not run.
#[test]
fn an_event_changes_between_streams_and_captures_only_while_nobody_waits_for_it() {
    let _alone = alone();
    let (ctx, plain) = rig();
    let mut x = DeviceBuffer::<u32>::zeroed(&plain, N).unwrap();
    let event = Arc::new(ctx.new_event().unwrap());
    let elsewhere = |act: &(dyn Fn() -> Result<(), Error> + Sync)| {
        thread::scope(|scope| {
            let error = scope.spawn(act).join().unwrap().unwrap_err();
            assert!(error.is_capture_error(), "{error}");
        });
    };
    CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| {
        let (same, other) = (event.clone(), plain.clone());
        // The driver has recorded it in the capture, and nobody knows yet.
        at_exit("cuEventRecord", move || elsewhere(&|| other.wait(&same)));
        event.record(stream)?;
        acted();
        event.record(&plain)?;
        let (same, captured) = (event.clone(), stream.clone());
        // What was compared stays so until the wait is over.
        at_exit("cuStreamWaitEvent", move || elsewhere(&|| same.record(&captured)));
        plain.wait(&event)?;
        acted();
        x.view_mut().fill(&plain, 9)
    })
    .unwrap();
    assert_eq!(x.to_host_vec(&plain).unwrap(), [9; N], "it ran");
}

#[test]
fn modules_libraries_and_graphs_are_not_asked_for_what_they_are_just_asked_for() {
    let _alone = alone();
    let (ctx, _) = rig();
    let module = ctx.load_module(FILL).unwrap();
    let same = module.clone();
    at_exit("cuModuleGetFunction", move || refused(same.load_function("fill")));
    module.load_function("fill").unwrap();
    acted();

    let library = CudaLibrary::load(ctx.driver(), FILL).unwrap();
    let (same, context) = (library.clone(), ctx.clone());
    at_exit("cuLibraryGetModule", move || refused(same.module(&context)));
    library.module(&ctx).unwrap();
    acted();

    let graph = Arc::new(CudaGraph::new(&ctx).unwrap());
    let same = graph.clone();
    at_exit("cuGraphClone", move || refused(same.instantiate(InstantiateFlags::empty())));
    graph.try_clone().unwrap();
    acted();
}

/// Work that is given while a wait for the stream ends is not taken for done.
#[test]
fn what_a_stream_is_given_where_a_wait_ends_is_waited_for() {
    let _alone = alone();
    let (ctx, first) = rig();
    let second = ctx.new_stream().unwrap();
    for (call, value) in [("cuStreamSynchronize", 1), ("cuCtxSynchronize", 2)] {
        let x = Arc::new(Mutex::new(DeviceBuffer::<u32>::zeroed(&first, N).unwrap()));
        let held = Arc::new(Mutex::new(None));
        let (stream, written, kept) = (first.clone(), x.clone(), held.clone());
        at_exit(call, move || {
            *kept.lock().unwrap() = Some(hold(&stream));
            written.lock().unwrap().view_mut().fill(&stream, value).unwrap();
        });
        if value == 1 {
            first.synchronize().unwrap()
        } else {
            ctx.synchronize().unwrap()
        }
        acted();
        let release = thread::spawn(move || drop(held.lock().unwrap().take()));
        assert_eq!(x.lock().unwrap().to_host_vec(&second).unwrap(), [value; N]);
        release.join().unwrap();
    }
}

/// A call that is told by what is current which context it is about, is about its own.
#[test]
fn a_listener_that_makes_another_context_current_redirects_no_call() {
    let _alone = alone();
    let (ctx, explicit) = rig();
    let other = CudaDevice::new(0).unwrap().create_context(&ContextOptions::default()).unwrap();
    let redirect = |call| {
        let other = other.clone();
        at_enter(call, move || other.bind().unwrap());
    };
    for stream in [ctx.default_stream(), ctx.per_thread_stream()] {
        let device = DeviceBuffer::filled(&stream, N, 7u32).unwrap();
        let mut pinned = PinnedBuffer::<u32>::zeroed(&ctx, N, PinnedFlags::empty()).unwrap();
        stream.call_host(|| thread::sleep(Duration::from_millis(50))).unwrap();
        redirect("cuMemcpyDtoHAsync");
        device.view().copy_to_pinned(&stream, &mut pinned).unwrap();
        acted();
        redirect("cuStreamSynchronize");
        assert_eq!(pinned.as_slice().unwrap(), [7; N], "{stream:?}");
        acted();
    }
    let mut x = DeviceBuffer::<u32>::zeroed(&explicit, N).unwrap();
    explicit.call_host(|| thread::sleep(Duration::from_millis(50))).unwrap();
    x.view_mut().fill(&explicit, 7).unwrap();
    redirect("cuCtxSynchronize");
    ctx.synchronize().unwrap();
    acted();
    assert_eq!(x.to_host_vec(&ctx.new_stream().unwrap()).unwrap(), [7; N], "the context was not waited for");
    redirect("cuStreamCreateWithPriority");
    let made = ctx.new_stream().unwrap();
    acted();
    let mut of = std::ptr::null_mut();
    assert_eq!(unsafe { ctx.driver().cuStreamGetCtx(made.raw(), &mut of) }, CUresult::SUCCESS);
    assert_eq!(of, ctx.raw());
}

/// It would come neither before the launch nor after it.
#[test]
fn memory_of_a_graph_is_given_no_work_in_the_middle_of_its_launch() {
    let _alone = alone();
    let (ctx, stream) = rig();
    let other = ctx.new_stream().unwrap();
    let mut x = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
    let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |s| x.view_mut().fill(s, 1)).unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    ctx.synchronize().unwrap();
    let x = Arc::new(Mutex::new(x));
    let (filled, on) = (x.clone(), other.clone());
    at_enter("cuGraphLaunch", move || refused(filled.lock().unwrap().view_mut().fill(&on, 9)));
    exec.launch(&stream).unwrap();
    acted();
    x.lock().unwrap().view_mut().fill(&other, 9).unwrap();
    assert_eq!(x.lock().unwrap().to_host_vec(&other).unwrap(), [9; N], "after the launch it may be");
}

/// The call that it hears of is its own thread's: nobody else ends it.
#[test]
fn a_listener_launches_no_graph_with_memory_of_the_call_that_it_hears_of() {
    let _alone = alone();
    let (ctx, stream) = rig();
    let other = ctx.new_stream().unwrap();
    let mut x = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
    let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |s| x.view_mut().fill(s, 1)).unwrap();
    let exec = Arc::new(Mutex::new(graph.instantiate(InstantiateFlags::empty()).unwrap()));
    ctx.synchronize().unwrap();
    for arm in [at_enter, at_exit, at_close] as [fn(&'static str, Box<dyn FnOnce()>); 3] {
        let (launched, on) = (exec.clone(), other.clone());
        arm("cuMemsetD32Async", Box::new(move || refused(launched.lock().unwrap().launch(&on))));
        x.view_mut().fill(&stream, 7).unwrap();
        acted();
        exec.lock().unwrap().launch(&other).unwrap();
        assert_eq!(x.to_host_vec(&other).unwrap(), [1; N]);
    }
}

/// The order of captured work is added while the graph is instantiated.
#[test]
fn a_listener_may_look_at_the_nodes_of_a_graph_that_is_being_ordered() {
    let _alone = alone();
    let (ctx, stream) = rig();
    let mut x = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    for value in [1, 2] {
        graph.capture_into(&[], CaptureMode::Relaxed, |s| x.view_mut().fill(s, value)).unwrap();
    }
    let graph = Arc::new(graph);
    let seen = graph.clone();
    at_exit("cuGraphAddDependencies", move || assert_eq!(seen.nodes().len(), 2));
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    acted();
    exec.launch(&stream).unwrap();
    assert_eq!(x.to_host_vec(&stream).unwrap(), [2; N]);
}

/// A watchdog ends the program where the listener waits for its own thread.
#[test]
fn a_listener_may_look_at_the_nodes_of_a_graph_that_is_being_copied() {
    let _alone = alone();
    let (ctx, _) = rig();
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let nodes = [graph.add_empty(&[]).unwrap(), graph.add_host(&[], || ()).unwrap()];
    let graph = Arc::new(graph);
    let seen = graph.clone();
    let _watchdog = Watchdog::new();
    at_exit("cuGraphNodeFindInClone", move || {
        assert_eq!(seen.nodes(), nodes);
        assert_eq!(seen.kind(nodes[1]).unwrap(), NodeKind::Host);
    });
    let copy = graph.try_clone().unwrap();
    acted();
    assert_eq!(copy.nodes(), nodes.map(|node| copy.copy_of(node)));
}

/// Nobody knows then whether the driver has the node.
#[test]
fn what_a_node_uses_stays_with_the_graph_where_its_call_unwinds() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    for call in ["cuGraphAddMemsetNode", "cuGraphDestroyNode"] {
        let mut x = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
        let mut graph = CudaGraph::new(&ctx).unwrap();
        at_exit(call, || resume_unwind(Box::new("a subscriber")));
        let memset = MemsetNode::new(&mut x, 1).unwrap();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let node = graph.add_memset(&[], memset).unwrap();
            graph.remove(node).unwrap();
        }));
        acted();
        assert!(unwound.is_err(), "{call}");
        spy.clear();
        drop(x);
        stream.synchronize().unwrap();
        assert_eq!(spy.count("cuMemFreeAsync"), 0, "{call}");
        drop(graph);
        stream.synchronize().unwrap();
        assert_eq!(spy.count("cuMemFreeAsync"), 1, "{call}");
    }
}
