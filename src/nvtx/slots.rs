//! The places for a tool's functions: by group, as the protocol (version 3) numbers them.

#![allow(unsafe_code)] // Tables of addresses of statics, which every thread may read.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;

/// A place for one function; null until the tool writes it.
pub(super) type Slot = AtomicPtr<c_void>;

/// The addresses of a group's slots by number: nothing at 0, and a null behind the last.
#[repr(transparent)]
pub(super) struct Table<const N: usize>(pub(super) [*const Slot; N]);

// SAFETY: it has nulls and the addresses of statics, as `table` makes it and nothing changes it; statics are there for
// ever, and their places are atomic.
unsafe impl<const N: usize> Sync for Table<N> {}

const fn table<const SLOTS: usize, const N: usize>(slots: &'static [Slot; SLOTS]) -> Table<N> {
    let mut addresses = [std::ptr::null(); N];
    let mut number = 1;
    while number < SLOTS {
        addresses[number] = &raw const slots[number];
        number += 1;
    }
    Table(addresses)
}

macro_rules! groups {
    ($($(#[$doc:meta])* $group:ident, $table:ident, $last:literal;)*) => {$(
        $(#[$doc])*
        pub(super) static $group: [Slot; $last + 1] = [const { Slot::new(null_mut()) }; $last + 1];
        pub(super) static $table: Table<{ $last + 2 }> = table(&$group);
    )*};
}

groups! {
    /// Marks and ranges of the process.
    CORE, CORE_TABLE, 15;
    /// Names of the driver's objects.
    CUDA, CUDA_TABLE, 8;
    // The next two and the last are here because tools ask for them; nothing calls them.
    OPENCL, OPENCL_TABLE, 14;
    CUDART, CUDART_TABLE, 6;
    /// Marks and ranges of domains.
    CORE2, CORE2_TABLE, 15;
    SYNC, SYNC_TABLE, 6;
}

// In `CORE`; those that take an event with attributes.
pub(super) const MARK: usize = 1;
pub(super) const RANGE_START: usize = 4;
pub(super) const RANGE_END: usize = 7;
pub(super) const RANGE_PUSH: usize = 8;
pub(super) const RANGE_POP: usize = 11;

// In `CUDA`.
pub(super) const NAME_STREAM: usize = 5;

// In `CORE2`.
pub(super) const DOMAIN_MARK: usize = 1;
pub(super) const DOMAIN_RANGE_START: usize = 2;
pub(super) const DOMAIN_RANGE_END: usize = 3;
pub(super) const DOMAIN_RANGE_PUSH: usize = 4;
pub(super) const DOMAIN_RANGE_POP: usize = 5;
pub(super) const DOMAIN_CREATE: usize = 12;
pub(super) const DOMAIN_DESTROY: usize = 14;
