//! Address ranges, physical memory, and what maps one to the other.

pub(in crate::memory) mod growable;
pub(crate) mod mapping;
pub(crate) mod multicast;
pub(crate) mod physical;
