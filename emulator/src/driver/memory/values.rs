//! `cuStreamWaitValue*`, `cuStreamWriteValue*` and `cuStreamBatchMemOp`: streams that wait for memory and write to it.
//!
//! Relies on the program for the member of each union that its operation names.
#![allow(unsafe_code)]

use cuda_driver_sys::{
    CUdeviceptr, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Op,
    CUstreamMemOpWaitValueParams, CUstreamMemOpWriteValueParams, CUstreamWaitValue_flags as Wait, cuuint32_t,
    cuuint64_t,
};
use std::ffi::c_uint;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use super::fault;
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Outcome, entries};
use crate::driver::graph::capture::record::recorder;
use crate::driver::state::{Call, State};
use crate::driver::stream::{Stream, Work};
use crate::engine::Fault;
use crate::memory::BadRange;

entries! {
    cuStreamWaitValue32_v2(stream: CUstream, address: CUdeviceptr, value: cuuint32_t, flags: c_uint) = wait32;
    cuStreamWaitValue64_v2(stream: CUstream, address: CUdeviceptr, value: cuuint64_t, flags: c_uint) = wait64;
    cuStreamWriteValue32_v2(stream: CUstream, address: CUdeviceptr, value: cuuint32_t, flags: c_uint) = write32;
    cuStreamWriteValue64_v2(stream: CUstream, address: CUdeviceptr, value: cuuint64_t, flags: c_uint) = write64;
    cuStreamBatchMemOp_v2(stream: CUstream, count: c_uint, operations: *mut CUstreamBatchMemOpParams, flags: c_uint) = batch;
}

/// A number in memory.
#[derive(Clone, Copy)]
struct Word {
    address: u64,
    /// 4 or 8.
    bytes: usize,
    value: u64,
}

/// What a stream does with memory.
#[derive(Clone, Copy)]
enum Operation {
    /// Waits until the number in memory compares so with the value: the low bits of the flags.
    Wait(Word, u32),
    Write(Word),
    /// Work before it is visible to work after it, as all work here is.
    Barrier,
}

/// Operations of one batch.
const MOST: c_uint = 256;

/// Between two looks at the memory; a look costs a lock, and nobody tells when it is worth one.
const FIRST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(1);

fn wait(state: &State, word: Word, flags: c_uint) -> Outcome<Operation> {
    const FLUSH: c_uint = Wait::CU_STREAM_WAIT_VALUE_FLUSH.0;
    word.check(state)?;
    match flags & !FLUSH {
        // As the device's attribute says.
        0..=3 if flags & FLUSH != 0 => Err(NOT_SUPPORTED),
        comparison @ 0..=3 => Ok(Operation::Wait(word, comparison)),
        _ => Err(INVALID_VALUE),
    }
}

fn write(state: &State, word: Word, flags: c_uint) -> Outcome<Operation> {
    word.check(state)?;
    // Also `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER` (so does an H200 with driver 580).
    if flags == 0 { Ok(Operation::Write(word)) } else { Err(INVALID_VALUE) }
}

impl Word {
    fn new32(address: u64, value: u32) -> Self {
        Word { address, bytes: 4, value: value.into() }
    }

    fn new64(address: u64, value: u64) -> Self {
        Word { address, bytes: 8, value }
    }

    fn check(&self, state: &State) -> Outcome {
        let bytes = self.bytes as u64;
        let good = self.address.is_multiple_of(bytes) && state.is_device_range(self.address, bytes);
        if good && !self.is_unfit(state) { Ok(()) } else { Err(INVALID_VALUE) }
    }

    /// Whether it is in memory that a driver refuses here: managed memory, and that of pools (so does an H200 with driver 580).
    fn is_unfit(&self, state: &State) -> bool {
        state.memory.find(self.address).is_some_and(|allocation| {
            let record = state.allocations.get(allocation.base());
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
    fn run(self, state: &State, stream: &Stream) -> Result<(), BadRange> {
        match self {
            Operation::Barrier => Ok(()),
            Operation::Write(word) => word.write(state),
            Operation::Wait(word, comparison) => {
                let mut nap = FIRST_NAP;
                // A fault ends all work, the end of a context that of its streams.
                while state.fault.check().is_ok() && stream.context.is_alive() {
                    if word.is_met(word.read(state)?, comparison) {
                        break;
                    }
                    std::thread::sleep(nap);
                    nap = LONGEST_NAP.min(nap * 2);
                }
                Ok(())
            }
        }
    }
}

/// Gives a stream operations that were checked.
fn submit(call: &Call, stream: &Arc<Stream>, operations: Vec<Operation>) -> Outcome {
    let (state, name) = (call.state()?, call.name);
    if recorder(stream)?.is_some() {
        crate::driver::report::line(format_args!("{name}: not emulated in a capture"));
        return Err(NOT_SUPPORTED);
    }
    let waits = operations.iter().any(|operation| matches!(operation, Operation::Wait(..)));
    let owner = Arc::clone(stream);
    let run = move || -> Result<(), Box<Fault>> {
        let mut operations = operations.into_iter();
        operations.try_for_each(|operation| operation.run(state, &owner)).map_err(|error| fault(name, &error))
    };
    if waits { stream.submit(None, Work::Run(Box::new(run))).map(|_| ()) } else { stream.submit_small(run) }
}

fn wait32(call: &Call, stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint) -> Outcome {
    let stream = call.stream(stream)?;
    submit(call, &stream, vec![wait(call.state()?, Word::new32(address, value), flags)?])
}

fn wait64(call: &Call, stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint) -> Outcome {
    let stream = call.stream(stream)?;
    submit(call, &stream, vec![wait(call.state()?, Word::new64(address, value), flags)?])
}

fn write32(call: &Call, stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint) -> Outcome {
    let stream = call.stream(stream)?;
    submit(call, &stream, vec![write(call.state()?, Word::new32(address, value), flags)?])
}

fn write64(call: &Call, stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint) -> Outcome {
    let stream = call.stream(stream)?;
    submit(call, &stream, vec![write(call.state()?, Word::new64(address, value), flags)?])
}

fn batch(
    call: &Call,
    stream: CUstream,
    count: c_uint,
    operations: In<CUstreamBatchMemOpParams>,
    flags: c_uint,
) -> Outcome {
    let stream = call.stream(stream)?;
    if flags != 0 || !(1..=MOST).contains(&count) {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by the contract of the call there are `count` operations, at most `MOST`.
    let raw = unsafe { operations.read_array(count as usize)? };
    let state = call.state()?;
    let operations: Outcome<Vec<_>> = raw.iter().map(|raw| operation(state, raw)).collect();
    submit(call, &stream, operations?)
}

/// One operation of a batch.
fn operation(state: &State, raw: &CUstreamBatchMemOpParams) -> Outcome<Operation> {
    // SAFETY: every member begins with the operation.
    let operation = unsafe { raw.operation };
    // SAFETY: called where the operation names this member, which the program has set.
    let awaited = || unsafe { raw.waitValue };
    // SAFETY: called where the operation names this member, which the program has set.
    let written = || unsafe { raw.writeValue };
    // SAFETY: called where the operation names this member, which the program has set.
    let barrier = || unsafe { raw.memoryBarrier };
    match operation {
        Op::CU_STREAM_MEM_OP_WAIT_VALUE_32 => {
            let CUstreamMemOpWaitValueParams { address, __bindgen_anon_1: value, flags, .. } = awaited();
            // SAFETY: the operation says that the number of 32 bits is set.
            wait(state, Word::new32(address, unsafe { value.value }), flags)
        }
        Op::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
            let CUstreamMemOpWaitValueParams { address, __bindgen_anon_1: value, flags, .. } = awaited();
            // SAFETY: the operation says that the number of 64 bits is set.
            wait(state, Word::new64(address, unsafe { value.value64 }), flags)
        }
        Op::CU_STREAM_MEM_OP_WRITE_VALUE_32 => {
            let CUstreamMemOpWriteValueParams { address, __bindgen_anon_1: value, flags, .. } = written();
            // SAFETY: the operation says that the number of 32 bits is set.
            write(state, Word::new32(address, unsafe { value.value }), flags)
        }
        Op::CU_STREAM_MEM_OP_WRITE_VALUE_64 => {
            let CUstreamMemOpWriteValueParams { address, __bindgen_anon_1: value, flags, .. } = written();
            // SAFETY: the operation says that the number of 64 bits is set.
            write(state, Word::new64(address, unsafe { value.value64 }), flags)
        }
        Op::CU_STREAM_MEM_OP_BARRIER if barrier().flags <= 1 => Ok(Operation::Barrier),
        // As the device's attribute says.
        Op::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => Err(NOT_SUPPORTED),
        _ => Err(INVALID_VALUE),
    }
}
