//! Which bytes of a piece of memory were ever written: one bit each, kept only where reads are checked.
#![allow(unsafe_code)]
// Relies on: `bits` has a 64-bit word for every 64 bytes or part of them, at an address that is a multiple of 8, and
// is accessed only through atomics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::bytes::HostBytes;

/// One bit for each byte of a piece of memory: whether it was written.
#[derive(Debug)]
pub struct Written {
    /// `len.div_ceil(64)` words, aligned to 8.
    bits: HostBytes,
    len: u64,
}

impl Written {
    /// For `len` bytes, none of them written; `None` if the host has no room for the bits.
    pub(crate) fn new(len: u64) -> Option<Written> {
        let bits = HostBytes::new(len.div_ceil(64).checked_mul(8)?, 8)?;
        Some(Written { bits, len })
    }

    /// From now on these bytes count as written.
    pub fn mark(&self, offset: u64, bytes: u64) {
        for (word, mask) in self.words(offset, bytes) {
            word.fetch_or(mask, Relaxed);
        }
    }

    /// These bytes are uninitialised from now on.
    pub fn forget(&self, offset: u64, bytes: u64) {
        for (word, mask) in self.words(offset, bytes) {
            word.fetch_and(!mask, Relaxed);
        }
    }

    /// Whether all of these bytes were written.
    pub fn covers(&self, offset: u64, bytes: u64) -> bool {
        self.words(offset, bytes).all(|(word, mask)| word.load(Relaxed) & mask == mask)
    }

    /// Whether none of these bytes was written.
    pub fn is_blank(&self, offset: u64, bytes: u64) -> bool {
        self.words(offset, bytes).all(|(word, mask)| word.load(Relaxed) & mask == 0)
    }

    /// The bytes of a range that were not written, as offsets in it.
    pub(super) fn gaps(&self, offset: u64, bytes: u64) -> Vec<u64> {
        if self.covers(offset, bytes) {
            return Vec::new();
        }
        (0..bytes).filter(|at| !self.covers(offset + at, 1)).collect()
    }

    /// The words with the bits of a range, each with a mask of those bits.
    fn words(&self, offset: u64, bytes: u64) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let end = offset.saturating_add(bytes).min(self.len);
        let start = offset.min(end);
        (start / 64..end.div_ceil(64)).map(move |index| {
            let first = start.max(index * 64) % 64;
            let count = end.min(index * 64 + 64) - start.max(index * 64);
            // No bit if the range is empty.
            let mask = u64::MAX.checked_shr(64 - count as u32).unwrap_or(0) << first;
            // SAFETY: `index` is below `end.div_ceil(64)`, which is at most `len.div_ceil(64)`, the number of words in `bits`; they are
            // aligned to 8, live as long as `self`, which the reference borrows, and are accessed only here, as atomics.
            let word =
                unsafe { AtomicU64::from_ptr(self.bits.start().as_ptr().cast::<u64>().add(index as usize)) };
            (word, mask)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ranges() {
        let written = Written::new(200).unwrap();
        assert!(!written.covers(0, 1) && written.covers(5, 0));
        written.mark(60, 70);
        assert!(written.covers(60, 70) && !written.covers(59, 2) && !written.covers(129, 2));
        written.forget(64, 1);
        assert!(written.covers(60, 4) && written.covers(65, 65) && !written.covers(60, 5));
        assert!(written.is_blank(0, 60) && written.is_blank(64, 1) && written.is_blank(130, 70));
        assert!(!written.is_blank(0, 61) && !written.is_blank(64, 2) && !written.is_blank(129, 1));
        written.mark(0, 1000);
        assert!(written.covers(0, 200));
    }
}
