//! The primary context of each device, with a reference count; it keeps its handle when it is created again.

use cuda_driver_sys::{CUcontext, CUdevice, CUresult};
use std::ffi::{c_int, c_uint};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{CONTEXTS, Context, ContextKind, checked_flags};
use crate::driver::config::MOST_DEVICES;
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_CONTEXT, INVALID_VALUE, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{Call, State, lock};

/// How often it is retained, and its present life.
struct Primary {
    handle: usize,
    count: u32,
    flags: u32,
    active: Option<Arc<Context>>,
}

impl Primary {
    const fn new() -> Primary {
        Primary { handle: 0, count: 0, flags: 0, active: None }
    }

    /// The primary context of a device.
    fn of(device: CUdevice) -> Outcome<MutexGuard<'static, Primary>> {
        checked(device)?;
        let known = usize::try_from(device).ok().and_then(|device| PRIMARIES.get(device));
        let mut primary = known.map(lock).ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)?;
        if primary.handle == 0 {
            primary.handle = CONTEXTS.reserve();
        }
        Ok(primary)
    }

    fn end(&mut self, state: &State) {
        if let Some(context) = self.active.take() {
            context.destroy(state);
            self.flags = 0;
        }
    }
}

/// By device.
static PRIMARIES: PerSlot<[Mutex<Primary>; MOST_DEVICES as usize]> =
    per_slot!([const { Mutex::new(Primary::new()) }; MOST_DEVICES as usize]);

/// Ends all of them: none is in use any more.
pub(super) fn end_all(state: &State) {
    for primary in PRIMARIES.iter() {
        let mut primary = lock(primary);
        primary.end(state);
        *primary = Primary::new();
    }
}

entries! {
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) = retain;
    cuDevicePrimaryCtxRelease_v2(device: CUdevice) = release;
    cuDevicePrimaryCtxReset_v2(device: CUdevice) = reset;
    cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut c_uint, active: *mut c_int) = get_state;
    cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) = set_flags;
}

fn retain(call: &Call, context: Out<CUcontext>, device: CUdevice) -> Outcome {
    let context = context.required()?;
    context.set(to_c(hold(call.state()?, device)?));
    Ok(())
}

/// Adds a reference and returns the handle.
pub(super) fn hold(state: &State, device: CUdevice) -> Outcome<usize> {
    let mut primary = Primary::of(device)?;
    if primary.active.is_none() {
        // After a fault no context can be created; an existing one can still be retained.
        state.fault.check()?;
        primary.active =
            Some(Context::create(state, primary.handle, device, ContextKind::Primary, primary.flags)?);
    }
    primary.count += 1;
    Ok(primary.handle)
}

fn release(call: &Call, device: CUdevice) -> Outcome {
    let_go(call.state()?, device)
}

/// Releases a reference.
pub(super) fn let_go(state: &State, device: CUdevice) -> Outcome {
    let mut primary = Primary::of(device)?;
    primary.count = primary.count.checked_sub(1).ok_or(INVALID_CONTEXT)?;
    if primary.count == 0 {
        primary.end(state);
    }
    Ok(())
}

fn reset(call: &Call, device: CUdevice) -> Outcome {
    let state = call.state()?;
    let mut primary = Primary::of(device)?;
    // A reset must not wait for kernels that may never end.
    if let Some(context) = &primary.active {
        context.reset.store(true, Ordering::Relaxed);
    }
    primary.end(state);
    Ok(())
}

fn get_state(_: &Call, device: CUdevice, flags: Out<c_uint>, active: Out<c_int>) -> Outcome {
    checked(device)?;
    let (flags, active) = (flags.required()?, active.required()?);
    let primary = Primary::of(device)?;
    flags.set(primary.flags);
    active.set(c_int::from(primary.active.is_some()));
    Ok(())
}

fn set_flags(_: &Call, device: CUdevice, flags: c_uint) -> Outcome {
    let mut primary = Primary::of(device)?;
    primary.flags = checked_flags(flags).map_err(|_| INVALID_VALUE)?;
    if let Some(context) = &primary.active {
        context.flags.store(flags, Ordering::Relaxed);
    }
    Ok(())
}
