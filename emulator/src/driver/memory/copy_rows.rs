//! `cuMemcpy2D*` and `cuMemcpy3D*`: rows and planes of linear memory and of arrays.
//!
//! Relies on the program: host regions it names are valid during the call, and pinned ones until their copy is done.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::sync::Arc;

use super::copy::{CHUNK, End, Mode, submit, transfer};
use super::fault;
use super::peer::context;
use crate::driver::entry::{INVALID_VALUE, In, Outcome, entries};
use crate::driver::graph::capture::record::{outside, recorder};
use crate::driver::graph::copy::Copy3d;
use crate::driver::graph::operation::Operation;
use crate::driver::state::{Call, State};
use crate::driver::stream::Stream;
use crate::engine::Fault;
use crate::memory::{BadRange, Memory};

entries! {
    cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D) = rows;
    cuMemcpy2DUnaligned_v2(copy: *const CUDA_MEMCPY2D) = rows;
    cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream) = rows_async;
    cuMemcpy3D_v2(copy: *const CUDA_MEMCPY3D) = planes;
    cuMemcpy3DAsync_v2(copy: *const CUDA_MEMCPY3D, stream: CUstream) = planes_async;
    cuMemcpy3DPeer(copy: *const CUDA_MEMCPY3D_PEER) = peer;
    cuMemcpy3DPeerAsync(copy: *const CUDA_MEMCPY3D_PEER, stream: CUstream) = peer_async;
}

/// How much is copied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Size {
    /// Bytes of a row.
    pub(in crate::driver) width: usize,
    pub(in crate::driver) height: usize,
    pub(in crate::driver) depth: usize,
}

/// One side as a structure of the API names it.
pub(in crate::driver) struct Named {
    pub(super) kind: CUmemorytype,
    pub(super) host: *mut c_void,
    pub(super) device: CUdeviceptr,
    pub(super) array: CUarray,
    /// Bytes of a row, rows of a plane.
    pub(super) pitch: usize,
    pub(super) rows: usize,
    /// Where the region starts: bytes into a row, rows, planes.
    pub(super) at: [usize; 3],
}

/// One side of a copy: where its first row starts, and how far the others are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Region {
    first: End,
    /// Bytes from row to row, and from plane to plane.
    row: usize,
    plane: usize,
}

impl Named {
    /// The region, if it lies inside its memory.
    pub(in crate::driver) fn region(&self, call: &Call, size: Size) -> Outcome<Region> {
        let state = call.healthy()?;
        match self.kind {
            CUmemorytype::CU_MEMORYTYPE_ARRAY => self.of_array(call, size),
            CUmemorytype::CU_MEMORYTYPE_DEVICE => self.linear(size, |offset, bytes| {
                End::device(state, self.device.checked_add(offset as u64).ok_or(INVALID_VALUE)?, bytes)
            }),
            CUmemorytype::CU_MEMORYTYPE_HOST => self.linear(size, |offset, bytes| {
                if self.host.is_null() {
                    return Err(INVALID_VALUE);
                }
                End::of(state, self.host.cast::<u8>().wrapping_add(offset), bytes)
            }),
            CUmemorytype::CU_MEMORYTYPE_UNIFIED => self.linear(size, |offset, bytes| {
                End::generic(state, self.device.checked_add(offset as u64).ok_or(INVALID_VALUE)?, bytes)
            }),
            _ => Err(INVALID_VALUE),
        }
    }

    /// `find` gives the memory of an offset and a number of bytes.
    fn linear(&self, size: Size, find: impl FnOnce(usize, usize) -> Outcome<End>) -> Outcome<Region> {
        let [x, y, z] = self.at;
        let end = x.checked_add(size.width).ok_or(INVALID_VALUE)?;
        let below = y.checked_add(size.height).ok_or(INVALID_VALUE)?;
        let deep = size.depth > 1 || z > 0;
        // The pitch of a single row is not looked at.
        let pitched = size.height > 1 || y > 0 || deep;
        if pitched && end > self.pitch || deep && below > self.rows {
            return Err(INVALID_VALUE);
        }
        let plane = self.pitch.checked_mul(self.rows).ok_or(INVALID_VALUE)?;
        let place = |row: usize, deep: usize| {
            let rows = row.checked_mul(self.pitch)?;
            deep.checked_mul(plane)?.checked_add(rows)?.checked_add(x)
        };
        let first = place(y, z).ok_or(INVALID_VALUE)?;
        let last = place(below - 1, z.checked_add(size.depth - 1).ok_or(INVALID_VALUE)?);
        let bytes = last.ok_or(INVALID_VALUE)? - first + size.width;
        Ok(Region { first: find(first, bytes)?, row: self.pitch, plane })
    }

    fn of_array(&self, call: &Call, size: Size) -> Outcome<Region> {
        let array = call.array(self.array)?;
        let first = array.place(self.at, [size.width, size.height, size.depth]).ok_or(INVALID_VALUE)?;
        let (pitch, rows) = (array.pitch(), array.shape()[1]);
        Ok(Region { first: End::Device(first), row: pitch, plane: rows * pitch })
    }
}

/// A copy as a graph keeps it.
fn parameters(target: &Named, source: &Named, size: Size) -> CUDA_MEMCPY3D {
    let ([source_x, source_y, source_z], [target_x, target_y, target_z]) = (source.at, target.at);
    CUDA_MEMCPY3D {
        srcXInBytes: source_x,
        srcY: source_y,
        srcZ: source_z,
        srcMemoryType: source.kind,
        srcHost: source.host,
        srcDevice: source.device,
        srcArray: source.array,
        srcPitch: source.pitch,
        srcHeight: source.rows,
        dstXInBytes: target_x,
        dstY: target_y,
        dstZ: target_z,
        dstMemoryType: target.kind,
        dstHost: target.host,
        dstDevice: target.device,
        dstArray: target.array,
        dstPitch: target.pitch,
        dstHeight: target.rows,
        WidthInBytes: size.width,
        Height: size.height,
        Depth: size.depth,
        ..CUDA_MEMCPY3D::default()
    }
}

impl Region {
    /// The same for a copy that is kept and done later, again and again.
    pub(in crate::driver) fn kept(self) -> Region {
        Region { first: self.first.kept(), ..self }
    }

    /// Whether it is in device memory.
    pub(in crate::driver) fn is_device(self) -> bool {
        matches!(self.first, End::Device(_))
    }

    fn row(self, y: usize, z: usize) -> End {
        self.first.further(z * self.plane + y * self.row)
    }
}

/// Copies now, row by row.
///
/// # Safety
///
/// 1. Every row of a host region is valid for `size.width` bytes.
pub(in crate::driver) unsafe fn transfer_rows(
    memory: &Memory,
    target: Region,
    source: Region,
    size: Size,
) -> Result<(), BadRange> {
    for (z, y) in (0..size.depth).flat_map(|z| (0..size.height).map(move |y| (z, y))) {
        // SAFETY: `y` and `z` are inside the region, whose rows are valid: the caller's duty 1.
        unsafe { transfer(memory, target.row(y, z), source.row(y, z), size.width)? }
    }
    Ok(())
}

/// Does the copy in the stream's order: here if memory takes part that is the caller's only while the call lasts.
fn start(
    call: &Call,
    stream: &Arc<Stream>,
    target: Region,
    source: Region,
    size: Size,
    mode: Mode,
) -> Outcome {
    // Copies that can be captured are captured before.
    outside(stream)?;
    let (state, name) = (call.state()?, call.name);
    let run = move || -> Result<(), Box<Fault>> {
        // SAFETY: device ends are checked; pinned ends are valid until the copy is done, and pageable ones only get here
        // while the call lasts.
        unsafe { transfer_rows(&state.memory, target, source, size) }.map_err(|error| fault(name, &error))
    };
    let device = Region::is_device;
    let pageable = |region: Region| matches!(region.first, End::Pageable(_));
    let blocking = mode == Mode::Blocking && !(device(target) && device(source));
    if pageable(target) || pageable(source) || blocking {
        return now(call, state, stream, run);
    }
    let bytes = size.width.saturating_mul(size.height).saturating_mul(size.depth);
    if bytes <= CHUNK && device(target) && device(source) {
        return stream.submit_small(run);
    }
    submit(stream, run)
}

/// Runs on this thread when the stream gets there.
fn now(
    call: &Call,
    state: &'static State,
    stream: &Stream,
    run: impl FnOnce() -> Result<(), Box<Fault>>,
) -> Outcome {
    let done = stream.perform(|| if state.fault.check().is_ok() { run() } else { Ok(()) });
    if let Err(report) = done {
        state.fault.raise(*report);
    }
    call.healthy().map(|_| ())
}

/// Checks both sides and copies.
pub(super) fn copy(
    call: &Call,
    stream: &Arc<Stream>,
    target: &Named,
    source: &Named,
    size: Size,
    mode: Mode,
) -> Outcome {
    call.healthy()?;
    if size.width == 0 || size.height == 0 || size.depth == 0 {
        return Ok(());
    }
    if let Some(recorder) = recorder(stream)? {
        let copy = Copy3d::read(call, &parameters(target, source, size))?;
        return recorder.add(call.state()?, Operation::Copy(copy)).map(|_| ());
    }
    let (target, source) = (target.region(call, size)?, source.region(call, size)?);
    start(call, stream, target, source, size, mode)
}

/// Both sides of a copy as the structure names them, the target first.
pub(in crate::driver) fn sides(whole: &CUDA_MEMCPY3D) -> (Named, Named, Size) {
    let source = Named {
        kind: whole.srcMemoryType,
        host: whole.srcHost.cast_mut(),
        device: whole.srcDevice,
        array: whole.srcArray,
        pitch: whole.srcPitch,
        rows: whole.srcHeight,
        at: [whole.srcXInBytes, whole.srcY, whole.srcZ],
    };
    let target = Named {
        kind: whole.dstMemoryType,
        host: whole.dstHost,
        device: whole.dstDevice,
        array: whole.dstArray,
        pitch: whole.dstPitch,
        rows: whole.dstHeight,
        at: [whole.dstXInBytes, whole.dstY, whole.dstZ],
    };
    let size = Size { width: whole.WidthInBytes, height: whole.Height, depth: whole.Depth };
    (target, source, size)
}

fn rows(call: &Call, copy: In<CUDA_MEMCPY2D>) -> Outcome {
    flat(call, &call.context()?.legacy(), &copy.read()?, Mode::Blocking)
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
    copy(call, stream, &target, &source, size, mode)
}

fn planes(call: &Call, copy: In<CUDA_MEMCPY3D>) -> Outcome {
    volume(call, &call.context()?.legacy(), &copy.read()?, Mode::Blocking)
}

fn planes_async(call: &Call, copy: In<CUDA_MEMCPY3D>, stream: CUstream) -> Outcome {
    volume(call, &call.stream(stream)?, &copy.read()?, Mode::Asynchronous)
}

fn volume(call: &Call, stream: &Arc<Stream>, whole: &CUDA_MEMCPY3D, mode: Mode) -> Outcome {
    if whole.srcLOD != 0 || whole.dstLOD != 0 {
        return Err(INVALID_VALUE);
    }
    let (target, source, size) = sides(whole);
    copy(call, stream, &target, &source, size, mode)
}

fn peer(call: &Call, copy: In<CUDA_MEMCPY3D_PEER>) -> Outcome {
    let stream = call.context()?.legacy();
    between(call, &stream, &copy.read()?, Mode::Blocking)
}

fn peer_async(call: &Call, copy: In<CUDA_MEMCPY3D_PEER>, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    between(call, &stream, &copy.read()?, Mode::Asynchronous)
}

/// Every context reaches all memory here; what is left to check is that both live.
fn between(call: &Call, stream: &Arc<Stream>, copy: &CUDA_MEMCPY3D_PEER, mode: Mode) -> Outcome {
    context(call, copy.dstContext)?;
    context(call, copy.srcContext)?;
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
