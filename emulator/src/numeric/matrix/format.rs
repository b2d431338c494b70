//! The formats of the numbers that matrix units multiply and add.

use super::super::exact::{Exact, F16, F32};
use super::super::fp32;
use super::super::half::{self, f16_to_f32, f32_to_f16, to_odd_f32};
use super::super::rounding::{Mode, Nearest};

/// A format of A and B.
pub trait Factor {
    /// Its bits.
    const BITS: usize;
    /// The exponent of its subnormal numbers, as the unit has them.
    const LOWEST: i32;
    /// The value.
    fn widen(bits: u32) -> f32;
}

/// `.f16`
#[derive(Clone, Copy, Debug)]
pub struct Float16;
/// `.bf16`
#[derive(Clone, Copy, Debug)]
pub struct Bfloat16;
/// `.tf32`
#[derive(Clone, Copy, Debug)]
pub struct Tf32;
/// `.e4m3`
#[derive(Clone, Copy, Debug)]
pub struct E4m3;
/// `.e5m2`
#[derive(Clone, Copy, Debug)]
pub struct E5m2;

impl Factor for Float16 {
    const BITS: usize = 16;
    const LOWEST: i32 = -14;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        // The fraction in its place; the exponent lacks the difference of the two formats' biases, which is also right for a
        // subnormal number.
        let magnitude = (bits & 0x7fff) << 13;
        let scaled = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
        let special = if magnitude >= 0x0f80_0000 { 0x7f80_0000 } else { 0 };
        f32::from_bits(scaled | special | (bits & 0x8000) << 16)
    }
}

impl Factor for Bfloat16 {
    const BITS: usize = 16;
    const LOWEST: i32 = -126;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }
}

impl Factor for Tf32 {
    const BITS: usize = 32;
    const LOWEST: i32 = -126;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(bits & !0x1fff)
    }
}

// The units of an H200 have no numbers of 8 bits here: they are converted to `.f16` first.
impl Factor for E4m3 {
    const BITS: usize = 8;
    const LOWEST: i32 = -14;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        // As a number of `.f16`, it lacks a factor of 2^8.
        let (sign, magnitude) = ((bits & 0x80) << 8, bits & 0x7f);
        let value = f16_to_f32((sign | magnitude << 7) as u16) * 256.0;
        if magnitude == 0x7f { f32::NAN } else { value }
    }
}

impl Factor for E5m2 {
    const BITS: usize = 8;
    const LOWEST: i32 = -14;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f16_to_f32((bits << 8) as u16)
    }
}

/// `.e4m3` where the unit has it.
#[derive(Clone, Copy, Debug)]
pub struct E4m3Itself;

impl Factor for E4m3Itself {
    const BITS: usize = 8;
    const LOWEST: i32 = -6;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        E4m3::widen(bits)
    }
}

/// A format of C and D.
pub trait Accumulator {
    /// Binary places that are kept below the largest exponent.
    const PLACES: i32;
    /// The exponent of its subnormal numbers.
    const LOWEST: i32;
    /// The exponent below which the largest one does not go.
    const FLOOR: i32;
    /// The canonical NaN.
    const NAN: u32;
    /// The value.
    fn widen(bits: u32) -> f32;
    /// A sum of moderate exponent, in units of that power of two.
    fn round(sum: f64, unit: f32) -> u32;
    /// A sum of any exponent.
    fn round_exact(sum: Exact) -> u32;
    /// `add.rn`
    fn add(a: u32, b: u32) -> u32;
    /// An infinity.
    fn infinity(negative: bool) -> u32;
}

/// `.f32`
#[derive(Clone, Copy, Debug)]
pub struct Single;

impl Accumulator for Single {
    const PLACES: i32 = 25;
    const LOWEST: i32 = -126;
    const FLOOR: i32 = -133;
    const NAN: u32 = 0x7fff_ffff;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
    #[inline(always)]
    fn round(sum: f64, unit: f32) -> u32 {
        // Cut to the 24 bits of the target: what is left is one of its numbers.
        (f64::from_bits(sum.to_bits() & !((1 << 29) - 1)) as f32 * unit).to_bits()
    }
    fn round_exact(sum: Exact) -> u32 {
        let rounded = sum.round::<F32>(Mode::Zero) as u32;
        // Rounding towards zero would stop at the largest number; the unit does not.
        let overflows = sum.significand != 0 && sum.significand.ilog2() as i32 + sum.exponent > 127;
        if overflows { Self::infinity(sum.negative) } else { positive_zero(rounded, 0x7fff_ffff) }
    }
    #[inline(always)]
    fn add(a: u32, b: u32) -> u32 {
        fp32::add::<Nearest, false, false>(a, b)
    }
    fn infinity(negative: bool) -> u32 {
        0x7f80_0000 | u32::from(negative) << 31
    }
}

/// `.f16`
#[derive(Clone, Copy, Debug)]
pub struct Short;

impl Accumulator for Short {
    const PLACES: i32 = 25;
    const LOWEST: i32 = -14;
    const FLOOR: i32 = -21;
    const NAN: u32 = 0x7fff;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f16_to_f32(bits as u16)
    }
    #[inline(always)]
    fn round(sum: f64, unit: f32) -> u32 {
        positive_zero(u32::from(f32_to_f16(to_odd_f32(sum) * unit)), 0x7fff)
    }
    fn round_exact(sum: Exact) -> u32 {
        positive_zero(sum.round::<F16>(Mode::Nearest) as u32, 0x7fff)
    }
    #[inline(always)]
    fn add(a: u32, b: u32) -> u32 {
        u32::from(half::add::<half::F16, false, false>(a as u16, b as u16))
    }
    fn infinity(negative: bool) -> u32 {
        0x7c00 | u32::from(negative) << 15
    }
}

/// `.f32` of which 13 places of the fraction are used.
#[derive(Clone, Copy, Debug)]
pub struct CoarseSingle;

impl CoarseSingle {
    /// The bits of the fraction that stay zero.
    const UNUSED: u32 = (1 << 10) - 1;
}

impl Accumulator for CoarseSingle {
    const PLACES: i32 = 13;
    const LOWEST: i32 = Single::LOWEST;
    const FLOOR: i32 = Single::FLOOR;
    const NAN: u32 = Single::NAN;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        Single::widen(bits)
    }
    #[inline(always)]
    fn round(sum: f64, unit: f32) -> u32 {
        (f64::from_bits(sum.to_bits() & !((1 << 39) - 1)) as f32 * unit).to_bits()
    }
    fn round_exact(sum: Exact) -> u32 {
        positive_zero(Single::round_exact(sum) & !Self::UNUSED, 0x7fff_ffff)
    }
    #[inline(always)]
    fn add(a: u32, b: u32) -> u32 {
        Single::add(a, b)
    }
    fn infinity(negative: bool) -> u32 {
        Single::infinity(negative)
    }
}

/// `.f16` from such sums.
#[derive(Clone, Copy, Debug)]
pub struct CoarseShort;

impl Accumulator for CoarseShort {
    const PLACES: i32 = 13;
    const LOWEST: i32 = Short::LOWEST;
    const FLOOR: i32 = Short::FLOOR;
    const NAN: u32 = Short::NAN;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        Short::widen(bits)
    }
    #[inline(always)]
    fn round(sum: f64, unit: f32) -> u32 {
        Short::round(sum, unit)
    }
    fn round_exact(sum: Exact) -> u32 {
        Short::round_exact(sum)
    }
    #[inline(always)]
    fn add(a: u32, b: u32) -> u32 {
        Short::add(a, b)
    }
    fn infinity(negative: bool) -> u32 {
        Short::infinity(negative)
    }
}

/// `bits`, but of the two zeros the positive one.
#[inline(always)]
fn positive_zero(bits: u32, magnitude: u32) -> u32 {
    if bits & magnitude == 0 { 0 } else { bits }
}
