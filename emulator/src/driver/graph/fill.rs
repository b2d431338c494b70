//! Memset nodes.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays.

use cuda_driver_sys::*;
use std::sync::Arc;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::context::Context;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::memory::fault;
use crate::driver::state::{Call, State};
use crate::engine::Fault;
use crate::memory::Memory;

entries! {
    cuGraphAddMemsetNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_MEMSET_NODE_PARAMS, context: CUcontext) = add;
    cuGraphMemsetNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_MEMSET_NODE_PARAMS) = get_parameters;
    cuGraphMemsetNodeSetParams(node: CUgraphNode, parameters: *const CUDA_MEMSET_NODE_PARAMS) = set_parameters;
}

/// A fill that is kept: rows of elements, the starts of which are `pitch` bytes apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Fill {
    pub(in crate::driver) target: u64,
    pub(in crate::driver) pitch: usize,
    pub(in crate::driver) value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub(in crate::driver) element: u32,
    pub(in crate::driver) width: usize,
    pub(in crate::driver) height: usize,
}

impl Fill {
    pub(super) fn run(&self, memory: &Memory) -> Result<(), Box<Fault>> {
        let value = self.value.to_le_bytes();
        let pattern = value.get(..self.element as usize).unwrap_or(&value);
        (0..self.height as u64)
            .try_for_each(|row| {
                memory.fill(self.target + row * self.pitch as u64, pattern, self.width as u64)
            })
            .map_err(|error| fault("memset node", &error))
    }

    /// Checks the parameters of a node.
    pub(super) fn read(state: &State, parameters: &CUDA_MEMSET_NODE_PARAMS) -> Outcome<Fill> {
        let CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height } = *parameters;
        let fits = match elementSize {
            1 => value <= 0xff,
            2 => value <= 0xffff,
            4 => true,
            _ => false,
        };
        let element = elementSize as usize;
        if !fits || width == 0 || height == 0 {
            return Err(INVALID_VALUE);
        }
        let row = width.checked_mul(element).ok_or(INVALID_VALUE)?;
        let rows = if height > 1 { pitch.checked_mul(height - 1).ok_or(INVALID_VALUE)? } else { 0 };
        let whole = rows.checked_add(row).ok_or(INVALID_VALUE)?;
        let aligned = dst.is_multiple_of(element as u64) && (height == 1 || pitch.is_multiple_of(element));
        if !aligned || height > 1 && pitch < row || !state.is_device_range(dst, whole as u64) {
            return Err(INVALID_VALUE);
        }
        Ok(Fill { target: dst, pitch, value, element: elementSize, width, height })
    }

    /// Whether both are of one row: an executable graph's fill can be changed to such a one only.
    pub(super) fn can_become(&self, other: &Fill) -> bool {
        (self.height, other.height) == (1, 1)
    }

    pub(super) fn parameters(&self) -> CUDA_MEMSET_NODE_PARAMS {
        let Fill { target, pitch, value, element, width, height } = *self;
        CUDA_MEMSET_NODE_PARAMS { dst: target, pitch, value, elementSize: element, width, height }
    }
}

/// The context in which a copy or a fill is done.
pub(super) fn context(call: &Call, context: CUcontext) -> Outcome<Arc<Context>> {
    let context = call.healthy()?.contexts.get(context.addr());
    context.filter(|context| context.is_alive()).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_MEMSET_NODE_PARAMS>,
    of: CUcontext,
) -> Outcome {
    let made = |call: &Call| {
        let parameters = parameters.read()?;
        context(call, of)?;
        Ok(Operation::Fill(Fill::read(call.state()?, &parameters)?))
    };
    // SAFETY: by the function's contract there are `count` nodes.
    unsafe { insert(call, node, graph, after, count, made) }
}

fn get_parameters(call: &Call, node: CUgraphNode, parameters: Out<CUDA_MEMSET_NODE_PARAMS>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Fill(fill) = operation else { return Err(INVALID_VALUE) };
        place.set(fill.parameters());
        Ok(())
    })
}

fn set_parameters(call: &Call, node: CUgraphNode, parameters: In<CUDA_MEMSET_NODE_PARAMS>) -> Outcome {
    let parameters = parameters.read()?;
    call.node(node)?.change(|operation| operation.set_fill(call.state()?, &parameters))
}

impl Operation {
    /// Sets the parameters of a memset node.
    pub(super) fn set_fill(&mut self, state: &State, parameters: &CUDA_MEMSET_NODE_PARAMS) -> Outcome {
        let Operation::Fill(fill) = self else { return Err(INVALID_VALUE) };
        *fill = Fill::read(state, parameters)?;
        Ok(())
    }
}
