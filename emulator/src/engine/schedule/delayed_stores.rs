//! Stores that were executed and are not visible yet.
#![allow(unsafe_code)]
// Relies on: what a region describes is there while the threads run that see it (the head of `exec::memory::region`).

use std::collections::{BTreeMap, BTreeSet};

use super::super::exec::memory::Region;
use super::super::watch::Touch;
use super::random::Random;
use crate::memory::access;

/// The longest access: four numbers of 64 bits.
pub(super) const LONGEST: usize = 32;

/// A warp: linear number of its block, and its own in the block.
pub(super) type WarpKey = (u64, u32);

/// Bytes of memory that threads share.
#[derive(Clone, Copy)]
pub(super) struct Place {
    region: Region,
    offset: u64,
    bytes: usize,
}

impl Place {
    pub(super) fn of(touch: &Touch) -> Place {
        Place { region: touch.region, offset: touch.address - touch.region.base, bytes: touch.bytes as usize }
    }

    fn host(&self) -> u64 {
        (self.region.host.addr() as u64).wrapping_add(self.offset)
    }

    /// The number of bytes and a readable form of their contents.
    pub(super) fn describe(&self) -> (u64, String) {
        let all = self.load();
        let contents = match all.first_chunk::<8>() {
            Some(bytes) if self.bytes <= 8 => format!(", which hold {}", u64::from_le_bytes(*bytes)),
            _ => String::new(),
        };
        (self.bytes as u64, contents)
    }

    fn meets(&self, other: &Place) -> bool {
        let (mine, other_start) = (self.host(), other.host());
        mine < other_start + other.bytes as u64 && other_start < mine + self.bytes as u64
    }

    /// The current contents.
    pub(super) fn load(&self) -> [u8; LONGEST] {
        let mut bytes = [0; LONGEST];
        let target = bytes.get_mut(..self.bytes).unwrap_or_default();
        // SAFETY: 1, 2: a touch lies inside its region, which is used as the head of `access` says. The bytes are
        // valid: global ones while the launch runs, shared ones while their group runs. Stores to shared memory become
        // visible when their threads end, at the latest (`end`), and polls are only described while their warp is
        // resident.
        unsafe { access::load(self.region.host.add(self.offset as usize), target) };
        bytes
    }

    /// Writes bytes there; returns whether any byte changed.
    pub(super) fn store(&self, bytes: &[u8; LONGEST]) -> bool {
        let changes = self.load() != *bytes;
        let source = bytes.get(..self.bytes).unwrap_or_default();
        // SAFETY: 1, 2: the bytes are there, and used by others, as `load` says; `source` is as many.
        unsafe { access::write(self.region.host.add(self.offset as usize), access::bytes(source)) };
        changes
    }
}

/// A store that its thread has done.
struct Store {
    lane: usize,
    place: Place,
    bytes: [u8; LONGEST],
    /// Whether the threads of its block see it.
    in_block: bool,
}

/// The stores of all warps that are not visible yet.
#[derive(Default)]
pub(super) struct DelayedStores {
    /// In the order of their execution.
    stores: BTreeMap<WarpKey, Vec<Store>>,
    /// The same by the host's address of their bytes, warp and lane: how many bytes, and the line of the store.
    places: BTreeMap<(u64, WarpKey, usize), (u64, u32)>,
    /// The stores that become visible by themselves, by the turn in which they do.
    due: BTreeMap<u64, Vec<(WarpKey, usize, u64)>>,
    /// Blocks with stores that are visible to their own threads but not to others.
    blocks: BTreeSet<u64>,
}

impl DelayedStores {
    /// A thread has stored that, in that line.
    pub(super) fn add(&mut self, warp: WarpKey, lane: usize, place: Place, bytes: [u8; LONGEST], line: u32) {
        self.places.insert((place.host(), warp, lane), (place.bytes as u64, line));
        self.stores.entry(warp).or_default().push(Store { lane, place, bytes, in_block: false });
    }

    /// Makes a thread's store at that place visible in that turn, at the latest.
    pub(super) fn lands_by(&mut self, turn: u64, warp: WarpKey, lane: usize, place: &Place) {
        self.due.entry(turn).or_default().push((warp, lane, place.host()));
    }

    /// Makes the stores visible that are due up to a turn; returns whether that changed memory.
    pub(super) fn due(&mut self, turn: u64) -> bool {
        let mut changed = false;
        while let Some(first) = self.due.first_entry().filter(|first| *first.key() <= turn) {
            for (warp, lane, host) in first.remove() {
                changed |= self.land(warp, |store| store.lane == lane && store.place.host() == host);
            }
        }
        changed
    }

    /// Whether everything is visible.
    pub(super) fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    /// The line of a store that a reader of that place does not see.
    pub(super) fn unseen(&self, place: &Place) -> Option<u32> {
        let (start, end) = (place.host(), place.host() + place.bytes as u64);
        let from = (start.saturating_sub(LONGEST as u64), (0, 0), 0);
        let mut near = self.places.range(from..(end, (0, 0), 0));
        near.find_map(|((host, ..), (bytes, line))| (host + bytes > start).then_some(*line))
    }

    /// Makes all stores of these threads of a warp visible, and stores of other threads of their block that they may have seen; returns
    /// whether that changed memory.
    pub(super) fn flush(&mut self, warp: WarpKey, lanes: u32) -> bool {
        let own = self.land(warp, |store| lanes & 1 << store.lane != 0);
        own | (self.blocks.remove(&warp.0) && self.land_of_block(warp.0, |_| true))
    }

    /// All that these threads of a warp stored becomes visible to their block.
    pub(super) fn flush_to_block(&mut self, warp: WarpKey, lanes: u32) -> bool {
        let of = |store: &Store| lanes & 1 << store.lane != 0;
        let changed = self.land(warp, |store| of(store) && store.place.region.private);
        for store in self.stores.get_mut(&warp).into_iter().flatten().filter(|store| of(store)) {
            store.in_block = true;
            self.blocks.insert(warp.0);
        }
        changed
    }

    /// Those of a block's stores become visible that its threads see, as far as they are chosen.
    fn land_of_block(&mut self, block: u64, chosen: impl Fn(&Store) -> bool) -> bool {
        let warps: Vec<WarpKey> =
            self.stores.range((block, 0)..=(block, u32::MAX)).map(|(warp, _)| *warp).collect();
        warps
            .into_iter()
            .fold(false, |changed, warp| changed | self.land(warp, |store| store.in_block && chosen(store)))
    }

    /// Called when threads end: makes their stores to shared memory visible.
    pub(super) fn end(&mut self, warp: WarpKey, lanes: u32) -> bool {
        self.land(warp, |store| lanes & 1 << store.lane != 0 && store.place.region.private)
    }

    /// Makes a thread's store at that place visible, or those of its block that it sees, because it is about to use the place.
    pub(super) fn meet(&mut self, warp: WarpKey, lane: usize, place: &Place) -> bool {
        let own = self.land(warp, |store| store.lane == lane && store.place.meets(place));
        own | (self.blocks.contains(&warp.0) && self.land_of_block(warp.0, |store| store.place.meets(place)))
    }

    /// Makes a randomly chosen store visible.
    pub(super) fn one(&mut self, random: &mut Random) -> bool {
        let count = self.places.len();
        if count == 0 {
            return false;
        }
        // By warp, not by address, because host addresses differ in each run.
        let mut chosen = random.below(count);
        for (warp, stores) in &self.stores {
            if let Some(store) = stores.get(chosen) {
                let (warp, lane, host) = (*warp, store.lane, store.place.host());
                return self.land(warp, |store| store.lane == lane && store.place.host() == host);
            }
            chosen -= stores.len();
        }
        false
    }

    /// All become visible.
    pub(super) fn all(&mut self) -> bool {
        let mut changed = false;
        self.places.clear();
        self.due.clear();
        for store in std::mem::take(&mut self.stores).into_values().flatten() {
            changed |= store.place.store(&store.bytes);
        }
        changed
    }

    fn land(&mut self, warp: WarpKey, chosen: impl Fn(&Store) -> bool) -> bool {
        let Some(stores) = self.stores.get_mut(&warp) else { return false };
        let mut changed = false;
        stores.retain(|store| {
            let lands = chosen(store);
            if lands {
                self.places.remove(&(store.place.host(), warp, store.lane));
                changed |= store.place.store(&store.bytes);
            }
            !lands
        });
        if stores.is_empty() {
            self.stores.remove(&warp);
        }
        changed
    }
}
