//! Graphs recorded from streams.

#![allow(unsafe_code)] // Calls of the driver with live streams; the scope ends what it began.

use cuda_driver_sys::{CUgraph, CUgraphNode, CUresult, CUstreamCaptureMode};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::graph::CudaGraph;
use super::node::{Share, Use, lock};
use super::order::Captured;
use crate::driver::older::{self, RawCaptureInfo};
use crate::driver::{Capture, CaptureStatus, CudaContext, CudaStream, RecordedLaunch, StreamFlags};
use crate::error::Error;
use crate::ordering::Refused;
use crate::trace;

/// Which driver calls by other code break a capture while it lasts (`CUstreamCaptureMode`). Calls of this crate never break one: they
/// are refused, or made in the relaxed mode.
///
/// ```
/// use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let mut x = DeviceBuffer::<u32>::zeroed(&ctx.default_stream(), 100)?;
/// // Other threads may go on using CUDA.
/// let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| x.view_mut().fill(stream, 7))?;
/// assert_eq!(graph.nodes().len(), 1);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureMode {
    /// No thread may allocate, free, or do anything else that cannot be recorded.
    Global,
    /// This thread may not; other threads may.
    ThreadLocal,
    /// All threads may; the capture may be ended on a different thread than it began on.
    Relaxed,
}

impl CaptureMode {
    pub(super) fn raw(self) -> CUstreamCaptureMode {
        match self {
            Self::Global => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            Self::ThreadLocal => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            Self::Relaxed => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        }
    }
}

/// What the driver reports about a capture on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureInfo {
    /// Whether work is recorded. The other fields are meaningful only if it is.
    pub status: CaptureStatus,
    /// A number that no other capture in the process has.
    pub id: u64,
    /// The graph that is being recorded; it belongs to the driver and must not be destroyed.
    pub graph: CUgraph,
    /// The nodes that the next work on the stream will wait for. Empty for a capture that other code began, or that was begun by
    /// hand if another handle than the capturing one asks: that code or handle may submit work in the meantime.
    pub dependencies: Vec<CUgraphNode>,
}

impl CudaGraph {
    /// Records the work that `record` submits to a stream, without running it.
    ///
    /// The stream is created for this; `record` may fork it, and forks that it has not joined are joined at the end.
    /// The capture is always ended, even after an error or a panic. What the work uses is kept alive as long as the
    /// graph can run: the modules of kernels, and buffers that are passed as `slice`, `slice_mut`, `ptr` or `ptr_mut`
    /// or that are copied or set.
    ///
    /// Calls that cannot be recorded, such as waiting for the stream or copying from borrowed host memory, are rejected
    /// ([`Error::is_capture_error`]), and the capture continues.
    ///
    /// The duties of each `unsafe` in `record` hold for every launch of the graph: see [`CudaGraph::add_kernel`].
    ///
    /// ```standalone_crate
    /// use cuda_launch::graph::InstantiateFlags;
    /// use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer, LaunchConfig, cuda_launch};
    /// let ctx = CudaContext::new(0)?;
    /// let stream = ctx.new_stream()?;
    /// let module = ctx.load_module(include_str!("../../examples/kernels/vecadd.ptx"))?;
    /// let a = DeviceBuffer::from_host(&stream, &[1.0f32; 100])?;
    /// let mut sum = DeviceBuffer::<f32>::zeroed(&stream, 100)?;
    /// let mut total = DeviceBuffer::<f32>::zeroed(&stream, 100)?;
    /// let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
    ///     let config = LaunchConfig::for_num_elems(100);
    ///     // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3, 4: the graph keeps and orders them; 5, 6: it writes
    ///     // numbers, and ends.
    ///     unsafe {
    ///         cuda_launch! { kernel: vecadd, module: module, stream: stream, config: config,
    ///                        args: [slice(a), slice(a), slice_mut(sum)] }
    ///     }?;
    ///     total.view_mut().copy_from_device(stream, &sum)
    /// })?;
    /// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
    /// assert_eq!(total.to_host_vec(&stream)?, [2.0; 100]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver calls: `cuStreamCreateWithPriority`, `cuStreamBeginCapture`, `cuStreamEndCapture`, `cuGraphGetNodes`,
    /// `cuGraphNodeGetType`; for forks those of [`CudaStream::join`].
    ///
    /// # Errors
    /// The error of `record`; any error returned by the driver, with the stream: a code from 900 to 908 says what broke
    /// the capture.
    #[doc(alias = "cuStreamBeginCapture")]
    #[doc(alias = "cuStreamEndCapture")]
    pub fn capture(
        context: &CudaContext,
        mode: CaptureMode,
        record: impl FnOnce(&CudaStream) -> Result<(), Error>,
    ) -> Result<CudaGraph, Error> {
        Self::capture_launches(context, mode, record).map(|(graph, _)| graph)
    }

    /// The same, with the launches that have named arguments.
    pub(super) fn capture_launches(
        context: &CudaContext,
        mode: CaptureMode,
        record: impl FnOnce(&CudaStream) -> Result<(), Error>,
    ) -> Result<(CudaGraph, Vec<RecordedLaunch>), Error> {
        let mut scope = Scope::new(context, mode)?;
        let (raw, label) = (scope.stream.raw(), scope.stream.label());
        let asked = || format!("{label}, {mode:?}");
        // SAFETY: the stream lives as long as its handle, which `scope` has; `scope` ends the capture however this
        // function ends, unless a fault or a fork leaves no call to be made.
        context.call("cuStreamBeginCapture", asked, |driver| unsafe {
            let code = driver.cuStreamBeginCapture(raw, mode.raw());
            scope.begun = code == CUresult::SUCCESS;
            code
        })?;
        record(&scope.stream)?;
        let (graph, share, launches) = scope.end()?;
        // Not where this function returns: Rust loses a result that is there when what is dropped after it unwinds.
        drop(scope);
        let nodes = graph.learn_nodes()?;
        let mut table = lock(&graph.table);
        table.captured.push(Captured::new(&nodes, &share));
        table.rest = share;
        drop(table);
        Ok((graph, launches))
    }
}

impl Share {
    /// Ends a record: what the captured work uses, the launches with named arguments, and the streams that took part. The end of those may
    /// unwind, and Rust loses a result that is there when what is dropped after it does so: drop them when nothing is lost.
    pub(super) fn captured(capture: &Capture) -> (Self, Vec<RecordedLaunch>, Vec<CudaStream>) {
        let (memory, recorded) = capture.take_record();
        let memory = memory.into_iter().map(|m| Use { resource: m.resource, written: m.written }).collect();
        let share = Self { memory, objects: recorded.objects, kernels: recorded.kernels };
        (share, recorded.launches, recorded.forks)
    }
}

/// A capture that ends with this value.
pub(super) struct Scope {
    pub(super) stream: CudaStream,
    pub(super) capture: Arc<Capture>,
    /// Whether the driver has begun to record, and was not yet told to end.
    pub(super) begun: bool,
    /// Whether it then said that the capture was broken, or not joined.
    pub(super) broken: bool,
    /// Whether the graph that comes out is ours alone.
    pub(super) owned: bool,
}

impl Scope {
    pub(super) fn new(context: &CudaContext, mode: CaptureMode) -> Result<Self, Error> {
        let capture = Arc::new(Capture::new(context, mode.raw()));
        let stream = CudaStream::made_for(context, StreamFlags::NON_BLOCKING, 0, Some(capture.clone()))?;
        Ok(Self { stream, capture, begun: false, broken: false, owned: true })
    }

    /// Joins the streams that take part and have not been joined; from now on none of them is given work.
    pub(super) fn close(&self) -> Result<(), Error> {
        self.capture.close(&self.stream)
    }

    /// Ends the capture. The graph, what its work uses, and the launches with named arguments.
    fn end(&mut self) -> Result<(CudaGraph, Share, Vec<RecordedLaunch>), Error> {
        let joined = self.close();
        let graph = self.finish()?;
        joined?;
        let (share, launches, forks) = Share::captured(&self.capture);
        drop(forks);
        Ok((graph, share, launches))
    }

    /// Tells the driver to end, once. The graph, or its handle if it is somebody's. After `close`.
    pub(super) fn finish(&mut self) -> Result<CudaGraph, Error> {
        self.begun = false;
        let mut ended = Ended::new(self.stream.context(), self.owned);
        // Called even if the context cannot be made current: otherwise the driver would keep a graph that is being
        // captured into forever.
        self.stream.context().give_back(
            "cuStreamEndCapture",
            || self.stream.label(),
            |driver| {
                // SAFETY: 1: the driver leaves null there, or the graph of the capture, which began on a stream of this context; 2: the
                // driver has made that for this capture, and tells its number here alone; or it is the one that is recorded into, which
                // `Recording` borrows for longer. The stream lives as long as its handle, which this value has; the place outlives the
                // call. No other thread reads what the driver keeps for the capture: that takes a turn, and after `close` nobody has one or
                // gets one.
                let code = unsafe { ended.by(|raw| driver.cuStreamEndCapture(self.stream.raw(), raw)) };
                // Recorded immediately: a `tracing` subscriber may unwind.
                self.broken = BROKEN.contains(&code);
                code
            },
        )?;
        Ok(ended.graph)
    }
}

/// Codes of the end of a capture that was broken, or not joined.
const BROKEN: [CUresult; 2] =
    [CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED];

/// What the end of a capture leaves: its graph has an owner at once, which destroys it after an error or a panic, unless it is somebody's.
struct Ended {
    /// Of nothing before the driver has answered.
    graph: CudaGraph,
    owned: bool,
}

impl Ended {
    fn new(context: &CudaContext, owned: bool) -> Self {
        // SAFETY: 1, 2: null, and not owned.
        Self { graph: unsafe { CudaGraph::adopt(context, std::ptr::null_mut(), false) }, owned }
    }

    /// The answer of `call`, which is given the place for the graph.
    ///
    /// # Safety
    /// 1. What `call` leaves there is null, or a live graph of the context.
    /// 2. If this is to own it, nothing else destroys it. Otherwise it outlives this value, and the graph that is taken out of it.
    unsafe fn by(&mut self, call: impl FnOnce(&mut CUgraph) -> CUresult) -> CUresult {
        let mut raw = std::ptr::null_mut();
        let code = call(&mut raw);
        // Null where the driver refuses to end this capture, but not for an error of earlier work.
        // SAFETY: 1, 2: the caller's duties 1 and 2; null is not owned.
        self.graph = unsafe { CudaGraph::adopt(self.graph.context(), raw, self.owned && !raw.is_null()) };
        code
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // Ends even if a call unwinds: the streams of the capture own the record, which owns its forks.
        let _record = Record(self.capture.clone());
        if self.begun {
            // An end without the forks breaks the capture; the error to tell is the one before.
            let _ = trace::contained(|| self.close());
            let _ = self.finish();
        }
    }
}

/// The record of a capture that is over.
struct Record(Arc<Capture>);

impl Drop for Record {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Captures by hand, for code that cannot use [`CudaGraph::capture`].
impl CudaStream {
    /// Begins to record work submitted to the stream instead of running it, and returns the handle to submit it to:
    /// that handle keeps what the work uses alive, and rejects what would break the capture.
    ///
    /// Driver call: `cuStreamBeginCapture`.
    ///
    /// ```
    /// use cuda_launch::{CaptureMode, CudaContext, DeviceBuffer};
    /// use cuda_launch::graph::InstantiateFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// // SAFETY: 1: it is ended below, on this thread, and `x` lives on; 2, 3: nothing else uses `x` or the stream
    /// // until then.
    /// let capturing = unsafe { stream.begin_capture(CaptureMode::ThreadLocal) }?;
    /// x.view_mut().fill(&capturing, 7.0)?;
    /// // SAFETY: 1, 2: `begin_capture` returned the stream.
    /// let graph = unsafe { capturing.end_capture() }?;
    /// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [7.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver: the legacy stream cannot be captured, nor one that is already being captured.
    ///
    /// # Safety
    /// 1. [`CudaStream::end_capture`] is called on the result, on this thread unless the mode is relaxed. Work given to other
    ///    handles of this stream until then, to streams that wait for one of those (they become part of the capture), and to
    ///    streams that wait for this one by other means than this crate's, uses only what lives as long as the graph and whatever
    ///    is instantiated from it.
    /// 2. Nothing relies on that work being done before the graph is launched.
    /// 3. Until then no other stream is given work on memory that this stream was the last to use, and none of that
    ///    memory is freed: that would wait for this stream, which only records. Nor is another handle of this stream used
    ///    while another thread uses the result.
    #[doc(alias = "cuStreamBeginCapture")]
    pub unsafe fn begin_capture(&self, mode: CaptureMode) -> Result<CudaStream, Error> {
        self.refuse_in_capture("cuStreamBeginCapture")?;
        let asked = || format!("{}, {mode:?}", self.label());
        /// Ends the capture, unless the caller is given its stream.
        struct Begun(Option<CudaStream>);
        impl Drop for Begun {
            fn drop(&mut self) {
                // SAFETY: 1, 2: `begin_capture` created the handle, and no other code has it.
                let ended = self.0.take().map(|stream| unsafe { stream.end_capture() });
                drop(ended);
            }
        }
        let capture = Arc::new(Capture::new(self.context(), mode.raw()));
        let begun = self.context().make(
            "cuStreamBeginCapture",
            asked,
            // SAFETY: the stream lives as long as this handle (`StreamInner`); that the capture ends, and what work the stream is given
            // until then, are the caller's duties 1 to 3, or, where `make` unwinds, `Begun` ends it before any.
            |driver, ()| unsafe { driver.cuStreamBeginCapture(self.raw(), mode.raw()) },
            |()| Begun(Some(self.capturing(capture))),
        );
        begun.map(|mut begun| begun.0.take().unwrap_or_else(|| self.clone()))
    }

    /// Ends a capture and returns the graph. It also ends an invalidated capture, and one that other code began.
    ///
    /// Driver calls: `cuStreamEndCapture`, `cuGraphGetNodes`, `cuGraphNodeGetType`.
    ///
    /// # Errors
    /// The capture has ended, perhaps by another thread. Any error returned by the driver: the stream is not being captured, the
    /// capture was broken or began on another thread, or a participating stream was not joined.
    ///
    /// # Safety
    /// 1. The stream was returned by [`CudaStream::begin_capture`]; or the capture makes a graph of its own, instead of adding to one that
    ///    somebody has (`cuStreamBeginCaptureToGraph`), and what the captured work uses lives as long as that and whatever is instantiated
    ///    from it.
    /// 2. If it was not returned by that, no other thread uses the capture meanwhile.
    #[doc(alias = "cuStreamEndCapture")]
    pub unsafe fn end_capture(&self) -> Result<CudaGraph, Error> {
        self.capture_is_open("cuStreamEndCapture")?;
        // If this thread is in the middle of a submission to it, ending the capture would deadlock.
        drop(self.turn("cuStreamEndCapture")?);
        let capture = self.capture().cloned();
        if capture.as_ref().is_some_and(|capture| !capture.begin_end()) {
            // Another thread was first, and has the record.
            return Err(self.refused(Refused::Ended, "cuStreamEndCapture"));
        }
        // Ends even if the driver reports that the capture was invalidated, and if the call unwinds: the record owns its forks,
        // which own it.
        let record = capture.map(Record);
        // An error of a join occurs again at the end, and is reported there. If a join unwinds, the driver is still told to end the
        // capture, because nothing could do so later.
        let joined = catch_unwind(AssertUnwindSafe(|| record.as_ref().map(|record| record.0.close(self))));
        let mut ended = Ended::new(self.context(), true);
        let told = self.context().give_back(
            "cuStreamEndCapture",
            || self.label(),
            // SAFETY: 1: the driver leaves null there, or the graph of the capture, which began on a stream of this context; 2: the driver
            // made that for this capture, by `begin_capture` or by the caller's duty 1, and tells its number here alone. The stream lives
            // as long as this handle (`StreamInner`); the output outlives the call. What the graph uses is kept by `share`, or by the
            // caller's duty 1; no other thread uses the capture: that takes a turn, and after `close` nobody has one or gets one; or by
            // the caller's duty 2.
            |driver| unsafe { ended.by(|raw| driver.cuStreamEndCapture(self.raw(), raw)) },
        );
        joined.map_or_else(|panic| resume_unwind(panic), drop);
        told?;
        let graph = ended.graph;
        if let Some(record) = &record {
            let (share, _, forks) = Share::captured(&record.0);
            lock(&graph.table).rest = share;
            drop(forks);
        }
        let nodes = graph.learn_nodes()?;
        if record.is_some() {
            let mut table = lock(&graph.table);
            let captured = Captured::new(&nodes, &table.rest);
            table.captured.push(captured);
        }
        drop(record);
        Ok(graph)
    }

    /// What the driver reports about the capture on this stream.
    ///
    /// Driver call: `cuStreamGetCaptureInfo_v3`, or `cuStreamGetCaptureInfo_v2` before CUDA 12.3.
    ///
    /// # Errors
    /// As for [`CudaStream::capture_status`].
    #[doc(alias = "cuStreamGetCaptureInfo")]
    pub fn capture_info(&self) -> Result<CaptureInfo, Error> {
        let mut info = RawCaptureInfo::default();
        let turn = self.turn("cuStreamGetCaptureInfo")?;
        self.context().call(
            "cuStreamGetCaptureInfo",
            || self.label(),
            // SAFETY: 1: the stream lives as long as this handle (`StreamInner`); the outputs, in `info`, outlive the call.
            |driver| unsafe { older::capture_info(driver, self.raw(), &mut info) },
        )?;
        let RawCaptureInfo { status, id, graph, nodes, count } = info;
        let status = CaptureStatus::from(status);
        if status != CaptureStatus::Active {
            return Ok(CaptureInfo { status, id: 0, graph: std::ptr::null_mut(), dependencies: Vec::new() });
        }
        let listed = if turn.is_some() && !nodes.is_null() { count } else { 0 };
        // SAFETY: the list is not null, so that the driver wrote it, with `count` nodes, of which `i` is one. It keeps the list until the
        // stream is given work or the capture ends: handles of the capture take the turn for that, which this thread has, and others are
        // not used meanwhile, by duty 3 of `begin_capture` or `CudaStream::from_raw`.
        let dependencies = (0..listed).map(|i| unsafe { *nodes.add(i) }).collect();
        Ok(CaptureInfo { status, id, graph, dependencies })
    }
}
