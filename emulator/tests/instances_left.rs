//! What an instance leaves behind: nothing. Alone in its program, whose allocations and threads it counts.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicIsize, Ordering};
use support::graphs::{graph, instantiate, number, run};
use support::*;

/// Counts the bytes that are allocated.
struct Counting(AtomicIsize);

#[global_allocator]
static BYTES: Counting = Counting(AtomicIsize::new(0));

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(layout.size() as isize, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.0.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Threads of this process; 0 where they cannot be counted.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count())
}

/// Something of everything, and nothing given back.
fn use_and_drop() {
    let instance = Instance::new().unwrap();
    let (cuda, mut context, mut pinned, mut managed) = (instance.driver(), null_mut(), null_mut(), 0);
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    let add = function(&cuda, load(&cuda, KERNELS), "add");
    let (mut memory, streams) = (alloc(&cuda, 1 << 20), [stream(&cuda, 0), stream(&cuda, 1)]);
    ok(unsafe { cuda.cuMemsetD8(memory, 0, 4) });
    ok(unsafe { cuda.cuMemAllocHost(&mut pinned, 1 << 16) });
    ok(unsafe { cuda.cuMemAllocManaged(&mut managed, 1 << 16, 1) });
    ok(unsafe { cuda.cuMemAllocAsync(&mut 0, 1 << 16, streams[0]) });
    let per_thread: CUstream = std::ptr::without_provenance_mut(2);
    let graph = graph(&cuda);
    number(&cuda, graph, &[], add, memory, 5);
    let exec = instantiate(&cuda, graph);
    run(&cuda, exec, streams[0]);
    let event = event(&cuda, 0);
    for stream in [streams[0], streams[1], null_mut(), per_thread] {
        let mut number = 1_u32;
        ok(launch(&cuda, add, stream, &mut [argument(&mut memory), argument(&mut number)]));
        ok(unsafe { cuda.cuEventRecord(event, stream) });
    }
    ok(unsafe { cuda.cuCtxRecordEvent(context, event) });
    ok(unsafe { cuda.cuStreamBeginCapture(streams[1], CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED) });
    ok(unsafe { cuda.cuMemsetD8Async(memory, 0, 4, streams[1]) });
    // An own context that ends before, with pinned memory.
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    ok(unsafe { cuda.cuMemAllocHost(&mut pinned, 1 << 16) });
    ok(unsafe { cuda.cuCtxDestroy(context) });
}

#[test]
fn instances_leave_nothing_behind() {
    // What the first ones make for the whole process.
    (0..20).for_each(|_| use_and_drop());
    let before = (BYTES.0.load(Ordering::Relaxed), threads());
    (0..64).for_each(|_| use_and_drop());
    let after = (BYTES.0.load(Ordering::Relaxed), threads());
    // Room of tables that grew, and a stream of this thread's own, which goes with the next one or the thread.
    assert!(after.0 - before.0 < 4096, "{} bytes", after.0 - before.0);
    assert_eq!(after.1, before.1);
    // The process's own emulator was never started.
    assert_eq!(cuda_emulator::live_handles(), cuda_emulator::LiveHandles::default());
    calls_after_the_end_are_refused();
    #[cfg(unix)]
    a_forked_child_waits_for_nothing();
}

/// The address of a function outlives the table that it is of, and the driver the instance.
fn calls_after_the_end_are_refused() {
    let instance = Instance::new().unwrap();
    let cuda = instance.driver();
    let count: pfn::cuDeviceGetCount = unsafe { std::mem::transmute(cuda.address("cuDeviceGetCount")) };
    let initialise: pfn::cuInit = unsafe { std::mem::transmute(cuda.address("cuInit")) };
    drop(instance);
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { count(&mut 0) });
    drop(cuda);
    assert_eq!(unsafe { count(&mut 0) }, CUresult::CUDA_ERROR_DEINITIALIZED);
    assert_eq!(unsafe { initialise(0) }, CUresult::CUDA_ERROR_DEINITIALIZED);
}

/// Of pinned memory that was given back there is nothing left, not even the rest of a page. For a process in which nobody else gets memory.
#[cfg(unix)]
fn freed_pages_are_gone(cuda: &Driver) -> bool {
    let (mut context, mut pinned) = (null_mut(), null_mut());
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    ok(unsafe { cuda.cuMemAllocHost(&mut pinned, 100) });
    ok(unsafe { cuda.cuMemFreeHost(pinned) });
    let is_linux = cfg!(target_os = "linux");
    !is_linux || unsafe { cuda.cuMemHostRegister(pinned, 100, 0) } == CUresult::CUDA_ERROR_INVALID_VALUE
}

/// It has none of the instance's threads, and can make an instance of its own.
#[cfg(unix)]
fn a_forked_child_waits_for_nothing() {
    use std::ffi::{c_char, c_void};
    use std::sync::atomic::AtomicUsize;

    unsafe extern "C" {
        fn fork() -> i32;
        fn kill(process: i32, signal: i32) -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(code: i32) -> !;
    }
    let instance = Instance::new().unwrap();
    let (cuda, mut context) = (instance.driver(), null_mut());
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    static HEARD: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn hear(_: *mut c_void, _: CUlogLevel, _: *mut c_char, _: usize) {
        HEARD.fetch_add(1, Ordering::Relaxed);
    }
    ok(unsafe { cuda.cuLogsRegisterCallback(Some(hear), null_mut(), &mut null_mut()) });
    assert_eq!(unsafe { cuda.cuMemFree(12345) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    let heard = HEARD.load(Ordering::Relaxed);
    assert!(heard != 0);
    let _busy = Busy::new(&cuda, stream(&cuda, 1));
    let child = unsafe { fork() };
    if child == 0 {
        let is_refused = unsafe { cuda.cuMemAlloc(&mut 0, 4) } == CUresult::CUDA_ERROR_NOT_INITIALIZED;
        // Another thread of the parent may have had the log's lock.
        let is_silent = HEARD.load(Ordering::Relaxed) == heard;
        let is_known = instance.reset() == Err(cuda_emulator::InstanceError::Forked);
        drop((instance, cuda));
        let own = Instance::new();
        let is_usable = own.as_ref().is_ok_and(|own| unsafe { own.driver().cuInit(0) } == CUresult::SUCCESS);
        let is_gone = own.is_ok_and(|own| freed_pages_are_gone(&own.driver()));
        let all = [is_refused, is_silent, is_known, is_usable, is_gone];
        unsafe { _exit(all.iter().position(|is_so| !is_so).map_or(0, |at| 1 + at as i32)) };
    }
    let mut status = -1;
    let is_over = (0..6000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        unsafe { waitpid(child, &mut status, 1) != 0 }
    });
    if !is_over {
        unsafe { kill(child, 9) };
    }
    assert!(is_over && status == 0, "{is_over} {status}");
}
