//! Operands that matter: every special value against every other, and many pseudo-random ones.

use super::float::{F64, Format, Mode};
use crate::references::Random;

/// Three columns of operands.
pub type Triples = [Vec<u64>; 3];

/// All pairs of `special`, the third operand running through them at another pace; then `count` of `random`.
fn triples(special: &[u64], count: usize, mut random: impl FnMut() -> [u64; 3]) -> Triples {
    let mut columns: Triples = Default::default();
    let mut push = |triple: [u64; 3]| columns.iter_mut().zip(triple).for_each(|(column, x)| column.push(x));
    let mut third = 0;
    for &a in special {
        for &b in special {
            third = (third + 7) % special.len();
            push([a, b, special[third]]);
        }
    }
    (0..count).for_each(|_| push(random()));
    columns
}

/// Integers of `bits` bits: around zero, around the ends of narrower types, patterns, and random ones of every length.
pub fn integers(bits: u32, count: usize) -> Triples {
    let mask = u64::MAX >> (64 - bits);
    let mut special: Vec<u64> =
        (0..4).chain([7, 8, 9, 10, 15, 16, 31, 32, 33, 63, 64, 65, 100, 255, 1000]).collect();
    special.extend((1..bits).step_by(8).map(|k| 1 << (k + 6).min(bits - 1)));
    special.extend([mask, mask - 1, mask >> 1, (mask >> 1) + 1, 0x5555_5555_5555_5555 & mask, mask - 6]);
    special.sort();
    special.dedup();
    let mut random = Random::new(u64::from(bits));
    let mut next = move || {
        let (value, length) = (random.u64(), random.below(u64::from(bits) + 1) as u32);
        let short = if length == 0 { 0 } else { value >> (64 - length) };
        if random.below(3) == 0 { short.wrapping_neg() & mask } else { short }
    };
    triples(&special, count, move || [next(), next(), next()])
}

impl Format {
    /// Zeros, subnormals, ones and their neighbours, integers, halves, extremes, infinities, NaN; both signs of all.
    pub fn specials(self) -> Vec<u64> {
        let one = self.one();
        let ulps = |x: u64| [x - 1, x, x + 1];
        let power = |k: u64| one + (k << self.fraction);
        let mut all = vec![0, 1, 2, self.smallest_normal() / 2 + 1, self.infinity() - 1, self.infinity()];
        all.extend(ulps(self.smallest_normal()));
        all.extend(ulps(one));
        // 0.5, 1.5, 2, 2.5, 3, 3.5, 4, and where the last bit is one half and one.
        all.push(one - (1 << self.fraction));
        all.extend([2, 4, 5, 6, 7, 8].map(|quarters| one + (quarters << (self.fraction - 2))));
        all.extend([power(u64::from(self.fraction) - 1) + 1, power(u64::from(self.fraction)) + 1]);
        // Quiet and signalling NaN with payloads.
        all.extend([self.infinity() + 1, self.infinity() | (3 << (self.fraction - 2)) | 5]);
        all.iter().flat_map(|&x| [x, x | self.sign()]).collect()
    }

    /// Special values against each other; then random bits, numbers near one, and sums that cancel.
    pub fn operands(self, count: usize) -> Triples {
        let mut random = Random::new(u64::from(self.fraction));
        let any = u64::MAX >> (64 - self.width);
        let one = self.one();
        let mut turn = 0;
        triples(&self.specials(), count, move || {
            turn += 1;
            let mut bits = || random.u64() & any;
            let near_one = |bits: u64| {
                let offset = (bits >> self.fraction & 7) << self.fraction;
                (one - (4 << self.fraction) + offset) | (bits & (self.sign() | ((1 << self.fraction) - 1)))
            };
            let [a, b, c] = [bits(), bits(), bits()];
            match turn % 4 {
                0 => [a, b, c],
                1 => [near_one(a), near_one(b), near_one(c)],
                2 => {
                    // The third is almost minus the product; the second almost the first.
                    let (a, b) = (near_one(a), if c & 1 == 0 { near_one(b) } else { near_one(a) ^ (b & 3) });
                    let product = self.mul(a, b, Mode::Nearest) ^ self.sign();
                    [a, b, if c & 2 == 0 { product } else { product ^ 1 }]
                }
                _ => {
                    // Products that are subnormal or overflow.
                    let half = self.infinity() >> 1;
                    [half / 2 + a % half, half / 2 + b % half, c % (2 * self.smallest_normal())]
                }
            }
        })
    }

    /// One column: everything special, values around the ends of all integer types, and random ones.
    pub fn column(self, count: usize) -> Vec<u64> {
        let mut all = self.specials();
        for k in [7, 8, 15, 16, 31, 32, 52, 63, 64] {
            let power = F64.convert((2f64.powi(k)).to_bits(), self, Mode::Zero);
            all.extend([power - 1, power, power + 1].iter().flat_map(|&x| [x, x | self.sign()]));
        }
        for quarters in -24..24 {
            all.push(F64.convert((f64::from(quarters) / 4.0).to_bits(), self, Mode::Nearest));
        }
        let mut random = Random::new(77 + u64::from(self.fraction));
        let any = u64::MAX >> (64 - self.width);
        let one = self.one();
        all.extend((0..count).map(|i| match i % 2 {
            0 => random.u64() & any,
            // Exponents from -3 to 67, as far as the format has them.
            _ => {
                let exponent = random.below(70) as u32;
                let x = one.wrapping_sub(3 << self.fraction) + (u64::from(exponent) << self.fraction);
                let x = if x < self.infinity() { x } else { one };
                x | random.u64() & (self.sign() | ((1 << self.fraction) - 1))
            }
        }));
        all
    }
}
