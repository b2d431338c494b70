//! What is remembered of the accesses to memory stays bounded while threads come and go. Alone in its program, whose
//! allocations it counts.

#![allow(unsafe_code)] // The allocator that counts, and the support's driver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_launch::{CudaContext, CudaStream, DeviceBuffer};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::thread;

/// Counts the bytes that are allocated.
struct Counting(AtomicIsize);

#[global_allocator]
static BYTES: Counting = Counting(AtomicIsize::new(0));

// SAFETY: `System` does the work, by the same contract; to count neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's contract is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.0.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's contract is that of `System`: `pointer` is from `alloc`, which got it from there with
        // this layout, and is freed once.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Who reads, each time: a thread of its own, perhaps with a handle of its own; or this thread with many handles.
#[derive(Clone, Copy, Debug)]
enum Reader {
    Thread,
    ThreadWithHandle,
    Handles,
}

/// A buffer is read on per-thread streams, each of which its thread waits for; then on those of threads that end without having waited.
#[test]
fn streams_of_threads_that_have_waited_or_ended_are_not_remembered() {
    let ctx = CudaContext::with_driver(&support::driver(&[]), 0).unwrap();
    let (stream, shared) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
    let weights = DeviceBuffer::<u32>::zeroed(&stream, 8).unwrap();
    let mut target = DeviceBuffer::<u32>::zeroed(&stream, 8).unwrap();
    let mut rounds = |count: usize, reader: Reader, waits: bool| {
        let mut read = |stream: &CudaStream| {
            if waits {
                target.view_mut().copy_from_device(stream, &weights).unwrap();
                stream.synchronize().unwrap();
            } else {
                let mut own = DeviceBuffer::<u32>::uninit(stream, 8).unwrap();
                own.view_mut().copy_from_device(stream, &weights).unwrap();
            }
        };
        let mut handles = Vec::new();
        for _ in 0..count {
            let read = &mut read;
            match reader {
                Reader::Thread => thread::scope(|scope| scope.spawn(|| read(&shared)).join().unwrap()),
                Reader::ThreadWithHandle => {
                    thread::scope(|scope| scope.spawn(|| read(&ctx.per_thread_stream())).join().unwrap());
                }
                Reader::Handles => {
                    handles.push(ctx.per_thread_stream());
                    handles.iter().last().into_iter().for_each(read);
                }
            }
        }
        drop(handles);
        read(&ctx.per_thread_stream());
        BYTES.0.load(Ordering::Relaxed)
    };
    let all = [
        (Reader::Thread, true),
        (Reader::ThreadWithHandle, true),
        (Reader::Handles, true),
        (Reader::Thread, false),
        (Reader::ThreadWithHandle, false),
    ];
    for (reader, waits) in all {
        let first = rounds(500, reader, waits);
        let grown = rounds(2000, reader, waits) - first;
        // What the list keeps until it is searched, and no more: an entry has about 70 bytes, a handle about 500.
        assert!(grown < 2000 * 20, "{reader:?}, waits: {waits}: {grown} bytes more after 2,000 reads");
    }
}
