//! `.f64` arithmetic (PTX ISA, "Floating-Point Instructions"). Operands and results are register bits.
//!
//! `R` is the rounding modifier; `.f64` has neither `.ftz` nor `.sat`. NaN results: the ISA says that
//! payloads are supported and no more. Here a NaN operand wins, made quiet: of several the second in `add`, `sub`
//! and `mul`, the first in `div`, and in `fma` the second, else the third. An invalid operation gives [`NAN`]. All as
//! on an H200.

use super::exact::{Exact, F64};
use super::rounding::{Mode, Rounding};

/// The NaN of an invalid operation.
pub const NAN: u64 = 0xfff8_0000_0000_0000;
/// The sign bit.
pub const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7ff0_0000_0000_0000;
const QUIET: u64 = 0x0008_0000_0000_0000;

/// Is `a` a NaN?
#[inline(always)]
pub fn is_nan(a: u64) -> bool {
    a & !SIGN > INFINITY
}

/// Bits of `r`, or if it is a NaN the first NaN of `a`, `b`, `c`, made quiet, or else [`NAN`].
#[inline(always)]
pub fn finish(r: f64, a: u64, b: u64, c: u64) -> u64 {
    let nan = if is_nan(c) { c | QUIET } else { NAN };
    let nan = if is_nan(b) { b | QUIET } else { nan };
    let nan = if is_nan(a) { a | QUIET } else { nan };
    if r.is_nan() { nan } else { r.to_bits() }
}

#[inline(always)]
fn is_finite2(a: u64, b: u64) -> bool {
    is_finite(a) & is_finite(b)
}

/// `add{.rnd}.f64`
#[inline(always)]
pub fn add<R: Rounding>(a: u64, b: u64) -> u64 {
    if R::MODE != Mode::Nearest && is_finite2(a, b) {
        return add_directed(a, b, R::MODE);
    }
    finish(f64::from_bits(a) + f64::from_bits(b), b, a, b)
}

fn add_directed(a: u64, b: u64, mode: Mode) -> u64 {
    Exact::unpack::<F64>(a).add(Exact::unpack::<F64>(b), mode).round::<F64>(mode)
}

/// `sub{.rnd}.f64`
#[inline(always)]
pub fn sub<R: Rounding>(a: u64, b: u64) -> u64 {
    if R::MODE != Mode::Nearest && is_finite2(a, b) {
        return add_directed(a, b ^ SIGN, R::MODE);
    }
    finish(f64::from_bits(a) - f64::from_bits(b), b, a, b)
}

/// The same with the operands the other way round for what is kept of two NaN: `-b + a`.
#[inline(always)]
pub fn sub_reversed<R: Rounding>(a: u64, b: u64) -> u64 {
    if R::MODE != Mode::Nearest && is_finite2(a, b) {
        return add_directed(a, b ^ SIGN, R::MODE);
    }
    finish(f64::from_bits(a) - f64::from_bits(b), a, b, a)
}

/// `mul{.rnd}.f64`
#[inline(always)]
pub fn mul<R: Rounding>(a: u64, b: u64) -> u64 {
    if R::MODE != Mode::Nearest && is_finite2(a, b) {
        return mul_directed(a, b, R::MODE);
    }
    finish(f64::from_bits(a) * f64::from_bits(b), b, a, b)
}

fn mul_directed(a: u64, b: u64, mode: Mode) -> u64 {
    Exact::unpack::<F64>(a).multiply(Exact::unpack::<F64>(b)).round::<F64>(mode)
}

/// `fma.rnd.f64` (also `mad.rnd.f64`). `.rn` uses `f64::mul_add`: one instruction where the caller has the
/// `fma` target feature, a slow library call elsewhere, the same bits in both.
#[inline(always)]
pub fn fma<R: Rounding>(a: u64, b: u64, c: u64) -> u64 {
    if R::MODE != Mode::Nearest && is_finite2(a, b) && is_finite(c) {
        return fma_directed(a, b, c, R::MODE);
    }
    finish(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)), b, c, a)
}

fn fma_directed(a: u64, b: u64, c: u64, mode: Mode) -> u64 {
    let product = Exact::unpack::<F64>(a).multiply(Exact::unpack::<F64>(b));
    product.add(Exact::unpack::<F64>(c), mode).round::<F64>(mode)
}

/// `div.rnd.f64`
#[inline(always)]
pub fn div<R: Rounding>(a: u64, b: u64) -> u64 {
    if R::MODE != Mode::Nearest && is_finite2(a, b) && b & !SIGN != 0 {
        return div_directed(a, b, R::MODE);
    }
    finish(f64::from_bits(a) / f64::from_bits(b), a, b, a)
}

fn div_directed(a: u64, b: u64, mode: Mode) -> u64 {
    Exact::unpack::<F64>(a).divide(Exact::unpack::<F64>(b)).round::<F64>(mode)
}

/// `rcp.rnd.f64`
#[inline(always)]
pub fn rcp<R: Rounding>(a: u64) -> u64 {
    div::<R>(1f64.to_bits(), a)
}

/// `sqrt.rnd.f64`
#[inline(always)]
pub fn sqrt<R: Rounding>(a: u64) -> u64 {
    if R::MODE != Mode::Nearest && a < INFINITY {
        return sqrt_directed(a, R::MODE);
    }
    finish(f64::from_bits(a).sqrt(), a, a, a)
}

fn sqrt_directed(a: u64, mode: Mode) -> u64 {
    Exact::unpack::<F64>(a).square_root().round::<F64>(mode)
}

/// `abs.f64`: a NaN keeps its sign and is made quiet.
#[inline(always)]
pub fn abs(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a & !SIGN }
}

/// `neg.f64`: a NaN keeps its sign and is made quiet.
#[inline(always)]
pub fn neg(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a ^ SIGN }
}

/// `copysign.f64 d, a, b`: the magnitude of `b` with the sign of `a`.
#[inline(always)]
pub fn copysign(a: u64, b: u64) -> u64 {
    (a & SIGN) | (b & !SIGN)
}

/// Order of the bits as numbers, `-0` below `+0`.
#[inline(always)]
fn key(a: u64) -> i64 {
    (a ^ (((a as i64) >> 63) as u64 >> 1)) as i64
}

#[inline(always)]
fn select(a: u64, b: u64, a_first: bool) -> u64 {
    let number = if a_first { a } else { b };
    let number = if is_nan(a) { b } else { number };
    let number = if is_nan(b) { a } else { number };
    // Two NaNs: the compiler's sequence takes the second, made quiet.
    if is_nan(a) & is_nan(b) { b | QUIET } else { number }
}

/// `min.f64`: a number beats a NaN; `-0 < +0`.
#[inline(always)]
pub fn min(a: u64, b: u64) -> u64 {
    select(a, b, key(a) < key(b))
}

/// `max.f64`: a number beats a NaN; `-0 < +0`.
#[inline(always)]
pub fn max(a: u64, b: u64) -> u64 {
    select(a, b, key(a) > key(b))
}

/// `testp.finite.f64`
#[inline(always)]
pub fn is_finite(a: u64) -> bool {
    a & INFINITY != INFINITY
}

/// `testp.infinite.f64`
#[inline(always)]
pub fn is_infinite(a: u64) -> bool {
    a & !SIGN == INFINITY
}

/// `testp.normal.f64`: zeros count as normal.
#[inline(always)]
pub fn is_normal(a: u64) -> bool {
    is_finite(a) & !is_subnormal(a)
}

/// `testp.subnormal.f64`
#[inline(always)]
pub fn is_subnormal(a: u64) -> bool {
    (a & INFINITY == 0) & (a & !SIGN != 0)
}
