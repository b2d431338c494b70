//! Captures into an existing graph.

#![allow(unsafe_code)] // A call of the driver with a live stream and graph; what was recorded is removed or kept.

use cuda_driver_sys::CUresult;

use super::capture::{CaptureMode, Scope};
use super::graph::{CudaGraph, Phase};
use super::node::{GraphNode, Share, Table, lock};
use super::order::Captured;
use crate::driver::CudaStream;
use crate::error::Error;
use crate::trace;

impl CudaGraph {
    /// Records work into this graph, after the nodes of `after`. Returns the new nodes. Otherwise like
    /// [`CudaGraph::capture`]; after an error or a panic the nodes recorded so far are removed again. Until the capture
    /// is over, other graphs of the family (a graph with the graphs nested in it) return
    /// [`GraphError::Recording`](crate::error::GraphError::Recording).
    ///
    /// Driver calls: `cuStreamBeginCaptureToGraph`, in drivers since CUDA 12.3, and those of [`CudaGraph::capture`]; to remove nodes
    /// `cuGraphDestroyNode`. If a driver does not remove a node, whatever it uses stays with the graph.
    ///
    /// # Errors
    /// A node in `after` is not part of this graph, a capture is recording into its family, and the errors of
    /// [`CudaGraph::capture`]. Where other code breaks the capture (901) or leaves a stream of its own unjoined (904), driver 580
    /// destroys the graph: from then on it returns [`GraphError::Lost`](crate::error::GraphError::Lost).
    #[doc(alias = "cuStreamBeginCaptureToGraph")]
    pub fn capture_into(
        &mut self,
        after: &[GraphNode],
        mode: CaptureMode,
        record: impl FnOnce(&CudaStream) -> Result<(), Error>,
    ) -> Result<Vec<GraphNode>, Error> {
        let recording = Recording::begin(self, after, mode)?;
        record(&recording.scope.stream)?;
        recording.keep()
    }
}

/// A capture into a graph. What it has recorded is removed when this is dropped, unless it is to be kept.
struct Recording<'g> {
    graph: &'g CudaGraph,
    scope: Scope,
    /// Nodes from this number on are new.
    first: usize,
    /// What the graph kept alive before this capture.
    before: Option<Share>,
    /// What the captured work uses.
    captured: Share,
    kept: bool,
}

impl<'g> Recording<'g> {
    fn begin(graph: &'g CudaGraph, after: &[GraphNode], mode: CaptureMode) -> Result<Self, Error> {
        let scope = Scope::new(graph.context(), mode)?;
        let mut phase = graph.family.lock()?;
        let mut table = lock(&graph.table);
        let after = table.raw(after)?;
        let first = table.records.len();
        drop(table);
        // From here on, dropping this value ends it in every case.
        *phase = Phase::Recording;
        drop(phase);
        let mut begun = Self { graph, scope, first, before: None, captured: Share::default(), kept: false };
        begun.scope.owned = false;
        let (raw, label) = (begun.scope.stream.raw(), begun.scope.stream.label());
        let asked = || format!("{label}, {mode:?}, after {} nodes", after.len());
        // SAFETY: the stream lives as long as its handle, which `begun` has, the graph as long as `graph`
        // (`CudaGraph::raw`). The nodes were found in it under the lock, and nobody changes it since, as the phase
        // says; there are as many as is said, and no edge data means plain dependencies. `begun` ends the capture,
        // unless a fault or a fork leaves no call to be made.
        graph.context().call("cuStreamBeginCaptureToGraph", asked, |driver| unsafe {
            let (count, data, mode) = (after.len(), std::ptr::null(), mode.raw());
            let code = driver.cuStreamBeginCaptureToGraph(raw, graph.raw, after.as_ptr(), data, count, mode);
            begun.scope.begun = code == CUresult::SUCCESS;
            code
        })?;
        Ok(begun)
    }

    /// Ends the capture; the nodes belong to the graph, which keeps what they use.
    fn keep(mut self) -> Result<Vec<GraphNode>, Error> {
        let joined = self.scope.close();
        self.scope.finish()?;
        joined?;
        let forks = self.share();
        self.graph.family.end_recording(self.then());
        self.graph.learn_nodes()?;
        self.note_captured();
        self.kept = true;
        drop(forks);
        Ok(self.new_nodes(&lock(&self.graph.table)))
    }

    /// The nodes are there: they are ordered by what they use.
    fn note_captured(&self) {
        let mut table = lock(&self.graph.table);
        let captured = Captured::new(&self.new_nodes(&table), &self.captured);
        table.captured.push(captured);
    }

    /// The state of the graph after the capture: of one that was broken, or not joined, driver 580 destroys the graph, although it is the
    /// program's.
    fn then(&self) -> Phase {
        if self.scope.broken { Phase::Lost } else { Phase::Free }
    }

    /// Makes the graph keep what was recorded, before anybody else finds the nodes. The streams that took part, to be dropped last.
    fn share(&mut self) -> Vec<CudaStream> {
        if self.before.is_some() {
            return Vec::new();
        }
        let (share, _, forks) = Share::captured(&self.scope.capture);
        let mut table = lock(&self.graph.table);
        self.before = Some(table.rest.clone());
        table.rest.extend(&share);
        self.captured = share;
        forks
    }

    fn new_nodes(&self, table: &Table) -> Vec<GraphNode> {
        table.live().map(|(node, _)| node).filter(|node| node.index >= self.first).collect()
    }

    /// Whether all that was recorded is gone from the driver's graph. The last node first: others may depend on the first.
    fn remove_nodes(&self) -> bool {
        let learned = self.graph.learn_nodes().is_ok();
        let new = self.new_nodes(&lock(&self.graph.table));
        let removed = new.into_iter().rev().map(|node| self.graph.remove_shared(node).is_ok());
        removed.fold(learned, |all, one| all & one)
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // The error to tell is the one before; what was recorded is looked for in any case.
        let _ = trace::contained(|| self.scope.begun.then(|| self.scope.close()));
        // Before the end, and whatever the driver says then: nodes that stay need what they use.
        let forks = self.share();
        let _ = self.scope.begun.then(|| self.scope.finish());
        self.graph.family.end_recording(self.then());
        if !trace::contained(|| self.remove_nodes()) {
            self.note_captured();
        } else if let Some(before) = self.before.take() {
            let rest = std::mem::replace(&mut lock(&self.graph.table).rest, before);
            // Outside the lock: this may drop the last owner of objects that are no longer used.
            drop(rest);
        }
        drop(forks);
    }
}
