//! Stochastic rounding (PTX ISA, "cvt", `.rs`), against the carry of the sum of the random bits and the fraction that is cut off, computed
//! from the numbers around.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::half::{self, Bf16, F16};
use cuda_emulator::numeric::minifloat::{E2m1, E2m3, E3m2, E4m3, E5m2, Minifloat};
use cuda_emulator::numeric::stochastic::{half_x2, minifloat_x4};
use numeric_support::{F32, Random, cases};

const CASES: usize = cases(200_000);

/// A format as the list of its finite magnitudes.
struct Format {
    values: Vec<f64>,
    sign: u32,
    /// Results for NaN, and for magnitudes above the largest.
    nan: u32,
    overflow: u32,
    random_bits: u32,
}

impl Format {
    /// Magnitudes from zero on, of that many bits of fraction, up to the largest.
    fn new(fraction_bits: u32, bias: i32, largest: f64, sign: u32, random_bits: u32) -> Format {
        let value = |code: u32| {
            let fraction = f64::from(code & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
            match (code >> fraction_bits) as i32 {
                0 => 2f64.powi(1 - bias) * fraction,
                exponent => 2f64.powi(exponent - bias) * (1.0 + fraction),
            }
        };
        let values: Vec<f64> = (0..).map(value).take_while(|value| *value <= largest).collect();
        let overflow = values.len() as u32 - 1;
        Format { values, sign, nan: overflow, overflow, random_bits }
    }

    fn round(&self, a: u32, random: u32, relu: bool) -> u32 {
        let x = f64::from(f32::from_bits(a));
        if x.is_nan() {
            return self.nan;
        }
        if relu && x.is_sign_negative() {
            return 0;
        }
        let sign = if x.is_sign_negative() { self.sign } else { 0 };
        let below = self.values.partition_point(|value| *value <= x.abs()) - 1;
        // Above the largest number the distance stays what it was.
        let distance = match self.values.get(below + 1) {
            Some(next) => next - self.values[below],
            None => self.values[below] - self.values[below - 1],
        };
        let units = f64::from(1 << self.random_bits);
        let cut = ((x.abs() - self.values[below]) / distance * units).floor();
        let rounded = below as u32 + u32::from(cut + f64::from(random) >= units);
        sign | if rounded as usize >= self.values.len() { self.overflow } else { rounded }
    }
}

/// Numbers between all neighbours of a format and random bits that just do, or just do not, carry; and random ones.
fn operands(format: &Format, random: &mut Random) -> Vec<(u32, u32)> {
    let mut all = Vec::new();
    let all_bits = (1u32 << format.random_bits) - 1;
    let step = (format.values.len() / 512).max(1) * if cfg!(miri) { 61 } else { 1 };
    for pair in format.values.windows(2).step_by(step) {
        for cut in [0, 1, all_bits / 2, all_bits / 2 + 1, all_bits, random.u32() & all_bits] {
            let x = pair[0] + (pair[1] - pair[0]) * f64::from(cut) / f64::from(all_bits + 1);
            let x = (x as f32).to_bits();
            for bits in [x, x + 1, x.saturating_sub(1), x | 1 << 31] {
                for random in [0, all_bits - cut, (all_bits - cut + 1) & all_bits, all_bits] {
                    all.push((bits, random));
                }
            }
        }
    }
    let largest = (format.values[format.values.len() - 1] as f32).to_bits();
    for bits in (largest - 3..largest + 3).chain(F32.specials().into_iter().map(|bits| bits as u32)) {
        all.extend([0, 1, all_bits / 2 + 1, all_bits].map(|random| (bits, random)));
    }
    all.extend((0..CASES).map(|_| (F32.any(random) as u32, random.u32() & all_bits)));
    all
}

fn halves<H: cuda_emulator::numeric::stochastic::StochasticHalf>(format: Format, seed: u64) {
    let finite =
        Format { overflow: format.overflow - 1, ..Format { values: format.values.clone(), ..format } };
    let mut random = Random::new(seed);
    let operands = operands(&format, &mut random);
    for (at, &(a, first)) in operands.iter().enumerate() {
        let (b, second) = operands[(at * 7 + 3) % operands.len()];
        let bits = first << 16 | second;
        let expected =
            |format: &Format, relu| format.round(a, first, relu) << 16 | format.round(b, second, relu);
        assert_eq!(half_x2::<H, false, false>(a, b, bits), expected(&format, false), "{a:x} {b:x} {bits:x}");
        assert_eq!(
            half_x2::<H, true, false>(a, b, bits),
            expected(&format, true),
            "relu {a:x} {b:x} {bits:x}"
        );
        let ours = half_x2::<H, false, true>(a, b, bits);
        assert_eq!(ours, expected(&finite, false), "satfinite {a:x} {b:x} {bits:x}");
        assert_eq!(half_x2::<H, true, true>(a, b, bits), expected(&finite, true), "{a:x} {b:x} {bits:x}");
    }
}

#[test]
fn singles_become_one_of_the_two_halves_around() {
    let format = |mut format: Format| {
        // Behind the largest number stands infinity.
        format.overflow += 1;
        format.nan = half::NAN.into();
        format
    };
    halves::<F16>(format(Format::new(10, 15, 65504.0, 0x8000, 13)), 81);
    halves::<Bf16>(format(Format::new(7, 127, 3.3895313892515355e38, 0x8000, 16)), 82);
}

#[test]
fn the_upper_bits_of_the_random_numbers_for_f16_mean_nothing() {
    let (a, b) = (1.0003f32.to_bits(), 7.7f32.to_bits());
    assert_eq!(
        half_x2::<F16, false, false>(a, b, 0xf234_e567),
        half_x2::<F16, false, false>(a, b, 0x1234_0567)
    );
}

/// The random bits of value `index`, bit by bit: of two values that share 16 bits the first one takes them in reverse.
fn share(random: u32, index: usize, of_four_bits: bool) -> u32 {
    let bit = |position: u32| {
        let from = if index.is_multiple_of(2) { 15 - position } else { position };
        let upper_pair = index < 2;
        let place = match of_four_bits {
            false => from + if upper_pair { 16 } else { 0 },
            true => (from % 8) + if from >= 8 { 16 } else { 0 } + if upper_pair { 8 } else { 0 },
        };
        (random >> place & 1) << position
    };
    (0..16).map(bit).sum()
}

#[test]
fn four_values_share_the_random_bits() {
    let shares = |of_four_bits| [0, 1, 2, 3].map(|index| share(0x1234_5678, index, of_four_bits));
    // As measured on a B200.
    assert_eq!(shares(false), [0x2c48, 0x1234, 0x1e6a, 0x5678]);
    assert_eq!(shares(true), [0x6a48, 0x1256, 0x1e2c, 0x3478]);
}

fn minifloats<F: Minifloat>(format: Format, seed: u64) {
    let mut random = Random::new(seed);
    let field = if F::BITS == 4 { 4 } else { 8 };
    let operands = operands(&format, &mut random);
    // Each value in each place, with the bits that it is to have there and others that are random.
    for (at, &(x, wanted)) in operands.iter().enumerate() {
        let index = at % 4;
        let mut bits = random.u32();
        for position in 0..32 {
            let before = share(bits, index, F::BITS == 4);
            let flipped = share(bits ^ 1 << position, index, F::BITS == 4);
            if (before ^ flipped) & (before ^ wanted) != 0 {
                bits ^= 1 << position;
            }
        }
        assert_eq!(share(bits, index, F::BITS == 4), wanted);
        let mut values = [0; 4].map(|_| operands[random.below(operands.len() as u64) as usize].0);
        values[index] = x;
        let [a, b, e, f] = values;
        let expected = |relu| {
            let one = |index: usize| format.round(values[index], share(bits, index, F::BITS == 4), relu);
            (0..4).fold(0, |packed, index| packed << field | one(index))
        };
        assert_eq!(minifloat_x4::<F, false>(a, b, e, f, bits), expected(false), "{values:x?} {bits:x}");
        assert_eq!(minifloat_x4::<F, true>(a, b, e, f, bits), expected(true), "relu {values:x?} {bits:x}");
    }
}

#[test]
fn singles_become_one_of_the_two_small_numbers_around() {
    let with_nan = |mut format: Format| {
        format.nan = 0x7f;
        format
    };
    minifloats::<E4m3>(with_nan(Format::new(3, 7, 448.0, 0x80, 16)), 91);
    minifloats::<E5m2>(with_nan(Format::new(2, 15, 57344.0, 0x80, 16)), 92);
    minifloats::<E2m3>(Format::new(3, 1, 7.5, 0x20, 16), 93);
    minifloats::<E3m2>(Format::new(2, 3, 28.0, 0x20, 16), 94);
    minifloats::<E2m1>(Format::new(1, 1, 6.0, 0x8, 16), 95);
}
