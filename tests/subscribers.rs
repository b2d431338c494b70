//! Subscribers of `tracing` that use the driver in the middle of a call that they are told of: what the call holds is refused to them,
//! nothing waits for itself, and everything else works.

#![cfg(feature = "tracing")]
#![allow(unsafe_code)] // A capture by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;

use alone::{alone, hold};
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::module::CudaLibrary;
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig,
    cuda_launch,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Once};
use std::thread;
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const FILL: &str = include_str!("../examples/kernels/fill.ptx");
const N: usize = 16;

type Act = Box<dyn FnOnce()>;

thread_local! {
    /// What this thread does, once, where a call of the driver ends.
    static ARMED: RefCell<Option<(&'static str, Act)>> = const { RefCell::new(None) };
}

/// Knows the spans by the driver's functions.
#[derive(Default)]
struct Acts {
    next: AtomicU64,
    calls: Mutex<HashMap<u64, String>>,
}

struct Call(String);

impl Visit for Call {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "call" {
            value.clone_into(&mut self.0);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Subscriber for Acts {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = 1 + self.next.fetch_add(1, Ordering::Relaxed);
        let mut call = Call(String::new());
        span.record(&mut call);
        self.calls.lock().unwrap().insert(id, call.0);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, span: &Id) {
        let call = self.calls.lock().unwrap().get(&span.into_u64()).cloned();
        let armed = ARMED.with(|armed| armed.borrow_mut().take_if(|(at, _)| Some(*at) == call.as_deref()));
        if let Some((_, act)) = armed {
            act();
        }
    }
}

/// At the end of the next call of this driver function on this thread.
fn at(call: &'static str, act: impl FnOnce() + 'static) {
    static SET: Once = Once::new();
    SET.call_once(|| tracing::subscriber::set_global_default(Acts::default()).unwrap());
    ARMED.with(|armed| *armed.borrow_mut() = Some((call, Box::new(act))));
}

fn acted() {
    assert!(ARMED.with(|armed| armed.borrow().is_none()), "there was no such call");
}

fn refused<T>(result: Result<T, Error>) {
    let Err(error) = result else { panic!("not refused") };
    assert!(matches!(error.kind(), ErrorKind::InHostCallback(_)), "{error}");
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
        at("cuLaunchKernelEx", move || {
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
    at("cuMemsetD32Async", move || refused(unsafe { captured.end_capture() }));
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
            at("cuStreamGetCaptureInfo", move || {
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
    at("cuEventRecord", move || refused(same.to_host_vec(&third)));
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
        at("cuEventRecord", move || elsewhere(&|| other.wait(&same)));
        event.record(stream)?;
        acted();
        event.record(&plain)?;
        let (same, captured) = (event.clone(), stream.clone());
        // What was compared stays so until the wait is over.
        at("cuStreamWaitEvent", move || elsewhere(&|| same.record(&captured)));
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
    at("cuModuleGetFunction", move || refused(same.load_function("fill")));
    module.load_function("fill").unwrap();
    acted();

    let library = CudaLibrary::load(ctx.driver(), FILL).unwrap();
    let (same, context) = (library.clone(), ctx.clone());
    at("cuLibraryGetModule", move || refused(same.module(&context)));
    library.module(&ctx).unwrap();
    acted();

    let graph = Arc::new(CudaGraph::new(&ctx).unwrap());
    let same = graph.clone();
    at("cuGraphClone", move || refused(same.instantiate(InstantiateFlags::empty())));
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
        at(call, move || {
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
