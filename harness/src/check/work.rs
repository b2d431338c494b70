//! The work that successful calls submit to streams, and what it waits for.

use super::Inner;
use super::call::Call;
use super::graphs;
use super::launch::Launch;
use super::order::{Access, Moment, Stream};
use super::rule::{Finding, Rule};
use super::state::{Launched, State};
use super::walk::How;
use crate::current;
use crate::functions::{Plain, Type};
use crate::kind::Kind;
use crate::nodes::Node;
use crate::objects::Place;
use std::sync::Arc;

/// A range of addresses: start and bytes.
pub(super) type Range = (u64, u64);

/// What is known after a call.
pub(super) struct After {
    /// The handle of what it made.
    pub(super) made: u64,
    pub(super) ended: Vec<Place>,
    /// Its stream is captured: it gives nothing to a device.
    pub(super) is_captured: bool,
    /// What it did to a node of a graph.
    pub(super) node: Option<Node>,
    /// What the node does, if it made or changed one.
    pub(super) does: Option<graphs::Node>,
}

/// Work that copies or fills.
pub(super) struct Piece {
    stream: u64,
    pub(super) writes: Range,
    pub(super) reads: Option<Range>,
    waits: Waits,
}

/// Whether the host knows afterwards that it is done.
enum Waits {
    Never,
    Always,
    /// If one of both is memory that is not known: where that is the host's, it is copied before the call returns.
    IfUnknown,
}

impl Piece {
    /// What a call copies or fills, byte for byte.
    pub(super) fn of(call: &Call<'_>) -> Option<Piece> {
        let [a, b, count, stream] = [call.word(0), call.word(1), call.word(2), call.word(3)];
        let copy = |stream, waits| Some(Piece { stream, writes: (a, count), reads: Some((b, count)), waits });
        let fill = |stream, unit: u64| {
            let writes = (a, count.saturating_mul(unit));
            Some(Piece { stream, writes, reads: None, waits: Waits::Never })
        };
        match call.function.name {
            "cuMemcpyHtoD_v2" | "cuMemcpyDtoH_v2" | "cuMemcpy" => copy(0, Waits::Always),
            "cuMemcpyDtoD_v2" => copy(0, Waits::Never),
            "cuMemcpyDtoHAsync_v2" | "cuMemcpyAsync" => copy(stream, Waits::IfUnknown),
            // The program's memory may be used again when the call returns, but what was in it may not be on the device yet.
            "cuMemcpyHtoDAsync_v2" | "cuMemcpyDtoDAsync_v2" => copy(stream, Waits::Never),
            "cuMemsetD8_v2" => fill(0, 1),
            "cuMemsetD16_v2" => fill(0, 2),
            "cuMemsetD32_v2" => fill(0, 4),
            "cuMemsetD8Async" => fill(stream, 1),
            "cuMemsetD16Async" => fill(stream, 2),
            "cuMemsetD32Async" => fill(stream, 4),
            _ => None,
        }
    }
}

/// The stream among the arguments.
pub(super) fn stream_of(call: &Call<'_>) -> Option<u64> {
    let parameters = call.function.parameters.iter().zip(call.words);
    let mut streams = parameters.filter(|(p, _)| p.ty == Type::Plain(Plain::Handle(Kind::Stream)));
    streams.next().map(|(_, word)| *word)
}

impl State {
    /// A stream as the clocks know it.
    fn stream(&mut self, call: &Call<'_>, handle: u64) -> Stream {
        match handle {
            0 | 1 => Stream::Legacy(call.context),
            2 => Stream::OfThread(call.context, current::thread()),
            _ => {
                let place = self.objects.meet(Kind::Stream, handle);
                let context = self.objects.at(place).map_or(0, |object| object.context);
                Stream::Made(place, context)
            }
        }
    }

    /// Notes one access; what it races with.
    pub(super) fn access(
        &mut self,
        call: &Call<'_>,
        what: &Arc<str>,
        writes: bool,
        range: Range,
        stream: u64,
        at: Moment,
    ) -> Option<Finding> {
        let (start, bytes) = range;
        let (place, offset) = self.objects.memory_at(start)?;
        self.objects.at(place).filter(|object| object.is_live() && bytes != 0)?;
        let end = start.saturating_add(bytes);
        let new = Access { start, end, writes, call: call.number, what: what.clone(), stream, at };
        let old = self.order.access(place, &new)?;
        let does = |writes| if writes { "writes" } else { "reads" };
        let memory = self.objects.at(place)?.name.plus(offset);
        let (own, others) = (self.stream_name(stream), self.stream_name(old.stream));
        let message = format!(
            "{what} {} {bytes} bytes at {memory} on {own}, and {} of call {} {} there on {others}: nothing orders the two",
            does(writes),
            old.what,
            old.call,
            does(old.writes),
        );
        Some(call.finding(Rule::StreamRace, message))
    }

    fn launched_on(&mut self, call: &Call<'_>, launch: Launch) -> Vec<Finding> {
        let Launch { kernel, stream, touches, records } = launch;
        let key = self.stream(call, stream);
        let at = self.order.work(key);
        for event in records {
            let event = self.objects.meet(Kind::Event, event);
            self.order.record_elsewhere(event);
        }
        let mut findings = Vec::new();
        for touch in touches.iter().filter(|touch| touch.how != How::Shared) {
            let range = (touch.address, touch.bytes);
            findings.extend(self.access(call, &kernel.name, touch.how == How::Write, range, stream, at));
        }
        findings.iter_mut().for_each(|finding| finding.kernel = Some(kernel.name.to_string()));
        // One is enough for a launch.
        findings.truncate(1);
        self.launched(Launched { call: call.number, kernel, stream, at: Some(at) });
        findings
    }

    /// Whether the driver has made or pinned the memory at an address, and not freed it since.
    fn is_known(&self, address: u64) -> bool {
        let object = self.objects.memory_at(address).and_then(|(place, _)| self.objects.at(place));
        object.is_some_and(|object| object.is_live())
    }

    fn copied(&mut self, call: &Call<'_>, piece: &Piece) -> Vec<Finding> {
        let what: Arc<str> = call.function.name.into();
        let key = self.stream(call, piece.stream);
        let at = self.order.work(key);
        let mut findings = Vec::new();
        findings.extend(self.access(call, &what, true, piece.writes, piece.stream, at));
        if let Some(reads) = piece.reads {
            findings.extend(self.access(call, &what, false, reads, piece.stream, at));
        }
        let waits = match piece.waits {
            Waits::Never => false,
            Waits::Always => true,
            Waits::IfUnknown => {
                [Some(piece.writes), piece.reads].iter().flatten().any(|(start, _)| !self.is_known(*start))
            }
        };
        if waits {
            self.order.host_waits(key);
        }
        findings
    }

    /// What a call is about to give to a stream may tell the host or others, before the call has returned, that the work before it
    /// is done.
    pub(super) fn tells(&mut self, call: &Call<'_>, stream: u64) {
        let key = self.stream(call, stream);
        if orders_elsewhere(call.function.name) || self.graphs_wait && call.function.name == "cuGraphLaunch" {
            self.order.wait_for_all(key);
        }
        self.order.host_waits(key);
    }

    /// Calls that make memory, streams and events in the order of a stream, or end them.
    fn ordered(&mut self, call: &Call<'_>, stream: Option<u64>, after: &After) -> Vec<Finding> {
        let event = self.objects.find(Kind::Event, call.word(0));
        let key = stream.map(|stream| self.stream(call, stream));
        match (call.function.name, key, event) {
            ("cuEventRecord" | "cuEventRecordWithFlags", Some(key), Some(event)) => {
                self.order.record(event, key)
            }
            ("cuStreamWaitEvent", Some(key), _) => {
                let event = self.objects.meet(Kind::Event, call.word(1));
                self.order.wait(key, event);
            }
            ("cuStreamSynchronize" | "cuStreamQuery", Some(key), _) => self.order.host_waits(key),
            ("cuEventSynchronize" | "cuEventQuery", _, Some(event)) => self.order.host_waits_for(event),
            ("cuGraphLaunch", Some(key), _) => return self.graph_launched(call, key, stream.unwrap_or(0)),
            // What the host or others learn from these is not seen.
            ("cuLaunchHostFunc" | "cuLaunchHostFunc_v2" | "cuStreamAddCallback", Some(key), _) => {
                self.order.host_waits(key);
            }
            (name, Some(key), _) if orders_elsewhere(name) => {
                self.order.wait_for_all(key);
                self.order.host_waits(key);
            }
            ("cuCtxRecordEvent" | "cuGreenCtxRecordEvent", ..) => {
                let event = self.objects.meet(Kind::Event, call.word(1));
                self.order.record_all(event);
            }
            // All streams of the context wait, also those that are made later.
            ("cuCtxWaitEvent" | "cuGreenCtxWaitEvent", ..) => {
                let event = self.objects.meet(Kind::Event, call.word(1));
                self.order.host_waits_for(event);
            }
            // Another process may record it.
            ("cuIpcGetEventHandle", ..) => {
                let event = self.objects.meet(Kind::Event, call.word(1));
                self.order.record_elsewhere(event);
            }
            ("cuMemAllocAsync" | "cuMemAllocFromPoolAsync" | "cuMemFreeAsync", Some(key), _) => {
                return self.in_stream_order(call, key, stream.unwrap_or(0), after);
            }
            (name, Some(key), _) if gives_work(name) => {
                self.order.work(key);
            }
            (name, None, _) if waits_for_all(name) => self.order.host_waits_for_all(),
            _ => {}
        }
        Vec::new()
    }

    /// Memory that is there, or no longer, from a moment of a stream on.
    fn in_stream_order(&mut self, call: &Call<'_>, key: Stream, stream: u64, after: &After) -> Vec<Finding> {
        let at = self.order.work(key);
        let what: Arc<str> = call.function.name.into();
        let ends = call.function.name == "cuMemFreeAsync";
        let place =
            if ends { after.ended.first().copied() } else { self.objects.find(Kind::Memory, after.made) };
        let Some((place, object)) = place.and_then(|place| Some((place, self.objects.at(place)?))) else {
            return Vec::new();
        };
        let (start, bytes) = (object.address, object.bytes);
        let name = object.name;
        let new = Access {
            start,
            end: start.saturating_add(bytes),
            writes: true,
            call: call.number,
            what,
            stream,
            at,
        };
        let old = self.order.access(place, &new);
        if ends {
            self.order.freed(place);
        }
        let Some(old) = old else { return Vec::new() };
        let (own, others) = (self.stream_name(stream), self.stream_name(old.stream));
        let message = format!(
            "cuMemFreeAsync frees {name} on {own}, and {} of call {} uses it on {others}: nothing orders the two",
            old.what, old.call
        );
        vec![call.finding(Rule::StreamRace, message)]
    }

    /// A capture is under way on the call's stream: it gives nothing to a device.
    fn captured(&mut self, call: &Call<'_>, launch: Option<Launch>) {
        self.captured_in_graph(call, launch.as_ref());
        if call.function.name.starts_with("cuEventRecord") {
            let event = self.objects.meet(Kind::Event, call.word(0));
            // CU_EVENT_RECORD_EXTERNAL: the graph records it whenever it runs.
            match call.function.name == "cuEventRecordWithFlags" && call.word(2) & 1 == 1 {
                true => self.order.record_elsewhere(event),
                false => self.order.record_in_capture(event),
            }
        }
        // CU_EVENT_WAIT_EXTERNAL
        let is_external = call.function.name == "cuStreamWaitEvent" && call.word(2) & 1 == 1;
        self.graphs_wait |= is_external || waits_in_a_graph(call.function.name);
        if let Some(Launch { kernel, stream, .. }) = launch {
            self.launched(Launched { call: call.number, kernel, stream, at: None });
        }
    }

    /// An image is gone, and what is known of its kernels, which are gone too.
    fn unloaded(&mut self, place: Place) {
        self.images.remove(&place);
        let objects = &self.objects;
        self.kernels.retain(|(kernel, _), _| objects.at(*kernel).is_some_and(|kernel| kernel.is_live()));
    }

    /// Notes what a call has made or ended. What it ended is known from before the call: afterwards another may have the handle.
    fn note(&mut self, call: &Call<'_>, after: &mut After) -> Option<Finding> {
        let mut early = None;
        for place in after.ended.iter().copied() {
            match self.objects.at(place).map(|object| object.name.kind().family()) {
                Some(Kind::Stream) => self.order.gone(place),
                Some(Kind::Event) => self.order.event_gone(place),
                // It is freed in the order of a stream.
                Some(Kind::Memory) if call.function.name == "cuMemFreeAsync" => {}
                Some(Kind::Memory) => self.order.freed(place),
                Some(Kind::HostMemory | Kind::Registration) => {
                    early = early.or(self.freed_early(call, place));
                    self.order.freed(place);
                }
                Some(Kind::Graph) => drop(self.graphs.remove(&place)),
                Some(Kind::ExecutableGraph) => {
                    self.graphs.remove(&place);
                    self.order.event_gone(place);
                }
                Some(Kind::Module | Kind::Library) => self.unloaded(place),
                _ => {}
            }
        }
        match call.function.name {
            "cuStreamCreate" | "cuStreamCreateWithPriority" => {
                // CU_STREAM_NON_BLOCKING
                let is_apart = call.word(1) & 1 == 1;
                if let Some(stream) = self.objects.find(Kind::Stream, after.made) {
                    self.order.made(stream, is_apart);
                }
            }
            "cuEventCreate" => {
                if let Some(event) = self.objects.find(Kind::Event, after.made) {
                    self.order.event_made(event);
                }
            }
            _ => {}
        }
        match after.node {
            Some(Node::Records(event)) => {
                let event = self.objects.meet(Kind::Event, event);
                self.order.record_elsewhere(event);
            }
            Some(Node::Waits) => self.graphs_wait = true,
            None => {}
        }
        self.graph_changed(call, after.made, after.does.take());
        early
    }

    /// Host memory that the program gives back while work that uses it may go on: no document says that the call waits.
    fn freed_early(&mut self, call: &Call<'_>, place: Place) -> Option<Finding> {
        let (does, done) = match call.function.name {
            "cuMemFreeHost" => ("frees", "is freed"),
            "cuMemHostUnregister" => ("unregisters", "is unregistered"),
            // With its context.
            _ => return None,
        };
        let access = self.order.pending(place)?.clone();
        let (memory, stream) = (self.objects.at(place)?.name, self.stream_name(access.stream));
        let uses = if access.writes { "writes" } else { "reads" };
        let message = format!(
            "{} {does} {memory}, which {} of call {} {uses} on {stream}: the host does not wait for that before the memory {done}",
            call.function.name, access.what, access.call
        );
        Some(call.finding(Rule::StreamRace, message))
    }
}

impl Inner {
    /// What a call that succeeded gives to a stream.
    pub(super) fn give(&self, call: &Call<'_>, launch: Option<Launch>, mut after: After) -> Vec<Finding> {
        let state = &mut *self.lock();
        let early = if launch.is_none() { state.note(call, &mut after) } else { None };
        if after.is_captured {
            state.captured(call, launch);
            return Vec::new();
        }
        if let Some(launch) = launch {
            return state.launched_on(call, launch);
        }
        let findings = match Piece::of(call) {
            Some(piece) => state.copied(call, &piece),
            None => state.ordered(call, stream_of(call), &after),
        };
        early.into_iter().chain(findings).collect()
    }
}

/// Whether other streams, processes or the host may see it, or it waits for them.
fn orders_elsewhere(name: &str) -> bool {
    let starts = [
        "cuStreamWriteValue",
        "cuStreamWaitValue",
        "cuStreamBatchMemOp",
        "cuSignalExternal",
        "cuWaitExternal",
        "cuGraphics",
    ];
    starts.iter().any(|start| name.starts_with(start))
}

/// Whether a call gives a stream what may tell others of the work before it.
pub(super) fn may_tell(name: &str) -> bool {
    name == "cuGraphLaunch" || waits_in_a_graph(name)
}

/// Whether a graph that has captured such a call may wait for what is not in it.
pub(super) fn waits_in_a_graph(name: &str) -> bool {
    orders_elsewhere(name)
        || ["cuLaunchHostFunc", "cuStreamAddCallback"].iter().any(|one| name.starts_with(one))
}

/// Whether a call with a stream gives it work.
fn gives_work(name: &str) -> bool {
    ["cuMemcpy", "cuMemset", "cuMemPrefetch", "cuLaunch", "cuGraphUpload", "cuStreamAttach", "cuMemMapArray"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Calls after which everything is done, or that may order streams by the way.
fn waits_for_all(name: &str) -> bool {
    let names = [
        "cuCtxSynchronize",
        "cuCtxSynchronize_v2",
        "cuMemFree_v2",
        "cuMemFreeHost",
        "cuMemHostUnregister",
        "cuMemAlloc_v2",
        "cuMemAllocPitch_v2",
        "cuMemAllocHost_v2",
        "cuMemHostAlloc",
        "cuModuleUnload",
        "cuLibraryUnload",
        "cuCtxDestroy_v2",
        "cuDevicePrimaryCtxRelease_v2",
        "cuDevicePrimaryCtxReset_v2",
        "cuArrayDestroy",
        "cuMipmappedArrayDestroy",
        "cuMemUnmap",
        "cuMemHostRegister_v2",
        "cuEventElapsedTime_v2",
        "cuEventElapsedTime_v1",
    ];
    // Copies of other shapes, and between devices.
    names.contains(&name) || (name.starts_with("cuMemcpy") && !name.contains("Async"))
}
