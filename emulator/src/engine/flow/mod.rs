//! Control flow of a function, and the allocation of its registers.

pub(super) mod blocks;
mod liveness;
pub(super) mod slots;
