//! Fills of device memory.

use cuda_driver_sys::CUDA_MEMSET_NODE_PARAMS;

use super::Turn;
use crate::check::launches::AccessKind;
use crate::driver::current_work::{self, Accesses};
use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::fault::bad_range;
use crate::driver::memory::origin::Origin;
use crate::driver::state::State;
use crate::engine::Fault;

/// A fill: rows of elements, the starts of which are `pitch` bytes apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Fill {
    pub(in crate::driver) target: u64,
    pub(in crate::driver) pitch: usize,
    pub(in crate::driver) value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub(in crate::driver) element: u32,
    pub(in crate::driver) width: usize,
    pub(in crate::driver) height: usize,
    /// The kind of the target's memory; determined only for nodes.
    pub(in crate::driver) origin: Option<Origin>,
    /// Handle of the node's context; 0 if it is not a node.
    pub(in crate::driver) context: usize,
}

impl Fill {
    /// The fill for the parameters of a node, in the context of this handle.
    pub(in crate::driver) fn read(
        state: &State,
        parameters: &CUDA_MEMSET_NODE_PARAMS,
        context: usize,
    ) -> Outcome<Fill> {
        let CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height } = *parameters;
        let fits = match elementSize {
            1 => value <= 0xff,
            2 => value <= 0xffff,
            4 => true,
            _ => false,
        };
        if !fits || width == 0 || height == 0 {
            return Err(INVALID_VALUE);
        }
        // The pitch of a single row is ignored.
        let rows = if height > 1 { pitch } else { 0 };
        let fill =
            Fill { target: dst, pitch, value, element: elementSize, width, height, origin: None, context: 0 };
        Fill { pitch: rows, ..fill }.check(state)?;
        Ok(fill.into_node(state, context))
    }

    /// The same for a graph, which remembers in what memory it is.
    pub(super) fn into_node(self, state: &State, context: usize) -> Fill {
        Fill { origin: Some(state.origin(self.target).or_of(context)), context, ..self }
    }

    /// The fill for other parameters of the same node.
    pub(in crate::driver) fn changed(
        &self,
        state: &State,
        parameters: &CUDA_MEMSET_NODE_PARAMS,
    ) -> Outcome<Fill> {
        Fill::read(state, parameters, self.context)
    }

    /// Whether it is aligned and lies in device memory; returns its bytes, with those between the rows. It has a row and an
    /// element.
    pub(in crate::driver) fn check(&self, state: &State) -> Outcome<usize> {
        let Fill { target, pitch, width, height, .. } = *self;
        let element = self.element as usize;
        let row = width.checked_mul(element).ok_or(INVALID_VALUE)?;
        let rows = pitch.checked_mul(height - 1).ok_or(INVALID_VALUE)?;
        let whole = rows.checked_add(row).ok_or(INVALID_VALUE)?;
        let aligned = target.is_multiple_of(element as u64) && pitch.is_multiple_of(element);
        let good = aligned && (height == 1 || pitch >= row);
        let good = good && !state.is_read_only(target);
        if good && state.is_device_range(target, whole as u64) { Ok(whole) } else { Err(INVALID_VALUE) }
    }

    pub(super) fn run(&self, turn: &Turn) -> Result<(), Box<Fault>> {
        let value = self.value.to_le_bytes();
        let pattern = value.get(..self.element as usize).unwrap_or(&value);
        let start = |row: u64| self.target + row * self.pitch as u64;
        let (memory, name) = (&turn.state.memory, turn.caller.unwrap_or("memset node"));
        let ongoing = current_work::begin(turn.stream, name);
        let done = (0..self.height as u64)
            .try_for_each(|row| memory.fill(start(row), pattern, self.width as u64))
            .map_err(|error| bad_range(name, &error));
        if let Some(ongoing) = ongoing {
            let mut accesses = Accesses::default();
            let bytes = self.width as u64 * u64::from(self.element);
            (0..self.height as u64)
                .for_each(|row| accesses.add(memory, start(row), bytes, AccessKind::Copy, true));
            ongoing.touch(accesses.touched());
            current_work::end(ongoing, memory);
        }
        done
    }

    /// Whether an executable graph's fill can be changed to the other one: in memory of the same origin, and both of one row. With
    /// several rows, only target and value can be changed.
    pub(in crate::driver) fn can_become(&self, other: &Fill) -> bool {
        let shape = |fill: &Fill| (fill.pitch, fill.element, fill.width, fill.height);
        let origins = self.origin.zip(other.origin);
        origins.is_none_or(|(old, new)| old.can_become(new))
            && ((self.height, other.height) == (1, 1) || shape(self) == shape(other))
    }

    /// The parameters in the form of the API.
    pub(in crate::driver) fn parameters(&self) -> CUDA_MEMSET_NODE_PARAMS {
        let Fill { target, pitch, value, element, width, height, .. } = *self;
        CUDA_MEMSET_NODE_PARAMS { dst: target, pitch, value, elementSize: element, width, height }
    }
}
