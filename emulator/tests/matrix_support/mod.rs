//! What the tests of matrix instructions share: the forms, operands for them, kernels that run them, and the layouts
//! of the ISA.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod data;
pub mod form;
pub mod layout;
pub mod moves;
pub mod reference;
pub mod run;
