//! Where and when a kernel accesses its allocations.

/// Rows and columns of a map.
const SIDE: usize = 64;
/// The number of allocations that are reported per kernel: the first ones that it accesses.
const MOST: usize = 64;

/// Sectors of an allocation that a kernel accessed, by block. Both maps have 64 rows: the row of a block is its linear number, times 64,
/// divided by the number of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocationProfile {
    /// The address of its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Instructions that a warp executes, or waits at barriers, during one column of `by_time`: a power of two.
    pub column_time: u64,
    /// Sectors that were accessed, by row and then by time, counted from the start of the accessing block: 64 columns.
    pub by_time: Vec<u64>,
    /// Sectors that were accessed, by row and then by place: 64 columns, each of a 64th of the allocation.
    pub by_place: Vec<u64>,
}

impl AllocationProfile {
    /// Rows and columns of both maps.
    pub const SIDE: usize = SIDE;

    fn new(address: u64, bytes: u64) -> AllocationProfile {
        let cells = || vec![0; SIDE * SIDE];
        AllocationProfile { address, bytes, column_time: 1, by_time: cells(), by_place: cells() }
    }

    /// Records that a warp of the block in that row accesses a sector, `offset` bytes after the start.
    fn count(&mut self, row: usize, time: u64, offset: u64) {
        while time / self.column_time >= SIDE as u64 {
            self.fold();
        }
        let place = u128::from(offset) * SIDE as u128 / u128::from(self.bytes.max(1));
        let columns = [(time / self.column_time) as usize, (place as usize).min(SIDE - 1)];
        for (cells, column) in [&mut self.by_time, &mut self.by_place].into_iter().zip(columns) {
            if let Some(cell) = cells.get_mut(row * SIDE + column) {
                *cell += 1;
            }
        }
    }

    /// Makes each column as long as two were.
    fn fold(&mut self) {
        self.column_time *= 2;
        for row in self.by_time.chunks_exact_mut(SIDE) {
            let halves: Vec<u64> = row.chunks_exact(2).map(|pair| pair.iter().sum()).collect();
            row.fill(0);
            row.iter_mut().zip(halves).for_each(|(cell, sum)| *cell = sum);
        }
    }

    fn merge(&mut self, mut other: AllocationProfile) {
        while self.column_time < other.column_time {
            self.fold();
        }
        while other.column_time < self.column_time {
            other.fold();
        }
        let cells = self.by_time.iter_mut().chain(&mut self.by_place);
        cells.zip(other.by_time.iter().chain(&other.by_place)).for_each(|(cell, more)| *cell += more);
    }
}

/// The allocations of a kernel.
#[derive(Default)]
pub(crate) struct Heat(Vec<AllocationProfile>);

impl Heat {
    /// A warp of that block, of so many, accesses a sector of an allocation of `bytes` bytes at `address`.
    pub(crate) fn count(
        &mut self,
        (address, bytes): (u64, u64),
        offset: u64,
        time: u64,
        (block, blocks): (u64, u64),
    ) {
        let known = self.0.iter().position(|known| (known.address, known.bytes) == (address, bytes));
        let index = known.unwrap_or(self.0.len());
        if index == self.0.len() {
            if index == MOST {
                return;
            }
            self.0.push(AllocationProfile::new(address, bytes));
        }
        let row = u128::from(block) * SIDE as u128 / u128::from(blocks.max(1));
        if let Some(allocation) = self.0.get_mut(index) {
            allocation.count(row as usize, time, offset);
        }
    }

    pub(crate) fn into_allocations(self) -> Vec<AllocationProfile> {
        self.0
    }
}

/// Adds what another launch, or another worker, did.
pub(super) fn merge(all: &mut Vec<AllocationProfile>, new: Vec<AllocationProfile>) {
    for allocation in new {
        let same = |known: &&mut AllocationProfile| {
            (known.address, known.bytes) == (allocation.address, allocation.bytes)
        };
        if let Some(known) = all.iter_mut().find(same) {
            known.merge(allocation);
        } else if all.len() < MOST {
            all.push(allocation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_grow_with_the_time_and_keep_what_they_hold() {
        let mut heat = Heat::default();
        for time in [1, 63, 64, 1000] {
            heat.count((4096, 640), 320, time, (3, 4));
        }
        let mut all = heat.into_allocations();
        let row = |cells: &[u64]| cells[3 * 16 * SIDE..][..SIDE].to_vec();
        assert_eq!(all[0].column_time, 16);
        assert_eq!((row(&all[0].by_time)[..5].to_vec(), row(&all[0].by_time)[62]), (vec![1, 0, 0, 1, 1], 1));
        assert_eq!(row(&all[0].by_place)[32], 4);
        let mut other = Heat::default();
        other.count((4096, 640), 0, 1, (0, 1));
        other.count((0, 4), 0, 1, (0, 1));
        merge(&mut all, other.into_allocations());
        assert_eq!((all.len(), all[0].column_time, all[0].by_time[0]), (2, 16, 1));
        assert_eq!(all[0].by_time.iter().sum::<u64>(), 5);
        // One that lasts longer, and one of another size at the same address.
        let mut long = Heat::default();
        long.count((4096, 640), 639, 2048, (0, 1));
        long.count((4096, 320), 319, 0, (0, 1));
        merge(&mut all, long.into_allocations());
        assert_eq!((all.len(), all[0].column_time, all[2].bytes), (3, 64, 320));
        assert_eq!(
            (all[0].by_time[0], all[0].by_time[32], all[0].by_place[63], all[2].by_place[63]),
            (1, 1, 1, 1)
        );
        assert_eq!([0, 1, 15].map(|column| row(&all[0].by_time)[column]), [2, 1, 1]);
    }
}
