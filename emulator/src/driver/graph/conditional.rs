//! Conditional nodes: graphs that run once, repeatedly, or not at all, as set by a kernel.
//!
//! The values are set by `cudaGraphSetConditional` in kernels; the engine keeps them, by the handle.

use cuda_driver_sys::*;
use std::ffi::c_uint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Graph;
use super::operation::Operation;
use super::plan::Plan;
use crate::driver::context::{CONTEXTS, Context};
use crate::driver::entry::{INVALID_VALUE, OUT_OF_MEMORY, Out, Outcome, entries};
use crate::driver::logs;
use crate::driver::state::Call;
use crate::driver::work::{Turn, Work};
use crate::engine::{Fault, conditions};

entries! {
    cuGraphConditionalHandleCreate(handle: *mut CUgraphConditionalHandle, graph: CUgraph, context: CUcontext, default: c_uint, flags: c_uint) = create;
}

/// Most graphs of a SWITCH: they are created with the node, and a mistaken number must not exhaust the machine's memory.
const MOST_BODIES: c_uint = 1 << 16;

/// A value that decides, of one graph or of one in a body of its nodes.
pub(super) struct Condition {
    handle: u64,
    /// Its value at the begin of a launch, if specified.
    default: Option<u32>,
    /// Whether a node has it.
    used: AtomicBool,
}

impl Condition {
    pub(super) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}

impl Graph {
    /// The condition of that handle, of the graph or of one that it is a body in.
    fn condition(&self, handle: u64) -> Option<Arc<Condition>> {
        let own = self.contents().conditions.iter().find(|condition| condition.handle == handle).cloned();
        own.or_else(|| self.outer.upgrade()?.condition(handle))
    }
}

/// A conditional node.
#[derive(Clone)]
pub(in crate::driver) struct Conditional(Arc<Kept>);

struct Kept {
    condition: Arc<Condition>,
    kind: CUgraphConditionalNodeType,
    bodies: Vec<Arc<Graph>>,
    /// The handles of the bodies, for the program.
    handles: Box<[usize]>,
}

impl Conditional {
    /// Creates the node for the parameters, and writes the address of the list of its graphs.
    pub(super) fn read(
        call: &Call,
        graph: CUgraph,
        parameters: &mut CUDA_CONDITIONAL_NODE_PARAMS,
    ) -> Outcome<Conditional> {
        use CUgraphConditionalNodeType as T;
        let graph = call.graph(graph)?;
        let possible = match parameters.type_ {
            T::CU_GRAPH_COND_TYPE_IF => (1..=2).contains(&parameters.size),
            T::CU_GRAPH_COND_TYPE_WHILE => parameters.size == 1,
            T::CU_GRAPH_COND_TYPE_SWITCH => parameters.size >= 1,
            _ => false,
        };
        if !possible {
            return Err(INVALID_VALUE);
        }
        if parameters.size > MOST_BODIES {
            let asked = parameters.size;
            logs::because(format!(
                "a SWITCH node has at most {MOST_BODIES} bodies on the emulator, and {asked} were asked for"
            ));
            logs::advise("use fewer bodies, or several nodes");
            return Err(OUT_OF_MEMORY);
        }
        let level = graph.level_below(1)?;
        let condition = graph.condition(parameters.handle).ok_or(INVALID_VALUE)?;
        if condition.used.swap(true, Ordering::Relaxed) {
            return Err(INVALID_VALUE);
        }
        let outer = Arc::downgrade(&graph);
        let bodies: Vec<_> = (0..parameters.size).map(|_| Graph::create(level, outer.clone())).collect();
        let handles: Box<[usize]> = bodies.iter().map(|body| body.handle).collect();
        parameters.phGraph_out = handles.as_ptr().cast_mut().cast();
        Ok(Conditional(Arc::new(Kept { condition, kind: parameters.type_, bodies, handles })))
    }

    /// Whether it does the same with a value.
    pub(super) fn is_like(&self, other: &Conditional) -> bool {
        self.0.kind == other.0.kind && self.0.bodies.len() == other.0.bodies.len()
    }

    /// Replaces another one in an executable graph: a value that launches do not reset is kept, as on an H200.
    pub(super) fn follows(&self, old: &Conditional) {
        if self.0.condition.default.is_none() {
            conditions::set(self.0.condition.handle, conditions::get(old.0.condition.handle));
        }
    }

    pub(super) fn graphs(&self) -> &[Arc<Graph>] {
        &self.0.bodies
    }

    /// Called if no node was created: the condition can be used again.
    pub(super) fn release(&self) {
        self.0.condition.used.store(false, Ordering::Relaxed);
    }

    /// The condition as it is when a launch begins.
    pub(super) fn begin(&self) {
        if let Some(default) = self.0.condition.default {
            conditions::set(self.0.condition.handle, default);
        }
    }

    /// Runs the bodies that the condition selects. `bodies` are the plans of its graphs.
    pub(super) fn run(&self, bodies: &[Plan], turn: &Turn) -> Result<(), Box<Fault>> {
        use CUgraphConditionalNodeType as T;
        let value = || conditions::get(self.0.condition.handle);
        match self.0.kind {
            T::CU_GRAPH_COND_TYPE_WHILE => {
                while value() != 0 && turn.state.fault.check().is_ok() {
                    bodies.iter().try_for_each(|body| body.run(turn))?;
                }
                Ok(())
            }
            kind => {
                let chosen = if kind == T::CU_GRAPH_COND_TYPE_IF { u32::from(value() == 0) } else { value() };
                bodies.get(chosen as usize).map_or(Ok(()), |body| body.run(turn))
            }
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        conditions::forget(self.condition.handle);
        debug_assert_eq!(self.handles.len(), self.bodies.len());
    }
}

impl Operation {
    /// Whether it is allowed in a body of a conditional node, which runs on the device alone.
    pub(super) fn is_for_bodies(&self) -> bool {
        matches!(
            self,
            Operation::Work(Work::Kernel(_))
                | Operation::Work(Work::Copy(_))
                | Operation::Work(Work::Fill(_))
                | Operation::Work(Work::Empty)
                | Operation::Child(_)
                | Operation::Conditional(_)
        )
    }
}

fn context(call: &Call, context: CUcontext) -> Outcome<Arc<Context>> {
    if context.is_null() {
        return call.context();
    }
    let found = CONTEXTS.get(context.addr()).filter(|context| context.is_alive());
    found.ok_or(INVALID_VALUE)
}

fn create(
    call: &Call,
    handle: Out<CUgraphConditionalHandle>,
    graph: CUgraph,
    of: CUcontext,
    default: c_uint,
    flags: c_uint,
) -> Outcome {
    let place = handle.required()?;
    let graph = call.graph(graph)?;
    let state = call.state()?;
    context(call, of)?;
    if flags & !CU_GRAPH_COND_ASSIGN_DEFAULT != 0 {
        return Err(INVALID_VALUE);
    }
    let default = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT != 0).then_some(default);
    let handle = state.id();
    graph.contents().conditions.push(Arc::new(Condition { handle, default, used: AtomicBool::new(false) }));
    place.set(handle);
    Ok(())
}
