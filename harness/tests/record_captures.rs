//! A launch that is recorded is waited for, and no capture of another thread minds.
#![cfg(feature = "record")]
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)] // Calls of C functions with what they ask for.

#[path = "support/mod.rs"]
mod support;

use cuda_driver_sys::{CUresult, CUstreamCaptureMode, Driver};
use cuda_harness::record::{Event, RecordOptions};
use cuda_harness::{Fault, Spy};
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::{Arc, Mutex, mpsc};
use support::{Cuda, ok};

const EMPTY: &[u8] = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n\0";

fn begin(cuda: &Driver, stream: usize) -> Result<(), CUresult> {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(unsafe { cuda.cuStreamBeginCapture(with_exposed_provenance_mut(stream), mode) })
}

fn end(cuda: &Driver, stream: usize) -> Result<(), CUresult> {
    let mut graph = null_mut();
    ok(unsafe { cuda.cuStreamEndCapture(with_exposed_provenance_mut(stream), &mut graph) })?;
    ok(unsafe { cuda.cuGraphDestroy(graph) })
}

/// While a call that begins or ends a capture is with the driver, the capture is open there, though not for who has not seen the call's end.
#[test]
fn a_capture_that_begins_or_ends_meanwhile_is_not_broken() {
    for stops in ["cuStreamBeginCapture_v2", "cuStreamEndCapture"] {
        let plain = cuda_emulator::driver();
        let below = Spy::over(&plain).unwrap();
        let (told, events) = mpsc::channel();
        let told = Mutex::new(told);
        let listener = move |event| told.lock().unwrap().send(event).unwrap();
        let record = RecordOptions::new("k", 1).over(&below.driver(), listener).unwrap();
        let cuda = Arc::new(Cuda::new(record.driver()));
        let mut stream = null_mut();
        ok(unsafe { cuda.driver.cuStreamCreate(&mut stream, 1) }).unwrap();
        let stream = stream.expose_provenance();

        let (stopped, is_stopped) = mpsc::channel();
        let (go, goes) = mpsc::channel::<()>();
        let waits = Mutex::new((stopped, goes));
        let stop = move |_: &cuda_harness::Call| {
            let (stopped, goes) = &*waits.lock().unwrap();
            // As a driver that has begun the capture, and has not returned.
            let is_begin = stops == "cuStreamBeginCapture_v2";
            let begun = if is_begin { begin(&plain, stream) } else { Ok(()) };
            stopped.send(()).unwrap();
            goes.recv().unwrap_err();
            let ended = if is_begin { end(&plain, stream) } else { Ok(()) };
            // The call fails if the capture was broken.
            begun.and(ended).is_err()
        };
        below.inject(Fault::on(stops).nth(1).when(stop)).unwrap();
        let capturing = {
            let cuda = Arc::clone(&cuda);
            std::thread::spawn(move || {
                cuda.make_current();
                begin(&cuda.driver, stream).and_then(|()| end(&cuda.driver, stream))
            })
        };
        is_stopped.recv().unwrap();
        let (mut module, mut function) = (null_mut(), null_mut());
        unsafe {
            ok(cuda.driver.cuModuleLoadData(&mut module, EMPTY.as_ptr().cast())).unwrap();
            ok(cuda.driver.cuModuleGetFunction(&mut function, module, c"k".as_ptr())).unwrap();
            let none = null_mut();
            ok(cuda.driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, null_mut(), none, none.cast()))
                .unwrap();
        }
        let event = events.iter().find(|event| !matches!(event, Event::Begun(_))).unwrap();
        let Event::Failed(why) = event else { panic!("{stops}: the launch was recorded") };
        assert!(why.contains("a stream is being captured"), "{why}");
        drop(go);
        assert_eq!(capturing.join().unwrap(), Ok(()), "{stops}");
        assert_eq!(below.panics(), Vec::<String>::new());
    }
}
