//! Pieces of memory.
#![allow(unsafe_code)]
// Relies on: regions describe memory that is valid while the threads that can access it run (device allocations are held by the snapshot,
// heap blocks by the heap, which the launch borrows, parameters by the launch, shared memory by the block group) and that all code uses as
// the head of `memory::access` says. Its device and host addresses differ by a multiple of 16, so a number that is aligned (to at most 16)
// on the device is aligned on the host.

/// A piece of memory: `len` bytes, at `base` for the device and at `host` for the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// Address of the first byte, in the state space of the lookup.
    pub(crate) base: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    /// The bytes.
    pub(crate) host: *mut u8,
    /// Whether only the threads of this block group can touch it.
    pub(crate) private: bool,
}

// SAFETY: only `host` prevents this from being `Send` automatically. Its bytes are valid while they are used, and used
// as the head of `memory::access` says, which is meant for bytes that many threads use (the head of this file); the
// rest is numbers.
unsafe impl Send for Region {}
// SAFETY: as for `Send`: a shared reference only gives copies of the address, whose bytes are used as said there.
unsafe impl Sync for Region {}

impl Region {
    /// No bytes.
    pub(crate) const NONE: Region = Region { base: 0, len: 0, host: std::ptr::null_mut(), private: false };

    /// The same bytes at another address.
    pub(crate) fn at(self, base: u64) -> Region {
        Region { base, ..self }
    }

    /// Whether `bytes` bytes at `address` lie inside.
    #[inline(always)]
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        self.len >= bytes && address.wrapping_sub(self.base) <= self.len - bytes
    }
}
