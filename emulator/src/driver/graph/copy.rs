//! Memcpy nodes: boxes of bytes between host, device and arrays.
//!
//! Relies on the program: host ranges that a node names are valid whenever the graph is launched, until that is done.
#![allow(unsafe_code)]

use cuda_driver_sys::*;

use super::fill::context;
use super::nodes::insert;
use super::operation::Operation;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::memory::copy_rows::{Region, Size, sides, transfer_rows};
use crate::driver::memory::fault;
use crate::driver::state::Call;
use crate::engine::Fault;
use crate::memory::Memory;

entries! {
    cuGraphAddMemcpyNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_MEMCPY3D, context: CUcontext) = add;
    cuGraphMemcpyNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_MEMCPY3D) = get_parameters;
    cuGraphMemcpyNodeSetParams(node: CUgraphNode, parameters: *const CUDA_MEMCPY3D) = set_parameters;
}

/// A copy that is kept.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Copy3d {
    target: Region,
    source: Region,
    size: Size,
    parameters: Parameters,
}

/// What the program gave.
#[derive(Clone, Copy)]
struct Parameters(CUDA_MEMCPY3D);

// SAFETY: plain numbers for the program that asks: nobody follows its pointers.
unsafe impl Send for Parameters {}
// SAFETY: a shared reference only gives copies, which may go to other threads as above.
unsafe impl Sync for Parameters {}

impl PartialEq for Copy3d {
    fn eq(&self, other: &Copy3d) -> bool {
        let both = |copy: &Copy3d| (copy.target, copy.source, copy.size);
        both(self) == both(other)
    }
}

impl Copy3d {
    /// Checks the parameters of a node.
    pub(in crate::driver) fn read(call: &Call, parameters: &CUDA_MEMCPY3D) -> Outcome<Copy3d> {
        let (target, source, size) = sides(parameters);
        let levels = (parameters.srcLOD, parameters.dstLOD) != (0, 0);
        if levels || [size.width, size.height, size.depth].contains(&0) {
            return Err(INVALID_VALUE);
        }
        let (source, target) = (source.region(call, size)?.kept(), target.region(call, size)?.kept());
        Ok(Copy3d { target, source, size, parameters: Parameters(*parameters) })
    }

    /// A copy of one row, from and to an address of a kind of memory.
    pub(in crate::driver) fn line(
        call: &Call,
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
        Copy3d::read(call, &parameters)
    }

    pub(super) fn run(&self, memory: &Memory) -> Result<(), Box<Fault>> {
        // SAFETY: the program keeps host regions valid until the launch is done; device regions are checked.
        let done = unsafe { transfer_rows(memory, self.target, self.source, self.size) };
        done.map_err(|error| fault("memcpy node", &error))
    }

    /// Whether the other copies between the same kinds of memory, and both are of one row: an executable graph's copy
    /// can be changed to such a one only.
    pub(super) fn can_become(&self, other: &Copy3d) -> bool {
        let line = |copy: &Copy3d| (copy.size.height, copy.size.depth) == (1, 1);
        let kinds = |copy: &Copy3d| (copy.source.is_device(), copy.target.is_device());
        kinds(self) == kinds(other) && line(self) && line(other)
    }

    /// What the program gave.
    pub(super) fn parameters(&self) -> CUDA_MEMCPY3D {
        self.parameters.0
    }
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
        Ok(Operation::Copy(Copy3d::read(call, &parameters)?))
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
    call.node(node)?.change(|operation| {
        let Operation::Copy(copy) = operation else { return Err(INVALID_VALUE) };
        *copy = Copy3d::read(call, &parameters)?;
        Ok(())
    })
}
