//! Launches in steps, as before CUDA 4.0: a function keeps the block, the shared memory and the parameters that it was given, until they are
//! given again, and is launched with a grid alone.
//!
//! As an H200 with driver 580 answers; but `cuLaunchKernel` changes nothing of what is kept here, and numbers of bytes and
//! offsets below zero, at which that driver faults, are refused.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_float, c_int, c_uint, c_void};
use std::ptr::null_mut;

use super::parameters::Packet;
use super::{Asked, BLOCK, Request, launch};
use crate::driver::entry::{INVALID_VALUE, Outcome, entries};
use crate::driver::function::Function;
use crate::driver::state::{Call, lock};
use crate::memory::passed;

entries! {
    cuFuncSetBlockShape(function: CUfunction, x: c_int, y: c_int, z: c_int) = set_block;
    cuFuncSetSharedSize(function: CUfunction, bytes: c_uint) = set_shared;
    cuParamSetSize(function: CUfunction, bytes: c_uint) = set_size;
    cuParamSeti(function: CUfunction, offset: c_int, value: c_uint) = set_integer;
    cuParamSetf(function: CUfunction, offset: c_int, value: c_float) = set_float;
    cuParamSetv(function: CUfunction, offset: c_int, values: *mut c_void, bytes: c_uint) = set_values;
    cuLaunch(function: CUfunction) = launch_one;
    cuLaunchGrid(function: CUfunction, width: c_int, height: c_int) = launch_grid;
    cuLaunchGridAsync(function: CUfunction, width: c_int, height: c_int, stream: CUstream) = launch_on;
}

/// More than any kernel has of parameters.
const MOST_BYTES: usize = 1 << 16;

fn set_block(call: &Call, function: CUfunction, x: c_int, y: c_int, z: c_int) -> Outcome {
    let function = call.function(function)?;
    let mut block = [0; 3];
    for ((extent, given), limit) in block.iter_mut().zip([x, y, z]).zip(BLOCK) {
        *extent =
            u32::try_from(given).ok().filter(|given| (1..=limit).contains(given)).ok_or(INVALID_VALUE)?;
    }
    if block.iter().product::<u32>() > function.most_threads() {
        return Err(INVALID_VALUE);
    }
    lock(&function.steps).block = block;
    Ok(())
}

fn set_shared(call: &Call, function: CUfunction, bytes: c_uint) -> Outcome {
    let function = call.function(function)?;
    if bytes > function.settings().dynamic_shared {
        return Err(INVALID_VALUE);
    }
    lock(&function.steps).shared = bytes;
    Ok(())
}

fn set_size(call: &Call, function: CUfunction, bytes: c_uint) -> Outcome {
    let function = call.function(function)?;
    if bytes as usize > MOST_BYTES {
        return Err(INVALID_VALUE);
    }
    lock(&function.steps).size = bytes as usize;
    Ok(())
}

fn set_integer(call: &Call, function: CUfunction, offset: c_int, value: c_uint) -> Outcome {
    set(&*call.function(function)?, offset, &value.to_ne_bytes())
}

fn set_float(call: &Call, function: CUfunction, offset: c_int, value: c_float) -> Outcome {
    set(&*call.function(function)?, offset, &value.to_ne_bytes())
}

fn set_values(
    call: &Call,
    function: CUfunction,
    offset: c_int,
    values: *mut c_void,
    bytes: c_uint,
) -> Outcome {
    let function = call.function(function)?;
    let bytes = bytes as usize;
    if values.is_null() || bytes > MOST_BYTES {
        return Err(INVALID_VALUE);
    }
    let mut copied = vec![0; bytes];
    // SAFETY: 1: not null, so by C3 it goes to as many bytes as the size beside it says, as `copied` has; by C4 nothing writes them during the call.
    unsafe { passed::copy(values.cast(), &mut copied) };
    set(&function, offset, &copied)
}

fn set(function: &Function, offset: c_int, values: &[u8]) -> Outcome {
    let offset = usize::try_from(offset).map_err(|_| INVALID_VALUE)?;
    if offset + values.len() > MOST_BYTES {
        return Err(INVALID_VALUE);
    }
    lock(&function.steps).put(offset, values);
    Ok(())
}

fn launch_one(call: &Call, function: CUfunction) -> Outcome {
    launch_on(call, function, 1, 1, null_mut())
}

fn launch_grid(call: &Call, function: CUfunction, width: c_int, height: c_int) -> Outcome {
    launch_on(call, function, width, height, null_mut())
}

fn launch_on(call: &Call, function: CUfunction, width: c_int, height: c_int, stream: CUstream) -> Outcome {
    let known = call.function(function)?;
    let [width, height] = [width, height].map(|extent| u32::try_from(extent).map_err(|_| INVALID_VALUE));
    let (grid, block, shared, packet) = {
        let steps = lock(&known.steps);
        ([width?, height?, 1], steps.block, steps.shared, Packet::Packed(steps.parameters()))
    };
    launch(call, function, Asked { grid, block, shared, stream, request: Request::default(), packet })
}
