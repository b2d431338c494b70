//! The blocks that a kernel can be launched with.

use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::function::Function;

/// Most blocks in each dimension of a grid.
pub(super) const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// Whether each extent is from 1 to its limit.
pub(super) fn within(extents: [u32; 3], limits: [u32; 3]) -> bool {
    extents.iter().zip(limits).all(|(extent, limit)| (1..=limit).contains(extent))
}

/// The grid as the kernel sees it, which counts clusters where the kernel says so.
pub(in crate::driver) fn grid_of(function: &Function, mut grid: [u32; 3]) -> Outcome<[u32; 3]> {
    if !within(grid, GRID) {
        return Err(INVALID_VALUE);
    }
    if let (true, Some(cluster)) = (function.shape.blocks_are_clusters, function.shape.cluster) {
        for (extent, factor) in grid.iter_mut().zip(cluster) {
            *extent = extent.checked_mul(factor).ok_or(INVALID_VALUE)?;
        }
    }
    Ok(grid)
}

/// Most blocks of that kernel that are resident at once.
pub(in crate::driver) fn most_resident(function: &Function, threads: u32, shared: u32) -> u64 {
    let multiprocessors = function.context.architecture().model().multiprocessors;
    u64::from(function.blocks_per_multiprocessor(threads, shared as usize) * multiprocessors)
}
