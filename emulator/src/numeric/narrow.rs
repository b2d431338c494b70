//! `cvt` to formats without arithmetic of their own (`.tf32`, `.e4m3`, `.e5m2`) and to packed halves, with
//! `.relu` and `.satfinite` (PTX ISA, "Data Movement and Conversion Instructions: cvt").
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

/// An 8-bit float format.
pub trait Fp8 {
    /// Bits of the stored fraction.
    const FRACTION: u32;
    /// Exponent bias.
    const BIAS: i32;
    /// Bits of the largest finite number.
    const MAX: u8;
    /// The NaN that conversions return.
    const NAN: u8 = 0x7f;
    /// The value, exact; infinities where the format has them.
    fn widen(a: u8) -> f32;
}

/// `.e4m3`: no infinity, one NaN of each sign, largest number 448.
#[derive(Clone, Copy, Debug)]
pub struct E4m3;
/// `.e5m2`: like IEEE 754, largest number 57344.
#[derive(Clone, Copy, Debug)]
pub struct E5m2;

impl Fp8 for E4m3 {
    const FRACTION: u32 = 3;
    const BIAS: i32 = 7;
    const MAX: u8 = 0x7e;
    #[inline(always)]
    fn widen(a: u8) -> f32 {
        // Seen as .f16 with one fraction bit more than it has, the number is 2^8 too small.
        let bits = ((a & 0x80) as u16) << 8 | ((a & 0x7f) as u16) << 7;
        let number = half::f16_to_f32(bits) * 256.0;
        if a & 0x7f == 0x7f { f32::from_bits(fp32::NAN) } else { number }
    }
}

impl Fp8 for E5m2 {
    const FRACTION: u32 = 2;
    const BIAS: i32 = 15;
    const MAX: u8 = 0x7b;
    #[inline(always)]
    fn widen(a: u8) -> f32 {
        half::f16_to_f32((a as u16) << 8)
    }
}

/// `cvt.rn.satfinite{.relu}` to one 8-bit float: to nearest even; too large gives the largest finite number.
#[inline(always)]
pub fn fp8<F: Fp8, const RELU: bool>(a: f32) -> u8 {
    let bits = a.to_bits();
    let sign = (bits >> 24) as u8 & 0x80;
    let magnitude = bits & !fp32::SIGN;
    let shift = 23 - F::FRACTION;
    // A subnormal result: adding a power of two whose last bit weighs what the format's last bit does.
    let unit = f32::from_bits(((127 + 1 - F::BIAS + shift as i32) as u32) << 23);
    let subnormal = (f32::from_bits(magnitude) + unit).to_bits().wrapping_sub(unit.to_bits());
    let rebias = ((127 - F::BIAS) as u32) << 23;
    let even = (1 << (shift - 1)) - 1 + (magnitude >> shift & 1);
    let normal = magnitude.wrapping_sub(rebias).wrapping_add(even) >> shift;
    let smallest_normal = ((127 + 1 - F::BIAS) as u32) << 23;
    let finite = if magnitude < smallest_normal { subnormal } else { normal };
    let finite = (finite.min(F::MAX as u32) as u8) | sign;
    let finite = if RELU && sign != 0 { 0 } else { finite };
    if a.is_nan() { F::NAN } else { finite }
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.f32 d, a, b`: `a` in the upper byte.
#[inline(always)]
pub fn fp8x2_from_f32<F: Fp8, const RELU: bool>(a: u32, b: u32) -> u16 {
    let byte = |a: u32| fp8::<F, RELU>(f32::from_bits(a)) as u16;
    byte(a) << 8 | byte(b)
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.f16x2`
#[inline(always)]
pub fn fp8x2_from_f16x2<F: Fp8, const RELU: bool>(a: u32) -> u16 {
    let byte = |a: u16| fp8::<F, RELU>(half::f16_to_f32(a)) as u16;
    byte((a >> 16) as u16) << 8 | byte(a as u16)
}

/// `cvt.rn{.relu}.f16x2.{e4m3x2,e5m2x2}`: exact.
#[inline(always)]
pub fn f16x2_from_fp8x2<F: Fp8, const RELU: bool>(a: u16) -> u32 {
    let one = |a: u8| {
        let bits = half::f32_to_f16(F::widen(a));
        if RELU { half::relu::<half::F16>(bits) } else { bits }
    };
    pack(one(a as u8), one((a >> 8) as u8))
}
