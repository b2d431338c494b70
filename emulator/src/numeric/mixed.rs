//! `.f32` arithmetic on operands of `.f16` and `.bf16` (PTX ISA, "Mixed Precision Floating-Point Instructions"). They are widened,
//! which is exact, so that the result is rounded once.

use super::fp32;
use super::half::Half;
use super::rounding::Rounding;

/// `add{.rnd}{.sat}.f32.{f16,bf16} d, a, c`
#[inline(always)]
pub fn add<H: Half, R: Rounding, const SAT: bool>(a: u16, c: u32) -> u32 {
    fp32::add::<R, false, SAT>(H::widen(a).to_bits(), c)
}

/// `sub{.rnd}{.sat}.f32.{f16,bf16} d, a, c`
#[inline(always)]
pub fn sub<H: Half, R: Rounding, const SAT: bool>(a: u16, c: u32) -> u32 {
    fp32::sub::<R, false, SAT>(H::widen(a).to_bits(), c)
}

/// `fma.rnd{.sat}.f32.{f16,bf16} d, a, b, c`
#[inline(always)]
pub fn fma<H: Half, R: Rounding, const SAT: bool>(a: u16, b: u16, c: u32) -> u32 {
    fp32::fma::<R, false, SAT>(H::widen(a).to_bits(), H::widen(b).to_bits(), c)
}
