//! `cuOccupancy*`: how many blocks fit, by the limits of the device.
//!
//! Relies on the program for its function from block size to shared memory: C7 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use super::Function;
use crate::architecture::{PORTABLE_CLUSTER, Resources};
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::launch::cluster::{Request, no_clusters};
use crate::driver::logs;
use crate::driver::module::library::resolve;
use crate::driver::state::Call;

entries! {
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, function: CUfunction, threads: c_int, shared: usize) = active_blocks;
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut c_int, function: CUfunction, threads: c_int, shared: usize, flags: c_uint) = active_blocks_with_flags;
    cuOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int, function: CUfunction, shared_of: CUoccupancyB2DSize, shared: usize, limit: c_int) = potential_block;
    cuOccupancyMaxPotentialBlockSizeWithFlags(grid: *mut c_int, block: *mut c_int, function: CUfunction, shared_of: CUoccupancyB2DSize, shared: usize, limit: c_int, flags: c_uint) = potential_block_with_flags;
    cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: CUfunction, blocks: c_int, threads: c_int) = available_shared;
    cuOccupancyMaxPotentialClusterSize(size: *mut c_int, function: CUfunction, config: *const CUlaunchConfig) = potential_cluster;
    cuOccupancyMaxActiveClusters(clusters: *mut c_int, function: CUfunction, config: *const CUlaunchConfig) = active_clusters;
}

impl Function {
    /// Blocks of `threads` threads and `dynamic` bytes that fit on a multiprocessor at once.
    pub(in crate::driver) fn blocks_per_multiprocessor(&self, threads: u32, dynamic: usize) -> u32 {
        let settings = self.settings();
        let dynamic = u32::try_from(dynamic).ok().filter(|bytes| *bytes <= settings.dynamic_shared);
        let Some(dynamic) = dynamic.filter(|_| (1..=1024).contains(&threads)) else { return 0 };
        let machine = self.machine();
        let (registers, shared) = (self.registers(), self.kernel.static_shared);
        machine.fit(&Resources { registers, shared, max_threads: machine.max_block }, threads, dynamic).blocks
    }
}

/// The function; a `CUkernel` means the one of the current context. Some context must be current.
fn function(call: &Call, handle: CUfunction) -> Outcome<Arc<Function>> {
    let context = call.context()?;
    resolve(call, handle, || Ok(context))
}

fn active_blocks(
    call: &Call,
    blocks: Out<c_int>,
    handle: CUfunction,
    threads: c_int,
    shared: usize,
) -> Outcome {
    active_blocks_with_flags(call, blocks, handle, threads, shared, 0)
}

fn active_blocks_with_flags(
    call: &Call,
    blocks: Out<c_int>,
    handle: CUfunction,
    threads: c_int,
    shared: usize,
    flags: c_uint,
) -> Outcome {
    let function = function(call, handle)?;
    let place = blocks.required()?;
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    place.set(self::blocks(&function, threads, shared)? as c_int);
    Ok(())
}

/// The number of blocks that fit on a multiprocessor at once, for these arguments.
pub(in crate::driver) fn blocks(function: &Function, threads: c_int, shared: usize) -> Outcome<u32> {
    let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0).ok_or(INVALID_VALUE)?;
    // Only the low 32 bits of a size count, as on an H200.
    Ok(function.blocks_per_multiprocessor(threads, shared & 0xffff_ffff))
}

fn potential_block(
    call: &Call,
    grid: Out<c_int>,
    block: Out<c_int>,
    handle: CUfunction,
    shared_of: CUoccupancyB2DSize,
    shared: usize,
    limit: c_int,
) -> Outcome {
    potential_block_with_flags(call, grid, block, handle, shared_of, shared, limit, 0)
}

/// The largest block among those that fill a multiprocessor best.
#[allow(clippy::too_many_arguments, reason = "a C function")]
fn potential_block_with_flags(
    call: &Call,
    grid: Out<c_int>,
    block: Out<c_int>,
    handle: CUfunction,
    shared_of: CUoccupancyB2DSize,
    shared: usize,
    limit: c_int,
    flags: c_uint,
) -> Outcome {
    let function = function(call, handle)?;
    let (grid, block) = (grid.required()?, block.required()?);
    let limit = u32::try_from(limit).ok().filter(|_| flags <= 1).ok_or(INVALID_VALUE)?;
    let largest = match limit {
        0 => function.max_threads(),
        limit => limit.min(function.max_threads()),
    };
    let machine = function.machine();
    // SAFETY: by C7 the function is of the declared type and may be called, as often as there are block sizes, until the call returns; it takes a
    // number and does not unwind.
    let shared = |threads: u32| shared_of.map_or(shared, |of| unsafe { of(threads as c_int) });
    let mut best = (0, 0, 0);
    // Smaller than a warp only if that is the limit.
    let sizes = (1..=largest / 32).rev().map(|warps| warps * 32);
    for threads in sizes.chain((largest < 32).then_some(largest)) {
        let blocks = function.blocks_per_multiprocessor(threads, shared(threads));
        if blocks * threads > best.0 {
            best = (blocks * threads, blocks, threads);
        }
        if best.0 == machine.threads {
            break;
        }
    }
    grid.set((best.1 * function.context.architecture().model().multiprocessors) as c_int);
    block.set(best.2 as c_int);
    Ok(())
}

/// The dynamic shared memory that each of `blocks` blocks on a multiprocessor can have, within the function's limit.
fn available_shared(
    call: &Call,
    bytes: Out<usize>,
    handle: CUfunction,
    blocks: c_int,
    threads: c_int,
) -> Outcome {
    let function = function(call, handle)?;
    let place = bytes.required()?;
    let positive = |number| u32::try_from(number).ok().filter(|number| *number > 0).ok_or(INVALID_VALUE);
    let (blocks, threads) = (positive(blocks)?, positive(threads)?);
    if function.blocks_per_multiprocessor(threads, 0) < blocks {
        return Err(INVALID_VALUE);
    }
    let (machine, unit) = (function.machine(), function.machine().shared_unit());
    let share = machine.shared / blocks / unit * unit;
    let free = share.saturating_sub(function.kernel.static_shared);
    place.set(free.min(function.settings().dynamic_shared) as usize);
    Ok(())
}

/// The largest cluster that fits.
fn potential_cluster(
    call: &Call,
    size: Out<c_int>,
    handle: CUfunction,
    config: In<CUlaunchConfig>,
) -> Outcome {
    let function = function(call, handle)?;
    let (place, config) = (size.required()?, config.read()?);
    let threads = config.blockDimX.saturating_mul(config.blockDimY).saturating_mul(config.blockDimZ);
    let fits = function.blocks_per_multiprocessor(threads, config.sharedMemBytes as usize) > 0;
    let largest = function.context.architecture().model().largest_cluster;
    if largest == 0 {
        logs::because(no_clusters(&function));
        return Err(CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE);
    }
    let most = if function.settings().non_portable { largest } else { PORTABLE_CLUSTER };
    place.set(if fits { most as c_int } else { 0 });
    Ok(())
}

/// Blocks of a multiprocessor that belong to clusters.
const CLUSTERED_BLOCKS: u32 = 8;

fn active_clusters(
    call: &Call,
    clusters: Out<c_int>,
    handle: CUfunction,
    config: In<CUlaunchConfig>,
) -> Outcome {
    let function = function(call, handle)?;
    let (place, config) = (clusters.required()?, config.read()?);
    let request = Request::read(call, &config)?;
    let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
    let Some(cluster) = request.cluster(&function, grid)? else {
        place.set(0);
        return Ok(());
    };
    let size: u32 = cluster.iter().fold(1, |all: u32, extent| all.saturating_mul(*extent));
    let threads = config.blockDimX.saturating_mul(config.blockDimY).saturating_mul(config.blockDimZ);
    let blocks =
        function.blocks_per_multiprocessor(threads, config.sharedMemBytes as usize).min(CLUSTERED_BLOCKS);
    let whole = |multiprocessors: &u32| multiprocessors - multiprocessors % size.min(4);
    let model = function.context.architecture().model();
    let count: u32 = model.processing_clusters.iter().map(|gpc| whole(gpc) * blocks / size).sum();
    place.set(count as c_int);
    Ok(())
}
