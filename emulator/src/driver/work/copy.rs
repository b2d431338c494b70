//! Copies: boxes of bytes between host, device and arrays.
//!
//! Relies on the program for host regions that it passes (C1, C4 and C5 in `entry`): they are valid, and no other code writes a source or
//! accesses a target, during the call; for pinned ones, until their copy is done; and for those of a node, whenever the graph is launched,
//! until that is done.
#![allow(unsafe_code)]

use cuda_driver_sys::{CUDA_MEMCPY3D, CUarray, CUdeviceptr, CUmemorytype};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

use super::Turn;
use super::ends::{End, transfer};
use crate::check::Finding;
use crate::check::launches::AccessKind;
use crate::driver::current_work::{self, Accesses};
use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::fault::bad_range;
use crate::driver::memory::origin::Origin;
use crate::driver::state::{Call, State};
use crate::engine::Fault;
use crate::memory::{BadRange, Memory};

/// A copy.
#[derive(Clone)]
pub(in crate::driver) struct Copy3d(Arc<Kept>);

#[derive(Clone)]
struct Kept {
    target: Side,
    source: Side,
    size: Size,
    /// A copy of the source's bytes at the call, if the caller may change the source after it.
    bytes: Option<Arc<[MaybeUninit<u8>]>>,
}

/// One side of a copy, as passed by the program and as resolved.
#[derive(Clone, Copy)]
struct Side {
    named: Named,
    region: Region,
    /// The kind of its memory; determined only for nodes.
    origin: Option<Origin>,
}

impl Side {
    /// The same for a graph, which remembers in what memory it is.
    fn into_node(self, state: &State) -> Side {
        // For host memory nothing is compared.
        let is_host = self.named.kind == CUmemorytype::CU_MEMORYTYPE_HOST;
        let origin = if is_host { Origin::UNKNOWN } else { state.origin(self.region.first.address()) };
        Side { region: self.region.into_node(), origin: Some(origin), ..self }
    }

    fn line(end: End) -> Side {
        let (kind, host, device) = end.told();
        let named = Named { kind, host, device, array: std::ptr::null_mut(), pitch: 0, rows: 0, at: [0; 3] };
        Side { named, region: Region { first: end, row: 0, plane: 0 }, origin: None }
    }
}

impl PartialEq for Copy3d {
    fn eq(&self, other: &Copy3d) -> bool {
        let both = |copy: &Copy3d| (copy.0.target.region, copy.0.source.region, copy.0.size);
        both(self) == both(other)
    }
}

impl Copy3d {
    /// A copy between two regions, which are checked. None of the sizes is 0.
    pub(in crate::driver) fn new(call: &Call, target: Named, source: Named, size: Size) -> Outcome<Copy3d> {
        let side = |named: Named| Ok(Side { region: named.region(call, size)?, named, origin: None });
        let (target, source) = (side(target)?, side(source)?);
        Ok(Copy3d(Arc::new(Kept { target, source, size, bytes: None })))
    }

    /// A copy of one row.
    pub(in crate::driver) fn line(target: End, source: End, bytes: usize) -> Copy3d {
        let size = Size { width: bytes, height: 1, depth: 1 };
        let (target, source) = (Side::line(target), Side::line(source));
        Copy3d(Arc::new(Kept { target, source, size, bytes: None }))
    }

    /// The copy for the parameters of a node.
    pub(in crate::driver) fn read(call: &Call, parameters: &CUDA_MEMCPY3D) -> Outcome<Copy3d> {
        let (target, source, size) = sides(parameters);
        let levels = (parameters.srcLOD, parameters.dstLOD) != (0, 0);
        if levels || [size.width, size.height, size.depth].contains(&0) {
            return Err(INVALID_VALUE);
        }
        let copy = Copy3d::new(call, target, source, size)?;
        copy.check_target(call.state()?)?;
        Ok(copy.into_node(call.state()?))
    }

    /// The same for a graph, which performs it later, possibly repeatedly.
    pub(super) fn into_node(mut self, state: &State) -> Copy3d {
        let kept = Arc::make_mut(&mut self.0);
        for side in [&mut kept.target, &mut kept.source] {
            *side = side.into_node(state);
        }
        self
    }

    /// The same with a copy of its source's current bytes, if that is pageable memory and the copy is one row to a
    /// device.
    pub(super) fn detached(mut self) -> Copy3d {
        let Kept { target, source, size, .. } = &*self.0;
        if target.region.is_device() && (size.height, size.depth) == (1, 1) {
            // SAFETY: 1: `Work::detached` is called in the call that passed the source. By C1, C4 and C5 the source is valid for reads of
            // its one row of `width` bytes, and not written by other code, for the duration of that call.
            let bytes = unsafe { source.region.first.read(size.width) };
            Arc::make_mut(&mut self.0).bytes = bytes;
        }
        self
    }

    /// Refuses to write memory that is registered as read-only. That memory is one range of host memory, or a copy lies outside of
    /// it.
    pub(in crate::driver) fn check_target(&self, state: &State) -> Outcome {
        let target = self.0.target.region.first.address();
        if state.is_read_only(target) { Err(INVALID_VALUE) } else { Ok(()) }
    }

    /// Whether it touches pageable memory.
    pub(super) fn is_of_the_call(&self) -> bool {
        let (target, source) = self.regions();
        target.is_pageable() || source.is_pageable() && self.0.bytes.is_none()
    }

    /// The target and the source.
    pub(in crate::driver) fn regions(&self) -> (Region, Region) {
        (self.0.target.region, self.0.source.region)
    }

    pub(super) fn run(&self, turn: &Turn) -> Result<(), Box<Fault>> {
        let (memory, (target, source)) = (&turn.state.memory, self.regions());
        self.look(turn);
        let ongoing = current_work::begin(turn.stream, turn.caller.unwrap_or("memcpy node"));
        let done = match (&self.0.bytes, target.first) {
            (Some(bytes), End::Device(address)) => memory.copy_from_host(address, bytes),
            // SAFETY: 1, 2: device regions are looked up when they are used. Host regions are rows that the program has
            // passed (`line`, `Named::linear`): by C1 they are valid, each in one allocation; by C4 they are not used
            // by other code and not part of device memory; for the duration in C5. Those of a node, and pinned ones,
            // are valid until this is done; a copy with pageable ones (`is_of_the_call`) is done by the stream within
            // the call that passed them.
            _ => unsafe { transfer_rows(memory, target, source, self.0.size) },
        };
        if let Some(ongoing) = ongoing {
            ongoing.touch(self.accesses(memory).touched());
            current_work::end(ongoing, memory);
        }
        done.map_err(|error| bad_range(turn.caller.unwrap_or("memcpy node"), &error))
    }

    /// What it accesses, but for what only the call may touch.
    fn accesses(&self, memory: &Memory) -> Accesses {
        let (size, mut accesses) = (self.0.size, Accesses::default());
        let (target, source) = self.regions();
        for (region, writes) in [(target, true), (source, false)] {
            if region.is_pageable() {
                continue;
            }
            for (z, y) in (0..size.depth).flat_map(|z| (0..size.height).map(move |y| (z, y))) {
                accesses.add(memory, region.row(y, z).address(), size.width as u64, AccessKind::Copy, writes);
            }
        }
        accesses
    }

    /// Reports a copy to the host of memory that was never written.
    fn look(&self, turn: &Turn) {
        let (memory, (target, source), size) = (&turn.state.memory, self.regions(), self.0.size);
        let Some(checker) = memory.checker().filter(|checker| checker.checks().uninitialised) else { return };
        let mut rows = (0..size.depth).flat_map(|z| (0..size.height).map(move |y| (z, y)));
        let width = size.width as u64;
        let is_blank = |(z, y)| memory.is_blank(source.row(y, z).address(), width);
        if source.is_device() && !target.is_device() && rows.all(is_blank) {
            let address = source.first.address();
            let bytes = size.width.saturating_mul(size.height).saturating_mul(size.depth);
            let place = memory.describe(address, width);
            checker.add(Finding::of_copy(turn.caller.unwrap_or("memcpy node"), address, bytes, place));
        }
    }

    /// Whether the other copy is between memory of the same kinds and origins: an executable graph's copy can only be changed to such a
    /// copy.
    pub(in crate::driver) fn can_become(&self, other: &Copy3d) -> bool {
        let fits = |old: Side, new: Side, compare: fn(Origin, Origin) -> bool| {
            old.named.kind == new.named.kind
                && old.origin.zip(new.origin).is_none_or(|(old, new)| compare(old, new))
        };
        fits(self.0.source, other.0.source, Origin::can_become)
            && fits(self.0.target, other.0.target, Origin::can_become_target)
    }

    /// Whether a device can do it by itself: between device memory and host memory that is pinned or managed, and no arrays.
    pub(in crate::driver) fn is_for_devices(&self, state: &State) -> bool {
        let Size { width, height, depth } = self.0.size;
        [&self.0.target, &self.0.source].into_iter().all(|side| {
            let Region { first, row, plane } = side.region;
            let bytes = (depth - 1) * plane + (height - 1) * row + width;
            let is_known = || state.memory.contains(first.address(), bytes as u64);
            side.named.kind != CUmemorytype::CU_MEMORYTYPE_ARRAY && (side.region.is_device() || is_known())
        })
    }

    /// Whether it is of one row.
    pub(in crate::driver) fn is_line(&self) -> bool {
        self.0.size.height == 1 && self.0.size.depth == 1
    }

    /// The parameters in the form of the API.
    pub(in crate::driver) fn parameters(&self) -> CUDA_MEMCPY3D {
        parameters(&self.0.target.named, &self.0.source.named, self.0.size)
    }
}

/// How much is copied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Size {
    /// Bytes of a row.
    pub(in crate::driver) width: usize,
    pub(in crate::driver) height: usize,
    pub(in crate::driver) depth: usize,
}

/// One side in the form of an API structure.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Named {
    pub(in crate::driver) kind: CUmemorytype,
    pub(in crate::driver) host: *mut c_void,
    pub(in crate::driver) device: CUdeviceptr,
    pub(in crate::driver) array: CUarray,
    /// Bytes of a row, rows of a plane.
    pub(in crate::driver) pitch: usize,
    pub(in crate::driver) rows: usize,
    /// The start of the region: bytes into a row, rows, planes.
    pub(in crate::driver) at: [usize; 3],
}

/// One side of a copy: the start of its first row, and the distances to the others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Region {
    first: End,
    /// Bytes from row to row, and from plane to plane.
    row: usize,
    plane: usize,
}

// SAFETY: its pointers are never dereferenced: they are compared and turned into an `End` by `region`, and returned to the program. The
// rest are numbers.
unsafe impl Send for Named {}
// SAFETY: nothing in it changes through a shared reference, which only gives copies: these may be sent to other threads, as for
// `Send`.
unsafe impl Sync for Named {}

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

    /// `find` returns the memory for an offset and a number of bytes.
    fn linear(&self, size: Size, find: impl FnOnce(usize, usize) -> Outcome<End>) -> Outcome<Region> {
        let [x, y, z] = self.at;
        let end = x.checked_add(size.width).ok_or(INVALID_VALUE)?;
        let below = y.checked_add(size.height).ok_or(INVALID_VALUE)?;
        let deep = size.depth > 1 || z > 0;
        // The pitch of a single row is ignored.
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
        let bytes = last.and_then(|last| (last - first).checked_add(size.width)).ok_or(INVALID_VALUE)?;
        Ok(Region { first: find(first, bytes)?, row: self.pitch, plane })
    }

    fn of_array(&self, call: &Call, size: Size) -> Outcome<Region> {
        let array = call.array(self.array)?;
        let first = array.place(self.at, [size.width, size.height, size.depth]).ok_or(INVALID_VALUE)?;
        let (pitch, rows) = (array.pitch(), array.shape()[1]);
        Ok(Region { first: End::Device(first), row: pitch, plane: rows * pitch })
    }
}

impl Region {
    /// The same for a copy that is kept and performed later, possibly repeatedly.
    pub(in crate::driver) fn into_node(self) -> Region {
        Region { first: self.first.into_node(), ..self }
    }

    /// Whether it is memory that only the call may touch that names it.
    pub(in crate::driver) fn is_pageable(self) -> bool {
        matches!(self.first, End::Pageable(_))
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
/// 1. Every row of a host region is valid for `size.width` bytes, in one allocation: of the target for writes, of the source for reads.
/// 2. Meanwhile no other code writes the rows of a source in host memory or accesses those of a target, as in duty 2 of [`transfer`].
unsafe fn transfer_rows(memory: &Memory, target: Region, source: Region, size: Size) -> Result<(), BadRange> {
    for (z, y) in (0..size.depth).flat_map(|z| (0..size.height).map(move |y| (z, y))) {
        // SAFETY: 1, 2: `y` and `z` are below height and depth, so both are rows of their regions: the caller's duties 1 and 2.
        unsafe { transfer(memory, target.row(y, z), source.row(y, z), size.width)? }
    }
    Ok(())
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

/// A copy as the structure names it, the target first.
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
