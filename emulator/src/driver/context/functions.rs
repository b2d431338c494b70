//! `cuCtx*`.

use cuda_driver_sys::*;
use std::ffi::{c_int, c_uint, c_ulonglong};
use std::sync::atomic::Ordering;

use super::current::{named, present};
use super::{CONTEXTS, Context, ContextKind, checked_banks, checked_cache, checked_flags, current};
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_CONTEXT, INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, entries};
use crate::driver::handles::{Found, to_c};
use crate::driver::state::{Call, lock};
use crate::driver::stream::GREATEST_PRIORITY;
use crate::driver::stream::capture::whole;

entries! {
    cuCtxCreate_v4(context: *mut CUcontext, parameters: *mut CUctxCreateParams, flags: c_uint, device: CUdevice) = create;
    cuCtxCreate_v3(context: *mut CUcontext, affinities: *mut CUexecAffinityParam, count: c_int, flags: c_uint, device: CUdevice) = create_v3;
    cuCtxDestroy_v2(context: CUcontext) = destroy;
    cuCtxAttach(context: *mut CUcontext, flags: c_uint) = attach;
    cuCtxDetach(context: CUcontext) = detach;
    cuCtxGetExecAffinity(affinity: *mut CUexecAffinityParam, kind: CUexecAffinityType) = get_affinity;
    cuCtxPushCurrent_v2(context: CUcontext) = push;
    cuCtxPopCurrent_v2(context: *mut CUcontext) = pop;
    cuCtxSetCurrent(context: CUcontext) = set_current;
    cuCtxGetCurrent(context: *mut CUcontext) = get_current;
    cuCtxGetDevice(device: *mut CUdevice) = get_device;
    cuCtxGetDevice_v2(device: *mut CUdevice, context: CUcontext) = get_device_of;
    cuCtxGetFlags(flags: *mut c_uint) = get_flags;
    cuCtxSetFlags(flags: c_uint) = set_flags;
    cuCtxGetId(context: CUcontext, id: *mut c_ulonglong) = get_id;
    cuCtxGetApiVersion(context: CUcontext, version: *mut c_uint) = get_api_version;
    cuCtxSynchronize() = synchronize;
    cuCtxSynchronize_v2(context: CUcontext) = synchronize_other;
    cuCtxGetLimit(value: *mut usize, limit: CUlimit) = get_limit;
    cuCtxSetLimit(limit: CUlimit, value: usize) = set_limit;
    cuCtxGetCacheConfig(config: *mut CUfunc_cache) = get_cache;
    cuCtxSetCacheConfig(config: CUfunc_cache) = set_cache;
    cuCtxGetSharedMemConfig(config: *mut CUsharedconfig) = get_banks;
    cuCtxSetSharedMemConfig(config: CUsharedconfig) = set_banks;
    cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) = get_priorities;
    cuCtxResetPersistingL2Cache() = reset_l2;
}

/// The API version that driver 580 reports for every context.
const API_VERSION: c_uint = 3020;

fn create(
    call: &Call,
    context: Out<CUcontext>,
    parameters: In<CUctxCreateParams>,
    flags: c_uint,
    device: CUdevice,
) -> Outcome {
    let context = context.required()?;
    checked(device)?;
    let flags = checked_flags(flags)?;
    if !parameters.is_null() {
        let parameters = parameters.read()?;
        if parameters.numExecAffinityParams != 0 || !parameters.cigParams.is_null() {
            return Err(NOT_SUPPORTED);
        }
    }
    let state = call.healthy()?;
    let made = Context::create(state, CONTEXTS.reserve(), device, ContextKind::Created, flags)?;
    current::push(made.handle);
    context.set(to_c(made.handle));
    Ok(())
}

/// As before CUDA 12.5.
fn create_v3(
    call: &Call,
    context: Out<CUcontext>,
    _affinities: In<CUexecAffinityParam>,
    count: c_int,
    flags: c_uint,
    device: CUdevice,
) -> Outcome {
    let parameters = CUctxCreateParams { numExecAffinityParams: count, ..Default::default() };
    create(call, context, In::of(&parameters), flags, device)
}

fn destroy(call: &Call, context: CUcontext) -> Outcome {
    let state = call.state()?;
    let handle = context.addr();
    match CONTEXTS.find(handle) {
        _ if context.is_null() => return Err(INVALID_VALUE),
        Found::Unknown => return Err(INVALID_CONTEXT),
        Found::Live(context) if context.primary => return Err(INVALID_CONTEXT),
        // Its entry is kept, so that threads on which it is still current get the error that it is destroyed.
        Found::Live(context) if context.is_alive() => context.destroy(state),
        Found::Live(_) | Found::Gone => return Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
    }
    if current::get() == Some(handle) {
        current::pop();
    }
    Ok(())
}

/// One more use of the current context.
fn attach(call: &Call, context: Out<CUcontext>, flags: c_uint) -> Outcome {
    let place = context.required()?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let context = call.context()?;
    context.uses.fetch_add(1, Ordering::Relaxed);
    place.set(to_c(context.handle));
    Ok(())
}

/// One use fewer of the current context, which ends with the last one; a primary context has other functions for that.
fn detach(call: &Call, context: CUcontext) -> Outcome {
    let current = call.context()?;
    if context.addr() != current.handle {
        return Err(INVALID_CONTEXT);
    }
    let left = current.uses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |uses| uses.checked_sub(1));
    match left {
        Ok(1) if !current.primary && !current.green => destroy(call, context),
        Ok(1) | Err(_) => {
            current.uses.store(1, Ordering::Relaxed);
            Err(INVALID_CONTEXT)
        }
        Ok(_) => Ok(()),
    }
}

/// As `cuDeviceGetExecAffinitySupport` says.
fn get_affinity(call: &Call, _: Out<CUexecAffinityParam>, _: CUexecAffinityType) -> Outcome {
    call.context()?;
    Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY)
}

/// Whether a handle was ever a context: a destroyed one can be made current, and every use then returns the error for
/// it.
fn known(_: &Call, context: CUcontext) -> Outcome<usize> {
    match CONTEXTS.find(context.addr()) {
        Found::Unknown => Err(INVALID_CONTEXT),
        Found::Live(_) | Found::Gone => Ok(context.addr()),
    }
}

fn push(call: &Call, context: CUcontext) -> Outcome {
    if context.is_null() {
        return Err(INVALID_VALUE);
    }
    current::push(known(call, context)?);
    Ok(())
}

fn pop(_: &Call, context: Out<CUcontext>) -> Outcome {
    context.set(to_c(current::pop().ok_or(INVALID_CONTEXT)?));
    Ok(())
}

fn set_current(call: &Call, context: CUcontext) -> Outcome {
    current::set(if context.is_null() { None } else { Some(known(call, context)?) });
    Ok(())
}

fn get_current(_: &Call, context: Out<CUcontext>) -> Outcome {
    context.required()?.set(to_c(current::get().unwrap_or(0)));
    Ok(())
}

fn get_device(_: &Call, device: Out<CUdevice>) -> Outcome {
    let context = present()?;
    device.required()?.set(context.map_or(0, |context| context.device));
    Ok(())
}

fn get_device_of(_: &Call, device: Out<CUdevice>, context: CUcontext) -> Outcome {
    let context = named(context, INVALID_CONTEXT)?;
    device.required()?.set(context.device);
    Ok(())
}

fn get_flags(_: &Call, flags: Out<c_uint>) -> Outcome {
    let context = present()?;
    flags.required()?.set(context.map_or(0, |context| context.flags()));
    Ok(())
}

fn set_flags(call: &Call, flags: c_uint) -> Outcome {
    let context = call.context()?;
    context.flags.store(checked_flags(flags)?, Ordering::Relaxed);
    Ok(())
}

fn get_id(_: &Call, context: CUcontext, id: Out<c_ulonglong>) -> Outcome {
    let context = named(context, CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
    id.required()?.set(context.id);
    Ok(())
}

fn get_api_version(_: &Call, context: CUcontext, version: Out<c_uint>) -> Outcome {
    named(context, INVALID_CONTEXT)?;
    version.required()?.set(API_VERSION);
    Ok(())
}

fn synchronize(call: &Call) -> Outcome {
    let context = call.context()?;
    whole(&context)?;
    context.synchronize();
    call.healthy().map(|_| ())
}

fn synchronize_other(call: &Call, context: CUcontext) -> Outcome {
    let context = named(context, CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
    whole(&context)?;
    context.synchronize();
    call.healthy().map(|_| ())
}

fn get_limit(call: &Call, value: Out<usize>, limit: CUlimit) -> Outcome {
    let context = call.context()?;
    let value = value.required()?;
    value.set(context.limit(limit)?);
    Ok(())
}

fn set_limit(call: &Call, limit: CUlimit, value: usize) -> Outcome {
    let context = call.context()?;
    lock(&context.settings).limits.set(limit, value, &context.heap)
}

fn get_cache(call: &Call, config: Out<CUfunc_cache>) -> Outcome {
    let context = call.context()?;
    config.required()?.set(context.cache());
    Ok(())
}

fn set_cache(call: &Call, config: CUfunc_cache) -> Outcome {
    let context = call.context()?;
    lock(&context.settings).cache = checked_cache(config)?;
    Ok(())
}

fn get_banks(call: &Call, config: Out<CUsharedconfig>) -> Outcome {
    let context = call.context()?;
    config.required()?.set(lock(&context.settings).banks);
    Ok(())
}

/// The banks of shared memory are four bytes wide on this architecture, whatever is requested.
fn set_banks(call: &Call, config: CUsharedconfig) -> Outcome {
    call.context()?;
    checked_banks(config).map(|_| ())
}

fn get_priorities(call: &Call, least: Out<c_int>, greatest: Out<c_int>) -> Outcome {
    call.context()?;
    least.set(0);
    greatest.set(GREATEST_PRIORITY);
    Ok(())
}

fn reset_l2(call: &Call) -> Outcome {
    call.context().map(|_| ())
}
