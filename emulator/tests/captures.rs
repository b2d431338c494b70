//! Captures: what becomes a node, how streams fork and join, which mistakes end a capture and with which code.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::CUresult as R;
use cuda_driver_sys::*;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use support::*;

/// A global capture forbids calls on all threads: the tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
const LOCAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
const MODES: [CUstreamCaptureMode; 3] = [GLOBAL, LOCAL, RELAXED];

fn begin(cuda: &Driver, stream: CUstream, mode: CUstreamCaptureMode) {
    ok(unsafe { cuda.cuStreamBeginCapture(stream, mode) });
}

fn end(cuda: &Driver, stream: CUstream) -> (R, CUgraph) {
    let mut graph = std::ptr::dangling_mut();
    let code = unsafe { cuda.cuStreamEndCapture(stream, &mut graph) };
    (code, graph)
}

/// Ends a capture that is good.
#[track_caller]
fn finish(cuda: &Driver, stream: CUstream) -> CUgraph {
    let (code, graph) = end(cuda, stream);
    ok(code);
    graph
}

/// Ends a capture that was spoiled.
#[track_caller]
fn spoiled(cuda: &Driver, stream: CUstream) {
    assert_eq!(status(cuda, stream), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_eq!(end(cuda, stream), (R::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, null_mut()));
    assert_eq!(status(cuda, stream), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE);
}

fn status(cuda: &Driver, stream: CUstream) -> CUstreamCaptureStatus {
    let mut status = CUstreamCaptureStatus(99);
    ok(unsafe { cuda.cuStreamIsCapturing(stream, &mut status) });
    status
}

fn exec(cuda: &Driver, graph: CUgraph) -> CUgraphExec {
    let mut exec = null_mut();
    ok(unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0) });
    exec
}

fn run(cuda: &Driver, exec: CUgraphExec, stream: CUstream) {
    ok(unsafe { cuda.cuGraphLaunch(exec, stream) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
}

/// The kinds of a graph's nodes.
fn kinds(cuda: &Driver, graph: CUgraph) -> Vec<u32> {
    let (mut nodes, mut count) = ([null_mut(); 16], 16);
    ok(unsafe { cuda.cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count) });
    let kind = |node: &CUgraphNode| {
        let mut kind = CUgraphNodeType(99);
        ok(unsafe { cuda.cuGraphNodeGetType(*node, &mut kind) });
        kind.0
    };
    nodes[..count].iter().map(kind).collect()
}

/// The edges of a graph, by the places of their nodes in it.
fn edges(cuda: &Driver, graph: CUgraph) -> Vec<(usize, usize)> {
    let (mut nodes, mut count) = ([null_mut(); 16], 16);
    ok(unsafe { cuda.cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count) });
    let (mut from, mut to, mut data) = ([null_mut(); 16], [null_mut(); 16], [Default::default(); 16]);
    let mut count = 16;
    ok(unsafe {
        cuda.cuGraphGetEdges(graph, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut count)
    });
    let place = |node: &CUgraphNode| nodes.iter().position(|other| other == node).unwrap();
    from.iter().zip(&to).take(count).map(|(from, to)| (place(from), place(to))).collect()
}

struct Bench {
    cuda: Arc<Driver>,
    context: CUcontext,
    store: CUfunction,
    add: CUfunction,
    memory: CUdeviceptr,
    a: CUstream,
    b: CUstream,
    event: CUevent,
    _turn: MutexGuard<'static, ()>,
}

impl Bench {
    fn new() -> Bench {
        let turn = turn();
        let (cuda, context) = with_own_context();
        let module = load(&cuda, KERNELS);
        let (store, add) = (function(&cuda, module, "store"), function(&cuda, module, "add"));
        let (memory, a, b, event) = (alloc(&cuda, 4096), stream(&cuda, 1), stream(&cuda, 1), event(&cuda, 2));
        write(&cuda, memory, &[0; 4096]);
        Bench { cuda, context, store, add, memory, a, b, event, _turn: turn }
    }

    fn number(&self, function: CUfunction, stream: CUstream, at: u64, mut number: u32) -> R {
        let mut target = self.memory + 4 * at;
        launch(&self.cuda, function, stream, &mut [argument(&mut target), argument(&mut number)])
    }

    fn value(&self, at: u64) -> u32 {
        u32::from_ne_bytes(read(&self.cuda, self.memory + 4 * at, 4).try_into().unwrap())
    }

    /// Makes `b` wait for `a`, or the other way round.
    fn wait(&self, of: CUstream, by: CUstream) {
        ok(unsafe { self.cuda.cuEventRecord(self.event, of) });
        ok(unsafe { self.cuda.cuStreamWaitEvent(by, self.event, 0) });
    }
}

#[test]
fn work_of_one_stream_becomes_a_chain_and_is_not_done() {
    let bench = Bench::new();
    let (cuda, a, memory) = (&bench.cuda, bench.a, bench.memory);
    let calls = Arc::new(AtomicU32::new(0));
    let source = [40_u32, 50];
    let mut target = [0_u32; 2];
    unsafe extern "C" fn count(data: *mut std::ffi::c_void) {
        unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
    }
    begin(cuda, a, GLOBAL);
    assert_eq!(status(cuda, a), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(bench.number(bench.store, a, 0, 5));
    ok(bench.number(bench.add, a, 0, 2));
    ok(unsafe { cuda.cuMemsetD32Async(memory + 4, 9, 1, a) });
    ok(unsafe { cuda.cuMemsetD16Async(memory + 16, 0x1234, 2, a) });
    ok(unsafe { cuda.cuMemcpyHtoDAsync(memory + 8, source.as_ptr().cast(), 8, a) });
    ok(unsafe { cuda.cuMemcpyDtoDAsync(memory + 20, memory, 4, a) });
    ok(unsafe { cuda.cuMemcpyDtoHAsync(target.as_mut_ptr().cast(), memory, 8, a) });
    ok(unsafe { cuda.cuLaunchHostFunc(a, Some(count), Arc::as_ptr(&calls).cast_mut().cast()) });
    let graph = finish(cuda, a);
    assert_eq!(status(cuda, a), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE);
    assert_eq!(kinds(cuda, graph), [0, 0, 2, 2, 1, 1, 1, 3]);
    assert_eq!(edges(cuda, graph), (0..7).map(|at| (at, at + 1)).collect::<Vec<_>>());
    assert_eq!((bench.value(0), calls.load(Ordering::Relaxed)), (0, 0));
    let exec = exec(cuda, graph);
    run(cuda, exec, bench.b);
    run(cuda, exec, bench.a);
    let values: Vec<_> = (0..6).map(|at| bench.value(at)).collect();
    assert_eq!(values, [7, 9, 40, 50, 0x1234_1234, 7]);
    assert_eq!((target, calls.load(Ordering::Relaxed)), ([7, 9], 2));
}

#[test]
fn events_fork_and_join_streams() {
    let bench = Bench::new();
    let (cuda, a, b) = (&bench.cuda, bench.a, bench.b);
    begin(cuda, a, GLOBAL);
    ok(bench.number(bench.store, a, 0, 5));
    bench.wait(a, b);
    assert_eq!(status(cuda, b), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(bench.number(bench.store, b, 1, 6));
    ok(bench.number(bench.add, a, 0, 1));
    bench.wait(b, a);
    ok(bench.number(bench.add, a, 1, 1));
    let graph = finish(cuda, a);
    assert_eq!(status(cuda, b), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE);
    assert_eq!(edges(cuda, graph), [(0, 1), (0, 2), (2, 3), (1, 3)]);
    run(cuda, exec(cuda, graph), a);
    assert_eq!((bench.value(0), bench.value(1)), (6, 7));
}

#[test]
fn what_waits_or_asks_spoils_the_capture() {
    let bench = Bench::new();
    let (cuda, a) = (&bench.cuda, bench.a);
    let mistakes: [(R, &dyn Fn() -> R); 4] = [
        (R::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, &|| unsafe { cuda.cuStreamSynchronize(a) }),
        (R::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, &|| unsafe { cuda.cuStreamQuery(a) }),
        (R::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, &|| unsafe { cuda.cuCtxSynchronize() }),
        (R::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, &|| callback(cuda, a, |_| {})),
    ];
    for mode in MODES {
        for (code, mistake) in &mistakes {
            begin(cuda, a, mode);
            assert_eq!(mistake(), *code);
            let invalidated = R::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
            assert_eq!(bench.number(bench.store, a, 0, 5), invalidated);
            spoiled(cuda, a);
            ok(bench.number(bench.store, a, 0, 5));
            ok(unsafe { cuda.cuStreamSynchronize(a) });
        }
        begin(cuda, a, mode);
        ok(unsafe { cuda.cuEventRecord(bench.event, a) });
        assert_eq!(unsafe { cuda.cuEventQuery(bench.event) }, R::CUDA_ERROR_CAPTURED_EVENT);
        spoiled(cuda, a);
        begin(cuda, a, mode);
        ok(unsafe { cuda.cuEventRecord(bench.event, a) });
        assert_eq!(unsafe { cuda.cuEventSynchronize(bench.event) }, R::CUDA_ERROR_CAPTURED_EVENT);
        spoiled(cuda, a);
    }
}

#[test]
fn unsafe_calls_are_refused_by_mode_and_thread() {
    let bench = Bench::new();
    let (cuda, a, context) = (&bench.cuda, bench.a, bench.context.addr());
    let here = || unsafe { cuda.cuMemAlloc(&mut 0, 64) };
    let there = || {
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    ok(unsafe { cuda.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)) });
                    here()
                })
                .join()
                .unwrap()
        })
    };
    let refused = R::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    for (mode, on_own_thread, on_other) in
        [(GLOBAL, refused, refused), (LOCAL, refused, R::SUCCESS), (RELAXED, R::SUCCESS, R::SUCCESS)]
    {
        for (expected, found) in [(on_own_thread, &here as &dyn Fn() -> R), (on_other, &there)] {
            begin(cuda, a, mode);
            assert_eq!(found(), expected, "{mode:?}");
            if expected == refused {
                spoiled(cuda, a);
            } else {
                finish(cuda, a);
            }
        }
    }
    // A thread that says so is left alone.
    let mut mode = RELAXED;
    ok(unsafe { cuda.cuThreadExchangeStreamCaptureMode(&mut mode) });
    assert_eq!(mode, GLOBAL);
    begin(cuda, a, GLOBAL);
    ok(here());
    finish(cuda, a);
    ok(unsafe { cuda.cuThreadExchangeStreamCaptureMode(&mut mode) });
    assert_eq!(mode, RELAXED);
}

/// So answered driver 580.
#[test]
fn graph_launches_and_allocations_on_other_streams_spoil_a_capture() {
    let bench = Bench::new();
    let (cuda, a, b) = (&bench.cuda, bench.a, bench.b);
    begin(cuda, b, GLOBAL);
    let exec = exec(cuda, finish(cuda, b));
    let refused = R::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    for mode in MODES {
        begin(cuda, a, mode);
        assert_eq!(unsafe { cuda.cuGraphLaunch(exec, a) }, refused, "{mode:?}");
        spoiled(cuda, a);
    }
    let mut memory = 0;
    begin(cuda, a, LOCAL);
    assert_eq!(unsafe { cuda.cuMemAllocAsync(&mut memory, 64, b) }, refused);
    spoiled(cuda, a);
    begin(cuda, a, RELAXED);
    ok(unsafe { cuda.cuMemAllocAsync(&mut memory, 64, b) });
    finish(cuda, a);
    ok(unsafe { cuda.cuMemFreeAsync(memory, b) });
}

#[test]
fn what_only_makes_or_loads_is_allowed() {
    let bench = Bench::new();
    let (cuda, a) = (&bench.cuda, bench.a);
    for mode in MODES {
        begin(cuda, a, mode);
        load(cuda, KERNELS);
        ok(unsafe { cuda.cuEventDestroy(event(cuda, 2)) });
        ok(unsafe { cuda.cuStreamDestroy(stream(cuda, 1)) });
        write(cuda, bench.memory, &[7; 4]);
        assert!(!finish(cuda, a).is_null());
    }
}

#[test]
fn the_legacy_stream_is_not_captured_and_waits_for_no_capture() {
    let bench = Bench::new();
    let (cuda, blocking) = (&bench.cuda, stream(&bench.cuda, 0));
    let legacy = null_mut();
    let code = unsafe { cuda.cuStreamBeginCapture(legacy, GLOBAL) };
    assert_eq!(code, R::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    begin(cuda, blocking, GLOBAL);
    let mut told = CUstreamCaptureStatus(99);
    let code = unsafe { cuda.cuStreamIsCapturing(legacy, &mut told) };
    assert_eq!(code, R::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_eq!(status(cuda, blocking), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_eq!(bench.number(bench.store, legacy, 0, 1), R::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    spoiled(cuda, blocking);
    begin(cuda, blocking, RELAXED);
    let code = unsafe { cuda.cuMemcpyHtoD(bench.memory, [1_u8].as_ptr().cast(), 1) };
    assert_eq!(code, R::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    spoiled(cuda, blocking);
}

#[test]
fn captures_are_begun_and_ended_once_and_by_one_thread() {
    let bench = Bench::new();
    let (cuda, a) = (&bench.cuda, bench.a);
    assert_eq!(end(cuda, a).0, R::CUDA_ERROR_ILLEGAL_STATE);
    begin(cuda, a, GLOBAL);
    assert_eq!(unsafe { cuda.cuStreamBeginCapture(a, GLOBAL) }, R::CUDA_ERROR_ILLEGAL_STATE);
    finish(cuda, a);
    let elsewhere = || {
        let (a, context) = (a.addr(), bench.context.addr());
        std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                ok(unsafe { cuda.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)) });
                end(cuda, std::ptr::without_provenance_mut(a)).0
            });
            other.join().unwrap()
        })
    };
    begin(cuda, a, LOCAL);
    assert_eq!(elsewhere(), R::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    assert_eq!(end(cuda, a).0, R::CUDA_ERROR_ILLEGAL_STATE);
    begin(cuda, a, RELAXED);
    ok(elsewhere());
    // A stream that is destroyed takes its capture along.
    let gone = stream(cuda, 1);
    begin(cuda, gone, GLOBAL);
    ok(unsafe { cuda.cuStreamDestroy(gone) });
    alloc(cuda, 4);
}

#[test]
fn forks_are_joined_in_the_origin() {
    let bench = Bench::new();
    let (cuda, a, b) = (&bench.cuda, bench.a, bench.b);
    begin(cuda, a, GLOBAL);
    bench.wait(a, b);
    ok(bench.number(bench.store, b, 1, 6));
    assert_eq!(end(cuda, a), (R::CUDA_ERROR_STREAM_CAPTURE_UNJOINED, null_mut()));
    assert_eq!(status(cuda, b), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE);
    begin(cuda, a, GLOBAL);
    bench.wait(a, b);
    assert_eq!(end(cuda, b).0, R::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    spoiled(cuda, a);
}

#[test]
fn events_do_not_cross_the_border_of_a_capture() {
    let bench = Bench::new();
    let (cuda, a, b) = (&bench.cuda, bench.a, bench.b);
    ok(unsafe { cuda.cuEventRecord(bench.event, b) });
    begin(cuda, a, GLOBAL);
    let wait = |stream| unsafe { cuda.cuStreamWaitEvent(stream, bench.event, 0) };
    assert_eq!(wait(a), R::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    spoiled(cuda, a);
    begin(cuda, a, GLOBAL);
    ok(unsafe { cuda.cuEventRecord(bench.event, a) });
    finish(cuda, a);
    assert_eq!(wait(b), R::CUDA_ERROR_INVALID_VALUE);
    // Recorded again, it is an ordinary one.
    ok(unsafe { cuda.cuEventRecord(bench.event, a) });
    ok(wait(b));
    ok(unsafe { cuda.cuEventSynchronize(bench.event) });
    begin(cuda, a, GLOBAL);
    begin(cuda, b, GLOBAL);
    ok(unsafe { cuda.cuEventRecord(bench.event, a) });
    assert_eq!(wait(b), R::CUDA_ERROR_STREAM_CAPTURE_MERGE);
    spoiled(cuda, a);
    spoiled(cuda, b);
}

#[test]
fn external_events_become_nodes() {
    let bench = Bench::new();
    let (cuda, a, b) = (&bench.cuda, bench.a, bench.b);
    assert_eq!(unsafe { cuda.cuEventRecordWithFlags(bench.event, a, 1) }, R::CUDA_ERROR_ILLEGAL_STATE);
    begin(cuda, a, GLOBAL);
    ok(unsafe { cuda.cuStreamWaitEvent(a, bench.event, 1) });
    ok(bench.number(bench.add, a, 0, 1));
    let other = event(cuda, 2);
    ok(unsafe { cuda.cuEventRecordWithFlags(other, a, 1) });
    let graph = finish(cuda, a);
    assert_eq!(kinds(cuda, graph), [6, 0, 7]);
    let exec = exec(cuda, graph);
    let held = Busy::new(cuda, b);
    ok(bench.number(bench.store, b, 0, 10));
    ok(unsafe { cuda.cuEventRecord(bench.event, b) });
    ok(unsafe { cuda.cuGraphLaunch(exec, a) });
    assert_eq!(unsafe { cuda.cuEventQuery(other) }, R::CUDA_ERROR_NOT_READY);
    drop(held);
    ok(unsafe { cuda.cuEventSynchronize(other) });
    assert_eq!(bench.value(0), 11);
}

#[test]
fn a_capture_can_be_asked_and_steered() {
    let bench = Bench::new();
    let (cuda, a) = (&bench.cuda, bench.a);
    let mut graph = null_mut();
    ok(unsafe { cuda.cuGraphCreate(&mut graph, 0) });
    let mut root = null_mut();
    ok(unsafe { cuda.cuGraphAddEmptyNode(&mut root, graph, null(), 0) });
    ok(unsafe { cuda.cuStreamBeginCaptureToGraph(a, graph, &root, null(), 1, GLOBAL) });
    ok(bench.number(bench.store, a, 0, 5));
    let (mut status, mut id, mut into) = (CUstreamCaptureStatus(99), 0, null_mut());
    let (mut nodes, mut data, mut count) = (null(), null(), 0);
    ok(unsafe {
        cuda.cuStreamGetCaptureInfo(a, &mut status, &mut id, &mut into, &mut nodes, &mut data, &mut count)
    });
    assert_eq!(status, CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_eq!((into, count, unsafe { (*data).type_ }), (graph, 1, 0));
    assert!(id > 0);
    let stored = unsafe { *nodes };
    let mut by_hand = null_mut();
    ok(unsafe { cuda.cuGraphAddEmptyNode(&mut by_hand, graph, &stored, 1) });
    let set = CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES.0;
    ok(unsafe { cuda.cuStreamUpdateCaptureDependencies(a, &mut by_hand, null(), 1, set) });
    ok(bench.number(bench.add, a, 0, 5));
    assert_eq!(finish(cuda, a), graph);
    assert_eq!(edges(cuda, graph), [(0, 1), (1, 2), (2, 3)]);
    let code = unsafe { cuda.cuStreamUpdateCaptureDependencies(a, &mut by_hand, null(), 1, set) };
    assert_eq!(code, R::CUDA_ERROR_ILLEGAL_STATE);
}

/// As driver 580 does, although the graph is the program's.
#[test]
fn a_broken_capture_into_a_graph_takes_the_graph_along() {
    let bench = Bench::new();
    let (cuda, a, b) = (&bench.cuda, bench.a, bench.b);
    for unjoined in [false, true] {
        let mut graph = null_mut();
        ok(unsafe { cuda.cuGraphCreate(&mut graph, 0) });
        ok(unsafe { cuda.cuStreamBeginCaptureToGraph(a, graph, null(), null(), 0, LOCAL) });
        let code = if unjoined {
            bench.wait(a, b);
            ok(bench.number(bench.store, b, 1, 6));
            R::CUDA_ERROR_STREAM_CAPTURE_UNJOINED
        } else {
            assert_eq!(unsafe { cuda.cuCtxSynchronize() }, R::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
            R::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        };
        assert_eq!(end(cuda, a), (code, null_mut()));
        assert_eq!(unsafe { cuda.cuGraphDestroy(graph) }, R::CUDA_ERROR_INVALID_VALUE);
    }
}

#[test]
fn rows_and_arrays_are_captured_too() {
    let bench = Bench::new();
    let (cuda, a) = (&bench.cuda, bench.a);
    let description = CUDA_ARRAY_DESCRIPTOR {
        Width: 8,
        Height: 2,
        Format: CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        NumChannels: 1,
    };
    let mut array = null_mut();
    ok(unsafe { cuda.cuArrayCreate(&mut array, &description) });
    let source: Vec<u8> = (0..32).collect();
    let mut target = [0xee_u8; 16];
    let into = CUDA_MEMCPY2D {
        srcXInBytes: 1,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: source.as_ptr().cast(),
        srcPitch: 16,
        dstXInBytes: 2,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
        dstArray: array,
        WidthInBytes: 6,
        Height: 2,
        ..Default::default()
    };
    let out = CUDA_MEMCPY2D {
        srcXInBytes: 2,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
        srcArray: array,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: target.as_mut_ptr().cast(),
        dstPitch: 8,
        WidthInBytes: 6,
        Height: 2,
        ..Default::default()
    };
    begin(cuda, a, GLOBAL);
    ok(unsafe { cuda.cuMemcpy2DAsync(&into, a) });
    ok(unsafe { cuda.cuMemcpy2DAsync(&out, a) });
    let graph = finish(cuda, a);
    assert_eq!(kinds(cuda, graph), [1, 1]);
    assert_eq!(target, [0xee; 16], "not yet");
    run(cuda, exec(cuda, graph), a);
    let hole = [0xee; 2];
    let expected = [&source[1..7], &hole, &source[17..23], &hole].concat();
    assert_eq!(target[..], expected[..]);
}
