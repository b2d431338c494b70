//! `cvt` to `.tf32`, which has no arithmetic of its own, and to packed halves, with `.relu` and `.satfinite` (PTX ISA,
//! "Data Movement and Conversion Instructions: cvt"). Smaller formats are in [`minifloat`](super::minifloat).
//!
//! In every packed result the first operand goes to the upper part.

use super::cvt::round_half;
use super::fp32;
use super::half::{self, Half, pack};
use super::rounding::{Mode, Rounding};

/// `cvt.{rn,rz}{.relu}{.satfinite}.{f16,bf16}.f32`
#[inline(always)]
pub fn half_from_f32<H: Half, R: Rounding, const RELU: bool, const SATFINITE: bool>(a: u32) -> u16 {
    let bits = round_half::<H, R>(f32::from_bits(a));
    let infinite = bits & !half::SIGN == H::INF;
    let bits = if SATFINITE && infinite { bits - 1 } else { bits };
    if RELU { half::relu::<H>(bits) } else { bits }
}

/// `cvt.{rn,rz}{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a, b`: `a` in the upper half.
#[inline(always)]
pub fn half_x2_from_f32<H: Half, R: Rounding, const RELU: bool, const SATFINITE: bool>(
    a: u32,
    b: u32,
) -> u32 {
    let half = half_from_f32::<H, R, RELU, SATFINITE>;
    pack(half(b), half(a))
}

/// The NaN of `cvt.{rn,rz}.tf32`: all ones in the bits that `.tf32` has.
pub const TF32_NAN: u32 = 0x7fff_e000;

/// `cvt.rna{.satfinite}.tf32.f32`: to nearest, ties away from zero. The result is `.f32` bits whose lowest 13
/// are zero. This is the compiler's integer sequence, also for NaN: it loses the low bits (without any others
/// it becomes infinity), and `.satfinite` moves all that is not finite down by one step.
#[inline(always)]
pub fn tf32_ties_away<const SATFINITE: bool>(a: u32) -> u32 {
    let rounded = if fp32::is_finite(a) { a.wrapping_add(0x1000) } else { a } & !0x1fff;
    if SATFINITE && !fp32::is_finite(rounded) { rounded.wrapping_sub(0x2000) } else { rounded }
}

/// `cvt.{rn,rz}{.satfinite}{.relu}.tf32.f32`; NaN gives [`TF32_NAN`], also with `.relu`.
#[inline(always)]
pub fn tf32<R: Rounding, const RELU: bool, const SATFINITE: bool>(a: u32) -> u32 {
    let up = if R::MODE == Mode::Nearest { 0xfff + (a >> 13 & 1) } else { 0 };
    let rounded = a.wrapping_add(up) & !0x1fff;
    let infinite = fp32::is_infinite(rounded);
    let rounded = if SATFINITE && infinite { rounded.wrapping_sub(0x2000) } else { rounded };
    let rounded = if RELU && rounded & fp32::SIGN != 0 { 0 } else { rounded };
    if fp32::is_nan(a) { TF32_NAN } else { rounded }
}
