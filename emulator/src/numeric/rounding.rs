//! Rounding modifiers as types, and the step that takes a `f64` to `f32` under each of them.
//!
//! Directed `f32` results are computed in `f64`, rounded there *to odd* (an inexact result gets an odd last
//! bit, so that no information about the discarded part is lost), then narrowed once by the wanted mode.
//! `f64` has more than 24 + 2 bits, so the two steps together round once.

/// The four modes of the floating-point rounding modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards negative infinity.
    Down,
    /// `.rp`: towards positive infinity.
    Up,
}

/// A rounding modifier known at compile time.
pub trait Rounding {
    /// The mode that the type stands for.
    const MODE: Mode;
}

/// `.rn` / `.rni`: to nearest, ties to even.
#[derive(Clone, Copy, Debug)]
pub struct Nearest;
/// `.rz` / `.rzi`: towards zero.
#[derive(Clone, Copy, Debug)]
pub struct Zero;
/// `.rm` / `.rmi`: towards negative infinity.
#[derive(Clone, Copy, Debug)]
pub struct Down;
/// `.rp` / `.rpi`: towards positive infinity.
#[derive(Clone, Copy, Debug)]
pub struct Up;

impl Rounding for Nearest {
    const MODE: Mode = Mode::Nearest;
}
impl Rounding for Zero {
    const MODE: Mode = Mode::Zero;
}
impl Rounding for Down {
    const MODE: Mode = Mode::Down;
}
impl Rounding for Up {
    const MODE: Mode = Mode::Up;
}

/// Adding it to an integral number below 2^51 leaves that integer in the low bits, and adding it to any such
/// number rounds to the nearest integer on the way.
pub const INTEGER: f64 = 6_755_399_441_055_744.0;

/// `x` narrowed to `f32` under `R`. NaN stays NaN; overflow gives infinity or the largest finite value as
/// IEEE 754 asks of the mode.
#[inline(always)]
pub fn narrow<R: Rounding>(x: f64) -> f32 {
    let near = x as f32;
    let wide = near as f64;
    let outward = match R::MODE {
        Mode::Nearest => return near,
        // Magnitude too large: one step towards zero.
        Mode::Zero => -((wide.abs() > x.abs()) as i32),
        Mode::Down => (wide > x) as i32 * away(near.is_sign_negative()),
        Mode::Up => (wide < x) as i32 * away(near.is_sign_positive()),
    };
    f32::from_bits(near.to_bits().wrapping_add(outward as u32))
}

/// Step in magnitude that moves a value further from zero (`true`) or nearer.
#[inline(always)]
fn away(outward: bool) -> i32 {
    if outward { 1 } else { -1 }
}

macro_rules! to_odd {
    ($to_odd:ident, $add_to_odd:ident, $float:ident, $bits:ident) => {
        /// `s` rounded to odd, where the exact value is `s + error` and `s` is that value rounded to nearest.
        ///
        /// A NaN error (from infinite operands) counts as no error.
        #[inline(always)]
        pub fn $to_odd(s: $float, error: $float) -> $float {
            let bits = s.to_bits();
            let inexact = (error < 0.0) | (error > 0.0);
            let outward = (error < 0.0) == (s < 0.0);
            let step = if outward { 1 } else { $bits::MAX };
            // Of the two numbers around the exact value, one is odd: `s`, or the one on the other side.
            let odd = bits & 1 == 1;
            $float::from_bits(bits.wrapping_add(if inexact & !odd { step } else { 0 }))
        }

        /// `x + y` rounded to odd (Knuth's TwoSum for the error), where no intermediate overflows.
        #[inline(always)]
        pub fn $add_to_odd(x: $float, y: $float) -> $float {
            let s = x + y;
            let yy = s - x;
            let xx = s - yy;
            $to_odd(s, (x - xx) + (y - yy))
        }
    };
}

to_odd!(to_odd, add_to_odd, f64, u64);
to_odd!(to_odd_f32, add_to_odd_f32, f32, u32);

/// Sign of an exact zero sum under `R`: `+0`, except that `.rm` gives `-0` unless both operands are `+0`, and
/// two operands of one sign keep it. `s` is returned where it is not zero.
#[inline(always)]
pub fn zero_sign<R: Rounding>(s: f64, x: f64, y: f64) -> f64 {
    match R::MODE {
        Mode::Down => {
            let sign = (x.to_bits() | y.to_bits()) & (1 << 63);
            if s == 0.0 { f64::from_bits(sign) } else { s }
        }
        _ => s,
    }
}
