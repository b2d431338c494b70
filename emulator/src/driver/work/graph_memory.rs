//! How much memory the launches of a graph need, as an H200 counts it: in units of 32 MiB, from the first launch until `cuDeviceGraphMemTrim`.

use cuda_driver_sys::CUdevice;
use std::collections::BTreeMap;

use super::memory::Alloc;

/// What memory is counted in.
const UNIT: u64 = 32 << 20;
/// What allocations are aligned to.
const ALIGNMENT: u64 = 512;

/// Bytes in use and bytes reserved: now, and at most since that was reset.
#[derive(Default)]
pub(in crate::driver) struct Counts {
    pub(in crate::driver) current: [u64; 2],
    pub(in crate::driver) high: [u64; 2],
}

impl Counts {
    /// At least so much is taken from now on.
    pub(super) fn grow(&mut self, need: [u64; 2]) {
        for ((current, high), need) in self.current.iter_mut().zip(&mut self.high).zip(need) {
            *current = need.max(*current);
            *high = (*high).max(*current);
        }
    }
}

/// The sum of two such pairs.
pub(super) fn sum(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    [0, 1].map(|at: usize| one[at] + other[at])
}

/// What a launch needs of each device.
#[derive(Default)]
pub(in crate::driver) struct Footprint(BTreeMap<CUdevice, Layout>);

/// The allocations of a graph, one behind the other where none fits into what was freed before.
#[derive(Default)]
struct Layout {
    /// Where each of them is, by its address, and how long.
    placed: BTreeMap<u64, (u64, u64)>,
    /// What was freed: its start and its length.
    free: Vec<(u64, u64)>,
    end: u64,
    used: u64,
    reserved: u64,
}

impl Footprint {
    /// The graph allocates that.
    pub(in crate::driver) fn allocate(&mut self, alloc: &Alloc) {
        let (bytes, device) = alloc.size();
        self.0.entry(device).or_default().allocate(alloc.address(), bytes);
    }

    /// The graph frees what it has at an address.
    pub(in crate::driver) fn free(&mut self, address: u64) {
        self.0.values_mut().for_each(|layout| layout.free(address));
    }

    pub(super) fn devices(&self) -> impl Iterator<Item = CUdevice> {
        self.0.keys().copied()
    }

    /// Bytes in use and bytes reserved.
    pub(super) fn of(&self, device: CUdevice) -> [u64; 2] {
        self.0.get(&device).map_or([0; 2], |layout| [layout.used, layout.reserved])
    }
}

impl Layout {
    fn allocate(&mut self, address: u64, bytes: u64) {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        let start = match self.free.iter_mut().find(|(_, room)| *room >= bytes) {
            Some(free) => {
                let start = free.0;
                *free = (free.0 + bytes, free.1 - bytes);
                start
            }
            None => self.end,
        };
        self.end = self.end.max(start + bytes);
        self.placed.insert(address, (start, bytes));
        // What does not fit into the units that are there gets units of its own, though it begins in one of the others.
        if self.end > self.used {
            self.used = self.end.next_multiple_of(UNIT);
            self.reserved += bytes.next_multiple_of(UNIT);
        }
    }

    fn free(&mut self, address: u64) {
        self.free.extend(self.placed.remove(&address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Units in use and reserved, after two allocations: the first is freed before the second or after it.
    fn units(first: u64, second: u64, in_turn: bool) -> [u64; 2] {
        let mut layout = Layout::default();
        layout.allocate(1, first);
        if in_turn {
            layout.free(1);
        }
        layout.allocate(2, second);
        [layout.used / UNIT, layout.reserved / UNIT]
    }

    /// What an H200 with driver 580 answered on 2026-11-29.
    #[test]
    fn an_h200_counts_so() {
        for (first, second, together, in_turn) in [
            (1, 1, [1, 1], [1, 1]),
            (10 * MIB, 10 * MIB, [1, 1], [1, 1]),
            (20 * MIB, 20 * MIB, [2, 2], [1, 1]),
            (20 * MIB, 40 * MIB, [2, 3], [2, 3]),
            (33 * MIB, 33 * MIB, [3, 4], [2, 2]),
            (1, 100 * MIB, [4, 5], [4, 5]),
        ] {
            assert_eq!(units(first, second, false), together, "{first} and {second}");
            assert_eq!(units(first, second, true), in_turn, "{first}, then {second}");
        }
    }

    #[test]
    fn parts_of_what_was_freed_are_used_again() {
        let mut layout = Layout::default();
        layout.allocate(1, 32 * MIB);
        layout.free(1);
        layout.allocate(2, 10 * MIB);
        layout.allocate(3, 22 * MIB);
        assert_eq!((layout.used, layout.reserved), (UNIT, UNIT));
        layout.allocate(4, 1);
        assert_eq!((layout.used, layout.reserved), (2 * UNIT, 2 * UNIT));
    }
}
