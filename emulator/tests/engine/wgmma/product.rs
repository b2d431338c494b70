//! A product as the PTX ISA says where its elements are, computed here and by a kernel.

use crate::support::{Args, Device};
use crate::wgmma_support::case::{Case, bits_of};

/// Random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ self.0 >> 29;
        x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ x >> 32
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Bits, bits of the exponent and of the fraction of a format.
pub(super) fn format(name: &str) -> (u32, i32, i32) {
    match name {
        "e4m3" => (8, 4, 3),
        "e5m2" => (8, 5, 2),
        "f16" => (16, 5, 10),
        "bf16" => (16, 8, 7),
        "tf32" | "f32" => (32, 8, 23),
        other => panic!("{other}"),
    }
}

/// A number that the format has exactly.
pub(crate) fn encoded(name: &str, value: f64) -> u32 {
    let (bits, exponent, fraction) = format(name);
    let sign = u32::from(value.is_sign_negative()) << (bits - 1);
    if value == 0.0 {
        return sign;
    }
    let lowest = 2 - (1 << (exponent - 1));
    let own = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(lowest);
    let significand = value.abs() * 2f64.powi(fraction - own);
    assert_eq!(significand.fract(), 0.0, "{value} in {name}");
    let hidden = 1u32 << fraction;
    let biased = if (significand as u32) < hidden { 0 } else { own - lowest + 1 };
    sign | (biased as u32) << fraction | significand as u32 & (hidden - 1)
}

/// The value of a finite number, and its exponent, which is the lowest of the format for subnormal ones.
pub(crate) fn decoded(name: &str, bits: u32) -> (f64, i32) {
    let (width, exponent, fraction) = format(name);
    let biased = (bits >> fraction) as i32 & ((1 << exponent) - 1);
    let low = f64::from(bits & ((1 << fraction) - 1)) * 2f64.powi(-fraction);
    let own = biased.max(1) + 1 - (1 << (exponent - 1));
    let magnitude = (low + if biased == 0 { 0.0 } else { 1.0 }) * 2f64.powi(own);
    (if bits >> (width - 1) & 1 != 0 { -magnitude } else { magnitude }, own)
}

impl Case {
    /// The registers of D that a device makes of matrices of bits, A by rows, B by columns, C by rows.
    pub(super) fn run(&self, a: &[u32], b: &[u32], c: &[u32]) -> Vec<u32> {
        self.run_sparse(a, b, c, &[])
    }

    /// The same of a sparse A without what is not there, and the metadata of each thread.
    pub(super) fn run_sparse(&self, a: &[u32], b: &[u32], c: &[u32], metadata: &[u32]) -> Vec<u32> {
        self.run_at(a, b, c, metadata, 0)
    }

    /// The same with B so many lines of 128 bytes further, together with the pattern that its bytes are swizzled by.
    pub(super) fn run_at(&self, a: &[u32], b: &[u32], c: &[u32], metadata: &[u32], lines: usize) -> Vec<u32> {
        let count = self.registers();
        let device = Device::new(&self.text(&self.instruction()));
        let input = device.upload(&self.image(a, b, c, metadata, lines));
        let out = device.zeroed::<u8>(512 * count);
        device.launch("k", [1; 3], [128, 1, 1], &Args::new().add(input).add(out));
        self.rows(&device.download::<u8>(out, 512 * count))
    }

    /// What is left of A, and the metadata, if of each two or four columns those stay that `chosen` says.
    pub(super) fn pruned(
        &self,
        random: &mut Random,
        a: &mut [f64],
        bits: &mut [u32],
    ) -> (Vec<u32>, Vec<u32>) {
        let (mut kept, mut metadata) = (Vec::new(), vec![0; 128]);
        // What the lanes have that the selector does not mean is not looked at.
        metadata
            .iter_mut()
            .for_each(|word| *word = if bits_of(self.a) == 8 { 0 } else { random.next() as u32 });
        let group = if bits_of(self.a) == 32 { 2 } else { 4 };
        for row in 0..64 {
            for code in 0..self.k / group {
                let first = row * self.k + code * group;
                let pair = match group {
                    2 => vec![random.below(2) as usize],
                    _ => {
                        let low = random.below(3) as usize;
                        vec![low, low + 1 + random.below(3 - low as u64) as usize]
                    }
                };
                let nibble = match pair.as_slice() {
                    [only] => [0b0100, 0b1110][*only],
                    pair => (pair[0] | pair[1] << 2) as u32,
                };
                let (thread, shift) = self.code(row, code);
                metadata[thread] = metadata[thread] & !(15 << shift) | nibble << shift;
                kept.extend(pair.iter().map(|at| bits[first + at]));
                for at in (0..group).filter(|at| !pair.contains(at)) {
                    (a[first + at], bits[first + at]) = (0.0, 0);
                }
            }
        }
        (kept, metadata)
    }

    /// Compares products of exact numbers.
    pub(super) fn check(&self) {
        let mut random = Random(self.n as u64 * 7 + self.k as u64);
        let name = self.instruction();
        let mut matrix = |name: &str, count: usize| -> (Vec<u32>, Vec<f64>) {
            let number = |random: &mut Random| match name {
                "b1" => random.below(2) as f64,
                "s8" => random.below(256) as f64 - 128.0,
                "u8" => random.below(256) as f64,
                "s32" => f64::from(random.next() as i32),
                _ => random.below(13) as f64 / 2.0 - 3.0,
            };
            let bits = |value: f64| match name {
                "b1" | "s8" | "u8" | "s32" => value as i64 as u32,
                float => encoded(float, value),
            };
            let values: Vec<f64> = (0..count).map(|_| number(&mut random)).collect();
            (values.iter().map(|value| bits(*value)).collect(), values)
        };
        let (mut a_bits, mut a) = matrix(self.a, 64 * self.k);
        let (b_bits, b) = matrix(self.b, self.n * self.k);
        let (mut c_bits, mut c) = matrix(self.d, 64 * self.n);
        if self.saturates {
            // Near the ends, so that both are met.
            for (at, (bits, value)) in c_bits.iter_mut().zip(&mut c).enumerate() {
                *bits = if at % 2 == 0 { i32::MAX as u32 - at as u32 } else { 1 << 31 | at as u32 };
                *value = f64::from(*bits as i32);
            }
        }
        let pruned = self.sparse.map(|_| self.pruned(&mut Random(self.n as u64), &mut a, &mut a_bits));
        let mut wanted = Vec::new();
        for row in 0..64 {
            for column in 0..self.n {
                let products = (0..self.k).map(|k| a[row * self.k + k] * b[column * self.k + k]);
                let sign = if self.is_float() { f64::from(self.signs[0] * self.signs[1]) } else { 1.0 };
                let sum =
                    products.sum::<f64>() * sign + if self.adds { c[row * self.n + column] } else { 0.0 };
                wanted.push(match (self.d, self.saturates) {
                    ("s32", true) => (sum as i32) as u32,
                    ("s32", false) => sum as i64 as u32,
                    // Sums of zero are positive.
                    (float, _) => encoded(float, sum + 0.0),
                });
            }
        }
        let found = match pruned {
            None => self.run(&a_bits, &b_bits, &c_bits),
            Some((kept, metadata)) => self.run_sparse(&kept, &b_bits, &c_bits, &metadata),
        };
        let wrong = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        if let Some(at) = wrong {
            let (row, column) = (at / self.n, at % self.n);
            panic!("{name}: ({row}, {column}) is {:x}, not {:x}", found[at], wanted[at]);
        }
    }
}
