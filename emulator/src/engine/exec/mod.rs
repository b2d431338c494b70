//! What instructions do when they run.

pub(crate) mod address;
pub(crate) mod alu;
pub(crate) mod atomics;
pub(crate) mod control;
pub(crate) mod copy;
pub(crate) mod lanes;
pub(crate) mod load_store;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod sync;
pub(crate) mod warp_ops;
