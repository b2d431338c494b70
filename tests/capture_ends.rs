//! The streams of a capture that is over, and whatever somebody still tries on them. Alone in its process: it counts free memory.

#![allow(unsafe_code)] // Launches of fill: an address with its length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_harness::skipped;
use cuda_launch::error::CaptureError;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{CopyBatch, CopySource, CopyTarget, Extent, PinnedFlags, RowLayout};
use cuda_launch::operation::{DeviceOperation, value, with_context, zeroed};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig,
    PinnedBuffer, cuda_launch,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

const N: usize = 1000;

#[test]
fn streams_of_a_capture_serve_nobody_after_it() {
    type Capture = fn(&CudaContext, &mut DeviceBuffer<u32>, &mut Vec<CudaStream>);
    type Use<'a> = (&'static str, Box<dyn FnMut(&CudaStream) -> Result<(), Error> + 'a>);
    let ctx = &CudaContext::new(0).unwrap();
    let outside = &ctx.new_stream().unwrap();
    let fill = ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap();
    let buffer = || DeviceBuffer::<u32>::zeroed(outside, N).unwrap();
    let pinned = || PinnedBuffer::<u32>::zeroed(ctx, N, PinnedFlags::empty()).unwrap();
    // A GPU's driver takes memory of its own meanwhile.
    let counts = ctx.device_name().unwrap().contains("emulator");
    let free = || {
        ctx.synchronize().unwrap();
        counts.then(|| ctx.memory_info().unwrap().0)
    };
    let captured: [(&str, Capture); 4] = [
        ("it recorded", |ctx, memory, kept| {
            let graph = CudaGraph::capture(ctx, CaptureMode::ThreadLocal, |stream| {
                kept.extend([stream.clone(), stream.fork()?]);
                memory.view_mut().fill(stream, 7)?;
                Ok(())
            });
            drop(graph.unwrap());
        }),
        ("it failed", |ctx, memory, kept| {
            let graph = CudaGraph::capture(ctx, CaptureMode::Global, |stream| {
                kept.extend([stream.clone(), stream.fork()?]);
                memory.view_mut().fill(stream, 7)?;
                stream.synchronize()
            });
            assert!(graph.is_err());
        }),
        ("it panicked", |ctx, memory, kept| {
            let graph = catch_unwind(AssertUnwindSafe(|| {
                CudaGraph::capture(ctx, CaptureMode::Relaxed, |stream| {
                    kept.extend([stream.clone(), stream.fork()?]);
                    memory.view_mut().fill(stream, 7)?;
                    panic!("in a capture")
                })
            }));
            assert!(graph.is_err());
        }),
        ("it recorded into a graph", |ctx, memory, kept| {
            let mut graph = CudaGraph::new(ctx).unwrap();
            let nodes = graph.capture_into(&[], CaptureMode::ThreadLocal, |stream| {
                kept.extend([stream.clone(), stream.fork()?]);
                memory.view_mut().fill(stream, 7)?;
                Ok(())
            });
            nodes.unwrap();
        }),
    ];
    let before = free();
    for (end, capture) in captured {
        let mut kept = Vec::new();
        capture(ctx, &mut buffer(), &mut kept);
        let event = ctx.new_event().unwrap();
        let recorded = ctx.new_event().unwrap();
        recorded.record(outside).unwrap();
        let mut exec = CudaGraph::new(ctx).unwrap().instantiate(InstantiateFlags::empty()).unwrap();
        let (mut a, mut b, mut c, mut d, mut e, mut f) =
            (buffer(), buffer(), buffer(), buffer(), buffer(), buffer());
        let (source, from, mut to) = (buffer(), pinned(), pinned());
        let mut host = [0; N];
        let layout = RowLayout::packed::<u32>(10, 10);
        let mut uses: Vec<Use<'_>> = vec![
            (
                "launch",
                Box::new(|stream| unsafe {
                    cuda_launch! { kernel: fill, module: fill, stream: stream, config: LaunchConfig::for_num_elems(N as u32),
                    args: [ptr_mut(a), N as u32, 1u32] }
                }),
            ),
            ("fill", Box::new(|stream| b.view_mut().fill(stream, 1))),
            ("copy", Box::new(|stream| c.view_mut().copy_from_device(stream, &source))),
            ("copy_from_host", Box::new(|stream| d.copy_from_host(stream, &[1; N]))),
            ("copy_to_host", Box::new(|stream| source.copy_to_host(stream, &mut host))),
            ("copy_from_pinned", Box::new(|stream| e.view_mut().copy_from_pinned(stream, &from))),
            ("copy_to_pinned", Box::new(|stream| source.view().copy_to_pinned(stream, &mut to))),
            ("copy_region", {
                Box::new(|stream| {
                    let source = CopySource::device(&source, layout);
                    stream.copy_region(&source, &mut CopyTarget::device(&mut f, layout), Extent::rows(10, 10))
                })
            }),
            ("CopyBatch", {
                Box::new(|stream| {
                    let mut target = buffer();
                    let mut batch = CopyBatch::new();
                    batch.push(&mut target, &source)?;
                    batch.submit(stream)
                })
            }),
            ("new buffer", Box::new(|stream| DeviceBuffer::<u32>::zeroed(stream, N).map(drop))),
            ("uninitialised buffer", Box::new(|stream| DeviceBuffer::<u32>::uninit(stream, N).map(drop))),
            ("GraphExec::launch", Box::new(|stream| exec.launch(stream))),
            ("record", Box::new(|stream| event.record(stream))),
            ("wait", Box::new(|stream| stream.wait(&recorded))),
            ("join", Box::new(|stream| stream.join(outside))),
            ("joined", Box::new(|stream| outside.join(stream))),
            ("fork", Box::new(|stream| stream.fork().map(drop))),
            ("call_host", Box::new(|stream| stream.call_host(|| panic!("it is called")))),
            ("operation", Box::new(|stream| zeroed::<u32>(N).sync_on(stream).map(drop))),
            ("operation that keeps something", {
                Box::new(|stream| {
                    let kept = buffer();
                    let keeps = with_context(move |cx| {
                        cx.keep(kept);
                        value(())
                    });
                    keeps.submit_on(stream).map(drop)
                })
            }),
            ("query", Box::new(|stream| stream.query().map(drop))),
            ("synchronize", Box::new(CudaStream::synchronize)),
        ];
        for (what, of) in &mut uses {
            for stream in &kept {
                let error = of(stream).expect_err(what);
                let is_ended = matches!(error.kind(), ErrorKind::Capture(CaptureError::Ended { .. }));
                assert!(is_ended || *what == "joined" && error.is_capture_error(), "{end}: {what}: {error}");
                let is_of_launch = error.to_string().starts_with("cuLaunchKernelEx: ");
                assert_eq!(is_of_launch, *what == "launch", "{end}: {what}: {error}");
            }
        }
        drop(uses);
        // Nothing of it was done, and all else goes on.
        for buffer in [&mut a, &mut b, &mut c, &mut d, &mut e, &mut f] {
            assert_eq!(buffer.to_host_vec(outside).unwrap(), [0; N], "{end}");
            buffer.view_mut().fill(outside, 3).unwrap();
            assert_eq!(buffer.to_host_vec(outside).unwrap(), [3; N], "{end}");
        }
        assert_eq!(to.as_slice().unwrap(), [0; N]);
    }
    if !counts {
        skipped("free memory is not compared: a GPU's driver takes some of its own");
    }
    assert_eq!(free(), before, "neither what was captured nor what the streams were asked to use is kept");
}
