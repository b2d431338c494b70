//! `.f32` arithmetic on two numbers at a time, on operands of half precision, and `min` and `max` of three, against soft floats and the
//! ISA's definitions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::half::{Bf16, F16};
use cuda_emulator::numeric::rounding::Nearest;
use cuda_emulator::numeric::{fp32, fp32x2, mixed};
use numeric_support::{BF16, F16 as F16_LAYOUT, F32, Layout, Random, cases};
use rustc_apfloat::ieee::{BFloat, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

const CASES: usize = cases(100_000);

fn soft(a: u32) -> Single {
    Single::from_bits(a.into())
}

fn hard(a: Single) -> u32 {
    if a.is_nan() { 0x7fff_ffff } else { a.to_bits() as u32 }
}

fn saturated(a: u32, sat: bool) -> u32 {
    if sat { F32.saturate(a.into()) as u32 } else { a }
}

/// Halves with singles of about the size of the result, and all combinations of special ones.
fn operands(layout: Layout, seed: u64, widen: impl Fn(u16) -> u32) -> Vec<(u16, u16, u32)> {
    let mut random = Random::new(seed);
    let specials: Vec<u16> = layout.specials().into_iter().map(|a| a as u16).collect();
    let singles: Vec<u32> = F32.specials().into_iter().map(|a| a as u32).collect();
    let mut all: Vec<(u16, u16, u32)> = specials
        .iter()
        .flat_map(|a| singles.iter().map(|c| (*a, specials[(*c as usize) % specials.len()], *c)))
        .collect();
    all.extend((0..CASES).map(|at| {
        let (a, b) = (layout.any(&mut random) as u16, layout.any(&mut random) as u16);
        let product = f32::from_bits(widen(a)) * f32::from_bits(widen(b));
        let near = if at % 2 == 0 { widen(a) } else { product.to_bits() };
        (a, b, F32.near(near.into(), &mut random) as u32)
    }));
    all
}

/// The arithmetic of a format, of which the oracle's value is `soft`.
macro_rules! mixed_format {
    ($half:ident, $soft:ident, $layout:expr, $seed:literal) => {{
        let widen =
            |a: u16| -> Single { FloatConvert::convert($soft::from_bits(a.into()), &mut false).value };
        let all = operands($layout, $seed, |a| widen(a).to_bits() as u32);
        for_modes!(|R, round| {
            for &(a, b, c) in &all {
                let (x, y, z) = (widen(a), widen(b), soft(c));
                let add = hard(x.add_r(z, round).value);
                let sub = hard(x.sub_r(z, round).value);
                let fma = hard(x.mul_add_r(y, z, round).value);
                assert_eq!(mixed::add::<$half, R, false>(a, c), add, "add {a:x} {c:x}");
                assert_eq!(mixed::add::<$half, R, true>(a, c), saturated(add, true), "add.sat {a:x} {c:x}");
                assert_eq!(mixed::sub::<$half, R, false>(a, c), sub, "sub {a:x} {c:x}");
                assert_eq!(mixed::sub::<$half, R, true>(a, c), saturated(sub, true), "sub.sat {a:x} {c:x}");
                assert_eq!(mixed::fma::<$half, R, false>(a, b, c), fma, "fma {a:x} {b:x} {c:x}");
                let ours = mixed::fma::<$half, R, true>(a, b, c);
                assert_eq!(ours, saturated(fma, true), "fma.sat {a:x} {b:x} {c:x}");
            }
        });
    }};
}

#[test]
fn operands_of_half_precision_are_widened_and_the_result_rounded_once() {
    mixed_format!(F16, Half, F16_LAYOUT, 61);
    mixed_format!(Bf16, BFloat, BF16, 62);
}

#[test]
fn two_numbers_at_a_time_do_not_meet() {
    let mut random = Random::new(63);
    let mut next = || F32.any(&mut random) as u32;
    let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    for_modes!(|R, round| {
        for _ in 0..CASES {
            let [a, b, c, d, e, f] = [(); 6].map(|()| next());
            let (ab, cd, ef) = (wide(a, b), wide(c, d), wide(e, f));
            let both = |operation: &dyn Fn(Single, Single) -> Single| {
                wide(hard(operation(soft(a), soft(c))), hard(operation(soft(b), soft(d))))
            };
            assert_eq!(
                fp32x2::add::<R, false>(ab, cd),
                both(&|x, y| x.add_r(y, round).value),
                "{ab:x} {cd:x}"
            );
            assert_eq!(
                fp32x2::sub::<R, false>(ab, cd),
                both(&|x, y| x.sub_r(y, round).value),
                "{ab:x} {cd:x}"
            );
            assert_eq!(
                fp32x2::mul::<R, false>(ab, cd),
                both(&|x, y| x.mul_r(y, round).value),
                "{ab:x} {cd:x}"
            );
            let fused = |a, c, e| hard(soft(a).mul_add_r(soft(c), soft(e), round).value);
            let expected = wide(fused(a, c, e), fused(b, d, f));
            assert_eq!(fp32x2::fma::<R, false>(ab, cd, ef), expected, "{ab:x} {cd:x} {ef:x}");
        }
    });
    // A subnormal number in each half.
    let small = wide(0x8000_0001, 0x0040_0000);
    assert_eq!(fp32x2::add::<Nearest, true>(small, small), 0x0000_0000_8000_0000);
    assert_eq!(fp32x2::add::<Nearest, false>(small, small), 0x0080_0000_8000_0002);
}

/// The extreme of three: the smallest or largest number by sign and magnitude, in which `-0` is below `+0`.
fn extreme(numbers: [u32; 3], max: bool, nan_wins: bool) -> u32 {
    let is_nan = |a: &u32| a & 0x7fff_ffff > 0x7f80_0000;
    if nan_wins && numbers.iter().any(is_nan) {
        return 0x7fff_ffff;
    }
    let order = |a: &u32| {
        let magnitude = i64::from(a & 0x7fff_ffff);
        if a >> 31 == 1 { -magnitude - 1 } else { magnitude }
    };
    let numbers = numbers.iter().filter(|a| !is_nan(a)).copied();
    let found = if max { numbers.max_by_key(order) } else { numbers.min_by_key(order) };
    found.unwrap_or(0x7fff_ffff)
}

#[test]
fn min_and_max_of_three_numbers() {
    let mut random = Random::new(64);
    let specials: Vec<u32> = F32.specials().into_iter().map(|a| a as u32).collect();
    let count = specials.len();
    let step = if cfg!(miri) { 997 } else { 1 };
    let mut all: Vec<[u32; 3]> = (0..count.pow(3))
        .step_by(step)
        .map(|at| [specials[at % count], specials[at / count % count], specials[at / count / count]])
        .collect();
    all.extend((0..CASES).map(|_| std::array::from_fn(|_| F32.any(&mut random) as u32)));
    for numbers in all {
        let [a, b, c] = numbers;
        let flushed = numbers.map(|a| F32.flush(a.into()) as u32);
        let magnitudes = numbers.map(|a| a & 0x7fff_ffff);
        let both = flushed.map(|a| a & 0x7fff_ffff);
        macro_rules! all_of {
            ($function:ident, $max:literal) => {
                let ours = fp32::$function::<false, false, false>(a, b, c);
                assert_eq!(ours, extreme(numbers, $max, false), "{numbers:x?}");
                let ours = fp32::$function::<false, true, false>(a, b, c);
                assert_eq!(ours, extreme(numbers, $max, true), ".NaN {numbers:x?}");
                let ours = fp32::$function::<true, false, false>(a, b, c);
                assert_eq!(ours, extreme(flushed, $max, false), ".ftz {numbers:x?}");
                let ours = fp32::$function::<false, false, true>(a, b, c);
                assert_eq!(ours, extreme(magnitudes, $max, false), ".abs {numbers:x?}");
                let ours = fp32::$function::<true, true, true>(a, b, c);
                assert_eq!(ours, extreme(both, $max, true), ".ftz.NaN.abs {numbers:x?}");
            };
        }
        all_of!(min3, false);
        all_of!(max3, true);
    }
}
