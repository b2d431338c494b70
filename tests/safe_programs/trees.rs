//! Steps with graphs of other nodes: graphs in graphs, host functions, events, conditions, memory of the graph; nodes that are removed,
//! copied and replaced. What memory holds is compared as for all graphs, and each host function tells that it has run.

#![deny(unsafe_code)]

use crate::change::{Change, Planned};
use crate::graph_witness::GraphWitness;
use crate::graphs::{copy, memset};
use crate::program::Program;
use cuda_launch::graph::{Edge, GraphNode, InstantiateFlags};
use cuda_launch::{CudaEvent, CudaGraph, Error, GraphExec};
use std::sync::Arc;

pub(crate) struct Tree {
    pub(crate) exec: GraphExec,
    /// One after the other.
    pub(crate) parts: Vec<Part>,
    pub(crate) witness: Arc<GraphWitness>,
    pub(crate) expected: Vec<u32>,
    pub(crate) launches: usize,
    /// Of its event nodes.
    pub(crate) before: Option<Arc<CudaEvent>>,
    pub(crate) after: Option<Arc<CudaEvent>>,
}

pub(crate) struct Part {
    pub(crate) node: GraphNode,
    pub(crate) role: Role,
    pub(crate) does: Vec<Does>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    Host,
    /// A graph of one node for each thing that it does.
    Child,
    /// Is never changed.
    Fixed,
    EventWait,
    EventRecord,
}

#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// By the buffers' ids; by their places where it is not a part yet.
    Change(Planned),
    Tell(u32),
}

/// A graph to be, and the nodes that the next one comes after.
pub(crate) struct Sketch {
    pub(crate) graph: CudaGraph,
    pub(crate) ends: Vec<GraphNode>,
    pub(crate) witness: Arc<GraphWitness>,
}

impl Program {
    /// Adds a node after the ends, in one of several ways.
    fn then(
        &mut self,
        sketch: &mut Sketch,
        add: impl FnOnce(&mut Self, &mut CudaGraph, &[GraphNode]) -> Result<GraphNode, Error>,
    ) -> Result<GraphNode, Error> {
        let Sketch { graph, ends, witness } = sketch;
        let node = match self.random.below(4) {
            0 => {
                let node = add(self, graph, &[])?;
                ends.iter().try_for_each(|end| graph.add_dependency(*end, node, Edge::FULL))?;
                node
            }
            1 if !ends.is_empty() => {
                let barrier = graph.add_empty(ends)?;
                let node = add(self, graph, &[ends[0], barrier])?;
                graph.remove_dependency(ends[0], node, Edge::FULL)?;
                node
            }
            2 => {
                let gone = graph.add_host(ends, witness.teller(u32::MAX, 0))?;
                ends.push(gone);
                let node = add(self, graph, ends)?;
                graph.remove(gone)?;
                node
            }
            _ => add(self, graph, ends)?,
        };
        *ends = vec![node];
        Ok(node)
    }

    /// One of what children do.
    fn does(&mut self) -> Does {
        match self.random.below(3) {
            0 => Does::Tell(self.random.number()),
            1 => Does::Change(self.plan(|random| Change::Fill(random.number()))),
            _ => Does::Change(self.plan(|_| Change::Copy)),
        }
    }

    pub(crate) fn add(
        &mut self,
        witness: &Arc<GraphWitness>,
        graph: &mut CudaGraph,
        after: &[GraphNode],
        does: Does,
    ) -> Result<GraphNode, Error> {
        match does {
            Does::Tell(number) => {
                graph.add_host(after, witness.teller(number, [0, 0, 200][self.random.below(3)]))
            }
            Does::Change(Planned { to, half, change: Change::Fill(value), .. }) => {
                graph.add_memset(after, memset(&mut self.buffers, to, half, value)?)
            }
            Does::Change(planned) => graph.add_copy(after, copy(&mut self.buffers, planned)?),
        }
    }

    /// A graph that does these one after the other.
    pub(crate) fn line(&mut self, witness: &Arc<GraphWitness>, does: &[Does]) -> Result<CudaGraph, Error> {
        let mut graph = CudaGraph::new(&self.ctx)?;
        self.extend(witness, &mut graph, Vec::new(), does)?;
        Ok(graph)
    }

    /// Adds these one after the other, after the last node.
    fn extend(
        &mut self,
        witness: &Arc<GraphWitness>,
        graph: &mut CudaGraph,
        mut last: Vec<GraphNode>,
        does: &[Does],
    ) -> Result<(), Error> {
        for does in does {
            last = vec![self.add(witness, graph, &last, *does)?];
        }
        Ok(())
    }

    /// The same by ids, which the graph has from now on.
    pub(crate) fn kept_does(&mut self, does: Vec<Does>) -> Vec<Does> {
        does.into_iter()
            .map(|does| match does {
                Does::Change(planned) => Does::Change(self.kept(planned)),
                Does::Tell(_) => does,
            })
            .collect()
    }

    /// Another part of a tree, and what it is to do.
    fn add_part(&mut self, sketch: &mut Sketch) -> Result<Part, Error> {
        let witness = sketch.witness.clone();
        let some: Vec<_> = (0..1 + self.random.below(3)).map(|_| self.does()).collect();
        let (node, role, does) = match self.random.below(6) {
            0 => {
                let child = self.line(&witness, &some)?;
                (self.then(sketch, |_, graph, after| graph.add_child(after, &child))?, Role::Child, some)
            }
            1 => {
                let (mut child, first) = (CudaGraph::new(&self.ctx)?, self.does());
                let inner = child.add_child(&[], &self.line(&witness, &[first])?)?;
                self.extend(&witness, &mut child, vec![inner], &some)?;
                let does = [&[first], &some[..]].concat();
                (self.then(sketch, |_, graph, after| graph.add_child(after, &child))?, Role::Fixed, does)
            }
            2 => {
                let planned: Vec<_> =
                    (0..1 + self.random.below(3)).map(|_| self.plan(Change::random)).collect();
                let child = self.record(&planned, false, false)?;
                let does = planned.into_iter().map(Does::Change).collect();
                // Captured work is ordered by the memory that it uses.
                let node = sketch.graph.add_child(&[], &child)?;
                sketch.ends.push(node);
                (node, Role::Fixed, does)
            }
            _ => {
                let does = some[0];
                let role = if matches!(does, Does::Tell(_)) { Role::Host } else { Role::Fixed };
                let add = |program: &mut Self, graph: &mut CudaGraph, after: &[GraphNode]| {
                    program.add(&witness, graph, after, does)
                };
                (self.then(sketch, add)?, role, vec![does])
            }
        };
        Ok(Part { node, role, does: self.kept_does(does) })
    }

    fn some_event(&mut self) -> Result<Option<Arc<CudaEvent>>, Error> {
        let event = |_| self.ctx.new_event().map(Arc::new);
        (self.random.below(3) > 0).then_some(()).map(event).transpose()
    }

    pub(crate) fn build_tree(&mut self) -> Result<(), Error> {
        let witness = Arc::new(GraphWitness::default());
        let mut sketch =
            Sketch { graph: CudaGraph::new(&self.ctx)?, ends: Vec::new(), witness: witness.clone() };
        let mut parts = Vec::new();
        let (before, after, clone) = (self.some_event()?, self.some_event()?, self.random.one_in(3));
        let (waits_at, count) = (self.random.below(3), 2 + self.random.below(5));
        for number in 0..count {
            if let Some(event) = before.as_ref().filter(|_| number == waits_at) {
                let node = self.then(&mut sketch, |_, graph, after| graph.add_event_wait(after, event))?;
                parts.push(Part { node, role: Role::EventWait, does: Vec::new() });
                let entered = witness.clone();
                self.then(&mut sketch, |_, graph, after| graph.add_host(after, move || entered.enter()))?;
            }
            parts.push(self.add_part(&mut sketch)?);
            if !clone && self.random.one_in(4) {
                parts.extend(self.add_branch(&mut sketch)?);
            }
        }
        if let Some(event) = &after {
            let node = self.then(&mut sketch, |_, graph, after| graph.add_event_record(after, event))?;
            parts.push(Part { node, role: Role::EventRecord, does: Vec::new() });
            parts.push(self.add_part(&mut sketch)?);
        }
        let Sketch { mut graph, ends, .. } = sketch;
        if clone {
            graph = graph.try_clone()?;
            parts.iter_mut().for_each(|part| part.node = graph.copy_of(part.node));
        } else if self.random.one_in(3) {
            let memory = graph.add_alloc::<u32>(&ends, 100)?;
            graph.add_free(&[memory.node()], &memory)?;
        }
        let exec = graph.instantiate(InstantiateFlags::empty())?;
        let before = before.filter(|_| parts.iter().any(|part| part.role == Role::EventWait));
        self.trees.push(Tree { exec, parts, witness, expected: Vec::new(), launches: 0, before, after });
        Ok(())
    }
}
