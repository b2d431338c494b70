//! Numbers that several processes read and write.
#![allow(unsafe_code)] // Relies on: `bytes` are mapped as long as this, and used by nobody but boards, as atomic numbers.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::shared::{PAGE, SharedBytes, SharedFile};

/// Pages of numbers, zero at first. Any process can have written anything there.
#[derive(Debug)]
pub struct Board {
    bytes: SharedBytes,
}

impl Board {
    /// Bytes of its file.
    pub const BYTES: u64 = 32 * PAGE;
    /// How many numbers there are.
    pub const LEN: usize = (Board::BYTES / 8) as usize;

    /// The pages that are a file; `None` if it is too short, or the host has no room. The file is not kept.
    pub fn new(file: &Arc<SharedFile>) -> Option<Board> {
        SharedBytes::map(file, 0, Board::BYTES).map(|bytes| Board { bytes: bytes.without_file() })
    }

    /// The numbers.
    pub fn numbers(&self) -> &[AtomicU64; Board::LEN] {
        // SAFETY: `bytes` is a mapping of `BYTES` bytes, at a multiple of a page, for reads and writes, and stays as long as `self` is borrowed. It is
        // touched as atomic numbers alone, here and in other processes: its file has a name that only boards' files have.
        unsafe { self.bytes.start().cast().as_ref() }
    }
}
