//! What the checking layer does in each call.
//!
//! No lock is held while the underlying driver or the listener runs. If the host or other streams may learn from a call's work
//! before the call returns (by a host function or a value in memory), that is recorded before the call.
//!
//! Relies on: the caller upholds the contract of the function that it calls, as far as the driver requires it.
#![allow(unsafe_code)]

use super::Inner;
use super::cluster;
use super::cooperative;
use super::ends::is_probe;
use super::graphs::{self, Captured};
use super::handles::handles;
use super::image::Image;
use super::kernel;
use super::launch::Launch;
use super::rule::{Finding, Level, Rule};
use super::sides::Side;
use super::state::{Launched, State};
use super::work::{After, may_tell, stream_of};
use crate::current;
use crate::decode;
use crate::effects::{Doing, Undo};
use crate::functions::Function;
use crate::intercept::Layer;
use crate::kind::Kind;
use crate::launch::Raw;
use crate::ledger::{Mistake, Problem};
use crate::lists::{self, Listed};
use crate::nodes::{self, Node};
use crate::objects::New;
use crate::procs;
use crate::rules::Effect;
use crate::stack;
use cuda_driver_sys::{CUresult, CUstreamCaptureStatus, Driver};
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A call in progress, for all parts of the check.
#[derive(Clone, Copy)]
pub(super) struct Call<'call> {
    pub(super) number: usize,
    pub(super) function: &'static Function,
    pub(super) words: &'call [u64],
    /// The context that is current.
    pub(super) context: u64,
    /// See [`Doing::is_captured`].
    is_captured: bool,
}

impl Call<'_> {
    pub(super) fn word(&self, number: usize) -> u64 {
        self.words.get(number).copied().unwrap_or(0)
    }

    pub(super) fn finding(&self, rule: Rule, message: String) -> Finding {
        Finding { rule, call: self.number, function: self.function.name, kernel: None, message }
    }

    fn doing(&self) -> Doing<'_> {
        let Call { number, function, words, context, is_captured } = *self;
        Doing { number, function, words, context, is_captured }
    }
}

/// A call between its begin and its end.
struct Begun<'call> {
    call: Call<'call>,
    launch: Option<Launch>,
    raw: Option<Raw>,
    /// The stream to which it submits work.
    stream: Option<u64>,
    undo: Vec<Undo>,
    /// The work of the graph node that it creates or changes.
    does: Option<graphs::Node>,
    /// What it copies or fills.
    sides: Vec<Side>,
    /// Objects of two contexts, which are reported if the driver refuses the call.
    foreign: Vec<Problem>,
    is_refused: bool,
    /// Whether it is counted in [`State::capturing`].
    may_capture: bool,
    /// The capture that it ends.
    ends: Option<Captured>,
}

impl Layer for Inner {
    unsafe fn call(
        &self,
        function: &'static Function,
        words: &[u64],
        base: &mut dyn FnMut(&Driver) -> CUresult,
    ) -> CUresult {
        if self.is_off.load(Ordering::Acquire) {
            return base(&self.base);
        }
        // SAFETY: 1: duty 1.
        stack::with_room(&mut || unsafe { self.looked_at(function, words, base) })
    }
}

impl Inner {
    /// # Safety
    ///
    /// 1. `words` are the arguments of a call of that function whose contract holds, and `base` makes the call.
    unsafe fn looked_at(
        &self,
        function: &'static Function,
        words: &[u64],
        base: &mut dyn FnMut(&Driver) -> CUresult,
    ) -> CUresult {
        // SAFETY: 1: duty 1.
        let Some(mut begun) = (unsafe { self.begin(function, words) }) else { return base(&self.base) };
        if begun.is_refused {
            let mut state = self.lock();
            state.capturing -= usize::from(begun.may_capture);
            begun.call.doing().refused(&mut state.objects, begun.undo);
            return CUresult::CUDA_ERROR_INVALID_VALUE;
        }
        // Calls of other threads on streams of the capture may still be captured.
        let is_end = function.name.starts_with("cuStreamEndCapture");
        let is_seen = !begun.undo.is_empty();
        if is_end {
            self.lock().ending += 1;
            // SAFETY: 1: the stream is an argument of this call, whose contract holds by duty 1; the call destroys no stream.
            begun.ends = begun.stream.map(|stream| unsafe { self.capture_of(stream) });
        }
        let call = begun.call;
        if let Some(stream) = begun.stream.filter(|_| begun.launch.is_none() && may_tell(call.function.name))
        {
            let is_capturing = self.lock().is_capturing();
            // SAFETY: 1: the stream is an argument of this call, whose contract holds by duty 1; no call for which `may_tell` is true
            // destroys a stream.
            if !(is_capturing && unsafe { self.is_captured(stream) }) {
                self.lock().tells(&call, stream);
            }
        }
        let answer = base(&self.base);
        let findings = match answer {
            // SAFETY: 1: duty 1, and the call succeeded.
            CUresult::SUCCESS => unsafe { self.done(begun) },
            // SAFETY: 1: duty 1, and the call has just returned.
            _ => unsafe { self.failed(begun, answer) },
        };
        if is_end {
            let mut state = self.lock();
            state.ending -= 1;
            state.has_unseen_captures |= answer == CUresult::SUCCESS && !is_seen;
        }
        findings.iter().filter(|finding| self.is_wanted(finding)).for_each(|finding| self.tell(finding));
        if let Some(log) = &self.options.log {
            // SAFETY: 1: the caller's duty 1; `answer` is the result that the driver returned for this call.
            log(&unsafe { self.line(&call, answer) });
        }
        answer
    }

    /// Inspects a call before the driver gets it, and returns what is wrong; `None` if the call is not inspected.
    ///
    /// # Safety
    ///
    /// 1. `words` are the arguments of a call of that function whose contract holds.
    unsafe fn begin<'call>(&self, function: &'static Function, words: &'call [u64]) -> Option<Begun<'call>> {
        let context = current::context(&self.base);
        let may_capture = || self.lock().is_capturing();
        // SAFETY: 1: duty 1.
        let is_captured = unsafe { nodes::captures_memory(&self.base, function, words, may_capture) };
        let mut state = self.lock();
        state.count += 1;
        // After a fault nothing works any more, and results are meaningless.
        if state.fault.is_some() {
            return None;
        }
        // Whatever the result is: the emulator has no such tables.
        state.is_runtime |= function.name == "cuGetExportTable";
        let call = Call { number: state.count, function, words, context, is_captured };
        let mut findings = handles(&call, &state);
        // SAFETY: 1: duty 1.
        let raw = unsafe { Raw::of(function, words) };
        let launched = raw.as_ref().map(|raw| (raw.function, raw.stream));
        let (undo, problems) = call.doing().before(&mut state.objects, launched);
        let stream = launched.map(|(_, stream)| stream).or_else(|| stream_of(&call));
        let may_capture = stream.is_some() && !only_waits(function.name);
        state.capturing += usize::from(may_capture);
        drop(state);
        let (foreign, problems): (Vec<Problem>, Vec<Problem>) =
            problems.into_iter().partition(|problem| problem.mistake == Mistake::WrongContext);
        findings.extend(problems.iter().filter_map(|problem| self.problem(&call, problem)));
        // SAFETY: 1: duty 1, and `raw` was read from these words above.
        let launch = raw.as_ref().map(|raw| unsafe { self.launch(&call, raw, &mut findings) });
        let (mut does, mut sides, mut is_work) = (None, Vec::new(), launch.is_some());
        if launch.is_none() {
            // SAFETY: 1: duty 1.
            sides = unsafe { self.copies(&call) };
            findings.extend(self.past_the_end(&call, &sides));
            // SAFETY: 1: duty 1.
            let looked = unsafe { self.node(&call, &mut findings) };
            findings.extend(self.freed_in_graph(&call));
            findings.extend(self.unreached_in_graph(&call));
            is_work = !sides.is_empty() || looked.is_work || call.function.launches;
            does = looked.node;
        }
        findings.retain(|finding| self.is_wanted(finding));
        findings.iter().for_each(|finding| self.tell(finding));
        let is_refused = self.options.refuses
            && is_work
            && findings.iter().any(|finding| finding.rule.level() == Level::Error);
        Some(Begun {
            call,
            launch,
            raw,
            stream,
            undo,
            does,
            sides,
            foreign,
            is_refused,
            may_capture,
            ends: None,
        })
    }

    /// Records the effects of a call, and returns what is wrong with them.
    ///
    /// # Safety
    ///
    /// 1. The contract of the call holds, and the call succeeded.
    unsafe fn done(&self, begun: Begun<'_>) -> Vec<Finding> {
        let Begun { call, launch, stream, undo, does, sides, may_capture, ends, .. } = begun;
        if launch.is_none() {
            // SAFETY: 1: duty 1.
            unsafe { procs::adjust(self.slot, &self.has, None, call.function, call.words) };
        }
        // SAFETY: 1: duty 1.
        let results = unsafe { decode::results(call.function, call.words) };
        // SAFETY: 1: duty 1: a call of `base`; the results are those of the line above. Outside the lock, because it
        // may query the driver.
        let listed = unsafe { lists::listed(&self.base, call.function, call.words, &results) };
        let made = results.first().map_or(0, |(_, word)| *word);
        // SAFETY: 1: duty 1, and the results are those of this call.
        let array = if launch.is_none() { unsafe { self.made_array(&call, made) } } else { None };
        let newest = call.function.effects.iter().any(loads).then(|| kernel::newest(&self.base)).flatten();
        let mut state = self.lock();
        call.doing().done(&mut state.objects, &results);
        // SAFETY: 1: duty 1.
        if let Some((address, bytes)) = unsafe { nodes::memory(call.function, call.words) } {
            state.objects.forget_freed(address, bytes);
        }
        state.peers_changed(&call);
        if let Some(extent) = array
            && let Some(place) = state.objects.find(Kind::Array, made)
        {
            state.arrays.insert(place, extent);
        }
        if launch.is_none() {
            // SAFETY: 1: duty 1.
            unsafe { succeeded(&call, &mut state, made, listed, newest) };
        }
        let is_capturing = state.is_capturing();
        drop(state);
        // A stream that the call has destroyed cannot be queried.
        let is_gone = call.function.name.starts_with("cuStreamDestroy");
        // SAFETY: 1: the stream is an argument of this call, whose contract holds by duty 1; the call has not destroyed it, unless
        // `is_gone`.
        let is_captured = |stream| is_gone || unsafe { self.is_captured(stream) };
        let is_captured = is_capturing && stream.is_some_and(is_captured);
        let adds = launch.is_some() || !sides.is_empty() || graphs::adds_to_a_capture(&call);
        let captured = match stream.filter(|_| is_captured && !is_gone && adds && may_capture) {
            // SAFETY: 1: as above, and the call is counted in `State::capturing`: it has a stream, and does not only
            // wait.
            Some(stream) => Some(unsafe { self.captured(stream) }),
            None => ends,
        };
        let ended = |undo: &Undo| match undo {
            Undo::Ended(place) => Some(*place),
            Undo::Shares(..) => None,
        };
        // SAFETY: 1: duty 1.
        let node = unsafe { Node::of(call.function, call.words) };
        let ended = undo.iter().filter_map(ended).collect();
        self.give(&call, launch, may_capture, After { made, ended, is_captured, captured, node, does, sides })
    }

    /// The line of a call for the log.
    ///
    /// # Safety
    ///
    /// 1. The contract of the call holds, and the call has just returned `answer`.
    unsafe fn line(&self, call: &Call<'_>, answer: CUresult) -> String {
        let Call { number, function, words, .. } = *call;
        let mut state = self.lock();
        // SAFETY: 1: duty 1.
        let mut arguments = unsafe { decode::arguments(function, words, &mut state.objects) };
        if answer == CUresult::SUCCESS {
            // SAFETY: 1: duty 1, and the call succeeded; 1: the results are those of this call.
            let received = unsafe {
                let results = decode::results(function, words);
                decode::received(function, &results, &mut state.objects)
            };
            for (at, value) in received {
                arguments
                    .get_mut(at)
                    .into_iter()
                    .for_each(|argument| argument.received = Some(value.clone()));
            }
        }
        drop(state);
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let text = format!("#{number} {}({})", function.name, arguments.join(", "));
        match answer {
            CUresult::SUCCESS => text,
            _ => format!("{text} = {}", answer.name().map_or_else(|| answer.0.to_string(), str::to_owned)),
        }
    }

    /// Handles a call that returned an error.
    ///
    /// # Safety
    ///
    /// 1. The contract of the call holds, and it has just returned.
    unsafe fn failed(&self, begun: Begun<'_>, answer: CUresult) -> Vec<Finding> {
        let Begun { call, launch, raw, undo, foreign, may_capture, ends, .. } = begun;
        // SAFETY: 1: duty 1: the launch is that of this call.
        let size =
            launch.zip(raw).and_then(|(launch, raw)| unsafe { self.size(&call, &launch, &raw, answer) });
        let mut state = self.lock();
        state.capturing -= usize::from(may_capture);
        ends.into_iter().for_each(|ended| drop(state.captures.remove(&ended.id)));
        if answer.is_sticky() {
            let is_first = state.fault.replace(answer).is_none();
            let finding = is_first.then(|| call.finding(Rule::StickyFault, fault(&mut state, answer)));
            return finding.into_iter().collect();
        }
        call.doing().refused(&mut state.objects, undo);
        if answer == CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED {
            state.peers_changed(&call);
        }
        if !is_probe(call.function.name, answer) {
            let (times, _) = state.failed.entry((call.function.name, answer.0)).or_insert((0, call.number));
            *times += 1;
        }
        let told = foreign.iter().filter(|_| !state.is_green);
        let told = told.map(|problem| call.finding(Rule::WrongContext, words_of(problem)));
        told.chain(size).chain(over_released(&call, &state, answer)).collect()
    }

    /// The limit that a launch broke, if that is what the driver's error says.
    ///
    /// # Safety
    ///
    /// 1. `raw` is the launch of a call whose contract holds and which has just returned; `launch` is what is known about it.
    unsafe fn size(&self, call: &Call<'_>, launch: &Launch, raw: &Raw, answer: CUresult) -> Option<Finding> {
        let rule = match answer {
            CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE => Rule::ClusterSize,
            CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => Rule::CooperativeGrid,
            _ => return None,
        };
        // SAFETY: 1: the function is an argument of the launch, whose contract holds by duty 1; 2: so is the stream.
        let why = || unsafe {
            match rule {
                Rule::ClusterSize => cluster::why(&self.base, raw, launch.of_library),
                _ => cooperative::why(&self.base, raw, launch.of_library),
            }
        };
        let message = crate::kernel::relaxed(&self.base, why);
        Some(Finding { kernel: Some(launch.kernel.name.to_string()), ..call.finding(rule, message) })
    }

    /// Whether a stream is being captured, so that calls submit nothing to a device.
    ///
    /// # Safety
    ///
    /// 1. `stream` is the stream of a call in progress whose contract holds and which has not destroyed the stream.
    pub(super) unsafe fn is_captured(&self, stream: u64) -> bool {
        let mut status = CUstreamCaptureStatus(0);
        // SAFETY: the output is a status and outlives the call; by the caller's duty 1 the stream is that of a call in progress that has
        // not destroyed it, and the contract of that call keeps it live until the call returns.
        let answer = unsafe {
            self.base.cuStreamIsCapturing(with_exposed_provenance_mut(stream as usize), &mut status)
        };
        answer != CUresult::SUCCESS || status.0 != 0
    }

    /// Turns a mistake with an object into a finding, if objects of its kind are created only by calls that are seen here: otherwise a new
    /// object may have the same handle. For memory, the driver is asked first.
    fn problem(&self, call: &Call<'_>, problem: &Problem) -> Option<Finding> {
        let rule = match problem.mistake {
            Mistake::DoubleFree => Rule::DoubleFree,
            Mistake::DeadHandle => Rule::DeadHandle,
            Mistake::DeadMemory => Rule::UseAfterFree,
            Mistake::WrongContext => return None,
        };
        let is_wrong = match problem.object.kind().family() {
            Kind::Memory | Kind::HostMemory | Kind::Registration => {
                let state = self.lock();
                let is_it = |word: &&u64| {
                    let object =
                        state.objects.memory_at(**word).and_then(|(place, _)| state.objects.at(place));
                    object.is_some_and(|object| object.name.is_of(problem.object))
                };
                let address = call.words.iter().find(is_it).copied();
                drop(state);
                // The driver cannot free memory that it does not know, whatever it is used for now.
                let is_gone = |address| match problem.mistake {
                    Mistake::DoubleFree => !self.is_memory(address),
                    _ => self.is_gone(address, problem.object.kind()),
                };
                address.is_some_and(is_gone)
            }
            Kind::Stream | Kind::Event | Kind::Module | Kind::Library | Kind::Function | Kind::Kernel => true,
            Kind::ExecutableGraph | Kind::Linker | Kind::Texture | Kind::Surface => true,
            // Some of these are created by calls that return no handle, so a handle that is used again may be that of
            // another object.
            Kind::Graph | Kind::Array | Kind::MipmappedArray | Kind::Context | Kind::Pool => {
                problem.mistake == Mistake::DoubleFree
            }
            _ => false,
        };
        is_wrong.then(|| call.finding(rule, words_of(problem)))
    }
}

/// The driver counts the references to a primary context, including those whose calls were not observed: only its result shows that none
/// is left.
fn over_released(call: &Call<'_>, state: &State, answer: CUresult) -> Option<Finding> {
    let is_it = call.function.name.starts_with("cuDevicePrimaryCtxRelease");
    if !is_it || answer != CUresult::CUDA_ERROR_INVALID_CONTEXT {
        return None;
    }
    let device = call.word(0);
    let known = state.objects.find(Kind::PrimaryContext, device).and_then(|place| state.objects.at(place));
    let message = match known.and_then(|object| Some((object.name, object.ended_by?))) {
        Some((name, ended)) => format!("releases {name} again, which call {ended} released last"),
        None => format!("releases the primary context of device {device}, which was never retained"),
    };
    Some(call.finding(Rule::DoubleFree, message))
}

/// The problem in words, without the call that caused it.
fn words_of(problem: &Problem) -> String {
    let text = problem.to_string();
    let start = format!("call {}, {}, ", problem.call, problem.function);
    text.strip_prefix(&start).unwrap_or(&text).to_owned()
}

/// Describes a fault and the launches that may have caused it.
fn fault(state: &mut State, answer: CUresult) -> String {
    let name = answer.name().unwrap_or("an error");
    let launches = std::mem::take(&mut state.launches);
    let is_open = |launched: &&Launched| launched.at.is_none_or(|at| !state.order.is_done(at));
    let open = launches.iter().filter(is_open).count();
    // Launches that the host may have waited for count as completed; if that leaves none, the last launches are as
    // good a guess as any.
    let (what, skipped) = match open {
        0 => ("the last launches", launches.len().saturating_sub(4)),
        _ => ("launches that had not completed", 0),
    };
    let shown = launches.iter().skip(skipped).filter(|launched| open == 0 || is_open(launched));
    let shown: Vec<_> =
        shown.map(|launched| (launched.call, launched.kernel.name.clone(), launched.stream)).collect();
    let mut text = format!("{name}: a kernel faulted, and every later call fails; {what}:");
    if shown.is_empty() {
        text += " none was seen";
    }
    for (call, kernel, stream) in shown {
        text += &format!("\n    call {call}: {kernel} on {}", state.stream_name(stream));
    }
    text
}

/// Records what a successful call, which created the object with the handle `made`, reveals about the program.
///
/// # Safety
///
/// 1. The contract of the call holds, and the call succeeded.
unsafe fn succeeded(
    call: &Call<'_>,
    state: &mut State,
    made: u64,
    listed: Option<Listed>,
    newest: Option<u32>,
) {
    match call.function.name {
        "cuGetErrorName" | "cuGetErrorString" => {
            let asked = call.word(0) as u32;
            state.failed.retain(|(_, code), _| *code != asked);
        }
        "cuModuleEnumerateFunctions" | "cuLibraryEnumerateKernels" => {
            let Some(Listed { kind, handles, .. }) = listed else { return };
            for handle in handles {
                let known = state.objects.find(kind, handle).and_then(|place| state.objects.at(place));
                if handle != 0 && known.is_none_or(|object| !object.is_live()) {
                    state.objects.make(New::of(kind, handle, None));
                }
            }
        }
        "cuGreenCtxCreate" | "cuCtxFromGreenCtx" => state.is_green = true,
        name if call.function.effects.iter().any(loads) => {
            // SAFETY: 1: duty 1: it is this call.
            let image = unsafe { Image::loaded(call, newest) };
            let kind = if name.starts_with("cuLibrary") { Kind::Library } else { Kind::Module };
            if let Some((place, image)) = state.objects.find(kind, made).zip(image) {
                state.images.insert(place, Arc::new(image));
            }
        }
        _ => {}
    }
}

/// Calls with a stream that add nothing to a capture, and may take long.
fn only_waits(function: &str) -> bool {
    function.starts_with("cuStreamSynchronize") || function.starts_with("cuStreamQuery")
}

fn loads(effect: &Effect) -> bool {
    matches!(effect, Effect::Makes(Kind::Module | Kind::Library, ..))
}
