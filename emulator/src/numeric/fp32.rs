//! `.f32` arithmetic (PTX ISA, "Floating-Point Instructions"). Operands and results are register bits.
//!
//! `R` is the rounding modifier, `FTZ` is `.ftz` (subnormal inputs and results become zero of the same sign),
//! `SAT` is `.sat` (the result is clamped to `[0, 1]`, NaN becomes `+0`). Every arithmetic result that is NaN
//! is [`NAN`]: the ISA leaves the payload open, the CUDA programming guide names that one.

use super::rounding::{self, Mode, Rounding};

/// The NaN that `.f32` arithmetic returns.
pub const NAN: u32 = 0x7fff_ffff;
/// The sign bit.
pub const SIGN: u32 = 0x8000_0000;
pub const INFINITY: u32 = 0x7f80_0000;

/// `a` with a subnormal replaced by zero of its sign, if `FTZ`.
#[inline(always)]
pub fn flush<const FTZ: bool>(a: u32) -> u32 {
    if FTZ && a & INFINITY == 0 { a & SIGN } else { a }
}

/// Result of an arithmetic instruction: `.ftz`, then `.sat` or else the canonical NaN.
#[inline(always)]
pub fn finish<const FTZ: bool, const SAT: bool>(r: f32) -> u32 {
    finish_tiny::<FTZ, SAT>(r, r * TO_NORMAL)
}

/// Raises the exponents of subnormal numbers well into the normal range.
const TO_NORMAL: f32 = 18_446_744_073_709_551_616.0;
const SMALLEST_NORMAL: f32 = f32::MIN_POSITIVE;

/// As [`finish`], for a result that rounding may have lifted out of the subnormal range. `.ftz` flushes what
/// would be below the smallest normal number if the exponent had no bound: `raised` is the result rounded so,
/// times 2^64. (The compiler's constant folding of `mul` does that, and its sequence for `div`.)
#[inline(always)]
pub fn finish_tiny<const FTZ: bool, const SAT: bool>(r: f32, raised: f32) -> u32 {
    let bits = r.to_bits();
    let tiny = FTZ && raised.abs() < SMALLEST_NORMAL * TO_NORMAL;
    let bits = if tiny { bits & SIGN } else { bits };
    if SAT {
        return saturate(bits);
    }
    if r.is_nan() { NAN } else { bits }
}

/// Rounds an exact (or rounded to odd) `f64` by `R` and finishes it.
#[inline(always)]
pub fn round<R: Rounding, const FTZ: bool, const SAT: bool>(exact: f64) -> u32 {
    let raised = rounding::narrow::<R>(exact * TO_NORMAL as f64);
    finish_tiny::<FTZ, SAT>(rounding::narrow::<R>(exact), raised)
}

/// `.sat`: clamped to `[0, 1]`; NaN and `-0` give `+0`.
#[inline(always)]
pub fn saturate(a: u32) -> u32 {
    let a = f32::from_bits(a);
    let low = if a > 0.0 { a } else { 0.0 };
    (if low < 1.0 { low } else { 1.0 }).to_bits()
}

/// `add{.rnd}{.ftz}{.sat}.f32`
#[inline(always)]
pub fn add<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (f32::from_bits(flush::<FTZ>(a)), f32::from_bits(flush::<FTZ>(b)));
    // A sum is exact where it is subnormal, so that no rounding lifts it out.
    finish::<FTZ, SAT>(match R::MODE {
        Mode::Nearest => a + b,
        _ => {
            let (x, y) = (a as f64, b as f64);
            rounding::narrow::<R>(rounding::zero_sign::<R>(rounding::add_to_odd(x, y), x, y))
        }
    })
}

/// `sub{.rnd}{.ftz}{.sat}.f32`
#[inline(always)]
pub fn sub<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    add::<R, FTZ, SAT>(a, b ^ SIGN)
}

/// `mul{.rnd}{.ftz}{.sat}.f32`
#[inline(always)]
pub fn mul<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (f32::from_bits(flush::<FTZ>(a)), f32::from_bits(flush::<FTZ>(b)));
    match R::MODE {
        Mode::Nearest => finish_tiny::<FTZ, SAT>(a * b, (a * TO_NORMAL) * b),
        // 48 bits and an exponent in range: the product is exact in f64.
        _ => round::<R, FTZ, SAT>(a as f64 * b as f64),
    }
}

/// `fma.rnd{.ftz}{.sat}.f32` (also `mad.rnd.f32`).
///
/// `.rn` uses `f32::mul_add`: one instruction where the caller has the `fma` target feature, a slow library
/// call elsewhere; [`fma_portable`] computes the same bits without it.
#[inline(always)]
pub fn fma<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32, b: u32, c: u32) -> u32 {
    if R::MODE != Mode::Nearest {
        return fma_portable::<R, FTZ, SAT>(a, b, c);
    }
    let (a, b, c) = (flush::<FTZ>(a), flush::<FTZ>(b), flush::<FTZ>(c));
    let (a, b, c) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
    // Where raising overflows, nothing can be tiny: infinite or NaN, `raised` says so too.
    let raised = if FTZ { (a * TO_NORMAL).mul_add(b, c * TO_NORMAL) } else { 0.0 };
    finish_tiny::<FTZ, SAT>(a.mul_add(b, c), raised)
}

/// [`fma`] in plain `f64` additions and multiplications: every mode, every target, vectorisable.
#[inline(always)]
pub fn fma_portable<R: Rounding, const FTZ: bool, const SAT: bool>(a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (flush::<FTZ>(a), flush::<FTZ>(b), flush::<FTZ>(c));
    let product = f32::from_bits(a) as f64 * f32::from_bits(b) as f64;
    let c = f32::from_bits(c) as f64;
    round::<R, FTZ, SAT>(rounding::zero_sign::<R>(rounding::add_to_odd(product, c), product, c))
}

/// `div.rnd{.ftz}.f32`
#[inline(always)]
pub fn div<R: Rounding, const FTZ: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (f32::from_bits(flush::<FTZ>(a)), f32::from_bits(flush::<FTZ>(b)));
    match R::MODE {
        Mode::Nearest => finish_tiny::<FTZ, false>(a / b, if FTZ { (a * TO_NORMAL) / b } else { 0.0 }),
        // A quotient of 24-bit numbers that is not itself one of them differs from all of them by more than
        // 2^-49 of itself: rounding it to 53 bits keeps it on its side.
        _ => round::<R, FTZ, false>(a as f64 / b as f64),
    }
}

/// `rcp.rnd{.ftz}.f32`
#[inline(always)]
pub fn rcp<R: Rounding, const FTZ: bool>(a: u32) -> u32 {
    div::<R, FTZ>(1f32.to_bits(), a)
}

/// `sqrt.rnd{.ftz}.f32`
#[inline(always)]
pub fn sqrt<R: Rounding, const FTZ: bool>(a: u32) -> u32 {
    let a = f32::from_bits(flush::<FTZ>(a));
    finish::<FTZ, false>(match R::MODE {
        Mode::Nearest => a.sqrt(),
        // As for quotients: a root of a 24-bit number is one or is far from all.
        _ => rounding::narrow::<R>((a as f64).sqrt()),
    })
}

/// `abs{.ftz}.f32`: any NaN gives [`NAN`] (the ISA leaves it open; the compiler emits an addition).
#[inline(always)]
pub fn abs<const FTZ: bool>(a: u32) -> u32 {
    let number = flush::<FTZ>(a) & !SIGN;
    if is_nan(a) { NAN } else { number }
}

/// `neg{.ftz}.f32`: any NaN gives [`NAN`] (the ISA leaves it open; the compiler emits an addition).
#[inline(always)]
pub fn neg<const FTZ: bool>(a: u32) -> u32 {
    let number = flush::<FTZ>(a) ^ SIGN;
    if is_nan(a) { NAN } else { number }
}

/// `copysign.f32 d, a, b`: the magnitude of `b` with the sign of `a`.
#[inline(always)]
pub fn copysign(a: u32, b: u32) -> u32 {
    (a & SIGN) | (b & !SIGN)
}

/// Is `a` a NaN?
#[inline(always)]
pub fn is_nan(a: u32) -> bool {
    a & !SIGN > INFINITY
}

/// Order of the bits as numbers, `-0` below `+0`.
#[inline(always)]
fn key(a: u32) -> i32 {
    (a ^ (((a as i32) >> 31) as u32 >> 1)) as i32
}

/// Operands of `min` and `max` after `.ftz` and `.abs`.
#[inline(always)]
fn magnitudes<const FTZ: bool, const XORSIGN_ABS: bool>(a: u32, b: u32) -> (u32, u32) {
    let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
    if XORSIGN_ABS { (a & !SIGN, b & !SIGN) } else { (a, b) }
}

/// The chosen number, the other one if one is NaN, with the wanted sign; or NaN.
#[inline(always)]
fn choose<const NAN_WINS: bool, const XORSIGN_ABS: bool>(a: u32, b: u32, a_first: bool, sign: u32) -> u32 {
    let number = if a_first { a } else { b };
    let number = if is_nan(a) { b } else { number };
    let number = if is_nan(b) { a } else { number };
    let number = if XORSIGN_ABS { number & !SIGN | sign & SIGN } else { number };
    let nan = if NAN_WINS { is_nan(a) | is_nan(b) } else { is_nan(a) & is_nan(b) };
    if nan { NAN } else { number }
}

/// `min{.ftz}{.NaN}{.xorsign.abs}.f32`: a number beats a NaN unless `NAN_WINS` (`.NaN`); `-0 < +0`.
#[inline(always)]
pub fn min<const FTZ: bool, const NAN_WINS: bool, const XORSIGN_ABS: bool>(a: u32, b: u32) -> u32 {
    let (x, y) = magnitudes::<FTZ, XORSIGN_ABS>(a, b);
    choose::<NAN_WINS, XORSIGN_ABS>(x, y, key(x) < key(y), a ^ b)
}

/// `max{.ftz}{.NaN}{.xorsign.abs}.f32`: a number beats a NaN unless `NAN_WINS` (`.NaN`); `-0 < +0`.
#[inline(always)]
pub fn max<const FTZ: bool, const NAN_WINS: bool, const XORSIGN_ABS: bool>(a: u32, b: u32) -> u32 {
    let (x, y) = magnitudes::<FTZ, XORSIGN_ABS>(a, b);
    choose::<NAN_WINS, XORSIGN_ABS>(x, y, key(x) > key(y), a ^ b)
}

/// `min{.ftz}{.NaN}{.abs}.f32` of three: [`min`] of two and the third, of the magnitudes if `ABS`.
#[inline(always)]
pub fn min3<const FTZ: bool, const NAN_WINS: bool, const ABS: bool>(a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = [a, b, c].map(|number| if ABS { number & !SIGN } else { number });
    min::<FTZ, NAN_WINS, false>(min::<FTZ, NAN_WINS, false>(a, b), c)
}

/// `max{.ftz}{.NaN}{.abs}.f32` of three: [`max`] of two and the third, of the magnitudes if `ABS`.
#[inline(always)]
pub fn max3<const FTZ: bool, const NAN_WINS: bool, const ABS: bool>(a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = [a, b, c].map(|number| if ABS { number & !SIGN } else { number });
    max::<FTZ, NAN_WINS, false>(max::<FTZ, NAN_WINS, false>(a, b), c)
}

/// `testp.finite.f32`
#[inline(always)]
pub fn is_finite(a: u32) -> bool {
    a & INFINITY != INFINITY
}

/// `testp.infinite.f32`
#[inline(always)]
pub fn is_infinite(a: u32) -> bool {
    a & !SIGN == INFINITY
}

/// `testp.normal.f32`: zeros count as normal.
#[inline(always)]
pub fn is_normal(a: u32) -> bool {
    is_finite(a) & !is_subnormal(a)
}

/// `testp.subnormal.f32`
#[inline(always)]
pub fn is_subnormal(a: u32) -> bool {
    (a & INFINITY == 0) & (a & !SIGN != 0)
}
