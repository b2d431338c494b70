//! What the tests of `wgmma` share: instructions, kernels of one instruction, and where the ISA has the elements of matrices.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod case;
pub mod forms;
pub mod layout;
