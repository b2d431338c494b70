//! `cvt` to and from `.s2f6x2`, two numbers of 8 bits in two's complement that count 64ths, with a scale each (PTX ISA, "Fixed-point
//! Data format"; "Data Movement and Conversion Instructions: cvt"). The first operand goes to the upper part.

use super::half::{self, Bf16, bf16_to_f32, f32_to_bf16, pack};
use super::minifloat::bf16x2_from_scales;

/// The scales where there is no operand: one, twice.
pub const NO_SCALE: u16 = 0x7f7f;
/// Units of one.
const UNITS: f32 = 64.0;

/// The power of two, or NaN.
#[inline(always)]
fn scale(a: u8) -> f32 {
    bf16_to_f32(bf16x2_from_scales(a as u16) as u16)
}

/// One number divided by its scale: to nearest even; too large gives the largest of its sign, and NaN the largest.
#[inline(always)]
fn from_f32<const RELU: bool>(a: f32, by: u8) -> u8 {
    // Exact, or far outside of what the format has.
    let units = a / scale(by) * UNITS;
    let number = units.round_ties_even().clamp(-128.0, 127.0) as i8;
    let number = if RELU { number.max(0) } else { number };
    (if units.is_nan() { i8::MAX } else { number }) as u8
}

/// `cvt.rn.satfinite{.relu}{.scaled::n2::ue8m0}.s2f6x2.f32 d, a, b{, scales}`
#[inline(always)]
pub fn pair_from_f32<const RELU: bool>(a: u32, b: u32, scales: u16) -> u16 {
    let high = from_f32::<RELU>(f32::from_bits(a), (scales >> 8) as u8);
    (high as u16) << 8 | from_f32::<RELU>(f32::from_bits(b), scales as u8) as u16
}

/// `cvt.rn.satfinite{.relu}{.scaled::n2::ue8m0}.s2f6x2.bf16x2 d, a{, scales}`
#[inline(always)]
pub fn pair_from_bf16x2<const RELU: bool>(a: u32, scales: u16) -> u16 {
    pair_from_f32::<RELU>(a & 0xffff_0000, a << 16, scales)
}

/// One number times its scale: exact, but for the lowest times the largest scale, which is infinite.
#[inline(always)]
fn to_bf16<const RELU: bool, const SATFINITE: bool>(a: u8, by: u8) -> u16 {
    let bits = f32_to_bf16(a as i8 as f32 / UNITS * scale(by));
    let infinite = bits & !half::SIGN == 0x7f80;
    let bits = if SATFINITE && infinite { bits - 1 } else { bits };
    if RELU { half::relu::<Bf16>(bits) } else { bits }
}

/// `cvt.rn{.satfinite}{.relu}{.scaled::n2::ue8m0}.bf16x2.s2f6x2 d, a{, scales}`
#[inline(always)]
pub fn bf16x2_from_pair<const RELU: bool, const SATFINITE: bool>(a: u16, scales: u16) -> u32 {
    let one = to_bf16::<RELU, SATFINITE>;
    pack(one(a as u8, scales as u8), one((a >> 8) as u8, (scales >> 8) as u8))
}
