//! Conversions to and from floats of 4, 6 and 8 bits and powers of two (PTX ISA, "cvt"), against a search among all numbers of the
//! format, by their definition.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_emulator::numeric::half;
use cuda_emulator::numeric::minifloat::{self, E2m1, E2m3, E3m2, E4m3, E5m2, Minifloat};

/// What the ISA and the OCP's specifications say of a format.
struct Format {
    exponent_bits: u32,
    fraction_bits: u32,
    bias: i32,
    /// The largest finite number.
    largest: f64,
    /// The result for NaN.
    nan: u8,
}

const FORMAT_E4M3: Format = Format { exponent_bits: 4, fraction_bits: 3, bias: 7, largest: 448.0, nan: 0x7f };
const FORMAT_E5M2: Format =
    Format { exponent_bits: 5, fraction_bits: 2, bias: 15, largest: 57344.0, nan: 0x7f };
const FORMAT_E2M3: Format = Format { exponent_bits: 2, fraction_bits: 3, bias: 1, largest: 7.5, nan: 0x1f };
const FORMAT_E3M2: Format = Format { exponent_bits: 3, fraction_bits: 2, bias: 3, largest: 28.0, nan: 0x1f };
const FORMAT_E2M1: Format = Format { exponent_bits: 2, fraction_bits: 1, bias: 1, largest: 6.0, nan: 0x7 };

impl Format {
    fn sign(&self) -> u8 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// The value of a magnitude, as if there were no infinity or NaN.
    fn value(&self, magnitude: u8) -> f64 {
        let fraction =
            f64::from(magnitude & ((1 << self.fraction_bits) - 1)) / f64::from(1 << self.fraction_bits);
        match i32::from(magnitude >> self.fraction_bits) {
            0 => 2f64.powi(1 - self.bias) * fraction,
            exponent => 2f64.powi(exponent - self.bias) * (1.0 + fraction),
        }
    }

    /// The magnitudes of the finite numbers.
    fn magnitudes(&self) -> impl Iterator<Item = u8> {
        (0..self.sign()).take_while(|magnitude| self.value(*magnitude) <= self.largest)
    }

    /// `x` rounded to the nearest number, of two the even one; too large gives the largest.
    fn nearest(&self, x: f64) -> u8 {
        if x.is_nan() {
            return self.nan;
        }
        let above = |magnitude: &u8| {
            let middle = (self.value(*magnitude) + self.value(*magnitude - 1)) / 2.0;
            x.abs() > middle || x.abs() == middle && magnitude.is_multiple_of(2)
        };
        let magnitude = self.magnitudes().skip(1).filter(above).count() as u8;
        magnitude | if x.is_sign_negative() { self.sign() } else { 0 }
    }

    fn relu(&self, x: f64) -> u8 {
        if x.is_sign_negative() && !x.is_nan() { 0 } else { self.nearest(x) }
    }
}

/// Operands with every combination of the upper 16 bits, and with lower bits of which results depend.
fn singles() -> impl Iterator<Item = u32> {
    let step = if cfg!(miri) { 997 } else { 1 };
    let upper = (0..=u16::MAX).step_by(step);
    upper.flat_map(|upper| [0, 1, 0xffff].map(|lower| u32::from(upper) << 16 | lower))
}

fn halves() -> impl Iterator<Item = u16> {
    (0..=u16::MAX).step_by(if cfg!(miri) { 997 } else { 1 })
}

fn joined<F: Minifloat>(high: u8, low: u8) -> u16 {
    let shift = if F::BITS == 4 { 4 } else { 8 };
    u16::from(high) << shift | u16::from(low)
}

fn from_singles<F: Minifloat>(format: &Format) {
    for a in singles() {
        let b = a.rotate_left(9) ^ 0x8000_0000;
        let (x, y) = (f64::from(f32::from_bits(a)), f64::from(f32::from_bits(b)));
        let (plain, relu) =
            (minifloat::pair_from_f32::<F, false>(a, b), minifloat::pair_from_f32::<F, true>(a, b));
        assert_eq!(plain, joined::<F>(format.nearest(x), format.nearest(y)), "{a:x} {b:x}");
        assert_eq!(relu, joined::<F>(format.relu(x), format.relu(y)), "relu {a:x} {b:x}");
    }
}

fn from_halves<F: Minifloat>(format: &Format) {
    let value = |a: u16| f64::from(half::f16_to_f32(a));
    for a in halves() {
        let (high, low) = (a, a.rotate_left(5));
        let packed = half::pack(low, high);
        let (x, y) = (value(high), value(low));
        let plain = joined::<F>(format.nearest(x), format.nearest(y));
        assert_eq!(minifloat::pair_from_f16x2::<F, false>(packed), plain, "{packed:x}");
        let relu = joined::<F>(format.relu(x), format.relu(y));
        assert_eq!(minifloat::pair_from_f16x2::<F, true>(packed), relu, "relu {packed:x}");
    }
}

/// `nan` and `infinity` are the formats' own magnitudes, if they have them.
fn to_halves<F: Minifloat>(format: &Format, infinity: Option<u8>, nan: Option<u8>) {
    let one = |code: u8| {
        let (sign, magnitude) = (code & format.sign() != 0, code & (format.sign() - 1));
        if nan.is_some_and(|nan| magnitude >= nan) {
            return half::NAN;
        }
        let value = if infinity == Some(magnitude) { f64::INFINITY } else { format.value(magnitude) };
        half::f32_to_f16(if sign { -value as f32 } else { value as f32 })
    };
    let relu = |bits: u16| if bits & 0x8000 != 0 { 0 } else { bits };
    let last = format.sign() | (format.sign() - 1);
    for high in 0..=last {
        for low in 0..=last {
            let packed = joined::<F>(high, low);
            let (expected_high, expected_low) = (one(high), one(low));
            let plain = half::pack(expected_low, expected_high);
            assert_eq!(minifloat::f16x2_from_pair::<F, false>(packed), plain, "{packed:x}");
            let clamped = half::pack(relu(expected_low), relu(expected_high));
            assert_eq!(minifloat::f16x2_from_pair::<F, true>(packed), clamped, "relu {packed:x}");
            // Every number that these formats have is one of `.bf16` and of `.f16`.
            let single = |bits: u16| half::f16_to_f32(bits).to_bits();
            let (high, low) = (single(expected_high), single(expected_low));
            let wide = |high: u32, low: u32| high & 0xffff_0000 | low >> 16;
            assert_eq!(minifloat::bf16x2_from_pair::<F, false, false>(packed), wide(high, low), "{packed:x}");
            let finite =
                |bits: u32| if bits & 0x7fff_ffff == 0x7f80_0000 { bits - 0x0001_0000 } else { bits };
            let finite = wide(finite(high), finite(low));
            assert_eq!(minifloat::bf16x2_from_pair::<F, false, true>(packed), finite, "finite {packed:x}");
            let positive = |bits: u32| if bits >> 31 != 0 { 0 } else { bits };
            let clamped = wide(positive(high), positive(low));
            assert_eq!(minifloat::bf16x2_from_pair::<F, true, false>(packed), clamped, "relu {packed:x}");
        }
    }
}

#[test]
fn every_number_has_the_value_of_its_definition() {
    assert_eq!(
        FORMAT_E2M1.magnitudes().map(|m| FORMAT_E2M1.value(m)).collect::<Vec<_>>(),
        [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    );
    assert_eq!((FORMAT_E2M3.value(1), FORMAT_E3M2.value(1)), (0.125, 0.0625));
    for (format, count) in [(FORMAT_E4M3, 127), (FORMAT_E5M2, 124), (FORMAT_E2M3, 32), (FORMAT_E3M2, 32)] {
        assert_eq!(format.magnitudes().count(), count);
    }
    to_halves::<E4m3>(&FORMAT_E4M3, None, Some(0x7f));
    to_halves::<E5m2>(&FORMAT_E5M2, Some(0x7c), Some(0x7d));
    to_halves::<E2m3>(&FORMAT_E2M3, None, None);
    to_halves::<E3m2>(&FORMAT_E3M2, None, None);
    to_halves::<E2m1>(&FORMAT_E2M1, None, None);
}

#[test]
fn singles_become_the_nearest_number() {
    from_singles::<E4m3>(&FORMAT_E4M3);
    from_singles::<E5m2>(&FORMAT_E5M2);
    from_singles::<E2m3>(&FORMAT_E2M3);
    from_singles::<E3m2>(&FORMAT_E3M2);
    from_singles::<E2m1>(&FORMAT_E2M1);
}

#[test]
fn halves_become_the_nearest_number() {
    from_halves::<E4m3>(&FORMAT_E4M3);
    from_halves::<E5m2>(&FORMAT_E5M2);
    from_halves::<E2m1>(&FORMAT_E2M1);
}

#[test]
fn bits_above_a_number_of_six_bits_mean_nothing() {
    assert_eq!(
        minifloat::f16x2_from_pair::<E2m3, false>(0xc8e8),
        minifloat::f16x2_from_pair::<E2m3, false>(0x0828)
    );
    assert_eq!(
        minifloat::f16x2_from_pair::<E2m1, false>(0xff2a),
        minifloat::f16x2_from_pair::<E2m1, false>(0x2a)
    );
}

/// The power of two next to a magnitude, by comparing with all of them.
fn scale(x: f64, up: bool, satfinite: bool) -> u8 {
    let overflow = if satfinite { 0xfe } else { 0xff };
    let power = |code: u8| 2f64.powi(i32::from(code) - 127);
    match x.abs() {
        x if x.is_nan() => 0xff,
        x if up => (0..=0xfe).find(|code| power(*code) >= x).unwrap_or(overflow),
        x if x.is_infinite() => overflow,
        x => (0..=0xfe).rev().find(|code| power(*code) <= x).unwrap_or(0),
    }
}

fn scales<const UP: bool, const SATFINITE: bool>() {
    let expected = |a: u32| u16::from(scale(f64::from(f32::from_bits(a)), UP, SATFINITE));
    for a in singles() {
        let b = a.rotate_left(9);
        let packed = expected(a) << 8 | expected(b);
        assert_eq!(minifloat::scales_from_f32::<UP, SATFINITE>(a, b), packed, "{UP} {a:x} {b:x}");
    }
    for a in halves() {
        let (high, low) = (a, a.rotate_left(5));
        let one = |a: u16| expected(u32::from(a) << 16);
        let ours = minifloat::scales_from_bf16x2::<UP, SATFINITE>(half::pack(low, high));
        assert_eq!(ours, one(high) << 8 | one(low), "{UP} {a:x}");
    }
}

#[test]
fn magnitudes_become_powers_of_two() {
    assert_eq!(
        [0.0, -0.5, 3.0, 2e-38, f64::INFINITY].map(|x| (scale(x, false, true), scale(x, true, false))),
        [(0, 0), (126, 126), (128, 129), (1, 2), (0xfe, 0xff)]
    );
    scales::<false, false>();
    scales::<false, true>();
    scales::<true, false>();
    scales::<true, true>();
}

#[test]
fn powers_of_two_become_bfloats() {
    for (high, low) in (0..=0xffu8).flat_map(|high| [(high, 0xff - high), (high, high)]) {
        let one = |code: u8| match code {
            0xff => half::NAN,
            code => half::f32_to_bf16(2f64.powi(i32::from(code) - 127) as f32),
        };
        let ours = minifloat::bf16x2_from_scales(u16::from_be_bytes([high, low]));
        assert_eq!(ours, half::pack(one(low), one(high)), "{high:x} {low:x}");
    }
}
