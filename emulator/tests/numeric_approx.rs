//! Approximate forms: the ISA's tables of special values, its error bounds, and our own stronger promise (PTX
//! ISA, "Floating-Point Instructions", "Half Precision Floating-Point Instructions").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::half::{self, Bf16, F16, Half};
use cuda_emulator::numeric::rounding::Nearest;
use cuda_emulator::numeric::{approx, fp32};
use numeric_support::{F32, F64, Random, cases};
use std::f64::consts::PI;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const CASES: usize = cases(1_000_000);
const MINUS_INFINITY: u32 = 0xff80_0000;
const INFINITY: u32 = 0x7f80_0000;
const MINUS_ZERO: u32 = 0x8000_0000;
const ONE: u32 = 0x3f80_0000;
const MINUS_ONE: u32 = 0xbf80_0000;
const NAN: u32 = fp32::NAN;

fn table(what: &str, f: fn(u32) -> u32, rows: &[(u32, u32)]) {
    for &(a, expected) in rows {
        assert_eq!(f(a), expected, "{what} {a:08x}: {:08x}", f(a));
    }
}

/// PTX ISA: the tables of special values under each instruction. Rows for subnormals hold where `.ftz` is
/// given.
#[test]
fn special_values_follow_the_tables() {
    let nans = [(0x7f80_0001, NAN), (0xffc0_0000, NAN)];
    let with_nans = |rows: &[(u32, u32)]| [rows, &nans].concat();
    let rcp = [(MINUS_INFINITY, MINUS_ZERO), (MINUS_ZERO, MINUS_INFINITY), (0, INFINITY), (INFINITY, 0)];
    table("rcp", approx::rcp::<false>, &with_nans(&rcp));
    table("rcp.ftz", approx::rcp::<true>, &with_nans(&rcp));
    table("rcp.ftz", approx::rcp::<true>, &[(1, INFINITY), (0x8000_0001, MINUS_INFINITY), (0x7f00_0000, 0)]);
    let sqrt =
        [(MINUS_INFINITY, NAN), (MINUS_ONE, NAN), (MINUS_ZERO, MINUS_ZERO), (0, 0), (INFINITY, INFINITY)];
    table("sqrt", approx::sqrt::<false>, &with_nans(&sqrt));
    table("sqrt.ftz", approx::sqrt::<true>, &[(1, 0), (0x8000_0001, MINUS_ZERO)]);
    let rsqrt =
        [(MINUS_INFINITY, NAN), (MINUS_ONE, NAN), (MINUS_ZERO, MINUS_INFINITY), (0, INFINITY), (INFINITY, 0)];
    table("rsqrt", approx::rsqrt::<false>, &with_nans(&rsqrt));
    table("rsqrt.ftz", approx::rsqrt::<true>, &[(1, INFINITY), (0x8000_0001, MINUS_INFINITY)]);
    let sin = [(MINUS_INFINITY, NAN), (MINUS_ZERO, MINUS_ZERO), (0, 0), (INFINITY, NAN)];
    table("sin", approx::sin::<false>, &with_nans(&sin));
    table("sin.ftz", approx::sin::<true>, &[(1, 0), (0x8000_0001, MINUS_ZERO)]);
    let cos = [(MINUS_INFINITY, NAN), (MINUS_ZERO, ONE), (0, ONE), (INFINITY, NAN), (1, ONE)];
    table("cos", approx::cos::<false>, &with_nans(&cos));
    let lg2 = [
        (MINUS_INFINITY, NAN),
        (MINUS_ONE, NAN),
        (MINUS_ZERO, MINUS_INFINITY),
        (0, MINUS_INFINITY),
        (INFINITY, INFINITY),
        (ONE, 0),
        (1, (-149f32).to_bits()),
    ];
    table("lg2", approx::lg2::<false>, &with_nans(&lg2));
    table("lg2.ftz", approx::lg2::<true>, &[(1, MINUS_INFINITY), (0x8000_0001, MINUS_INFINITY)]);
    let ex2 = [(MINUS_INFINITY, 0), (MINUS_ZERO, ONE), (0, ONE), (INFINITY, INFINITY), (1, ONE)];
    table("ex2", approx::ex2::<false>, &with_nans(&ex2));
    table("ex2", approx::ex2::<false>, &[((-149f32).to_bits(), 1), ((-151f32).to_bits(), 0)]);
    table("ex2.ftz", approx::ex2::<true>, &[((-127f32).to_bits(), 0), ((-126f32).to_bits(), 0x0080_0000)]);
    let tanh = [(MINUS_INFINITY, MINUS_ONE), (MINUS_ZERO, MINUS_ZERO), (0, 0), (INFINITY, ONE), (1, 1)];
    table("tanh", approx::tanh_f32, &with_nans(&tanh));
}

/// PTX ISA, "div": "For 2^126 < |b| < 2^128, if a is infinity, div.approx.f32 returns NaN, otherwise it
/// returns 0."
#[test]
fn division() {
    let huge = 0x7e80_0001;
    assert_eq!(approx::div::<false>(0x7f7f_ffff, huge), 0);
    assert_eq!(approx::div::<true>(0x7f7f_ffff, 0xff7f_ffff), MINUS_ZERO);
    assert_eq!(approx::div::<false>(INFINITY, huge), NAN);
    assert_eq!(approx::div::<false>(ONE, 0x7e80_0000), 0x0080_0000);
    assert_eq!(approx::div::<false>(ONE, INFINITY), 0);
    assert_eq!(approx::div::<true>(ONE, 1), INFINITY);
    let mut random = Random::new(61);
    for _ in 0..CASES / 10 {
        let (a, b) = (F32.any(&mut random) as u32, F32.any(&mut random) as u32);
        let exact = |ftz: bool| {
            if ftz { fp32::div::<Nearest, true>(a, b) } else { fp32::div::<Nearest, false>(a, b) }
        };
        // "div.full.f32: the maximum ulp error is 2 across the full range of inputs."
        let full = [(true, approx::div_full::<true>(a, b)), (false, approx::div_full::<false>(a, b))];
        for (ftz, result) in full {
            assert!(ulps(result, exact(ftz)) <= 2, "div.full {a:08x} {b:08x} {ftz}: {result:08x}");
        }
        // "For |b| in the range [2^-126, 2^126], the maximum ulp error is 2."
        if (0x0080_0000..=0x7e80_0000).contains(&(b & 0x7fff_ffff)) {
            for (ftz, result) in [(true, approx::div::<true>(a, b)), (false, approx::div::<false>(a, b))] {
                assert!(ulps(result, exact(ftz)) <= 2, "div {a:08x} {b:08x} {ftz}: {result:08x}");
            }
        }
    }
}

/// Distance in units of the last place.
fn ulps(a: u32, b: u32) -> u32 {
    let key = |a: u32| if a & MINUS_ZERO != 0 { -((a & !MINUS_ZERO) as i64) } else { a as i64 };
    key(a).abs_diff(key(b)) as u32
}

/// Sums over the results of an H200 (driver 580.159.04) for every operand, a sum for each sign and exponent: of the result, times twice the
/// operand and one, times `FACTOR`.
const MEASURED: &[u8] = include_bytes!("numeric_support/special_functions.bin");
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Such a sum does not see a factor of two that all results have: this does.
fn is_near(name: &str, a: u32, result: u32) -> bool {
    let x = f32::from_bits(if name.ends_with(".ftz") { F32.flush(a.into()) as u32 } else { a }) as f64;
    let exact = match name.trim_end_matches(".ftz") {
        "ex2" => x.exp2(),
        "rcp" => 1.0 / x,
        "rsqrt" => 1.0 / x.sqrt(),
        "lg2" => x.log2(),
        "sin" => angle(x).sin(),
        "cos" => angle(x).cos(),
        "tanh" => x.tanh(),
        _ => x.sqrt(),
    };
    let single = exact as f32;
    if exact.is_nan() {
        return result == NAN;
    }
    if single.is_infinite() {
        return result == single.to_bits();
    }
    let error = (f64::from(f32::from_bits(result)) - exact).abs();
    match name.trim_end_matches(".ftz") {
        "sin" | "cos" => error <= 2f64.powi(-21),
        "lg2" => error <= 2f64.powi(-22) * exact.abs().max(1.0),
        "tanh" => error <= 2f64.powi(-16) * exact.abs(),
        _ if single.abs() < f32::MIN_POSITIVE => error <= f32::MIN_POSITIVE.into(),
        _ => ulps(result, single.to_bits()) <= 2,
    }
}

/// The angle that the unit is given instead: the product with a rounded 1/(2 pi), cut off as a float, in turns.
fn angle(x: f64) -> f64 {
    let turns = x * f64::from(f32::from_bits(0x3e22_f983));
    let cut = f64::from_bits(turns.to_bits() & !0x1fff_ffff);
    // A turn has a part, exactly, that is less than one.
    cut % 1.0 * (2.0 * PI)
}

/// The same of an upper word's function, and of `rsqrt.approx.f64`.
fn is_near_f64(name: &str, a: u64, result: u64) -> bool {
    let high = |a: u64| f64::from_bits(if name.ends_with(".ftz") { F64.flush(a & !0xffff_ffff) } else { a });
    let x = high(a);
    let exact = if name == "rcp.ftz" { 1.0 / x } else { 1.0 / x.sqrt() };
    let result = f64::from_bits(result);
    if exact.is_nan() || exact.is_infinite() || exact == 0.0 {
        return result.is_nan() && exact.is_nan() || result == exact;
    }
    let bound = if name.ends_with(".ftz") { 2f64.powi(-20) } else { 2f64.powi(-51) };
    (result - exact).abs() <= bound * exact.abs() + f64::MIN_POSITIVE
}

/// One of the measured forms: its results for these operands as a sum, and whether that for this operand is about right.
struct Form {
    name: &'static str,
    sum: fn(RangeInclusive<u32>) -> u64,
    is_near: fn(u32) -> bool,
}

macro_rules! singles {
    ($($name:literal $f:expr),* $(,)?) => {
        [$(Form { name: $name, sum: |operands| sum(operands, $f), is_near: |a| is_near($name, a, $f(a)) }),*]
    };
}

macro_rules! doubles {
    ($($name:literal $f:expr),* $(,)?) => {
        [$(Form {
            name: $name,
            sum: |operands| sum(operands, |a| mixed($f(double(a)))),
            is_near: |a| is_near_f64($name, double(a), $f(double(a))),
        }),*]
    };
}

/// The operand with this upper word: the lower one is a multiple of it.
fn double(upper: u32) -> u64 {
    u64::from(upper) << 32 | u64::from(upper.wrapping_mul(0x9e37_79b1))
}

/// Both words of a result.
fn mixed(result: u64) -> u32 {
    ((result >> 32) as u32).wrapping_add((result as u32).wrapping_mul(3))
}

const SINGLES: [Form; 15] = singles![
    "ex2.ftz" approx::ex2::<true>,
    "ex2" approx::ex2::<false>,
    "rcp.ftz" approx::rcp::<true>,
    "rcp" approx::rcp::<false>,
    "rsqrt.ftz" approx::rsqrt::<true>,
    "rsqrt" approx::rsqrt::<false>,
    "sqrt.ftz" approx::sqrt::<true>,
    "sqrt" approx::sqrt::<false>,
    "lg2.ftz" approx::lg2::<true>,
    "lg2" approx::lg2::<false>,
    "sin.ftz" approx::sin::<true>,
    "sin" approx::sin::<false>,
    "cos.ftz" approx::cos::<true>,
    "cos" approx::cos::<false>,
    "tanh" approx::tanh_f32,
];
const DOUBLES: [Form; 3] = doubles![
    "rcp.ftz" approx::rcp_ftz_f64,
    "rsqrt.ftz" approx::rsqrt_ftz_f64,
    "rsqrt" approx::rsqrt_f64,
];

fn measured(number: usize) -> u64 {
    u64::from_le_bytes(MEASURED[8 * number..8 * number + 8].try_into().unwrap())
}

/// The sum over the results of these operands.
#[inline(always)]
fn sum(operands: RangeInclusive<u32>, f: impl Fn(u32) -> u32) -> u64 {
    let term = |a: u32| u64::from(f(a)).wrapping_mul((2 * u64::from(a) + 1).wrapping_mul(FACTOR));
    operands.fold(0, |sum, a| sum.wrapping_add(term(a)))
}

/// The operands with these upper nine bits.
fn compared_with_an_h200(uppers: &[u32]) {
    let forms = || SINGLES.iter().chain(&DOUBLES).enumerate();
    let compare = |number: usize, form: &Form, upper: u32| {
        let operands = upper << 23..=upper << 23 | 0x7f_ffff;
        let name = form.name;
        let far = operands.clone().step_by(61).find(|a| !(form.is_near)(*a));
        assert_eq!(far, None, "{name}, form {number}, of {:08x}", far.unwrap_or_default());
        let measured = measured(512 * number + upper as usize);
        assert_eq!((form.sum)(operands), measured, "{name}, form {number}, of {:08x} and up", upper << 23);
    };
    let next = AtomicUsize::new(0);
    let compare_all = || {
        while let Some(&upper) = uppers.get(next.fetch_add(1, Relaxed)) {
            forms().for_each(|(number, form)| compare(number, form, upper));
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(compare_all))));
}

/// Subnormal, around 1, near the ends of the results, infinity and NaN; and negative ones.
#[test]
#[cfg_attr(miri, ignore)]
fn special_functions_have_the_bits_of_an_h200() {
    let some = [
        0,
        120,
        126,
        127,
        129,
        133,
        134,
        253,
        254,
        255,
        256,
        256 + 120,
        256 + 126,
        256 + 127,
        256 + 133,
        256 + 134,
    ];
    compared_with_an_h200(&some);
}

#[test]
#[ignore = "takes some minutes: every operand"]
fn special_functions_have_the_bits_of_an_h200_everywhere() {
    compared_with_an_h200(&Vec::from_iter(0..512));
}

/// Within a unit of the last place, or two hundred thousandths: neither is rounded to the nearest.
fn half_is_near<H: Half>(result: u16, exact: f64) -> bool {
    let rounded = H::round(half::to_odd_f32(exact));
    let relative = (f64::from(H::widen(result)) - exact).abs() <= 2f64.powi(-16) * exact.abs();
    relative || u32::from(result).abs_diff(rounded.into()) <= 1
}

fn half_forms<H: Half, const FTZ: bool>(number: usize) {
    let at = |form: usize| measured(512 * (SINGLES.len() + DOUBLES.len()) + number + form);
    let all = 0..=u32::from(u16::MAX);
    assert_eq!(sum(all.clone(), |a| approx::ex2_half::<H, FTZ>(a as u16).into()), at(0), "ex2");
    assert_eq!(sum(all, |a| approx::tanh_half::<H>(a as u16).into()), at(2), "tanh");
    for a in 0..=u16::MAX {
        let x = f64::from(H::widen(a));
        let (ex2, tanh) = (approx::ex2_half::<H, FTZ>(a), approx::tanh_half::<H>(a));
        if x.is_nan() {
            assert_eq!((ex2, tanh), (half::NAN, half::NAN), "{a:04x}");
        } else {
            let power = H::round(half::to_odd_f32(x.exp2()));
            let is_flushed = FTZ && half::flush::<H, true>(power) == 0 && ex2 == 0;
            assert!(is_flushed || half_is_near::<H>(ex2, x.exp2()), "ex2 {a:04x}");
            assert!(half_is_near::<H>(tanh, x.tanh()), "tanh {a:04x}");
        }
        assert_eq!(approx::ex2_x2::<H, FTZ>(half::pack(a, !a)) as u16, ex2);
        assert_eq!(approx::tanh_x2::<H>(half::pack(!a, a)) >> 16, tanh as u32);
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn half_forms_have_the_bits_of_an_h200() {
    half_forms::<F16, false>(0);
    half_forms::<Bf16, true>(1);
}

/// PTX ISA, "rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64": only the upper words count; the tables.
#[test]
fn upper_words_of_f64() {
    let high = |a: u64| a << 32;
    let (infinity, minus, nan) = (0x7ff0_0000, 0x8000_0000, 0x7fff_ffff);
    let rcp = [
        (minus | infinity, minus),
        (minus | 5, minus | infinity),
        (minus, minus | infinity),
        (0, infinity),
        (5, infinity),
        (infinity, 0),
        (infinity | 1, nan),
        (0x4000_0000, 0x3fe0_0000),
    ];
    for (a, expected) in rcp {
        // Whatever the lower word holds, also where it would make a NaN of an infinity.
        assert_eq!(approx::rcp_ftz_f64(high(a) | 0x1234_5678), high(expected), "rcp {a:x}");
    }
    let rsqrt = [
        (minus | infinity, nan),
        (minus | 5, minus | infinity),
        (minus, minus | infinity),
        (0, infinity),
        (5, infinity),
        (infinity, 0),
        (infinity | 1, nan),
        (minus | 0x3ff0_0000, nan),
        (0x4010_0000, 0x3fe0_0000),
    ];
    for (a, expected) in rsqrt {
        assert_eq!(approx::rsqrt_ftz_f64(high(a) | 0x1234_5678), high(expected), "rsqrt {a:x}");
    }
    let mut random = Random::new(63);
    for _ in 0..CASES / 10 {
        let a = F64.any(&mut random) & !(1 << 63);
        let x = f64::from_bits(a & !0xffff_ffff);
        if x.is_normal() && (1.0 / x).is_normal() {
            let error = |y: u64, exact: f64| ((f64::from_bits(y) - exact) / exact).abs();
            assert!(error(approx::rcp_ftz_f64(a), 1.0 / x) <= 2f64.powi(-20), "{a:x}");
            assert!(error(approx::rsqrt_ftz_f64(a), 1.0 / x.sqrt()) <= 2f64.powi(-20), "{a:x}");
            let (x, y) = (f64::from_bits(a), f64::from_bits(approx::rsqrt_f64(a)));
            assert!((y * y * x - 1.0).abs() <= 2f64.powi(-50), "{a:x}");
        }
    }
}
