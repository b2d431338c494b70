//! Buffers, views and copies on whichever driver is chosen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::child;
use cuda_launch::memory::MemoryPool;
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, DeviceCopy, DevicePtr, ErrorKind};
use std::thread;

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

#[test]
fn what_goes_to_the_device_comes_back() {
    let stream = stream();
    for n in [1usize, 2, 31, 1000, 1 << 20] {
        let host: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let buffer = DeviceBuffer::from_host(&stream, &host).unwrap();
        assert_eq!((buffer.len(), buffer.byte_len(), buffer.is_empty()), (n, 4 * n, false));
        assert_eq!(buffer.to_host_vec(&stream).unwrap(), host);
    }
}

#[test]
fn a_clone_is_a_buffer_of_its_own() {
    let (first, second) = (stream(), stream());
    let mut buffer = DeviceBuffer::from_host(&first, &[1u32, 2, 3]).unwrap();
    let clone = buffer.try_clone(&second).unwrap();
    let part = second.clone_dtod(&buffer.slice(1..)).unwrap();
    buffer.fill(&first, 9).unwrap();
    assert_eq!(clone.to_host_vec(&second).unwrap(), [1, 2, 3]);
    assert_eq!(part.to_host_vec(&first).unwrap(), [2, 3]);
    drop(buffer);
    assert_eq!(clone.try_clone(&first).unwrap().to_host_vec(&first).unwrap(), [1, 2, 3]);
    assert!(DeviceBuffer::<u8>::zeroed(&first, 0).unwrap().try_clone(&second).unwrap().is_empty());
}

#[test]
fn elements_of_every_size_keep_their_bytes() {
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
    struct Pixel {
        rgb: [u8; 3],
        alpha: u8,
        weight: f32,
    }
    let stream = stream();
    let pixels: Vec<Pixel> =
        (0..77u8).map(|i| Pixel { rgb: [i, 2 * i, 3 * i], alpha: 255 - i, weight: 0.5 }).collect();
    assert_eq!(DeviceBuffer::from_host(&stream, &pixels).unwrap().to_host_vec(&stream).unwrap(), pixels);
    let halves = [half::f16::from_f32(1.5), half::f16::from_f32(-0.25)];
    assert_eq!(DeviceBuffer::from_host(&stream, &halves).unwrap().to_host_vec(&stream).unwrap(), halves);
    let wide = [u128::MAX, 1, 0];
    assert_eq!(DeviceBuffer::from_host(&stream, &wide).unwrap().to_host_vec(&stream).unwrap(), wide);
}

#[test]
fn zeroed_is_zero_and_set_zero_too() {
    let stream = stream();
    let mut buffer = DeviceBuffer::<u64>::zeroed(&stream, 1000).unwrap();
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [0; 1000]);
    buffer.copy_from_host(&stream, &[u64::MAX; 1000]).unwrap();
    buffer.slice_mut(10..20).set_zero(&stream).unwrap();
    let host = buffer.to_host_vec(&stream).unwrap();
    assert!(host.iter().enumerate().all(|(i, &x)| x == if (10..20).contains(&i) { 0 } else { u64::MAX }));
}

#[test]
fn an_empty_buffer_is_fine_everywhere() {
    let stream = stream();
    let mut empty = DeviceBuffer::<f32>::uninit(&stream, 0).unwrap();
    assert!(empty.is_empty() && empty.as_device_ptr().is_null());
    assert_eq!(empty.to_host_vec(&stream).unwrap(), []);
    empty.copy_from_host(&stream, &[]).unwrap();
    empty.view_mut().set_zero(&stream).unwrap();
    let other = DeviceBuffer::<f32>::from_host(&stream, &[]).unwrap();
    empty.view_mut().copy_from_device(&stream, &other).unwrap();
    empty.close().unwrap();
}

#[test]
fn views_see_their_part() {
    let stream = stream();
    let mut buffer = DeviceBuffer::from_host(&stream, &(0..30u32).collect::<Vec<_>>()).unwrap();
    let (left, right) = buffer.split_at(10);
    assert_eq!((left.len(), right.slice(5..).len()), (10, 15));
    assert_eq!(right.slice(5..=6).to_host_vec(&stream).unwrap(), [15, 16]);
    assert_eq!(right.as_device_ptr(), DevicePtr::from_raw(buffer.cu_deviceptr() + 40));
    assert!(buffer.try_slice(25..40).is_none() && buffer.try_slice(..31).is_none());
    assert!(buffer.try_slice_mut(30..).is_some_and(|v| v.is_empty()));
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = buffer.try_slice(6..5);
    assert!(backwards.is_none());
    assert!(buffer.try_slice(..=usize::MAX).is_none());
    let (mut low, mut high) = buffer.split_at_mut(15);
    low.slice_of(0..5).copy_from_host(&stream, &[100; 5]).unwrap();
    high.view_mut().slice(0..5).copy_from_host(&stream, &[200; 5]).unwrap();
    low.view_mut().slice(5..10).copy_from_device(&stream, &high.as_view().slice(0..5)).unwrap();
    let host = buffer.to_host_vec(&stream).unwrap();
    assert_eq!(host[..11], [100, 100, 100, 100, 100, 200, 200, 200, 200, 200, 10]);
    assert_eq!(host[15..21], [200, 200, 200, 200, 200, 20]);
}

/// A shorter name for the test above.
trait SliceOf<T: DeviceCopy> {
    fn slice_of(&mut self, range: std::ops::Range<usize>) -> cuda_launch::DeviceViewMut<'_, T>;
}

impl<T: DeviceCopy> SliceOf<T> for cuda_launch::DeviceViewMut<'_, T> {
    fn slice_of(&mut self, range: std::ops::Range<usize>) -> cuda_launch::DeviceViewMut<'_, T> {
        self.view_mut().slice(range)
    }
}

#[test]
#[should_panic(expected = "not inside a view of 30 elements")]
fn a_range_past_the_end_panics_as_for_slices() {
    let buffer = DeviceBuffer::<u8>::uninit(&stream(), 30).unwrap();
    let _ = buffer.slice(20..31);
}

#[test]
fn lengths_that_differ_are_errors_with_both() {
    let stream = stream();
    let mut buffer = DeviceBuffer::<u8>::zeroed(&stream, 4).unwrap();
    let error = buffer.copy_from_host(&stream, &[1; 5]).unwrap_err();
    assert!(error.to_string().contains("the source has 5 elements, the destination 4"), "{error}");
    let error = buffer.copy_to_host(&stream, &mut [0; 3]).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Length(l) if (l.source_len, l.destination_len) == (4, 3)),
        "{error}"
    );
    let other = DeviceBuffer::<u8>::zeroed(&stream, 3).unwrap();
    assert!(buffer.view_mut().copy_from_device(&stream, &other).is_err());
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [0; 4], "nothing was copied");
}

#[test]
fn more_than_there_is_is_an_error() {
    let stream = stream();
    let error = DeviceBuffer::<u64>::uninit(&stream, usize::MAX / 4).unwrap_err();
    assert!(error.is_out_of_memory() && error.call().is_none(), "{error}");
    // The last one cannot be rounded up.
    for bytes in [1 << 50, usize::MAX] {
        let error = DeviceBuffer::<u8>::uninit(&stream, bytes).unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
    }
    let error = DeviceBuffer::<u64>::uninit(&stream, 1 << 47).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    assert_eq!(error.call(), Some("cuMemAllocAsync"));
    let (free, total) = stream.context().memory_info().unwrap();
    assert!(free <= total && total > 0);
    DeviceBuffer::<u64>::zeroed(&stream, 100).unwrap();
}

#[test]
fn buffers_move_between_threads_and_streams() {
    let ctx = CudaContext::new(0).unwrap();
    let shared = DeviceBuffer::from_host(&ctx.default_stream(), &[7u32; 100]).unwrap();
    let sent = DeviceBuffer::from_host(&ctx.default_stream(), &[1u32; 100]).unwrap();
    thread::scope(|scope| {
        for i in 0..8u32 {
            let (ctx, shared) = (&ctx, &shared);
            scope.spawn(move || {
                let stream = ctx.new_stream().unwrap();
                let own = DeviceBuffer::from_host(&stream, &[i; 100]).unwrap();
                assert_eq!(own.to_host_vec(&stream).unwrap(), [i; 100]);
                assert_eq!(shared.to_host_vec(&stream).unwrap(), [7; 100]);
            });
        }
        scope.spawn(move || drop(sent));
    });
    let after = ctx.new_stream().unwrap();
    assert_eq!(shared.to_host_vec(&after).unwrap(), [7; 100]);
}

/// In a process of its own: other tests allocate and free meanwhile.
#[test]
fn a_closed_buffer_gives_its_memory_back() {
    const TEST: &str = "a_closed_buffer_gives_its_memory_back";
    const BYTES: usize = 64 << 20;
    if !child::is_child(TEST) {
        let ended = child::run(TEST).unwrap();
        assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
        return;
    }
    let stream = stream();
    let pool = MemoryPool::default_of(stream.context()).unwrap();
    // A GPU's pool keeps what is freed.
    let free = || {
        stream.synchronize().unwrap();
        pool.trim_to(0).unwrap();
        stream.context().memory_info().unwrap().0
    };
    // What a driver takes for itself with the first allocation.
    DeviceBuffer::<u8>::uninit(&stream, BYTES).unwrap().close().unwrap();
    let before = free();
    let buffer = DeviceBuffer::<u8>::uninit(&stream, BYTES).unwrap();
    assert!(free() <= before - BYTES);
    buffer.close().unwrap();
    assert_eq!(free(), before);
}
