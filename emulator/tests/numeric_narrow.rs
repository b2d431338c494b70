//! Conversions to `.tf32`, 8-bit floats and packed halves (PTX ISA, "cvt").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::cvt;
use cuda_emulator::numeric::half::{self, Bf16, F16};
use cuda_emulator::numeric::minifloat::{self, E4m3, E5m2, Minifloat};
use cuda_emulator::numeric::narrow;
use cuda_emulator::numeric::rounding::{Nearest, Zero};
use numeric_support::{F32, Random, cases};
use rustc_apfloat::ieee::{Float8E4M3FN, Float8E5M2, Half as SoftHalf, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

const CASES: usize = cases(300_000);

trait Format: Minifloat {
    type Soft: Float + FloatConvert<Single> + FloatConvert<SoftHalf>;
    fn round(a: Single) -> Self::Soft;
}
impl Format for E4m3 {
    type Soft = Float8E4M3FN;
    fn round(a: Single) -> Float8E4M3FN {
        FloatConvert::convert_r(a, Round::NearestTiesToEven, &mut false).value
    }
}
impl Format for E5m2 {
    type Soft = Float8E5M2;
    fn round(a: Single) -> Float8E5M2 {
        FloatConvert::convert_r(a, Round::NearestTiesToEven, &mut false).value
    }
}

/// `.satfinite` and `.relu` on top of the oracle.
fn reference<F: Format>(a: u32, relu: bool) -> u8 {
    let x = Single::from_bits(a as u128);
    if x.is_nan() {
        return 0x7f;
    }
    if relu && x.is_negative() {
        return 0;
    }
    let rounded = F::round(x);
    let sign = if x.is_negative() { 0x80 } else { 0 };
    if rounded.is_finite() { rounded.to_bits() as u8 } else { sign | F::MAX }
}

/// Every `.f16`, the midpoints of the 8-bit numbers with their neighbours, and random numbers.
fn operands<F: Format>() -> Vec<u32> {
    let mut random = Random::new(51);
    let mut all: Vec<u32> = (0..CASES).map(|_| F32.any(&mut random) as u32).collect();
    all.extend(
        (0..=u16::MAX).step_by(if cfg!(miri) { 997 } else { 1 }).map(|a| half::f16_to_f32(a).to_bits()),
    );
    for a in 0..=255u8 {
        let (x, y) = (F::widen(a), F::widen(a.wrapping_add(1)));
        let middle = (x + (y - x) / 2.0).to_bits();
        all.extend([middle.wrapping_sub(1), middle, middle.wrapping_add(1), x.to_bits()]);
    }
    all
}

fn fp8<F: Format>() {
    for a in operands::<F>() {
        let (plain, relu) = (reference::<F>(a, false), reference::<F>(a, true));
        let swapped = a.rotate_left(7);
        let other = reference::<F>(swapped, false);
        let ours = minifloat::pair_from_f32::<F, false>(a, swapped);
        assert_eq!(ours, u16::from_be_bytes([plain, other]), "{a:x} {swapped:x}");
        assert_eq!(minifloat::pair_from_f32::<F, true>(0, a), relu as u16, "relu {a:x}");
    }
    for a in (0..=u16::MAX).step_by(if cfg!(miri) { 997 } else { 1 }) {
        let (low, high) = (a, !a);
        let one = |a: u16| reference::<F>(half::f16_to_f32(a).to_bits(), false);
        let expected = u16::from_be_bytes([one(high), one(low)]);
        assert_eq!(minifloat::pair_from_f16x2::<F, false>(half::pack(low, high)), expected, "{a:x}");
    }
    for a in 0..=255u8 {
        let soft = F::Soft::from_bits(a as u128);
        let wide: SoftHalf = FloatConvert::convert(soft, &mut false).value;
        let wide = if wide.is_nan() { half::NAN } else { wide.to_bits() as u16 };
        let relu = if wide & 0x8000 != 0 { 0 } else { wide };
        assert_eq!(minifloat::f16x2_from_pair::<F, false>((a as u16) << 8), (wide as u32) << 16, "{a:x}");
        assert_eq!(minifloat::f16x2_from_pair::<F, true>(a as u16), relu as u32, "relu {a:x}");
    }
}

#[test]
fn eight_bit_floats() {
    fp8::<E4m3>();
    fp8::<E5m2>();
}

#[test]
fn tf32_rounds_to_ten_bits() {
    let mut random = Random::new(52);
    let specials = F32.specials();
    for a in specials.into_iter().chain((0..CASES).map(|_| F32.any(&mut random))).map(|a| a as u32) {
        let x = f32::from_bits(a);
        if x.is_nan() {
            // The sequence that the compiler emits works on the bits.
            assert_eq!(narrow::tf32_ties_away::<false>(a), a & !0x1fff, "{a:x}");
            assert_eq!(narrow::tf32_ties_away::<true>(a), (a & !0x1fff) - 0x2000, "{a:x}");
            assert_eq!(narrow::tf32::<Nearest, true, true>(a), narrow::TF32_NAN);
            assert_eq!(narrow::tf32::<Zero, false, false>(a), narrow::TF32_NAN);
            continue;
        }
        let down = a & !0x1fff;
        let (rest, up) = (a & 0x1fff, down + if a & 0x7fff_ffff < 0x7f80_0000 { 0x2000 } else { 0 });
        let away = if rest >= 0x1000 { up } else { down };
        let even = if rest > 0x1000 || (rest == 0x1000 && down & 0x2000 != 0) { up } else { down };
        assert_eq!(narrow::tf32_ties_away::<false>(a), away, "{a:x}");
        assert_eq!(narrow::tf32::<Nearest, false, false>(a), even, "{a:x}");
        assert_eq!(narrow::tf32::<Zero, false, false>(a), down, "{a:x}");
        let relu = if x.is_sign_negative() { 0 } else { even };
        assert_eq!(narrow::tf32::<Nearest, true, false>(a), relu, "{a:x}");
        let finite = |bits: u32| bits.min(0x7f7f_e000 | bits & 0x8000_0000);
        assert_eq!(
            narrow::tf32_ties_away::<true>(a),
            finite(away & 0x7fff_ffff) | away & 0x8000_0000,
            "{a:x}"
        );
    }
}

#[test]
fn packed_halves_with_relu_and_satfinite() {
    let mut random = Random::new(53);
    for _ in 0..CASES {
        let (a, b) = (F32.any(&mut random) as u32, F32.any(&mut random) as u32);
        let f16 = |a: u32| cvt::float::<cvt::Single, F16, Nearest, false, false>(a);
        let bf16 = |a: u32| cvt::float::<cvt::Single, Bf16, Zero, false, false>(a);
        // The first operand goes to the upper half.
        let ours = narrow::half_x2_from_f32::<F16, Nearest, false, false>(a, b);
        assert_eq!(ours, (f16(a) as u32) << 16 | f16(b) as u32);
        let ours = narrow::half_x2_from_f32::<Bf16, Zero, false, false>(a, b);
        assert_eq!(ours, (bf16(a) as u32) << 16 | bf16(b) as u32);
        let finite = |h: u16| if h & 0x7fff == 0x7c00 { h - 1 } else { h };
        let relu = |h: u16| if h & 0x8000 != 0 { 0 } else { h };
        assert_eq!(narrow::half_from_f32::<F16, Nearest, false, true>(a), finite(f16(a)), "{a:x}");
        assert_eq!(narrow::half_from_f32::<F16, Nearest, true, true>(a), relu(finite(f16(a))), "{a:x}");
        assert_eq!(narrow::half_from_f32::<Bf16, Zero, true, false>(a), relu(bf16(a)), "{a:x}");
    }
}
