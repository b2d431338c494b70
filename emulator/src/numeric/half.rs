//! `.f16`, `.f16x2`, `.bf16` and `.bf16x2` arithmetic (PTX ISA, "Half Precision Floating-Point
//! Instructions").
//!
//! The type is a parameter: `half::add::<F16, FTZ, SAT>`, and `half::add_x2::<F16, FTZ, SAT>` for `.f16x2`.
//! The only rounding these instructions know is `.rn`; NaN results are [`NAN`] (the ISA leaves the payload
//! open).
//!
//! Addition of two halves in `f32` and rounding that to half rounds once in effect, as `f32` has more than
//! twice the bits plus two. Products are exact in `f32`, or (`bf16` only) too small for even half of the
//! smallest number. Fused sums are rounded to odd on the way.

use super::exact::Format;
pub use super::exact::{Bf16, F16};
use super::{fp32, rounding};

/// The NaN that half-precision arithmetic returns, the same bits in both formats.
pub const NAN: u16 = 0x7fff;
/// The sign bit.
pub const SIGN: u16 = 0x8000;

/// A 16-bit format: what arithmetic needs to know about it.
pub trait Half: Format {
    /// Bits of infinity.
    const INF: u16 = Self::INFINITY as u16;
    /// The value as `f32`, exact; NaN stays some NaN.
    fn widen(a: u16) -> f32;
    /// `a` rounded to nearest even; NaN gives [`NAN`].
    fn round(a: f32) -> u16;
    /// `a * b + c` of widened numbers, exact or rounded to odd.
    fn fused(a: f32, b: f32, c: f32) -> f32;
}

impl Half for F16 {
    #[inline(always)]
    fn widen(a: u16) -> f32 {
        f16_to_f32(a)
    }
    #[inline(always)]
    fn round(a: f32) -> u16 {
        f32_to_f16(a)
    }
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        rounding::add_to_odd_f32(a * b, c)
    }
}

impl Half for Bf16 {
    #[inline(always)]
    fn widen(a: u16) -> f32 {
        bf16_to_f32(a)
    }
    #[inline(always)]
    fn round(a: f32) -> u16 {
        f32_to_bf16(a)
    }
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        to_odd_f32(rounding::add_to_odd(a as f64 * b as f64, c as f64))
    }
}

/// `x` narrowed to `f32`, rounded to odd.
#[inline(always)]
pub fn to_odd_f32(x: f64) -> f32 {
    let near = rounding::narrow::<rounding::Zero>(x);
    f32::from_bits(near.to_bits() | (near as f64 != x) as u32)
}

/// The value of an `.f16`, exact. NaN keeps its payload in the upper bits.
#[inline(always)]
pub fn f16_to_f32(a: u16) -> f32 {
    let a = a as u32;
    let magnitude = (a & 0x7fff) << 13;
    let rebias = if magnitude >= 0x0f80_0000 { 224 << 23 } else { 112 << 23 };
    // A subnormal has no hidden bit: give it one, and take its value away again. (Scaling by 2^112 would do
    // for all, but hardware is slow on operands that are subnormal in f32.)
    let hidden = f32::from_bits(113 << 23);
    let subnormal = f32::from_bits(magnitude + (113 << 23)) - hidden;
    let bits = if magnitude < 1 << 23 { subnormal.to_bits() } else { magnitude + rebias };
    f32::from_bits(bits | (a & 0x8000) << 16)
}

/// The value of a `.bf16`, exact.
#[inline(always)]
pub fn bf16_to_f32(a: u16) -> f32 {
    f32::from_bits((a as u32) << 16)
}

/// `.f32` to `.f16`, to nearest even; NaN gives [`NAN`].
#[inline(always)]
pub fn f32_to_f16(a: f32) -> u16 {
    let sign = a.to_bits() >> 16 & 0x8000;
    let magnitude = a.to_bits() & !fp32::SIGN;
    // Adding one half aligns a subnormal result to the lowest bits, and the addition itself rounds.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add(odd) >> 13;
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let number = sign | if magnitude < 0x4780_0000 { finite } else { 0x7c00 };
    (if magnitude > 0x7f80_0000 { NAN as u32 } else { number }) as u16
}

/// `.f32` to `.bf16`, to nearest even; NaN gives [`NAN`].
#[inline(always)]
pub fn f32_to_bf16(a: f32) -> u16 {
    let bits = a.to_bits();
    let rounded = bits.wrapping_add(0x7fff).wrapping_add(bits >> 16 & 1) >> 16;
    if a.is_nan() { NAN } else { rounded as u16 }
}

/// `a` with a subnormal replaced by zero of its sign, if `FTZ`.
#[inline(always)]
pub fn flush<H: Half, const FTZ: bool>(a: u16) -> u16 {
    if FTZ && a & H::INF == 0 { a & SIGN } else { a }
}

/// Rounds a result that is exact or rounded to odd, then `.ftz`, then `.sat` (`[0, 1]`, NaN and `-0` give `+0`).
///
/// As in [`fp32::finish_tiny`], `.ftz` flushes what would be subnormal if the exponent had no bound.
#[inline(always)]
pub(crate) fn finish<H: Half, const FTZ: bool, const SAT: bool>(r: f32) -> u16 {
    let bits = H::round(r);
    let smallest_normal = 1u16 << H::FRACTION;
    let tiny = FTZ && H::round(r * 1024.0) & !SIGN < smallest_normal * 11;
    let bits = if tiny { bits & SIGN } else { bits };
    if SAT { saturate::<H>(bits) } else { bits }
}

/// `.sat`: clamped to `[0, 1]`; NaN and `-0` give `+0`.
#[inline(always)]
pub fn saturate<H: Half>(a: u16) -> u16 {
    let one = H::INF >> 1 & !((1 << H::FRACTION) - 1);
    let low = if a & SIGN != 0 || a > H::INF { 0 } else { a };
    if low < one { low } else { one }
}

/// `.relu`: negative numbers and `-0` give `+0`; NaN stays.
#[inline(always)]
pub fn relu<H: Half>(a: u16) -> u16 {
    let negative = a & SIGN != 0;
    let number = if negative { 0 } else { a };
    if is_nan::<H>(a) { NAN } else { number }
}

/// Is `a` a NaN?
#[inline(always)]
pub fn is_nan<H: Half>(a: u16) -> bool {
    a & !SIGN > H::INF
}

/// `add{.rnd}{.ftz}{.sat}`
#[inline(always)]
pub fn add<H: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    finish::<H, FTZ, SAT>(H::widen(flush::<H, FTZ>(a)) + H::widen(flush::<H, FTZ>(b)))
}

/// `sub{.rnd}{.ftz}{.sat}`
#[inline(always)]
pub fn sub<H: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    add::<H, FTZ, SAT>(a, b ^ SIGN)
}

/// `mul{.rnd}{.ftz}{.sat}`
#[inline(always)]
pub fn mul<H: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    finish::<H, FTZ, SAT>(H::widen(flush::<H, FTZ>(a)) * H::widen(flush::<H, FTZ>(b)))
}

/// `fma.rn{.ftz}{.sat}`
#[inline(always)]
pub fn fma<H: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16, c: u16) -> u16 {
    let (a, b, c) = (flush::<H, FTZ>(a), flush::<H, FTZ>(b), flush::<H, FTZ>(c));
    finish::<H, FTZ, SAT>(H::fused(H::widen(a), H::widen(b), H::widen(c)))
}

/// `fma.rn{.ftz}.relu`
#[inline(always)]
pub fn fma_relu<H: Half, const FTZ: bool>(a: u16, b: u16, c: u16) -> u16 {
    relu::<H>(fma::<H, FTZ, false>(a, b, c))
}

/// What tensor copies put in place of elements outside: a NaN of its own, of either sign.
const OUTSIDE: u16 = 0x7ff7;

/// `fma.rn.oob`: zero if a factor stands for an element outside.
#[inline(always)]
pub fn fma_oob<H: Half>(a: u16, b: u16, c: u16) -> u16 {
    let outside = [a, b].iter().any(|number| number & 0x7fff == OUTSIDE);
    if outside { 0 } else { fma::<H, false, false>(a, b, c) }
}

/// [`fma_oob`] on both halves.
#[inline(always)]
pub fn fma_oob_x2<H: Half>(a: u32, b: u32, c: u32) -> u32 {
    let high = fma_oob::<H>((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    pack(fma_oob::<H>(a as u16, b as u16, c as u16), high)
}

/// `abs{.ftz}`: any NaN gives [`NAN`] (the ISA leaves it open; the compiler emits an addition).
#[inline(always)]
pub fn abs<H: Half, const FTZ: bool>(a: u16) -> u16 {
    let number = flush::<H, FTZ>(a) & !SIGN;
    if is_nan::<H>(a) { NAN } else { number }
}

/// `neg{.ftz}`: any NaN gives [`NAN`] (the ISA leaves it open; the compiler emits an addition).
#[inline(always)]
pub fn neg<H: Half, const FTZ: bool>(a: u16) -> u16 {
    let number = flush::<H, FTZ>(a) ^ SIGN;
    if is_nan::<H>(a) { NAN } else { number }
}

/// Order of the bits as numbers, `-0` below `+0`.
#[inline(always)]
fn key(a: u16) -> i16 {
    (a ^ (((a as i16) >> 15) as u16 >> 1)) as i16
}

/// Operands of `min` and `max` after `.ftz` and `.abs`.
#[inline(always)]
fn magnitudes<H: Half, const FTZ: bool, const XORSIGN_ABS: bool>(a: u16, b: u16) -> (u16, u16) {
    let (a, b) = (flush::<H, FTZ>(a), flush::<H, FTZ>(b));
    if XORSIGN_ABS { (a & !SIGN, b & !SIGN) } else { (a, b) }
}

/// The chosen number, the other one if one is NaN, with the wanted sign; or NaN.
#[inline(always)]
fn choose<H: Half, const NAN_WINS: bool, const XORSIGN_ABS: bool>(
    a: u16,
    b: u16,
    a_first: bool,
    sign: u16,
) -> u16 {
    let number = if a_first { a } else { b };
    let number = if is_nan::<H>(a) { b } else { number };
    let number = if is_nan::<H>(b) { a } else { number };
    let number = if XORSIGN_ABS { number & !SIGN | sign & SIGN } else { number };
    let (first, second) = (is_nan::<H>(a), is_nan::<H>(b));
    let nan = if NAN_WINS { first | second } else { first & second };
    if nan { NAN } else { number }
}

/// `min{.ftz}{.NaN}{.xorsign.abs}`: a number beats a NaN unless `NAN_WINS` (`.NaN`); `-0 < +0`.
#[inline(always)]
pub fn min<H: Half, const FTZ: bool, const NAN_WINS: bool, const XORSIGN_ABS: bool>(a: u16, b: u16) -> u16 {
    let (x, y) = magnitudes::<H, FTZ, XORSIGN_ABS>(a, b);
    choose::<H, NAN_WINS, XORSIGN_ABS>(x, y, key(x) < key(y), a ^ b)
}

/// `max{.ftz}{.NaN}{.xorsign.abs}`: a number beats a NaN unless `NAN_WINS` (`.NaN`); `-0 < +0`.
#[inline(always)]
pub fn max<H: Half, const FTZ: bool, const NAN_WINS: bool, const XORSIGN_ABS: bool>(a: u16, b: u16) -> u16 {
    let (x, y) = magnitudes::<H, FTZ, XORSIGN_ABS>(a, b);
    choose::<H, NAN_WINS, XORSIGN_ABS>(x, y, key(x) > key(y), a ^ b)
}

/// A register from its low and its high half.
#[inline(always)]
pub fn pack(low: u16, high: u16) -> u32 {
    low as u32 | (high as u32) << 16
}

/// Packed instructions: the scalar one on both halves. A macro and not a function that takes a function, as
/// the calls through `Fn` are not always inlined, and then nothing vectorises.
macro_rules! packed {
    ($($(#[$doc:meta])* $name:ident = $scalar:ident<$($flag:ident),*>($($operand:ident),+);)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<H: Half, $(const $flag: bool),*>($($operand: u32),+) -> u32 {
            let low = $scalar::<H, $($flag),*>($($operand as u16),+);
            let high = $scalar::<H, $($flag),*>($(($operand >> 16) as u16),+);
            pack(low, high)
        }
    )*};
}

packed! {
    /// [`add`] on both halves.
    add_x2 = add<FTZ, SAT>(a, b);
    /// [`sub`] on both halves.
    sub_x2 = sub<FTZ, SAT>(a, b);
    /// [`mul`] on both halves.
    mul_x2 = mul<FTZ, SAT>(a, b);
    /// [`fma`] on both halves.
    fma_x2 = fma<FTZ, SAT>(a, b, c);
    /// [`fma_relu`] on both halves.
    fma_relu_x2 = fma_relu<FTZ>(a, b, c);
    /// [`abs`] on both halves.
    abs_x2 = abs<FTZ>(a);
    /// [`neg`] on both halves.
    neg_x2 = neg<FTZ>(a);
    /// [`min`] on both halves.
    min_x2 = min<FTZ, NAN_WINS, XORSIGN_ABS>(a, b);
    /// [`max`] on both halves.
    max_x2 = max<FTZ, NAN_WINS, XORSIGN_ABS>(a, b);
}
