//! Approximate instructions and the math library, within the errors that the PTX ISA and the CUDA C++ Programming Guide
//! ("Mathematical Functions") promise; the host's f64 functions stand for the exact values.

use super::float::{F32, F64};
use super::operands::Triples;
use super::table::{Want, table};
use crate::references::{Gpu, Random};
use std::f64::consts::{LOG2_E, PI, TAU};

unsafe extern "C" {
    /// C's error function; Rust's is not stable.
    safe fn erf(x: f64) -> f64;
}

fn single(bits: u64) -> f64 {
    f32::from_bits(bits as u32).into()
}

/// Special values against each other, then `random`.
fn singles(count: usize, mut random: impl FnMut(&mut Random) -> f32) -> Triples {
    const SPECIAL: [f32; 20] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        0.1,
        10.0,
        -10.0,
        1e-30,
        1e30,
        1e-42,
        -1e-42,
        100.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let mut next = Random::new(11);
    let mut columns: Triples = Default::default();
    for i in 0..SPECIAL.len().pow(2) + count {
        let pair = (SPECIAL.get(i / SPECIAL.len()), SPECIAL[i % SPECIAL.len()]);
        let (a, b) = pair.0.map_or_else(|| (random(&mut next), random(&mut next)), |&a| (a, pair.1));
        let c = (next.f32() * 200.0).round();
        columns.iter_mut().zip([a, b, c]).for_each(|(column, x)| column.push(x.to_bits().into()));
    }
    columns
}

/// Numbers of all magnitudes that f32 has, most of them near one.
fn any_magnitude(random: &mut Random) -> f32 {
    match random.below(4) {
        0 => f32::from_bits(random.u32()),
        1 => random.f32() * 100.0,
        2 => random.f32() * 4.0,
        _ => 1.0 + random.f32() * 0.1,
    }
}

fn ulps(exact: f64, ulps: f64) -> Want {
    Want::ulps(F32, exact, ulps)
}

fn within(exact: f64, absolute: f64) -> Want {
    Want::within(F32, exact, absolute)
}

/// sin.approx and cos.approx: the error grows with the operand, and past 100 pi only the range is promised.
fn circular(x: f64, exact: f64) -> Want {
    match x.abs() {
        a if a <= TAU => within(exact, 2f64.powf(-20.5)),
        a if a <= 100.0 * PI => within(exact, 2f64.powf(-14.7)),
        a if a.is_finite() => Want::Between(F32, -1.0, 1.0),
        _ => Want::Nan(F32),
    }
}

/// lg2.approx, and ln as a multiple of it.
fn logarithm(exact: f64, error: f64) -> Want {
    within(exact, error.max(exact.abs() * error))
}

fn flushed(bits: u64) -> f64 {
    single(F32.flush(bits))
}

/// Results that `.ftz` flushes to zero may also be the exact ones.
fn or_zero(want: Want) -> Want {
    match want {
        Want::Between(f, low, high) if low.abs().min(high.abs()) < 1.2e-38 => {
            Want::Between(f, low.min(0.0), high.max(0.0))
        }
        want => want,
    }
}

/// div.approx: 2 units for divisors of ordinary size; huge ones give zero, or NaN of infinity.
fn divided(a: f64, b: f64) -> Want {
    match b.abs() {
        x if x < 2f64.powi(-126) && x != 0.0 => Want::Anything,
        x if x <= 2f64.powi(126) || x.is_infinite() => ulps(a / b, 2.0),
        _ if a.is_finite() && !b.is_nan() => Want::Between(F32, 0.0, 0.0),
        _ => Want::Nan(F32),
    }
}

#[test]
fn approximate_instructions() {
    let names = ["rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos", "tanh", "rcp.ftz", "div"];
    let gpu = Gpu::new();
    let module = gpu.module(include_str!("../../kernels/floats.ptx"));
    table::<u32, u32>(&gpu, &module, "approximate_f32", &names, &singles(6000, any_magnitude), |x| {
        let (a, b) = (single(x[0]), single(x[1]));
        vec![
            ulps(1.0 / a, 1.0),
            ulps(1.0 / a.sqrt(), 2.0),
            ulps(a.sqrt(), 2.0),
            ulps(a.exp2(), 2.0),
            logarithm(a.log2(), 2f64.powi(-22)),
            circular(a, a.sin()),
            circular(a, a.cos()),
            Want::near(F32, a.tanh(), 2f64.powi(-11)),
            or_zero(ulps(1.0 / flushed(x[0]), 1.0)),
            divided(a, b),
        ]
    });
}

#[test]
fn fast_math() {
    let names = ["fma.ftz", "div", "sqrt", "exp", "log", "sin", "pow", "select"];
    let gpu = Gpu::new();
    let module = gpu.module(include_str!("../../kernels/fast.ptx"));
    let ordinary = |random: &mut Random| match random.below(2) {
        0 => random.f32() * 30.0,
        _ => random.f32() * 3.0,
    };
    let [a, b, _] = singles(6000, ordinary);
    table::<u32, u32>(&gpu, &module, "fast_math", &names, &[a, b], |x| {
        let (p, q) = (F32.flush(x[0]), F32.flush(x[1]));
        let (a, b) = (single(p), single(q));
        let sine = if a.abs() <= PI { within(a.sin(), 2f64.powf(-20.5)) } else { circular(a, a.sin()) };
        // exp2 of a rounded product: its error grows with the exponent, as that of the logarithm below it does.
        let power = b * a.log2();
        let error = (2.0 + power.abs() + b.abs()) * 2f64.powi(-21);
        let powf = if a > 0.0 && a.is_finite() && power.abs() < 120.0 {
            Want::near(F32, a.powf(b), error)
        } else {
            Want::Anything
        };
        let exponential = match a * LOG2_E {
            e if e.abs() > 125.0 && e.is_finite() => Want::Anything,
            e if e.is_infinite() => ulps(a.exp(), 0.0),
            _ => or_zero(Want::near(F32, a.exp(), (3.0 + 1.2 * a.abs()) * 2f64.powi(-23))),
        };
        vec![
            Want::Exactly(F32.flushed(|mode| F32.fma(p, q, p, mode))),
            or_zero(divided(a, b)),
            or_zero(ulps(a.sqrt(), 2.0)),
            exponential,
            logarithm(a.ln(), 2f64.powf(-21.0)),
            sine,
            powf,
            if a < b { or_zero(ulps(1.0 / a, 1.0)) } else { nan_or(b.abs()) },
        ]
    });
}

fn nan_or(value: f64) -> Want {
    Want::within(F32, value, 0.0)
}

fn ldexp(a: f64, n: f64) -> Want {
    let scaled = a * 2f64.powi((n as i32).clamp(-400, 400));
    if scaled.is_nan() { Want::Nan(F32) } else { Want::exactly(scaled as f32) }
}

fn next_after(a: f32, b: f32) -> Want {
    match a.partial_cmp(&b) {
        None => Want::Nan(F32),
        Some(std::cmp::Ordering::Equal) => Want::exactly(b),
        Some(std::cmp::Ordering::Less) => Want::exactly(a.next_up()),
        Some(std::cmp::Ordering::Greater) => Want::exactly(a.next_down()),
    }
}

fn positive_difference(a: f32, b: f32) -> Want {
    match a.partial_cmp(&b) {
        None => Want::Nan(F32),
        Some(std::cmp::Ordering::Greater) => Want::exactly(a - b),
        Some(_) => Want::exactly(0.0f32),
    }
}

#[test]
fn library_f32() {
    let names = [
        "expf",
        "exp2f",
        "expm1f",
        "logf",
        "log2f",
        "log1pf",
        "powf",
        "sinf",
        "cosf",
        "tanf",
        "asinf",
        "atan2f",
        "tanhf",
        "cbrtf",
        "hypotf",
        "rsqrtf",
        "erff",
        "ldexpf",
        "nextafterf",
        "fdimf",
    ];
    let gpu = Gpu::new();
    let module = gpu.module(include_str!("../../kernels/library.ptx"));
    table::<u32, u32>(&gpu, &module, "library_f32", &names, &singles(4000, any_magnitude), |x| {
        let (a, b, c) = (single(x[0]), single(x[1]), single(x[2]));
        // The guide counts from the rounded result: half a unit more from the exact one.
        let ulps = |exact, promised: f64| ulps(exact, promised + 0.5);
        let (a32, b32) = (a as f32, b as f32);
        vec![
            ulps(a.exp(), 2.0),
            ulps(a.exp2(), 2.0),
            ulps(a.exp_m1(), 1.0),
            ulps(a.ln(), 1.0),
            ulps(a.log2(), 1.0),
            ulps(a.ln_1p(), 1.0),
            ulps(a.powf(b), 4.0),
            ulps(a.sin(), 2.0),
            ulps(a.cos(), 2.0),
            ulps(a.tan(), 4.0),
            ulps(a.asin(), 2.0),
            ulps(a.atan2(b), 3.0),
            ulps(a.tanh(), 2.0),
            ulps(a.cbrt(), 1.0),
            ulps(a.hypot(b), 3.0),
            ulps(1.0 / a.sqrt(), 2.0),
            ulps(erf(a), 2.0),
            ldexp(a, c),
            next_after(a32, b32),
            positive_difference(a32, b32),
        ]
    });
}

#[test]
fn library_f64() {
    let names = ["exp", "log", "pow", "sin", "cos", "atan2", "tanh", "cbrt", "rsqrt", "erf"];
    let gpu = Gpu::new();
    let module = gpu.module(include_str!("../../kernels/library.ptx"));
    let mut random = Random::new(12);
    let columns = singles(4000, any_magnitude).map(|column| {
        // More bits than f32 has, and the same special values.
        let more = |bits| match single(bits) {
            x if x.is_finite() && x != 0.0 => x * (1.0 + random.f64() * 1e-3),
            x => x,
        };
        column.into_iter().map(more).map(f64::to_bits).collect()
    });
    table::<u64, u64>(&gpu, &module, "library_f64", &names, &columns, |x| {
        let (a, b) = (f64::from_bits(x[0]), f64::from_bits(x[1]));
        // One unit more than promised, for the host's own error.
        let ulps = |exact, promised: f64| Want::ulps(F64, exact, promised + 1.0);
        vec![
            ulps(a.exp(), 1.0),
            ulps(a.ln(), 1.0),
            ulps(a.powf(b), 2.0),
            ulps(a.sin(), 2.0),
            ulps(a.cos(), 2.0),
            ulps(a.atan2(b), 2.0),
            ulps(a.tanh(), 2.0),
            ulps(a.cbrt(), 1.0),
            ulps(1.0 / a.sqrt(), 1.0),
            ulps(erf(a), 2.0),
        ]
    });
}
