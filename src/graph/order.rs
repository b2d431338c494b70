//! The order of captured work among the other nodes of a graph.
//!
//! A capture orders its own work by the memory that it uses, as streams do. A `safe fn` relies on that: nothing else uses its `&mut`
//! memory meanwhile. Other nodes of the graph have only the dependencies that they are given. So before a graph can run (it is
//! instantiated, or copied into another one) the missing dependencies are added: between what was captured together and every other
//! capture, memset, copy, child and conditional node that uses the same memory, if one of the two writes it. What was added first comes
//! first. A node of an executable graph, whose dependencies cannot change, takes no memory for which one would be missing.
//!
//! Kernels of `add_kernel` are left alone: their order is a duty of whoever adds them.

#![allow(unsafe_code)] // Calls of the driver with nodes of a live graph.

use std::collections::{HashMap, HashSet};

use super::edge::Edge;
use super::exec::GraphExec;
use super::graph::CudaGraph;
use super::node::{GraphNode, NodeKind, Share, Table, Use, lock};
use crate::driver::older;
use crate::error::{Error, ErrorKind, GraphError};

/// For how many nodes of a part those that are related to them are kept: each takes memory for all nodes of the graph.
const KEPT: usize = 64;

/// Work that was captured together.
#[derive(Clone)]
pub(super) struct Captured {
    /// By index; some may have been removed.
    nodes: HashSet<usize>,
    /// What any of it uses.
    memory: Vec<Use>,
}

impl Captured {
    pub(super) fn new(nodes: &[GraphNode], share: &Share) -> Self {
        Self { nodes: nodes.iter().map(|node| node.index).collect(), memory: share.memory.clone() }
    }

    /// Whether two of its nodes can depend on their order.
    fn writes(&self) -> bool {
        self.memory.iter().any(|memory| memory.written)
    }
}

/// Nodes that use the same memory, as far as is known.
pub(super) struct Part {
    nodes: Vec<usize>,
    memory: Vec<Use>,
    /// Whether it relies on an order with all others.
    captured: bool,
    /// Whether it is a child graph, whose work may have been captured.
    child: bool,
}

impl Part {
    fn conflicts(&self, memory: &[Use]) -> bool {
        let meets = |a: &Use, b: &Use| a.is(b) && (a.written || b.written);
        self.memory.iter().any(|own| memory.iter().any(|other| meets(own, other)))
    }
}

/// The dependencies of a graph, by the index of its nodes.
pub(super) struct Edges {
    next: Vec<Vec<(usize, Edge)>>,
    previous: Vec<Vec<(usize, Edge)>>,
}

/// A set of nodes, by index.
struct Nodes(Vec<bool>);

impl Nodes {
    fn contains(&self, node: usize) -> bool {
        self.0.get(node).is_some_and(|is_in| *is_in)
    }

    /// Whether it is new there.
    fn insert(&mut self, node: usize) -> bool {
        self.0.get_mut(node).is_some_and(|is_in| !std::mem::replace(is_in, true))
    }
}

impl Edges {
    fn new(nodes: usize) -> Self {
        Self { next: vec![Vec::new(); nodes], previous: vec![Vec::new(); nodes] }
    }

    fn add(&mut self, from: usize, to: usize, edge: Edge) {
        if let (Some(next), Some(previous)) = (self.next.get_mut(from), self.previous.get_mut(to)) {
            next.push((to, edge));
            previous.push((from, edge));
        }
    }

    fn remove(&mut self, from: usize, to: usize, edge: Edge) {
        if let (Some(next), Some(previous)) = (self.next.get_mut(from), self.previous.get_mut(to)) {
            next.retain(|entry| *entry != (to, edge));
            previous.retain(|entry| *entry != (from, edge));
        }
    }

    /// Adds the nodes that are reached from `start` in one direction, by plain dependencies or by all.
    fn reach(edges: &[Vec<(usize, Edge)>], start: usize, plain: bool, found: &mut Nodes) {
        let mut left = vec![start];
        while let Some(node) = left.pop() {
            let next = edges.get(node).into_iter().flatten();
            let next = next.filter(|(_, edge)| !plain || *edge == Edge::FULL);
            left.extend(next.map(|(node, _)| *node).filter(|node| found.insert(*node)));
        }
    }

    /// The nodes that come all before or all after this one.
    fn related(&self, node: usize) -> Nodes {
        // No node is reached in both directions.
        let mut all = Nodes(vec![false; self.next.len()]);
        Self::reach(&self.next, node, true, &mut all);
        Self::reach(&self.previous, node, true, &mut all);
        all
    }

    /// Whether plain dependencies lead from one of these nodes to another, by these nodes alone.
    fn leads_within(&self, nodes: &HashSet<usize>, from: usize, to: usize) -> bool {
        let (mut found, mut left) = (HashSet::new(), vec![from]);
        while let Some(node) = left.pop() {
            let next = Self::plain(self.next.get(node)).filter(|node| nodes.contains(node));
            left.extend(next.filter(|node| found.insert(*node)));
        }
        found.contains(&to)
    }

    /// Whether `to` comes after `from` in some way.
    fn leads(&self, from: usize, to: usize, plain: bool) -> bool {
        let mut found = Nodes(vec![false; self.next.len()]);
        Self::reach(&self.next, from, plain, &mut found);
        found.contains(to)
    }

    /// The other ends of plain dependencies.
    fn plain(edges: Option<&Vec<(usize, Edge)>>) -> impl Iterator<Item = usize> {
        edges.into_iter().flatten().filter(|(_, edge)| *edge == Edge::FULL).map(|(node, _)| *node)
    }
}

impl Table {
    /// Whether work of it, or of the graphs inside it, was captured.
    pub(super) fn has_captured(&self) -> bool {
        !self.captured.is_empty() || self.live().any(|(_, record)| record.is_captured())
    }

    /// What has to be ordered, or may have to be.
    fn parts(&self) -> Vec<Part> {
        let live: HashSet<usize> = self.live().map(|(node, _)| node.index).collect();
        let captured = self.captured.iter().map(|captured| {
            let mut nodes: Vec<usize> = captured.nodes.intersection(&live).copied().collect();
            nodes.sort_unstable();
            Part { nodes, memory: captured.memory.clone(), captured: true, child: false }
        });
        let alone =
            self.live().filter(|(node, record)| record.kind.is_safe_to_add() && !self.is_captured(*node));
        let alone = alone.map(|(node, record)| Part {
            nodes: vec![node.index],
            memory: record.full_share().memory,
            captured: record.is_captured(),
            child: record.kind == NodeKind::Child,
        });
        captured.chain(alone).filter(|part| !part.nodes.is_empty()).collect()
    }

    fn is_captured(&self, node: GraphNode) -> bool {
        self.captured.iter().any(|captured| captured.nodes.contains(&node.index))
    }

    /// Whether the two were captured together and may rely on their order.
    fn rely(&self, a: usize, b: usize) -> bool {
        self.captures_of(a, b).next().is_some()
    }

    /// The captures that have both and may rely on their order.
    fn captures_of(&self, a: usize, b: usize) -> impl Iterator<Item = &Captured> {
        let both = move |captured: &&Captured| captured.nodes.contains(&a) && captured.nodes.contains(&b);
        self.captured.iter().filter(|captured| captured.writes()).filter(both)
    }

    /// What an executable graph has to know of this graph as it is now: nodes may be removed later.
    pub(super) fn parts_to_keep(&self) -> Vec<Part> {
        let has_child = || self.live().any(|(_, record)| record.kind == NodeKind::Child);
        if self.has_captured() || has_child() { self.parts() } else { Vec::new() }
    }
}

impl NodeKind {
    /// Whether safe code adds nodes of this kind that use memory.
    fn is_safe_to_add(self) -> bool {
        matches!(self, Self::Memcpy | Self::Memset | Self::Child | Self::Conditional)
    }
}

impl CudaGraph {
    /// Adds the dependencies that captured work relies on, here and in the graphs inside; call it where the family is locked, before the
    /// graph is instantiated or copied.
    ///
    /// Driver calls, if captured work and other nodes use the same memory: `cuGraphGetEdges`, and `cuGraphAddDependencies` for what is missing.
    pub(super) fn order_captured(&self) -> Result<(), Error> {
        // The table is never locked while the driver is called: a subscriber to spans may look at the nodes.
        let bodies: Vec<_> = lock(&self.table).live().flat_map(|(_, record)| record.bodies.clone()).collect();
        for body in bodies {
            Self::of_table(&self.family, &body).order_captured()?;
        }
        let parts = {
            let table = lock(&self.table);
            table.has_captured().then(|| table.parts())
        };
        let Some(mut parts) = parts else { return Ok(()) };
        parts.sort_by_key(|part| part.nodes.first().copied());
        let mut edges = None;
        for (index, part) in parts.iter().enumerate() {
            // Of the nodes of `part`: asked for once, unless a dependency is added.
            let mut known = HashMap::new();
            // The last one first: it may come after the others.
            for other in parts.iter().take(index).rev() {
                if (part.captured || other.captured) && part.conflicts(&other.memory) {
                    let edges = match &mut edges {
                        Some(edges) => edges,
                        none => none.insert(self.edges_locked()?),
                    };
                    self.order_parts(edges, &mut known, (part, other))?;
                }
            }
        }
        Ok(())
    }

    /// Each node of one part is to come before or after each of the other. `known` are the nodes that are related to those of the first.
    fn order_parts(
        &self,
        edges: &mut Edges,
        known: &mut HashMap<usize, Nodes>,
        (one, other): (&Part, &Part),
    ) -> Result<(), Error> {
        let turned = one.nodes.len() > other.nodes.len();
        let (few, many) = if turned { (other, one) } else { (one, other) };
        for &node in &few.nodes {
            // The nearest first: what comes before them, or after, is then ordered as well.
            let (earlier, later): (Vec<usize>, Vec<usize>) =
                many.nodes.iter().copied().partition(|other| *other < node);
            let mut related = known.remove(&node).unwrap_or_else(|| edges.related(node));
            for other in earlier.into_iter().rev().chain(later) {
                if related.contains(other) {
                    continue;
                }
                let (first, second) = (node.min(other), node.max(other));
                // What has an order of another kind keeps it.
                let swapped = edges.leads(second, first, false);
                let (first, second) = if swapped { (second, first) } else { (first, second) };
                self.order_nodes(edges, first, second)?;
                known.clear();
                related = edges.related(node);
            }
            if !turned && few.nodes.len() <= KEPT {
                known.insert(node, related);
            }
        }
        Ok(())
    }

    /// Makes one node wait for another, for all of it.
    fn order_nodes(&self, edges: &mut Edges, from: usize, to: usize) -> Result<(), Error> {
        let graph = lock(&self.table).id;
        let node = |index| GraphNode { graph, index };
        let nodes = (node(from), node(to));
        // Drivers have one dependency between two nodes.
        let weaker = edges.next.get(from).into_iter().flatten().find(|(node, _)| *node == to).copied();
        if let Some((_, edge)) = weaker {
            self.change_edge(nodes, edge, false)?;
            edges.remove(from, to, edge);
        }
        self.change_edge(nodes, Edge::FULL, true)?;
        edges.add(from, to, Edge::FULL);
        Ok(())
    }

    /// Adds or removes a dependency; the family is locked.
    pub(super) fn change_edge(
        &self,
        (from, to): (GraphNode, GraphNode),
        edge: Edge,
        add: bool,
    ) -> Result<(), Error> {
        let nodes = {
            let mut table = lock(&self.table);
            // Also where the call fails, or unwinds.
            table.version += 1;
            table.raw(&[from, to])?
        };
        let [first, second] = nodes.as_slice() else { return Ok(()) };
        let asked = || format!("node {} after node {}, {edge:?}", to.index, from.index);
        let name = if add { "cuGraphAddDependencies" } else { "cuGraphRemoveDependencies" };
        // SAFETY: 1: the graph lives as long as this value (`CudaGraph::raw`), and is locked, so that the nodes live (`Record::raw`),
        // which `raw` found in it; all references outlive the call. That no kernel of `add_kernel` relies on an order that is not there is
        // duty 1 of that; captured work is ordered before it can run.
        self.context().call(name, asked, |driver| unsafe {
            match add {
                true => older::add_dependency(driver, self.raw, first, second, &edge.raw()),
                false => older::remove_dependency(driver, self.raw, first, second, &edge.raw()),
            }
        })
    }

    /// The dependencies between known nodes; the family is locked.
    fn edges_locked(&self) -> Result<Edges, Error> {
        let (known, nodes): (HashMap<_, _>, _) = {
            let table = lock(&self.table);
            (table.live().map(|(node, record)| (record.raw, node.index)).collect(), table.records.len())
        };
        let mut edges = Edges::new(nodes);
        for (from, to, data) in self.raw_edges()? {
            if let (Some(from), Some(to)) = (known.get(&from), known.get(&to)) {
                edges.add(*from, *to, Edge::from_raw(data));
            }
        }
        Ok(edges)
    }

    /// An error if captured work relies on the dependency; the family is locked.
    pub(super) fn may_remove_edge(
        &self,
        (from, to): (GraphNode, GraphNode),
        edge: Edge,
    ) -> Result<(), Error> {
        let captures: Vec<Captured> = lock(&self.table).captures_of(from.index, to.index).cloned().collect();
        if captures.is_empty() {
            return Ok(());
        }
        let mut edges = self.edges_locked()?;
        if !edges.leads(from.index, to.index, true) {
            return Ok(());
        }
        edges.remove(from.index, to.index, edge);
        // Others than those nodes, and their dependencies, may be removed by anybody.
        if captures.iter().all(|captured| edges.leads_within(&captured.nodes, from.index, to.index)) {
            return Ok(());
        }
        let why = "the two were captured together, and rely on their order; capture what is to run at the same time on streams that are \
                   forked from each other"
            .into();
        Err(ErrorKind::from(GraphError::Unfit { node: "dependency", why }).into())
    }

    /// Makes the captured nodes after `node`, which is about to be removed, wait for those before it; the family is locked.
    pub(super) fn bridge(&self, node: GraphNode) -> Result<(), Error> {
        if !lock(&self.table).is_captured(node) {
            return Ok(());
        }
        let mut edges = self.edges_locked()?;
        let index = node.index;
        let before: Vec<usize> = Edges::plain(edges.previous.get(index)).collect();
        let after: Vec<usize> = Edges::plain(edges.next.get(index)).collect();
        let both: Vec<_> = {
            let table = lock(&self.table);
            let both = before.iter().flat_map(|from| after.iter().map(|to| (*from, *to)));
            both.filter(|(from, to)| table.rely(*from, *to)).collect()
        };
        for (from, to) in both {
            let direct = Edges::plain(edges.next.get(from)).any(|next| next == to);
            if !direct {
                self.order_nodes(&mut edges, from, to)?;
            }
        }
        Ok(())
    }
}

impl GraphExec {
    /// An error if captured work relies on an order with `node` that would be missing once that uses `share`; the family is locked.
    pub(super) fn stays_ordered(&self, node: GraphNode, kind: NodeKind, share: &Share) -> Result<(), Error> {
        if !kind.is_safe_to_add() {
            return Ok(());
        }
        let graph = CudaGraph::of_table(&self.family, &self.table);
        let table = lock(&self.table);
        let others = match self.updated() {
            Some(captured) if captured || kind == NodeKind::Child || self.has_children(&table) => {
                self.all_others(&table, node, share)
            }
            Some(_) => None,
            None if self.has_already(&table, node, kind, share) => None,
            None => self.others_in_conflict(&table, node, kind, share),
        };
        let Some(others) = others else { return Ok(()) };
        let is_unchanged = self.version() == table.version;
        drop(table);
        // Its dependencies are then those of the graph that this one was made from.
        if is_unchanged {
            let related = graph.edges_locked()?.related(node.index);
            if others.iter().all(|other| related.contains(*other)) {
                return Ok(());
            }
        }
        let why = "captured work or a graph inside this one uses the memory, and no dependency orders the two; build a graph with this node \
                   and instantiate it"
            .into();
        Err(ErrorKind::from(GraphError::Unfit { node: kind.word(), why }).into())
    }

    /// Whether the node uses this memory already, and so is ordered by it.
    fn has_already(&self, table: &Table, node: GraphNode, kind: NodeKind, share: &Share) -> bool {
        let own = table.live().find(|(known, _)| *known == node).map(|(_, record)| &record.share);
        let own = self.changed(node).or(own.filter(|_| !table.is_captured(node)));
        let has = |new: &Use| {
            own.is_some_and(|own| own.memory.iter().any(|old| old.is(new) && old.written >= new.written))
        };
        kind != NodeKind::Child && share.memory.iter().all(has)
    }

    /// Whether there are graphs inside, which may have been replaced by others with captured work.
    fn has_children(&self, table: &Table) -> bool {
        self.parts().iter().any(|part| part.child)
            || table.live().any(|(_, record)| record.kind == NodeKind::Child)
    }

    /// The nodes that this one must be ordered with; they may have been removed from the graph. `None` if nothing conflicts.
    fn others_in_conflict(
        &self,
        table: &Table,
        node: GraphNode,
        kind: NodeKind,
        share: &Share,
    ) -> Option<Vec<usize>> {
        let relies = kind == NodeKind::Child || table.is_captured(node);
        let mut others = Vec::new();
        for part in self.parts().iter().filter(|part| relies || part.captured || part.child) {
            let current = part.nodes.iter().filter_map(|&index| self.changed(GraphNode { index, ..node }));
            let current = current.flat_map(|share| share.memory.iter().cloned());
            let memory = part.memory.iter().cloned().chain(current).collect();
            let nodes: Vec<usize> = part.nodes.iter().copied().filter(|index| *index != node.index).collect();
            let part = Part { nodes, memory, ..*part };
            if part.conflicts(&share.memory) {
                others.extend(part.nodes);
            }
        }
        (!others.is_empty()).then_some(others)
    }

    /// The same where another graph has taken the place of this one's work: which of its nodes uses what is unknown.
    fn all_others(&self, table: &Table, node: GraphNode, share: &Share) -> Option<Vec<usize>> {
        let memory = self.memory().cloned().collect();
        let all = Part { nodes: Vec::new(), memory, captured: true, child: false };
        if !all.conflicts(&share.memory) {
            return None;
        }
        let uses = |kind: NodeKind| kind.is_safe_to_add() || kind == NodeKind::Kernel;
        let others = table.live().filter(|(other, record)| *other != node && uses(record.kind));
        Some(others.map(|(other, _)| other.index).collect())
    }
}
