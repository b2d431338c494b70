//! Which work is ordered before other work, as far as the calls show it.

use crate::call::{Call, Calls};
use crate::kind::Kind;
use crate::value::Value;
use cuda_driver_sys::CUresult;
use std::collections::HashMap;

impl Calls {
    /// Whether the work that call number `first` submitted is done before that of call number `second` begins, because the calls
    /// in this list ensure it. Numbers are those of [`Call::number`].
    ///
    /// Work is ordered by the same stream; an event that is recorded after the first, and waited for before the second, over any number
    /// of streams; the default stream of a context, which waits for that context's blocking streams whose creation is in the list, and they
    /// for it; and a thread that waited (`cuStreamSynchronize`, `cuEventSynchronize`, `cuCtxSynchronize` of the same context, a query that
    /// succeeded, a copy from or to host memory that is not asynchronous) before it made the second call. A copy to the device from memory
    /// that the driver has not pinned is not itself waited for, and neither are copies of rectangles and boxes, which may be within the
    /// device. A call that failed has no work. Each context has its own default stream, and each thread its
    /// own `CU_STREAM_PER_THREAD` in it. Communication between threads is not known, nor is the effect of graphs and captures:
    /// an event that a graph records orders nothing more once a graph was launched, until it is recorded again. Launches whose attributes let
    /// them begin early are taken for ordinary ones.
    ///
    /// ```
    /// # use std::ptr::null_mut;
    /// # let spy = cuda_harness::Spy::over(&cuda_emulator::driver())?;
    /// # let cuda = spy.driver();
    /// # let (mut context, mut a, mut b, mut event, mut x) = (null_mut(), null_mut(), null_mut(), null_mut(), 0);
    /// # unsafe {
    /// # cuda.cuInit(0); cuda.cuDevicePrimaryCtxRetain(&mut context, 0); cuda.cuCtxSetCurrent(context);
    /// # cuda.cuStreamCreate(&mut a, 1); cuda.cuStreamCreate(&mut b, 1); cuda.cuEventCreate(&mut event, 0);
    /// # cuda.cuMemAlloc(&mut x, 1024);
    /// # spy.clear();
    /// cuda.cuMemsetD8Async(x, 1, 512, a);
    /// cuda.cuEventRecord(event, a);
    /// cuda.cuMemsetD8Async(x + 512, 2, 512, a);
    /// cuda.cuStreamWaitEvent(b, event, 0);
    /// cuda.cuMemsetD8Async(x, 3, 1024, b);
    /// # cuda.cuCtxSynchronize();
    /// # cuda.cuMemFree(x); cuda.cuEventDestroy(event); cuda.cuStreamDestroy(a); cuda.cuStreamDestroy(b);
    /// # cuda.cuDevicePrimaryCtxRelease(0);
    /// # }
    /// let calls = spy.calls();
    /// let fills: Vec<_> = calls.of("cuMemsetD8Async").iter().map(|call| call.number()).collect();
    /// assert!(calls.is_ordered(fills[0], fills[2]));
    /// // The event was recorded before the second fill: nothing waits for that.
    /// assert!(!calls.is_ordered(fills[1], fills[2]));
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    pub fn is_ordered(&self, first: usize, second: usize) -> bool {
        matches!(self.unordered(|call| call.number() == first, |call| call.number() == second), Ok(1..))
    }

    /// How many pairs there are of a first call and a later second one, if the work of each second is ordered after that of all firsts before
    /// it; otherwise a pair that is not ordered, and what would order it. Of firsts that are ordered the last counts.
    pub(crate) fn unordered(
        &self,
        is_first: impl Fn(&Call) -> bool,
        is_second: impl Fn(&Call) -> bool,
    ) -> Result<usize, (&Call, &Call, String)> {
        let (mut none, mut firsts, mut pairs) = (Order::default(), Vec::<(&Call, Order)>::new(), 0);
        let has_work = |call: &Call| call.answer().is_none_or(|answer| answer == CUresult::SUCCESS);
        for call in self.iter() {
            if is_second(call) && has_work(call) {
                if let Some((first, seen)) = firsts.iter().find(|(_, seen)| !seen.knows(call)) {
                    return Err((first, call, seen.what_would_tell(call)));
                }
                pairs += firsts.len();
            }
            none.call(call);
            firsts.iter_mut().for_each(|(_, seen)| seen.call(call));
            if is_first(call) && has_work(call) {
                // Whatever is ordered after this call is ordered after them, too.
                firsts.retain(|(_, seen)| !seen.knows(call));
                let mut seen = none.clone();
                seen.begin(call);
                firsts.push((call, seen));
            }
        }
        Ok(pairs)
    }
}

/// The streams and threads that know that the first call's work is done: later work there is ordered after it.
#[derive(Clone, Default)]
struct Order {
    streams: Vec<Stream>,
    /// Events whose last record is ordered after it.
    events: Vec<String>,
    /// Events that graphs record: once such a graph is launched, it is unknown which work precedes them.
    of_graphs: Vec<String>,
    threads: Vec<usize>,
    /// Whether a stream and the default stream do not wait for each other, by the stream's name.
    apart: HashMap<String, bool>,
}

/// A stream, by its name; the names of default streams mean a different stream in each context, and those of
/// per-thread streams in each thread.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stream {
    name: String,
    /// 0 if unknown.
    context: u64,
    /// 0 unless the stream is a thread's own.
    thread: usize,
}

impl Stream {
    /// The stream to which a call submits its work; `None` if the work is done before the call returns.
    fn of(call: &Call) -> Option<Stream> {
        let name = name_of_stream(call)?;
        let name = if name == "legacy" { "default".to_owned() } else { name };
        let thread = if name == "per-thread" { call.thread() } else { 0 };
        Some(Stream { name, context: call.context, thread })
    }

    fn is_default(&self) -> bool {
        self.name == "default"
    }

    fn is_created(&self) -> bool {
        !matches!(self.name.as_str(), "default" | "per-thread")
    }

    fn may_be_of(&self, context: u64) -> bool {
        self.context == context || self.context == 0 || context == 0
    }
}

impl Order {
    fn begin(&mut self, call: &Call) {
        match Stream::of(call) {
            Some(stream) => self.streams.push(stream),
            // The call itself waited for the work.
            None => self.threads.push(call.thread()),
        }
        if waits(call) == Waits::ForItself {
            learn(&mut self.threads, call.thread());
        }
    }

    /// Whether the work of this call is ordered after it.
    fn knows(&self, call: &Call) -> bool {
        self.threads.contains(&call.thread()) || Stream::of(call).is_some_and(|stream| self.reaches(&stream))
    }

    /// What would order the work of this call after it.
    fn what_would_tell(&self, call: &Call) -> String {
        let stream = |name: &str| match name {
            "default" | "legacy" => "the default stream".to_owned(),
            "per-thread" => "the thread's own stream".to_owned(),
            name => name.to_owned(),
        };
        let event = match (self.events.first(), self.streams.first()) {
            (Some(event), _) => format!("{event}, which is recorded after the first,"),
            (None, Some(first)) => {
                format!(
                    "an event that is recorded on {} after the first (cuEventRecord)",
                    stream(&first.name)
                )
            }
            (None, None) => return "the other thread has to wait for the first, too".to_owned(),
        };
        match name_of_stream(call) {
            Some(name) => {
                format!("{} waits for {event} before the second (cuStreamWaitEvent)", stream(&name))
            }
            None => format!("the host waits for {event} before the second (cuEventSynchronize)"),
        }
    }

    /// Whether work submitted to this stream now is ordered after it.
    fn reaches(&self, stream: &Stream) -> bool {
        let joined = |one: &Stream, other: &Stream| one.is_default() && !self.is_apart(other);
        let is_after = |known: &Stream| {
            // The name of a created stream is unique across contexts.
            let is_same = (&known.name, known.thread) == (&stream.name, stream.thread);
            let is_here = known.may_be_of(stream.context);
            (is_same && (is_here || stream.is_created()))
                || (is_here && (joined(known, stream) || joined(stream, known)))
        };
        self.streams.iter().any(is_after)
    }

    /// False unless it was created as non-blocking.
    fn is_apart(&self, stream: &Stream) -> bool {
        stream.is_created() && self.apart.get(&stream.name).copied().unwrap_or(true)
    }

    fn call(&mut self, call: &Call) {
        // A failed call submitted, recorded and awaited nothing.
        if call.answer() != Some(CUresult::SUCCESS) {
            return;
        }
        self.of_graphs
            .extend(call.end.get().and_then(|end| Some(end.recorded_by_node.as_ref()?.to_string())));
        if call.name() == "cuGraphLaunch" {
            self.events.retain(|event| !self.of_graphs.contains(event));
        }
        let stream = Stream::of(call);
        match call.name() {
            "cuStreamCreate" | "cuStreamCreateWithPriority" => {
                let flags =
                    call.argument("Flags").or(call.argument("flags")).and_then(|flags| flags.integer());
                // CU_STREAM_NON_BLOCKING
                let is_apart = flags.is_some_and(|flags| flags & 1 == 1);
                self.apart.extend(call.argument("phStream").map(|stream| (stream.to_string(), is_apart)));
            }
            "cuEventRecord" | "cuEventRecordWithFlags" => {
                let Some(event) = argument(call, "hEvent") else { return };
                self.events.retain(|known| *known != event);
                if self.knows(call) {
                    self.events.push(event);
                    // On a default stream, the record is work that waits for other streams.
                    stream.into_iter().for_each(|stream| learn(&mut self.streams, stream));
                }
            }
            "cuStreamWaitEvent" => {
                let waits = argument(call, "hEvent").is_some_and(|event| self.events.contains(&event));
                stream.filter(|_| waits).into_iter().for_each(|stream| learn(&mut self.streams, stream));
            }
            "cuEventDestroy_v2" => {
                let event = argument(call, "hEvent");
                self.events.retain(|known| event.as_ref() != Some(known));
            }
            "cuEventSynchronize" | "cuEventQuery"
                if argument(call, "hEvent").is_some_and(|event| self.events.contains(&event)) =>
            {
                learn(&mut self.threads, call.thread());
            }
            // Work of other contexts is not awaited.
            "cuCtxSynchronize" | "cuCtxSynchronize_v2"
                if self.streams.iter().any(|known| known.may_be_of(call.context)) =>
            {
                learn(&mut self.threads, call.thread());
            }
            // Work that a thread with this knowledge submits is ordered after it, and so is later work on that
            // stream.
            _ if self.knows(call) => {
                stream
                    .filter(|_| submits(call))
                    .into_iter()
                    .for_each(|stream| learn(&mut self.streams, stream));
                if waits(call) != Waits::Never {
                    learn(&mut self.threads, call.thread());
                }
            }
            _ => {}
        }
    }
}

/// The name of the stream to which a call submits its work.
fn name_of_stream(call: &Call) -> Option<String> {
    if let Some(launch) = call.launch() {
        return Some(launch.stream().to_string());
    }
    let stream = call.argument("hStream").or(call.argument("stream")).map(|stream| stream.to_string());
    // Copies and fills without a stream use the default stream.
    let is_default = call.name().starts_with("cuMemcpy") || call.name().starts_with("cuMemset");
    stream.or(is_default.then(|| "default".to_owned()))
}

/// Whether the call submits work to its stream. Of the functions named after streams, most only ask about them or change them.
fn submits(call: &Call) -> bool {
    const WORK: [&str; 5] = ["WaitValue", "WriteValue", "BatchMemOp", "AttachMem", "AddCallback"];
    let of_stream = call.name().strip_prefix("cuStream");
    of_stream.is_none_or(|rest| WORK.iter().any(|work| rest.starts_with(work)))
}

/// What is done when a call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// Nothing.
    Never,
    /// The work before it on its stream.
    ForEarlier,
    /// Its own work, too.
    ForItself,
}

/// CUDA Driver API, API synchronization behavior: the host does not wait for copies within the device, and of memory that is not
/// pinned only for the copy to the staging buffer.
fn waits(call: &Call) -> Waits {
    let is_pinned = |name| call.argument(name).is_some_and(|value| value.object().is_some());
    let on_device = |name| {
        let kind = call.argument(name).and_then(|value| Some(value.object()?.kind()));
        kind.is_some_and(|kind| !matches!(kind, Kind::HostMemory | Kind::Registration))
    };
    match call.name() {
        _ if call.answer() != Some(CUresult::SUCCESS) => Waits::Never,
        "cuStreamSynchronize" | "cuStreamQuery" | "cuMemcpyDtoH_v2" | "cuMemcpyAtoH_v2" => Waits::ForItself,
        "cuMemcpyHtoD_v2" | "cuMemcpyHtoA_v2" if is_pinned("srcHost") => Waits::ForItself,
        "cuMemcpyHtoD_v2" | "cuMemcpyHtoA_v2" => Waits::ForEarlier,
        "cuMemcpy" if on_device("dst") && on_device("src") => Waits::Never,
        "cuMemcpy" if on_device("dst") && !is_pinned("src") => Waits::ForEarlier,
        "cuMemcpy" => Waits::ForItself,
        _ => Waits::Never,
    }
}

/// Adds what a list does not have yet.
fn learn<T: PartialEq>(list: &mut Vec<T>, new: T) {
    if !list.contains(&new) {
        list.push(new);
    }
}

fn argument(call: &Call, name: &str) -> Option<String> {
    call.argument(name).filter(|value| matches!(value, Value::Object(_))).map(|value| value.to_string())
}
