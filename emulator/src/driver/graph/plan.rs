//! The operations of an executable graph, in an order that its edges allow.

use cuda_driver_sys::CUgraphNode;

use super::branches::Branches;
use super::operation::Operation;
use super::user_object::Hold;
use super::{Graph, Node, waits};
use crate::driver::entry::Outcome;
use crate::driver::handles::to_c;
use crate::driver::work::Turn;
use crate::driver::work::event::Points;
use crate::driver::work::kernel::KernelCall;
use crate::driver::work::updatable::{DeviceNode, Said};
use crate::engine::Fault;

/// The steps of an executable graph.
#[derive(Clone)]
pub(super) struct Plan {
    /// In the order of the nodes' creation.
    steps: Vec<Step>,
    /// The order in which they are done: indices of `steps`.
    order: Vec<usize>,
    /// Whether a step waits for numbers in memory.
    waits: bool,
    /// Objects of the program that live as long as a launch can use them.
    objects: Vec<Hold>,
}

/// One node's part.
#[derive(Clone)]
pub(super) struct Step {
    /// Handle of its original node, by which the program refers to it.
    pub(super) node: usize,
    pub(super) operation: Operation,
    /// Whether launches do it.
    pub(super) enabled: bool,
    /// When the host last said what it does.
    pub(super) said: Said,
    /// The steps that it depends on.
    pub(super) after: Vec<usize>,
    /// The plans of the graphs that are a part of the operation.
    pub(super) inner: Vec<Plan>,
}

impl Step {
    /// Whether the launch that runs does it: a kernel may have decided that.
    fn is_enabled(&self) -> bool {
        self.operation.updatable().and_then(|(_, node)| node.enabled()).unwrap_or(self.enabled)
    }

    /// Does it, unless it is disabled.
    pub(super) fn run(&self, turn: &Turn) -> Result<(), Box<Fault>> {
        if self.is_enabled() { self.operation.run(self.node, &self.inner, turn) } else { Ok(()) }
    }
}

/// The edges form a cycle, of which this node is a part.
pub(super) struct Circle(pub(super) CUgraphNode);

impl Plan {
    /// The plan of a graph.
    pub(super) fn of(graph: &Graph) -> Result<Plan, Circle> {
        let contents = graph.contents();
        let said = Said::now();
        let handles: Vec<usize> = contents.nodes.keys().copied().collect();
        let step = |(handle, node): (&usize, &Node)| {
            Ok(Step {
                node: *handle,
                operation: node.operation.clone(),
                enabled: true,
                said,
                after: node.after.iter().filter_map(|edge| handles.binary_search(&edge.from).ok()).collect(),
                inner: node
                    .operation
                    .graphs()
                    .iter()
                    .map(|graph| Plan::of(graph))
                    .collect::<Result<_, _>>()?,
            })
        };
        let steps = contents.nodes.iter().map(step).collect::<Result<Vec<_>, _>>()?;
        let order = order(&steps)?;
        let waits = steps.iter().any(|step| step.operation.waits(&step.inner));
        Ok(Plan { steps, order, waits, objects: contents.objects.clone() })
    }

    /// The steps, in the order in which the nodes were made.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The order in which they are done: indices of the steps.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Whether one of them waits for numbers in memory, or one in a child graph.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// As [`steps`](Self::steps), for changes.
    pub(super) fn steps_mut(&mut self) -> &mut [Step] {
        &mut self.steps
    }

    /// The step of a node, in here or in the plan of a part.
    pub(super) fn step(&mut self, node: usize) -> Option<&mut Step> {
        self.steps.iter_mut().find_map(|step| {
            if step.node == node {
                Some(step)
            } else {
                step.inner.iter_mut().find_map(|plan| plan.step(node))
            }
        })
    }

    /// Calls `look` with all kernels that kernels change, and with when the host last said what they do.
    pub(super) fn updatable(&self, look: &mut dyn FnMut(&KernelCall, &DeviceNode, Said)) {
        for step in &self.steps {
            if let Some((kernel, node)) = step.operation.updatable() {
                look(kernel, node, step.said);
            }
            step.inner.iter().for_each(|plan| plan.updatable(look));
        }
    }

    /// Whether kernels change a kernel of it.
    pub(super) fn is_updatable(&self) -> bool {
        let mut found = false;
        self.updatable(&mut |_, _, _| found = true);
        found
    }

    /// Its operations in execution order, including nested ones.
    pub(super) fn operations(&self) -> Vec<&Operation> {
        let steps = self.order.iter().filter_map(|index| self.steps.get(*index)).filter(|step| step.enabled);
        steps
            .flat_map(|step| {
                let inner = step.inner.iter().flat_map(|plan| plan.operations());
                std::iter::once(&step.operation).chain(inner)
            })
            .collect()
    }

    /// From now on it keeps the objects of that plan.
    pub(super) fn keep_objects_of(&mut self, other: &mut Plan) {
        self.objects = std::mem::take(&mut other.objects);
    }

    /// Whether all of it can be launched now.
    pub(super) fn check(&self) -> Outcome {
        self.steps.iter().filter(|step| step.enabled).try_for_each(|step| {
            step.operation.check()?;
            step.inner.iter().try_for_each(|plan| plan.check())
        })
    }

    /// The points in time that the event nodes of a launch beginning now record and wait for.
    pub(super) fn points(&self) -> Points {
        let mut points = Points::default();
        self.set_points(&mut points);
        points
    }

    fn set_points(&self, points: &mut Points) {
        for step in self.order.iter().filter_map(|index| self.steps.get(*index)) {
            if let Operation::Work(work) = &step.operation {
                points.set(step.node, work);
            }
            step.inner.iter().for_each(|plan| plan.set_points(points));
        }
    }

    /// Begins a launch: sets conditions to their initial values.
    pub(super) fn begin(&self) {
        for operation in self.operations() {
            if let Operation::Conditional(conditional) = operation {
                conditional.begin();
            }
        }
    }

    /// Does it all; stops at a fault.
    pub(super) fn run(&self, turn: &Turn) -> Result<(), Box<Fault>> {
        if self.waits {
            return waits::run(self, turn);
        }
        let mut branches = Branches::new(self.steps.len());
        for (index, step) in self.order.iter().filter_map(|index| Some((*index, self.steps.get(*index)?))) {
            // A fault of another kernel may have ended everything.
            if turn.state.fault.check().is_err() {
                break;
            }
            branches.enter(index, &step.after);
            step.run(turn)?;
            branches.leave(index);
        }
        branches.finish();
        Ok(())
    }
}

/// An order that the edges allow: of the steps that could be next, always the one made first.
fn order(steps: &[Step]) -> Result<Vec<usize>, Circle> {
    let mut done = vec![false; steps.len()];
    let mut waiting: Vec<usize> = steps.iter().map(|step| step.after.len()).collect();
    let mut dependents = vec![Vec::new(); steps.len()];
    for (index, step) in steps.iter().enumerate() {
        for before in &step.after {
            if let Some(dependents) = dependents.get_mut(*before) {
                dependents.push(index);
            }
        }
    }
    let mut ready: std::collections::BTreeSet<usize> =
        waiting.iter().enumerate().filter(|(_, count)| **count == 0).map(|(index, _)| index).collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some(index) = ready.pop_first() {
        order.push(index);
        if let Some(done) = done.get_mut(index) {
            *done = true;
        }
        for dependent in dependents.get(index).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(*dependent) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(*dependent);
                }
            }
        }
    }
    let left = done.iter().position(|done| !done).and_then(|index| steps.get(index));
    left.map_or(Ok(order), |step| Err(Circle(to_c(step.node))))
}
