//! `cuMemcpy2D*` and `cuMemcpy3D*`: rows and planes of linear memory and of arrays.

use cuda_driver_sys::*;
use std::sync::Arc;

use super::copy::Mode;
use crate::driver::context::current::living;
use crate::driver::entry::{INVALID_VALUE, In, Outcome, entries};
use crate::driver::state::Call;
use crate::driver::stream::{Pace, Stream};
use crate::driver::work::Work;
use crate::driver::work::copy::{Copy3d, Named, Size, sides};
use crate::driver::work::ends::CHUNK;

entries! {
    cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D) = rows;
    cuMemcpy2DUnaligned_v2(copy: *const CUDA_MEMCPY2D) = rows;
    cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream) = rows_async;
    cuMemcpy3D_v2(copy: *const CUDA_MEMCPY3D) = planes;
    cuMemcpy3DAsync_v2(copy: *const CUDA_MEMCPY3D, stream: CUstream) = planes_async;
    cuMemcpy3DPeer(copy: *const CUDA_MEMCPY3D_PEER) = peer;
    cuMemcpy3DPeerAsync(copy: *const CUDA_MEMCPY3D_PEER, stream: CUstream) = peer_async;
}

/// How the call proceeds with a copy: at once if memory takes part that is the caller's only while the call lasts.
fn pace(copy: &Copy3d, size: Size, mode: Mode) -> Pace {
    let (target, source) = copy.regions();
    let on_device = target.is_device() && source.is_device();
    let bytes = size.width.saturating_mul(size.height).saturating_mul(size.depth);
    if target.is_pageable() || source.is_pageable() || mode == Mode::Blocking && !on_device {
        Pace::Blocking
    } else if on_device && bytes <= CHUNK {
        Pace::Small
    } else {
        Pace::Queued
    }
}

/// Checks both sides and copies.
pub(super) fn copy(
    call: &Call,
    stream: &Arc<Stream>,
    target: Named,
    source: Named,
    size: Size,
    mode: Mode,
) -> Outcome {
    call.healthy()?;
    if size.width == 0 || size.height == 0 || size.depth == 0 {
        return Ok(());
    }
    stream.is_recording()?;
    let copy = Copy3d::new(call, target, source, size)?;
    let pace = pace(&copy, size, mode);
    stream.give(call, Work::Copy(copy), pace).map(|_| ())
}

fn rows(call: &Call, copy: In<CUDA_MEMCPY2D>) -> Outcome {
    flat(call, &call.default_stream()?, &copy.read()?, Mode::Blocking)
}

fn rows_async(call: &Call, copy: In<CUDA_MEMCPY2D>, stream: CUstream) -> Outcome {
    flat(call, &call.stream(stream)?, &copy.read()?, Mode::Asynchronous)
}

fn flat(call: &Call, stream: &Arc<Stream>, flat: &CUDA_MEMCPY2D, mode: Mode) -> Outcome {
    let source = Named {
        kind: flat.srcMemoryType,
        host: flat.srcHost.cast_mut(),
        device: flat.srcDevice,
        array: flat.srcArray,
        pitch: flat.srcPitch,
        rows: 0,
        at: [flat.srcXInBytes, flat.srcY, 0],
    };
    let target = Named {
        kind: flat.dstMemoryType,
        host: flat.dstHost,
        device: flat.dstDevice,
        array: flat.dstArray,
        pitch: flat.dstPitch,
        rows: 0,
        at: [flat.dstXInBytes, flat.dstY, 0],
    };
    let size = Size { width: flat.WidthInBytes, height: flat.Height, depth: 1 };
    copy(call, stream, target, source, size, mode)
}

fn planes(call: &Call, copy: In<CUDA_MEMCPY3D>) -> Outcome {
    volume(call, &call.default_stream()?, &copy.read()?, Mode::Blocking)
}

fn planes_async(call: &Call, copy: In<CUDA_MEMCPY3D>, stream: CUstream) -> Outcome {
    volume(call, &call.stream(stream)?, &copy.read()?, Mode::Asynchronous)
}

fn volume(call: &Call, stream: &Arc<Stream>, whole: &CUDA_MEMCPY3D, mode: Mode) -> Outcome {
    if whole.srcLOD != 0 || whole.dstLOD != 0 {
        return Err(INVALID_VALUE);
    }
    let (target, source, size) = sides(whole);
    copy(call, stream, target, source, size, mode)
}

fn peer(call: &Call, copy: In<CUDA_MEMCPY3D_PEER>) -> Outcome {
    let stream = call.default_stream()?;
    between(call, &stream, &copy.read()?, Mode::Blocking)
}

fn peer_async(call: &Call, copy: In<CUDA_MEMCPY3D_PEER>, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    between(call, &stream, &copy.read()?, Mode::Asynchronous)
}

/// Every context reaches all memory here; what is left to check is that both live.
fn between(call: &Call, stream: &Arc<Stream>, copy: &CUDA_MEMCPY3D_PEER, mode: Mode) -> Outcome {
    living(call, copy.dstContext)?;
    living(call, copy.srcContext)?;
    let whole = CUDA_MEMCPY3D {
        srcXInBytes: copy.srcXInBytes,
        srcY: copy.srcY,
        srcZ: copy.srcZ,
        srcLOD: copy.srcLOD,
        srcMemoryType: copy.srcMemoryType,
        srcHost: copy.srcHost,
        srcDevice: copy.srcDevice,
        srcArray: copy.srcArray,
        srcPitch: copy.srcPitch,
        srcHeight: copy.srcHeight,
        dstXInBytes: copy.dstXInBytes,
        dstY: copy.dstY,
        dstZ: copy.dstZ,
        dstLOD: copy.dstLOD,
        dstMemoryType: copy.dstMemoryType,
        dstHost: copy.dstHost,
        dstDevice: copy.dstDevice,
        dstArray: copy.dstArray,
        dstPitch: copy.dstPitch,
        dstHeight: copy.dstHeight,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        Depth: copy.Depth,
        ..CUDA_MEMCPY3D::default()
    };
    volume(call, stream, &whole, mode)
}
