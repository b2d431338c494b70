//! The execution of instructions.

pub(crate) mod address;
pub(crate) mod alu;
pub(crate) mod atomics;
pub(crate) mod atomics_quad;
pub(crate) mod bulk;
pub(crate) mod control;
pub(crate) mod copy;
pub(crate) mod indexed;
pub(crate) mod lanes;
pub(crate) mod load;
pub(crate) mod load_again;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod operand;
pub(crate) mod reduce;
pub(crate) mod store;
pub(crate) mod surface;
pub(crate) mod sync;
pub(crate) mod tensormap;
pub(crate) mod texture;
mod vector;
pub(crate) mod warp_ops;
pub(super) mod warp_values;
mod width;
