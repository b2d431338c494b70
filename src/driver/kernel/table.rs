//! The kernels that have been looked up in a module: append-only, so that a call site can remember an index.
//!
//! Reading by index takes no lock; only the first lookup of a name does.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::Kernel;
use crate::driver::own_lock::OwnLock;
use crate::error::Error;

/// Slots of the first chunk; each further chunk is twice as long, so that no entry ever moves.
const FIRST: usize = 8;
const CHUNKS: usize = 14;
/// Indices must fit the 16 bits a call site keeps.
pub(in crate::driver) const CAPACITY: usize = FIRST * ((1 << (CHUNKS - 1)) - 1);

type Chunk = Box<[OnceLock<Arc<Kernel>>]>;

#[derive(Debug, Default)]
pub(in crate::driver) struct KernelTable {
    chunks: [OnceLock<Chunk>; CHUNKS],
    names: OwnLock<HashMap<Box<str>, Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    kernel: Arc<Kernel>,
    /// `None` once the table is full: such kernels are found by name at every launch.
    index: Option<u16>,
}

impl KernelTable {
    /// The kernel at `index`, if there is one.
    #[inline]
    pub(in crate::driver) fn at(&self, index: u16) -> Option<&Arc<Kernel>> {
        let (chunk, offset) = place(index as usize);
        self.chunks.get(chunk)?.get()?.get(offset)?.get()
    }

    /// The kernel of this name; `make` looks it up the first time.
    pub(in crate::driver) fn find(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Kernel, Error>,
    ) -> Result<(Arc<Kernel>, Option<u16>), Error> {
        let mut names = self.names.lock("cuModuleGetFunction")?;
        if let Some(entry) = names.get(name) {
            return Ok((entry.kernel.clone(), entry.index));
        }
        let kernel = Arc::new(make()?);
        let index = u16::try_from(names.len()).ok().filter(|&i| (i as usize) < CAPACITY);
        if let Some(index) = index {
            self.set(index, kernel.clone());
        }
        names.insert(name.into(), Entry { kernel: kernel.clone(), index });
        Ok((kernel, index))
    }

    /// The kernel of this name, if it was asked for before.
    pub(in crate::driver) fn known(&self, name: &str) -> Result<Option<Arc<Kernel>>, Error> {
        Ok(self.names.lock("cuModuleGetFunction")?.get(name).map(|entry| entry.kernel.clone()))
    }

    fn set(&self, index: u16, kernel: Arc<Kernel>) {
        let (chunk, offset) = place(index as usize);
        let Some(chunk_cell) = self.chunks.get(chunk) else { return };
        let chunk = chunk_cell.get_or_init(|| (0..FIRST << chunk).map(|_| OnceLock::new()).collect());
        if let Some(slot) = chunk.get(offset) {
            // Each index is given once, under the lock.
            let _ = slot.set(kernel);
        }
    }
}

/// Chunk and offset of an index.
#[inline]
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
        for index in 0..CAPACITY {
            assert_eq!(place(index), expected, "index {index}");
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place(CAPACITY - 1).0 < CHUNKS);
    }
}
