//! Records the writes of a launch, so that it can be run again from the same memory and the results can be compared.
#![allow(unsafe_code)]
// Relies on: the memory of a region is valid while the threads that can access it run (the head of `exec::memory::region`). Only
// memory that does not belong to a block is recorded, which is valid while the launch runs.

use std::collections::BTreeMap;

use super::super::exec::memory::Region;
use crate::memory::{Memory, Snapshot, access};
use crate::schedule::DifferentBytes;

/// Bytes that are kept together.
const CELL: usize = 64;
/// Words of a cell.
const WORDS: usize = CELL / 4;

/// Bytes that the launch has written in any order, with their original values.
#[derive(Default)]
pub(in crate::engine) struct Undo {
    /// By the host's address of the region, since two of them may have bytes in one cell, and that of the cell, divided by its size.
    cells: BTreeMap<(u64, u64), Cell>,
    /// Whether the ordinary order has ended.
    compares: bool,
    /// When the launch starts, in nanoseconds of `%globaltimer`.
    start: u64,
}

struct Cell {
    region: Region,
    /// Bytes between the region's start and that of the cell: negative where it starts before.
    offset: i64,
    /// The bytes that were written.
    written: u64,
    /// The bytes of these that the ordinary order wrote.
    by_first: u64,
    /// The bytes that counted as written before.
    known: u64,
    before: [u8; CELL],
    /// After the ordinary order.
    first: [u8; CELL],
    /// Lines that wrote a word last: in the ordinary order, and in the one that runs.
    lines: [[u32; WORDS]; 2],
}

impl Cell {
    fn new(region: Region, offset: i64) -> Cell {
        let (before, first) = ([0; CELL], [0; CELL]);
        Cell { region, offset, written: 0, by_first: 0, known: 0, before, first, lines: [[0; WORDS]; 2] }
    }

    /// Records bytes that are about to be written for the first time.
    fn add(&mut self, snapshot: &Snapshot, new: u64) {
        self.written |= new;
        let now = self.load();
        for at in (0..CELL).filter(|at| new & 1 << at != 0) {
            (self.before[at], self.first[at]) = (now[at], now[at]);
            if is_written(snapshot, self.address() + at as u64) {
                self.known |= 1 << at;
            }
        }
    }

    fn byte(&self, at: usize) -> *mut u8 {
        self.region.host.wrapping_offset(self.offset as isize + at as isize)
    }

    /// The current values of the written bytes.
    fn load(&self) -> [u8; CELL] {
        let mut bytes = [0; CELL];
        if self.written == u64::MAX {
            // SAFETY: 1, 2: all bytes of the cell are recorded as written, now or soon: each was found inside the
            // memory that starts at `region.host` (`note` separates other regions), which the snapshot keeps while
            // the launch runs, and which is used as the head of `access` says.
            unsafe { access::load(self.byte(0), &mut bytes) };
            return bytes;
        }
        for (at, byte) in bytes.iter_mut().enumerate().filter(|(at, _)| self.written & 1 << at != 0) {
            // SAFETY: 1, 2: a recorded byte: in memory of the region, valid and used as for all of them above.
            unsafe { access::load(self.byte(at), std::slice::from_mut(byte)) };
        }
        bytes
    }

    fn store(&self, bytes: &[u8; CELL]) {
        if self.written == u64::MAX {
            // SAFETY: 1, 2: all bytes of the cell are noted, and so are in memory of the region, there and used as
            // `load` says.
            unsafe { access::write(self.byte(0), access::bytes(bytes)) };
            return;
        }
        for (at, byte) in bytes.iter().enumerate().filter(|(at, _)| self.written & 1 << at != 0) {
            // SAFETY: 1, 2: a byte that is noted: in memory of the region, there and used as `load` says.
            unsafe { access::write(self.byte(at), access::bytes(std::slice::from_ref(byte))) };
        }
    }

    fn address(&self) -> u64 {
        self.region.base.wrapping_add_signed(self.offset)
    }
}

impl Undo {
    /// For a launch that starts at that time, in nanoseconds of `%globaltimer`.
    pub(super) fn at(start: u64) -> Undo {
        Undo { start, ..Undo::default() }
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// A lane is about to write.
    pub(super) fn note(
        &mut self,
        snapshot: &Snapshot,
        region: Region,
        (address, bytes): (u64, u64),
        line: u32,
    ) {
        let side = usize::from(self.compares);
        let start = region.host.addr() as u64;
        let mut host = start + (address - region.base);
        let end = host + bytes;
        while host < end {
            let first = host % CELL as u64;
            let next = (host - first + CELL as u64).min(end);
            // Behind the region's start by so much; the cell may begin before it.
            let offset = (host - start) as i64 - first as i64;
            let place = (start, host / CELL as u64);
            let cell = self.cells.entry(place).or_insert_with(|| Cell::new(region, offset));
            // Of a cell one to all are written; a bulk copy writes many cells.
            let bytes = (u64::MAX >> (CELL as u64 - (next - host))) << first;
            (first / 4..(next - host + first).div_ceil(4))
                .for_each(|word| cell.lines[side][word as usize] = line);
            let new = bytes & !cell.written;
            if new != 0 {
                cell.add(snapshot, new);
            }
            host = next;
        }
    }

    /// Called at the end of the ordinary order: keeps the current contents for comparison with others, and then restores the
    /// memory from before the launch.
    pub(super) fn end_first(&mut self, memory: &Memory, snapshot: &Snapshot) {
        for cell in self.cells.values_mut() {
            (cell.first, cell.by_first) = (cell.load(), cell.written);
        }
        self.compares = true;
        self.rewind(memory, snapshot);
    }

    /// Returns the differences from the ordinary order, and restores the memory from before the launch.
    pub(super) fn rewind(&mut self, memory: &Memory, snapshot: &Snapshot) -> Option<DifferentBytes> {
        let mut found: Option<DifferentBytes> = None;
        let mut count = 0;
        for cell in self.cells.values_mut() {
            let now = cell.load();
            let mut different = (0..CELL).filter(|at| now[*at] != cell.first[*at]);
            if let Some(at) = different.next() {
                count += 1 + different.count() as u64;
                let address = cell.address() + (at & !3) as u64;
                // The cells are in the order of host addresses, which differ in each run.
                if found.as_ref().is_none_or(|known| address < known.address) {
                    found = Some(DifferentBytes {
                        count: 0,
                        address,
                        place: memory.describe(cell.address() + at as u64, 1),
                        contents: [cell.first, now].map(|bytes| {
                            bytes.get(at & !3..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default()
                        }),
                        ptx_lines: cell.lines.map(|lines| lines.get(at / 4).copied().unwrap_or(0)),
                    });
                }
            }
            cell.store(&cell.before);
            cell.lines[1] = [0; WORDS];
            mark(snapshot, cell, cell.known);
        }
        found.map(|found| DifferentBytes { count, ..found })
    }

    /// Memory is as the ordinary order left it.
    pub(super) fn settle(&mut self, snapshot: &Snapshot) {
        for cell in self.cells.values() {
            cell.store(&cell.first);
            mark(snapshot, cell, cell.known | cell.by_first);
        }
    }
}

/// Whether a byte counts as written; true if that is not tracked.
fn is_written(snapshot: &Snapshot, address: u64) -> bool {
    let allocation = snapshot.find(address).and_then(|index| snapshot.get(index));
    let Some(allocation) = allocation else { return true };
    allocation.written().is_none_or(|written| written.covers(address - allocation.base(), 1))
}

/// Of the bytes that the launch wrote, these count as written.
fn mark(snapshot: &Snapshot, cell: &Cell, known: u64) {
    let missing = cell.written & !known;
    if missing == 0 && cell.known == cell.written {
        return;
    }
    for at in (0..CELL).filter(|at| cell.written & 1 << at != 0) {
        let address = cell.address() + at as u64;
        let allocation = snapshot.find(address).and_then(|index| snapshot.get(index));
        let Some((allocation, written)) =
            allocation.and_then(|allocation| Some((allocation, allocation.written()?)))
        else {
            return;
        };
        let offset = address - allocation.base();
        if known & 1 << at != 0 { written.mark(offset, 1) } else { written.forget(offset, 1) }
    }
}
