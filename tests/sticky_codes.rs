//! A call answers a sticky code while other work goes on: memory that this work borrows is not given back before the work is over.
//!
//! A driver says of a wait that the work is over. Of any other call a sticky code says that a kernel faulted, and a copy may be on its way.

#![allow(clippy::unwrap_used)]

use cuda_emulator::Instance;
use cuda_harness::{Fault, Spy};
use cuda_launch::memory::RegisterFlags;
use cuda_launch::sys::CUresult;
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
