//! Executable graphs.

#![allow(unsafe_code)] // Calls of the driver with live handles: what the graph's work uses is kept until it is done.

use cuda_driver_sys::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraphExec, CUgraphInstantiateResult as R, CUresult, Driver,
};
use std::collections::HashMap;
use std::sync::Arc;

use super::graph::{CudaGraph, Family};
use super::node::{GraphNode, Share, SharedTable, Use, lock};
use super::order::Part;
use crate::driver::{
    CudaContext, CudaStream, Keep, Launching, Parts, Patience, ThreadStream, despite_captures, host_call,
    sweep, until_done,
};
use crate::error::{Error, ErrorKind, GraphError, RefusedInCapture};
use crate::flags::flags;
use crate::ordering::{Submission, announce};

flags! {
    /// How a graph is instantiated (`CUgraphInstantiate_flags`).
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct InstantiateFlags: u64 {
        /// Each launch first frees what the last one allocated and did not free.
        const AUTO_FREE_ON_LAUNCH = 1;
        /// The graph is made ready on the device at once, on the legacy default stream, instead of at its first launch.
        const UPLOAD = 2;
        /// Kernels can launch the graph, too: see [launches by kernels](GraphExec#launches-by-kernels).
        const DEVICE_LAUNCH = 4;
        /// Nodes run with the priority of their attribute instead of the stream's.
        const USE_NODE_PRIORITY = 8;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// An instantiated graph: one driver call launches all of it.
///
/// It keeps what its work uses alive, and each launch is ordered against other accesses to its buffers. Its launches
/// run one after the other, on any stream. It may be dropped while one runs: that does not wait, and what the launch
/// uses stays alive until it is done. Only if the last launch was on another thread's [per-thread
/// stream](CudaContext::per_thread_stream), which has no handle here, does the drop wait for the context, and so does a
/// change of a node.
///
/// # Launches by kernels
///
/// A graph that was instantiated with [`DEVICE_LAUNCH`](InstantiateFlags::DEVICE_LAUNCH) can be launched by kernels of other graphs, and by its
/// own (`cudaGraphLaunch` in device code, which is linked with `libcudadevrt.a`). It has kernels that launch no kernels, copies between
/// device memory and pinned memory, memsets, and graphs of these. A kernel gets [`raw`](Self::raw) as a number (`exec.raw() as u64`).
///
/// Kernels launch what was last [uploaded](Self::upload), or launched from here: a later [`update`](Self::update), or change of a node, needs
/// another upload. The launch from here that it all began with is done when everything is that it led to. A graph that launches itself is
/// ordered and kept alive like any other, until that has ended. Of other graphs that its kernels launch a launch knows nothing: they are
/// part of what [`add_kernel`](CudaGraph::add_kernel) leaves to its caller.
///
/// ```
/// use cuda_launch::graph::InstantiateFlags;
/// use cuda_launch::{CudaContext, CudaGraph};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let mut graph = CudaGraph::new(&ctx)?;
/// graph.add_empty(&[])?;
/// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
/// exec.upload(&stream)?;
/// exec.launch(&stream)?;
/// exec.synchronize()?;
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[doc(alias = "CUgraphExec")]
pub struct GraphExec {
    /// Made by `instantiate`, and owned by this value: it lives until `destroy`, which leaves null here.
    raw: CUgraphExec,
    /// The graph it was made from: nodes are named by it.
    pub(super) family: Arc<Family>,
    pub(super) table: SharedTable,
    /// What is used by all nodes.
    share: Share,
    /// What is used by nodes that were changed since.
    changed: HashMap<GraphNode, Share>,
    /// The stream of the last launch; those of more where it is unknown which was the last.
    last: Vec<ThreadStream>,
    /// Whether kernels can launch it, its own among them.
    for_kernels: bool,
    /// That of the graph's table when this was made of it.
    version: u64,
    /// What of the graph had to be ordered then.
    parts: Vec<Part>,
    /// Whether captured work may be among the nodes, where another graph has taken the place of their work.
    updated: Option<bool>,
}

// SAFETY: a CUgraphExec may be used from every thread, one at a time ("Graph object thread safety"): what launches or
// changes it takes `&mut`. The rest is Send.
unsafe impl Send for GraphExec {}
// SAFETY: through a shared reference the driver is given it by `is_enabled` and `flags` alone, which ask, under the
// family's lock; nothing launches or changes it meanwhile, as that takes `&mut`. The rest is Sync.
unsafe impl Sync for GraphExec {}

impl CudaGraph {
    /// Instantiates the graph. Later changes of the graph do not affect the result; see [`GraphExec::update`].
    ///
    /// Driver call: `cuGraphInstantiateWithParams`, or `cuGraphInstantiateWithFlags` in drivers before CUDA 12.0.
    ///
    /// ```
    /// use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer};
    /// use cuda_launch::graph::InstantiateFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| x.view_mut().set_zero(stream))?;
    /// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    /// exec.launch(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [0.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Captured work is ordered against the other nodes by memory, as on streams: if it uses memory that another capture, or a memset, copy,
    /// child or conditional node uses, one of the two writes it, and no dependency orders them, then the graph is given one
    /// (`cuGraphGetEdges`, `cuGraphAddDependencies`), from what was added first. The order of kernels of [`CudaGraph::add_kernel`] is a
    /// duty of whoever adds them.
    ///
    /// # Errors
    /// [`Error::is_graph_error`], which names the offending node, if the driver reports it; also, with
    /// `CUDA_ERROR_NOT_SUPPORTED`, for a graph that allocates memory while another [`GraphExec`] of it exists.
    #[doc(alias = "cuGraphInstantiate")]
    pub fn instantiate(&self, flags: InstantiateFlags) -> Result<GraphExec, Error> {
        sweep();
        let _family = self.family.lock()?;
        self.order_captured()?;
        self.context().bind()?;
        let mut raw = std::ptr::null_mut();
        let mut params = CUDA_GRAPH_INSTANTIATE_PARAMS {
            flags: flags.bits(),
            hUploadStream: std::ptr::null_mut(),
            hErrNode_out: std::ptr::null_mut(),
            result_out: R::CUDA_GRAPH_INSTANTIATE_SUCCESS,
        };
        let driver = self.context().driver();
        let code = despite_captures(self.context(), || {
            // SAFETY: the graph lives as long as `self` (`CudaGraph::raw`), and is locked; `bind` made its context current; `raw` and
            // `params`, whose flags the driver checks, are locals, which outlive the call.
            match unsafe { driver.cuGraphInstantiateWithParams(&mut raw, self.raw, &mut params) } {
                // SAFETY: as above; `raw` is the only output.
                CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER => unsafe {
                    driver.cuGraphInstantiateWithFlags(&mut raw, self.raw, flags.bits())
                },
                code => code,
            }
        });
        let table = lock(&self.table);
        if code != CUresult::SUCCESS {
            // What the context knows of an earlier fault comes first.
            let error = self.context().check(code, "cuGraphInstantiate", String::new);
            return Err(error.err().filter(Error::is_sticky).unwrap_or_else(|| {
                let (node, reason) = (table.label(params.hErrNode_out), reason(params.result_out));
                ErrorKind::from(GraphError::Instantiate { code, reason, node }).into()
            }));
        }
        let (family, share, version) = (self.family.clone(), table.share(), table.version);
        let parts = table.parts_to_keep();
        drop(table);
        let for_kernels = flags.contains(InstantiateFlags::DEVICE_LAUNCH);
        let (table, changed, last) = (self.table.clone(), HashMap::new(), Vec::new());
        Ok(GraphExec { raw, family, table, share, changed, last, for_kernels, version, parts, updated: None })
    }
}

fn reason(result: R) -> &'static str {
    match result {
        R::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE => "the dependencies form a cycle",
        R::CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED => {
            "a kernel cannot launch a graph with such a node"
        }
        R::CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED => {
            "a kernel cannot launch a graph with nodes of several contexts"
        }
        R::CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED => "a conditional value has no node",
        _ => "the driver gives no reason",
    }
}

impl GraphExec {
    /// Launches the graph on `stream`, after all work submitted to the stream so far and after earlier launches of this
    /// graph.
    ///
    /// It is ordered against other accesses to its buffers, from any thread. Of two launches that are submitted at the
    /// same time, either may be the first.
    ///
    /// Driver calls: `cuGraphLaunch`; where another stream used a buffer last, `cuEventRecord` there and `cuStreamWaitEvent`
    /// here.
    ///
    /// ```
    /// use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer};
    /// use cuda_launch::graph::InstantiateFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| x.view_mut().set_zero(stream))?;
    /// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    /// for _ in 0..3 {
    ///     exec.launch(&stream)?;
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context or is being captured, or any error returned by the driver. Drivers do not
    /// launch graphs into a capture: make the graph a node with [`CudaGraph::add_child`].
    /// [`ErrorKind::Stalled`](crate::ErrorKind::Stalled) if another thread has been submitting work that uses memory of this graph for
    /// 30 s, for example to a stream that is full; nothing was launched then.
    #[doc(alias = "cuGraphLaunch")]
    pub fn launch(&mut self, stream: &CudaStream) -> Result<(), Error> {
        stream.same_context(self.context(), "the graph")?;
        if stream.capture().is_some() {
            stream.capture_is_open("cuGraphLaunch")?;
            let help = "make the graph a node: capture into a graph of your own (`CudaGraph::capture_into`), and use `add_child`";
            return Err(ErrorKind::RefusedInCapture(RefusedInCapture { call: "cuGraphLaunch", help }).into());
        }
        self.submit(stream)
    }

    /// The launch does not borrow the memory of the graph, so other threads may be about to submit work that uses it, too.
    fn submit(&mut self, stream: &CudaStream) -> Result<(), Error> {
        let patience = Patience::of("cuGraphLaunch");
        let note = || {
            let mut work = Submission::unborrowed(stream);
            self.memory().try_for_each(|memory| memory.note(&mut work))?;
            let waits = work.take_waits();
            Ok((work, waits))
        };
        let wait = |others: &_| patience.until_submitted(others);
        let queue = stream.queue();
        let (_unborrowed, work) = announce(|| queue.wait_turn(), &queue.graphs, note, wait)?;
        // The call may take long.
        drop(patience);
        let kernels = self.note_kernels(stream);
        let _launching = Launching::begin(stream);
        // Before the call, which may unwind when it is done.
        let known = self.last.iter().position(|last| last.means(stream));
        match known {
            Some(at) => self.last[at].announce(),
            None => self.last.push(ThreadStream::here(stream)),
        }
        work.call(
            "cuGraphLaunch",
            || self.asked(),
            // SAFETY: this value owns the graph (`GraphExec::raw`), and `&mut self` is the only use of it; the stream
            // lives as long as its handle (`StreamInner`), in the same context. What the graph uses is kept here until
            // the launch is done (`share`, `changed`, `last`), and ordered, as noted. What its kernels do is the duty
            // of the callers that added them.
            |driver| unsafe { driver.cuGraphLaunch(self.raw, stream.raw()) },
        )
        .inspect_err(|_| kernels.refused())?;
        // It comes after the others.
        let at = known.unwrap_or(self.last.len() - 1);
        self.last.swap(0, at);
        self.last.truncate(1);
        Ok(())
    }

    /// Records each kernel of the graph as a possible cause of a fault. To be called when nothing remains to be waited for and the
    /// launch is announced: a wait for the stream that returns before the driver has accepted the launch does not cover its kernels.
    fn note_kernels<'s>(&self, stream: &'s CudaStream) -> Parts<'s> {
        let kernels = || {
            let changed = self.changed.values();
            self.share.kernels.iter().chain(changed.flat_map(|share| &share.kernels))
        };
        let all = stream.queue().announce_parts(kernels().count());
        all.numbers()
            .zip(kernels())
            .for_each(|(number, kernel)| stream.queue().launches.note(number, *kernel));
        all
    }

    /// Uploads the graph to the device, so that its first launch does not have to.
    ///
    /// Driver call: `cuGraphUpload`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// use cuda_launch::graph::InstantiateFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut exec = CudaGraph::new(&ctx)?.instantiate(InstantiateFlags::empty())?;
    /// exec.upload(&stream)?; // so that the first launch costs no more than the others
    /// exec.launch(&stream)?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context or is being captured, or any error returned by the driver.
    #[doc(alias = "cuGraphUpload")]
    pub fn upload(&mut self, stream: &CudaStream) -> Result<(), Error> {
        stream.same_context(self.context(), "the graph")?;
        stream.refuse_in_capture("cuGraphUpload")?;
        self.context().call(
            "cuGraphUpload",
            || self.asked(),
            // SAFETY: this value owns the graph (`GraphExec::raw`), and `&mut self` is the only use of it; the stream lives as long as
            // its handle (`StreamInner`); they are of one context, as was checked.
            |driver| unsafe { driver.cuGraphUpload(self.raw, stream.raw()) },
        )
    }

    /// Waits for the last launch, and resumes the first panic of a host function of the graph.
    ///
    /// Driver call: `cuStreamSynchronize`, if the graph was launched; `cuCtxSynchronize` if that was on another thread's
    /// [per-thread stream](CudaContext::per_thread_stream).
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// use cuda_launch::graph::InstantiateFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut exec = CudaGraph::new(&ctx)?.instantiate(InstantiateFlags::empty())?;
    /// exec.launch(&stream)?;
    /// exec.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault of work in the context, which is sticky.
    ///
    /// # Panics
    /// Resumes the panic of a host function.
    pub fn synchronize(&self) -> Result<(), Error> {
        sweep();
        self.last.iter().try_for_each(ThreadStream::synchronize)?;
        for object in self.objects() {
            let host = object.downcast_ref::<host_call::GraphFunction>();
            if let Some(panic) = host.and_then(|host| host.take_panic()) {
                std::panic::resume_unwind(panic);
            }
        }
        Ok(())
    }

    /// The flags that it was instantiated with, without `UPLOAD`, and from a driver 580 without `USE_NODE_PRIORITY`.
    ///
    /// Driver call: `cuGraphExecGetFlags`, in drivers since CUDA 12.0.
    ///
    /// # Errors
    /// A capture records into the graph that it was made from, or any error returned by the driver.
    #[doc(alias = "cuGraphExecGetFlags")]
    pub fn flags(&self) -> Result<InstantiateFlags, Error> {
        let (_family, mut flags) = (self.family.lock()?, 0);
        // SAFETY: this value owns the graph (`GraphExec::raw`), of which this only asks, and the family is locked;
        // `flags` is a local, which outlives the call.
        self.context().call("cuGraphExecGetFlags", String::new, |driver| unsafe {
            driver.cuGraphExecGetFlags(self.raw, &mut flags)
        })?;
        Ok(InstantiateFlags::from_bits_retain(flags))
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        &self.family.context
    }

    /// The raw executable graph, valid as long as this value lives.
    pub fn raw(&self) -> CUgraphExec {
        self.raw
    }

    /// Destroys the executable graph now, and reports any error; does not wait. If kernels can launch it, it is destroyed when its last
    /// launch is done.
    ///
    /// Driver call: `cuGraphExecDestroy`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// use cuda_launch::graph::InstantiateFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// CudaGraph::new(&ctx)?.instantiate(InstantiateFlags::empty())?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; it is released in any case.
    #[doc(alias = "cuGraphExecDestroy")]
    pub fn close(mut self) -> Result<(), Error> {
        self.destroy()
    }

    /// From now on `node` uses this; what it used is kept until the launches so far are done.
    pub(super) fn replace_share(&mut self, node: GraphNode, share: Share) {
        if let Some(old) = self.changed.insert(node, share) {
            self.retire(old);
        }
    }

    /// Another graph takes the place of the work of this one's nodes.
    pub(super) fn take_over(&mut self, share: Share, captured: bool) {
        self.updated = Some(captured || self.updated.unwrap_or_else(|| lock(&self.table).has_captured()));
        self.replace_all(share);
    }

    /// Whether captured work may be among the nodes, if another graph has taken the place of their work.
    pub(super) fn updated(&self) -> Option<bool> {
        self.updated
    }

    /// What of the graph had to be ordered when this was made of it, if captured work is in it, or a graph.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// That of the graph's table when this was made of it.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// What a node uses that was changed.
    pub(super) fn changed(&self, node: GraphNode) -> Option<&Share> {
        self.changed.get(&node)
    }

    /// From now on all nodes use this; what they used is kept until the launches so far are done.
    fn replace_all(&mut self, share: Share) {
        let changed = std::mem::take(&mut self.changed).into_values();
        let mut old = std::mem::replace(&mut self.share, share);
        changed.for_each(|share| old.extend(&share));
        self.retire(old);
    }

    /// Lets go of a share. Memory knows its last uses itself; all else waits for the last launch.
    fn retire(&self, share: Share) {
        self.last.iter().for_each(|work| until_done(work, share.objects.clone()));
    }

    /// What is used by nodes that can no longer be named.
    pub(super) fn rest_mut(&mut self) -> &mut Share {
        &mut self.share
    }

    pub(super) fn memory(&self) -> impl Iterator<Item = &Use> {
        self.share.memory.iter().chain(self.changed.values().flat_map(|share| &share.memory))
    }

    fn objects(&self) -> Vec<Keep> {
        let changed = self.changed.values().flat_map(|share| &share.objects);
        self.share.objects.iter().chain(changed).cloned().collect()
    }

    fn asked(&self) -> String {
        // Without a wait: this thread may have it, in the middle of a call that a listener of the driver's log hears of.
        match self.table.try_lock() {
            Ok(table) => format!("a graph of {} nodes", table.live().count()),
            Err(_) => "a graph that is being changed".to_string(),
        }
    }

    fn destroy(&mut self) -> Result<(), Error> {
        if self.raw.is_null() {
            return Ok(());
        }
        // Still owned: the drop that follows passes it on.
        host_call::refuse("cuGraphExecDestroy")?;
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        let mut owned = Owned { raw, context: self.context().clone() };
        // First, so that what a running launch uses stays alive even if one of these calls unwinds.
        self.replace_all(Share::default());
        let done = if self.for_kernels && !self.last.is_empty() {
            // A kernel of its own may launch it once more, until its last launch is done.
            let owned: Keep = Arc::new(owned);
            self.last.iter().for_each(|work| until_done(work, vec![owned.clone()]));
            Ok(())
        } else {
            owned.destroy()
        };
        sweep();
        done
    }
}

/// The driver's graph, which this value destroys, even if code before that unwinds.
struct Owned {
    raw: CUgraphExec,
    context: CudaContext,
}

// SAFETY: a CUgraphExec may be used from every thread, one at a time ("Graph object thread safety"); this one's drop alone uses it.
unsafe impl Send for Owned {}
// SAFETY: nothing can be done with a shared reference.
unsafe impl Sync for Owned {}

impl Owned {
    fn destroy(&mut self) -> Result<(), Error> {
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        if raw.is_null() {
            return Ok(());
        }
        // SAFETY: `GraphExec::destroy` made this of the graph that it owned and has no more; it is destroyed once, as `raw` was replaced by
        // null. The driver defers its destruction until running launches are done.
        let destroy = |driver: &Driver| unsafe { driver.cuGraphExecDestroy(raw) };
        self.context.give_back("cuGraphExecDestroy", String::new, destroy)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.destroy();
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        if !self.raw.is_null() && host_call::is_running() {
            let rest = Self {
                raw: std::mem::replace(&mut self.raw, std::ptr::null_mut()),
                family: self.family.clone(),
                table: self.table.clone(),
                share: std::mem::take(&mut self.share),
                changed: std::mem::take(&mut self.changed),
                last: std::mem::take(&mut self.last),
                for_kernels: self.for_kernels,
                version: self.version,
                parts: std::mem::take(&mut self.parts),
                updated: self.updated,
            };
            return host_call::outside(Box::new(move || drop(rest)));
        }
        // `drop` cannot report the error; `close` does.
        let _ = self.destroy();
    }
}
