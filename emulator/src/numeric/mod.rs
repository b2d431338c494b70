//! Arithmetic of PTX: what each instruction computes, with no knowledge of registers, lanes or syntax.
//!
//! Every function takes and returns **register bits** (`u16` for `.f16`/`.bf16`, `u32` for `.f32` and packed
//! pairs, `u64` for `.f64`) or native integers, is `#[inline(always)]` and, for the frequent operations, has
//! no branches: a loop over 32 lanes inside a `#[target_feature]` function becomes vector code. Modifiers are
//! type or const parameters (`.rm` is [`Down`](rounding::Down), `.ftz` and `.sat` are booleans), so that the
//! engine instantiates products instead of testing flags per lane.
//!
//! | module | PTX ISA group |
//! |---|---|
//! | [`rounding`] | rounding modifiers, and rounding of exact results |
//! | [`fp32`], [`fp32x2`], [`fp64`] | Floating-Point Instructions |
//! | [`half`] | Half Precision Floating-Point Instructions |
//! | [`mixed`] | Mixed Precision Floating-Point Instructions |
//! | [`approx`] | the `.approx` and `.full` forms of both |
//! | [`compare`] | Comparison and Selection Instructions |
//! | [`int`], [`bits`] | Integer Arithmetic, Extended-Precision, Logic and Shift Instructions |
//! | [`cvt`], [`narrow`], [`minifloat`], [`fixed`], [`stochastic`] | `cvt`, `cvt.pack` |
//! | [`video`] | Scalar and SIMD Video Instructions |
//! | [`matrix`] | Warp-level Matrix Instructions |
//!
//! What is exact and what is not is written down in `EXACTNESS.md` beside this crate's manifest.

pub mod approx;
pub mod bits;
pub mod compare;
pub mod cvt;
pub mod exact;
pub mod fixed;
pub mod fp32;
pub mod fp32x2;
pub mod fp64;
pub mod half;
pub mod int;
pub mod matrix;
pub mod minifloat;
pub mod mixed;
pub mod narrow;
pub mod rounding;
mod special_functions;
pub mod stochastic;
pub mod video;

pub(crate) use special_functions::rows as special;
