//! A block, or the blocks of a cluster, while they run; and which of its warps a thread belongs to.

use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

use super::super::env::{Block, Env};
use super::super::exec::memory::Region;
use super::clock::Clock;
use super::foreign::Foreign;
use super::stamp::Shadow;
use crate::memory::Written;

/// A warp of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WarpId {
    /// Its unit.
    pub(super) unit: u32,
    /// Its number there.
    pub(super) warp: usize,
}

/// What is known of a unit.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) clock: Clock,
    /// Who accessed shared memory.
    pub(super) shared: Shadow,
    /// The mbarriers that were made and not given up, by the host's address.
    pub(super) mbarriers: FxHashSet<u64>,
    /// Warps that have arrived at the barrier of the cluster, and whether all their lanes did so without a release.
    pub(super) arrivals: BTreeMap<usize, bool>,
    /// Accesses to the shared memory of other blocks.
    pub(super) foreign: Foreign,
    /// Which shared memory was written: by the host's address of each block's.
    written: Vec<(usize, Written)>,
}

impl Unit {
    pub(super) fn new(env: &Env<'_>) -> Unit {
        Unit {
            clock: Clock::new(warps(env)),
            shared: Shadow::default(),
            mbarriers: FxHashSet::default(),
            arrivals: BTreeMap::new(),
            foreign: Foreign::default(),
            written: Vec::new(),
        }
    }

    /// Which bytes were written, and which of them is the first of a region, to which the address belongs; `None` where nothing is
    /// tracked.
    pub(super) fn written<'u>(
        &'u mut self,
        env: &'u Env<'_>,
        region: Region,
        address: u64,
    ) -> Option<(&'u Written, u64)> {
        if !region.private {
            if let Some(block) = env.memory.block(address) {
                return block.written;
            }
            let snapshot = &env.snapshot;
            return Some((snapshot.get(snapshot.find(address)?)?.written()?, 0));
        }
        let host = region.host.addr();
        let index = match self.written.iter().position(|(known, _)| *known == host) {
            Some(index) => index,
            None => {
                self.written.push((host, Written::new(region.len)?));
                self.written.len() - 1
            }
        };
        self.written.get(index).map(|(_, written)| (written, 0))
    }
}

impl WarpId {
    /// A warp of a block.
    pub(super) fn of(env: &Env<'_>, block: &Block, warp: u32) -> WarpId {
        let index = match env.cluster {
            [1, 1, 1] => block.linear,
            size => {
                let [x, y, z] = [0, 1, 2].map(|axis: usize| u64::from(block.id[axis] / size[axis]));
                let [across, down] = Shape::of(env).clusters();
                x + across * (y + down * z)
            }
        };
        WarpId { unit: number(env, index), warp: block.rank as usize * warps_of_block(env) + warp as usize }
    }

    /// Its block, and the thread of that lane there.
    pub(super) fn thread(self, shape: &Shape, lane: u8) -> ([u32; 3], [u32; 3]) {
        let (size, [width, height, _]) = (shape.cluster, shape.block);
        let [across, down] = shape.clusters().map(|count| count as u32);
        let index = self.unit.wrapping_sub(1).wrapping_sub(shape.before);
        let origin = [index % across, index / across % down, index / across / down];
        let per_block = shape.warps_of_block();
        let rank = (self.warp / per_block) as u32;
        let within = [rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]];
        let block =
            [0, 1, 2].map(|axis: usize| origin[axis].wrapping_mul(size[axis]).wrapping_add(within[axis]));
        let linear = (self.warp % per_block) as u32 * 32 + u32::from(lane);
        (block, [linear % width, linear / width % height, linear / width / height])
    }
}

/// The blocks of a grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    /// Units of grids before it have numbers up to this.
    pub(super) before: u32,
}

impl Shape {
    pub(super) fn of(env: &Env<'_>) -> Shape {
        let before = env.runtime.map_or(0, |runtime| runtime.blocks_before);
        Shape { grid: env.launch.grid, block: env.launch.block, cluster: env.cluster, before }
    }

    fn warps_of_block(&self) -> usize {
        self.block.iter().product::<u32>().div_ceil(32).max(1) as usize
    }

    /// Clusters in the grid, across and down.
    fn clusters(&self) -> [u64; 2] {
        [0, 1].map(|axis: usize| u64::from(self.grid[axis] / self.cluster[axis]).max(1))
    }
}

/// The number by which a unit is remembered: above those of the grids that ran before for the same launch of the host.
pub(super) fn number(env: &Env<'_>, index: u64) -> u32 {
    // Grids of more than 4 billion blocks end after us.
    (index as u32).wrapping_add(Shape::of(env).before).wrapping_add(1)
}

/// Warps of a unit.
pub(super) fn warps(env: &Env<'_>) -> usize {
    env.cluster.iter().product::<u32>() as usize * warps_of_block(env)
}

pub(super) fn warps_of_block(env: &Env<'_>) -> usize {
    Shape::of(env).warps_of_block()
}
