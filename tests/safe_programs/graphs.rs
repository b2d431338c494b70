//! Steps with graphs: captured, built of nodes, updated, launched beside work of other threads; captures that panic.

#![deny(unsafe_code)]

use crate::change::{Change, HALF, Planned};
use crate::kinds::Class;
use crate::program::{Buffer, Program};
use cuda_launch::graph::{CopyNode, GraphNode, HostMemory, InstantiateFlags, MemsetNode};
use cuda_launch::{CaptureMode, CudaGraph, DeviceBuffer, Error, GraphExec};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

pub(crate) struct Graph {
    exec: GraphExec,
    /// One after the other.
    changes: Vec<Part>,
    made: Made,
}

struct Part {
    /// By the buffers' ids.
    planned: Planned,
    /// Of the target and the source.
    classes: [Class; 2],
    /// Whether its node is enabled.
    enabled: bool,
}

enum Made {
    /// On one stream.
    Captured,
    /// With forks: what is on which depends on the buffers.
    CapturedWithForks,
    /// Of one node for each change.
    Built(Vec<GraphNode>),
}

impl Graph {
    pub(crate) fn uses(&self, id: usize, half: usize) -> bool {
        self.changes.iter().any(|part| part.planned.uses(id) && part.planned.half == half)
    }
}

pub(crate) fn memset(
    buffers: &mut [Buffer],
    to: usize,
    half: usize,
    value: u32,
) -> Result<MemsetNode, Error> {
    MemsetNode::new(&mut buffers[to].memory.half_mut(half), value)
}

pub(crate) fn copy(buffers: &mut [Buffer], planned: Planned) -> Result<CopyNode, Error> {
    let Planned { to, from, half, .. } = planned;
    let [target, source] = buffers.get_disjoint_mut([to, from]).unwrap();
    CopyNode::device_to_device(&source.memory.half(half), &mut target.memory.half_mut(half))
}

/// The panic of a closure goes on, and no error takes its place.
fn must_panic(caught: std::thread::Result<Result<(), Error>>) -> Result<(), Error> {
    let Ok(result) = caught else { return Ok(()) };
    result?;
    panic!("a panic in a closure was lost")
}

impl Program {
    /// The part of a graph that does this, by places.
    fn part(&mut self, planned: Planned) -> Part {
        let classes = [planned.to, planned.from].map(|place| self.class(place));
        Part { planned: self.kept(planned), classes, enabled: true }
    }

    /// A change by places that the node of such a part takes: of the same kind, and for a copy or a fill of memory of the same class. None
    /// where there is none now.
    fn plan_again(&mut self, old: Change, [to, from]: [Class; 2]) -> Option<Planned> {
        let mut planned = self.plan(|random| old.again(random));
        let all = 0..self.buffers.len();
        let targets = all.clone().filter(|place| self.class(*place) == to);
        let pairs: Vec<_> = match old {
            Change::Step(..) | Change::Collect => return Some(planned),
            Change::Fill(_) => targets.map(|target| (target, (target + 1) % all.len())).collect(),
            Change::Copy => targets
                .flat_map(|target| all.clone().map(move |source| (target, source)))
                .filter(|(target, source)| target != source && self.class(*source) == from)
                .collect(),
        };
        let chosen = (!pairs.is_empty()).then(|| pairs[self.random.below(pairs.len())]);
        (planned.to, planned.from) = chosen?;
        Some(planned)
    }

    /// Records these changes.
    pub(crate) fn record(
        &mut self,
        planned: &[Planned],
        forks: bool,
        keep: bool,
    ) -> Result<CudaGraph, Error> {
        let modes = [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed];
        let mode = modes[self.random.below(3)];
        let Self { buffers, kernels, ctx, stale, .. } = self;
        CudaGraph::capture(ctx, mode, |stream| {
            for (number, Planned { to, from, half, change }) in planned.iter().enumerate() {
                let fork = if forks && number % 2 == 1 { Some(stream.fork()?) } else { None };
                let [target, source] = buffers.get_disjoint_mut([*to, *from]).unwrap();
                let (mut view, source) = (target.memory.half_mut(*half), source.memory.half(*half));
                change.submit(kernels, fork.as_ref().unwrap_or(stream), &mut view, &source)?;
            }
            if keep {
                stale.push(stream.clone());
            }
            Ok(())
        })
    }

    pub(crate) fn capture(&mut self) -> Result<(), Error> {
        let planned: Vec<_> = (0..1 + self.random.below(4)).map(|_| self.plan(Change::random)).collect();
        let (forks, keep) = (self.random.one_in(3), self.random.one_in(2));
        let graph = self.record(&planned, forks, keep)?;
        let mut flags = InstantiateFlags::empty();
        // Older drivers take no such flag.
        if self.random.one_in(3) && self.ctx.driver().has("cuGraphInstantiateWithParams") {
            flags = InstantiateFlags::UPLOAD;
        }
        let exec = graph.instantiate(flags)?;
        graph.close()?;
        let changes = planned.into_iter().map(|planned| self.part(planned)).collect();
        let made = if forks { Made::CapturedWithForks } else { Made::Captured };
        self.graphs.push(Graph { exec, changes, made });
        Ok(())
    }

    pub(crate) fn build_graph(&mut self) -> Result<(), Error> {
        let mut graph = CudaGraph::new(&self.ctx)?;
        let (mut changes, mut nodes) = (Vec::new(), Vec::new());
        for _ in 0..1 + self.random.below(4) {
            let planned = self.plan(|random| match random.below(2) {
                0 => Change::Fill(random.number()),
                _ => Change::Copy,
            });
            let after: Vec<_> = nodes.last().copied().into_iter().collect();
            nodes.push(match planned.change {
                Change::Fill(value) => {
                    graph.add_memset(&after, memset(&mut self.buffers, planned.to, planned.half, value)?)?
                }
                _ => graph.add_copy(&after, copy(&mut self.buffers, planned)?)?,
            });
            changes.push(self.part(planned));
        }
        let exec = graph.instantiate(InstantiateFlags::empty())?;
        self.graphs.push(Graph { exec, changes, made: Made::Built(nodes) });
        Ok(())
    }

    /// Meanwhile another thread gives work to a half that the graph does not use, if there is one.
    pub(crate) fn launch_graph(&mut self) -> Result<(), Error> {
        if self.graphs.is_empty() {
            return Ok(());
        }
        let index = self.random.below(self.graphs.len());
        let streams = [self.stream(), self.stream()];
        let paces = [(); 2].map(|()| self.random.pace());
        let all = (0..self.buffers.len()).flat_map(|index| [(index, 0), (index, 1)]);
        let graph = &self.graphs[index];
        let free: Vec<_> = all.filter(|(index, half)| !graph.uses(self.buffers[*index].id, *half)).collect();
        let free = (!free.is_empty()).then(|| free[self.random.below(free.len())]);
        let (value, on_thread) = (self.random.number(), self.random.one_in(2));
        let Self { graphs, buffers, holds, .. } = self;
        let graph = &mut graphs[index];
        thread::scope(|scope| {
            let other = free.map(|(free, half)| {
                let memory = &mut buffers[free].memory;
                let stream = &streams[1];
                scope.spawn(move || {
                    paces[1].set(stream)?;
                    memory.half_mut(half).fill(stream, value)
                })
            });
            let mut launch = || {
                paces[0].set(&streams[0])?;
                graph.exec.launch(&streams[0])
            };
            // The stream may be one that this thread does not have.
            if on_thread { scope.spawn(launch).join().unwrap() } else { launch() }?;
            other.map_or(Ok(()), |other| other.join().unwrap())
        })?;
        if let Some((free, half)) = free {
            holds[buffers[free].id][half] = value;
        }
        for part in graph.changes.iter().filter(|part| part.enabled) {
            part.planned.apply(holds);
        }
        Ok(())
    }

    /// By a capture of as many changes of the same kinds, of other buffers and with other numbers; one more is refused.
    pub(crate) fn update_graph(&mut self) -> Result<(), Error> {
        let captured = |graph: &Graph| matches!(graph.made, Made::Captured);
        let Some(index) = self.graphs.iter().position(captured) else { return Ok(()) };
        let kinds: Vec<_> =
            self.graphs[index].changes.iter().map(|part| (part.planned.change, part.classes)).collect();
        let again: Option<Vec<_>> =
            kinds.into_iter().map(|(change, classes)| self.plan_again(change, classes)).collect();
        let Some(mut planned) = again else { return Ok(()) };
        let too_many = self.random.one_in(4);
        if too_many {
            planned.push(self.plan(Change::random));
        }
        let graph = self.record(&planned, false, false)?;
        let updated = self.graphs[index].exec.update(&graph);
        if too_many {
            assert!(updated.is_err_and(|error| error.is_graph_error()), "a graph with one more node");
            return Ok(());
        }
        updated?;
        let changes = planned.into_iter().map(|planned| self.part(planned)).collect();
        self.graphs[index].changes = changes;
        Ok(())
    }

    /// By what a driver takes; a copy from other memory is sometimes one from the host's, which it refuses.
    pub(crate) fn change_nodes(&mut self) -> Result<(), Error> {
        for index in 0..self.graphs.len() {
            let Made::Built(nodes) = &self.graphs[index].made else { continue };
            let which = self.random.below(nodes.len());
            let (node, part) = (nodes[which], &self.graphs[index].changes[which]);
            let (old, classes, enabled) = (part.planned.change, part.classes, part.enabled);
            if self.random.one_in(2) {
                self.graphs[index].exec.set_enabled(node, !enabled)?;
                self.graphs[index].changes[which].enabled = !enabled;
                continue;
            }
            let Some(planned) = self.plan_again(old, classes) else { continue };
            let from_host = self.random.one_in(4);
            let exec = &mut self.graphs[index].exec;
            match planned.change {
                Change::Fill(value) => {
                    exec.set_memset(node, memset(&mut self.buffers, planned.to, planned.half, value)?)?;
                }
                _ if from_host => {
                    let (host, target) =
                        (HostMemory::new(vec![1; HALF]), &mut self.buffers[planned.to].memory);
                    let other = CopyNode::host_to_device(&host, &mut target.half_mut(planned.half))?;
                    let refused = exec.set_copy(node, other);
                    assert!(
                        refused.is_err_and(|error| error.is_graph_error()),
                        "a copy of device memory copies the host's"
                    );
                    continue;
                }
                _ => exec.set_copy(node, copy(&mut self.buffers, planned)?)?,
            }
            self.graphs[index].changes[which] = Part { enabled, ..self.part(planned) };
        }
        Ok(())
    }

    pub(crate) fn drop_graph(&mut self) -> Result<(), Error> {
        if !self.graphs.is_empty() {
            let index = self.random.below(self.graphs.len());
            self.graphs.swap_remove(index).exec.close()?;
        }
        Ok(())
    }

    pub(crate) fn panic_in_capture(&mut self) -> Result<(), Error> {
        let index = self.random.below(self.buffers.len());
        let Self { buffers, ctx, .. } = self;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            CudaGraph::capture(ctx, CaptureMode::ThreadLocal, |stream| {
                buffers[index].memory.fill(stream, 1)?;
                panic!("in a capture")
            })
        }));
        must_panic(caught.map(|graph| graph.map(drop)))
    }

    pub(crate) fn panic_in_capture_into(&mut self) -> Result<(), Error> {
        if !self.ctx.driver().has("cuStreamBeginCaptureToGraph") {
            return Ok(());
        }
        let (stream, mut graph) = (self.stream(), CudaGraph::new(&self.ctx)?);
        let mut gone = DeviceBuffer::filled(&stream, HALF, 1u32)?;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            graph.capture_into(&[], CaptureMode::ThreadLocal, |stream| {
                gone.fill(stream, 2)?;
                panic!("in a capture")
            })
        }));
        must_panic(caught.map(|nodes| nodes.map(drop)))?;
        drop(gone);
        graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
        Ok(())
    }

    pub(crate) fn use_stale(&mut self) -> Result<(), Error> {
        let index = self.random.below(self.buffers.len());
        for stream in &self.stale {
            let result = self.buffers[index].memory.fill(stream, 3);
            let error = result.expect_err("the clone of a capture's stream takes work after the capture");
            assert!(error.is_capture_error(), "{error}");
        }
        Ok(())
    }
}
