//! How a call passes through a layer, and what a spy does in it.
//!
//! No lock is held while the base driver or a predicate runs: both may call the driver again, on this thread or while another waits.
//!
//! Relies on: the caller upholds the contract of the function that it calls.
#![allow(unsafe_code)]

use crate::call::{Call, End};
use crate::current;
use crate::decode;
use crate::effects::{Doing, Undo};
use crate::fault::{Active, Verdict, judge, message};
use crate::functions::{self, Function};
use crate::kernel::Kernel;
use crate::kind::Kind;
use crate::launch::{Launch, Raw};
use crate::ledger::Problem;
use crate::lists;
use crate::nodes::{self, Node};
use crate::objects::Objects;
use crate::procs;
use crate::ptx_version;
use crate::read::common_stream;
use crate::short;
use crate::slots;
use cuda_driver_sys::{CUresult, Driver, value_since};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

/// A layer between a program and its driver: a spy, the checks, or the recorder.
pub(crate) trait Layer: Send + Sync {
    /// Makes a call of the function; `base` calls that of the underlying driver.
    ///
    /// # Safety
    ///
    /// 1. `words` are the arguments of a call of that function, whose contract the caller upholds.
    unsafe fn call(
        &self,
        function: &'static Function,
        words: &[u64],
        base: &mut dyn FnMut(&Driver) -> CUresult,
    ) -> CUresult;
}

/// The state of a spy, for its shims.
pub(crate) struct Inner {
    pub(crate) base: Arc<Driver>,
    pub(crate) slot: usize,
    /// Which functions its table has, in the order of `FUNCTIONS`.
    pub(crate) has: Vec<bool>,
    /// The version that it claims to be.
    pub(crate) version: Option<u32>,
    /// The newest PTX that it reads, if it refuses newer.
    pub(crate) newest_ptx: Option<(u32, u32)>,
    pub(crate) start: Instant,
    pub(crate) listener: Option<Listener>,
    pub(crate) state: Mutex<State>,
}

/// Called with each call when it ends.
#[derive(Clone)]
pub(crate) struct Listener(pub(crate) Arc<dyn Fn(&Call) + Send + Sync>);

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// The mutable state.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) calls: VecDeque<Arc<Call>>,
    /// The maximum number of calls to keep.
    pub(crate) keep: usize,
    /// The number of calls so far.
    pub(crate) count: usize,
    pub(crate) objects: Objects,
    pub(crate) problems: Vec<Problem>,
    pub(crate) faults: Vec<Arc<Active>>,
    pub(crate) sticky: Option<CUresult>,
    pub(crate) panics: Vec<String>,
    pub(crate) budget: Option<u64>,
    /// Bytes of device memory that calls in progress request.
    asked: u64,
    threads: Vec<ThreadId>,
}

/// A call between its begin and its end.
struct Begun {
    call: Arc<Call>,
    faults: Vec<Arc<Active>>,
    undo: Vec<Undo>,
    sticky: Option<CUresult>,
    /// Whether it would exceed the memory limit.
    is_too_much: bool,
    /// See [`Doing::is_captured`].
    is_captured: bool,
}

/// Called by all shims.
///
/// # Safety
///
/// 1. `words` are the arguments of a call of the function at that index, whose contract the caller upholds.
pub(crate) unsafe fn spied(
    slot: usize,
    place: usize,
    words: &[u64],
    base: &mut dyn FnMut(&Driver) -> CUresult,
) -> CUresult {
    // The table was dropped, but one of its function pointers was kept.
    let Some(layer) = slots::layer(slot) else { return CUresult::CUDA_ERROR_DEINITIALIZED };
    let Some(function) = functions::at(place) else { return CUresult::CUDA_ERROR_UNKNOWN };
    // SAFETY: 1: duty 1.
    unsafe { layer.call(function, words, base) }
}

impl Layer for Inner {
    unsafe fn call(
        &self,
        function: &'static Function,
        words: &[u64],
        base: &mut dyn FnMut(&Driver) -> CUresult,
    ) -> CUresult {
        // SAFETY: 1: duty 1.
        let raw = unsafe { Raw::of(function, words) };
        // SAFETY: 1: the function is an argument of the launch, whose contract holds by duty 1.
        let kernel = raw.as_ref().map(|raw| unsafe { self.kernel(raw.function) });
        let is_about_context = function.is_of_current || !function.effects.is_empty();
        let context = if is_about_context { current::context(&self.base) } else { 0 };
        let may_capture = || self.lock().objects.captures > 0;
        // SAFETY: 1: duty 1.
        let is_captured = unsafe { nodes::captures_memory(&self.base, function, words, may_capture) };
        let launch = raw.as_ref().zip(kernel.as_deref());
        // SAFETY: 1: duty 1; 2: the kernel was queried with the handle in `raw`, which was read from the words.
        let begun = unsafe { self.begin(function, words, context, launch, is_captured) };
        let verdict = judge(&begun.faults, &begun.call);
        let too_new = self.is_too_new(function, words, raw.as_ref());
        // SAFETY: 1: duty 1.
        let later = unsafe { ptx_version::later(function, words, self.newest_ptx) };
        let mut answer = self.answer(function, &begun, &verdict);
        answer = answer.or(too_new.then_some(CUresult::CUDA_ERROR_INVALID_VALUE));
        if let (Some(later), None) = (later, answer) {
            // SAFETY: 1: duty 1; the call has an answer, so that the driver does not get it.
            unsafe { later.tell(function, words) };
            answer = Some(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
        }
        if !verdict.delay.is_zero() {
            thread::sleep(verdict.delay);
        }
        let start = Instant::now();
        // A sticky code tells the caller that the work is over, so a call that waits really waits: memory of the work is in use
        // until then.
        let says_over = answer.is_some_and(CUresult::is_sticky);
        let is_query =
            function.name.starts_with("cuStreamQuery") || function.name.starts_with("cuEventQuery");
        let waits = is_query || function.name.contains("Synchronize");
        let is_done = function.gives_back || verdict.is_done || (says_over && waits);
        let mut real = if answer.is_none() || is_done { Some(base(&self.base)) } else { None };
        while says_over && is_query && real == Some(CUresult::CUDA_ERROR_NOT_READY) {
            thread::yield_now();
            real = Some(base(&self.base));
        }
        let is_refused = |code: CUresult| code != CUresult::SUCCESS && !code.is_sticky();
        if says_over && waits && real.is_some_and(is_refused) {
            // The driver did not wait, for example during a capture, so the program must not conclude that the work
            // is done.
            answer = None;
        }
        if real == Some(CUresult::SUCCESS) {
            // SAFETY: 1: duty 1, and the call succeeded.
            unsafe { procs::adjust(self.slot, &self.has, self.version, function, words) };
            if verdict.is_replaced {
                // SAFETY: 1: duty 1, and the call was checked to have succeeded.
                unsafe { short::replace(function.name, words) };
            }
        }
        // SAFETY: 1: duty 1; 2: `real` is the result of `base` for this call, or `None`.
        unsafe { self.end(function, words, context, begun, start, (real, answer), verdict) }
    }
}

impl Inner {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of the call in place of the driver's.
    fn answer(&self, function: &Function, begun: &Begun, verdict: &Verdict) -> Option<CUresult> {
        let sticky = begun.sticky.filter(|_| !function.survives);
        let memory = begun.is_too_much.then_some(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        sticky.or(verdict.answer).or(memory)
    }

    /// Whether an argument or an attribute of a launch is a value that was introduced after the version that the spy claims
    /// to be.
    fn is_too_new(&self, function: &Function, words: &[u64], launch: Option<&Raw>) -> bool {
        let Some(version) = self.version else { return false };
        let is_later = |enumeration, value| value_since(enumeration, value) > version;
        let mut arguments = function.parameters.iter().zip(words);
        let launched = launch.is_some_and(|raw| {
            raw.attributes.iter().any(|attribute| is_later("CUlaunchAttributeID", attribute.id().0))
        });
        launched || arguments.any(|(parameter, word)| is_later(parameter.of, *word as u32))
    }

    /// Records the begin of the call.
    ///
    /// # Safety
    ///
    /// 1. As for [`spied`].
    /// 2. The kernel is that of the launch.
    unsafe fn begin(
        &self,
        function: &'static Function,
        words: &[u64],
        context: u64,
        launch: Option<(&Raw, &Kernel)>,
        is_captured: bool,
    ) -> Begun {
        // SAFETY: 1: duties 1 and 2. Outside the lock, because it may read much.
        let parameters = launch.and_then(|(raw, kernel)| unsafe { raw.parameters(kernel) });
        let at = self.start.elapsed();
        let mut state = self.lock();
        state.count += 1;
        let number = state.count;
        // SAFETY: 1: duty 1.
        let arguments = unsafe { decode::arguments(function, words, &mut state.objects) };
        let launched = launch.map(|(raw, kernel)| Launch {
            kernel: kernel.name.clone(),
            grid: raw.grid,
            block: raw.block,
            shared: raw.shared,
            stream: decode::handle(Kind::Stream, raw.stream, &mut state.objects),
            attributes: raw.attributes.clone(),
            parameters: parameters.map(|parameters| with_memory(parameters, &state.objects)),
        });
        let call = Arc::new(Call {
            number,
            name: function.name,
            arguments,
            launch: launched,
            is_launch: function.launches,
            thread: state.thread(),
            context: state.context_of(function, words, context, launch.map(|(raw, _)| raw.stream)),
            at,
            end: OnceLock::new(),
        });
        state.write(call.clone());
        let doing = Doing { number, function, words, context, is_captured };
        // The meaning of a default stream depends on the current context, and drivers refuse a kernel of another context there: a program
        // may simply try a launch instead of querying the current context.
        let launched = launch.map(|(raw, _)| (raw.function, raw.stream));
        let launched = launched.filter(|(_, stream)| common_stream(Kind::Stream, *stream).is_none());
        let (undo, problems) = doing.before(&mut state.objects, launched);
        state.problems.extend(problems);
        let bytes = doing.bytes();
        let used = state.objects.counted.saturating_add(state.asked);
        let is_too_much = bytes > 0 && state.budget.is_some_and(|budget| used.saturating_add(bytes) > budget);
        state.asked = state.asked.saturating_add(bytes);
        Begun { call, faults: state.faults.clone(), undo, sticky: state.sticky, is_too_much, is_captured }
    }

    /// Records the outcome of the call.
    ///
    /// # Safety
    ///
    /// 1. As for [`spied`].
    /// 2. The first result is that of the driver for this call, if it was called.
    #[allow(clippy::too_many_arguments, reason = "all that was learned of one call")]
    unsafe fn end(
        &self,
        function: &'static Function,
        words: &[u64],
        context: u64,
        begun: Begun,
        start: Instant,
        (real, answer): (Option<CUresult>, Option<CUresult>),
        verdict: Verdict,
    ) -> CUresult {
        let took = start.elapsed();
        // SAFETY: 1: duties 1 and 2: the call succeeded.
        let results = real
            .filter(|real| *real == CUresult::SUCCESS)
            .map(|_| unsafe { decode::results(function, words) });
        // SAFETY: 1: duties 1 and 2: a call of `base` that succeeded, because there are results, which are its own.
        // Outside the lock, because it may query the driver.
        let listed = results
            .as_ref()
            .and_then(|results| unsafe { lists::listed(&self.base, function, words, results) });
        let number = begun.call.number;
        let doing = Doing { number, function, words, context, is_captured: begun.is_captured };
        let mut state = self.lock();
        state.asked = state.asked.saturating_sub(doing.bytes());
        let (mut arguments, mut recorded_by_node) = (Vec::new(), None);
        match (&results, real) {
            (Some(results), _) => {
                doing.done(&mut state.objects, results);
                listed.iter().for_each(|listed| doing.lists(&mut state.objects, listed));
                // SAFETY: 1: duty 1, and the call succeeded.
                if let Some((address, bytes)) = unsafe { nodes::memory(function, words) } {
                    state.objects.forget_freed(address, bytes);
                }
                // SAFETY: 1: duty 1, and the call succeeded.
                if let Some(Node::Records(event)) = unsafe { Node::of(function, words) } {
                    recorded_by_node = Some(decode::handle(Kind::Event, event, &mut state.objects));
                }
                // SAFETY: 1: the results of this call.
                arguments = unsafe { decode::received(function, results, &mut state.objects) };
            }
            // After a fault, nothing can be restored anyway.
            (None, Some(real)) if !real.is_sticky() => doing.refused(&mut state.objects, begun.undo),
            _ => {}
        }
        state.panics.extend(verdict.panics);
        // The fault is reported from the next call on.
        state.sticky = state.sticky.or(verdict.sticky);
        let shown = answer.or(real).unwrap_or(CUresult::CUDA_ERROR_UNKNOWN);
        let is_injected = answer.is_some() || verdict.is_replaced && real == Some(CUresult::SUCCESS);
        if answer.is_some() {
            // The program must not use what the driver may have written.
            arguments.clear();
        }
        // The cell is empty, because a call ends once.
        let _ = begun.call.end.set(End { answer: shown, is_injected, took, arguments, recorded_by_node });
        drop(state);
        if let Some(Listener(listener)) = &self.listener
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| listener(&begun.call)))
        {
            self.lock().panics.push(format!("call {number}, {}: {}", begun.call.name, message(&*panic)));
        }
        shown
    }

    /// What is known about a kernel.
    ///
    /// # Safety
    ///
    /// 1. The handle is the function of the launch in progress, or a handle that a launch accepts as one, and is live until
    ///    the launch returns.
    unsafe fn kernel(&self, handle: u64) -> Arc<Kernel> {
        let state = self.lock();
        let place = state.objects.find(Kind::Function, handle);
        let object = place.and_then(|place| state.objects.at(place));
        let known = object.and_then(|object| object.kernel.clone());
        // Handles of destroyed objects must not be passed to the driver. And a launch accepts kernels of libraries as functions, which
        // other calls do not: if the call that returned the handle was not observed, its kind is unknown here.
        let is_live = object.is_some_and(|object| object.is_live());
        let is_known = is_live && object.is_some_and(|object| object.made_by.is_some());
        let of_library = object.is_some_and(|object| object.name.kind() == Kind::Kernel);
        drop(state);
        match known {
            Some(known) if is_live => return known,
            // The recorded parameter sizes may be those of another kernel: the handle may have been reused by a call that was not observed.
            Some(known) => return Arc::new(Kernel { name: known.name.clone(), parameters: None }),
            None if !is_known => return Arc::new(Kernel { name: None, parameters: None }),
            None => {}
        }
        // SAFETY: 1: it is live by duty 1, and its kind is known from the call that returned it (`is_known`).
        let kernel = Arc::new(unsafe { Kernel::ask(&self.base, handle, of_library) });
        let mut state = self.lock();
        if let Some(object) = place.and_then(|place| state.objects.at_mut(place)) {
            object.kernel = Some(kernel.clone());
        }
        drop(state);
        kernel
    }
}

/// The parameters, with the memory that they point into.
fn with_memory(
    parameters: Vec<crate::launch::Parameter>,
    objects: &Objects,
) -> Vec<crate::launch::Parameter> {
    let named = |mut parameter: crate::launch::Parameter| {
        let address = parameter.integer().filter(|_| parameter.bytes.len() == 8);
        parameter.value = address.and_then(|address| decode::memory(address, objects));
        parameter
    };
    parameters.into_iter().map(named).collect()
}

impl State {
    pub(crate) fn new(keep: usize, backtraces: bool) -> State {
        State { keep, objects: Objects::new(backtraces), ..State::default() }
    }

    fn write(&mut self, call: Arc<Call>) {
        self.calls.push_back(call);
        while self.calls.len() > self.keep {
            self.calls.pop_front();
        }
    }

    /// The context of the work that a call submits: that of the stream, or else the current one.
    fn context_of(&self, function: &Function, words: &[u64], current: u64, launched_on: Option<u64>) -> u64 {
        let word = |at: usize| words.get(at).copied();
        let stream = launched_on.or_else(|| function.stream.and_then(word)).unwrap_or(0);
        if function.name == "cuCtxSynchronize_v2" {
            return word(0).filter(|context| *context != 0).unwrap_or(current);
        }
        match common_stream(Kind::Stream, stream) {
            Some(_) => current,
            None => {
                let place = self.objects.find(Kind::Stream, stream);
                place.and_then(|place| self.objects.at(place)).map_or(0, |stream| stream.context)
            }
        }
    }

    /// The number of the calling thread.
    fn thread(&mut self) -> usize {
        let id = thread::current().id();
        let known = self.threads.iter().position(|thread| *thread == id);
        known.unwrap_or_else(|| {
            self.threads.push(id);
            self.threads.len() - 1
        }) + 1
    }
}
