//! `.f32` arithmetic against soft floats in every rounding mode (PTX ISA, "Floating-Point Instructions").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::fp32;
use numeric_support::{F32, Random, cases};
use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status, StatusAnd};

const CASES: usize = cases(400_000);

fn soft(a: u32) -> Single {
    Single::from_bits(a as u128)
}

/// The oracle's result as our instructions give it: canonical NaN.
fn hard(a: Single) -> u32 {
    if a.is_nan() { fp32::NAN } else { a.to_bits() as u32 }
}

fn pairs(seed: u64) -> impl Iterator<Item = (u32, u32)> {
    let specials = F32.specials();
    let all = specials.clone();
    let product = specials.into_iter().flat_map(move |a| all.clone().into_iter().map(move |b| (a, b)));
    let mut random = Random::new(seed);
    let random = std::iter::repeat_with(move || {
        let a = F32.any(&mut random);
        (a, F32.near(a, &mut random))
    });
    product.chain(random.take(CASES)).map(|(a, b)| (a as u32, b as u32))
}

#[track_caller]
fn same(what: &str, operands: &[u32], ours: u32, oracle: u32) {
    assert!(ours == oracle, "{what} {operands:08x?}: {ours:08x}, expected {oracle:08x}");
}

#[test]
fn add_sub_mul_div_round_as_the_oracle() {
    for_modes!(|R, round| {
        for (a, b) in pairs(1) {
            let (x, y) = (soft(a), soft(b));
            same("add", &[a, b], fp32::add::<R, false, false>(a, b), hard(x.add_r(y, round).value));
            same("sub", &[a, b], fp32::sub::<R, false, false>(a, b), hard(x.sub_r(y, round).value));
            same("mul", &[a, b], fp32::mul::<R, false, false>(a, b), hard(x.mul_r(y, round).value));
            same("div", &[a, b], fp32::div::<R, false>(a, b), hard(x.div_r(y, round).value));
            same("rcp", &[a], fp32::rcp::<R, false>(a), hard(soft(0x3f80_0000).div_r(x, round).value));
        }
    });
}

/// Operands of a fused sum: independent, or with an addend that nearly cancels the product or lies far below
/// it.
fn triple(random: &mut Random) -> (u32, u32, u32) {
    let (a, b) = (F32.any(random) as u32, F32.any(random) as u32);
    let product = (f32::from_bits(a) * f32::from_bits(b)).to_bits();
    let c = match random.below(3) {
        0 => F32.any(random) as u32,
        1 => F32.near(product as u64, random) as u32,
        _ => product.wrapping_sub((random.below(60) as u32) << 23) ^ (random.u32() & 0x8000_0003),
    };
    (a, b, c)
}

#[test]
fn fma_rounds_once_in_both_implementations() {
    let specials: Vec<u32> = F32.specials().into_iter().map(|a| a as u32).collect();
    for_modes!(|R, round| {
        let check = |a: u32, b: u32, c: u32| {
            let oracle = hard(soft(a).mul_add_r(soft(b), soft(c), round).value);
            same("fma", &[a, b, c], fp32::fma::<R, false, false>(a, b, c), oracle);
            same("fma_portable", &[a, b, c], fp32::fma_portable::<R, false, false>(a, b, c), oracle);
        };
        let mut random = Random::new(2);
        for _ in 0..2 * CASES {
            let (a, b, c) = triple(&mut random);
            check(a, b, c);
        }
        for &a in specials.iter().step_by(3) {
            for &b in specials.iter().step_by(2) {
                specials.iter().for_each(|&c| check(a, b, c));
            }
        }
    });
}

/// The correctly rounded root by comparing squares in 128 bits of soft float.
fn root(a: u32, round: Round) -> u32 {
    let wide = |a: u32| -> Quad { FloatConvert::convert(soft(a), &mut false).value };
    let x = wide(a);
    // The largest number whose square is not above the operand, by bisection over the bits.
    let (mut low, mut high) = (0u32, 0x7f80_0000);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let square = (wide(middle) * wide(middle)).value;
        if square <= x { low = middle } else { high = middle }
    }
    let exact = (wide(low) * wide(low)).value == x;
    let middle = ((wide(low) + wide(low + 1)).value * Quad::from_bits(0x3ffe << 112)).value;
    let up = match round {
        Round::TowardPositive => !exact,
        Round::NearestTiesToEven => (middle * middle).value < x,
        _ => false,
    };
    low + up as u32
}

#[test]
fn sqrt_is_correctly_rounded() {
    for_modes!(|R, round| {
        let mut random = Random::new(3);
        for i in 0..cases(8_000) {
            let a = F32.any(&mut random) as u32 & 0x7fff_ffff;
            // Squares and their neighbours, where directed modes decide.
            let a = if i % 2 == 0 {
                (f32::from_bits(a >> 12 << 12).powi(2)).to_bits() + (i % 4 / 2) as u32
            } else {
                a
            };
            if a < 0x7f80_0000 {
                same("sqrt", &[a], fp32::sqrt::<R, false>(a), root(a, round));
            }
        }
        // PTX ISA, "sqrt": the table of special values.
        let table = [
            (0xff80_0000, fp32::NAN),
            (0xbf80_0000, fp32::NAN),
            (0x8000_0001, fp32::NAN),
            (0x8000_0000, 0x8000_0000),
            (0, 0),
            (0x7f80_0000, 0x7f80_0000),
            (0x7f80_0001, fp32::NAN),
        ];
        for (a, expected) in table {
            same("sqrt", &[a], fp32::sqrt::<R, false>(a), expected);
        }
    });
}

/// The oracle's arithmetic with `.ftz`: operands flushed; the exact result, rounded to odd in `f64`, rounded to
/// 24 bits with an exponent that has no bound, and flushed if that is below the smallest normal number.
fn flushed(operands: &[u32], round: Round, f: impl Fn(&[Double], Round) -> StatusAnd<Double>) -> u32 {
    let wide: Vec<Double> = operands
        .iter()
        .map(|&a| FloatConvert::convert(soft(F32.flush(a as u64) as u32), &mut false).value)
        .collect();
    let truncated = f(&wide, Round::TowardZero);
    // An exact zero keeps the sign that its mode gives it.
    let exact = if truncated.value.is_zero() { f(&wide, round).value } else { truncated.value };
    let inexact = truncated.status.intersects(Status::INEXACT);
    let odd = Double::from_bits(exact.to_bits() | inexact as u128);
    let narrow = |a: Double| -> Single { FloatConvert::convert_r(a, round, &mut false).value };
    if narrow(odd.scalbn(64)).to_bits() as u32 & 0x7fff_ffff < 0x2080_0000 {
        return hard(narrow(odd)) & 0x8000_0000;
    }
    hard(narrow(odd))
}

#[test]
fn ftz_and_sat_apply_to_operands_and_results() {
    let saturate = |a: u32| F32.saturate(a as u64) as u32;
    let mut random = Random::new(7);
    // Around the smallest normal number, where it matters when the result is flushed.
    let small = std::iter::repeat_with(|| {
        let exponent = 40 + random.below(48) as u32;
        let a = (exponent << 23) | random.u32() & 0x807f_ffff & !0 << random.below(24);
        let b = (127 - exponent + random.below(3) as u32) << 23;
        (a, b | (0x0080_0000u32 - random.below(4) as u32) & 0x807f_ffff)
    });
    let operands: Vec<(u32, u32)> = pairs(4).take(cases(60_000)).chain(small.take(cases(60_000))).collect();
    for_modes!(|R, round| {
        for &(a, b) in &operands {
            let plain = fp32::add::<R, false, false>(a, b);
            same("add.sat", &[a, b], fp32::add::<R, false, true>(a, b), saturate(plain));
            let add = flushed(&[a, b], round, |x, round| x[0].add_r(x[1], round));
            same("add.ftz", &[a, b], fp32::add::<R, true, false>(a, b), add);
            same("add.ftz.sat", &[a, b], fp32::add::<R, true, true>(a, b), saturate(add));
            let mul = flushed(&[a, b], round, |x, round| x[0].mul_r(x[1], round));
            same("mul.ftz", &[a, b], fp32::mul::<R, true, false>(a, b), mul);
            same("mul.ftz.sat", &[a, b], fp32::mul::<R, true, true>(a, b), saturate(mul));
            let div = flushed(&[a, b], round, |x, round| x[0].div_r(x[1], round));
            same("div.ftz", &[a, b], fp32::div::<R, true>(a, b), div);
            let c = fp32::mul::<R, false, false>(a, b) ^ (b & 0x8000_0003);
            let fma = flushed(&[a, b, c], round, |x, round| x[0].mul_add_r(x[1], x[2], round));
            same("fma.ftz", &[a, b, c], fp32::fma::<R, true, false>(a, b, c), fma);
            same("fma.ftz", &[a, b, c], fp32::fma_portable::<R, true, false>(a, b, c), fma);
            same("fma.ftz.sat", &[a, b, c], fp32::fma_portable::<R, true, true>(a, b, c), saturate(fma));
            let flush = |a: u32| F32.flush(a as u64) as u32;
            same("sqrt.ftz", &[a], fp32::sqrt::<R, true>(a), flush(fp32::sqrt::<R, false>(flush(a))));
        }
    });
}

/// A result that rounds up to the smallest normal number is flushed if it has 24 bits below it, and kept if it
/// has not: what `ptxas` 13.5 folds for `mul.ftz.f32`, and what its instructions for `div.rn.ftz.f32` compute.
#[test]
fn ftz_looks_at_the_result_rounded_without_a_bound() {
    use cuda_emulator::numeric::rounding::{Nearest, Up, Zero};
    let (below, half, smallest) = (0x00ff_ffff, 0x3f00_0000, 0x0080_0000);
    same("mul", &[], fp32::mul::<Nearest, false, false>(below, half), smallest);
    same("mul.ftz", &[], fp32::mul::<Nearest, true, false>(below, half), 0);
    same("mul.ftz", &[], fp32::mul::<Nearest, true, false>(below, half | 0x8000_0000), 0x8000_0000);
    same("mul.rp.ftz", &[], fp32::mul::<Up, true, false>(below, half), 0);
    same("fma.ftz", &[], fp32::fma::<Nearest, true, false>(below, half, 0), 0);
    same("fma.ftz", &[], fp32::fma_portable::<Nearest, true, false>(below, half, 0), 0);
    same("div.ftz", &[], fp32::div::<Nearest, true>(below, 0x4000_0000), 0);
    // Just below the smallest normal number, with more than 24 bits.
    let (a, b) = (0x2000_0001, 0x1fff_fffe);
    same("mul.ftz", &[], fp32::mul::<Nearest, true, false>(a, b), smallest);
    same("mul.rz.ftz", &[], fp32::mul::<Zero, true, false>(a, b), 0);
    same("fma.ftz", &[], fp32::fma::<Nearest, true, false>(a, b, 0x8000_0000), smallest);
    same("fma.ftz", &[], fp32::fma_portable::<Nearest, true, false>(a, b, 0), smallest);
}

/// `min` and `max` spelled as the ISA's pseudocode does (PTX ISA, "Floating Point Instructions: min", "max").
fn reference(a: u32, b: u32, max: bool, nan_wins: bool, xorsign_abs: bool) -> u32 {
    let xorsign = (a ^ b) & 0x8000_0000;
    let (a, b) = if xorsign_abs { (a & 0x7fff_ffff, b & 0x7fff_ffff) } else { (a, b) };
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let d = if (x.is_nan() && y.is_nan()) || (nan_wins && (x.is_nan() || y.is_nan())) {
        return fp32::NAN;
    } else if x.is_nan() {
        b
    } else if y.is_nan() {
        a
    } else if x == y {
        // "If values of both inputs are 0.0, then +0.0 > -0.0."
        if max { a & b } else { a | b }
    } else if max == (x > y) {
        a
    } else {
        b
    };
    if xorsign_abs { d & 0x7fff_ffff | xorsign } else { d }
}

#[test]
fn min_and_max_follow_the_pseudocode() {
    for (a, b) in pairs(5) {
        same("min", &[a, b], fp32::min::<false, false, false>(a, b), reference(a, b, false, false, false));
        same("max", &[a, b], fp32::max::<false, false, false>(a, b), reference(a, b, true, false, false));
        same("min.NaN", &[a, b], fp32::min::<false, true, false>(a, b), reference(a, b, false, true, false));
        same("max.NaN", &[a, b], fp32::max::<false, true, false>(a, b), reference(a, b, true, true, false));
        let (x, y) = (F32.flush(a as u64) as u32, F32.flush(b as u64) as u32);
        same("min.ftz", &[a, b], fp32::min::<true, false, false>(a, b), reference(x, y, false, false, false));
        let min = fp32::min::<false, false, true>(a, b);
        same("min.xorsign.abs", &[a, b], min, reference(a, b, false, false, true));
        let max = fp32::max::<true, true, true>(a, b);
        same("max.ftz.NaN.xorsign.abs", &[a, b], max, reference(x, y, true, true, true));
    }
}

#[test]
fn sign_operations_and_tests_of_properties() {
    for (a, b) in pairs(6) {
        let x = f32::from_bits(a);
        let nan = |number: u32| if x.is_nan() { fp32::NAN } else { number };
        same("abs", &[a], fp32::abs::<false>(a), nan(a & 0x7fff_ffff));
        same("neg", &[a], fp32::neg::<false>(a), nan(a ^ 0x8000_0000));
        same("abs.ftz", &[a], fp32::abs::<true>(a), nan(F32.flush(a as u64) as u32 & 0x7fff_ffff));
        // PTX ISA, "copysign": the sign of a into the value of b.
        same("copysign", &[a, b], fp32::copysign(a, b), f32::from_bits(b).copysign(x).to_bits());
        assert_eq!(fp32::is_finite(a), x.is_finite());
        assert_eq!(fp32::is_infinite(a), x.is_infinite());
        assert_eq!(fp32::is_nan(a), x.is_nan());
        assert_eq!(fp32::is_normal(a), x.is_normal() || x == 0.0, "zeros count as normal");
        assert_eq!(fp32::is_subnormal(a), x.is_subnormal());
    }
}
