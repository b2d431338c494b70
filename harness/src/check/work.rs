//! The work that successful calls submit to streams, and its dependencies.

use super::Inner;
use super::area::Area;
use super::call::Call;
use super::graphs::{self, Captured};
use super::launch::Launch;
use super::order::{Access, Moment, Stream};
use super::rule::{Finding, Rule};
use super::sides::{Side, Where};
use super::state::{Launched, State};
use super::walk::How;
use crate::current;
use crate::functions::{Plain, Type};
use crate::kind::Kind;
use crate::nodes::Node;
use crate::objects::Place;
use crate::value::ObjectName;
use std::sync::Arc;

/// The information about a call after it has returned.
pub(super) struct After {
    /// The handle of the object that it created.
    pub(super) made: u64,
    pub(super) ended: Vec<Place>,
    /// Whether its stream is being captured, so that it submits nothing to a device.
    pub(super) is_captured: bool,
    /// The capture of which it has become part, if that matters; for a call that ends a capture, that capture.
    pub(super) captured: Option<Captured>,
    /// Its change of a graph node.
    pub(super) node: Option<Node>,
    /// The work of the node that it created or changed, if any.
    pub(super) does: Option<graphs::Node>,
    /// What it copies or fills.
    pub(super) sides: Vec<Side>,
}

/// How a copy or fill is submitted.
struct Submitted {
    stream: u64,
    waits: Waits,
}

/// Whether the host knows, after the call, that the work is done.
enum Waits {
    Never,
    Always,
    /// Only if the memory that it writes is unknown: if that is unpinned host memory, the copy is complete when the call returns. Host
    /// memory that it reads may be reused then, but the copy may not be on the device yet.
    IfUnknown,
}

impl Submitted {
    /// `None` for calls that have a special order, such as copies between devices without a stream.
    fn of(call: &Call<'_>) -> Option<Submitted> {
        let name = call.function.name;
        let stream = stream_of(call).unwrap_or(0);
        let waits = match name {
            "cuMemcpyPeer" | "cuMemcpy3DPeer" => return None,
            "cuMemcpyDtoD_v2" | "cuMemcpyDtoA_v2" | "cuMemcpyAtoD_v2" | "cuMemcpyAtoA_v2" => Waits::Never,
            _ if name.starts_with("cuMemset") => Waits::Never,
            _ if name.contains("Async") => Waits::IfUnknown,
            _ if name.starts_with("cuMemcpy") => Waits::Always,
            _ => return None,
        };
        Some(Submitted { stream, waits })
    }
}

/// The stream among the arguments.
pub(super) fn stream_of(call: &Call<'_>) -> Option<u64> {
    let parameters = call.function.parameters.iter().zip(call.words);
    let mut streams = parameters.filter(|(p, _)| p.ty == Type::Plain(Plain::Handle(Kind::Stream)));
    streams.next().map(|(_, word)| *word)
}

impl State {
    /// The identity of a stream for the clocks.
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

    /// The object whose memory is used, the part that is used, and a name for its begin.
    fn used(&self, side: &Side) -> Option<(Place, Area, ObjectName)> {
        let (place, area, at) = match side.place {
            Where::Memory { start, pitch, rows } => {
                let (place, offset) = self.objects.memory_at(start)?;
                let area = Area::new(start, side.size, pitch, rows)?;
                (place, area, self.objects.at(place)?.name.plus(offset))
            }
            // In bytes of the array.
            Where::Array { handle, at: [x, y, z] } => {
                let has = self.extent(handle)?.size;
                let row = z.checked_mul(has.height)?.checked_add(y)?;
                let start = row.checked_mul(has.width)?.checked_add(x)?;
                let place = self.objects.find(Kind::Array, handle)?;
                (place, Area::new(start, side.size, has.width, has.height)?, self.objects.at(place)?.name)
            }
            Where::Bytes { handle, offset } => {
                self.extent(handle)?;
                let place = self.objects.find(Kind::Array, handle)?;
                (place, Area::range(offset, side.size.width)?, self.objects.at(place)?.name)
            }
        };
        self.objects.at(place).filter(|object| object.is_live())?;
        Some((place, area, at))
    }

    /// Records an access, and returns a finding if it races.
    pub(super) fn access(
        &mut self,
        call: &Call<'_>,
        what: &Arc<str>,
        side: &Side,
        stream: u64,
        at: Moment,
    ) -> Option<Finding> {
        let (place, area, memory) = self.used(side)?;
        let new = Access { area, writes: side.writes, call: call.number, what: what.clone(), stream, at };
        let old = self.order.access(place, &new)?;
        let does = |writes| if writes { "writes" } else { "reads" };
        let [own, others] = self.stream_names((stream, at), (old.stream, old.at));
        let message = format!(
            "{what} {} {} at {memory} on {own}, and {} of call {} {} there on {others}: nothing orders the two",
            does(side.writes),
            side.size,
            old.what,
            old.call,
            does(old.writes),
        );
        Some(call.finding(Rule::StreamRace, message))
    }

    fn launched_on(&mut self, call: &Call<'_>, launch: Launch) -> Vec<Finding> {
        let Launch { kernel, stream, touches, records, .. } = launch;
        let key = self.stream(call, stream);
        let at = self.order.work(key);
        for event in records {
            let event = self.objects.meet(Kind::Event, event);
            self.order.record_elsewhere(event);
        }
        let mut findings = Vec::new();
        for touch in touches.iter().filter(|touch| touch.how != How::Shared) {
            findings.extend(self.access(call, &kernel.name, &Side::touched(touch), stream, at));
        }
        findings.iter_mut().for_each(|finding| finding.kernel = Some(kernel.name.to_string()));
        // One finding is enough for a launch.
        findings.truncate(1);
        self.launched(Launched { call: call.number, kernel, stream, at: Some(at) });
        findings
    }

    /// Whether the driver has allocated or pinned the memory at an address, and it has not been freed.
    fn is_known(&self, address: u64) -> bool {
        let object = self.objects.memory_at(address).and_then(|(place, _)| self.objects.at(place));
        object.is_some_and(|object| object.is_live())
    }

    fn copied(&mut self, call: &Call<'_>, how: &Submitted, sides: &[Side]) -> Vec<Finding> {
        let what: Arc<str> = call.function.name.into();
        let key = self.stream(call, how.stream);
        let at = self.order.work(key);
        let mut findings = Vec::new();
        for side in sides {
            findings.extend(self.access(call, &what, side, how.stream, at));
        }
        let is_unknown = |side: &Side| match side.place {
            Where::Memory { start, .. } => side.writes && !self.is_known(start),
            _ => false,
        };
        let waits = match how.waits {
            Waits::Never => false,
            Waits::Always => true,
            Waits::IfUnknown => sides.iter().any(is_unknown),
        };
        if waits {
            self.order.host_waits(key);
        }
        findings.truncate(2);
        findings
    }

    /// To be called before a call whose work may tell the host or other streams, before the call has returned, that earlier work
    /// of its stream is done.
    pub(super) fn tells(&mut self, call: &Call<'_>, stream: u64) {
        let key = self.stream(call, stream);
        if orders_elsewhere(call.function.name) || self.graphs_wait && call.function.name == "cuGraphLaunch" {
            self.order.wait_for_all(key);
        }
        self.order.host_waits(key);
    }

    /// Calls that create or release memory, streams and events in the order of a stream.
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
            // What the host or other streams learn from these is not visible.
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
            // All streams of the context wait, including those created later.
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
            // Green contexts share work with other contexts.
            ("cuCtxSynchronize", ..) if !self.is_green => self.order.host_waits_for_context(call.context),
            ("cuCtxSynchronize_v2", ..) if !self.is_green => self.order.host_waits_for_context(call.word(0)),
            (name, None, _) if waits_for_all(name) => self.order.host_waits_for_all(),
            _ => {}
        }
        Vec::new()
    }

    /// Memory that exists, or no longer exists, from a moment of a stream on.
    fn in_stream_order(&mut self, call: &Call<'_>, key: Stream, stream: u64, after: &After) -> Vec<Finding> {
        let at = self.order.work(key);
        let what: Arc<str> = call.function.name.into();
        let ends = call.function.name == "cuMemFreeAsync";
        let place =
            if ends { after.ended.first().copied() } else { self.objects.find(Kind::Memory, after.made) };
        let Some((place, object)) = place.and_then(|place| Some((place, self.objects.at(place)?))) else {
            return Vec::new();
        };
        let name = object.name;
        let Some(area) = Area::range(object.address, object.bytes) else { return Vec::new() };
        let new = Access { area, writes: true, call: call.number, what, stream, at };
        let old = self.order.access(place, &new);
        if ends {
            self.order.freed(place);
        }
        let Some(old) = old else { return Vec::new() };
        let [own, others] = self.stream_names((stream, at), (old.stream, old.at));
        let message = format!(
            "cuMemFreeAsync frees {name} on {own}, and {} of call {} uses it on {others}: nothing orders the two",
            old.what, old.call
        );
        vec![call.finding(Rule::StreamRace, message)]
    }

    /// Records a call whose stream is being captured, so that it submits nothing to a device.
    fn captured(
        &mut self,
        call: &Call<'_>,
        launch: Option<Launch>,
        sides: Vec<Side>,
        captured: Option<Captured>,
    ) {
        self.captured_in_graph(call, launch.as_ref(), sides, captured);
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

    /// Forgets an unloaded image and its kernels.
    fn unloaded(&mut self, place: Place) {
        self.images.remove(&place);
        let objects = &self.objects;
        self.kernels.retain(|(kernel, _), _| objects.at(*kernel).is_some_and(|kernel| kernel.is_live()));
    }

    /// Records the objects that a call has created or destroyed. Those that it destroyed are determined before the call, because
    /// afterwards another object may have the handle.
    fn note(&mut self, call: &Call<'_>, after: &mut After) -> Option<Finding> {
        let mut early = None;
        for place in after.ended.iter().copied() {
            match self.objects.at(place).map(|object| object.name.kind().family()) {
                Some(Kind::Stream) => self.order.gone(place),
                Some(Kind::Event) => self.order.event_gone(place),
                // It is freed in stream order.
                Some(Kind::Memory) if call.function.name == "cuMemFreeAsync" => {}
                Some(kind @ (Kind::Memory | Kind::Array)) => {
                    self.order.freed(place);
                    if kind == Kind::Array {
                        self.arrays.remove(&place);
                    }
                }
                Some(Kind::HostMemory | Kind::Registration) => {
                    early = early.or(self.freed_early(call, place));
                    self.order.freed(place);
                }
                Some(Kind::Graph) => {
                    self.graphs.remove(&place);
                    self.clones.retain(|_, (_, clone)| *clone != place);
                }
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
        if call.function.name == "cuStreamEndCapture" {
            self.capture_ended(call, after.captured.map_or(0, |ended| ended.id), after.made);
        }
        self.graph_changed(call, after.made, after.does.take());
        early
    }

    /// Host memory that the program releases while work that uses it may still be running: no documentation says that
    /// the call waits.
    fn freed_early(&mut self, call: &Call<'_>, place: Place) -> Option<Finding> {
        let (does, done) = match call.function.name {
            "cuMemFreeHost" => ("frees", "is freed"),
            "cuMemHostUnregister" => ("unregisters", "is unregistered"),
            // It is destroyed with its context.
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
    /// Records the work that a successful call has submitted to a stream.
    pub(super) fn give(
        &self,
        call: &Call<'_>,
        launch: Option<Launch>,
        may_capture: bool,
        mut after: After,
    ) -> Vec<Finding> {
        let state = &mut *self.lock();
        state.capturing -= usize::from(may_capture);
        let early = if launch.is_none() { state.note(call, &mut after) } else { None };
        if after.is_captured {
            state.captured(call, launch, after.sides, after.captured);
            return Vec::new();
        }
        if let Some(launch) = launch {
            return state.launched_on(call, launch);
        }
        let findings = match Submitted::of(call).filter(|_| !after.sides.is_empty()) {
            Some(how) => state.copied(call, &how, &after.sides),
            None => state.ordered(call, stream_of(call), &after),
        };
        early.into_iter().chain(findings).collect()
    }
}

/// Whether other streams, processes or the host may observe it, or it waits for them.
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

/// Whether a call submits work that may tell others that earlier work of the stream is done.
pub(super) fn may_tell(name: &str) -> bool {
    name == "cuGraphLaunch" || waits_in_a_graph(name)
}

/// Whether a graph that has captured such a call may wait for work outside of the graph.
pub(super) fn waits_in_a_graph(name: &str) -> bool {
    orders_elsewhere(name)
        || ["cuLaunchHostFunc", "cuStreamAddCallback"].iter().any(|one| name.starts_with(one))
}

/// Whether a call with a stream submits work to it.
fn gives_work(name: &str) -> bool {
    ["cuMemcpy", "cuMemset", "cuMemPrefetch", "cuLaunch", "cuGraphUpload", "cuStreamAttach", "cuMemMapArray"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Calls after which all work is done, or that may order streams as a side effect.
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
