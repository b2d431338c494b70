//! Memcpy nodes: boxes of bytes between host and device.
//!
//! Relies on the program: host ranges that a node names are valid whenever the graph is launched, until that is done.
#![allow(unsafe_code)]

use cuda_driver_sys::*;

use super::fill::context;
use super::nodes::insert;
use super::operation::Operation;
use crate::driver::entry::{INVALID_HANDLE, INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::memory::fault;
use crate::driver::state::{Call, State};
use crate::engine::Fault;
use crate::memory::{BadRange, Memory, access};

entries! {
    cuGraphAddMemcpyNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_MEMCPY3D, context: CUcontext) = add;
    cuGraphMemcpyNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_MEMCPY3D) = get_parameters;
    cuGraphMemcpyNodeSetParams(node: CUgraphNode, parameters: *const CUDA_MEMCPY3D) = set_parameters;
}

/// A copy that is kept.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Copy3d {
    target: End,
    source: End,
    width: usize,
    height: usize,
    depth: usize,
    parameters: Parameters,
}

impl PartialEq for Copy3d {
    fn eq(&self, other: &Copy3d) -> bool {
        let extent = |copy: &Copy3d| (copy.target, copy.source, copy.width, copy.height, copy.depth);
        extent(self) == extent(other)
    }
}

/// What the program gave.
#[derive(Clone, Copy)]
struct Parameters(CUDA_MEMCPY3D);

// SAFETY: plain numbers; the host pointers in them are followed in `copy_row` alone, which the program agreed to.
unsafe impl Send for Parameters {}
// SAFETY: as above.
unsafe impl Sync for Parameters {}

/// One end of a copy: where its first byte is, and how far apart rows and layers are.
#[derive(Clone, Copy, PartialEq, Eq)]
struct End {
    host: bool,
    /// A device address, or that of host memory, exposed.
    first: u64,
    row: usize,
    layer: usize,
}

/// One end as the API describes it.
struct Side {
    kind: CUmemorytype,
    host: usize,
    device: u64,
    array: CUarray,
    offset: [usize; 3],
    pitch: usize,
    height: usize,
}

/// Bytes copied at a time where a copy goes through a buffer.
const CHUNK: usize = 64 << 10;

impl Side {
    fn source(p: &CUDA_MEMCPY3D) -> Side {
        Side {
            kind: p.srcMemoryType,
            host: p.srcHost.expose_provenance(),
            device: p.srcDevice,
            array: p.srcArray,
            offset: [p.srcXInBytes, p.srcY, p.srcZ],
            pitch: p.srcPitch,
            height: p.srcHeight,
        }
    }

    fn target(p: &CUDA_MEMCPY3D) -> Side {
        Side {
            kind: p.dstMemoryType,
            host: p.dstHost.expose_provenance(),
            device: p.dstDevice,
            array: p.dstArray,
            offset: [p.dstXInBytes, p.dstY, p.dstZ],
            pitch: p.dstPitch,
            height: p.dstHeight,
        }
    }

    /// Where it is, checked as far as can be told: device ranges must be there.
    fn locate(&self, state: &State, [width, height, depth]: [usize; 3]) -> Outcome<End> {
        let device = |address: u64| state.memory.find(address).is_some();
        let (host, base) = match self.kind {
            CUmemorytype::CU_MEMORYTYPE_HOST => (true, self.host as u64),
            CUmemorytype::CU_MEMORYTYPE_DEVICE => (false, self.device),
            CUmemorytype::CU_MEMORYTYPE_UNIFIED => (!device(self.device), self.device),
            CUmemorytype::CU_MEMORYTYPE_ARRAY => return self.locate_array(state, [width, height, depth]),
            _ => return Err(INVALID_VALUE),
        };
        let [x, y, z] = self.offset;
        let end = x.checked_add(width).ok_or(INVALID_VALUE)?;
        // A pitch of 0 is right for one row, a height of 0 for one layer.
        if self.pitch < end && (self.pitch != 0 || height > 1 || depth > 1) {
            return Err(INVALID_VALUE);
        }
        if depth > 1 && self.height < y.saturating_add(height) {
            return Err(INVALID_VALUE);
        }
        let (row, layer) = (self.pitch, self.pitch.checked_mul(self.height).ok_or(INVALID_VALUE)?);
        let at = |y: usize, z: usize| z.checked_mul(layer)?.checked_add(y.checked_mul(row)?)?.checked_add(x);
        let first = at(y, z).ok_or(INVALID_VALUE)?;
        let last = (depth - 1).checked_mul(layer).zip((height - 1).checked_mul(row));
        let bytes = last.and_then(|(z, y)| z.checked_add(y)?.checked_add(width)).ok_or(INVALID_VALUE)?;
        let first = base.checked_add(first as u64).ok_or(INVALID_VALUE)?;
        let good = if host { base != 0 } else { state.is_device_range(first, bytes as u64) };
        if good { Ok(End { host, first, row, layer }) } else { Err(INVALID_VALUE) }
    }

    /// As [`locate`](Self::locate), of an array, whose layout is its own.
    fn locate_array(&self, state: &State, size: [usize; 3]) -> Outcome<End> {
        let array = state.arrays.get(self.array.addr()).filter(|array| array.context.is_alive());
        let array = array.ok_or(INVALID_HANDLE)?;
        let first = array.place(self.offset, size).ok_or(INVALID_VALUE)?;
        let (row, rows) = (array.pitch(), array.shape()[1]);
        Ok(End { host: false, first, row, layer: row * rows })
    }
}

impl Copy3d {
    /// Checks the parameters of a node.
    pub(in crate::driver) fn read(state: &State, parameters: &CUDA_MEMCPY3D) -> Outcome<Copy3d> {
        let extent = [parameters.WidthInBytes, parameters.Height, parameters.Depth];
        if extent.contains(&0) {
            return Err(INVALID_VALUE);
        }
        let [width, height, depth] = extent;
        let source = Side::source(parameters).locate(state, extent)?;
        let target = Side::target(parameters).locate(state, extent)?;
        Ok(Copy3d { target, source, width, height, depth, parameters: Parameters(*parameters) })
    }

    /// A copy of one row, from and to an address of a kind of memory.
    pub(in crate::driver) fn line(
        state: &State,
        (target, to): (CUmemorytype, u64),
        (source, from): (CUmemorytype, u64),
        bytes: usize,
    ) -> Outcome<Copy3d> {
        // A host pointer is read where the type says host, an address where it says device.
        let parameters = CUDA_MEMCPY3D {
            srcMemoryType: source,
            srcHost: std::ptr::with_exposed_provenance(from as usize),
            srcDevice: from,
            dstMemoryType: target,
            dstHost: std::ptr::with_exposed_provenance_mut(to as usize),
            dstDevice: to,
            WidthInBytes: bytes,
            Height: 1,
            Depth: 1,
            ..Default::default()
        };
        Copy3d::read(state, &parameters)
    }

    pub(super) fn run(&self, memory: &Memory) -> Result<(), Box<Fault>> {
        let rows = (0..self.depth).flat_map(|z| (0..self.height).map(move |y| (y, z)));
        rows.into_iter()
            .try_for_each(|(y, z)| copy_row(memory, self.target.at(y, z), self.source.at(y, z), self.width))
            .map_err(|error| fault("memcpy node", &error))
    }

    /// Whether the other copies between the same kinds of memory, and both are of one row: an executable graph's copy
    /// can be changed to such a one only.
    pub(super) fn can_become(&self, other: &Copy3d) -> bool {
        let line = |copy: &Copy3d| (copy.height, copy.depth) == (1, 1);
        (self.source.host, self.target.host) == (other.source.host, other.target.host)
            && line(self)
            && line(other)
    }

    /// What the program gave.
    pub(super) fn parameters(&self) -> CUDA_MEMCPY3D {
        self.parameters.0
    }
}

impl End {
    /// Where a row starts.
    fn at(&self, y: usize, z: usize) -> End {
        End { first: self.first + (z * self.layer + y * self.row) as u64, ..*self }
    }

    /// The host address.
    fn pointer(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.first as usize)
    }
}

/// Copies one row. Host memory goes through a buffer and atomics: the program may touch it at the same time, which is
/// its mistake and not undefined here.
fn copy_row(memory: &Memory, target: End, source: End, bytes: usize) -> Result<(), BadRange> {
    if !target.host && !source.host {
        return memory.copy(target.first, source.first, bytes as u64);
    }
    let mut buffer = vec![0; bytes.min(CHUNK)];
    for at in (0..bytes).step_by(CHUNK) {
        let part = buffer.len().min(bytes - at);
        let part = buffer.get_mut(..part).unwrap_or_default();
        if source.host {
            // SAFETY: the program keeps the range valid until the launch is done.
            unsafe { access::read(source.pointer().add(at), part) };
        } else {
            memory.read(source.first + at as u64, part)?;
        }
        if target.host {
            // SAFETY: as above.
            unsafe { access::write(target.pointer().add(at), part) };
        } else {
            memory.write(target.first + at as u64, part)?;
        }
    }
    Ok(())
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_MEMCPY3D>,
    of: CUcontext,
) -> Outcome {
    let made = |call: &Call| {
        let parameters = parameters.read()?;
        context(call, of)?;
        Ok(Operation::Copy(Copy3d::read(call.state()?, &parameters)?))
    };
    // SAFETY: by the function's contract there are `count` nodes.
    unsafe { insert(call, node, graph, after, count, made) }
}

fn get_parameters(call: &Call, node: CUgraphNode, parameters: Out<CUDA_MEMCPY3D>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Copy(copy) = operation else { return Err(INVALID_VALUE) };
        place.set(copy.parameters());
        Ok(())
    })
}

fn set_parameters(call: &Call, node: CUgraphNode, parameters: In<CUDA_MEMCPY3D>) -> Outcome {
    let parameters = parameters.read()?;
    call.node(node)?.change(|operation| operation.set_copy(call.state()?, &parameters))
}

impl Operation {
    /// Sets the parameters of a memcpy node.
    pub(super) fn set_copy(&mut self, state: &State, parameters: &CUDA_MEMCPY3D) -> Outcome {
        let Operation::Copy(copy) = self else { return Err(INVALID_VALUE) };
        *copy = Copy3d::read(state, parameters)?;
        Ok(())
    }
}
