//! Who accessed which bytes last.

use rustc_hash::FxHashMap;

/// An access that is remembered. Unit 0 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Number of the block, or of the cluster, in the grid, and one.
    pub(super) unit: u32,
    /// Epoch of the warp; of work that continues after its instruction the number of its completion.
    pub(super) epoch: u32,
    /// Site of the instruction.
    pub(super) site: u32,
    /// Number of the warp in the unit.
    pub(super) warp: u16,
    /// Lane in the warp.
    pub(super) lane: u8,
    /// In which way.
    pub(super) how: How,
}

/// In which way an access is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum How {
    /// By an ordinary load or store.
    #[default]
    Plain,
    /// The same, of a store that leaves what is there.
    Silent,
    /// Atomic, volatile or relaxed: two such accesses are no race.
    Strong,
    /// The same with the scope of a block: they may be one with those of another block.
    StrongInBlock,
    /// By a copy that continues after its instruction.
    Copied,
    /// The same, a number at once.
    CopiedAtomic,
    /// As `Copied` in the async proxy: what it reads has to be made visible to that.
    Bulk,
    /// The same, each number at once.
    BulkAtomic,
}

impl How {
    /// Whether it continues after its instruction.
    pub(super) fn is_asynchronous(self) -> bool {
        matches!(self, How::Copied | How::CopiedAtomic | How::Bulk | How::BulkAtomic)
    }

    /// Whether it is made in the async proxy.
    pub(super) fn is_in_proxy(self) -> bool {
        matches!(self, How::Bulk | How::BulkAtomic)
    }

    /// Whether two such accesses are no race.
    pub(super) fn is_strong(self) -> bool {
        matches!(self, How::Strong | How::StrongInBlock | How::CopiedAtomic | How::BulkAtomic)
    }
}

impl Stamp {
    fn is_some(&self) -> bool {
        self.unit != 0
    }

    /// Whether both are by one thread itself, or both by its copies.
    fn is_by(&self, other: &Stamp) -> bool {
        !self.is_other(other) && self.how.is_asynchronous() == other.how.is_asynchronous()
    }

    /// Whether they are of two threads.
    pub(super) fn is_other(&self, other: &Stamp) -> bool {
        (self.unit, self.warp, self.lane) != (other.unit, other.warp, other.lane)
    }

    /// Whether each is in the scope of the other.
    fn is_in_scope(&self, other: &Stamp) -> bool {
        self.unit == other.unit || ![self.how, other.how].contains(&How::StrongInBlock)
    }

    /// Whether a thread did it itself before this one, which is the same thread's.
    fn is_before(&self, other: &Stamp) -> bool {
        !self.is_other(other) && !self.how.is_asynchronous()
    }
}

/// The last write of some bytes, and the last reads by two threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    write: Stamp,
    reads: [Stamp; 2],
}

impl Cell {
    /// The accesses that may conflict with one by `stamp`, which writes or does not.
    pub(super) fn others(&self, stamp: Stamp, writes: bool) -> impl Iterator<Item = Stamp> {
        let [first, second] = self.reads;
        let reads = if writes { [first, second] } else { [Stamp::default(); 2] };
        let all = [self.write, reads[0], reads[1]].into_iter();
        let both_strong =
            move |other: &Stamp| other.how.is_strong() && stamp.how.is_strong() && stamp.is_in_scope(other);
        all.filter(move |other| other.is_some() && !other.is_before(&stamp) && !both_strong(other))
    }

    /// The last write, if a thread made it by itself. After `cp.async` CUTLASS and Triton do without a fence.
    pub(super) fn generic_write(&self) -> Option<Stamp> {
        Some(self.write).filter(|write| write.is_some() && !write.how.is_asynchronous())
    }

    /// The site of a plain read by the same thread, if that is one of the last.
    pub(super) fn plain_read_by(&self, stamp: &Stamp) -> Option<u32> {
        let mine = |read: &&Stamp| read.is_some() && read.is_by(stamp) && !read.how.is_strong();
        self.reads.iter().find(mine).map(|read| read.site)
    }

    /// The last write.
    pub(super) fn write(&self) -> Option<&Stamp> {
        Some(&self.write).filter(|write| write.is_some())
    }

    /// The last reads, by two threads at most.
    pub(super) fn reads(&self) -> impl Iterator<Item = &Stamp> {
        self.reads.iter().filter(|read| read.is_some())
    }

    /// Remembers an access.
    pub(super) fn record(&mut self, stamp: Stamp, writes: bool) {
        if writes {
            let was_silent = !self.write.is_some() || self.write.how == How::Silent;
            let is_silent = stamp.how == How::Silent;
            let how = if is_silent && !was_silent { How::Plain } else { stamp.how };
            self.write = Stamp { how, ..stamp };
        } else {
            if !self.reads[0].is_by(&stamp) {
                self.reads[1] = self.reads[0];
            }
            self.reads[0] = stamp;
        }
    }
}

/// Bytes of a page.
pub(super) const PAGE: u64 = 1024;
/// Cells that are kept, of 48 bytes each; accesses that would need more are not checked.
const MOST: usize = 1 << 24;

/// Cells of bytes by host address: one for each word, until somebody accesses less.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    /// Where the page of a number is.
    places: FxHashMap<u64, usize>,
    pages: Vec<Page>,
    /// The number and the place that were asked for last: neighbours are accessed together.
    last: Option<(u64, usize)>,
    cells: usize,
    full: bool,
}

#[derive(Debug)]
struct Page {
    cells: Box<[Cell]>,
    /// Bytes of a cell: 4 or 1.
    grain: u64,
}

impl Shadow {
    /// The cells of `bytes` bytes at `address`, which lie in one page as they are aligned.
    pub(super) fn cells(&mut self, address: u64, bytes: u64) -> &mut [Cell] {
        let number = address / PAGE;
        let known = self.place(number);
        let grain = known.and_then(|place| self.pages.get(place)).map(|page| page.grain);
        if grain.is_none_or(|grain| bytes < grain) {
            self.cells += PAGE as usize / if grain.is_some() { 1 } else { 4 };
            self.full |= self.cells > MOST;
        }
        if self.full && grain.is_none_or(|grain| bytes < grain) {
            return &mut [];
        }
        let place = known.unwrap_or(self.pages.len());
        if known.is_none() {
            self.pages.push(Page::new());
            self.places.insert(number, place);
        }
        self.last = Some((number, place));
        let Some(page) = self.pages.get_mut(place) else { return &mut [] };
        if bytes < page.grain {
            page.split();
        }
        let (start, count) = (address % PAGE / page.grain, bytes / page.grain);
        page.cells.get_mut(start as usize..(start + count) as usize).unwrap_or(&mut [])
    }

    fn place(&self, number: u64) -> Option<usize> {
        match self.last {
            Some((last, place)) if last == number => Some(place),
            _ => self.places.get(&number).copied(),
        }
    }

    /// Nobody has accessed these bytes, of which the first is at a multiple of 16.
    pub(super) fn forget(&mut self, address: u64, bytes: u64) {
        let end = address + bytes;
        let mut at = address;
        while at < end {
            let next = (at / PAGE + 1).saturating_mul(PAGE).min(end);
            if let Some(page) = self.place(at / PAGE).and_then(|place| self.pages.get_mut(place)) {
                let (start, end) = (at % PAGE / page.grain, (at % PAGE + (next - at)).div_ceil(page.grain));
                let cells = page.cells.get_mut(start as usize..end as usize);
                cells.into_iter().flatten().for_each(|cell| *cell = Cell::default());
            }
            at = next;
        }
    }

    /// The cells in the order of their addresses, each with that and its bytes.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, u64, &Cell)> {
        let mut places: Vec<(u64, usize)> =
            self.places.iter().map(|(number, place)| (*number, *place)).collect();
        places.sort_unstable();
        places.into_iter().filter_map(|(number, place)| Some((number, self.pages.get(place)?))).flat_map(
            |(number, page)| {
                let cells = page.cells.iter().enumerate();
                cells.map(move |(index, cell)| (number * PAGE + index as u64 * page.grain, page.grain, cell))
            },
        )
    }

    /// Whether accesses were not checked.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }
}

impl Page {
    fn new() -> Page {
        Page { cells: vec![Cell::default(); PAGE as usize / 4].into(), grain: 4 }
    }

    fn split(&mut self) {
        self.cells = self.cells.iter().flat_map(|cell| [*cell; 4]).collect();
        self.grain = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_word_are_told_apart() {
        let mut shadow = Shadow::default();
        let stamp = |lane| Stamp { unit: 1, lane, ..Stamp::default() };
        shadow.cells(4096, 8).iter_mut().for_each(|cell| cell.record(stamp(1), true));
        shadow.cells(4097, 1).iter_mut().for_each(|cell| cell.record(stamp(2), true));
        let writers: Vec<u8> = shadow.cells(4096, 4).iter().map(|cell| cell.write.lane).collect();
        assert_eq!(writers, [1, 2, 1, 1]);
        assert_eq!(shadow.cells(4100, 4).len(), 4);
    }

    #[test]
    fn a_writer_meets_a_reader_that_is_not_itself() {
        let mut cell = Cell::default();
        let stamp = |lane| Stamp { unit: 1, lane, ..Stamp::default() };
        [0, 1, 2, 2].into_iter().for_each(|lane| cell.record(stamp(lane), false));
        let met: Vec<u8> = cell.others(stamp(2), true).map(|other| other.lane).collect();
        assert_eq!(met, [1]);
        assert_eq!(cell.others(stamp(9), false).count(), 0);
    }
}
