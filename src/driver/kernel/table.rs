//! The kernels that have been looked up in a module: append-only, so that a call site can remember an index.
//!
//! Finding one again takes no lock, by index or by name; only the first lookup of a name does.

use std::sync::{Arc, OnceLock};

use super::Kernel;
use crate::driver::own_lock::OwnLock;
use crate::error::{Error, ErrorKind};

/// Slots of the first chunk, which is part of the table; each further chunk is twice as long, so that no entry ever moves.
const FIRST: usize = 32;
/// More kernels than any image has.
const CHUNKS: usize = 22;
/// Lists of entries, by the hash of their names.
const LISTS: usize = 64;

type Slot = OnceLock<Arc<Kernel>>;
type Chunk = Box<[Slot]>;

#[derive(Debug)]
pub(in crate::driver) struct KernelTable {
    first: [Slot; FIRST],
    /// Those after the first.
    chunks: [OnceLock<Chunk>; CHUNKS],
    lists: [Link; LISTS],
    /// Their number. Held while one is looked up in the driver.
    count: OwnLock<u32>,
}

/// What comes next in a list. Nothing of it changes once it is there.
type Link = OnceLock<Box<Entry>>;

#[derive(Debug)]
struct Entry {
    hash: u64,
    kernel: Arc<Kernel>,
    index: u32,
    next: Link,
}

impl Default for KernelTable {
    fn default() -> Self {
        let (first, lists) = ([const { Slot::new() }; FIRST], [const { Link::new() }; LISTS]);
        Self { first, chunks: Default::default(), lists, count: OwnLock::default() }
    }
}

impl KernelTable {
    /// The kernel at `index`, if there is one and it is in the first chunk.
    #[inline(always)]
    pub(in crate::driver) fn first_at(&self, index: usize) -> Option<&Arc<Kernel>> {
        self.first.get(index)?.get()
    }

    /// The kernel at `index`, if there is one.
    #[inline]
    pub(in crate::driver) fn at(&self, index: u32) -> Option<&Arc<Kernel>> {
        match place(index as usize) {
            (0, offset) => self.first_at(offset),
            (chunk, offset) => self.chunks.get(chunk - 1)?.get()?.get(offset)?.get(),
        }
    }

    /// The kernel of this name, if it was asked for before, and its index.
    #[inline(always)]
    pub(in crate::driver) fn known(&self, name: &str) -> Option<(&Arc<Kernel>, u32)> {
        let hash = hash(name);
        let mut link = self.list(hash);
        while let Some(entry) = link.get() {
            if entry.hash == hash && entry.kernel.name() == name {
                return Some((&entry.kernel, entry.index));
            }
            link = &entry.next;
        }
        None
    }

    /// The kernel of this name and its index; `make` looks it up the first time.
    #[cold]
    pub(in crate::driver) fn find(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Kernel, Error>,
    ) -> Result<(&Arc<Kernel>, u32), Error> {
        let mut count = self.count.lock("cuModuleGetFunction")?;
        // Another thread may have been first.
        if let Some(found) = self.known(name) {
            return Ok(found);
        }
        let (kernel, index) = (Arc::new(make()?), *count);
        let (chunk, offset) = place(index as usize);
        let slot = match chunk {
            0 => self.first.get(offset),
            _ => self.chunks.get(chunk - 1).and_then(|cell| {
                cell.get_or_init(|| (0..FIRST << chunk).map(|_| Slot::new()).collect()).get(offset)
            }),
        };
        // Each index is given once, under the lock, and so is each end of a list.
        slot.ok_or_else(|| full(name))?.get_or_init(|| kernel.clone());
        *count += 1;
        let hash = hash(name);
        let mut end = self.list(hash);
        while let Some(entry) = end.get() {
            end = &entry.next;
        }
        let entry = end.get_or_init(|| Box::new(Entry { hash, kernel, index, next: Link::new() }));
        Ok((&entry.kernel, index))
    }

    #[inline(always)]
    fn list(&self, hash: u64) -> &Link {
        // The upper bits: every byte of the name has moved them.
        &self.lists[(hash >> (u64::BITS - LISTS.ilog2())) as usize % LISTS]
    }
}

#[cold]
fn full(name: &str) -> Error {
    ErrorKind::Name { name: name.to_string(), reason: "the module has too many kernels in use" }.into()
}

/// A number of a name, the same for equal names. It need not withstand anybody: only names that the module has get into the table.
#[inline(always)]
fn hash(name: &str) -> u64 {
    // An odd number without pattern: 2^64 divided by the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let (bytes, length) = (name.as_bytes(), name.len() as u64);
    // The last word may have bytes of the one before it: what is left over is not looked at byte by byte.
    let (words, last) = match (bytes.last_chunk::<8>(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(last), ..) => (bytes.as_chunks::<8>().0, u64::from_le_bytes(*last)),
        (None, Some(first), Some(last)) => {
            (&[] as &[_], u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)))
        }
        _ => (&[] as &[_], bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))),
    };
    mix(words.iter().fold(length, |hash, word| mix(hash, u64::from_le_bytes(*word))), last)
}
/// Chunk and offset of an index.
#[inline(always)]
fn place(index: usize) -> (usize, usize) {
    let shifted = index + FIRST;
    let chunk = (shifted / FIRST).ilog2() as usize;
    (chunk, shifted - (FIRST << chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_fill_the_chunks_without_gap_or_overlap() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(place(index), expected, "index {index}");
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn names_that_differ_in_a_byte_are_in_different_lists_more_often_than_not() {
        let list = |name: &str| hash(name) >> 58;
        for length in [1, 7, 8, 9, 31] {
            let name = |last: u8| format!("{}{}", "k".repeat(length - 1), char::from(last));
            let mut lists: Vec<u64> = (b'a'..=b'z').map(|last| list(&name(last))).collect();
            assert_eq!(lists.first(), Some(&list(&name(b'a'))));
            lists.sort_unstable();
            lists.dedup();
            assert!(lists.len() > 13, "{length} letters: {lists:?}");
        }
    }
}
