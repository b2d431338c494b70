//! `cvt.rs`: stochastic rounding by random bits that the instruction is given (PTX ISA, "Data Movement and Conversion
//! Instructions: cvt"). They are added to the bits of the magnitude that are cut off, from the highest one on; the carry rounds
//! away from zero.

use super::fp32;
use super::half::{self, Bf16, F16, Half, pack};
use super::minifloat::{self, Minifloat};

/// The magnitude of `a`, which is not NaN, in a format with that fraction, whose smallest normal number has the exponent field
/// `lowest` in `.f32`. `width` is the number of random bits. Too large a number gives bits beyond the format's largest.
#[inline(always)]
fn magnitude(a: u32, fraction: u32, lowest: i32, random: u32, width: u32) -> u32 {
    let field = a >> 23 & 0xff;
    let hidden = (field != 0) as u32;
    let significand = (a & 0x007f_ffff | hidden << 23) as u64;
    // The number of places above the smallest normal number; below it more bits are cut off.
    let places = field.max(1) as i32 - lowest;
    // From the sum's width on, which is at most 40, nothing is left.
    let cut = (23 - fraction + places.min(0).unsigned_abs()).min(width + 24);
    let kept = (significand + ((random as u64) << (cut - width))) >> cut;
    ((places.max(0) as u32) << fraction) + kept as u32
}

/// A 16-bit format that `cvt.rs` rounds to.
pub trait StochasticHalf: Half {
    /// The number of random bits, the lowest of 16.
    const RANDOM: u32;
}
impl StochasticHalf for F16 {
    const RANDOM: u32 = 13;
}
impl StochasticHalf for Bf16 {
    const RANDOM: u32 = 16;
}

/// `cvt.rs{.relu}{.satfinite}` to one half.
#[inline(always)]
fn half<H: StochasticHalf, const RELU: bool, const SATFINITE: bool>(a: u32, random: u16) -> u16 {
    let random = random as u32 & ((1 << H::RANDOM) - 1);
    let largest = if SATFINITE { H::INF - 1 } else { H::INF };
    let rounded =
        magnitude(a, H::FRACTION, 127 + H::MIN_EXPONENT, random, H::RANDOM).min(largest as u32) as u16;
    let negative = a & fp32::SIGN != 0;
    let number = rounded | if negative { half::SIGN } else { 0 };
    let number = if RELU && negative { 0 } else { number };
    if fp32::is_nan(a) { half::NAN } else { number }
}

/// `cvt.rs{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a, b, random`
#[inline(always)]
pub fn half_x2<H: StochasticHalf, const RELU: bool, const SATFINITE: bool>(
    a: u32,
    b: u32,
    random: u32,
) -> u32 {
    let one = half::<H, RELU, SATFINITE>;
    pack(one(b, random as u16), one(a, (random >> 16) as u16))
}

/// `cvt.rs.satfinite{.relu}` to one float of 4, 6 or 8 bits.
#[inline(always)]
fn minifloat<F: Minifloat, const RELU: bool>(a: u32, random: u16) -> u8 {
    let rounded = magnitude(a, F::FRACTION, F::LOWEST, random as u32, 16);
    minifloat::finish::<F, RELU>(f32::from_bits(a), rounded)
}

/// `cvt.rs.satfinite{.relu}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.f32 d, {a, b, e, f}, random`
///
/// Two numbers share 16 random bits, which the first one takes in reverse. `a` and `b` have the upper half of `random`; of
/// `.e2m1x4`, the upper byte of each half.
#[inline(always)]
pub fn minifloat_x4<F: Minifloat, const RELU: bool>(a: u32, b: u32, e: u32, f: u32, random: u32) -> u32 {
    let random = if F::BITS == 4 { middle_bytes_swapped(random) } else { random };
    let (upper, lower) = ((random >> 16) as u16, random as u16);
    let one = |a: u32, random: u16| minifloat::<F, RELU>(a, random) as u32;
    let (ab, ef) = (
        one(a, upper.reverse_bits()) << F::FIELD | one(b, upper),
        one(e, lower.reverse_bits()) << F::FIELD | one(f, lower),
    );
    ab << (2 * F::FIELD) | ef
}

/// Bytes 3, 1, 2, 0 of `a`, from the highest one.
#[inline(always)]
fn middle_bytes_swapped(a: u32) -> u32 {
    a & 0xff00_00ff | (a & 0x00ff_0000) >> 8 | (a & 0x0000_ff00) << 8
}
