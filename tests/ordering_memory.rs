//! What is remembered of the accesses to memory stays bounded while threads come and go. Alone in its program, whose
//! allocations it counts.

#![allow(unsafe_code)] // The allocator that counts, and the support's driver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/at_thread_end.rs"]
mod at_thread_end;
mod support;

use at_thread_end::at_thread_end;
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::thread;
use support::{progress, reset};

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

/// Who reads, each time: a thread of its own, perhaps with a handle of its own; or this thread with many handles of its own stream, or of the
/// default stream.
#[derive(Clone, Copy, Debug)]
enum Reader {
    Thread,
    ThreadWithHandle,
    Handles,
    DefaultHandles,
}

/// Into memory of its own.
fn read_once(stream: &CudaStream, weights: &DeviceBuffer<u32>) {
    let mut own = DeviceBuffer::<u32>::uninit(stream, 8).unwrap();
    own.view_mut().copy_from_device(stream, weights).unwrap();
}

/// A buffer is read on per-thread streams, each of which its thread waits for; then on those of threads that end without having waited.
#[test]
fn streams_of_threads_that_have_waited_or_ended_are_not_remembered() {
    let ctx = CudaContext::with_driver(&support::driver(&[]), 0).unwrap();
    let (stream, shared) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
    let weights = Arc::new(DeviceBuffer::<u32>::zeroed(&stream, 8).unwrap());
    // Streams that never pause.
    progress(CUresult::CUDA_ERROR_NOT_READY);
    let mut target = DeviceBuffer::<u32>::zeroed(&stream, 8).unwrap();
    let mut rounds = |count: usize, reader: Reader, waits: bool| {
        let mut read = |stream: &CudaStream| {
            if waits {
                target.view_mut().copy_from_device(stream, &weights).unwrap();
                stream.synchronize().unwrap();
            } else {
                read_once(stream, &weights);
            }
        };
        let mut handles = Vec::new();
        for _ in 0..count {
            // What the driver keeps for tests.
            reset();
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
                Reader::DefaultHandles => read(&ctx.default_stream()),
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
        (Reader::Handles, false),
        (Reader::DefaultHandles, false),
    ];
    for (reader, waits) in all {
        let first = rounds(500, reader, waits);
        let grown = rounds(4000, reader, waits) - first;
        // What the list keeps until it is searched, and no more: an entry has about 70 bytes, a handle about 1,800.
        assert!(grown < 4000 * 20, "{reader:?}, waits: {waits}: {grown} bytes more after 4,000 reads");
    }
    work_at_the_end_of_threads_is_not_remembered();
}

/// With a driver that serves threads while their locals are destroyed.
fn work_at_the_end_of_threads_is_not_remembered() {
    let ctx = CudaContext::new(0).unwrap();
    let shared = ctx.per_thread_stream();
    let weights = Arc::new(DeviceBuffer::<u32>::zeroed(&shared, 8).unwrap());
    let rounds = |count: usize| {
        for _ in 0..count {
            let (shared, again, weights, kept) =
                (shared.clone(), shared.clone(), weights.clone(), weights.clone());
            let run = move || {
                at_thread_end(move || read_once(&again, &kept));
                // What goes first is what was used last.
                read_once(&shared, &weights);
            };
            thread::spawn(run).join().unwrap();
        }
        BYTES.0.load(Ordering::Relaxed)
    };
    let first = rounds(2000);
    let grown = rounds(4000) - first;
    // An entry has more than 200 bytes here.
    assert!(grown < 4000 * 100, "{grown} bytes more after 4,000 reads");
}
