//! Copies of rows and planes, pitched buffers, and fills, on whichever driver is chosen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::skipped;
use cuda_launch::context::ContextOptions;
use cuda_launch::error::{Axis, RegionError};
use cuda_launch::memory::{CopyBatch, CopySource, CopyTarget, Extent, PitchedBuffer, RegionBatch, RowLayout};
use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
use cuda_launch::{CudaContext, CudaDevice, CudaStream, DeviceBuffer, Error, ErrorKind};

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn numbers(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

#[test]
fn fills_of_8_16_and_32_bits() {
    let stream = stream();
    let mut bytes = DeviceBuffer::<u8>::zeroed(&stream, 100).unwrap();
    bytes.slice_mut(3..97).fill(&stream, 0xa5).unwrap();
    let host = bytes.to_host_vec(&stream).unwrap();
    assert!(host.iter().enumerate().all(|(i, &x)| x == if (3..97).contains(&i) { 0xa5 } else { 0 }));
    let mut shorts = DeviceBuffer::<i16>::filled(&stream, 33, -7).unwrap();
    shorts.slice_mut(..1).fill(&stream, 9).unwrap();
    let host = shorts.to_host_vec(&stream).unwrap();
    assert!(host[0] == 9 && host[1..].iter().all(|&x| x == -7));
    let floats = DeviceBuffer::<f32>::filled(&stream, 1 << 20, 1.5).unwrap();
    assert!(floats.to_host_vec(&stream).unwrap().iter().all(|&x| x == 1.5));
    let halves = DeviceBuffer::filled(&stream, 5, half::f16::from_f32(-2.0)).unwrap();
    assert_eq!(halves.to_host_vec(&stream).unwrap(), [half::f16::from_f32(-2.0); 5]);
    let colours = DeviceBuffer::filled(&stream, 3, [1u8, 2, 3, 4]).unwrap();
    assert_eq!(colours.to_host_vec(&stream).unwrap(), [[1, 2, 3, 4]; 3]);
    DeviceBuffer::<u8>::filled(&stream, 0, 1).unwrap();
}

#[test]
fn pitched_rows_come_back_as_they_went() {
    let stream = stream();
    for (width, height) in [(1, 1), (3, 5), (129, 17), (1000, 3)] {
        let host = numbers(width * height);
        let mut image = PitchedBuffer::<u32>::uninit(&stream, width, height).unwrap();
        assert!(image.pitch() >= 4 * width && image.cu_deviceptr() != 0);
        image.copy_from_host(&stream, &host).unwrap();
        assert_eq!(image.to_host_vec(&stream).unwrap(), host);
        assert_eq!((image.len(), image.extent()), (width * height, Extent::rows(width, height)));
        image.close().unwrap();
    }
    let wide = vec![[1u64, 2], [3, 4], [5, 6]];
    let mut image = PitchedBuffer::<[u64; 2]>::uninit(&stream, 3, 1).unwrap();
    image.copy_from_host(&stream, &wide).unwrap();
    assert_eq!(image.to_host_vec(&stream).unwrap(), wide);
}

#[test]
fn pitched_fills_leave_other_rows_alone() {
    let stream = stream();
    let mut bytes = PitchedBuffer::<u8>::uninit(&stream, 7, 3).unwrap();
    bytes.fill(&stream, 1).unwrap();
    assert_eq!(bytes.to_host_vec(&stream).unwrap(), [1; 21]);
    let mut shorts = PitchedBuffer::<u16>::uninit(&stream, 5, 2).unwrap();
    shorts.fill(&stream, 700).unwrap();
    assert_eq!(shorts.to_host_vec(&stream).unwrap(), [700; 10]);
    let mut floats = PitchedBuffer::<f32>::uninit(&stream, 5, 2).unwrap();
    floats.fill(&stream, 0.25).unwrap();
    assert_eq!(floats.to_host_vec(&stream).unwrap(), [0.25; 10]);
    floats.row_mut(1).unwrap().fill(&stream, 4.0).unwrap();
    assert_eq!(floats.to_host_vec(&stream).unwrap(), [[0.25; 5], [4.0; 5]].concat());
    assert_eq!(floats.row(1).unwrap().slice(3..).to_host_vec(&stream).unwrap(), [4.0; 2]);
    assert!(floats.row(2).is_none() && floats.row_mut(2).is_none());
}

#[test]
fn an_empty_pitched_buffer_is_fine() {
    let stream = stream();
    let mut empty = PitchedBuffer::<f32>::uninit(&stream, 0, 4).unwrap();
    assert!(empty.is_empty() && empty.as_device_ptr().is_null());
    empty.copy_from_host(&stream, &[]).unwrap();
    empty.fill(&stream, 1.0).unwrap();
    assert!(empty.to_host_vec(&stream).unwrap().is_empty());
    let error = PitchedBuffer::<u64>::uninit(&stream, usize::MAX / 2, 4).unwrap_err();
    assert!(error.is_out_of_memory() && error.call().is_none(), "{error}");
}

#[test]
fn a_region_of_rows_between_host_and_device() {
    let stream = stream();
    let host = numbers(10 * 6);
    let layout = RowLayout::packed::<u32>(10, 6);
    let mut image = PitchedBuffer::<u32>::uninit(&stream, 10, 6).unwrap();
    image.fill(&stream, 0).unwrap();
    // Rows 2 to 4, columns 3 to 6, to the same place.
    let (from, part) = (CopySource::host(&host, layout).at(3, 2, 0), Extent::rows(4, 3));
    stream.copy_region(&from, &mut image.as_target().at(3, 2, 0), part).unwrap();
    let there = image.to_host_vec(&stream).unwrap();
    for (i, x) in there.iter().enumerate() {
        let inside = (3..7).contains(&(i % 10)) && (2..5).contains(&(i / 10));
        assert_eq!(*x, if inside { host[i] } else { 0 }, "{i}");
    }
    // And from there into a plain buffer, and a column of that to the host.
    let mut plain = DeviceBuffer::<u32>::zeroed(&stream, 12).unwrap();
    let rows = RowLayout::packed::<u32>(4, 3);
    stream
        .copy_region(&image.as_source().at(3, 2, 0), &mut CopyTarget::device(&mut plain, rows), part)
        .unwrap();
    let mut column = [0; 3];
    let mut target = CopyTarget::host(&mut column, RowLayout::packed::<u32>(1, 3));
    stream
        .copy_region(&CopySource::device(&plain, rows).at(1, 0, 0), &mut target, Extent::rows(1, 3))
        .unwrap();
    assert_eq!(column, [host[24], host[34], host[44]]);
}

#[test]
fn a_region_of_planes_between_views() {
    let stream = stream();
    let (w, h, d) = (5, 4, 3);
    let host = numbers(w * h * d);
    let volume = DeviceBuffer::from_host(&stream, &host).unwrap();
    let mut part = DeviceBuffer::<u32>::zeroed(&stream, 2 * 2 * 2).unwrap();
    let source = CopySource::device(&volume, RowLayout::packed::<u32>(w, h)).at(1, 2, 1);
    let mut target = CopyTarget::device(&mut part, RowLayout::packed::<u32>(2, 2));
    stream.copy_region(&source, &mut target, Extent::planes(2, 2, 2)).unwrap();
    let at = |x: usize, y: usize, z: usize| host[(z * h + y) * w + x];
    let expected = [
        at(1, 2, 1),
        at(2, 2, 1),
        at(1, 3, 1),
        at(2, 3, 1),
        at(1, 2, 2),
        at(2, 2, 2),
        at(1, 3, 2),
        at(2, 3, 2),
    ];
    assert_eq!(part.to_host_vec(&stream).unwrap(), expected);
    // From the host, one plane deep but not the first one.
    let mut back = vec![0; w * h * d];
    let mut target = CopyTarget::host(&mut back, RowLayout::packed::<u32>(w, h)).at(0, 0, 2);
    let source = CopySource::device(&volume, RowLayout::packed::<u32>(w, h)).at(0, 0, 2);
    stream.copy_region(&source, &mut target, Extent::rows(w, h)).unwrap();
    assert!(back[..2 * w * h].iter().all(|&x| x == 0));
    assert_eq!(back[2 * w * h..], host[2 * w * h..]);
}

#[test]
fn a_region_past_the_end_is_an_error_with_its_values() {
    let stream = stream();
    let image = PitchedBuffer::<u16>::uninit(&stream, 8, 4).unwrap();
    let mut host = [0u16; 32];
    let mut copy = |source: CopySource<'_, u16>, layout: RowLayout, extent: Extent| {
        stream.copy_region(&source, &mut CopyTarget::host(&mut host, layout), extent)
    };
    let packed = RowLayout::packed::<u16>(8, 4);
    let error = copy(image.as_source().at(0, 3, 0), packed, Extent::rows(8, 2)).unwrap_err();
    assert!(error.is_out_of_bounds() && error.call().is_none(), "{error}");
    let kind = RegionError::OutOfBounds { side: "source", axis: Axis::Y, start: 3, count: 2, limit: 4 };
    assert!(matches!(error.kind(), ErrorKind::Region(e) if *e == kind), "{error}");
    let error = copy(image.as_source(), packed, Extent::rows(9, 1)).unwrap_err();
    assert!(
        error.to_string().contains("target has 8 elements along x") || error.is_out_of_bounds(),
        "{error}"
    );
    let error = copy(image.as_source(), RowLayout { pitch: 20, rows: 4 }, Extent::rows(8, 4)).unwrap_err();
    assert!(error.to_string().contains("the target has 64 bytes"), "{error}");
    let error = copy(image.as_source().at(usize::MAX, 0, 0), packed, Extent::rows(1, 1)).unwrap_err();
    assert!(error.is_out_of_bounds(), "{error}");
    let huge = Extent::planes(1, 1, usize::MAX);
    assert!(copy(image.as_source(), packed, huge).unwrap_err().is_out_of_bounds());
    copy(image.as_source(), packed, Extent::rows(0, 100)).unwrap();
}

#[test]
fn a_copy_from_a_peer_names_both_contexts() {
    let stream = stream();
    // With two devices this crosses them; with one it is the driver's copy within it.
    let other = CudaContext::new(1).or_else(|_| CudaContext::new(0)).unwrap().new_stream().unwrap();
    let source = DeviceBuffer::from_host(&stream, &numbers(1000)).unwrap();
    let mut target = DeviceBuffer::<u32>::zeroed(&other, 1000).unwrap();
    target.view_mut().copy_from_peer(&other, &source).unwrap();
    assert_eq!(target.to_host_vec(&other).unwrap(), numbers(1000));
    let error = target.view_mut().copy_from_peer(&other, &source.slice(1..)).unwrap_err();
    assert!(error.is_out_of_bounds() && error.call().is_none(), "{error}");
    // Rows and planes too.
    let layout = RowLayout::packed::<u32>(10, 10);
    target.fill(&other, 0).unwrap();
    let mut to = CopyTarget::device(&mut target, layout).at(0, 0, 1);
    let from = CopySource::device(&source, layout).at(0, 0, 9);
    other.copy_region_peer(&from, &mut to, Extent::planes(10, 10, 1)).unwrap();
    assert_eq!(target.to_host_vec(&other).unwrap()[100..200], numbers(1000)[900..]);
}

#[test]
fn memory_of_another_context_is_named() {
    let stream = stream();
    let other = CudaDevice::new(0).unwrap().create_context(&ContextOptions::default()).unwrap();
    let there = other.new_stream().unwrap();
    let (layout, extent) = (RowLayout::packed::<u32>(10, 10), Extent::rows(10, 10));
    let mut near = DeviceBuffer::<u32>::zeroed(&stream, 100).unwrap();
    let mut far = DeviceBuffer::<u32>::zeroed(&there, 100).unwrap();
    let square = ArrayShape::D2 { width: 10, height: 10 };
    let array = CudaArray::<u32>::new(&other, square, ArrayFlags::empty()).unwrap();
    let named = |error: Error, side: &str| {
        assert!(error.is_context_mismatch() && error.to_string().contains(side), "{error}");
    };
    let copy = |source: &CopySource<'_, u32>, target: &mut CopyTarget<'_, u32>| {
        stream.copy_region(source, target, extent).unwrap_err()
    };
    named(copy(&CopySource::device(&far, layout), &mut CopyTarget::device(&mut near, layout)), "the source");
    named(copy(&array.as_source(), &mut CopyTarget::device(&mut near, layout)), "the source");
    named(copy(&CopySource::device(&near, layout), &mut CopyTarget::device(&mut far, layout)), "the target");
    named(copy(&CopySource::device(&near, layout), &mut array.as_target()), "the target");
    let mut batch = RegionBatch::new();
    batch.push(CopySource::device(&far, layout), CopyTarget::device(&mut near, layout), extent).unwrap();
    named(batch.submit(&stream).unwrap_err(), "the batch");
}

#[test]
fn a_batch_of_copies_is_one_call() {
    let stream = stream();
    let source = DeviceBuffer::from_host(&stream, &numbers(100)).unwrap();
    let mut targets: Vec<_> = (1..20).map(|n| DeviceBuffer::<u32>::zeroed(&stream, n).unwrap()).collect();
    let views: Vec<_> = (1..20).map(|n| source.slice(n..2 * n)).collect();
    let (host, mut back) = ([1u16, 2, 3], vec![0; 50]);
    let mut bytes = DeviceBuffer::<u16>::zeroed(&stream, 3).unwrap();
    let mut batch = CopyBatch::new();
    assert!(batch.is_empty());
    for (target, view) in targets.iter_mut().zip(&views) {
        batch.push(target, view).unwrap();
    }
    batch.push_from_host(&mut bytes, &host).unwrap();
    let tail = source.slice(50..);
    batch.push_to_host(&mut back, &tail).unwrap();
    assert!(batch.len() == 21 && !batch.is_empty());
    match batch.submit(&stream) {
        Err(error) if error.is_unsupported() => return skipped(error),
        done => done.unwrap(),
    }
    for (n, target) in (1..20).zip(&targets) {
        assert_eq!(target.to_host_vec(&stream).unwrap(), numbers(100)[n..2 * n]);
    }
    assert_eq!(bytes.to_host_vec(&stream).unwrap(), host);
    assert_eq!(back, numbers(100)[50..]);
    CopyBatch::new().submit(&stream).unwrap();
}

#[test]
fn a_batch_of_regions_is_one_call() {
    let stream = stream();
    let host = numbers(60);
    let layout = RowLayout::packed::<u32>(10, 6);
    let source = DeviceBuffer::from_host(&stream, &host).unwrap();
    let array =
        CudaArray::<u32>::new(stream.context(), ArrayShape::D2 { width: 10, height: 6 }, ArrayFlags::empty())
            .unwrap();
    let mut image = PitchedBuffer::<u32>::uninit(&stream, 4, 3).unwrap();
    let part = image.extent();
    let mut batch = RegionBatch::new();
    assert!(batch.is_empty());
    for nothing in [Extent::rows(0, 6), Extent::rows(10, 0)] {
        batch.push(CopySource::device(&source, layout), array.as_target(), nothing).unwrap();
    }
    assert!(batch.is_empty(), "what has no elements does not count");
    batch.push(CopySource::device(&source, layout), array.as_target(), array.extent()).unwrap();
    batch.push(CopySource::device(&source, layout).at(3, 2, 0), image.as_target(), part).unwrap();
    assert!(batch.push(array.as_source().at(9, 0, 0), array.as_target(), part).is_err());
    let odd = RowLayout { pitch: 42, ..layout };
    let refused = batch.push(CopySource::device(&source, odd), array.as_target(), Extent::rows(10, 5));
    assert!(refused.unwrap_err().to_string().contains("pitch"), "an array counts rows in elements");
    assert!(batch.len() == 2 && !batch.is_empty());
    match batch.submit(&stream) {
        Err(error) if error.is_unsupported() => return skipped(error),
        done => done.unwrap(),
    }
    assert_eq!(array.to_host_vec(&stream).unwrap(), host);
    let expected: Vec<u32> = (2..5).flat_map(|y| host[10 * y + 3..10 * y + 7].to_vec()).collect();
    assert_eq!(image.to_host_vec(&stream).unwrap(), expected);
}

#[test]
#[allow(unsafe_code)] // bare addresses
fn bytes_at_bare_addresses() {
    let stream = stream();
    let source = DeviceBuffer::from_host(&stream, &[1u8, 2, 3, 4]).unwrap();
    let target = DeviceBuffer::<u8>::zeroed(&stream, 4).unwrap();
    // SAFETY: 1: both buffers have four bytes, of which these are all, then the middle two and the first two, and they
    // live until the copy below has waited; 2: nothing but this stream uses them.
    unsafe {
        stream.fill_bytes(target.cu_deviceptr(), 9, 4).unwrap();
        stream.copy_bytes(target.cu_deviceptr() + 1, source.cu_deviceptr(), 2).unwrap();
    }
    assert_eq!(target.to_host_vec(&stream).unwrap(), [9, 1, 2, 9]);
}

#[test]
fn streams_wait_for_each_other_at_regions() {
    let ctx = CudaContext::new(0).unwrap();
    let (first, second) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let mut image = PitchedBuffer::<u32>::uninit(&first, 1 << 10, 1 << 8).unwrap();
    let mut copy = PitchedBuffer::<u32>::uninit(&second, 1 << 10, 1 << 8).unwrap();
    let extent = image.extent();
    for round in 0..20 {
        image.fill(&first, round).unwrap();
        second.copy_region(&image.as_source(), &mut copy.as_target(), extent).unwrap();
        // Another stream reads what the second wrote.
        assert!(copy.to_host_vec(&first).unwrap().iter().all(|&x| x == round), "{round}");
    }
}

/// Host memory is the caller's again when the call returns: a driver may read it until the copies are done.
#[test]
fn a_batch_waits_where_it_reads_host_memory() {
    let spy = cuda_harness::Spy::over(&cuda_launch::default_driver().unwrap()).unwrap();
    let stream = CudaContext::with_driver(&spy.driver(), 0).unwrap().new_stream().unwrap();
    let mut target = DeviceBuffer::<u32>::zeroed(&stream, 100).unwrap();
    let mut batch = CopyBatch::new();
    batch.push_from_host(&mut target, &[7; 100]).unwrap();
    spy.clear();
    match batch.submit(&stream) {
        Err(error) if error.is_unsupported() => return skipped(error.to_string()),
        submitted => submitted.unwrap(),
    }
    assert_eq!(spy.calls().count("cuStreamSynchronize"), 1);
    assert_eq!(target.to_host_vec(&stream).unwrap(), [7; 100]);
}
