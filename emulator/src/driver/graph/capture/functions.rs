//! The functions for captures.
//!
//! Relies on the caller for the lengths of arrays: C1 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_uint;
use std::sync::{Arc, Mutex, Weak};

use super::{CAPTURES, Capture, Inner, Member, of};
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::graph::Graph;
use crate::driver::graph::edges::{is_annotated, read};
use crate::driver::handles::to_c;
use crate::driver::queue::Kind;
use crate::driver::state::{Call, lock};
use crate::driver::stream::Stream;
use crate::driver::stream::capture::{INVALIDATED, UNSUPPORTED, exchange, fail};
use crate::driver::work::recorder::{Edge, Recorder};

entries! {
    cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode) = begin;
    cuStreamBeginCaptureToGraph(stream: CUstream, graph: CUgraph, after: *const CUgraphNode, data: *const CUgraphEdgeData, count: usize, mode: CUstreamCaptureMode) = begin_to_graph;
    cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) = end;
    cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus) = is_capturing;
    cuStreamGetCaptureInfo_v3(stream: CUstream, status: *mut CUstreamCaptureStatus, id: *mut cuuint64_t, graph: *mut CUgraph, after: *mut *const CUgraphNode, data: *mut *const CUgraphEdgeData, count: *mut usize) = get_info;
    cuStreamUpdateCaptureDependencies_v2(stream: CUstream, after: *mut CUgraphNode, data: *const CUgraphEdgeData, count: usize, flags: c_uint) = update;
    cuStreamGetCaptureInfo_v2(stream: CUstream, status: *mut CUstreamCaptureStatus, id: *mut cuuint64_t, graph: *mut CUgraph, after: *mut *const CUgraphNode, count: *mut usize) = get_info_v2;
    cuStreamUpdateCaptureDependencies_v1(stream: CUstream, after: *mut CUgraphNode, count: usize, flags: c_uint) = update_v1;
    cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode) = exchange_mode;
}

/// `CUDA_ERROR_ILLEGAL_STATE`
const ILLEGAL_STATE: CUresult = CUresult::CUDA_ERROR_ILLEGAL_STATE;

fn begin(call: &Call, stream: CUstream, mode: CUstreamCaptureMode) -> Outcome {
    let stream = ready(call, stream, mode)?;
    let graph = Graph::create(0, Weak::new());
    start(call, &stream, mode, graph, None)
}

fn begin_to_graph(
    call: &Call,
    stream: CUstream,
    graph: CUgraph,
    after: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
    mode: CUstreamCaptureMode,
) -> Outcome {
    let stream = ready(call, stream, mode)?;
    let graph = call.graph(graph)?;
    // SAFETY: 1: both arrays and `count` are the caller's, so by C1 each is null or has `count` elements.
    let after = unsafe { read(&after, &data, count)? };
    known(&graph, &after)?;
    start(call, &stream, mode, graph, Some(after))
}

/// The stream, if a capture can begin there.
fn ready(call: &Call, stream: CUstream, mode: CUstreamCaptureMode) -> Outcome<Arc<Stream>> {
    let stream = call.stream(stream)?;
    match (mode.0, stream.kind) {
        (3.., _) => Err(INVALID_VALUE),
        (_, Kind::Legacy) => Err(UNSUPPORTED),
        _ if stream.capture().is_some() => Err(ILLEGAL_STATE),
        _ => Ok(stream),
    }
}

/// Refuses nodes of other graphs.
fn known(graph: &Graph, nodes: &[Edge]) -> Outcome {
    let contents = graph.contents();
    let known = nodes.iter().all(|edge| contents.nodes.contains_key(&edge.from));
    if known { Ok(()) } else { Err(INVALID_VALUE) }
}

fn start(
    call: &Call,
    stream: &Arc<Stream>,
    mode: CUstreamCaptureMode,
    graph: Arc<Graph>,
    after: Option<Vec<Edge>>,
) -> Outcome {
    let state = call.state()?;
    let into_graph = after.is_some();
    let origin = Member::new(stream.id, after.unwrap_or_default());
    let capture = Arc::new(Capture {
        id: state.id(),
        mode,
        thread: std::thread::current().id(),
        origin: stream.id,
        graph,
        into_graph,
        inner: Mutex::new(Inner { valid: true, members: vec![origin] }),
    });
    lock(&CAPTURES).push(Arc::clone(&capture));
    stream.set_capture(Some(capture));
    Ok(())
}

/// A capture is over after this, unless the stream is not its origin.
fn end(call: &Call, stream: CUstream, graph: Out<CUgraph>) -> Outcome {
    let stream = call.stream(stream)?;
    let place = graph.required()?;
    let capture = of(&stream).ok_or(ILLEGAL_STATE)?;
    place.set(to_c(0));
    if capture.origin != stream.id {
        return Err(fail(&*capture, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED));
    }
    let relaxed = capture.mode == CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    let outcome = if !relaxed && capture.thread != std::thread::current().id() {
        Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    } else if !capture.is_valid() {
        Err(INVALIDATED)
    } else if !capture.is_joined() {
        Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    } else {
        Ok(())
    };
    capture.end(outcome.is_ok());
    let broken = [Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED), Err(INVALIDATED)];
    if capture.into_graph && broken.contains(&outcome) {
        // As in driver 580, although the graph belongs to the program: its handle becomes invalid.
        capture.graph.discard();
    }
    if outcome.is_ok() {
        place.set(to_c(capture.graph.handle));
    }
    outcome
}

/// The status of a stream's capture.
fn status(capture: Option<&Capture>) -> CUstreamCaptureStatus {
    match capture {
        None => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
        Some(capture) if capture.is_valid() => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE,
        Some(_) => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED,
    }
}

fn is_capturing(call: &Call, stream: CUstream, answer: Out<CUstreamCaptureStatus>) -> Outcome {
    let stream = call.stream(stream)?;
    let place = answer.required()?;
    stream.look()?;
    place.set(status(of(&stream).as_deref()));
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "a C function")]
fn get_info(
    call: &Call,
    stream: CUstream,
    answer: Out<CUstreamCaptureStatus>,
    id: Out<cuuint64_t>,
    graph: Out<CUgraph>,
    after: Out<*const CUgraphNode>,
    data: Out<*const CUgraphEdgeData>,
    count: Out<usize>,
) -> Outcome {
    let stream = call.stream(stream)?;
    let place = answer.required()?;
    stream.look()?;
    let capture = of(&stream);
    place.set(status(capture.as_deref()));
    let Some(capture) = capture else { return Ok(()) };
    id.set(capture.id);
    let Ok(mut inner) = capture.valid() else { return Ok(()) };
    let member = inner.member(stream.id)?;
    if !after.is_null() && data.is_null() && member.after.iter().any(|edge| is_annotated(&edge.data)) {
        return Err(CUresult::CUDA_ERROR_LOSSY_QUERY);
    }
    let nodes = member.after.iter().map(|edge| edge.from).collect();
    member.told = (nodes, member.after.iter().map(|edge| edge.data).collect());
    graph.set(to_c(capture.graph.handle));
    after.set(member.told.0.as_ptr().cast());
    data.set(member.told.1.as_ptr());
    count.set(member.told.0.len());
    Ok(())
}

fn update(
    call: &Call,
    stream: CUstream,
    after: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
    flags: c_uint,
) -> Outcome {
    let stream = call.stream(stream)?;
    let capture = of(&stream).ok_or(ILLEGAL_STATE)?;
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: both arrays and `count` are the caller's, so by C1 each is null or has `count` elements.
    let after = unsafe { read(&after, &data, count)? };
    known(&capture.graph, &after)?;
    let mut inner = capture.valid()?;
    let member = inner.member(stream.id)?;
    if flags == CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES.0 {
        member.after.clear();
    }
    member.wait(after);
    Ok(())
}

// Before CUDA 12.3 edges had no data.

fn get_info_v2(
    call: &Call,
    stream: CUstream,
    answer: Out<CUstreamCaptureStatus>,
    id: Out<cuuint64_t>,
    graph: Out<CUgraph>,
    after: Out<*const CUgraphNode>,
    count: Out<usize>,
) -> Outcome {
    get_info(call, stream, answer, id, graph, after, Out::none(), count)
}

fn update_v1(call: &Call, stream: CUstream, after: In<CUgraphNode>, count: usize, flags: c_uint) -> Outcome {
    update(call, stream, after, In::none(), count, flags)
}

fn exchange_mode(_: &Call, mode: Out<CUstreamCaptureMode>) -> Outcome {
    let new = mode.get().filter(|mode| mode.0 <= 2).ok_or(INVALID_VALUE)?;
    mode.set(exchange(new));
    Ok(())
}
