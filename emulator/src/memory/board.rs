//! Numbers that several processes read and write.
#![allow(unsafe_code)] // Relies on: `bytes` are mapped as long as this, and used by nobody but boards, as atomic numbers.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::shared::{PAGE, SharedBytes, SharedFile};

/// Pages of numbers, initially zero, to which any process can write anything.
#[derive(Debug)]
pub struct Board {
    bytes: SharedBytes,
}

impl Board {
    /// Bytes of its file.
    pub const BYTES: u64 = 32 * PAGE;
    /// The number of numbers.
    pub const LEN: usize = (Board::BYTES / 8) as usize;

    /// The pages that are a file; `None` if it is too short, or the host has no room. The file is not kept.
    pub fn new(file: &Arc<SharedFile>) -> Option<Board> {
        SharedBytes::map(file, 0, Board::BYTES).map(|bytes| Board { bytes: bytes.without_file() })
    }

    /// The numbers.
    pub fn numbers(&self) -> &[AtomicU64; Board::LEN] {
        // SAFETY: `bytes` is a page-aligned mapping of `BYTES` bytes for reads and writes, which is valid as long as `self` is borrowed. It
        // is only accessed as atomic numbers, here and in other processes: its file has a name that only files of boards have.
        unsafe { self.bytes.start().cast().as_ref() }
    }
}
