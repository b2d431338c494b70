//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions"): `set`, `setp`, `selp`,
//! `slct`.
//!
//! The comparison operator is a type, so `setp.ltu.ftz.f32` is `compare::f32::<Ltu, true>`. `lo`, `ls`, `hi`
//! and `hs` are `Lt`, `Le`, `Gt` and `Ge` on an unsigned type.

use super::fp32::flush;
use super::half;

/// A comparison operator known at compile time.
pub trait Comparison {
    /// The operator on numbers, integers or floats, as the ISA's tables define it for NaN operands.
    fn holds<T: PartialOrd>(a: T, b: T) -> bool;
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident: |$a:ident, $b:ident| $holds:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Comparison for $name {
            // Not in a NaN and not out of order are different things for floats: that is the point.
            #[allow(clippy::neg_cmp_op_on_partial_ord, clippy::eq_op, clippy::nonminimal_bool)]
            #[inline(always)]
            fn holds<T: PartialOrd>($a: T, $b: T) -> bool {
                $holds
            }
        }
    )*};
}

comparisons! {
    /// `eq`: false if either is NaN.
    Eq: |a, b| a == b;
    /// `ne`: false if either is NaN.
    Ne: |a, b| (a < b) | (a > b);
    /// `lt`, `lo`: false if either is NaN.
    Lt: |a, b| a < b;
    /// `le`, `ls`: false if either is NaN.
    Le: |a, b| a <= b;
    /// `gt`, `hi`: false if either is NaN.
    Gt: |a, b| a > b;
    /// `ge`, `hs`: false if either is NaN.
    Ge: |a, b| a >= b;
    /// `equ`: true if either is NaN.
    Equ: |a, b| !((a < b) | (a > b));
    /// `neu`: true if either is NaN.
    Neu: |a, b| a != b;
    /// `ltu`: true if either is NaN.
    Ltu: |a, b| !(a >= b);
    /// `leu`: true if either is NaN.
    Leu: |a, b| !(a > b);
    /// `gtu`: true if either is NaN.
    Gtu: |a, b| !(a <= b);
    /// `geu`: true if either is NaN.
    Geu: |a, b| !(a < b);
    /// `num`: neither is NaN.
    Num: |a, b| (a == a) & (b == b);
    /// `nan`: either is NaN.
    Nan: |a, b| (a != a) | (b != b);
}

/// `setp.op{.ftz}.f32`: `FTZ` flushes both operands first.
#[inline(always)]
pub fn f32<C: Comparison, const FTZ: bool>(a: u32, b: u32) -> bool {
    C::holds(f32::from_bits(flush::<FTZ>(a)), f32::from_bits(flush::<FTZ>(b)))
}

/// `setp.op.f64`
#[inline(always)]
pub fn f64<C: Comparison>(a: u64, b: u64) -> bool {
    C::holds(f64::from_bits(a), f64::from_bits(b))
}

/// `setp.op{.ftz}.f16`; apply it to each half for `.f16x2`.
#[inline(always)]
pub fn f16<C: Comparison, const FTZ: bool>(a: u16, b: u16) -> bool {
    let (a, b) = (half::flush::<half::F16, FTZ>(a), half::flush::<half::F16, FTZ>(b));
    C::holds(half::f16_to_f32(a), half::f16_to_f32(b))
}

/// `setp.op.bf16`; apply it to each half for `.bf16x2`.
#[inline(always)]
pub fn bf16<C: Comparison>(a: u16, b: u16) -> bool {
    C::holds(half::bf16_to_f32(a), half::bf16_to_f32(b))
}

/// `setp.op` on integers: `T` is the instruction's type (`.b32` is `u32`).
#[inline(always)]
pub fn int<C: Comparison, T: PartialOrd>(a: T, b: T) -> bool {
    C::holds(a, b)
}

/// Result of `set.op.{u32,s32}`.
#[inline(always)]
pub fn set_u32(holds: bool) -> u32 {
    (holds as u32).wrapping_neg()
}

/// Result of `set.op.{u16,s16}` (half precision sources).
#[inline(always)]
pub fn set_u16(holds: bool) -> u16 {
    (holds as u16).wrapping_neg()
}

/// Result of `set.op.f32`.
#[inline(always)]
pub fn set_f32(holds: bool) -> u32 {
    if holds { 0x3f80_0000 } else { 0 }
}

/// Result of `set.op.f16`; two of them, low half first, make `.f16x2`.
#[inline(always)]
pub fn set_f16(holds: bool) -> u16 {
    if holds { 0x3c00 } else { 0 }
}

/// Result of `set.op.bf16`; two of them, low half first, make `.bf16x2`.
#[inline(always)]
pub fn set_bf16(holds: bool) -> u16 {
    if holds { 0x3f80 } else { 0 }
}

/// `selp.type d, a, b, c`
#[inline(always)]
pub fn selp<T>(a: T, b: T, c: bool) -> T {
    if c { a } else { b }
}

/// `slct.type.s32 d, a, b, c`: `a` if `c >= 0`.
#[inline(always)]
pub fn slct_s32<T>(a: T, b: T, c: i32) -> T {
    if c >= 0 { a } else { b }
}

/// `slct{.ftz}.type.f32 d, a, b, c`: `a` if `c >= 0`, where `-0` is 0 and NaN is not.
#[inline(always)]
pub fn slct_f32<T, const FTZ: bool>(a: T, b: T, c: u32) -> T {
    if f32::from_bits(flush::<FTZ>(c)) >= 0.0 { a } else { b }
}
