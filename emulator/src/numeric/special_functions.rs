//! The bits that the special function units of an H200 return: `ex2`, `rcp`, `rsqrt`, `sqrt`, `lg2`, `sin`, `cos` and `tanh`, `.approx.f32`, and the
//! upper words of `rcp` and `rsqrt`, `.approx.ftz.f64`.

mod interpolator;
mod normalised;
pub(crate) mod rows;

use interpolator::{EX2, FRACTION, FRACTIONS, RCP, RSQRT, SQRT};
pub(super) use normalised::{cos, cos_2pi, lg2, sin, sin_2pi, tanh};

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0xff << FRACTION;
const NAN: u32 = 0x7fff_ffff;
/// The exponent of 1.
const BIAS: i32 = 127;

/// The exponent, less the bias, and the fraction of a positive number that is not zero, infinity or NaN; a subnormal one is normalised.
#[inline(always)]
fn parts(magnitude: u32) -> (i32, u32) {
    let up = magnitude.leading_zeros() as i32 - (u32::BITS - 1 - FRACTION) as i32;
    if up > 0 {
        // Below the smallest normal number.
        return (1 - up - BIAS, magnitude << up & (FRACTIONS - 1));
    }
    ((magnitude >> FRACTION) as i32 - BIAS, magnitude & (FRACTIONS - 1))
}

/// The number with this exponent, less the bias, whose significand is 1 and this fraction, which may be 1. Below the normal numbers: zero with `FTZ`,
/// else rounded to the nearest, of two the even one; beyond: infinity.
#[inline(always)]
fn number<const FTZ: bool>(exponent: i32, fraction: u32) -> u32 {
    let biased = exponent + BIAS;
    if biased >= 255 {
        return INFINITY;
    }
    if biased > 0 {
        return ((biased as u32) << FRACTION) + fraction;
    }
    if FTZ {
        return if biased == 0 && fraction == FRACTIONS { FRACTIONS } else { 0 };
    }
    let whole = FRACTIONS + fraction;
    let down = (1 - biased) as u32;
    if down > FRACTION + 2 {
        return 0;
    }
    let (kept, rest, half) = (whole >> down, whole & ((1 << down) - 1), 1 << (down - 1));
    kept + u32::from(rest > half || rest == half && kept & 1 == 1)
}

/// `ex2.approx{.ftz}.f32`
#[inline(always)]
pub(super) fn ex2<const FTZ: bool>(a: u32) -> u32 {
    if is_large(a) { ex2_of_large::<FTZ>(a) } else { power(a) }
}

/// Whether it is -126 or less, 126 or more, or NaN.
#[inline(always)]
fn is_large(a: u32) -> bool {
    a & !SIGN >= 126f32.to_bits()
}

#[cold]
fn ex2_of_large<const FTZ: bool>(a: u32) -> u32 {
    let magnitude = a & !SIGN;
    let is_negative = a & SIGN != 0;
    if magnitude > INFINITY {
        return NAN;
    }
    if !is_negative && magnitude >= 128f32.to_bits() {
        return INFINITY;
    }
    if magnitude >= 256f32.to_bits() {
        return 0;
    }
    if !FTZ && is_negative && magnitude > 126f32.to_bits() {
        // The square of that of half of it, as ptxas has it.
        let half = f32::from_bits(power(a - FRACTIONS));
        return (half * half).to_bits();
    }
    power(a)
}

/// 2 to a power whose magnitude is below 256; zero where that is no normal number.
#[inline(always)]
fn power(a: u32) -> u32 {
    // Whole numbers and a fraction; what is smaller is cut off.
    let cut = (f32::from_bits(a) * FRACTIONS as f32) as i32;
    // Of a negative one the complement, which is one less.
    let has_fraction = cut & (FRACTIONS as i32 - 1) != 0;
    let fixed = cut - i32::from(cut < 0 && has_fraction);
    let fraction = EX2.fraction_at(fixed as u32);
    // The sum of both is the number, as the exponent is a normal one's.
    let exponent = (fixed >> FRACTION) + BIAS;
    let number = ((exponent as u32) << FRACTION).wrapping_add(fraction);
    if exponent > 0 { number } else { 0 }
}

/// Whether a number has no sign, and all bits of its fraction.
#[inline(always)]
fn is_positive_and_normal(a: u32) -> bool {
    a.wrapping_sub(FRACTIONS) < INFINITY - FRACTIONS
}

/// What counts as zero.
#[inline(always)]
fn is_zero<const FTZ: bool>(magnitude: u32) -> bool {
    magnitude == 0 || FTZ && magnitude < FRACTIONS
}

/// `rcp.approx{.ftz}.f32`
#[inline(always)]
pub(super) fn rcp<const FTZ: bool>(a: u32) -> u32 {
    if is_at_the_ends(a) {
        return rcp_at_the_ends::<FTZ>(a);
    }
    (a & SIGN) + ((253 - (a >> FRACTION & 0xff)) << FRACTION) + RCP.fraction_at(a)
}

/// Whether it is not normal, or its reciprocal may not be: all but normal numbers below 2^126.
#[inline(always)]
fn is_at_the_ends(a: u32) -> bool {
    (a >> FRACTION & 0xff).wrapping_sub(1) >= 252
}

#[cold]
fn rcp_at_the_ends<const FTZ: bool>(a: u32) -> u32 {
    let (sign, magnitude) = (a & SIGN, a & !SIGN);
    if magnitude > INFINITY {
        return NAN;
    }
    if is_zero::<FTZ>(magnitude) {
        return sign | INFINITY;
    }
    if magnitude == INFINITY {
        return sign;
    }
    let (exponent, fraction) = parts(magnitude);
    sign | number::<FTZ>(-exponent - 1, RCP.fraction_at(fraction))
}

/// The result's fraction, of a biased exponent and a fraction. Of a power of 4 it is exact.
#[inline(always)]
fn rsqrt_fraction(exponent: u32, fraction: u32) -> u32 {
    let number = RSQRT[(exponent & 1) as usize].fraction_at(fraction);
    if exponent & 1 == 1 && fraction.is_multiple_of(FRACTIONS) { FRACTIONS } else { number }
}

/// `rsqrt.approx{.ftz}.f32`
#[inline(always)]
pub(super) fn rsqrt<const FTZ: bool>(a: u32) -> u32 {
    if !is_positive_and_normal(a) {
        return rsqrt_of_others::<FTZ>(a);
    }
    let exponent = a >> FRACTION;
    (((380 - exponent) / 2) << FRACTION) + rsqrt_fraction(exponent, a)
}

#[cold]
fn rsqrt_of_others<const FTZ: bool>(a: u32) -> u32 {
    let (sign, magnitude) = (a & SIGN, a & !SIGN);
    if is_zero::<FTZ>(magnitude) {
        return sign | INFINITY;
    }
    if a >= INFINITY {
        return if a == INFINITY { 0 } else { NAN };
    }
    let (exponent, fraction) = parts(magnitude);
    number::<FTZ>(-(exponent >> 1) - 1, rsqrt_fraction((exponent + BIAS) as u32, fraction))
}

/// `sqrt.approx{.ftz}.f32`
#[inline(always)]
pub(super) fn sqrt<const FTZ: bool>(a: u32) -> u32 {
    if !is_positive_and_normal(a) {
        return sqrt_of_others::<FTZ>(a);
    }
    let exponent = a >> FRACTION;
    (((exponent + 127) / 2) << FRACTION) + SQRT[(exponent & 1) as usize].fraction_at(a)
}

#[cold]
fn sqrt_of_others<const FTZ: bool>(a: u32) -> u32 {
    let (sign, magnitude) = (a & SIGN, a & !SIGN);
    if is_zero::<FTZ>(magnitude) {
        return sign;
    }
    if a >= INFINITY {
        return if a == INFINITY { INFINITY } else { NAN };
    }
    let (exponent, fraction) = parts(magnitude);
    number::<FTZ>(exponent >> 1, SQRT[((exponent + BIAS) & 1) as usize].fraction_at(fraction))
}

/// Bits of the fraction in the upper word of an `f64`; the lower ones of the unit's fraction are zero then, and left out of its result.
const UPPER_FRACTION: u32 = 20;
const UPPER_FRACTIONS: u32 = 1 << UPPER_FRACTION;

/// Of the upper word of a normal `f64`, the upper word of the reciprocal; zero where that is no normal number.
#[inline(always)]
pub(super) fn rcp_of_upper_word(a: u32) -> u32 {
    let fraction = RCP.fraction_at(a << (FRACTION - UPPER_FRACTION)) >> (FRACTION - UPPER_FRACTION);
    let exponent = a >> UPPER_FRACTION & 0x7ff;
    let number = (2045_u32.wrapping_sub(exponent) << UPPER_FRACTION).wrapping_add(fraction);
    (a & SIGN) | if (number as i32) < UPPER_FRACTIONS as i32 { 0 } else { number }
}

/// Of the upper word of a positive normal `f64`, the upper word of the reciprocal square root.
#[inline(always)]
pub(super) fn rsqrt_of_upper_word(a: u32) -> u32 {
    let exponent = a >> UPPER_FRACTION;
    let fraction = rsqrt_fraction(exponent, a << (FRACTION - UPPER_FRACTION));
    (((3068 - exponent) / 2) << UPPER_FRACTION) + (fraction >> (FRACTION - UPPER_FRACTION))
}
