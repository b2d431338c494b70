//! Which driver calls copies, arrays and textures make, what they do where a call fails, and on drivers that lack some.
//! One test at a time: each has a driver of its own, and none knows what is captured through the others.

#![allow(unsafe_code)] // A function in the driver's place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_harness::{Spy, skipped};
use cuda_launch::memory::{
    CopyBatch, CopySource, CopyTarget, Extent, PinnedViewMut, PitchedBuffer, RegionBatch, RegisterFlags,
    RowLayout,
};
use cuda_launch::sys::{CUdeviceptr, CUmemcpyAttributes, CUmemcpySrcAccessOrder, CUresult, CUstream, Driver};
use cuda_launch::tensor::TensorMap;
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, SurfaceObject, TextureDescriptor, TextureObject,
};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error};

use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex};

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use alone::alone;

/// The calls that `work` makes, but for those that make a context current.
fn calls(spy: &Spy, work: impl FnOnce()) -> Vec<&'static str> {
    let ((), calls) = spy.during(work);
    calls.filter(|call| !call.name().starts_with("cuCtx")).names()
}

fn image(stream: &CudaStream) -> PitchedBuffer<u32> {
    let mut image = PitchedBuffer::uninit(stream, 64, 4).unwrap();
    image.fill(stream, 1).unwrap();
    image
}

#[test]
fn a_region_is_one_call_and_a_crossing_two_more() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (first, second) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let (from, mut to) = (image(&first), image(&first));
    let extent = from.extent();
    let mut copy = |stream: &CudaStream| {
        calls(&spy, || stream.copy_region(&from.as_source(), &mut to.as_target(), extent).unwrap())
    };
    assert_eq!(copy(&first), ["cuMemcpy2DAsync_v2"]);
    let crossing = copy(&second);
    let count = |name: &str| crossing.iter().filter(|call| call.starts_with(name)).count();
    // Two buffers that the first stream wrote; the event itself may be a new one.
    assert!(count("cuEventRecord") <= 2 && count("cuStreamWaitEvent") <= 2, "{crossing:?}");
    assert_eq!(crossing.last(), Some(&"cuMemcpy2DAsync_v2"));
    assert_eq!(copy(&second), ["cuMemcpy2DAsync_v2"], "once crossed, nothing more");
    assert_eq!(calls(&spy, || first.synchronize().unwrap()), ["cuStreamSynchronize"]);
}

#[test]
fn a_refused_region_is_told_with_its_extent() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let (from, mut to) = (image(&stream), image(&stream));
    spies::fail_calls_of(&spy, "cuMemcpy2DAsync_v2", CUresult::CUDA_ERROR_INVALID_VALUE);
    let refused = stream.copy_region(&from.as_source(), &mut to.as_target(), from.extent());
    spies::watch(&spy);
    assert!(refused.unwrap_err().to_string().contains("64 x 4 x 1 elements of 4 bytes"));
}

/// Of each run of copies: the index of the first, and when the driver reads what they copy.
static RUNS: Mutex<Vec<(usize, CUmemcpySrcAccessOrder)>> = Mutex::new(Vec::new());

/// `cuMemcpyBatchAsync`, which notes the runs.
unsafe extern "C" fn note_runs(
    targets: *mut CUdeviceptr,
    sources: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attributes: *mut CUmemcpyAttributes,
    starts: *mut usize,
    runs: usize,
    stream: CUstream,
) -> CUresult {
    let run = |at: usize| unsafe { (*starts.add(at), (*attributes.add(at)).srcAccessOrder) };
    *RUNS.lock().unwrap() = (0..runs).map(run).collect();
    let driver = cuda_launch::default_driver().unwrap();
    unsafe { driver.cuMemcpyBatchAsync(targets, sources, sizes, count, attributes, starts, runs, stream) }
}

/// A driver 580 that may read host memory during the call copies it before earlier work of the stream.
#[test]
fn a_batch_reads_all_sources_in_the_order_of_the_stream() {
    let _alone = alone();
    let base = cuda_launch::default_driver().unwrap();
    let lookup = |name: &CStr| match name.to_str().unwrap() {
        "cuMemcpyBatchAsync_v2" if base.has("cuMemcpyBatchAsync_v2") => note_runs as *const c_void,
        name => base.address(name),
    };
    // SAFETY: 1: the base's own functions, and one of the same type that calls it; 2: they are code of this program, or of a
    // library that is never unloaded.
    let driver = unsafe { Driver::from_lookup(lookup) };
    let ctx = CudaContext::with_driver(&Arc::new(driver), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let source = DeviceBuffer::from_host(&stream, &[1u32, 2, 3, 4]).unwrap();
    let mut targets: [_; 5] = std::array::from_fn(|_| DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap());
    let (host, mut back) = ([5u32, 6, 7, 8], [0; 4]);
    let mut batch = CopyBatch::new();
    let [a, b, c, d, e] = &mut targets;
    batch.push(a, &source).unwrap().push(b, &source).unwrap();
    batch.push_from_host(c, &host).unwrap().push_from_host(d, &host).unwrap();
    batch.push_to_host(&mut back, &source).unwrap().push(e, &source).unwrap();
    match batch.submit(&stream) {
        Err(error) if error.is_unsupported() => return skipped(error),
        submitted => submitted.unwrap(),
    }
    let ordered = CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    assert_eq!(*RUNS.lock().unwrap(), [(0, ordered)]);
    assert_eq!(targets.map(|target| target.to_host_vec(&stream).unwrap()[0]), [1, 1, 5, 5, 1]);
    assert_eq!(back, [1, 2, 3, 4]);
}

#[test]
fn a_batch_of_device_memory_is_not_waited_for() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let source = DeviceBuffer::from_host(&stream, &[1u32, 2, 3, 4]).unwrap();
    let mut targets: [_; 2] = std::array::from_fn(|_| DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap());
    let mut batch = CopyBatch::new();
    targets.iter_mut().for_each(|target| _ = batch.push(target, &source).unwrap());
    let mut result = Ok(());
    let made = calls(&spy, || result = batch.submit(&stream));
    match result {
        Err(error) if error.is_unsupported() => return skipped(error),
        submitted => submitted.unwrap(),
    }
    assert_eq!(made, ["cuMemcpyBatchAsync_v2"]);
}

#[test]
fn a_region_of_host_memory_is_waited_for() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let (mut image, mut host) = (image(&stream), vec![7; 256]);
    let (layout, extent) = (RowLayout::packed::<u32>(64, 4), image.extent());
    let there = calls(&spy, || {
        stream.copy_region(&CopySource::host(&host, layout), &mut image.as_target(), extent).unwrap();
    });
    let back = calls(&spy, || {
        stream.copy_region(&image.as_source(), &mut CopyTarget::host(&mut host, layout), extent).unwrap();
    });
    for made in [there, back] {
        assert_eq!(made, ["cuMemcpy2DAsync_v2", "cuStreamSynchronize"]);
    }
    // A graph would use it when it is borrowed no more.
    let mut bytes = DeviceBuffer::<u8>::uninit(&stream, 3).unwrap();
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |capture| {
        let error = capture
            .copy_region(&CopySource::host(&host, layout), &mut image.as_target(), extent)
            .unwrap_err();
        assert!(error.is_refused_in_capture(), "{error}");
        let mut batch = CopyBatch::new();
        batch.push_from_host(&mut bytes, &[1, 2, 3])?;
        let error = batch.submit(capture).unwrap_err();
        assert!(error.is_refused_in_capture(), "{error}");
        Ok(())
    });
    graph.unwrap();
}

#[test]
fn nothing_to_copy_is_no_call() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let (from, mut to) = (image(&stream), image(&stream));
    let mut empty = DeviceBuffer::<u8>::uninit(&stream, 0).unwrap();
    let flat = DeviceBuffer::<u32>::zeroed(&stream, 16).unwrap();
    let made = calls(&spy, || {
        for empty in [Extent::rows(0, 4), Extent::rows(4, 0), Extent::planes(4, 4, 0)] {
            stream.copy_region(&from.as_source(), &mut to.as_target(), empty).unwrap();
            // Linear memory is checked by its last byte, which an empty region has not.
            let linear = CopySource::device(&flat, RowLayout::packed::<u32>(4, 4));
            stream.copy_region(&linear, &mut to.as_target(), empty).unwrap();
        }
        empty.fill(&stream, 1).unwrap();
        CopyBatch::new().submit(&stream).unwrap();
        RegionBatch::new().submit(&stream).unwrap();
        PitchedBuffer::<u8>::uninit(&stream, 0, 9).unwrap().fill(&stream, 1).unwrap();
    });
    assert!(made.is_empty(), "{made:?}");
}

#[test]
fn an_older_driver_says_that_it_is() {
    let _alone = alone();
    let open =
        |hidden| CudaContext::with_driver(&spies::driver_without(hidden), 0).unwrap().new_stream().unwrap();
    let stream = open("cuTensorMapEncodeTiled");
    let memory = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    let map = TensorMap::tiled([16, 4], [16, 4]).encode(stream.context(), &memory);
    assert!(map.unwrap_err().is_unsupported());
}

/// Uses everything once.
fn round(ctx: &CudaContext) -> Result<(), Error> {
    let stream = ctx.new_stream()?;
    let shape = ArrayShape::D2 { width: 64, height: 4 };
    let array = CudaArray::<u32>::new(ctx, shape, ArrayFlags::SURFACE)?;
    let texture = TextureObject::from_array(&array, &TextureDescriptor::default())?;
    let surface = SurfaceObject::new(&array)?;
    let mut image = PitchedBuffer::<u32>::uninit(&stream, 64, 4)?;
    image.fill(&stream, 7)?;
    stream.copy_region(&image.as_source(), &mut array.as_target(), array.extent())?;
    assert_eq!(array.to_host_vec(&stream)?, [7; 256]);
    texture.close()?;
    surface.close()?;
    array.close()?;
    image.close()?;
    stream.close()
}

#[test]
fn every_call_may_fail() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (result, calls) = spy.during(|| round(&ctx));
    result.unwrap();
    for number in 1..=calls.len() {
        spies::fail_nth(&spy, number, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        // It answers or goes on; it neither panics nor keeps what it made: the same round works afterwards.
        if let Err(error) = round(&ctx) {
            assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY), "{error}");
        }
        spies::watch(&spy);
        round(&ctx).unwrap();
    }
}

#[test]
fn lent_memory_is_unregistered_after_the_wait_for_its_copies() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let buffer = DeviceBuffer::from_host(&stream, &[7u32; 4]).unwrap();
    let mut lent = [0; 4];
    let made = calls(&spy, || {
        let copy = |mut lent: PinnedViewMut<'_, u32>| buffer.view().copy_to_pinned(&stream, lent.view_mut());
        ctx.with_registered(&mut lent, RegisterFlags::empty(), copy).unwrap();
    });
    let wait = made.iter().position(|name| *name == "cuStreamSynchronize").unwrap();
    let end = made.iter().position(|name| *name == "cuMemHostUnregister").unwrap();
    assert!(wait < end, "{made:?}");
    assert_eq!(lent, [7; 4]);
}
