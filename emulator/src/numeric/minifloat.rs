//! `cvt` to and from floats of 4, 6 and 8 bits, rounded to nearest, and powers of two of 8 bits (PTX ISA, "Data Movement and
//! Conversion Instructions: cvt"; OCP, "Microscaling Formats (MX) Specification"). In every packed result the first operand goes
//! to the upper part. A float of 4 bits takes half a byte; one of 6 bits the lower bits of a byte, whose others are zero.

use super::exact::Format;
use super::fp32;
use super::half::{self, Bf16, Half, pack};

/// A format of 4, 6 or 8 bits.
pub trait Minifloat {
    /// Its bits.
    const BITS: u32;
    /// Bits of the stored fraction.
    const FRACTION: u32;
    /// Exponent bias.
    const BIAS: i32;
    /// Bits of the largest finite number.
    const MAX: u8;
    /// The result for NaN: the canonical one, or the largest number where the format has none.
    const NAN: u8;
    /// The value, exact; infinities and NaN where the format has them.
    fn widen(a: u8) -> f32;

    /// The sign bit.
    const SIGN: u8 = 1 << (Self::BITS - 1);
    /// Bits that a number takes in a register.
    const FIELD: u32 = if Self::BITS == 4 { 4 } else { 8 };
    /// The exponent field, in `.f32`, of the smallest normal number.
    const LOWEST: i32 = 127 + 1 - Self::BIAS;
}

/// `.e4m3`: no infinity, one NaN of each sign, largest number 448.
#[derive(Clone, Copy, Debug)]
pub struct E4m3;
/// `.e5m2`: like IEEE 754, largest number 57344.
#[derive(Clone, Copy, Debug)]
pub struct E5m2;
/// `.e2m3`: neither infinity nor NaN, largest number 7.5.
#[derive(Clone, Copy, Debug)]
pub struct E2m3;
/// `.e3m2`: neither infinity nor NaN, largest number 28.
#[derive(Clone, Copy, Debug)]
pub struct E3m2;
/// `.e2m1`: neither infinity nor NaN, largest number 6.
#[derive(Clone, Copy, Debug)]
pub struct E2m1;

impl Minifloat for E4m3 {
    const BITS: u32 = 8;
    const FRACTION: u32 = 3;
    const BIAS: i32 = 7;
    const MAX: u8 = 0x7e;
    const NAN: u8 = 0x7f;
    #[inline(always)]
    fn widen(a: u8) -> f32 {
        if a & 0x7f == 0x7f { f32::from_bits(fp32::NAN) } else { widen_finite::<E4m3>(a) }
    }
}

impl Minifloat for E5m2 {
    const BITS: u32 = 8;
    const FRACTION: u32 = 2;
    const BIAS: i32 = 15;
    const MAX: u8 = 0x7b;
    const NAN: u8 = 0x7f;
    #[inline(always)]
    fn widen(a: u8) -> f32 {
        half::f16_to_f32((a as u16) << 8)
    }
}

/// Formats of which every number is finite.
macro_rules! finite {
    ($($format:ident, $bits:literal, $fraction:literal, $bias:literal;)*) => {$(
        impl Minifloat for $format {
            const BITS: u32 = $bits;
            const FRACTION: u32 = $fraction;
            const BIAS: i32 = $bias;
            const MAX: u8 = Self::SIGN - 1;
            const NAN: u8 = Self::MAX;
            #[inline(always)]
            fn widen(a: u8) -> f32 {
                widen_finite::<$format>(a)
            }
        }
    )*};
}
finite! {
    E2m3, 6, 3, 1;
    E3m2, 6, 2, 3;
    E2m1, 4, 1, 1;
}

/// The value of bits that are no infinity or NaN; bits above the format mean nothing.
#[inline(always)]
fn widen_finite<F: Minifloat>(a: u8) -> f32 {
    let magnitude = (a & (F::SIGN - 1)) as u32;
    // In the place of an `.f32`, the number lacks the difference of the two biases, which is also right for a subnormal one.
    let scale = f32::from_bits(((127 + 127 - F::BIAS) as u32) << 23);
    let value = f32::from_bits(magnitude << (23 - F::FRACTION)) * scale;
    let sign = ((a & F::SIGN) as u32) << (32 - F::BITS);
    f32::from_bits(value.to_bits() | sign)
}

/// `cvt.rn.satfinite{.relu}` to one number: to nearest even; too large gives the largest finite number.
#[inline(always)]
pub fn from_f32<F: Minifloat, const RELU: bool>(a: f32) -> u8 {
    let magnitude = a.to_bits() & !fp32::SIGN;
    let shift = 23 - F::FRACTION;
    // A subnormal result: adding a power of two whose last bit weighs what the format's last bit does.
    let unit = f32::from_bits(((F::LOWEST + shift as i32) as u32) << 23);
    let subnormal = (f32::from_bits(magnitude) + unit).to_bits().wrapping_sub(unit.to_bits());
    let rebias = ((127 - F::BIAS) as u32) << 23;
    let even = (1 << (shift - 1)) - 1 + (magnitude >> shift & 1);
    let normal = magnitude.wrapping_sub(rebias).wrapping_add(even) >> shift;
    let smallest_normal = (F::LOWEST as u32) << 23;
    let finite = if magnitude < smallest_normal { subnormal } else { normal };
    finish::<F, RELU>(a, finite)
}

/// A rounded magnitude that may be too large, with the sign of `a`, after `.satfinite` and `.relu`.
#[inline(always)]
pub(super) fn finish<F: Minifloat, const RELU: bool>(a: f32, magnitude: u32) -> u8 {
    let negative = a.to_bits() & fp32::SIGN != 0;
    let finite = magnitude.min(F::MAX as u32) as u8 | if negative { F::SIGN } else { 0 };
    let finite = if RELU && negative { 0 } else { finite };
    if a.is_nan() { F::NAN } else { finite }
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.f32 d, a, b`
#[inline(always)]
pub fn pair_from_f32<F: Minifloat, const RELU: bool>(a: u32, b: u32) -> u16 {
    let one = |a: u32| from_f32::<F, RELU>(f32::from_bits(a)) as u16;
    one(a) << F::FIELD | one(b)
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.f16x2`
#[inline(always)]
pub fn pair_from_f16x2<F: Minifloat, const RELU: bool>(a: u32) -> u16 {
    let one = |a: u16| from_f32::<F, RELU>(half::f16_to_f32(a)) as u16;
    one((a >> 16) as u16) << F::FIELD | one(a as u16)
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.bf16x2`
#[inline(always)]
pub fn pair_from_bf16x2<F: Minifloat, const RELU: bool>(a: u32) -> u16 {
    pair_from_f32::<F, RELU>(a & 0xffff_0000, a << 16)
}

/// `cvt.rn{.relu}.f16x2.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}`: exact.
#[inline(always)]
pub fn f16x2_from_pair<F: Minifloat, const RELU: bool>(a: u16) -> u32 {
    let one = |a: u8| {
        let bits = half::f32_to_f16(F::widen(a));
        if RELU { half::relu::<half::F16>(bits) } else { bits }
    };
    pack(one(a as u8), one((a >> F::FIELD) as u8))
}

/// `cvt.rn{.relu}{.satfinite}.bf16x2.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}`: exact, but that `.satfinite` has the largest number for an infinity.
#[inline(always)]
pub fn bf16x2_from_pair<F: Minifloat, const RELU: bool, const SATFINITE: bool>(a: u16) -> u32 {
    let one = |a: u8| {
        // `.bf16` has the exponents of `.f32`, and more places than these formats.
        let wide = F::widen(a);
        let bits = if wide.is_nan() { half::NAN } else { (wide.to_bits() >> 16) as u16 };
        let bits = bits - u16::from(SATFINITE && bits & !half::SIGN == Bf16::INF);
        if RELU { half::relu::<Bf16>(bits) } else { bits }
    };
    pack(one(a as u8), one((a >> F::FIELD) as u8))
}

/// The NaN of `.ue8m0`. Any other number is an exponent, biased as that of `.f32`.
const SCALE_NAN: u8 = 0xff;

/// `cvt.{rz,rp}{.satfinite}` to one `.ue8m0`: the power of two below the magnitude, or above with `UP`. Too small gives the
/// smallest, 2^-127; too large NaN, or with `SATFINITE` the largest, 2^127.
#[inline(always)]
fn scale<const UP: bool, const SATFINITE: bool>(a: u32) -> u8 {
    let magnitude = a & !fp32::SIGN;
    // The smallest power is subnormal in `.f32`: what is not above it stays there.
    let least = if magnitude >> 23 == 0 { 1 << 22 } else { 0 };
    let above = magnitude & 0x007f_ffff > least;
    let exponent = (magnitude >> 23) + (UP && above && magnitude < fp32::INFINITY) as u32;
    let largest = if SATFINITE { SCALE_NAN - 1 } else { SCALE_NAN };
    if fp32::is_nan(a) { SCALE_NAN } else { exponent.min(largest as u32) as u8 }
}

/// `cvt.{rz,rp}{.satfinite}.ue8m0x2.f32 d, a, b`
#[inline(always)]
pub fn scales_from_f32<const UP: bool, const SATFINITE: bool>(a: u32, b: u32) -> u16 {
    (scale::<UP, SATFINITE>(a) as u16) << 8 | scale::<UP, SATFINITE>(b) as u16
}

/// `cvt.{rz,rp}{.satfinite}.ue8m0x2.bf16x2`
#[inline(always)]
pub fn scales_from_bf16x2<const UP: bool, const SATFINITE: bool>(a: u32) -> u16 {
    scales_from_f32::<UP, SATFINITE>(a & 0xffff_0000, a << 16)
}

/// `cvt.rn.bf16x2.ue8m0x2`: exact.
#[inline(always)]
pub fn bf16x2_from_scales(a: u16) -> u32 {
    let one = |a: u8| match a {
        SCALE_NAN => half::NAN,
        // 2^-127 is subnormal.
        0 => 1 << (Bf16::FRACTION - 1),
        exponent => (exponent as u16) << Bf16::FRACTION,
    };
    pack(one(a as u8), one((a >> 8) as u8))
}
