//! A call answers a sticky code while other work goes on: memory that this work borrows is not given back before the work is over.
//!
//! A driver says of a wait that the work is over. Of any other call a sticky code says that a kernel faulted, and a copy may be on its way.

#![allow(clippy::unwrap_used)]

use cuda_emulator::Instance;
use cuda_harness::{Fault, Spy};
use cuda_launch::diagnostics::LogListener;
use cuda_launch::memory::RegisterFlags;
use cuda_launch::sys::CUresult;
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const N: usize = 1024;
const CODE: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

/// What answers the code: a call alone, or everything from then on.
fn faults() -> [Fault; 2] {
    [Fault::on("cuMemAlloc").answer(CODE), Fault::on("cuMemAlloc").sticky(CODE)]
}

/// An emulator with a spy, two streams, and memory with sevens.
struct Site {
    stream: CudaStream,
    buffer: DeviceBuffer<u32>,
    spy: Spy,
    _instance: Instance,
}

impl Site {
    fn new() -> Site {
        let instance = Instance::new().unwrap();
        let spy = Spy::over(&instance.driver()).unwrap();
        let stream = CudaContext::with_driver(&spy.driver(), 0).unwrap().new_stream().unwrap();
        let buffer = DeviceBuffer::from_host(&stream, &[7; N]).unwrap();
        Site { stream, buffer, spy, _instance: instance }
    }

    /// Keeps the stream busy for a while, so that what comes next is late; says when it may have begun.
    fn hold(&self) -> Arc<AtomicBool> {
        let begun = Arc::new(AtomicBool::new(false));
        let begins = begun.clone();
        let wait = move || {
            std::thread::sleep(Duration::from_millis(200));
            begins.store(true, Ordering::SeqCst);
        };
        self.stream.call_host(wait).unwrap();
        begun
    }

    /// A call that has nothing to do with the copy, and is told of a fault.
    fn fail(&self, fault: Fault) -> Error {
        self.spy.inject(fault).unwrap();
        let allocate = || DeviceBuffer::<u32>::uninit_plain(self.stream.context(), N).map(drop);
        // A fault that stays shows from the next call on.
        allocate().and_then(|()| allocate()).unwrap_err()
    }
}

#[test]
fn borrowed_memory_is_kept_until_the_copy_is_over() {
    for fault in faults() {
        let site = Site::new();
        let mut borrowed = vec![0; N];
        let begun = site.hold();
        let result =
            site.stream.context().with_registered(&mut borrowed, RegisterFlags::empty(), |mut pinned| {
                site.buffer.view().copy_to_pinned(&site.stream, pinned.view_mut())?;
                assert!(site.fail(fault).is_sticky());
                Ok(())
            });
        assert!(begun.load(Ordering::SeqCst), "the copy had not begun: {result:?}");
        assert_eq!(borrowed, [7; N]);
    }
}

/// While something is captured the driver does not wait for the whole context: each stream is waited for.
#[test]
fn a_capture_does_not_stand_in_the_way() {
    for fault in faults() {
        let site = Site::new();
        let (mut borrowed, ctx) = (vec![0; N], site.stream.context());
        let begun = site.hold();
        let result = ctx.with_registered(&mut borrowed, RegisterFlags::empty(), |mut pinned| {
            site.buffer.view().copy_to_pinned(&site.stream, pinned.view_mut())?;
            CudaGraph::capture(ctx, CaptureMode::Relaxed, |_| Err(site.fail(fault))).map(drop)
        });
        assert!(result.is_err_and(|error| error.is_sticky()));
        assert!(begun.load(Ordering::SeqCst), "the copy had not begun");
        assert_eq!(borrowed, [7; N]);
    }
}

/// Two threads are told of a fault: the one that hears of it second does not wait again, as the first has waited and nothing can begin any more.
#[test]
fn a_fault_that_is_known_is_not_waited_for_again() {
    let site = Site::new();
    let (asks, asked) = channel();
    let (tells, told) = channel::<()>();
    let told = Mutex::new(told);
    // The second thread is in the driver when the first one is told.
    let second = Fault::on("cuEventCreate").answer(CODE).when(move |_| {
        asks.send(()).unwrap();
        told.lock().unwrap().recv().unwrap();
        true
    });
    site.spy.inject(second).unwrap();
    site.spy.clear();
    thread::scope(|threads| {
        let other = threads.spawn(|| site.stream.context().new_event().map(drop));
        asked.recv().unwrap();
        assert!(site.fail(Fault::on("cuMemAlloc").answer(CODE)).is_sticky());
        assert_eq!(site.spy.count("cuCtxSynchronize"), 1);
        tells.send(()).unwrap();
        assert!(other.join().unwrap().is_err_and(|error| error.is_sticky()));
    });
    assert_eq!((site.spy.count("cuCtxSynchronize"), site.spy.panics()), (1, vec![]));
}

/// Nobody is given the code of a free: it is remembered for the next call.
#[test]
fn a_fault_that_a_free_is_told_of_is_known() {
    let site = Site::new();
    let memory = DeviceBuffer::<u32>::zeroed(&site.stream, N).unwrap();
    site.spy.inject(Fault::on("cuMemFreeAsync").answer(CODE)).unwrap();
    drop(memory);
    assert_eq!(site.spy.count("cuMemFreeAsync"), 1);
    site.spy.clear();
    assert!(site.stream.context().new_event().unwrap_err().is_sticky());
    assert_eq!(site.spy.count("cuEventCreate"), 0, "no call after a fault");
}

/// In code that the driver calls nothing can be waited for. It is told of the fault, and the context waits when a call outside is told.
#[test]
fn a_listener_that_is_told_of_a_fault_does_not_wait() {
    let site = Site::new();
    let (stream, (sends, answer)) = (site.stream.clone(), channel());
    let listener = LogListener::new(site.stream.context().driver(), move |_, _| {
        let _ = sends.send(stream.query());
    });
    let _listener = listener.unwrap();
    site.spy.inject(Fault::on("cuStreamQuery").answer(CODE)).unwrap();
    site.spy.clear();
    assert!(site.stream.context().load_module(".version 9.9 nothing").is_err());
    let error = answer.recv().unwrap().unwrap_err();
    assert!(error.is_sticky(), "{error}");
    // Nobody waited for all work.
    assert_eq!(site.spy.count("cuCtxSynchronize"), 0);
    site.spy.heal();
    // Nothing is remembered: the call outside is made.
    assert_eq!(site.buffer.to_host_vec(&site.stream).unwrap(), [7; N]);
    assert!(site.fail(Fault::on("cuMemAlloc").answer(CODE)).is_sticky());
    assert_eq!(site.spy.count("cuCtxSynchronize"), 1);
    let error = site.buffer.to_host_vec(&site.stream).unwrap_err();
    assert!(error.is_sticky(), "{error}");
}
