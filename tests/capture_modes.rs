//! Captures beside calls of other threads. In a program of its own, one test at a time: a capture in the global mode forbids calls to
//! all threads of the process, and is broken by one that another thread is just making.

#![allow(unsafe_code)] // Launches of fill: an address with its length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;

use alone::alone;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::RegisterFlags;
use cuda_launch::sys::{CUresult, CUstreamCaptureMode};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer, Error, LaunchConfig, cuda_launch};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

const N: usize = 1000;

/// The mode of this thread towards captures, which is the default from now on.
fn own_mode(ctx: &CudaContext) -> CUstreamCaptureMode {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: a local, which outlives the call, and one of the three modes.
    let code = unsafe { ctx.driver().cuThreadExchangeStreamCaptureMode(&mut mode) };
    assert_eq!(code, CUresult::SUCCESS);
    mode
}

/// In the global mode the driver forbids unsafe calls to all threads of the process; those of this crate are made despite it.
#[test]
fn no_mode_of_a_capture_disturbs_other_threads() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let other = ctx.new_stream().unwrap();
    let module = ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap();
    for mode in [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed] {
        let mut x = DeviceBuffer::<u32>::zeroed(&other, N).unwrap();
        let graph = CudaGraph::capture(&ctx, mode, |stream| {
            unsafe {
                cuda_launch! { kernel: fill, module: module, stream: stream, config: LaunchConfig::for_num_elems(N as u32),
                args: [ptr_mut(x), N as u32, 5u32] }
            }?;
            thread::scope(|scope| {
                scope.spawn(|| {
                    let (event, data) = (ctx.new_event().unwrap(), vec![7u32; N]);
                    let buffer = DeviceBuffer::from_host(&other, &data).unwrap();
                    event.record(&other).unwrap();
                    assert_eq!(buffer.to_host_vec(&other).unwrap(), data);
                    assert!(event.query().unwrap() && other.query().unwrap());
                    assert_eq!(own_mode(&ctx), CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL);
                });
            });
            Ok(())
        })
        .unwrap();
        graph.instantiate(InstantiateFlags::empty()).unwrap().launch(&other).unwrap();
        assert_eq!(x.to_host_vec(&other).unwrap(), [5; N]);
    }
}

#[test]
fn waits_for_the_context_on_another_thread_break_no_capture() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                match ctx.synchronize() {
                    Ok(()) => {}
                    Err(error) => assert!(error.is_refused_in_capture(), "{error}"),
                }
                // Freed by a call that waits for the device.
                drop(DeviceBuffer::<u32>::uninit_plain(&ctx, 4).unwrap());
            }
        });
        let captures = catch_unwind(AssertUnwindSafe(|| {
            for round in 0..500 {
                let mut x = DeviceBuffer::<u32>::zeroed(&stream, 8).unwrap();
                let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| x.fill(stream, round));
                assert_eq!(graph.unwrap().nodes().len(), 1, "round {round}");
            }
        }));
        over.store(true, Ordering::Relaxed);
        waits.join().unwrap();
        captures.unwrap();
    });
}

/// This thread has no handle of another thread's own stream, and cannot wait for the context while it captures.
#[test]
fn copies_of_lent_memory_on_the_streams_of_other_threads_are_over_when_the_loan_is() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let device = DeviceBuffer::filled(&stream, 1000, 7u32).unwrap();
    let (mut data, done) = ([0u32; 1000], Arc::new(AtomicBool::new(false)));
    let captured = ctx.with_registered(&mut data, RegisterFlags::empty(), |mut pinned| {
        let copy = || {
            let own = ctx.per_thread_stream();
            let held = done.clone();
            own.call_host(move || {
                thread::sleep(Duration::from_millis(100));
                held.store(true, Ordering::SeqCst);
            })?;
            device.view().copy_to_pinned(&own, pinned.view_mut())?;
            assert!(done.load(Ordering::SeqCst), "only this thread can wait for its stream");
            Ok::<_, Error>(())
        };
        thread::scope(|scope| scope.spawn(copy).join().unwrap())?;
        // For its own the lender waits itself, at the end.
        let (go, gate) = mpsc::channel();
        let own = ctx.per_thread_stream();
        own.call_host(move || gate.recv_timeout(Duration::from_secs(60)).unwrap())?;
        device.view().copy_to_pinned(&own, pinned.view_mut())?;
        go.send(()).unwrap();
        // SAFETY: 1: it is ended below, on this thread, and no work is given to any stream before that; 2: so it
        // records nothing; 3: `device` is given no work, and lives on, and no other thread of this test runs any more.
        unsafe { stream.begin_capture(CaptureMode::Relaxed) }
    });
    let seen = data;
    // SAFETY: 1, 2: `begin_capture` returned it.
    unsafe { captured.unwrap().end_capture() }.unwrap();
    assert_eq!(seen, [7; 1000]);
}
