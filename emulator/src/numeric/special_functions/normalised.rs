//! `lg2`, `sin`, `cos` and `tanh`: their values have a fixed point, and are normalised, and cut off, last.

use super::interpolator::{FRACTION, FRACTIONS, LG2, PLACES, SINE, TANH};
use super::{BIAS, INFINITY, NAN, SIGN, is_positive_and_normal, is_zero};

pub(super) const ONE: u32 = (BIAS as u32) << FRACTION;

/// A number below 2^52 of such units, cut off behind 24 bits.
#[inline(always)]
fn normalised(value: i64, unit: f64) -> u32 {
    // In the lowest bits of a number whose lowest bit is one.
    const UNITS: f64 = (1_u64 << 52) as f64;
    let number = f64::from_bits(UNITS.to_bits() | value as u64) - UNITS;
    let lost = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;
    let cut = f64::from_bits(number.to_bits() >> lost << lost);
    ((cut * unit) as f32).to_bits()
}

/// 2 to the power of minus this, which is small.
#[inline(always)]
const fn places(number: u32) -> f64 {
    f64::from_bits((1023 - number as u64) << 52)
}

/// `lg2.approx{.ftz}.f32`
#[inline(always)]
pub(crate) fn lg2<const FTZ: bool>(a: u32) -> u32 {
    if is_positive_and_normal(a) { logarithm(a) } else { lg2_of_others::<FTZ>(a) }
}

#[cold]
fn lg2_of_others<const FTZ: bool>(a: u32) -> u32 {
    let magnitude = a & !SIGN;
    if magnitude <= INFINITY && is_zero::<FTZ>(magnitude) {
        return SIGN | INFINITY;
    }
    if a >= INFINITY {
        return if a == INFINITY { INFINITY } else { NAN };
    }
    // Subnormal: as ptxas has it.
    let scaled = f32::from_bits(a) * 16_777_216.0;
    (f32::from_bits(logarithm(scaled.to_bits())) - 24.0).to_bits()
}

/// Of a positive normal number.
#[inline(always)]
fn logarithm(a: u32) -> u32 {
    logarithm_of(a, LG2.at(a))
}

/// The same with the value for its fraction.
#[inline(always)]
pub(super) fn logarithm_of(a: u32, value: i64) -> u32 {
    const HERE: u32 = 36;
    let exponent = i64::from((a >> FRACTION) as i32 - BIAS);
    let sum = (exponent << HERE) + (value >> (PLACES - HERE));
    // Of a negative one the complement.
    let sign = sum >> 63;
    let number = normalised(sum ^ sign, places(HERE)) | sign as u32 & SIGN;
    if a == ONE { 0 } else { number }
}

/// Binary places of a turn's part that count.
const TURN: u32 = 25;

/// Which part of a turn an angle without its sign is: the product with a rounded 1/(2 pi), cut off as a float, and then to these places.
#[inline(always)]
fn turn(a: u32) -> u32 {
    const PER_TURN: u32 = 0x3e22_f983;
    const SHIFT: i32 = BIAS - (PER_TURN >> FRACTION) as i32;
    let significand = |a: u32| u64::from(a % FRACTIONS + FRACTIONS);
    let product = significand(a) * significand(PER_TURN);
    let carry = (product >> (2 * FRACTION + 1)) as u32;
    let cut = product >> (FRACTION + carry);
    // A subnormal one is too small, whatever its significand.
    let exponent = (a >> FRACTION & 0xff) as i32 - BIAS - SHIFT + carry as i32;
    let up = exponent + (TURN - FRACTION) as i32;
    // More than that leaves nothing of it, or whole turns.
    let shifted = if up < 0 { cut >> (-up).min(63) } else { cut << up.min(63) };
    shifted as u32 % (1 << TURN)
}

/// Which part of a turn an angle in turns without its sign is: the angle, cut off.
#[inline(always)]
fn turn_of_turns(a: u32) -> u32 {
    let up = (a >> FRACTION & 0xff) as i32 - BIAS + (TURN - FRACTION) as i32;
    let significand = u64::from(a % FRACTIONS + FRACTIONS);
    let shifted = if up < 0 { significand >> (-up).min(63) } else { significand << up.min(63) };
    shifted as u32 % (1 << TURN)
}

/// An angle: its quarter of a turn, of which the lowest two bits count, and how far it is inside, as a fraction in the lowest bits.
pub(super) struct Angle {
    pub(super) quarter: u32,
    pub(super) part: u32,
}

/// The angle that so many quarters of a turn are added to.
#[inline(always)]
pub(super) fn angle(a: u32, quarters: u32) -> Angle {
    angle_at(turn(a), quarters)
}

/// The same of a part of a turn.
#[inline(always)]
fn angle_at(turn: u32, quarters: u32) -> Angle {
    let quarter = (turn >> FRACTION) + quarters;
    // In every second quarter backwards.
    Angle { quarter, part: turn ^ (quarter & 1).wrapping_neg() }
}

/// The sine of an angle that so many quarters of a turn are added to.
#[inline(always)]
fn sine(a: u32, quarters: u32) -> u32 {
    let Angle { quarter, part } = angle(a, quarters);
    sine_of(a, quarter, SINE.at(part))
}

/// The same with the value for the part of its quarter.
#[inline(always)]
pub(super) fn sine_of(a: u32, quarter: u32, value: i64) -> u32 {
    let number = normalised(value.min(1 << PLACES), places(PLACES));
    let sign = if quarter & 2 == 0 { 0 } else { SIGN };
    if a & !SIGN < INFINITY { number | sign } else { NAN }
}

/// `sin.approx{.ftz}.f32`
#[inline(always)]
pub(crate) fn sin(a: u32) -> u32 {
    let number = sine(a, 0);
    if number == NAN { NAN } else { number ^ a & SIGN }
}

/// `cos.approx{.ftz}.f32`
#[inline(always)]
pub(crate) fn cos(a: u32) -> u32 {
    sine(a, 1)
}

/// The sine of so many turns and quarters.
#[inline(always)]
fn sine_of_turns(a: u32, quarters: u32) -> u32 {
    let Angle { quarter, part } = angle_at(turn_of_turns(a), quarters);
    sine_of(a, quarter, SINE.at(part))
}

/// `sin.approx.ftz.2pi.f32`: what `sin` does behind its multiplication.
#[inline(always)]
pub(crate) fn sin_2pi(a: u32) -> u32 {
    let number = sine_of_turns(a, 0);
    if number == NAN { NAN } else { number ^ a & SIGN }
}

/// `cos.approx.ftz.2pi.f32`
#[inline(always)]
pub(crate) fn cos_2pi(a: u32) -> u32 {
    sine_of_turns(a, 1)
}

/// How many upper bits of a fraction choose a segment of `tanh`, by octave from 2^-8 on.
const TANH_UPPER: [u32; 11] = [0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3];
/// Bits of the distance in a segment; less ones are left out.
const TANH_REST: u32 = 17;
/// The first segment of each octave.
const TANH_FIRST: [u32; 11] = {
    let mut first = [0; 11];
    let mut octave = 1;
    while octave < first.len() {
        first[octave] = first[octave - 1] + (1 << TANH_UPPER[octave - 1]);
        octave += 1;
    }
    first
};

/// `tanh.approx.f32`: below 2^-8 the operand, from 8 on 1.
#[inline(always)]
pub(crate) fn tanh(a: u32) -> u32 {
    const FIRST: u32 = (BIAS as u32 - 8) << FRACTION;
    const END: u32 = FIRST + ((TANH_UPPER.len() as u32) << FRACTION);
    let (sign, magnitude) = (a & SIGN, a & !SIGN);
    let inside = magnitude.clamp(FIRST, END - 1) - FIRST;
    let (octave, fraction) = ((inside >> FRACTION) as usize, inside % FRACTIONS);
    let (upper, first) = (TANH_UPPER[octave], TANH_FIRST[octave]);
    let segment = first + (fraction >> (FRACTION - upper));
    let distance = fraction >> (FRACTION - TANH_REST - upper) & ((1 << TANH_REST) - 1);
    let value = TANH.0[segment as usize].at(distance, TANH_REST);
    let number = normalised(value, places(PLACES + 7_u32.saturating_sub(octave as u32)));
    let number = if magnitude < FIRST { magnitude } else { number };
    let number = if magnitude < END { number } else { ONE };
    if magnitude > INFINITY { NAN } else { sign | number }
}
