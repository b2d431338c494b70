//! Captures beside calls of other threads. In a program of its own, one test at a time: a capture in the global mode forbids calls to
//! all threads of the process, and is broken by one that another thread is just making.

#![allow(unsafe_code)] // Launches of fill: an address with its length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;

use alone::alone;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer, LaunchConfig, cuda_launch};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

const N: usize = 1000;

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
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let (event, data) = (ctx.new_event().unwrap(), vec![7u32; N]);
                    let buffer = DeviceBuffer::from_host(&other, &data).unwrap();
                    event.record(&other).unwrap();
                    assert_eq!(buffer.to_host_vec(&other).unwrap(), data);
                    assert!(event.query().unwrap() && other.query().unwrap());
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
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                match ctx.synchronize() {
                    Ok(()) => {}
                    Err(error) => assert!(error.is_not_in_capture(), "{error}"),
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
