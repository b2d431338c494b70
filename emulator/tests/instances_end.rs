//! The end of an instance: its work is done, and nobody reaches what it had.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use support::*;

fn instance() -> (Instance, Arc<Driver>) {
    let instance = Instance::new().unwrap();
    let (cuda, mut context) = (instance.driver(), null_mut());
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    (instance, cuda)
}

/// Work that is under way, and work behind it, is done before the drop returns.
#[test]
fn a_drop_waits_for_work() {
    let (instance, cuda) = instance();
    let streams = [stream(&cuda, 0), stream(&cuda, 1), null_mut()];
    let done = Arc::new(AtomicUsize::new(0));
    let busy: Vec<_> = streams.into_iter().map(|stream| Busy::new(&cuda, stream)).collect();
    for stream in streams {
        let done = Arc::clone(&done);
        ok(host_function(&cuda, stream, move || {
            done.fetch_add(1, Ordering::Relaxed);
        }));
    }
    ok(unsafe { cuda.cuMemsetD8Async(alloc(&cuda, 64), 1, 64, streams[0]) });
    drop(instance);
    let (begins, is_begun) = mpsc::channel();
    let last = thread::spawn(move || {
        begins.send(()).unwrap();
        drop(cuda);
    });
    is_begun.recv().unwrap();
    assert_eq!(done.load(Ordering::Relaxed), 0);
    drop(busy);
    last.join().unwrap();
    assert_eq!(done.load(Ordering::Relaxed), 3);
}

/// A stream that waits for a number that nobody writes.
#[test]
fn a_drop_ends_what_never_would() {
    let (instance, cuda) = instance();
    let (stream, word) = (stream(&cuda, 1), alloc(&cuda, 4));
    ok(unsafe { cuda.cuMemsetD8(word, 0, 4) });
    ok(unsafe { cuda.cuStreamWaitValue32(stream, word, 7, 1) });
    drop((cuda, instance));
}

/// Who drops it last may be one of its own threads, which cannot wait for itself.
#[test]
fn a_callback_may_drop_its_own() {
    let (instance, cuda) = instance();
    let stream = stream(&cuda, 1);
    let (sender, dropped) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    let own = Arc::clone(&cuda);
    ok(host_function(&own, stream, move || {
        is_released.recv().unwrap();
        drop((cuda, instance));
        sender.send(()).unwrap();
    }));
    drop(own);
    release.send(()).unwrap();
    dropped.recv().unwrap();
}

/// A capture, a fault, work that was never begun because of it: nothing of it hinders the end.
#[test]
fn a_drop_in_the_middle_of_everything() {
    let (instance, cuda) = instance();
    let (captured, faulty) = (stream(&cuda, 1), stream(&cuda, 1));
    let store = function(&cuda, load(&cuda, KERNELS), "store");
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(unsafe { cuda.cuStreamBeginCapture(captured, mode) });
    let (mut target, mut nowhere) = (alloc(&cuda, 4), 64_u64);
    ok(launch(&cuda, store, captured, &mut [argument(&mut target), argument(&mut 1_u32)]));
    let busy = Busy::new(&cuda, faulty);
    ok(launch(&cuda, store, faulty, &mut [argument(&mut nowhere), argument(&mut 1_u32)]));
    ok(unsafe { cuda.cuMemsetD8Async(target, 1, 4, faulty) });
    drop(busy);
    drop((instance, cuda));
}
