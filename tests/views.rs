//! Views in pieces and as other elements, and elements of foreign types, on whichever driver is chosen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::error::{CastError, IndexRange};
use cuda_launch::memory::Plain;
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, DeviceCopy, DeviceSlice, ErrorKind};
use std::num::Wrapping;

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn numbers(stream: &CudaStream, n: u32) -> DeviceBuffer<u32> {
    DeviceBuffer::from_host(stream, &(0..n).collect::<Vec<_>>()).unwrap()
}

#[test]
fn chunks_cover_everything_from_both_ends() {
    let stream = stream();
    let buffer = numbers(&stream, 10);
    let host = |views: Vec<cuda_launch::DeviceView<'_, u32>>| -> Vec<Vec<u32>> {
        views.into_iter().map(|view| view.to_host_vec(&stream).unwrap()).collect()
    };
    let all: Vec<u32> = (0..10).collect();
    for size in 1..12 {
        let expected: Vec<Vec<u32>> = all.chunks(size).map(<[u32]>::to_vec).collect();
        assert_eq!(buffer.chunks(size).len(), expected.len());
        assert_eq!(host(buffer.chunks(size).collect()), expected, "{size}");
        let backwards: Vec<Vec<u32>> = all.chunks(size).rev().map(<[u32]>::to_vec).collect();
        assert_eq!(host(buffer.chunks(size).rev().collect()), backwards, "{size}");
        let exact: Vec<Vec<u32>> = all.chunks_exact(size).map(<[u32]>::to_vec).collect();
        let chunks = buffer.chunks_exact(size);
        assert_eq!(chunks.len(), exact.len());
        assert_eq!(host(chunks.collect()), exact, "{size}");
        let rest = buffer.chunks_exact(size).into_remainder().to_host_vec(&stream).unwrap();
        assert_eq!(rest, all.chunks_exact(size).remainder());
    }
    let empty = DeviceBuffer::<u32>::zeroed(&stream, 0).unwrap();
    assert_eq!(empty.chunks(3).count(), 0);
    assert!(buffer.view().try_chunks(0).is_none() && buffer.view().try_chunks_exact(0).is_none());
}

#[test]
fn the_parts_of_a_view_are_where_it_begins_and_how_long_it_is() {
    let buffer = numbers(&stream(), 5);
    let view = buffer.slice(2..);
    let (whole, parts) = (buffer.parts(), view.parts());
    assert_eq!((*whole.len(), *parts.len()), (5, 3));
    assert_eq!(parts.address().checked_sub(*whole.address()), Some(8));
}

#[test]
fn mutable_chunks_are_written_one_by_one() {
    let stream = stream();
    let mut buffer = numbers(&stream, 7);
    for (i, mut chunk) in buffer.chunks_mut(3).enumerate() {
        chunk.fill(&stream, 100 + i as u32).unwrap();
    }
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [100, 100, 100, 101, 101, 101, 102]);
    for (i, mut chunk) in buffer.chunks_exact_mut(2).rev().enumerate() {
        chunk.fill(&stream, i as u32).unwrap();
    }
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [2, 2, 1, 1, 0, 0, 102]);
}

#[test]
#[should_panic(expected = "chunks of 0 elements")]
fn chunks_of_nothing_panic_as_for_slices() {
    let stream = stream();
    let _ = numbers(&stream, 1).chunks(0);
}

#[test]
fn fallible_twins_answer_without_a_panic() {
    let stream = stream();
    let mut buffer = numbers(&stream, 5);
    assert!(buffer.try_split_at(6).is_none() && buffer.try_split_at_mut(6).is_none());
    let (left, right) = buffer.try_split_at(5).unwrap();
    assert_eq!((left.len(), right.len()), (5, 0));
    assert!(!DeviceSlice::is_empty(&left) && DeviceSlice::is_empty(&right));
    let (mut left, right) = buffer.try_split_at_mut(1).unwrap();
    left.fill(&stream, 0).unwrap();
    assert_eq!((left.len(), right.len()), (1, 4));
    assert_eq!(buffer.view().first().unwrap().to_host_vec(&stream).unwrap(), [0]);
    assert_eq!(buffer.view().last().unwrap().to_host_vec(&stream).unwrap(), [4]);
    assert!(right_of(&buffer).first().is_none() && right_of(&buffer).last().is_none());
    assert_eq!(buffer.get(1..3).unwrap().to_host_vec(&stream).unwrap(), [1, 2]);
    let error = buffer.get_mut(3..6).unwrap_err();
    assert!(error.is_out_of_bounds());
    let ErrorKind::Range(IndexRange { range, len, .. }) = error.kind() else { panic!("{error}") };
    assert_eq!((range.as_str(), *len), ("3..6", 5));
    assert_eq!(
        error.to_string(),
        "range 3..6 is not inside a buffer of 5 elements\n  help: all of it is 0..5"
    );
}

fn right_of(buffer: &DeviceBuffer<u32>) -> cuda_launch::DeviceView<'_, u32> {
    buffer.slice(buffer.len()..)
}

#[test]
fn casts_see_the_same_bytes() {
    let stream = stream();
    let mut buffer = DeviceBuffer::from_host(&stream, &[1.0f32, -2.0, 0.5, 4.0]).unwrap();
    let bits: Vec<u32> = [1.0f32, -2.0, 0.5, 4.0].iter().map(|x| x.to_bits()).collect();
    assert_eq!(buffer.cast::<u32>().unwrap().to_host_vec(&stream).unwrap(), bits);
    assert_eq!(buffer.cast::<[f32; 2]>().unwrap().to_host_vec(&stream).unwrap(), [[1.0, -2.0], [0.5, 4.0]]);
    buffer.cast_mut::<u8>().unwrap().slice(4..8).fill(&stream, 0).unwrap();
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [1.0, 0.0, 0.5, 4.0]);
    let error = buffer.slice(1..).cast::<f64>().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cast(CastError::Size { bytes: 12, size: 8, .. })), "{error}");
    let error = buffer.slice(1..3).cast::<f64>().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cast(CastError::Alignment { align: 8, .. })), "{error}");
    assert!(error.is_out_of_bounds() && error.to_string().contains("cannot cast f32 to f64"), "{error}");
    assert!(buffer.cast::<[f32; 0]>().is_err(), "elements without a size cannot be counted");
    let nothing = DeviceBuffer::<f32>::zeroed(&stream, 0).unwrap();
    assert!(nothing.cast::<[f32; 0]>().is_err(), "also where there are none");
    let sizeless = DeviceBuffer::<[f32; 0]>::zeroed(&stream, 3).unwrap();
    assert_eq!(sizeless.cast::<[u32; 0]>().unwrap().len(), 0);
}

#[test]
fn types_that_bytemuck_knows_are_elements() {
    #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C)]
    struct Body {
        position: [f32; 3],
        mass: f32,
    }
    fn device_copy<T: DeviceCopy>() {}
    device_copy::<Plain<Body>>();
    device_copy::<Wrapping<u32>>();
    let stream = stream();
    let mut bodies: Vec<Body> = (0..9).map(|i| Body { position: [i as f32, 0.0, 1.0], mass: 0.5 }).collect();
    let buffer = DeviceBuffer::from_host(&stream, Plain::wrap_slice(&bodies)).unwrap();
    assert_eq!(Plain::unwrap_slice(&buffer.to_host_vec(&stream).unwrap()), bodies);
    assert_eq!(buffer.cast::<[f32; 4]>().unwrap().to_host_vec(&stream).unwrap()[3], [3.0, 0.0, 1.0, 0.5]);
    let expected = bodies[4];
    bodies.truncate(1);
    buffer.slice(4..5).copy_to_host(&stream, Plain::wrap_slice_mut(&mut bodies)).unwrap();
    assert_eq!(bodies, [expected]);
}
