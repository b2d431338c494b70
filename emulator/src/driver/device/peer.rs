//! Peer access between devices. All pairs support it, one direction at a time: `cuCtxEnablePeerAccess` lets the kernels of
//! the current context access memory that contexts of another device allocate with `cuMemAlloc`.

use cuda_driver_sys::*;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use super::checked;
use crate::driver::context::Context;
use crate::driver::context::current::named;
use crate::driver::entry::{INVALID_CONTEXT, INVALID_VALUE, Out, Outcome, entries};
use crate::driver::since::Known;
use crate::driver::state::{Call, lock};

entries! {
    cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice) = can_access;
    cuDeviceGetP2PAttribute(value: *mut c_int, attribute: CUdevice_P2PAttribute, device: CUdevice, peer: CUdevice) = p2p;
    cuCtxEnablePeerAccess(context: CUcontext, flags: c_uint) = enable;
    cuCtxDisablePeerAccess(context: CUcontext) = disable;
}

/// A device is no peer of itself.
fn can_access(_: &Call, can: Out<c_int>, device: CUdevice, peer: CUdevice) -> Outcome {
    let place = can.required()?;
    checked(device)?;
    checked(peer)?;
    place.set(c_int::from(device != peer));
    Ok(())
}

/// All devices are equally near, and atomics work on the memory of all.
fn p2p(
    _: &Call,
    value: Out<c_int>,
    attribute: CUdevice_P2PAttribute,
    device: CUdevice,
    peer: CUdevice,
) -> Outcome {
    use CUdevice_P2PAttribute as A;
    let place = value.required()?;
    checked(device)?;
    checked(peer)?;
    if device == peer {
        return Err(CUresult::CUDA_ERROR_INVALID_DEVICE);
    }
    place.set(match attribute.known()? {
        A::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED | A::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED => 1,
        A::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
        | A::CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED
        | A::CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED => 0,
        _ => return Err(INVALID_VALUE),
    });
    Ok(())
}

/// The current context and the one named.
fn pair(call: &Call, context: CUcontext) -> Outcome<(Arc<Context>, Arc<Context>)> {
    let current = call.context()?;
    if context.is_null() {
        return Err(INVALID_CONTEXT);
    }
    Ok((current, named(context, INVALID_CONTEXT)?))
}

fn enable(call: &Call, context: CUcontext, flags: c_uint) -> Outcome {
    call.context()?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let (current, peer) = pair(call, context)?;
    if current.id == peer.id {
        return Err(INVALID_CONTEXT);
    }
    if current.device == peer.device {
        return Err(CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    }
    let mut peers = lock(&current.peers);
    if peers.contains(&peer.id) {
        return Err(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    }
    peers.push(peer.id);
    Ok(())
}

/// Running work may still use the memory, so this waits for it.
fn disable(call: &Call, context: CUcontext) -> Outcome {
    let (current, peer) = pair(call, context)?;
    let enabled = lock(&current.peers).iter().position(|id| *id == peer.id);
    let index = enabled.ok_or(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)?;
    current.synchronize();
    lock(&current.peers).remove(index);
    Ok(())
}
