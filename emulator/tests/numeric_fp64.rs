//! `.f64` arithmetic against soft floats in every rounding mode (PTX ISA, "Floating-Point Instructions").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::fp64;
use numeric_support::{F64, Random, cases};
use rustc_apfloat::ieee::{Double, Quad};
use rustc_apfloat::{Float, FloatConvert, Round};

const CASES: usize = cases(300_000);
const QUIET: u64 = 1 << 51;

fn soft(a: u64) -> Double {
    Double::from_bits(a as u128)
}

/// The oracle's result with the NaN that hardware gives: of the operands, in the order in which they are asked, the
/// first NaN made quiet, or the default one.
fn hard(result: Double, operands: &[u64]) -> u64 {
    match operands.iter().find(|&&a| F64.is_nan(a)) {
        Some(nan) => nan | QUIET,
        None if result.is_nan() => fp64::NAN,
        None => result.to_bits() as u64,
    }
}

fn pairs(seed: u64) -> impl Iterator<Item = (u64, u64)> {
    let specials = F64.specials();
    let all = specials.clone();
    let product = specials.into_iter().flat_map(move |a| all.clone().into_iter().map(move |b| (a, b)));
    let mut random = Random::new(seed);
    product.chain(
        std::iter::repeat_with(move || {
            let a = F64.any(&mut random);
            (a, F64.near(a, &mut random))
        })
        .take(CASES),
    )
}

#[track_caller]
fn same(what: &str, operands: &[u64], ours: u64, oracle: u64) {
    assert!(ours == oracle, "{what} {operands:016x?}: {ours:016x}, expected {oracle:016x}");
}

#[test]
fn add_sub_mul_div_round_as_the_oracle() {
    for_modes!(|R, round| {
        for (a, b) in pairs(1) {
            let (x, y) = (soft(a), soft(b));
            same("add", &[a, b], fp64::add::<R>(a, b), hard(x.add_r(y, round).value, &[b, a]));
            same("sub", &[a, b], fp64::sub::<R>(a, b), hard(x.sub_r(y, round).value, &[b, a]));
            same("mul", &[a, b], fp64::mul::<R>(a, b), hard(x.mul_r(y, round).value, &[b, a]));
            same("div", &[a, b], fp64::div::<R>(a, b), hard(x.div_r(y, round).value, &[a, b]));
            let one = soft(1f64.to_bits());
            same("rcp", &[a], fp64::rcp::<R>(a), hard(one.div_r(x, round).value, &[a]));
        }
    });
}

#[test]
fn fma_rounds_once() {
    let specials = F64.specials();
    for_modes!(|R, round| {
        let check = |a: u64, b: u64, c: u64| {
            let oracle = hard(soft(a).mul_add_r(soft(b), soft(c), round).value, &[b, c, a]);
            same("fma", &[a, b, c], fp64::fma::<R>(a, b, c), oracle);
        };
        let mut random = Random::new(2);
        for _ in 0..2 * CASES {
            let (a, b) = (F64.any(&mut random), F64.any(&mut random));
            let product = (f64::from_bits(a) * f64::from_bits(b)).to_bits();
            let c = match random.below(3) {
                0 => F64.any(&mut random),
                1 => F64.near(product, &mut random),
                _ => product.wrapping_sub(random.below(120) << 52) ^ (random.u64() & (1 << 63 | 3)),
            };
            check(a, b, c);
        }
        for &a in specials.iter().step_by(3) {
            for &b in specials.iter().step_by(2) {
                specials.iter().for_each(|&c| check(a, b, c));
            }
        }
    });
}

fn quad(a: u64) -> Quad {
    FloatConvert::convert(soft(a), &mut false).value
}

/// Is `r` the root of `a` under `round`? The squares of `r`, its neighbours and the midpoints between them
/// are exact in 113 bits.
fn is_root(a: u64, r: u64, round: Round) -> bool {
    let x = quad(a);
    let square = |r: Quad| (r * r).value;
    let half = Quad::from_bits(0x3ffe << 112);
    let middle = |a: u64, b: u64| ((quad(a) + quad(b)).value * half).value;
    match round {
        Round::TowardPositive => square(quad(r - 1)) < x && x <= square(quad(r)),
        Round::NearestTiesToEven => square(middle(r - 1, r)) < x && x < square(middle(r, r + 1)),
        _ => square(quad(r)) <= x && x < square(quad(r + 1)),
    }
}

#[test]
fn sqrt_is_correctly_rounded() {
    for_modes!(|R, round| {
        let mut random = Random::new(3);
        for i in 0..cases(100_000) {
            let a = F64.any(&mut random) & !(1 << 63);
            let a = if i % 2 == 0 {
                f64::from_bits(a >> 27 << 27).powi(2).to_bits() + (i % 4 / 2) as u64
            } else {
                a
            };
            if a != 0 && a < F64.infinity() {
                let r = fp64::sqrt::<R>(a);
                assert!(is_root(a, r, round), "sqrt {a:016x}: {r:016x}");
            }
        }
        // PTX ISA, "sqrt": the table of special values.
        let infinity = F64.infinity();
        let minus = 1u64 << 63;
        let table = [
            (minus | infinity, fp64::NAN),
            ((-1f64).to_bits(), fp64::NAN),
            (minus | 1, fp64::NAN),
            (minus, minus),
            (0, 0),
            (infinity, infinity),
            (infinity + 3, (infinity + 3) | QUIET),
        ];
        for (a, expected) in table {
            same("sqrt", &[a], fp64::sqrt::<R>(a), expected);
        }
    });
}

#[test]
fn min_max_signs_and_properties() {
    for (a, b) in pairs(4) {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let choose = |max: bool| match (x.is_nan(), y.is_nan()) {
            (true, true) => b | QUIET,
            (true, false) => b,
            (false, true) => a,
            // "+0.0 > -0.0"
            _ if x == y => {
                if max {
                    a & b
                } else {
                    a | b
                }
            }
            _ => {
                if max == (x > y) {
                    a
                } else {
                    b
                }
            }
        };
        same("min", &[a, b], fp64::min(a, b), choose(false));
        same("max", &[a, b], fp64::max(a, b), choose(true));
        // NaN keeps its sign in both.
        same("abs", &[a], fp64::abs(a), if x.is_nan() { a | QUIET } else { x.abs().to_bits() });
        same("neg", &[a], fp64::neg(a), if x.is_nan() { a | QUIET } else { (-x).to_bits() });
        same("copysign", &[a, b], fp64::copysign(a, b), y.copysign(x).to_bits());
        assert_eq!(fp64::is_finite(a), x.is_finite());
        assert_eq!(fp64::is_infinite(a), x.is_infinite());
        assert_eq!(fp64::is_nan(a), x.is_nan());
        assert_eq!(fp64::is_normal(a), x.is_normal() || x == 0.0, "zeros count as normal");
        assert_eq!(fp64::is_subnormal(a), x.is_subnormal());
    }
}
