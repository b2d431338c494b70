//! Arithmetic, conversions and the math library, compared with references written from the standards: bit by bit, or within
//! the errors that PTX and CUDA promise.

#![allow(unsafe_code)] // Launches of kernels that take up to three inputs, an output and a length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "references/arithmetic/mod.rs"]
mod arithmetic;
mod references;
