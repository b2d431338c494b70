//! What the numeric tests share: random and structured operands, and rounding modes as values.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// How many random cases to try: fewer where each takes long.
pub const fn cases(usual: usize) -> usize {
    if cfg!(miri) { usual / 2_000 + 1 } else { usual }
}

/// A xorshift64* generator: the same cases in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }

    pub fn below(&mut self, n: u64) -> u64 {
        ((self.u64() >> 32) * n) >> 32
    }

    /// An integer of `bits` bits from the classes that matter: uniform, small, near a power of two, near the ends.
    pub fn integer(&mut self, bits: u32) -> u64 {
        let mask = u64::MAX >> (64 - bits);
        let value = match self.below(6) {
            0 => self.below(5),
            1 => 0u64.wrapping_sub(self.below(5)),
            2 => (1u64 << self.below(bits as u64)).wrapping_add(self.below(5)).wrapping_sub(2),
            3 => self.u64() >> self.below(64),
            4 => 0u64.wrapping_sub(self.u64() >> self.below(64)),
            _ => self.u64(),
        };
        value & mask
    }
}

/// The layout of a float format.
#[derive(Clone, Copy)]
pub struct Layout {
    pub exponent: u32,
    pub fraction: u32,
}

pub const F16: Layout = Layout { exponent: 5, fraction: 10 };
pub const BF16: Layout = Layout { exponent: 8, fraction: 7 };
pub const F32: Layout = Layout { exponent: 8, fraction: 23 };
pub const F64: Layout = Layout { exponent: 11, fraction: 52 };

impl Layout {
    pub fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    pub fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    pub fn is_nan(self, a: u64) -> bool {
        a & !self.sign() > self.infinity()
    }

    pub fn is_subnormal(self, a: u64) -> bool {
        let magnitude = a & !self.sign();
        magnitude != 0 && magnitude < 1 << self.fraction
    }

    /// `.ftz` on bits.
    pub fn flush(self, a: u64) -> u64 {
        if self.is_subnormal(a) { a & self.sign() } else { a }
    }

    pub fn one(self) -> u64 {
        (self.infinity() >> 1) & !((1 << self.fraction) - 1)
    }

    /// `.sat` on bits.
    pub fn saturate(self, a: u64) -> u64 {
        match a & self.sign() != 0 || self.is_nan(a) {
            true => 0,
            false => a.min(self.one()),
        }
    }

    /// The numbers at which something changes, of both signs, and NaNs with and without payload.
    pub fn specials(self) -> Vec<u64> {
        let ulp = 1u64;
        let normal = 1 << self.fraction;
        let magnitudes = [
            0,
            ulp,
            2,
            normal / 2,
            normal - 1,
            normal,
            normal + 1,
            2 * normal,
            self.one() - 1,
            self.one(),
            self.one() + 1,
            self.one() + normal / 2,
            self.one() - normal,
            self.one() + normal,
            self.infinity() - normal,
            self.infinity() - 2,
            self.infinity() - 1,
            self.infinity(),
            self.infinity() + 1,
            self.infinity() + normal / 2,
            self.infinity() + normal / 2 + 5,
            self.sign() - 1,
        ];
        magnitudes.iter().flat_map(|&m| [m, m | self.sign()]).collect()
    }

    /// A number from the classes that find rounding errors.
    pub fn any(self, random: &mut Random) -> u64 {
        let all = self.sign() | (self.sign() - 1);
        let sign = random.u64() & self.sign();
        let fraction_mask = (1u64 << self.fraction) - 1;
        match random.below(8) {
            0 => {
                let specials = self.specials();
                specials[random.below(specials.len() as u64) as usize]
            }
            // Subnormal.
            1 => sign | (random.u64() & fraction_mask) >> random.below(self.fraction as u64),
            // Few bits set: ties and exact results.
            2 => sign | (random.u64() & random.u64() & random.u64() & (self.sign() - 1)),
            // Many bits set: carries.
            3 => (sign | random.u64() | random.u64()) & (all >> 1) | sign,
            // Near one, where sums and products meet.
            4 | 5 => {
                let spread = random.below(2 * self.fraction as u64 + 4);
                let exponent = (self.one() >> self.fraction) + spread;
                let exponent =
                    exponent.saturating_sub(self.fraction as u64 + 2).clamp(1, (1 << self.exponent) - 2);
                sign | exponent << self.fraction | random.u64() & fraction_mask
            }
            // Near the largest.
            6 => {
                sign | (self.infinity() - 1).wrapping_sub((random.u64() & fraction_mask) >> random.below(20))
            }
            _ => random.u64() & all,
        }
    }

    /// A number that nearly cancels against `a`, or has nearly the same exponent.
    pub fn near(self, a: u64, random: &mut Random) -> u64 {
        let all = self.sign() | (self.sign() - 1);
        match random.below(4) {
            0 => a.wrapping_add(random.below(9)).wrapping_sub(4) & all,
            1 => (a ^ self.sign()).wrapping_add(random.below(9)).wrapping_sub(4) & all,
            2 => (a ^ random.u64() >> random.below(64)) & all,
            _ => self.any(random),
        }
    }
}

/// Calls `$body` with `$R` bound to each rounding type and `$round` to the oracle's name of it.
#[macro_export]
macro_rules! for_modes {
    (|$R:ident, $round:ident| $body:block) => {{
        {
            type $R = cuda_emulator::numeric::rounding::Nearest;
            let $round = rustc_apfloat::Round::NearestTiesToEven;
            $body
        }
        {
            type $R = cuda_emulator::numeric::rounding::Zero;
            let $round = rustc_apfloat::Round::TowardZero;
            $body
        }
        {
            type $R = cuda_emulator::numeric::rounding::Down;
            let $round = rustc_apfloat::Round::TowardNegative;
            $body
        }
        {
            type $R = cuda_emulator::numeric::rounding::Up;
            let $round = rustc_apfloat::Round::TowardPositive;
            $body
        }
    }};
}
