//! Bulk copies: the bytes that one instruction of one thread moves, piece by piece.

use std::collections::{BTreeMap, BTreeSet};

use super::super::exec::lanes::Lanes;
use super::super::exec::memory::Region;
use super::{Profile, SECTOR, blocks};

/// The bytes that an instruction moves.
#[derive(Default)]
pub(super) struct Bulk {
    /// When it began.
    time: u64,
    /// For global memory, by lane: the distinct sectors, and the bytes of all pieces.
    global: BTreeMap<usize, (BTreeSet<u64>, u64)>,
    /// Bytes of shared memory.
    shared: u64,
}

impl Bulk {
    /// An instruction is about to run.
    pub(super) fn begin(&mut self, time: u64) {
        self.time = time;
    }
}

impl Profile {
    /// A bulk copy reads or writes a piece of memory, which was found to be there: a whole copy, or a row of a tensor's box.
    pub(in crate::engine) fn piece(
        &mut self,
        lanes: &Lanes<'_>,
        lane: usize,
        region: Region,
        (address, bytes): (u64, u64),
    ) {
        if region.private {
            self.bulk.shared += bytes;
            return;
        }
        let (block, blocks) = (lanes.block().linear, blocks(lanes.env));
        let (sectors, moved) = self.bulk.global.entry(lane).or_default();
        *moved += bytes;
        for sector in address / SECTOR..(address + bytes).div_ceil(SECTOR) {
            if sectors.insert(sector) {
                let start = (sector * SECTOR).saturating_sub(region.base);
                self.heat.count((region.base, region.len), start, self.bulk.time, (block, blocks));
            }
        }
    }

    /// The instruction has run.
    pub(super) fn end_bulk(&mut self, place: (usize, usize)) {
        if self.bulk.global.is_empty() && self.bulk.shared == 0 {
            return;
        }
        let (global, shared) = (std::mem::take(&mut self.bulk.global), std::mem::take(&mut self.bulk.shared));
        let Some(counts) = self.counts(place) else { return };
        counts.shared_bytes += shared;
        for (sectors, bytes) in global.into_values() {
            let touched = sectors.len() as u64;
            counts.global_requests += 1;
            counts.global_sectors += touched;
            // Pieces of one box may overlap.
            counts.global_sectors_ideal += bytes.div_ceil(SECTOR).min(touched);
            counts.global_bytes += bytes;
        }
    }
}
