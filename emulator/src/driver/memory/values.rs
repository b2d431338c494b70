//! `cuStreamWaitValue*`, `cuStreamWriteValue*` and `cuStreamBatchMemOp`: streams that wait for memory and write to it.
//!
//! Relies on the program for the length of an array, and for the member of each union that its operation names: C1 and C2 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::{
    CUdeviceptr, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Op,
    CUstreamWaitValue_flags as Wait, cuuint32_t, cuuint64_t,
};
use std::ffi::c_uint;
use std::sync::Arc;

use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Outcome, entries};
use crate::driver::state::{Call, State};
use crate::driver::stream::{Pace, Stream};
use crate::driver::work::Work;
use crate::driver::work::values::{Batch, Operation, Word};

entries! {
    cuStreamWaitValue32_v2(stream: CUstream, address: CUdeviceptr, value: cuuint32_t, flags: c_uint) = wait32;
    cuStreamWaitValue64_v2(stream: CUstream, address: CUdeviceptr, value: cuuint64_t, flags: c_uint) = wait64;
    cuStreamWriteValue32_v2(stream: CUstream, address: CUdeviceptr, value: cuuint32_t, flags: c_uint) = write32;
    cuStreamWriteValue64_v2(stream: CUstream, address: CUdeviceptr, value: cuuint64_t, flags: c_uint) = write64;
    cuStreamBatchMemOp_v2(stream: CUstream, count: c_uint, operations: *mut CUstreamBatchMemOpParams, flags: c_uint) = batch;
}

/// Operations of one batch.
const MOST: c_uint = 256;

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

/// Gives a stream operations that were checked.
fn submit(call: &Call, stream: &Arc<Stream>, operations: Vec<Operation>) -> Outcome {
    let batch = Batch::new(Arc::clone(&stream.context), operations);
    let pace = if batch.waits() { Pace::Queued } else { Pace::Small };
    stream.give(call, Work::Values(batch), pace).map(|_| ())
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
    // SAFETY: 1: array and `count` are the caller's, so by C1 it is null or has `count` operations.
    submit(call, &stream, unsafe { read(call.state()?, &operations, count, flags)? })
}

/// The operations of a batch.
///
/// # Safety
///
/// 1. The array is null or has `count` operations, of which the member that each names is set.
pub(in crate::driver) unsafe fn read(
    state: &State,
    operations: &In<'_, CUstreamBatchMemOpParams>,
    count: c_uint,
    flags: c_uint,
) -> Outcome<Vec<Operation>> {
    if flags != 0 || !(1..=MOST).contains(&count) {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: duty 1.
    let raw = unsafe { operations.read_array(count as usize)? };
    raw.iter().map(|raw| operation(state, raw)).collect()
}

/// One operation of a batch.
fn operation(state: &State, raw: &CUstreamBatchMemOpParams) -> Outcome<Operation> {
    // SAFETY: whichever member the program has set, by C2, begins with the operation, a number.
    let operation = unsafe { raw.operation };
    // SAFETY: called where the operation names this member, which the program has set, by C2: these two are numbers. Its `alias` is the
    // driver's, and need not be set.
    let awaited = || unsafe { (raw.waitValue.address, raw.waitValue.flags) };
    // SAFETY: called where the operation names this member, which the program has set, by C2: these two are numbers.
    // Its `alias` is the driver's, and need not be set.
    let written = || unsafe { (raw.writeValue.address, raw.writeValue.flags) };
    match operation {
        Op::CU_STREAM_MEM_OP_WAIT_VALUE_32 => {
            let (address, flags) = awaited();
            // SAFETY: the operation names this member and in it the number of 32 bits, which are set, by C2.
            let value = unsafe { raw.waitValue.__bindgen_anon_1.value };
            wait(state, Word::new32(address, value), flags)
        }
        Op::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
            let (address, flags) = awaited();
            // SAFETY: the operation names this member and in it the number of 64 bits, which are set, by C2.
            let value = unsafe { raw.waitValue.__bindgen_anon_1.value64 };
            wait(state, Word::new64(address, value), flags)
        }
        Op::CU_STREAM_MEM_OP_WRITE_VALUE_32 => {
            let (address, flags) = written();
            // SAFETY: the operation names this member and in it the number of 32 bits, which are set, by C2.
            let value = unsafe { raw.writeValue.__bindgen_anon_1.value };
            write(state, Word::new32(address, value), flags)
        }
        Op::CU_STREAM_MEM_OP_WRITE_VALUE_64 => {
            let (address, flags) = written();
            // SAFETY: the operation names this member and in it the number of 64 bits, which are set, by C2.
            let value = unsafe { raw.writeValue.__bindgen_anon_1.value64 };
            write(state, Word::new64(address, value), flags)
        }
        Op::CU_STREAM_MEM_OP_BARRIER => {
            // SAFETY: the operation names this member, which the program has set, by C2: a number.
            let flags = unsafe { raw.memoryBarrier.flags };
            if flags <= 1 { Ok(Operation::Barrier(flags)) } else { Err(INVALID_VALUE) }
        }
        // As the device's attribute says.
        Op::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => Err(NOT_SUPPORTED),
        _ => Err(INVALID_VALUE),
    }
}
