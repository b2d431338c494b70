//! Captures in a scope: what is recorded, what is refused, and that the capture always ends.

#![allow(unsafe_code)] // Launches of vecadd and fill: slices of one length, or an address with its length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::error::CaptureError;
use cuda_launch::event::EventFlags;
use cuda_launch::graph::{InstantiateFlags, NodeKind};
use cuda_launch::memory::{ManagedAttach, MemoryLocation, PrefetchBatch};
use cuda_launch::stream::{CaptureStatus, StreamFlags};
use cuda_launch::sys::CUresult;
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, MipmappedArray, SurfaceObject, TextureDescriptor, TextureObject,
};
use cuda_launch::{
    Attribute, CaptureMode, CudaContext, CudaEvent, CudaFunction, CudaGraph, CudaModule, CudaStream,
    DeviceBuffer, DevicePtrMut, Error, ErrorKind, LaunchConfig, ManagedBuffer, cuda_launch,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

const LOCAL: CaptureMode = CaptureMode::ThreadLocal;
const N: usize = 1000;

struct Gpu {
    ctx: CudaContext,
    stream: CudaStream,
    vecadd: CudaModule,
    fill: CudaModule,
}

impl Gpu {
    fn new() -> Self {
        let ctx = CudaContext::new(0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let vecadd = ctx.load_module(include_str!("../examples/kernels/vecadd.ptx")).unwrap();
        let fill = ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap();
        Self { ctx, stream, vecadd, fill }
    }

    fn full(&self, value: f32) -> DeviceBuffer<f32> {
        DeviceBuffer::from_host(&self.stream, &[value; N]).unwrap()
    }

    /// sum = a + b
    fn add(
        &self,
        stream: &CudaStream,
        a: &DeviceBuffer<f32>,
        b: &DeviceBuffer<f32>,
        sum: &mut DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        unsafe {
            cuda_launch! { kernel: vecadd, module: self.vecadd, stream: stream, config: LaunchConfig::for_num_elems(N as u32),
            args: [slice(a), slice(b), slice_mut(sum)] }
        }
    }

    fn fill(&self, stream: &CudaStream, x: &mut DeviceBuffer<u32>, value: u32) -> Result<(), Error> {
        let n = x.len() as u32;
        unsafe {
            cuda_launch! { kernel: fill, module: self.fill, stream: stream, config: LaunchConfig::for_num_elems(n),
            args: [ptr_mut(x), n, value] }
        }
    }

    fn run(&self, graph: &CudaGraph) {
        graph.instantiate(InstantiateFlags::empty()).unwrap().launch(&self.stream).unwrap();
    }
}

fn kinds(graph: &CudaGraph) -> Vec<NodeKind> {
    graph.nodes().into_iter().map(|node| graph.kind(node).unwrap()).collect()
}

fn refused_in_capture<T>(result: Result<T, Error>, call: &str) {
    let Err(error) = result else { panic!("{call} was not refused") };
    assert!(matches!(error.kind(), ErrorKind::RefusedInCapture(_)), "{error}");
    assert!(error.is_capture_error() && error.to_string().contains(call), "{error}");
}

#[test]
fn work_is_recorded_and_runs_when_the_graph_is_launched() {
    let gpu = Gpu::new();
    let (a, b) = (gpu.full(1.0), gpu.full(2.0));
    let (mut sum, mut copy) = (gpu.full(0.0), gpu.full(0.0));
    let graph = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        assert_eq!(stream.capture_status()?, CaptureStatus::Active);
        sum.view_mut().set_zero(stream)?;
        gpu.add(stream, &a, &b, &mut sum)?;
        copy.view_mut().copy_from_device(stream, &sum)
    })
    .unwrap();
    assert_eq!(kinds(&graph), [NodeKind::Memset, NodeKind::Kernel, NodeKind::Memcpy]);
    assert_eq!(graph.dependencies().unwrap().len(), 2);
    assert_eq!(sum.to_host_vec(&gpu.stream).unwrap(), [0.0; N]);
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    for _ in 0..3 {
        exec.launch(&gpu.stream).unwrap();
    }
    assert_eq!(copy.to_host_vec(&gpu.stream).unwrap(), [3.0; N]);
}

/// reliability.md 2.4, row 41.
#[test]
fn waiting_allocating_and_borrowed_host_memory_are_refused_and_the_capture_survives() {
    let gpu = Gpu::new();
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let graph = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        refused_in_capture(stream.synchronize(), "cuStreamSynchronize");
        refused_in_capture(stream.query(), "cuStreamQuery");
        refused_in_capture(gpu.ctx.synchronize(), "cuCtxSynchronize");
        refused_in_capture(x.copy_from_host(stream, &[1; N]), "cuMemcpyHtoDAsync");
        refused_in_capture(x.to_host_vec(stream), "cuMemcpyDtoHAsync");
        refused_in_capture(DeviceBuffer::<u32>::uninit(stream, 4), "cuMemAlloc");
        // On another stream that is nobody's business.
        assert_eq!(DeviceBuffer::from_host(&gpu.stream, &[7u32])?.to_host_vec(&gpu.stream)?, [7]);
        gpu.fill(stream, &mut x, 5)
    })
    .unwrap();
    gpu.run(&graph);
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
}

#[test]
fn moves_of_managed_memory_are_refused_and_the_capture_survives() {
    let gpu = Gpu::new();
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let mut managed = ManagedBuffer::<u32>::zeroed(&gpu.stream, N, ManagedAttach::Global).unwrap();
    for mode in [CaptureMode::Global, LOCAL, CaptureMode::Relaxed] {
        let graph = CudaGraph::capture(&gpu.ctx, mode, |stream| {
            refused_in_capture(managed.prefetch(stream, .., MemoryLocation::Host), "cuMemPrefetchAsync");
            refused_in_capture(managed.attach(stream, ManagedAttach::Global), "cuStreamAttachMemAsync");
            let mut batch = PrefetchBatch::new();
            batch.push(&managed, .., MemoryLocation::Host)?;
            refused_in_capture(batch.submit(stream), "cuMemPrefetchBatchAsync");
            gpu.fill(stream, &mut x, 5)
        });
        gpu.run(&graph.unwrap());
        assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
    }
    managed.prefetch(&gpu.stream, .., MemoryLocation::Host).unwrap();
    assert_eq!(managed.as_slice().unwrap(), [0; N]);
}

#[test]
fn a_buffer_dropped_inside_does_not_break_the_capture() {
    let gpu = Gpu::new();
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let buffer = || DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let (unused, closed, escaped) = (buffer(), buffer(), buffer());
    let _ = escaped.as_device_ptr();
    let graph = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        drop((unused, escaped));
        refused_in_capture(closed.close(), "cuMemFree");
        gpu.fill(stream, &mut x, 5)
    })
    .unwrap();
    gpu.run(&graph);
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
}

#[test]
fn an_error_or_a_panic_inside_ends_the_capture() {
    let gpu = Gpu::new();
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let error = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        gpu.fill(stream, &mut x, 5)?;
        stream.synchronize()
    });
    refused_in_capture(error, "cuStreamSynchronize");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
            gpu.fill(stream, &mut x, 5).unwrap();
            let _fork = stream.fork().unwrap();
            panic!("inside")
        })
    }));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "inside");
    // Nothing is captured any more: this thread may wait and allocate, and nothing has run.
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [0; N]);
    assert_eq!(DeviceBuffer::from_host(&gpu.stream, &[7u32]).unwrap().to_host_vec(&gpu.stream).unwrap(), [7]);
}

#[test]
fn forks_take_part_and_are_joined_also_where_that_was_forgotten() {
    let gpu = Gpu::new();
    let mut x: [DeviceBuffer<u32>; 3] =
        std::array::from_fn(|_| DeviceBuffer::zeroed(&gpu.stream, N).unwrap());
    let graph = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        let [x0, x1, x2] = &mut x;
        let (one, two) = (stream.fork()?, stream.fork()?);
        gpu.fill(&one, x1, 1)?;
        gpu.fill(&two, x2, 2)?;
        stream.join(&one)?;
        // `two` is neither joined nor kept.
        gpu.fill(stream, x0, 3)
    })
    .unwrap();
    assert_eq!(kinds(&graph), [NodeKind::Kernel; 3]);
    gpu.run(&graph);
    let values = x.map(|x| x.to_host_vec(&gpu.stream).unwrap()[N - 1]);
    assert_eq!(values, [3, 1, 2]);
}

#[test]
fn buffers_used_on_two_forks_are_ordered_in_the_graph() {
    let gpu = Gpu::new();
    let (a, mut sum, mut twice) = (gpu.full(1.0), gpu.full(0.0), gpu.full(0.0));
    let graph = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        let fork = stream.fork()?;
        gpu.add(&fork, &a, &a, &mut sum)?;
        gpu.add(stream, &sum, &sum, &mut twice)
    })
    .unwrap();
    assert_eq!(graph.dependencies().unwrap().len(), 1);
    gpu.run(&graph);
    assert_eq!(twice.to_host_vec(&gpu.stream).unwrap(), [4.0; N]);
}

/// reliability.md 2.4, row 42.
#[test]
fn events_do_not_lead_in_or_out_of_a_capture() {
    let gpu = Gpu::new();
    let event = || CudaEvent::new(&gpu.ctx, EventFlags::empty()).unwrap();
    let (outside, inside) = (event(), event());
    outside.record(&gpu.stream).unwrap();
    let isolated = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Capture(CaptureError::Isolated { .. })), "{error}");
        assert!(error.to_string().contains("stream 0x"), "{error}");
    };
    CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        isolated(stream.wait(&outside));
        inside.record(stream)?;
        isolated(gpu.stream.wait(&inside));
        refused_in_capture(inside.query(), "cuEventQuery");
        refused_in_capture(inside.synchronize(), "cuEventSynchronize");
        stream.fork()?.wait(&inside)
    })
    .unwrap();
    isolated(gpu.stream.wait(&inside));
    // Nor from one capture into another.
    CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        isolated(stream.wait(&inside));
        Ok(())
    })
    .unwrap();
    // Recorded again, it is an event like any other.
    inside.record(&gpu.stream).unwrap();
    gpu.stream.wait(&inside).unwrap();
    inside.synchronize().unwrap();
}

/// A stream that waits for an event of a capture would become part of it, and what it is given would not run.
#[test]
fn events_that_captured_launches_record_lead_no_stream_into_the_capture() {
    let gpu = Gpu::new();
    let (stream, event, n) = (&gpu.stream, gpu.ctx.new_event().unwrap(), N as u32);
    let mut buffers = [(); 2].map(|()| DeviceBuffer::<u32>::zeroed(stream, N).unwrap());
    let [x, y] = &mut buffers;
    let mut launch = |stream: &CudaStream| unsafe {
        cuda_launch! { kernel: fill, module: gpu.fill, stream: stream, config: LaunchConfig::for_num_elems(n),
        attributes: [Attribute::launch_completion_event(&event)], args: [ptr_mut(x), n, 5u32] }
    };
    CudaGraph::capture(&gpu.ctx, LOCAL, |captured| {
        launch(captured)?;
        let error = stream.wait(&event).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Capture(CaptureError::Isolated { .. })), "{error}");
        refused_in_capture(event.query(), "cuEventQuery");
        y.view_mut().fill(stream, 9)
    })
    .unwrap();
    assert_eq!(y.to_host_vec(stream).unwrap(), [9; N], "it ran");
    launch(stream).unwrap();
    stream.wait(&event).unwrap();
    event.synchronize().unwrap();
}

/// The work would run now, on a stream of the other thread, and nobody would order it.
#[test]
fn a_per_thread_stream_is_captured_on_its_thread_alone() {
    let gpu = Gpu::new();
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let capturing = unsafe { gpu.ctx.per_thread_stream().begin_capture(CaptureMode::Relaxed) }.unwrap();
    let fork = capturing.fork().unwrap();
    std::thread::scope(|scope| {
        let elsewhere = scope.spawn(|| {
            assert!(x.view_mut().fill(&capturing, 7).unwrap_err().is_refused_in_capture());
            assert!(gpu.fill(&capturing, &mut x, 7).unwrap_err().is_refused_in_capture());
            assert!(capturing.fork().unwrap_err().is_refused_in_capture());
            assert!(fork.join(&capturing).unwrap_err().is_refused_in_capture());
            x.view_mut().fill(&fork, 7)
        });
        elsewhere.join().unwrap().unwrap();
    });
    let graph = unsafe { capturing.end_capture() }.unwrap();
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [0; N], "nothing ran");
    gpu.run(&graph);
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [7; N]);
}

/// They are for all streams of a context, also those that are captured.
#[test]
fn events_of_a_whole_context_break_no_capture() {
    let gpu = Gpu::new();
    let (event, inside) = (gpu.ctx.new_event().unwrap(), gpu.ctx.new_event().unwrap());
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let graph = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        refused_in_capture(event.record_context(), "cuCtxRecordEvent");
        refused_in_capture(gpu.ctx.wait(&event), "cuCtxWaitEvent");
        inside.record(stream)?;
        x.view_mut().fill(stream, 3)
    })
    .unwrap();
    assert_eq!(kinds(&graph), [NodeKind::Memset]);
    refused_in_capture(gpu.ctx.wait(&inside), "cuCtxWaitEvent");
}

/// Upstream #270: what a graph uses lives as long as it can run.
#[test]
fn buffers_and_modules_live_as_long_as_the_graph_can_run() {
    let mut gpu = Gpu::new();
    let mut sum = gpu.full(0.0);
    let graph = {
        let (a, b) = (gpu.full(1.0), gpu.full(2.0));
        CudaGraph::capture(&gpu.ctx, LOCAL, |stream| gpu.add(stream, &a, &b, &mut sum)).unwrap()
    };
    let stand_in = gpu.ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap();
    gpu.vecadd = stand_in;
    // Memory that was freed would be given out again.
    let _other: Vec<_> = (0..8).map(|_| gpu.full(100.0)).collect();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    drop(graph);
    exec.launch(&gpu.stream).unwrap();
    assert_eq!(sum.to_host_vec(&gpu.stream).unwrap(), [3.0; N]);
}

/// Without memory among its arguments, such a launch is warm on other streams.
#[test]
fn a_graph_keeps_the_module_of_a_kernel_that_was_launched_before() {
    type Way = fn(&CudaFunction, &CudaStream, DevicePtrMut<u32>) -> Result<(), Error>;
    const CONFIG: LaunchConfig = LaunchConfig::new((4, 1, 1), (256, 1, 1));
    let ways: [Way; 3] = [
        |f, stream, x| unsafe {
            cuda_launch! { function: f, stream: stream, config: CONFIG, args: [x, N as u32, 7u32] }
        },
        |f, stream, x| {
            unsafe { stream.launch_builder(f).arg(&x).arg(&(N as u32)).arg(&7u32).launch(CONFIG) }.map(drop)
        },
        |f, stream, x| {
            let mut launch = stream.launch_builder(f).arg(&x).arg(&(N as u32)).arg(&7u32).prepare(CONFIG)?;
            unsafe { launch.launch_on(stream) }.map(drop)
        },
    ];
    let gpu = Gpu::new();
    for way in ways {
        let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
        let address = x.as_mut_device_ptr();
        let graph = {
            let ptx = include_str!("../examples/kernels/fill.ptx");
            let fill = gpu.ctx.load_module(ptx).unwrap().load_function("fill").unwrap();
            (0..2).for_each(|_| way(&fill, &gpu.stream, address).unwrap());
            x.view_mut().set_zero(&gpu.stream).unwrap();
            CudaGraph::capture(&gpu.ctx, LOCAL, |stream| way(&fill, stream, address)).unwrap()
        };
        gpu.run(&graph);
        assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [7; N]);
    }
}

#[test]
fn an_executable_graph_may_be_dropped_while_it_runs() {
    let gpu = Gpu::new();
    let mut sum = gpu.full(0.0);
    for _ in 0..20 {
        let (a, b) = (gpu.full(1.0), gpu.full(2.0));
        let graph = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| gpu.add(stream, &a, &b, &mut sum)).unwrap();
        let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
        exec.launch(&gpu.stream).unwrap();
    }
    assert_eq!(sum.to_host_vec(&gpu.stream).unwrap(), [3.0; N]);
}

#[test]
fn launches_are_ordered_against_other_uses_of_the_buffers() {
    let gpu = Gpu::new();
    let (other, mut x) =
        (gpu.ctx.new_stream().unwrap(), DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap());
    let graph = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| gpu.fill(stream, &mut x, 5)).unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    for round in 0..10 {
        gpu.fill(&gpu.stream, &mut x, round).unwrap();
        exec.launch(&other).unwrap();
        assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
    }
}

/// Driver 580 launches no graph into a capture; a graph becomes part of another one as a node.
#[test]
fn a_graph_is_not_launched_inside_a_capture_but_made_a_node() {
    let gpu = Gpu::new();
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let inner = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| gpu.fill(stream, &mut x, 5)).unwrap();
    let mut exec = inner.instantiate(InstantiateFlags::empty()).unwrap();
    let mut outer = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        refused_in_capture(exec.launch(stream), "cuGraphLaunch");
        Ok(())
    })
    .unwrap();
    outer.add_child(&[], &inner).unwrap();
    drop((exec, inner));
    assert_eq!(kinds(&outer), [NodeKind::Child]);
    gpu.run(&outer);
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
}

/// What ends inside is given back after the capture, whose context cannot be waited for until then, from no thread.
#[test]
fn textures_surfaces_and_arrays_dropped_inside_do_not_break_the_capture() {
    let gpu = Gpu::new();
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let shape = ArrayShape::D2 { width: 8, height: 4 };
    let array = |flags| CudaArray::<f32>::new(&gpu.ctx, shape, flags).unwrap();
    let (plain, read, written) =
        (array(ArrayFlags::empty()), array(ArrayFlags::empty()), array(ArrayFlags::SURFACE));
    let mipmap = MipmappedArray::<f32>::new(&gpu.ctx, shape, ArrayFlags::empty(), 2).unwrap();
    let described = TextureDescriptor::default();
    let texture = TextureObject::from_array(&read, &described).unwrap();
    let levels = TextureObject::from_mipmap(&mipmap, &described).unwrap();
    let (surface, closed) = (SurfaceObject::new(&written).unwrap(), SurfaceObject::new(&written).unwrap());
    let elsewhere = SurfaceObject::new(&written).unwrap();
    let graph = CudaGraph::capture(&gpu.ctx, LOCAL, |stream| {
        gpu.fill(stream, &mut x, 1)?;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                refused_in_capture(gpu.ctx.synchronize(), "cuCtxSynchronize");
                // Its end waits for all of the context.
                drop(elsewhere);
            });
        });
        drop((plain, texture, levels, surface, mipmap, read, written));
        refused_in_capture(closed.close(), "cuSurfObjectDestroy");
        assert_eq!(stream.capture_status()?, CaptureStatus::Active);
        gpu.fill(stream, &mut x, 5)
    })
    .unwrap();
    gpu.run(&graph);
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
}

#[test]
fn work_is_recorded_into_a_graph_that_is_there() {
    let gpu = Gpu::new();
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let mut graph = CudaGraph::new(&gpu.ctx).unwrap();
    let first = graph.add_empty(&[]).unwrap();
    let new = graph.capture_into(&[first], LOCAL, |stream| gpu.fill(stream, &mut x, 5)).unwrap();
    assert_eq!(kinds(&graph), [NodeKind::Empty, NodeKind::Kernel]);
    let edges = graph.dependencies().unwrap();
    assert_eq!((edges.len(), edges[0].from, edges[0].to), (1, first, new[0]));
    // What was recorded before an error goes.
    let failed = graph.capture_into(&new, LOCAL, |stream| {
        gpu.fill(stream, &mut x, 6)?;
        stream.synchronize()
    });
    refused_in_capture(failed, "cuStreamSynchronize");
    assert_eq!(kinds(&graph), [NodeKind::Empty, NodeKind::Kernel]);
    gpu.run(&graph);
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
}

/// nv-hosts.md, row C10.
#[test]
fn a_stream_is_captured_by_hand() {
    let gpu = Gpu::new();
    let mut x = DeviceBuffer::<u32>::zeroed(&gpu.stream, N).unwrap();
    let stream = gpu.ctx.new_stream().unwrap();
    assert_eq!(stream.capture_info().unwrap().status, CaptureStatus::None);
    let captured = unsafe { stream.begin_capture(CaptureMode::Relaxed) }.unwrap();
    assert_eq!(captured.raw(), stream.raw());
    gpu.fill(&captured, &mut x, 5).unwrap();
    refused_in_capture(captured.synchronize(), "cuStreamSynchronize");
    let info = captured.capture_info().unwrap();
    assert_eq!((info.status, info.dependencies.len()), (CaptureStatus::Active, 1));
    assert!(info.id != 0 && !info.graph.is_null());
    // Another handle cannot keep this one from giving the stream work, and then the driver's list is another one.
    let info = stream.capture_info().unwrap();
    assert_eq!((info.status, info.dependencies.len()), (CaptureStatus::Active, 0));
    // Begun as relaxed, it may be ended on any thread.
    let graph = std::thread::scope(|scope| scope.spawn(|| unsafe { captured.end_capture() }).join().unwrap());
    let graph = graph.unwrap();
    assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
    assert_eq!(kinds(&graph), [NodeKind::Kernel]);
    gpu.run(&graph);
    assert_eq!(x.to_host_vec(&gpu.stream).unwrap(), [5; N]);
}

/// reliability.md 2.4, row 42: the driver's codes, with the stream and what to do.
#[test]
fn mistakes_by_hand_are_named_with_the_stream() {
    let gpu = Gpu::new();
    let check = |result: Result<(), Error>, code: CUresult, help: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.code(), Some(code), "{error}");
        assert!(error.to_string().contains("stream 0x") && error.to_string().contains(help), "{error}");
    };
    let (stream, late) = (gpu.ctx.new_stream().unwrap(), gpu.ctx.new_stream().unwrap());
    let end = |stream: &CudaStream| unsafe { stream.end_capture() }.map(drop);
    check(end(&stream), CUresult::CUDA_ERROR_ILLEGAL_STATE, "");
    let legacy = unsafe { gpu.ctx.default_stream().begin_capture(LOCAL) };
    check(legacy.map(drop), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cannot be recorded");
    // A stream that takes part without this crate's knowledge, and is not joined.
    let raw = unsafe { CudaStream::from_raw(&gpu.ctx, late.raw()) };
    let event = gpu.ctx.new_event().unwrap();
    let captured = unsafe { stream.begin_capture(LOCAL) }.unwrap();
    event.record(&captured).unwrap();
    let (driver, wait) = (gpu.ctx.driver(), CUresult::SUCCESS);
    assert_eq!(unsafe { driver.cuStreamWaitEvent(raw.raw(), event.raw(), 0) }, wait);
    unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
    let called = unsafe { driver.cuLaunchHostFunc(raw.raw(), Some(nothing), std::ptr::null_mut()) };
    assert_eq!(called, CUresult::SUCCESS);
    check(end(&captured), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "stream.join(&fork)");
    // Another thread.
    let captured = unsafe { stream.begin_capture(LOCAL) }.unwrap();
    let wrong = std::thread::scope(|scope| scope.spawn(|| end(&captured)).join().unwrap());
    check(wrong, CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CaptureMode::Relaxed");
}

/// Whoever dropped the stream itself has ended nothing that a handle of the capture may still ask for.
#[test]
fn a_stream_lives_as_long_as_its_capturing_handle() {
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let captured = unsafe { stream.begin_capture(CaptureMode::Relaxed) }.unwrap();
    drop(unsafe { captured.end_capture() }.unwrap());
    drop(stream);
    assert_eq!(captured.capture_status().unwrap(), CaptureStatus::None);
    assert_eq!(captured.flags().unwrap(), StreamFlags::NON_BLOCKING);
    captured.id().unwrap();
    captured.synchronization_policy().unwrap();
    let error = captured.synchronize().unwrap_err();
    assert!(error.is_capture_error(), "it takes no work: {error}");
}
