//! What a capture of other code minds, and what a call minds that is current: for those who are given a handle.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ptr::null_mut;

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("capture_of_others", capture_of_others),
    ("captured_graph", captured_graph),
    ("not_current", not_current),
];

/// What a call is about.
#[derive(Clone, Copy)]
struct Objects {
    stream: CUstream,
    event: CUevent,
    memory: CUdeviceptr,
}

// Handles may be used from every thread.
unsafe impl Send for Objects {}

impl Objects {
    fn new(cuda: &Driver) -> Self {
        let (stream, event) = (stream(cuda, 1), event(cuda, 2));
        let mut memory = 0;
        ok(unsafe { cuda.cuMemAllocAsync(&mut memory, 64, stream) });
        ok(unsafe { cuda.cuStreamSynchronize(stream) });
        Self { stream, event, memory }
    }
}

type Call = fn(&Driver, Objects) -> CUresult;

const CALLS: &[(&str, Call)] = &[
    ("destroy stream", |cuda, of| unsafe { cuda.cuStreamDestroy(of.stream) }),
    ("destroy event", |cuda, of| unsafe { cuda.cuEventDestroy(of.event) }),
    ("record", |cuda, of| unsafe { cuda.cuEventRecord(of.event, of.stream) }),
    ("wait", |cuda, of| unsafe { cuda.cuStreamWaitEvent(of.stream, of.event, 0) }),
    ("create event", |cuda, _| unsafe { cuda.cuEventCreate(&mut null_mut(), 2) }),
    ("create stream", |cuda, _| unsafe { cuda.cuStreamCreate(&mut null_mut(), 1) }),
    ("allocate", |cuda, of| unsafe { cuda.cuMemAllocAsync(&mut 0, 64, of.stream) }),
    ("free", |cuda, of| unsafe { cuda.cuMemFreeAsync(of.memory, of.stream) }),
    ("synchronize stream", |cuda, of| unsafe { cuda.cuStreamSynchronize(of.stream) }),
    ("query stream", |cuda, of| unsafe { cuda.cuStreamQuery(of.stream) }),
    ("synchronize event", |cuda, of| unsafe { cuda.cuEventSynchronize(of.event) }),
    ("query event", |cuda, of| unsafe { cuda.cuEventQuery(of.event) }),
];

/// The call on a thread of its own, with this context.
fn elsewhere(call: Call, cuda: &Driver, of: Objects, context: CUcontext) -> CUresult {
    let address = context.addr();
    std::thread::scope(|scope| {
        let run = move || {
            // The whole value, which is Send.
            let of = of;
            ok(unsafe { cuda.cuCtxSetCurrent(std::ptr::without_provenance_mut(address)) });
            call(cuda, of)
        };
        scope.spawn(run).join().unwrap()
    })
}

/// The answer, and that of the end of the capture: 901 where the call has spoilt it. A thread minds captures as it does by default.
fn capture_of_others(row: &mut Row) {
    let (cuda, context) = with_context();
    for (name, call) in CALLS {
        for (mode, letter) in [(0, 'g'), (1, 't'), (2, 'r')] {
            for thread in ["same", "other"] {
                let (of, captured) = (Objects::new(&cuda), stream(&cuda, 1));
                ok(unsafe { cuda.cuStreamBeginCapture(captured, CUstreamCaptureMode(mode)) });
                let code = match thread {
                    "same" => call(&cuda, of),
                    _ => elsewhere(*call, &cuda, of, context),
                };
                let end = unsafe { cuda.cuStreamEndCapture(captured, &mut null_mut()) };
                row.text(format!("{name} {letter}-{thread}={}/{}", code.0, end.0));
            }
        }
    }
}

/// A graph that is launched into a capture: the answer, and that of the end of the capture.
fn captured_graph(row: &mut Row) {
    let (cuda, _) = with_context();
    let stream = stream(&cuda, 1);
    let (mut graph, mut exec) = (null_mut(), null_mut());
    ok(unsafe { cuda.cuGraphCreate(&mut graph, 0) });
    ok(unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0) });
    for (mode, letter) in [(0, 'g'), (1, 't'), (2, 'r')] {
        ok(unsafe { cuda.cuStreamBeginCapture(stream, CUstreamCaptureMode(mode)) });
        let code = unsafe { cuda.cuGraphLaunch(exec, stream) };
        let end = unsafe { cuda.cuStreamEndCapture(stream, &mut null_mut()) };
        row.text(format!("launch {letter}={}/{}", code.0, end.0));
    }
}

/// With no context current on the thread.
fn not_current(row: &mut Row) {
    let (cuda, _) = with_context();
    for (name, call) in CALLS {
        let of = Objects::new(&cuda);
        row.code(name, elsewhere(*call, &cuda, of, null_mut()));
    }
}
