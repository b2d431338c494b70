//! Binary floating point on integers, written from IEEE 754: exact results, rounded once in any direction. It knows
//! nothing of the emulator's arithmetic, so that the two can be compared.

use super::nan;

/// A binary interchange format: bits in all, and bits of the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub width: u32,
    pub fraction: u32,
}

pub const F16: Format = Format { width: 16, fraction: 10 };
pub const BF16: Format = Format { width: 16, fraction: 7 };
pub const F32: Format = Format { width: 32, fraction: 23 };
pub const F64: Format = Format { width: 64, fraction: 52 };

/// Rounding directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Nearest,
    Zero,
    Up,
    Down,
}

/// In the order of the kernels: `_rn`, `_rz`, `_ru`, `_rd`.
pub const MODES: [Mode; 4] = [Mode::Nearest, Mode::Zero, Mode::Up, Mode::Down];

/// `mantissa * 2^exponent` with a sign, and `more`: the magnitude is larger by less than one unit of the mantissa, which
/// then has at least 60 bits.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    pub negative: bool,
    pub mantissa: u128,
    pub exponent: i32,
    pub more: bool,
}

/// What a bit pattern means.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    Nan,
    Infinite { negative: bool },
    Finite(Number),
}

use Value::{Finite, Infinite, Nan};

impl Number {
    pub fn new(negative: bool, mantissa: u128, exponent: i32) -> Self {
        Self { negative, mantissa, exponent, more: false }
    }

    /// The same number with its first bit at position 124; nothing is lost, as products have at most 106 bits.
    fn widened(self) -> Self {
        let shift = self.mantissa.leading_zeros() as i32 - 3;
        Self { mantissa: self.mantissa << shift, exponent: self.exponent - shift, ..self }
    }

    /// Shifted right until its exponent is `exponent`; bits that fall out set the last one.
    fn aligned(self, exponent: i32) -> u128 {
        let distance = exponent - self.exponent;
        match distance {
            0 => self.mantissa,
            1..=124 => {
                let kept = self.mantissa >> distance;
                kept | u128::from(kept << distance != self.mantissa)
            }
            _ => u128::from(self.mantissa != 0),
        }
    }

    /// Of the magnitude: units of 2^exponent that `mode` keeps, from the bits below them.
    fn rounded_to(self, exponent: i32, mode: Mode) -> u128 {
        let distance = exponent - self.exponent;
        if distance <= 0 {
            assert!(!self.more, "a number with more behind it has bits to spare");
            return self.mantissa << -distance;
        }
        let kept = if distance < 128 { self.mantissa >> distance } else { 0 };
        let half = distance <= 128 && self.mantissa >> (distance - 1) & 1 == 1;
        let below = if distance > 128 { self.mantissa } else { self.mantissa & ((1 << (distance - 1)) - 1) };
        let rest = below != 0 || self.more;
        let up = match mode {
            Mode::Nearest => half && (rest || kept & 1 == 1),
            Mode::Zero => false,
            Mode::Up => !self.negative && (half || rest),
            Mode::Down => self.negative && (half || rest),
        };
        kept + u128::from(up)
    }

    /// Rounded to an integer: its sign and magnitude, the latter held to 2^127.
    pub fn to_integer(self, mode: Mode) -> (bool, u128) {
        let top = 128 - self.mantissa.leading_zeros() as i32 + self.exponent;
        let magnitude = if self.mantissa != 0 && top > 127 {
            1 << 127
        } else {
            self.rounded_to(0.max(self.exponent), mode)
        };
        (self.negative, if top <= 127 && self.exponent > 0 { magnitude << self.exponent } else { magnitude })
    }
}

impl Format {
    pub fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    pub fn infinity(self) -> u64 {
        self.sign() - (1 << self.fraction)
    }

    /// The smallest normal number; everything nonzero below it is subnormal.
    pub fn smallest_normal(self) -> u64 {
        1 << self.fraction
    }

    pub fn one(self) -> u64 {
        ((1 << (self.width - self.fraction - 2)) - 1) << self.fraction
    }

    /// The exponent of the last bit of subnormal numbers.
    fn lowest(self) -> i32 {
        let bias = (1 << (self.width - self.fraction - 2)) - 1;
        1 - bias - self.fraction as i32
    }

    pub fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    pub fn is_negative(self, bits: u64) -> bool {
        bits & self.sign() != 0
    }

    pub fn decode(self, bits: u64) -> Value {
        let (negative, magnitude) = (self.is_negative(bits), bits & !self.sign());
        if magnitude > self.infinity() {
            return Nan;
        }
        if magnitude == self.infinity() {
            return Infinite { negative };
        }
        let (biased, fraction) = (magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1));
        let hidden = if biased == 0 { 0 } else { 1 << self.fraction };
        let exponent = self.lowest() + (biased.max(1) - 1) as i32;
        Finite(Number::new(negative, (fraction | hidden).into(), exponent))
    }

    /// The bits of a number, rounded once.
    pub fn round(self, number: Number, mode: Mode) -> u64 {
        let sign = if number.negative { self.sign() } else { 0 };
        if number.mantissa == 0 {
            return sign;
        }
        let top = 127 - number.mantissa.leading_zeros() as i32 + number.exponent;
        let exponent = (top - self.fraction as i32).max(self.lowest());
        // A carry out of the fraction runs into the exponent, which is right.
        let kept = number.rounded_to(exponent, mode);
        let steps = (exponent - self.lowest()) as u128;
        let magnitude = (steps << self.fraction) + kept;
        if magnitude < u128::from(self.infinity()) {
            return sign | magnitude as u64;
        }
        let away = match mode {
            Mode::Nearest => true,
            Mode::Zero => false,
            Mode::Up => !number.negative,
            Mode::Down => number.negative,
        };
        sign | if away { self.infinity() } else { self.infinity() - 1 }
    }

    fn encode(self, value: Value, mode: Mode, operands: &[u64]) -> u64 {
        match value {
            Nan => nan::arithmetic(self, operands),
            Infinite { negative } => self.infinity() | if negative { self.sign() } else { 0 },
            Finite(number) => self.round(number, mode),
        }
    }

    pub fn add(self, a: u64, b: u64, mode: Mode) -> u64 {
        self.encode(sum(self.decode(a), self.decode(b), mode), mode, &[a, b])
    }

    pub fn sub(self, a: u64, b: u64, mode: Mode) -> u64 {
        let minus_b = negated(self.decode(b));
        self.encode(sum(self.decode(a), minus_b, mode), mode, &[a, b])
    }

    pub fn mul(self, a: u64, b: u64, mode: Mode) -> u64 {
        self.encode(product(self.decode(a), self.decode(b)), mode, &[a, b])
    }

    pub fn fma(self, a: u64, b: u64, c: u64, mode: Mode) -> u64 {
        let exact = sum(product(self.decode(a), self.decode(b)), self.decode(c), mode);
        self.encode(exact, mode, &[a, b, c])
    }

    pub fn div(self, a: u64, b: u64, mode: Mode) -> u64 {
        self.encode(quotient(self.decode(a), self.decode(b)), mode, &[a, b])
    }

    pub fn rcp(self, a: u64, mode: Mode) -> u64 {
        let one = Finite(Number::new(false, 1, 0));
        self.encode(quotient(one, self.decode(a)), mode, &[a])
    }

    pub fn sqrt(self, a: u64, mode: Mode) -> u64 {
        self.encode(root(self.decode(a)), mode, &[a])
    }

    /// To another format; what does not change the value is exact in every mode.
    pub fn convert(self, a: u64, to: Format, mode: Mode) -> u64 {
        match self.decode(a) {
            Nan => nan::converted(self, a, to),
            value => to.encode(value, mode, &[]),
        }
    }

    /// To an integral value of the same format; zero keeps the sign.
    pub fn integral(self, a: u64, mode: Mode) -> u64 {
        match self.decode(a) {
            Finite(number) => {
                let (negative, magnitude) = number.to_integer(mode);
                if number.exponent >= 0 { a } else { self.round(Number::new(negative, magnitude, 0), mode) }
            }
            value => self.encode(value, mode, &[a]),
        }
    }

    /// Subnormal numbers to zero of their sign.
    pub fn flush(self, a: u64) -> u64 {
        if a & !self.sign() < self.smallest_normal() { a & self.sign() } else { a }
    }

    /// The result of an operation with `.ftz`, of operands that are flushed: zero if it is subnormal before it is rounded.
    pub fn flushed(self, operation: impl Fn(Mode) -> u64) -> u64 {
        let cut = operation(Mode::Zero);
        if self.flush(cut) == cut { operation(Mode::Nearest) } else { self.flush(cut) }
    }

    /// Held to 0 ..= 1; NaN gives 0.
    pub fn saturate(self, a: u64) -> u64 {
        if self.is_nan(a) || self.is_negative(a) { 0 } else { a.min(self.one()) }
    }

    /// Less, equal, greater; `None` for NaN.
    pub fn compare(self, a: u64, b: u64) -> Option<std::cmp::Ordering> {
        let key = |bits: u64| {
            let magnitude = (bits & !self.sign()) as i128;
            if self.is_negative(bits) { -magnitude } else { magnitude }
        };
        (!self.is_nan(a) && !self.is_nan(b)).then(|| key(a).cmp(&key(b)))
    }

    /// Minimum or maximum: a number wins over NaN, and -0 is below 0.
    pub fn extreme(self, a: u64, b: u64, largest: bool) -> u64 {
        match (self.is_nan(a), self.is_nan(b)) {
            (true, true) => nan::arithmetic(self, &[a, b]),
            (true, false) => b,
            (false, true) => a,
            (false, false) => {
                let ordering =
                    self.compare(a, b).map(|o| o.then(self.is_negative(b).cmp(&self.is_negative(a))));
                if (ordering == Some(std::cmp::Ordering::Greater)) == largest { a } else { b }
            }
        }
    }

    pub fn to_f64(self, a: u64) -> f64 {
        match self {
            F64 => f64::from_bits(a),
            F32 => f32::from_bits(a as u32).into(),
            _ if self.is_nan(a) => f64::NAN,
            _ => f64::from_bits(self.convert(a, F64, Mode::Nearest)),
        }
    }
}

fn negated(value: Value) -> Value {
    match value {
        Nan => Nan,
        Infinite { negative } => Infinite { negative: !negative },
        Finite(n) => Finite(Number { negative: !n.negative, ..n }),
    }
}

/// Exact but for a last bit that stands for all below it. `mode` only tells the sign of a sum of zero.
fn sum(a: Value, b: Value, mode: Mode) -> Value {
    let (a, b) = match (a, b) {
        (Nan, _) | (_, Nan) => return Nan,
        (Infinite { negative: x }, Infinite { negative: y }) if x != y => return Nan,
        (Infinite { negative }, _) | (_, Infinite { negative }) => return Infinite { negative },
        (Finite(a), Finite(b)) => (a, b),
    };
    match (a.mantissa, b.mantissa) {
        (0, 0) => {
            let negative = if a.negative == b.negative { a.negative } else { mode == Mode::Down };
            return Finite(Number::new(negative, 0, 0));
        }
        (0, _) => return Finite(b),
        (_, 0) => return Finite(a),
        _ => {}
    }
    let (a, b) = (a.widened(), b.widened());
    let exponent = a.exponent.max(b.exponent);
    let (x, y) = (a.aligned(exponent), b.aligned(exponent));
    let number = if a.negative == b.negative {
        Number::new(a.negative, x + y, exponent)
    } else if x == y {
        Number::new(mode == Mode::Down, 0, 0)
    } else {
        Number::new(if x > y { a.negative } else { b.negative }, x.abs_diff(y), exponent)
    };
    Finite(number)
}

fn product(a: Value, b: Value) -> Value {
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Finite(a), Finite(b)) => {
            Finite(Number::new(a.negative != b.negative, a.mantissa * b.mantissa, a.exponent + b.exponent))
        }
        (Infinite { .. }, Finite(n)) | (Finite(n), Infinite { .. }) if n.mantissa == 0 => Nan,
        (a, b) => Infinite { negative: is_negative(a) != is_negative(b) },
    }
}

fn quotient(a: Value, b: Value) -> Value {
    let negative = is_negative(a) != is_negative(b);
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinite { .. }, Infinite { .. }) => Nan,
        (Infinite { .. }, _) => Infinite { negative },
        (_, Infinite { .. }) => Finite(Number::new(negative, 0, 0)),
        (Finite(a), Finite(b)) => match (a.mantissa, b.mantissa) {
            (0, 0) => Nan,
            (_, 0) => Infinite { negative },
            (0, _) => Finite(Number::new(negative, 0, 0)),
            _ => {
                let wide = a.widened();
                let mantissa = wide.mantissa / b.mantissa;
                let more = wide.mantissa % b.mantissa != 0;
                Finite(Number { negative, mantissa, exponent: wide.exponent - b.exponent, more })
            }
        },
    }
}

fn root(a: Value) -> Value {
    match a {
        Finite(n) if n.mantissa == 0 => a,
        Nan | Infinite { negative: true } => Nan,
        Infinite { .. } => a,
        Finite(n) if n.negative => Nan,
        Finite(n) => {
            let mut wide = n.widened();
            if wide.exponent % 2 != 0 {
                wide = Number { mantissa: wide.mantissa >> 1, exponent: wide.exponent + 1, ..wide };
            }
            let mantissa = wide.mantissa.isqrt();
            let more = mantissa * mantissa != wide.mantissa;
            Finite(Number { negative: false, mantissa, exponent: wide.exponent / 2, more })
        }
    }
}

fn is_negative(value: Value) -> bool {
    match value {
        Nan => false,
        Infinite { negative } => negative,
        Finite(n) => n.negative,
    }
}
