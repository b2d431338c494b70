//! The timeline: when calls ran on the host, by its clock, and when work ran on a stream, between two driver events.
//!
//! A line of the file is an event of Chrome's trace format: process 1 is the host with its threads, process 2 the device with
//! its streams. Work on a stream is written once its second event is complete, which is queried whenever the program waits, and
//! for the oldest work with each launch. Each line is written with one system call as soon as it is known, so that it is in the
//! file however the program ends.

#![allow(unsafe_code)] // Calls the driver with events that this file creates, on streams that the program passes.

use cuda_driver_sys::*;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard};
use std::time::Instant;

use crate::fork;
use crate::layer;
use crate::own::{self, Lines};
use crate::real::driver;
use crate::turns::{Lasts, Turns};

/// The variable with the path of the file.
const VARIABLE: &str = "CUDA_LAUNCH_TRACE_FILE";
/// The maximum number of lines: some 300 MB.
const MOST: u64 = 2_000_000;
/// Calls that are of no interest by themselves.
const QUIET: &[&str] =
    &["cuCtxGetCurrent", "cuCtxSetCurrent", "cuGetErrorString", "cuGetErrorName", "cuStreamIsCapturing"];

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
/// Lines are appended: a process that the program forked or started may write to it too.
static FILE: LazyLock<Option<Lines>> =
    LazyLock::new(|| Lines::open(Path::new(&own::variable(VARIABLE)?)).ok());
// Invariant: the events are live, and so are their contexts. An event is created by `event`, is in `STATE` or used by one call of the
// program in its context, and is destroyed only by `close`, which removes it first. A call that destroys a context calls `close`
// before, and a program must not destroy a context while another of its calls uses it.
static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);
/// By context and row.
static TURNS: LazyLock<Turns<(Handle, usize)>> = LazyLock::new(Turns::default);
static WRITTEN: AtomicU64 = AtomicU64::new(0);
static THREADS: AtomicU32 = AtomicU32::new(1);

thread_local! {
    static THREAD: u32 = THREADS.fetch_add(1, Ordering::Relaxed);
}

/// A handle of the driver, which is only compared and passed back.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Handle(usize);

#[derive(Default)]
struct State {
    /// For each context an event whose time on the host's clock is known, and its device.
    bases: HashMap<Handle, (Handle, f64, CUdevice)>,
    /// Events that can be reused.
    spare: HashMap<Handle, Vec<Handle>>,
    /// In the order of the launches.
    pending: VecDeque<Pending>,
}

/// Work between two events.
struct Pending {
    place: Place,
    name: String,
    category: &'static str,
    arguments: Value,
    start: Handle,
    end: Handle,
    called: f64,
}

/// The context and stream on which work runs: streams of two contexts, such as the default streams, may have the same
/// handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    device: CUdevice,
    context: Handle,
    /// The number of the stream's row.
    stream: usize,
}

/// The two events around some work.
struct Timing {
    start: Handle,
    end: Handle,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Microseconds since the first call.
fn now() -> f64 {
    START.elapsed().as_nanos() as f64 / 1e3
}

/// Microseconds, truncated to whole nanoseconds.
fn in_nanoseconds(microseconds: f64) -> f64 {
    (microseconds * 1e3).round() / 1e3
}

fn line(event: &Value) {
    let Some(file) = &*FILE else { return };
    if WRITTEN.fetch_add(1, Ordering::Relaxed) < MOST {
        // A full disk must not stop the traced program.
        let _ = file.add(format!("{event}\n").as_bytes());
    }
}

/// Writes a call. The line also names the work that the call submitted, so that this is known even if its end is
/// never seen.
fn host(name: &str, category: &str, start: f64, code: CUresult, mut arguments: Value, work: Option<Value>) {
    if code != CUresult::SUCCESS {
        arguments["answer"] = format!("{code:?}").into();
    }
    let thread = THREAD.try_with(|thread| *thread).unwrap_or(0);
    let mut event = json!({
        "ph": "X", "pid": 1, "tid": thread, "process": std::process::id(), "ts": start, "dur": in_nanoseconds(now() - start), "name": name, "cat": category, "args": arguments,
    });
    if let Some(work) = work {
        event["work"] = work;
    }
    line(&event);
}

/// Passes a call on and writes it.
pub(crate) fn call(name: &str, forward: impl FnOnce() -> CUresult) -> CUresult {
    described(name, "call", || json!({}), forward)
}

/// Whether it copies or fills on the default stream, which it does not name.
fn is_on_default(call: &str) -> bool {
    (call.starts_with("cuMemcpy") || call.starts_with("cuMemset")) && !call.contains("Async")
}

/// The same with a category and arguments.
pub(crate) fn described(
    name: &str,
    category: &str,
    describe: impl FnOnce() -> Value,
    forward: impl FnOnce() -> CUresult,
) -> CUresult {
    if layer::is_asked() {
        return forward();
    }
    let context = if is_on_default(name) && FILE.is_some() { current() } else { None };
    let turn = context.map(|context| TURNS.take((context, row(null_mut())), Lasts::Copy));
    let start = now();
    let code = forward();
    drop(turn);
    if !QUIET.contains(&name) {
        host(name, category, start, code, describe(), None);
    }
    code
}

/// Passes on a wait. The awaited work is then done, so there may be something to write.
pub(crate) fn wait(
    name: &str,
    describe: impl FnOnce() -> Value,
    forward: impl FnOnce() -> CUresult,
) -> CUresult {
    let code = described(name, "wait", describe, forward);
    write_done();
    code
}

/// Passes on a call that submits work to a stream, and times the work there.
pub(crate) fn work(
    call: &str,
    category: &'static str,
    name: impl FnOnce() -> String,
    arguments: Value,
    stream: CUstream,
    forward: impl FnOnce() -> CUresult,
) -> CUresult {
    let place = place(stream);
    // One at a time on each stream, so that no work of another thread comes between the events and what they time.
    let lasts = if category == "copy" { Lasts::Copy } else { Lasts::Call };
    let turn = place.filter(|_| stream != CU_STREAM_PER_THREAD);
    let turn = turn.map(|place| TURNS.take((place.context, place.stream), lasts));
    let timing = place.and_then(|place| begin(place, stream));
    let called = now();
    let code = forward();
    let name = name();
    let timed = place.filter(|_| timing.is_some() && code == CUresult::SUCCESS);
    let work = timed.map(|Place { device, context, stream }| {
        json!({
            "tid": stream, "device": device, "context": context.0, "process": std::process::id(), "name": name, "cat": category,
        })
    });
    host(call, "call", called, code, arguments.clone(), work);
    let (Some(place), Some(Timing { start, end })) = (place, timing) else { return code };
    // SAFETY: the event belongs to the current context and is live (invariant of `STATE`); the stream is the argument
    // of the program's call, whose contract keeps it live until that returns.
    let ended = code == CUresult::SUCCESS
        && unsafe { driver().cuEventRecord(end.event(), stream) } == CUresult::SUCCESS;
    drop(turn);
    let mut state = lock(&STATE);
    if ended {
        state.pending.push_back(Pending { place, name, category, arguments, start, end, called });
        relaxed(|| write_oldest(&mut state, place.context));
    } else {
        state.spare.entry(place.context).or_default().extend([start, end]);
        if code == CUresult::SUCCESS {
            // The work has already faulted, so its end cannot be recorded.
            told(place, &name, category, arguments, called, None);
        }
    }
    code
}

/// The number of a stream's row. The per-thread default stream has a different row on each thread.
fn row(stream: CUstream) -> usize {
    if stream != CU_STREAM_PER_THREAD {
        return stream.addr();
    }
    let thread = THREAD.try_with(|thread| *thread).unwrap_or(0);
    (thread as usize) << 16 | stream.addr()
}

impl Handle {
    fn event(self) -> CUevent {
        std::ptr::with_exposed_provenance_mut(self.0)
    }

    fn context(self) -> CUcontext {
        std::ptr::with_exposed_provenance_mut(self.0)
    }
}

fn current() -> Option<Handle> {
    let mut context: CUcontext = null_mut();
    // SAFETY: the output is a handle and outlives the call, which has no other requirement.
    let code = unsafe { driver().cuCtxGetCurrent(&mut context) };
    (code == CUresult::SUCCESS && !context.is_null()).then(|| Handle(context.expose_provenance()))
}

/// Where work on the stream runs; `None` if the stream is capturing, so that the work runs later or never.
fn place(stream: CUstream) -> Option<Place> {
    FILE.as_ref()?;
    if captures(stream) {
        return None;
    }
    let context = current()?;
    Some(Place { device: base(context, stream)?, context, stream: row(stream) })
}

/// Whether the stream is capturing, or the driver's query fails.
fn captures(stream: CUstream) -> bool {
    let mut status = CUstreamCaptureStatus(0);
    // SAFETY: the stream is the argument of the program's call, whose contract keeps it live; the output outlives the
    // call.
    let code = unsafe { driver().cuStreamIsCapturing(stream, &mut status) };
    code != CUresult::SUCCESS || status.0 != 0
}

/// Records the first event.
fn begin(Place { context, .. }: Place, stream: CUstream) -> Option<Timing> {
    // A capture may have begun while this thread waited for its turn.
    if captures(stream) {
        return None;
    }
    let (start, end) = (event(context)?, event(context)?);
    // SAFETY: the event belongs to the current context and is live (invariant of `STATE`); the stream is the argument
    // of the program's call, whose contract keeps it live.
    let code = unsafe { driver().cuEventRecord(start.event(), stream) };
    if code != CUresult::SUCCESS {
        lock(&STATE).spare.entry(context).or_default().extend([start, end]);
        return None;
    }
    Some(Timing { start, end })
}

fn event(context: Handle) -> Option<Handle> {
    if let Some(event) = lock(&STATE).spare.get_mut(&context).and_then(Vec::pop) {
        return Some(event);
    }
    let mut event: CUevent = null_mut();
    // SAFETY: the output outlives the call, which has no other requirement: without a context it returns an error.
    let code = unsafe { driver().cuEventCreate(&mut event, 0) };
    (code == CUresult::SUCCESS).then(|| Handle(event.expose_provenance()))
}

/// Once per context, records an event and waits for it, so that host and device agree on a point in time. Returns the
/// device of the context.
fn base(context: Handle, stream: CUstream) -> Option<CUdevice> {
    if let Some((_, _, device)) = lock(&STATE).bases.get(&context) {
        return Some(*device);
    }
    let event = event(context)?;
    // SAFETY: the event belongs to the current context and is live (invariant of `STATE`); the stream is the argument
    // of the program's call, whose contract keeps it live.
    let codes = unsafe {
        [driver().cuEventRecord(event.event(), stream), driver().cuEventSynchronize(event.event())]
    };
    if codes != [CUresult::SUCCESS; 2] {
        return None;
    }
    let at = now();
    let mut device: CUdevice = 0;
    // SAFETY: the output outlives the call, which has no other requirement. If the call fails, the output remains the first
    // device.
    let _ = unsafe { driver().cuCtxGetDevice(&mut device) };
    lock(&STATE).bases.insert(context, (event, at, device));
    Some(device)
}

/// Makes driver calls that are harmless during a capture, which the driver would refuse otherwise.
fn relaxed(ask: impl FnOnce()) {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the argument is initialised with a mode and outlives the call; the thread's own mode is restored below.
    let _ = unsafe { driver().cuThreadExchangeStreamCaptureMode(&mut mode) };
    ask();
    // SAFETY: the argument outlives the call, and holds the mode that the thread had, or still the one above.
    let _ = unsafe { driver().cuThreadExchangeStreamCaptureMode(&mut mode) };
}

/// Whether work of the current context has ended or failed.
fn is_done(one: &Pending) -> bool {
    // SAFETY: the event belongs to work that is in `STATE`, or that the caller, which has `STATE` locked, has just
    // removed from it: so it is live (invariant of `STATE`).
    let code = unsafe { driver().cuEventQuery(one.end.event()) };
    code != CUresult::CUDA_ERROR_NOT_READY
}

/// Writes the work of the current context that is done.
fn write_done() {
    let Some(context) = current() else { return };
    let state = &mut *lock(&STATE);
    relaxed(|| {
        for one in std::mem::take(&mut state.pending) {
            if one.place.context == context && is_done(&one) {
                write(state, one);
            } else {
                state.pending.push_back(one);
            }
        }
    });
}

/// Writes the oldest work if it is done, so that a program that never waits gets a timeline too. Two of them for each launch
/// are enough to keep up.
fn write_oldest(state: &mut State, context: Handle) {
    for _ in 0..2 {
        if !state.pending.front().is_some_and(|one| one.place.context == context && is_done(one)) {
            return;
        }
        if let Some(one) = state.pending.pop_front() {
            write(state, one);
        }
    }
}

fn write(state: &mut State, one: Pending) {
    let Pending { place, name, category, arguments, start, end, called } = one;
    let between = |from: Handle, to: Handle| -> Option<f64> {
        let mut milliseconds = 0.0;
        // SAFETY: the output outlives the call; the events belong to `one`, which the caller has removed from the
        // state, and to `state` itself: they live until `close` destroys them (invariant of `STATE`).
        let code = unsafe { driver().cuEventElapsedTime_v2(&mut milliseconds, from.event(), to.event()) };
        (code == CUresult::SUCCESS).then(|| f64::from(milliseconds) * 1e3)
    };
    let base = state.bases.get(&place.context).copied();
    let began = base.and_then(|(event, at, _)| Some(at + between(event, start)?));
    let took = began.zip(between(start, end));
    state.spare.entry(place.context).or_default().extend([start, end]);
    told(place, &name, category, arguments, called, took);
}

/// Writes a piece of work: when it began and how long it took; `None` after a fault, whose time is unknown.
fn told(
    place: Place,
    name: &str,
    category: &'static str,
    mut arguments: Value,
    called: f64,
    took: Option<(f64, f64)>,
) {
    arguments["called_us"] = called.into();
    let mut event = match took {
        Some((began, took)) => json!({
            "ph": "X", "pid": 2, "ts": in_nanoseconds(began), "dur": in_nanoseconds(took), "name": name, "cat": category, "args": arguments,
        }),
        None => json!({
            "ph": "i", "s": "p", "pid": 2, "ts": called, "name": format!("{name}: not finished"), "cat": category, "args": arguments,
        }),
    };
    event["tid"] = place.stream.into();
    event["device"] = place.device.into();
    event["context"] = place.context.0.into();
    event["process"] = std::process::id().into();
    line(&event);
}

/// What is about to end.
#[derive(Clone, Copy)]
pub(crate) enum Ending {
    Context(CUcontext),
    /// The primary context of the device: others of it are few, and not told apart.
    Primary(CUdevice),
    /// Nobody knows which.
    Any,
}

impl State {
    /// What belongs to the contexts that end; the rest stays.
    fn of(&mut self, ending: Ending) -> State {
        let ends = |context: Handle, device: Option<CUdevice>| match ending {
            Ending::Context(one) => context.0 == one.addr(),
            Ending::Primary(one) => device.is_none_or(|device| device == one),
            Ending::Any => true,
        };
        let devices: HashMap<Handle, CUdevice> =
            self.bases.iter().map(|(context, (_, _, device))| (*context, *device)).collect();
        let (pending, others) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|one| ends(one.place.context, Some(one.place.device)));
        self.pending = others;
        State {
            bases: self.bases.extract_if(|context, (_, _, device)| ends(*context, Some(*device))).collect(),
            spare: self
                .spare
                .extract_if(|context, _| ends(*context, devices.get(context).copied()))
                .collect(),
            pending,
        }
    }
}

/// Before contexts end: everything that runs there is waited for and written, and none of their events is used again.
pub(crate) fn close(ending: Ending) {
    let before = current();
    let mut state = lock(&STATE).of(ending);
    TURNS.tidy();
    for one in std::mem::take(&mut state.pending) {
        // SAFETY: the event was in `STATE`, so it and its context are live (invariant of `STATE`).
        unsafe {
            let _ = driver().cuCtxSetCurrent(one.place.context.context());
            let _ = driver().cuEventSynchronize(one.end.event());
        }
        write(&mut state, one);
    }
    let spare = state.spare.into_values().flatten();
    for event in spare.chain(state.bases.into_values().map(|(event, _, _)| event)) {
        // SAFETY: the event was in `STATE`, so it is live (invariant of `STATE`); it was removed, and no other code uses it any
        // more.
        let _ = unsafe { driver().cuEventDestroy_v2(event.event()) };
    }
    // SAFETY: null, or the context that was current before, which is not destroyed yet: this function runs before
    // that.
    let _ = unsafe { driver().cuCtxSetCurrent(before.map_or(null_mut(), Handle::context)) };
}

/// Registers a function to be called when the program ends. Called after `cuInit`, so that the function runs before
/// the driver's own exit function.
pub(crate) fn at_exit() {
    static ASKED: std::sync::Once = std::sync::Once::new();
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }
    extern "C" fn end() {
        if !fork::is_child() {
            write_done();
        }
    }
    ASKED.call_once(|| {
        // SAFETY: the declaration is that of C; the function has no parameters, as `atexit` requires, and does not
        // unwind into C, because it is `extern "C"`. It is called while the library is loaded: at the program's end, or
        // before the library is unloaded, because glibc's `atexit`, the only one that the recorder supports, is passed
        // the library's `__dso_handle`.
        unsafe { atexit(end) };
    });
}
