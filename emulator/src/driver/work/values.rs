//! Waiting for numbers in memory, and writing them.

use cuda_driver_sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Op,
    CUstreamWaitValue_flags as Wait,
};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Turn;
use crate::check::launches::{AccessKind, Ongoing};
use crate::driver::context::Context;
use crate::driver::current_work::{self, Accesses};
use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::fault::bad_range;
use crate::driver::handles::to_c;
use crate::driver::memory::allocations::ALLOCATIONS;
use crate::driver::state::State;
use crate::engine::Fault;
use crate::memory::BadRange;

/// Operations that a stream does one after the other.
#[derive(Clone)]
pub(in crate::driver) struct Batch {
    /// That of the stream: its end is that of the waiting.
    pub(in crate::driver) context: Arc<Context>,
    operations: Vec<Operation>,
    /// The same in the form of the API, for programs that query them.
    told: OnceLock<Box<[CUstreamBatchMemOpParams]>>,
}

impl Batch {
    pub(in crate::driver) fn new(context: Arc<Context>, operations: Vec<Operation>) -> Batch {
        Batch { context, operations, told: OnceLock::new() }
    }

    /// Whether one of them waits.
    pub(in crate::driver) fn waits(&self) -> bool {
        self.operations.iter().any(|operation| matches!(operation, Operation::Wait(..)))
    }

    /// In the form of the API. The list is the node's, and valid until that is changed.
    pub(in crate::driver) fn parameters(&self) -> CUDA_BATCH_MEM_OP_NODE_PARAMS {
        let told =
            self.told.get_or_init(|| self.operations.iter().map(|operation| operation.told()).collect());
        CUDA_BATCH_MEM_OP_NODE_PARAMS {
            ctx: to_c(self.context.handle),
            count: told.len() as u32,
            paramArray: told.as_ptr().cast_mut(),
            flags: 0,
        }
    }

    /// Whether an executable graph may get that one in its place: addresses, values and comparisons alone may differ.
    pub(in crate::driver) fn can_become(&self, new: &Batch) -> bool {
        let (old, new) = (&self.operations, &new.operations);
        let alike = |(old, new): (&Operation, &Operation)| match (old, new) {
            (Operation::Wait(old, _), Operation::Wait(new, _))
            | (Operation::Write(old), Operation::Write(new)) => old.bytes == new.bytes,
            (Operation::Barrier(old), Operation::Barrier(new)) => old == new,
            _ => false,
        };
        old.len() == new.len() && old.iter().zip(new).all(alike)
    }

    pub(super) fn run(&self, turn: &Turn) -> Result<(), Box<Fault>> {
        let (mut next, mut nap) = (Next::default(), Nap::default());
        while !self.advance(&mut next, turn)? {
            nap.take();
        }
        Ok(())
    }

    /// Does what can be done now, from that operation on; whether all is done.
    pub(in crate::driver) fn advance(&self, next: &mut Next, turn: &Turn) -> Result<bool, Box<Fault>> {
        let name = turn.caller.unwrap_or("memory operations");
        // It runs while it waits: what it lets go on may be over before it goes on itself.
        if next.ongoing.is_none() {
            next.ongoing = current_work::begin(turn.stream, name);
        }
        while let Some(operation) = self.operations.get(next.done) {
            let done = operation.try_run(&turn.state, &self.context);
            if !done.map_err(|error| bad_range(name, &error))? {
                return Ok(false);
            }
            next.done += 1;
        }
        next.ongoing.take().into_iter().for_each(|ongoing| self.note(ongoing, turn));
        Ok(true)
    }

    /// All of it is done: what that means for the check for races between launches.
    fn note(&self, ongoing: Ongoing, turn: &Turn) {
        let (memory, mut accesses) = (&turn.state.memory, Accesses::default());
        for operation in &self.operations {
            let (word, kind, writes) = match operation {
                Operation::Wait(word, _) => (word, AccessKind::Poll, false),
                Operation::Write(word) => (word, AccessKind::Flag, true),
                Operation::Barrier(_) => continue,
            };
            accesses.add(memory, word.address, word.bytes as u64, kind, writes);
            if !writes && memory.is_seen_elsewhere(word.address) {
                ongoing.hear_host();
            }
        }
        ongoing.touch(accesses.touched());
        current_work::end(ongoing, memory);
    }
}

/// A number in memory.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Word {
    address: u64,
    /// 4 or 8.
    bytes: usize,
    value: u64,
}

/// What a stream does with memory.
#[derive(Clone, Copy)]
pub(in crate::driver) enum Operation {
    /// Waits until the number in memory compares so with the value: the low bits of the flags.
    Wait(Word, u32),
    Write(Word),
    /// Work before it is visible to work after it, as all work here is; the flags say how far.
    Barrier(u32),
}

/// How far a batch is.
#[derive(Default)]
pub(in crate::driver) struct Next {
    done: usize,
    /// The batch, for the check for races between launches.
    ongoing: Option<Ongoing>,
}

impl Next {
    /// How many operations are done.
    pub(in crate::driver) fn done(&self) -> usize {
        self.done
    }
}

/// Between two looks at the memory; a look costs a lock, and nobody tells when it is worth one.
pub(in crate::driver) struct Nap(Duration);

const FIRST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(1);

impl Default for Nap {
    fn default() -> Nap {
        Nap(FIRST_NAP)
    }
}

impl Nap {
    /// Sleeps; the next one is longer.
    pub(in crate::driver) fn take(&mut self) {
        std::thread::sleep(self.0);
        self.0 = LONGEST_NAP.min(self.0 * 2);
    }
}

impl Word {
    pub(in crate::driver) fn new32(address: u64, value: u32) -> Self {
        Word { address, bytes: 4, value: value.into() }
    }

    pub(in crate::driver) fn new64(address: u64, value: u64) -> Self {
        Word { address, bytes: 8, value }
    }

    pub(in crate::driver) fn check(&self, state: &State) -> Outcome {
        let bytes = self.bytes as u64;
        let good = self.address.is_multiple_of(bytes) && state.is_device_range(self.address, bytes);
        if good && !self.is_unfit(state) { Ok(()) } else { Err(INVALID_VALUE) }
    }

    /// Whether it is in memory that a driver refuses here: managed memory, and that of pools (so does an H200 with driver 580).
    fn is_unfit(&self, state: &State) -> bool {
        state.memory.find(self.address).is_some_and(|allocation| {
            let record = ALLOCATIONS.get(allocation.base());
            allocation.is_managed() || record.is_some_and(|record| record.pool.is_some())
        })
    }

    /// What stands in memory.
    fn read(&self, state: &State) -> Result<u64, BadRange> {
        let mut bytes = [0; 8];
        let (low, _) = bytes.split_at_mut(self.bytes);
        state.memory.read(self.address, low)?;
        fence(Ordering::Acquire);
        Ok(u64::from_le_bytes(bytes))
    }

    fn write(&self, state: &State) -> Result<(), BadRange> {
        fence(Ordering::Release);
        let bytes = self.value.to_le_bytes();
        state.memory.write(self.address, bytes.split_at(self.bytes).0)
    }

    fn is_met(&self, found: u64, comparison: u32) -> bool {
        let wrapped = found.wrapping_sub(self.value);
        let nor = !(found | self.value);
        match (Wait(comparison), self.bytes) {
            (Wait::CU_STREAM_WAIT_VALUE_EQ, _) => found == self.value,
            (Wait::CU_STREAM_WAIT_VALUE_AND, _) => found & self.value != 0,
            (Wait::CU_STREAM_WAIT_VALUE_NOR, 4) => nor as u32 != 0,
            (Wait::CU_STREAM_WAIT_VALUE_NOR, _) => nor != 0,
            // At least as large, counted in a circle.
            (_, 4) => (wrapped as u32).cast_signed() >= 0,
            (_, _) => wrapped.cast_signed() >= 0,
        }
    }
}

impl Operation {
    /// In the form of the API: the operation, then an address, a value and flags, or for a barrier only flags.
    fn told(&self) -> CUstreamBatchMemOpParams {
        let (of_32, of_64, word, flags) = match self {
            Operation::Wait(word, comparison) => {
                (Op::CU_STREAM_MEM_OP_WAIT_VALUE_32, Op::CU_STREAM_MEM_OP_WAIT_VALUE_64, word, *comparison)
            }
            Operation::Write(word) => {
                (Op::CU_STREAM_MEM_OP_WRITE_VALUE_32, Op::CU_STREAM_MEM_OP_WRITE_VALUE_64, word, 0)
            }
            Operation::Barrier(flags) => {
                let first = u64::from(Op::CU_STREAM_MEM_OP_BARRIER.0) | u64::from(*flags) << 32;
                return CUstreamBatchMemOpParams { pad: [first, 0, 0, 0, 0, 0] };
            }
        };
        let operation = if word.bytes == 4 { of_32 } else { of_64 };
        CUstreamBatchMemOpParams { pad: [operation.0.into(), word.address, word.value, flags.into(), 0, 0] }
    }

    /// Does it; `false` if it waits for a number that is not there yet.
    fn try_run(self, state: &State, context: &Context) -> Result<bool, BadRange> {
        match self {
            Operation::Barrier(_) => Ok(true),
            Operation::Write(word) => {
                if state.memory.is_seen_elsewhere(word.address) {
                    current_work::tell_host();
                }
                word.write(state).map(|()| true)
            }
            // A fault ends all work, the end of a context that of its streams.
            Operation::Wait(..) if state.fault.check().is_err() || !context.is_alive() => Ok(true),
            Operation::Wait(word, comparison) => Ok(word.is_met(word.read(state)?, comparison)),
        }
    }
}
