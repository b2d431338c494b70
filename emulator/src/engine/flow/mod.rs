//! Control flow of a function, and where its registers live.

pub(super) mod blocks;
mod liveness;
pub(super) mod slots;
