//! Conditional nodes of the graphs of `trees.rs`: they run one of their graphs, none, or one some times.

#![deny(unsafe_code)]

use crate::change::{Change, Planned};
use crate::graph_witness::GraphWitness;
use crate::program::Program;
use crate::trees::{Does, Part, Role, Sketch};
use cuda_launch::graph::{Branches, MemsetNode};
use cuda_launch::{CaptureMode, CudaGraph, DeviceBuffer, Error, LaunchConfig, cuda_module};
use std::sync::Arc;

#[cuda_module("tests/safe_programs/decide.ptx")]
mod kernels {
    unsafe extern "C" {
        /// Adds one to the first of the rounds, and sets the condition to whether that is below the limit.
        pub safe fn decide(condition: u64, rounds: &mut [u32], limit: u32);
    }
}

const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (1, 1, 1));

impl Program {
    /// A node whose value says which graph runs, or whether. None where the driver has no such nodes.
    pub(crate) fn add_branch(&mut self, sketch: &mut Sketch) -> Result<Option<Part>, Error> {
        if !self.ctx.driver().has("cuGraphConditionalHandleCreate") {
            return Ok(None);
        }
        // The others are of CUDA 12.8.
        let kinds = if self.ctx.driver_version() < 12080 { 2 } else { 4 };
        match self.random.below(kinds) {
            0 => self.add_loop(sketch),
            1 => self.add_choice(sketch, Branches::If),
            2 => self.add_choice(sketch, Branches::IfElse),
            _ => {
                let graphs = 1 + self.random.below(3) as u32;
                self.add_choice(sketch, Branches::Switch(graphs))
            }
        }
        .map(Some)
    }

    /// One of the graphs runs, or none. No kernel changes the value.
    fn add_choice(&mut self, sketch: &mut Sketch, branches: Branches) -> Result<Part, Error> {
        let value = self.random.below(4) as u32;
        let (graphs, taken) = match branches {
            Branches::If => (1, (value != 0).then_some(0)),
            Branches::IfElse => (2, Some(usize::from(value == 0))),
            Branches::Switch(graphs) => (graphs as usize, Some(value as usize)),
            _ => unreachable!("a loop is no choice"),
        };
        let condition = sketch.graph.add_condition(Some(value))?;
        let (node, bodies) = sketch.graph.add_conditional(&sketch.ends, condition, branches)?;
        assert_eq!(bodies.len(), graphs, "{branches:?}");
        let mut does = Vec::new();
        for (index, mut body) in bodies.into_iter().enumerate() {
            let does_this = self.fill_body(&sketch.witness, &mut body)?;
            if taken == Some(index) {
                does = does_this;
            }
        }
        sketch.ends = vec![node];
        Ok(Part { node, role: Role::Fixed, does })
    }

    /// The graph runs as long as a kernel in it says so. A GPU's driver loads that kernel only with a library of the toolkit: there it does
    /// not run.
    fn add_loop(&mut self, sketch: &mut Sketch) -> Result<Part, Error> {
        let can_decide = self.can_capture_into() && self.ctx.device_name()?.contains("emulator");
        let decide = can_decide.then(|| kernels::load(&self.ctx)).transpose()?;
        let rounds = if can_decide { self.random.below(4) as u32 } else { 0 };
        // The graph keeps it.
        let mut counter = DeviceBuffer::<u32>::uninit(&self.stream(), 1)?;
        let Sketch { graph, ends, witness } = sketch;
        let reset = graph.add_memset(ends, MemsetNode::new(&mut counter, 0)?)?;
        let condition = graph.add_condition(Some(rounds))?;
        let (node, mut bodies) = graph.add_conditional(&[reset], condition, Branches::While)?;
        let does = self.fill_body(witness, &mut bodies[0])?;
        if let Some(kernels) = decide {
            bodies[0].capture_into(&[], CaptureMode::ThreadLocal, |stream| {
                kernels.decide(stream, ONE, condition.handle(), &mut counter, rounds)
            })?;
        }
        *ends = vec![node];
        Ok(Part { node, role: Role::Fixed, does: does.repeat(rounds as usize) })
    }

    fn can_capture_into(&self) -> bool {
        self.ctx.driver().has("cuStreamBeginCaptureToGraph")
    }

    /// What the graph of such a node does. No host functions: a driver takes none there.
    fn fill_body(&mut self, witness: &Arc<GraphWitness>, body: &mut CudaGraph) -> Result<Vec<Does>, Error> {
        let can_capture = self.can_capture_into();
        let (mut does, mut end) = (Vec::new(), Vec::new());
        for number in 0..1 + self.random.below(3) {
            let planned = self.plan(|random| match Change::random(random) {
                Change::Copy => Change::Collect,
                change => change,
            });
            // What is captured has an order by the memory that it uses, as against what was added before.
            if can_capture && (number > 0 || self.random.one_in(2)) {
                let Self { buffers, kernels, .. } = self;
                let Planned { to, from, half, change } = planned;
                body.capture_into(&[], CaptureMode::ThreadLocal, |stream| {
                    let [target, source] = buffers.get_disjoint_mut([to, from]).unwrap();
                    let (mut view, source) = (target.memory.half_mut(half), source.memory.half(half));
                    change.submit(kernels, stream, &mut view, &source)
                })?;
                does.push(Does::Change(planned));
            } else {
                let fill = Planned { change: Change::Fill(self.random.number()), ..planned };
                end = vec![self.add(witness, body, &end, Does::Change(fill))?];
                does.push(Does::Change(fill));
            }
        }
        Ok(self.kept_does(does))
    }
}
