//! Exact results rounded once: integers stand for the significand, so nothing depends on the host's floating
//! point. Used for the directed modes of `.f64` and for narrow formats, where speed matters less.

use super::rounding::Mode;

/// A binary interchange format (IEEE 754 layout, infinities and subnormals included).
pub trait Format {
    /// Bits of the stored fraction.
    const FRACTION: u32;
    /// Bits of the exponent field.
    const EXPONENT: u32;
    /// Smallest exponent of a normal number.
    const MIN_EXPONENT: i32 = 2 - (1 << (Self::EXPONENT - 1));
    /// Bits of positive infinity.
    const INFINITY: u64 = ((1 << Self::EXPONENT) - 1) << Self::FRACTION;
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::EXPONENT + Self::FRACTION);
}

/// `.f16`
#[derive(Clone, Copy, Debug)]
pub struct F16;
/// `.bf16`
#[derive(Clone, Copy, Debug)]
pub struct Bf16;
/// `.f32`
#[derive(Clone, Copy, Debug)]
pub struct F32;
/// `.f64`
#[derive(Clone, Copy, Debug)]
pub struct F64;

impl Format for F16 {
    const FRACTION: u32 = 10;
    const EXPONENT: u32 = 5;
}
impl Format for Bf16 {
    const FRACTION: u32 = 7;
    const EXPONENT: u32 = 8;
}
impl Format for F32 {
    const FRACTION: u32 = 23;
    const EXPONENT: u32 = 8;
}
impl Format for F64 {
    const FRACTION: u32 = 52;
    const EXPONENT: u32 = 11;
}

/// The finite number `(-1)^negative * significand * 2^exponent`. The lowest bit of the significand may stand
/// for "and something more below" (sticky) where it lies far enough under the rounding position.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    /// The sign.
    pub negative: bool,
    /// Weight of the significand's lowest bit.
    pub exponent: i32,
    /// The magnitude; zero is zero whatever the exponent.
    pub significand: u128,
}

impl Exact {
    /// A finite number of format `F`.
    pub fn unpack<F: Format>(bits: u64) -> Exact {
        let field = ((bits & !F::SIGN) >> F::FRACTION) as i32;
        let fraction = bits & ((1 << F::FRACTION) - 1);
        let hidden = if field == 0 { 0 } else { 1 << F::FRACTION };
        Exact {
            negative: bits & F::SIGN != 0,
            exponent: field.max(1) - 1 + F::MIN_EXPONENT - F::FRACTION as i32,
            significand: (fraction | hidden) as u128,
        }
    }

    /// An integer.
    pub fn from_integer(value: i128) -> Exact {
        Exact { negative: value < 0, exponent: 0, significand: value.unsigned_abs() }
    }

    /// Rounded to format `F`: subnormals, overflow and the sign of zero as IEEE 754 asks of `mode`.
    pub fn round<F: Format>(self, mode: Mode) -> u64 {
        let sign = if self.negative { F::SIGN } else { 0 };
        if self.significand == 0 {
            return sign;
        }
        let top = self.exponent + 127 - self.significand.leading_zeros() as i32;
        let lowest = F::MIN_EXPONENT - F::FRACTION as i32;
        let quantum = (top - F::FRACTION as i32).max(lowest);
        let kept = self.quotient(quantum - self.exponent, mode);
        let magnitude = (((quantum - lowest) as u64) << F::FRACTION) + kept;
        if magnitude < F::INFINITY {
            return sign | magnitude;
        }
        let to_infinity = match mode {
            Mode::Nearest => true,
            Mode::Zero => false,
            Mode::Down => self.negative,
            Mode::Up => !self.negative,
        };
        sign | if to_infinity { F::INFINITY } else { F::INFINITY - 1 }
    }

    /// The significand divided by `2^shift`, rounded to an integer.
    fn quotient(self, shift: i32, mode: Mode) -> u64 {
        if shift <= 0 {
            return (self.significand as u64) << -shift;
        }
        // Everything below half a unit is alike: a shift past the width leaves "a little more than nothing".
        let (kept, rest, half) = match shift {
            1..=127 => {
                let shift = shift as u32;
                let rest = self.significand & ((1 << shift) - 1);
                ((self.significand >> shift) as u64, rest, 1u128 << (shift - 1))
            }
            128 => (0, self.significand, 1 << 127),
            _ => (0, 1, 2),
        };
        let up = match mode {
            Mode::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Mode::Zero => false,
            Mode::Down => self.negative && rest != 0,
            Mode::Up => !self.negative && rest != 0,
        };
        kept + up as u64
    }

    /// The same number with the significand's highest bit at position 125: room for one carry and the sign.
    fn normalise(self) -> Exact {
        let shift = self.significand.leading_zeros() as i32 - 2;
        if self.significand == 0 || shift <= 0 {
            return self;
        }
        Exact { exponent: self.exponent - shift, significand: self.significand << shift, ..self }
    }

    /// `self * other`, for significands of at most 64 bits.
    pub fn multiply(self, other: Exact) -> Exact {
        Exact {
            negative: self.negative ^ other.negative,
            exponent: self.exponent + other.exponent,
            significand: self.significand * other.significand,
        }
    }

    /// `self + other`, for significands of at most 126 bits of which 106 are significant. The result is exact
    /// or has a sticky bit at least 20 bits below its highest. An exact zero from different signs is `-0`
    /// under `.rm` and `+0` otherwise.
    pub fn add(self, other: Exact, mode: Mode) -> Exact {
        if self.significand == 0 && other.significand == 0 {
            let negative = match mode {
                Mode::Down => self.negative | other.negative,
                _ => self.negative & other.negative,
            };
            return Exact { negative, ..self };
        }
        if other.significand == 0 {
            return self;
        }
        if self.significand == 0 {
            return other;
        }
        let (a, b) = (self.normalise(), other.normalise());
        let (a, b) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
        let small = jam(b.significand, (a.exponent - b.exponent) as u32);
        if a.negative == b.negative {
            return Exact { significand: a.significand + small, ..a };
        }
        let difference = a.significand as i128 - small as i128;
        let negative = match difference {
            0 => mode == Mode::Down,
            _ => a.negative ^ (difference < 0),
        };
        Exact { negative, exponent: a.exponent, significand: difference.unsigned_abs() }
    }

    /// `self / other` with a sticky bit, for significands of at most 64 bits and a divisor that is not zero.
    pub fn divide(self, other: Exact) -> Exact {
        let negative = self.negative ^ other.negative;
        if self.significand == 0 {
            return Exact { negative, ..self };
        }
        let a = self.normalise();
        let quotient = a.significand / other.significand;
        let sticky = !a.significand.is_multiple_of(other.significand) as u128;
        Exact { negative, exponent: a.exponent - other.exponent - 1, significand: quotient << 1 | sticky }
    }

    /// The square root with a sticky bit, for a significand of at most 64 bits and a number that is not
    /// negative.
    pub fn square_root(self) -> Exact {
        if self.significand == 0 {
            return self;
        }
        let mut a = self.normalise();
        if a.exponent & 1 != 0 {
            a = Exact { exponent: a.exponent + 1, significand: a.significand >> 1, ..a };
        }
        let root = a.significand.isqrt();
        let sticky = (root * root != a.significand) as u128;
        Exact { exponent: a.exponent / 2 - 1, significand: root << 1 | sticky, ..a }
    }
}

/// `a >> shift` whose lowest bit also says whether any bit was lost.
fn jam(a: u128, shift: u32) -> u128 {
    match shift {
        0 => a,
        1..=127 => a >> shift | (a & ((1 << shift) - 1) != 0) as u128,
        _ => (a != 0) as u128,
    }
}
