//! Pieces of memory.
#![allow(unsafe_code)]
// Relies on: regions describe memory that is there while the threads run that see it (device allocations are held by the
// snapshot, blocks of the heap by the heap, which the launch borrows, parameters by the launch, shared memory by the block group), that everything uses as the head of `memory::access`
// says, and whose two addresses differ by a multiple of 16, so that where the device sees a number aligned, to 16 at most, it
// is aligned on the host.

/// A piece of memory: `len` bytes that the device sees at `base` and the host at `host`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// Address of the first byte, in the space it is looked up for.
    pub(crate) base: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    /// The bytes.
    pub(crate) host: *mut u8,
    /// Whether only the threads of this block group can touch it.
    pub(crate) private: bool,
}

// SAFETY: `host` alone keeps this from being `Send`: its bytes are there while somebody uses them, who does so as the
// head of `memory::access` says, which is for bytes that many threads use (the head of this file); the rest is numbers.
unsafe impl Send for Region {}
// SAFETY: as for `Send`: a shared reference only gives copies of the address, whose bytes are used as said there.
unsafe impl Sync for Region {}

impl Region {
    /// No bytes.
    pub(crate) const NONE: Region = Region { base: 0, len: 0, host: std::ptr::null_mut(), private: false };

    /// The same bytes seen from another address.
    pub(crate) fn at(self, base: u64) -> Region {
        Region { base, ..self }
    }

    /// Whether `bytes` bytes at `address` lie inside.
    #[inline(always)]
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        self.len >= bytes && address.wrapping_sub(self.base) <= self.len - bytes
    }
}
