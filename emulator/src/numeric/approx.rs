//! `.approx` and `.full` forms (PTX ISA, "Floating-Point Instructions" and "Half Precision Floating-Point
//! Instructions").
//!
//! The ISA bounds the error of these and leaves the value open; hardware has its own. `rcp`, `rsqrt`, `sqrt`, `ex2` and `div`, `.f32`, have that of an
//! H200 (`special_functions`). The others are computed in `f64` and rounded once, which lies within every bound, and special values follow the
//! ISA's tables. Only `f64` arithmetic is used, never the host's mathematical library (except for sines of arguments past 2^20),
//! so that results do not depend on the platform. `FTZ` is `.ftz`.

use super::fp32::{self, flush};
use super::fp64;
use super::half::{self, Half};
use super::rounding::{INTEGER, Nearest};
use super::special_functions;
use std::f64::consts::{FRAC_2_PI, LN_2, LOG2_E};

/// Evaluates a polynomial with the given coefficients, constant term first.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = 0.0;
    let mut i = N;
    while i > 0 {
        i -= 1;
        sum = sum * x + coefficients[i];
    }
    sum
}

/// 2^x for any x, saturating far outside the range of `f32`. NaN gives some number.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let x = if x < 300.0 { x } else { 300.0 };
    let x = if x > -300.0 { x } else { -300.0 };
    let shifted = x + INTEGER;
    let fraction = (x - (shifted - INTEGER)) * LN_2;
    let series = polynomial(
        fraction,
        [
            1.0,
            1.0,
            1.0 / 2.0,
            1.0 / 6.0,
            1.0 / 24.0,
            1.0 / 120.0,
            1.0 / 720.0,
            1.0 / 5_040.0,
            1.0 / 40_320.0,
            1.0 / 362_880.0,
            1.0 / 3_628_800.0,
            1.0 / 39_916_800.0,
        ],
    );
    // The integer part goes straight into the exponent field.
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    series * scale
}

/// log2 of a positive normal number.
#[inline(always)]
fn log2(x: f64) -> f64 {
    // Split so that the mantissa lies around 1: [sqrt(1/2), sqrt(2)).
    let bits = x.to_bits();
    let offset = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = ((offset as i64) >> 52) as i32 as f64;
    let mantissa = f64::from_bits(bits.wrapping_sub(offset & 0xfff0_0000_0000_0000));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let series = polynomial(
        s * s,
        [
            1.0,
            1.0 / 3.0,
            1.0 / 5.0,
            1.0 / 7.0,
            1.0 / 9.0,
            1.0 / 11.0,
            1.0 / 13.0,
            1.0 / 15.0,
            1.0 / 17.0,
            1.0 / 19.0,
        ],
    );
    exponent + 2.0 * LOG2_E * (s * series)
}

/// Nearest multiple of pi/2, as a count, and the rest.
#[inline(always)]
fn quadrant(x: f64) -> (u64, f64) {
    // pi/2 in three parts; the first two have 33 bits, so that their products with a count below 2^20 are
    // exact.
    const PARTS: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];
    let shifted = x * FRAC_2_PI + INTEGER;
    let count = shifted - INTEGER;
    (shifted.to_bits(), ((x - count * PARTS[0]) - count * PARTS[1]) - count * PARTS[2])
}

/// sin(x + quarters * pi/2) for |x| below 2^20.
#[inline(always)]
fn sine_reduced(x: f64, quarters: u64) -> f64 {
    let (count, r) = quadrant(x);
    let count = count.wrapping_add(quarters);
    let rr = r * r;
    let sine = r * polynomial(
        rr,
        [
            1.0,
            -1.0 / 6.0,
            1.0 / 120.0,
            -1.0 / 5_040.0,
            1.0 / 362_880.0,
            -1.0 / 39_916_800.0,
            1.0 / 6_227_020_800.0,
            -1.0 / 1_307_674_368_000.0,
        ],
    );
    let cosine = polynomial(
        rr,
        [
            1.0,
            -1.0 / 2.0,
            1.0 / 24.0,
            -1.0 / 720.0,
            1.0 / 40_320.0,
            -1.0 / 3_628_800.0,
            1.0 / 479_001_600.0,
            -1.0 / 87_178_291_200.0,
            1.0 / 20_922_789_888_000.0,
        ],
    );
    let value = if count & 1 == 0 { sine } else { cosine };
    if count & 2 == 0 { value } else { -value }
}

/// tanh(x) for any x. NaN gives some number.
#[inline(always)]
fn tanh(x: f64) -> f64 {
    let xx = x * x;
    let small = x * polynomial(
        xx,
        [1.0, -1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2_835.0, -1_382.0 / 155_925.0],
    );
    let power = exp2(x * (2.0 * LOG2_E));
    let large = (power - 1.0) / (power + 1.0);
    if xx < 1.0 / 256.0 { small } else { large }
}

/// The operand of an `.f32` form, after `.ftz`.
#[inline(always)]
fn operand<const FTZ: bool>(a: u32) -> f64 {
    f32::from_bits(flush::<FTZ>(a)) as f64
}

/// The result of an `.f32` form, `y` for the operand `x`.
#[inline(always)]
fn result<const FTZ: bool>(x: f64, y: f64) -> u32 {
    let number = fp32::round::<Nearest, FTZ, false>(y);
    if x.is_nan() { fp32::NAN } else { number }
}

/// `rcp.approx{.ftz}.f32`
#[inline(always)]
pub fn rcp<const FTZ: bool>(a: u32) -> u32 {
    special_functions::rcp::<FTZ>(a)
}

/// `sqrt.approx{.ftz}.f32`
#[inline(always)]
pub fn sqrt<const FTZ: bool>(a: u32) -> u32 {
    special_functions::sqrt::<FTZ>(a)
}

/// A quotient as the product with a reciprocal.
#[inline(always)]
fn quotient<const FTZ: bool>(a: u32, b: u32) -> u32 {
    fp32::mul::<Nearest, FTZ, false>(a, special_functions::rcp::<true>(b))
}

/// `div.full{.ftz}.f32`: as ptxas has it, by [`div`] of both operands a quarter as large where the divisor's reciprocal would be too small.
#[inline(always)]
pub fn div_full<const FTZ: bool>(a: u32, b: u32) -> u32 {
    let scaled = |x| fp32::mul::<Nearest, FTZ, false>(x, 0.25f32.to_bits());
    if is_huge(b) { quotient::<FTZ>(scaled(a), scaled(b)) } else { div::<FTZ>(a, b) }
}

/// `div.approx{.ftz}.f32`: as ptxas has it. For `2^126 < |b| < 2^128` the reciprocal is zero, and so is the result, or NaN, as the ISA says.
#[inline(always)]
pub fn div<const FTZ: bool>(a: u32, b: u32) -> u32 {
    let scaled = |x| fp32::mul::<Nearest, false, false>(x, 16_777_216f32.to_bits());
    let is_tiny = b & fp32::INFINITY == 0;
    if !FTZ && is_tiny { quotient::<false>(scaled(a), scaled(b)) } else { quotient::<FTZ>(a, b) }
}

/// Beyond 2^126, or infinity.
#[inline(always)]
fn is_huge(b: u32) -> bool {
    let magnitude = b & !fp32::SIGN;
    magnitude > 0x7e80_0000 && magnitude <= fp32::INFINITY
}

/// `rsqrt.approx{.ftz}.f32`
#[inline(always)]
pub fn rsqrt<const FTZ: bool>(a: u32) -> u32 {
    special_functions::rsqrt::<FTZ>(a)
}

/// `ex2.approx{.ftz}.f32`
#[inline(always)]
pub fn ex2<const FTZ: bool>(a: u32) -> u32 {
    special_functions::ex2::<FTZ>(a)
}

/// `lg2.approx{.ftz}.f32`
#[inline(always)]
pub fn lg2<const FTZ: bool>(a: u32) -> u32 {
    let x = operand::<FTZ>(a);
    let number = if x < f64::INFINITY { log2(x) } else { x };
    let number = if x > 0.0 { number } else { f64::NAN };
    result::<FTZ>(x, if x == 0.0 { f64::NEG_INFINITY } else { number })
}

/// Up to here the sine's argument is reduced by our own arithmetic.
const REDUCIBLE: f64 = 1_048_576.0;

/// `sin.approx{.ftz}.f32`: the sine of the argument as it is, however large (hardware's error grows with it).
#[inline(always)]
pub fn sin<const FTZ: bool>(a: u32) -> u32 {
    let x = operand::<FTZ>(a);
    let y = if x.abs() < REDUCIBLE { sine_reduced(x, 0) } else { x.sin() };
    // The reduction loses the sign of zero.
    result::<FTZ>(x, if x == 0.0 { x } else { y })
}

/// `cos.approx{.ftz}.f32`: the cosine of the argument as it is, however large (hardware's error grows with
/// it).
#[inline(always)]
pub fn cos<const FTZ: bool>(a: u32) -> u32 {
    let x = operand::<FTZ>(a);
    result::<FTZ>(x, if x.abs() < REDUCIBLE { sine_reduced(x, 1) } else { x.cos() })
}

/// `tanh.approx.f32`
#[inline(always)]
pub fn tanh_f32(a: u32) -> u32 {
    let x = operand::<false>(a);
    result::<false>(x, tanh(x))
}

/// The result of a half-precision form, `y` for the operand `x`.
#[inline(always)]
fn half_result<H: Half, const FTZ: bool>(x: f64, y: f64) -> u16 {
    let number = half::finish::<H, FTZ, false>(half::to_odd_f32(y));
    if x.is_nan() { half::NAN } else { number }
}

/// `ex2.approx.f16` (`FTZ` false) and `ex2.approx.ftz.bf16` (`FTZ` true)
#[inline(always)]
pub fn ex2_half<H: Half, const FTZ: bool>(a: u16) -> u16 {
    let x = H::widen(half::flush::<H, FTZ>(a)) as f64;
    half_result::<H, FTZ>(x, exp2(x))
}

/// `ex2.approx.f16x2`, `ex2.approx.ftz.bf16x2`
#[inline(always)]
pub fn ex2_x2<H: Half, const FTZ: bool>(a: u32) -> u32 {
    half::pack(ex2_half::<H, FTZ>(a as u16), ex2_half::<H, FTZ>((a >> 16) as u16))
}

/// `tanh.approx.{f16,bf16}`
#[inline(always)]
pub fn tanh_half<H: Half>(a: u16) -> u16 {
    let x = H::widen(a) as f64;
    half_result::<H, false>(x, tanh(x))
}

/// `tanh.approx.{f16x2,bf16x2}`
#[inline(always)]
pub fn tanh_x2<H: Half>(a: u32) -> u32 {
    half::pack(tanh_half::<H>(a as u16), tanh_half::<H>((a >> 16) as u16))
}

/// `rsqrt.approx.f64`: within an ulp or two.
#[inline(always)]
pub fn rsqrt_f64(a: u64) -> u64 {
    fp64::finish(1.0 / f64::from_bits(a).sqrt(), a, a, a)
}

/// The NaN of `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`.
const NAN_HIGH: u64 = 0x7fff_ffff_0000_0000;

/// `a` with a subnormal replaced by zero of its sign.
#[inline(always)]
fn flush_f64(a: u64) -> u64 {
    if a & 0x7ff0_0000_0000_0000 == 0 { a & fp64::SIGN } else { a }
}

/// What the forms of `.f64` that see only upper words read.
#[inline(always)]
fn upper_word(a: u64) -> f64 {
    f64::from_bits(flush_f64(a & !0xffff_ffff))
}

/// What they write: rounded to an upper word, the lower zero.
#[inline(always)]
fn to_upper_word(y: f64) -> u64 {
    let rounded = flush_f64(y.to_bits().wrapping_add(0x8000_0000) & !0xffff_ffff);
    if y.is_nan() { NAN_HIGH } else { rounded }
}

/// `rcp.approx.ftz.f64`: the reciprocal of the upper word, rounded to an upper word.
#[inline(always)]
pub fn rcp_ftz_f64(a: u64) -> u64 {
    to_upper_word(1.0 / upper_word(a))
}

/// `rsqrt.approx.ftz.f64`: the reciprocal square root of the upper word, rounded to an upper word.
#[inline(always)]
pub fn rsqrt_ftz_f64(a: u64) -> u64 {
    to_upper_word(1.0 / upper_word(a).sqrt())
}
