//! A file whose parts are the allocations of a pool: a process with the file can map each of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::shared::{PAGE, SharedFile};

/// The file, and which parts of it are in use.
#[derive(Debug)]
pub struct SharedPool {
    file: Arc<SharedFile>,
    /// Length by offset, in whole pages.
    taken: Mutex<BTreeMap<u64, u64>>,
}

/// A part of the file, which is in use as long as this value lives.
#[derive(Debug)]
pub(super) struct Part {
    pool: Arc<SharedPool>,
    offset: u64,
    bytes: u64,
}

impl SharedPool {
    /// A pool in a file without used parts.
    pub fn new(file: SharedFile) -> Arc<SharedPool> {
        Arc::new(SharedPool { file: Arc::new(file), taken: Mutex::default() })
    }

    /// The file.
    pub fn file(&self) -> &Arc<SharedFile> {
        &self.file
    }

    /// A part of at least `bytes` zeroed bytes; `None` if there is no room.
    pub(super) fn take(self: &Arc<Self>, bytes: u64) -> Option<Part> {
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE)?;
        let mut taken = self.taken();
        let last = taken.iter().next_back().map_or(0, |(offset, len)| offset + len);
        let fits = |offset: &u64| offset.checked_add(bytes).is_some_and(|end| end <= self.file.len());
        let offset = Some(last).filter(fits).or_else(|| hole(&taken, bytes))?;
        taken.insert(offset, bytes);
        Some(Part { pool: Arc::clone(self), offset, bytes })
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first hole of that many bytes before a used part.
fn hole(taken: &BTreeMap<u64, u64>, bytes: u64) -> Option<u64> {
    let mut end = 0;
    for (offset, len) in taken {
        if offset - end >= bytes {
            return Some(end);
        }
        end = offset + len;
    }
    None
}

impl Part {
    /// Where it is.
    pub(super) fn file(&self) -> &Arc<SharedFile> {
        &self.pool.file
    }

    /// Its offset in the file.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Cleared before the part can be reused.
        self.pool.file.clear(self.offset, self.bytes);
        self.pool.taken().remove(&self.offset);
    }
}
