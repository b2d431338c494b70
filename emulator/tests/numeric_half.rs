//! Half-precision arithmetic against soft floats (PTX ISA, "Half Precision Floating-Point Instructions").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::half::{self, Bf16, F16, Half};
use numeric_support::{BF16 as BF16_LAYOUT, F16 as F16_LAYOUT, Layout, Random, cases};
use rustc_apfloat::ieee::{BFloat, Double, Half as SoftHalf};
use rustc_apfloat::{Float, FloatConvert, Round, Status, StatusAnd};

const CASES: usize = cases(500_000);
const ROUND: Round = Round::NearestTiesToEven;

trait Format: Half {
    type Soft: Float + FloatConvert<Double>;
    const LAYOUT: Layout;
    fn narrow(a: Double) -> Self::Soft;
}
impl Format for F16 {
    type Soft = SoftHalf;
    const LAYOUT: Layout = F16_LAYOUT;
    fn narrow(a: Double) -> SoftHalf {
        FloatConvert::convert_r(a, ROUND, &mut false).value
    }
}
impl Format for Bf16 {
    type Soft = BFloat;
    const LAYOUT: Layout = BF16_LAYOUT;
    fn narrow(a: Double) -> BFloat {
        FloatConvert::convert_r(a, ROUND, &mut false).value
    }
}

fn soft<H: Format>(a: u16) -> H::Soft {
    H::Soft::from_bits(a as u128)
}

fn hard<H: Format>(a: H::Soft) -> u16 {
    if a.is_nan() { half::NAN } else { a.to_bits() as u16 }
}

fn flush<H: Format>(a: u16) -> u16 {
    H::LAYOUT.flush(a as u64) as u16
}

fn saturate<H: Format>(a: u16) -> u16 {
    H::LAYOUT.saturate(a as u64) as u16
}

fn relu(a: u16) -> u16 {
    if a & half::SIGN != 0 { 0 } else { a }
}

fn triples<H: Format>(seed: u64) -> impl Iterator<Item = (u16, u16, u16)> {
    let specials = H::LAYOUT.specials();
    let count = specials.len();
    let product = (0..count * count * count)
        .step_by(if cfg!(miri) { 997 } else { 1 })
        .map(move |i| (specials[i % count], specials[i / count % count], specials[i / count / count]));
    let mut random = Random::new(seed);
    let random = std::iter::repeat_with(move || {
        let (a, b) = (H::LAYOUT.any(&mut random), H::LAYOUT.any(&mut random));
        let product = half::mul::<H, false, false>(a as u16, b as u16) as u64;
        let c = match random.below(3) {
            0 => H::LAYOUT.any(&mut random),
            1 => H::LAYOUT.near(product, &mut random),
            _ => product.wrapping_sub(random.below(30) << H::FRACTION) ^ (random.u64() & 0x8003),
        };
        (a, b, c)
    });
    product.chain(random.take(CASES)).map(|(a, b, c)| (a as u16, b as u16, c as u16))
}

#[track_caller]
fn same(what: &str, operands: &[u16], ours: u16, oracle: u16) {
    assert!(ours == oracle, "{what} {operands:04x?}: {ours:04x}, expected {oracle:04x}");
}

fn arithmetic<H: Format>() {
    for (a, b, c) in triples::<H>(41) {
        let (x, y, z) = (soft::<H>(a), soft::<H>(b), soft::<H>(c));
        let add = hard::<H>(x.add_r(y, ROUND).value);
        same("add", &[a, b], half::add::<H, false, false>(a, b), add);
        same("sub", &[a, b], half::sub::<H, false, false>(a, b), hard::<H>(x.sub_r(y, ROUND).value));
        let mul = hard::<H>(x.mul_r(y, ROUND).value);
        same("mul", &[a, b], half::mul::<H, false, false>(a, b), mul);
        let fma = hard::<H>(x.mul_add_r(y, z, ROUND).value);
        same("fma", &[a, b, c], half::fma::<H, false, false>(a, b, c), fma);
        same("add.sat", &[a, b], half::add::<H, false, true>(a, b), saturate::<H>(add));
        same("mul.sat", &[a, b], half::mul::<H, false, true>(a, b), saturate::<H>(mul));
        same("fma.sat", &[a, b, c], half::fma::<H, false, true>(a, b, c), saturate::<H>(fma));
        same("fma.relu", &[a, b, c], half::fma_relu::<H, false>(a, b, c), relu(fma));
        // The fill of tensor copies, of either sign, in each place; what differs from it in one bit is an ordinary NaN or number.
        let replaced = [0x7ff7, 0xfff7, 0x7ff6, 0x7ff3, 0x7fff, 0x6ff7]
            .into_iter()
            .flat_map(|fill| [[fill, b, c], [a, fill, c], [a, b, fill]]);
        for [a, b, c] in replaced.chain([[a, b, c]]) {
            let [x, y, z] = [a, b, c].map(soft::<H>);
            // As an addend it is a NaN like others.
            let given = [a, b].iter().any(|bits| matches!(bits, 0x7ff7 | 0xfff7));
            let fma = if given { 0 } else { hard::<H>(x.mul_add_r(y, z, ROUND).value) };
            same("fma.oob", &[a, b, c], half::fma_oob::<H>(a, b, c), fma);
            same(
                "fma.oob x2",
                &[a, b, c],
                (half::fma_oob_x2::<H>(u32::from(a) << 16, u32::from(b) << 16, u32::from(c) << 16) >> 16)
                    as u16,
                fma,
            );
        }
    }
}

#[test]
fn add_sub_mul_fma_round_once() {
    arithmetic::<F16>();
    arithmetic::<Bf16>();
}

/// All sums and products with one operand from a list that covers every exponent.
#[test]
fn every_f16_with_many_partners() {
    let step = if cfg!(miri) { 3001 } else { 1 };
    let partners =
        [0x0001, 0x0155, 0x03ff, 0x0401, 0x2aab, 0x3555, 0x3c01, 0x4248, 0x5bff, 0x7bff, 0xb801, 0xfc00];
    for b in partners {
        for a in (0..=u16::MAX).step_by(step) {
            let (x, y) = (soft::<F16>(a), soft::<F16>(b));
            same("add", &[a, b], half::add::<F16, false, false>(a, b), hard::<F16>(x.add_r(y, ROUND).value));
            same("mul", &[a, b], half::mul::<F16, false, false>(a, b), hard::<F16>(x.mul_r(y, ROUND).value));
        }
    }
}

/// `.ftz` on the exact result: see the like in the tests of `.f32`.
fn flushed<H: Format>(operands: &[u16], f: impl Fn(&[Double], Round) -> StatusAnd<Double>) -> u16 {
    let wide: Vec<Double> = operands
        .iter()
        .map(|&a| FloatConvert::<Double>::convert(soft::<H>(flush::<H>(a)), &mut false).value)
        .collect();
    let truncated = f(&wide, Round::TowardZero);
    let exact = if truncated.value.is_zero() { f(&wide, ROUND).value } else { truncated.value };
    let inexact = truncated.status.intersects(Status::INEXACT);
    let odd = Double::from_bits(exact.to_bits() | inexact as u128);
    let bits = hard::<H>(H::narrow(odd));
    let raised = hard::<H>(H::narrow(odd.scalbn(12)));
    if raised & 0x7fff < 13 << H::FRACTION { bits & 0x8000 } else { bits }
}

fn ftz<H: Format>() {
    let mut random = Random::new(45);
    // Around the smallest normal number, where it matters when the result is flushed.
    let small = std::iter::repeat_with(|| {
        let exponent = 2 + random.below(10) as u16;
        let bias = H::INF >> H::FRACTION >> 1;
        let a = exponent << H::FRACTION | random.u32() as u16 & ((1 << H::FRACTION) - 1);
        let b = (bias - exponent + random.below(3) as u16) << H::FRACTION;
        (a, b | random.u32() as u16 & ((1 << H::FRACTION) - 1), (1 << H::FRACTION) - 1)
    });
    for (a, b, c) in triples::<H>(42).take(CASES / 4).chain(small.take(CASES / 4)) {
        let add = flushed::<H>(&[a, b], |x, round| x[0].add_r(x[1], round));
        same("add.ftz", &[a, b], half::add::<H, true, false>(a, b), add);
        same("add.ftz.sat", &[a, b], half::add::<H, true, true>(a, b), saturate::<H>(add));
        let mul = flushed::<H>(&[a, b], |x, round| x[0].mul_r(x[1], round));
        same("mul.ftz", &[a, b], half::mul::<H, true, false>(a, b), mul);
        let fma = flushed::<H>(&[a, b, c], |x, round| x[0].mul_add_r(x[1], x[2], round));
        same("fma.ftz", &[a, b, c], half::fma::<H, true, false>(a, b, c), fma);
        same("fma.ftz.relu", &[a, b, c], half::fma_relu::<H, true>(a, b, c), relu(fma));
        let nan = |number: u16| if H::widen(a).is_nan() { half::NAN } else { number };
        same("abs.ftz", &[a], half::abs::<H, true>(a), nan(flush::<H>(a) & 0x7fff));
        same("neg.ftz", &[a], half::neg::<H, true>(a), nan(flush::<H>(a) ^ 0x8000));
    }
}

#[test]
fn ftz_flushes_operands_and_results() {
    ftz::<F16>();
    ftz::<Bf16>();
}

/// PTX ISA, "Half Precision Floating Point Instructions: min", "max".
fn reference<H: Format>(a: u16, b: u16, max: bool, nan_wins: bool, xorsign_abs: bool) -> u16 {
    let sign = (a ^ b) & 0x8000;
    let (a, b) = if xorsign_abs { (a & 0x7fff, b & 0x7fff) } else { (a, b) };
    let (x, y) = (H::widen(a), H::widen(b));
    let d = match (x.is_nan(), y.is_nan()) {
        (true, true) => return half::NAN,
        (true, false) | (false, true) if nan_wins => return half::NAN,
        (true, false) => b,
        (false, true) => a,
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
    if xorsign_abs { d & 0x7fff | sign } else { d }
}

fn extremes<H: Format>() {
    for (a, b, _) in triples::<H>(43).take(CASES / 2) {
        let (x, y) = (flush::<H>(a), flush::<H>(b));
        let min = half::min::<H, false, false, false>(a, b);
        same("min", &[a, b], min, reference::<H>(a, b, false, false, false));
        let max = half::max::<H, false, true, false>(a, b);
        same("max.NaN", &[a, b], max, reference::<H>(a, b, true, true, false));
        let min = half::min::<H, true, false, true>(a, b);
        same("min.ftz.xorsign.abs", &[a, b], min, reference::<H>(x, y, false, false, true));
        let max = half::max::<H, false, false, true>(a, b);
        same("max.xorsign.abs", &[a, b], max, reference::<H>(a, b, true, false, true));
    }
}

#[test]
fn min_and_max_follow_the_pseudocode() {
    extremes::<F16>();
    extremes::<Bf16>();
}

#[test]
fn packed_instructions_work_on_both_halves() {
    let mut random = Random::new(44);
    for _ in 0..CASES / 10 {
        let (a, b, c) = (random.u32(), random.u32(), random.u32());
        let high = |a: u32| (a >> 16) as u16;
        let both = |low: u16, upper: u16| low as u32 | (upper as u32) << 16;
        let add = half::add::<F16, false, false>;
        assert_eq!(
            half::add_x2::<F16, false, false>(a, b),
            both(add(a as u16, b as u16), add(high(a), high(b)))
        );
        let sub = half::sub::<Bf16, false, false>;
        assert_eq!(
            half::sub_x2::<Bf16, false, false>(a, b),
            both(sub(a as u16, b as u16), sub(high(a), high(b)))
        );
        let mul = half::mul::<F16, true, true>;
        assert_eq!(
            half::mul_x2::<F16, true, true>(a, b),
            both(mul(a as u16, b as u16), mul(high(a), high(b)))
        );
        let fma = half::fma::<Bf16, false, false>;
        let expected = both(fma(a as u16, b as u16, c as u16), fma(high(a), high(b), high(c)));
        assert_eq!(half::fma_x2::<Bf16, false, false>(a, b, c), expected);
        let fma = half::fma_relu::<F16, true>;
        let expected = both(fma(a as u16, b as u16, c as u16), fma(high(a), high(b), high(c)));
        assert_eq!(half::fma_relu_x2::<F16, true>(a, b, c), expected);
        let max = half::max::<F16, false, true, false>;
        let expected = both(max(a as u16, b as u16), max(high(a), high(b)));
        assert_eq!(half::max_x2::<F16, false, true, false>(a, b), expected);
        let min = half::min::<Bf16, false, false, true>;
        let expected = both(min(a as u16, b as u16), min(high(a), high(b)));
        assert_eq!(half::min_x2::<Bf16, false, false, true>(a, b), expected);
        let neg = half::neg::<Bf16, false>;
        assert_eq!(half::neg_x2::<Bf16, false>(a), both(neg(a as u16), neg(high(a))));
        let abs = half::abs::<F16, true>;
        assert_eq!(half::abs_x2::<F16, true>(a), both(abs(a as u16), abs(high(a))));
    }
}
