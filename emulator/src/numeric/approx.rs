//! `.approx` and `.full` forms (PTX ISA, "Floating-Point Instructions" and "Half Precision Floating-Point
//! Instructions").
//!
//! The ISA bounds the error of these and leaves the value open; here they have the bits of an H200: what its special function units return
//! (`special_functions`), in the sequences that ptxas emits. `FTZ` is `.ftz`.

use super::cvt;
use super::fp32;
use super::fp64;
use super::half::{self, Half};
use super::rounding::{Nearest, Zero};
use super::special_functions;

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
    special_functions::lg2::<FTZ>(a)
}

/// `sin.approx{.ftz}.f32`: `.ftz` makes no difference.
#[inline(always)]
pub fn sin<const FTZ: bool>(a: u32) -> u32 {
    special_functions::sin(a)
}

/// `cos.approx{.ftz}.f32`: `.ftz` makes no difference.
#[inline(always)]
pub fn cos<const FTZ: bool>(a: u32) -> u32 {
    special_functions::cos(a)
}

/// `sin.approx.ftz.2pi.f32`: of an angle in turns.
#[inline(always)]
pub fn sin_2pi(a: u32) -> u32 {
    special_functions::sin_2pi(a)
}

/// `cos.approx.ftz.2pi.f32`: of an angle in turns.
#[inline(always)]
pub fn cos_2pi(a: u32) -> u32 {
    special_functions::cos_2pi(a)
}

/// `tanh.approx.f32`
#[inline(always)]
pub fn tanh_f32(a: u32) -> u32 {
    special_functions::tanh(a)
}

/// The result of a half-precision form: that of the unit, cut off, but infinity where it is too large.
#[inline(always)]
fn half_result<H: Half>(a: u32) -> u16 {
    let too_large = (127 + (1 << (H::EXPONENT - 1))) << 23;
    let is_infinite = a & !fp32::SIGN >= too_large && a & !fp32::SIGN <= fp32::INFINITY;
    let finite = cvt::round_half::<H, Zero>(f32::from_bits(a));
    if is_infinite { (a >> 16) as u16 & half::SIGN | H::INF } else { finite }
}

/// `ex2.approx.f16` (`FTZ` false) and `ex2.approx.ftz.bf16` (`FTZ` true)
#[inline(always)]
pub fn ex2_half<H: Half, const FTZ: bool>(a: u16) -> u16 {
    half_result::<H>(special_functions::ex2::<true>(H::widen(a).to_bits()))
}

/// `ex2.approx.f16x2`, `ex2.approx.ftz.bf16x2`
#[inline(always)]
pub fn ex2_x2<H: Half, const FTZ: bool>(a: u32) -> u32 {
    half::pack(ex2_half::<H, FTZ>(a as u16), ex2_half::<H, FTZ>((a >> 16) as u16))
}

/// `tanh.approx.{f16,bf16}`
#[inline(always)]
pub fn tanh_half<H: Half>(a: u16) -> u16 {
    half_result::<H>(special_functions::tanh(H::widen(a).to_bits()))
}

/// `tanh.approx.{f16x2,bf16x2}`
#[inline(always)]
pub fn tanh_x2<H: Half>(a: u32) -> u32 {
    half::pack(tanh_half::<H>(a as u16), tanh_half::<H>((a >> 16) as u16))
}

/// `rsqrt.approx.f64`: as ptxas has it.
#[inline(always)]
pub fn rsqrt_f64(a: u64) -> u64 {
    if (a >> 52).wrapping_sub(1) < 0x7fe { rsqrt_refined(a) } else { rsqrt_f64_of_others(a) }
}

/// Of a positive normal number: a step of the third order from the upper word's.
#[inline(always)]
fn rsqrt_refined(a: u64) -> u64 {
    let near = u64::from(special_functions::rsqrt_of_upper_word((a >> 32) as u32)) << 32;
    let (x, near) = (f64::from_bits(a), f64::from_bits(near));
    let error = x.mul_add(-(near * near), 1.0);
    error.mul_add(0.375, 0.5).mul_add(near * error, near).to_bits()
}

#[cold]
fn rsqrt_f64_of_others(a: u64) -> u64 {
    let x = f64::from_bits(a);
    if x == 0.0 {
        return a | INFINITY;
    }
    if x.is_nan() || x < 0.0 {
        return fp64::finish(f64::NAN, a, a, a);
    }
    if a == INFINITY {
        return 0;
    }
    let scaled = rsqrt_refined((x * 18_014_398_509_481_984.0).to_bits());
    (f64::from_bits(scaled) * 134_217_728.0).to_bits()
}

const INFINITY: u64 = 0x7ff0_0000_0000_0000;
/// Infinity, and the NaN of `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`, in upper words.
const INFINITY_HIGH: u32 = 0x7ff0_0000;
const NAN_HIGH: u32 = 0x7fff_ffff;

/// `rcp.approx.ftz.f64`: sees upper words only.
#[inline(always)]
pub fn rcp_ftz_f64(a: u64) -> u64 {
    let high = (a >> 32) as u32;
    let (sign, magnitude) = (high & fp32::SIGN, high & !fp32::SIGN);
    let number = if magnitude > INFINITY_HIGH {
        NAN_HIGH
    } else if magnitude == INFINITY_HIGH {
        sign
    } else if magnitude < 1 << 20 {
        sign | INFINITY_HIGH
    } else {
        special_functions::rcp_of_upper_word(high)
    };
    u64::from(number) << 32
}

/// `rsqrt.approx.ftz.f64`: sees upper words only.
#[inline(always)]
pub fn rsqrt_ftz_f64(a: u64) -> u64 {
    let high = (a >> 32) as u32;
    let (sign, magnitude) = (high & fp32::SIGN, high & !fp32::SIGN);
    let number = if magnitude < 1 << 20 {
        sign | INFINITY_HIGH
    } else if high > INFINITY_HIGH {
        NAN_HIGH
    } else if high == INFINITY_HIGH {
        0
    } else {
        special_functions::rsqrt_of_upper_word(high)
    };
    u64::from(number) << 32
}
