//! `cvt` between integers and `.f16`, `.bf16`, `.f32`, `.f64` (PTX ISA, "Data Movement and Conversion
//! Instructions: cvt"), and `cvt.pack`. Narrow formats and packed results are in [`narrow`](super::narrow).
//!
//! Integer operands are native types, float operands register bits. The caller must extend a result that is narrower
//! than its register: with the sign for signed types, with zeros for everything else.

use super::exact::{Bf16, Exact, F16, F32, F64, Format};
use super::half::{self, Half};
use super::int::Int;
use super::rounding::{self, Mode, Nearest, Rounding};
use super::{fp32, fp64};

/// `cvt{.sat}.D.S` between integers: extension by the source's sign, truncation, or with `SAT` the nearest
/// value that `D` holds.
#[inline(always)]
pub fn int<S: Int, D: Int, const SAT: bool>(a: S) -> D {
    let value = a.to_i128();
    D::from_i128(if SAT { value.clamp(lowest::<D>(), highest::<D>()) } else { value })
}

const fn lowest<D: Int>() -> i128 {
    if D::SIGNED { -(1 << (D::BITS - 1)) } else { 0 }
}

const fn highest<D: Int>() -> i128 {
    (1 << (D::BITS - D::SIGNED as u32)) - 1
}

/// What a conversion passes through: `f32` where the source is not `.f64`, else `f64`. Either is exact, so
/// that the last step alone rounds.
pub trait Number: Copy {
    /// Is it a NaN?
    fn is_nan(self) -> bool;
    /// A NaN of `f32` replaced by the canonical one; numbers, and `f64`, as they are.
    fn canonical(self) -> Self;
    /// Rounded to an integer by `R`; NaN as [`canonical`](Self::canonical) says.
    fn integral<R: Rounding>(self) -> Self;
    /// The value of `D` nearest to an integral number; some value for NaN.
    fn to_int<D: Int>(self) -> D;
    /// As a `D`: see [`Float::from_f64`].
    fn to_float<D: Float, R: Rounding, const FTZ: bool, const SAT: bool>(self) -> D::Bits;
}

macro_rules! number {
    ($float:ident, $from:ident, $nan:expr) => {
        impl Number for $float {
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn canonical(self) -> Self {
                let nan: fn($float) -> $float = $nan;
                if self.is_nan() { nan(self) } else { self }
            }
            #[inline(always)]
            fn integral<R: Rounding>(self) -> Self {
                let integral = match R::MODE {
                    Mode::Nearest => self.round_ties_even(),
                    Mode::Zero => self.trunc(),
                    Mode::Down => self.floor(),
                    Mode::Up => self.ceil(),
                };
                if self.is_nan() { self.canonical() } else { integral }
            }
            #[inline(always)]
            fn to_int<D: Int>(self) -> D {
                if D::BITS == 64 { D::$from(self) } else { nearest_int(self as f64) }
            }
            #[inline(always)]
            fn to_float<D: Float, R: Rounding, const FTZ: bool, const SAT: bool>(self) -> D::Bits {
                D::$from::<R, FTZ, SAT>(self)
            }
        }
    };
}
number!(f32, from_f32, |_| f32::from_bits(fp32::NAN));
number!(f64, from_f64, |nan| nan);

/// The value of `D`, of at most 32 bits, nearest to an integral `a`; some value for NaN. By an addition that
/// leaves the integer in the low bits: a cast that saturates does not vectorise.
#[inline(always)]
fn nearest_int<D: Int>(a: f64) -> D {
    let (low, high) = (lowest::<D>() as f64, highest::<D>() as f64);
    let a = if a > low { a } else { low };
    let a = if a < high { a } else { high };
    D::from_bits((a + rounding::INTEGER).to_bits())
}

/// A floating-point type of `cvt`.
pub trait Float {
    /// What holds its bits.
    type Bits: Copy;
    /// What conversions from it pass through.
    type Number: Number;
    /// Is it `.f64`?
    const DOUBLE: bool = size_of::<Self::Bits>() == 8;
    /// Is it `.f16`? The conversion from `.f32` then ignores `.ftz`, and the one to `.f32` is arithmetic.
    const F16: bool = false;
    /// The number, exact, after `.ftz` if it applies to this type.
    fn number<const FTZ: bool>(a: Self::Bits) -> Self::Number;
    /// `a` rounded by `R`; then `.ftz` if it applies to this type, then `.sat`.
    fn from_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: f32) -> Self::Bits;
    /// `a` rounded by `R`; then `.ftz` if it applies to this type, then `.sat`.
    fn from_f64<R: Rounding, const FTZ: bool, const SAT: bool>(a: f64) -> Self::Bits;
    /// An integer rounded by `R`.
    fn from_int<R: Rounding, S: Int>(a: S) -> Self::Bits;
}

/// `.f32`
#[derive(Clone, Copy, Debug)]
pub struct Single;
/// `.f64`
#[derive(Clone, Copy, Debug)]
pub struct Double;

impl Float for Single {
    type Bits = u32;
    type Number = f32;
    #[inline(always)]
    fn number<const FTZ: bool>(a: u32) -> f32 {
        f32::from_bits(fp32::flush::<FTZ>(a))
    }
    #[inline(always)]
    fn from_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: f32) -> u32 {
        // Without a modifier the compiler emits a move, or a shift for `.bf16`: a NaN keeps its bits.
        if FTZ || SAT { fp32::finish::<FTZ, SAT>(a) } else { a.to_bits() }
    }
    #[inline(always)]
    fn from_f64<R: Rounding, const FTZ: bool, const SAT: bool>(a: f64) -> u32 {
        // Flushed after rounding, as the compiler's sequence does it, unlike in arithmetic.
        let number = fp32::finish::<FTZ, SAT>(rounding::narrow::<R>(a));
        if !SAT && a.is_nan() { narrow_nan::<F32>(a.to_bits()) as u32 } else { number }
    }
    #[inline(always)]
    fn from_int<R: Rounding, S: Int>(a: S) -> u32 {
        match (R::MODE, S::BITS) {
            (Mode::Nearest, _) => a.to_f32().to_bits(),
            (_, ..=32) => rounding::narrow::<R>(a.to_f64()).to_bits(),
            _ => Exact::from_integer(a.to_i128()).round::<F32>(R::MODE) as u32,
        }
    }
}

impl Float for Double {
    type Bits = u64;
    type Number = f64;
    #[inline(always)]
    fn number<const FTZ: bool>(a: u64) -> f64 {
        f64::from_bits(a)
    }
    #[inline(always)]
    fn from_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: f32) -> u64 {
        let number = Self::from_f64::<R, FTZ, SAT>(a as f64);
        if !SAT && a.is_nan() { widen_nan(a.to_bits()) } else { number }
    }
    #[inline(always)]
    fn from_f64<R: Rounding, const FTZ: bool, const SAT: bool>(a: f64) -> u64 {
        if SAT {
            let low = if a > 0.0 { a } else { 0.0 };
            return (if low < 1.0 { low } else { 1.0 }).to_bits();
        }
        fp64::finish(a, a.to_bits(), 0, 0)
    }
    #[inline(always)]
    fn from_int<R: Rounding, S: Int>(a: S) -> u64 {
        match (R::MODE, S::BITS) {
            (Mode::Nearest, _) | (_, ..=32) => a.to_f64().to_bits(),
            _ => Exact::from_integer(a.to_i128()).round::<F64>(R::MODE),
        }
    }
}

/// The NaN of format `F` for a NaN of `.f64`: its sign and the upper bits of its payload, made quiet.
#[inline(always)]
fn narrow_nan<F: Format>(a: u64) -> u64 {
    let sign = a >> (63 - F::EXPONENT - F::FRACTION) & F::SIGN;
    let payload = (a & ((1 << F64::FRACTION) - 1)) >> (F64::FRACTION - F::FRACTION);
    sign | F::INFINITY | 1 << (F::FRACTION - 1) | payload
}

/// The NaN of `.f64` for a NaN of `.f32`: its sign and payload, made quiet.
#[inline(always)]
fn widen_nan(a: u32) -> u64 {
    let fraction = (a & 0x007f_ffff) as u64;
    ((a & fp32::SIGN) as u64) << 32 | 0x7ff8 << 48 | fraction << (F64::FRACTION - F32::FRACTION)
}

macro_rules! half_float {
    ($($format:ident, $is_f16:expr;)*) => {$(
        impl Float for $format {
            type Bits = u16;
            type Number = f32;
            const F16: bool = $is_f16;
            #[inline(always)]
            fn number<const FTZ: bool>(a: u16) -> f32 {
                <$format>::widen(a)
            }
            #[inline(always)]
            fn from_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: f32) -> u16 {
                let bits = round_half::<$format, R>(a);
                if SAT { half::saturate::<$format>(bits) } else { bits }
            }
            #[inline(always)]
            fn from_f64<R: Rounding, const FTZ: bool, const SAT: bool>(a: f64) -> u16 {
                let number = Self::from_f32::<R, FTZ, SAT>(half::to_odd_f32(a));
                if !SAT && a.is_nan() { narrow_nan::<$format>(a.to_bits()) as u16 } else { number }
            }
            #[inline(always)]
            fn from_int<R: Rounding, S: Int>(a: S) -> u16 {
                match S::BITS {
                    ..=32 => Self::from_f64::<R, false, false>(a.to_f64()),
                    _ => Exact::from_integer(a.to_i128()).round::<$format>(R::MODE) as u16,
                }
            }
        }
    )*};
}
half_float! {
    F16, true;
    Bf16, false;
}

/// `a` (exact or rounded to odd) rounded to a half format by `R`; NaN gives [`half::NAN`].
#[inline(always)]
pub fn round_half<H: Half, R: Rounding>(a: f32) -> u16 {
    let near = H::round(a);
    let wide = H::widen(near);
    let negative = near & half::SIGN != 0;
    let away = |outward: bool| if outward { 1i16 } else { -1 };
    let step = match R::MODE {
        Mode::Nearest => 0,
        Mode::Zero => -((wide.abs() > a.abs()) as i16),
        Mode::Down => (wide > a) as i16 * away(negative),
        Mode::Up => (wide < a) as i16 * away(!negative),
    };
    near.wrapping_add(step as u16)
}

/// `cvt.rnd.D.S` from an integer to a float. `R` does not matter where the conversion is exact.
#[inline(always)]
pub fn int_to_float<S: Int, D: Float, R: Rounding>(a: S) -> D::Bits {
    D::from_int::<R, S>(a)
}

/// `cvt.rnd{.ftz}{.sat}.D.S` between float types. `R` does not matter where the conversion is exact.
///
/// NaN results are canonical, with two exceptions: to and from `.f64` a NaN keeps its sign and (the upper bits of)
/// its payload, made quiet, but for `cvt.ftz.f64.f32`, which multiplies first; and `.f32` from `.bf16` or `.f32`
/// without `.ftz` keeps all bits (as the compiler emits no arithmetic for it). `.ftz` does nothing where the result
/// is `.f16`.
#[inline(always)]
pub fn float<S: Float, D: Float, R: Rounding, const FTZ: bool, const SAT: bool>(a: S::Bits) -> D::Bits {
    let number = if D::F16 { S::number::<false>(a) } else { S::number::<FTZ>(a) };
    let arithmetic = if D::DOUBLE { FTZ } else { S::F16 };
    let number = if arithmetic { number.canonical() } else { number };
    number.to_float::<D, R, FTZ, SAT>()
}

/// `cvt.{rni,rzi,rmi,rpi}{.ftz}{.sat}.S.S`: rounded to an integer that stays a float.
#[inline(always)]
pub fn float_to_integral<S: Float, R: Rounding, const FTZ: bool, const SAT: bool>(a: S::Bits) -> S::Bits {
    S::number::<FTZ>(a).integral::<R>().to_float::<S, Nearest, FTZ, SAT>()
}

/// `cvt.{rni,rzi,rmi,rpi}{.ftz}.D.S` from a float to an integer: out of range gives the nearest value of `D`;
/// NaN gives 0, but `1 << (width - 1)` where the source is `.f64` or the destination has 64 bits.
#[inline(always)]
pub fn float_to_int<S: Float, D: Int, R: Rounding, const FTZ: bool>(a: S::Bits) -> D {
    let nan = if S::DOUBLE || D::BITS == 64 { D::from_bits(1 << (D::BITS - 1)) } else { D::default() };
    let a = S::number::<FTZ>(a);
    let number = a.integral::<R>().to_int();
    if a.is_nan() { nan } else { number }
}

/// `cvt.pack.sat.{u16,s16}.s32 d, a, b`: both saturated to `D`, `a` in the upper half.
#[inline(always)]
pub fn pack16<D: Int>(a: i32, b: i32) -> u32 {
    let half = |a: i32| int::<i32, D, true>(a).to_bits() as u32;
    half(a) << 16 | half(b)
}

/// `cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32 d, a, b, c`: both saturated to `BITS` bits, `a` above `b`, in
/// the lowest bits; above them what fits of `c`, shifted up.
#[inline(always)]
pub fn pack_narrow<const BITS: u32, const SIGNED: bool>(a: i32, b: i32, c: u32) -> u32 {
    let (low, high) = if SIGNED { (-(1 << (BITS - 1)), (1 << (BITS - 1)) - 1) } else { (0, (1 << BITS) - 1) };
    let mask = (1u32 << BITS) - 1;
    let field = |a: i32| a.clamp(low, high) as u32 & mask;
    c << (2 * BITS) | field(a) << BITS | field(b)
}
