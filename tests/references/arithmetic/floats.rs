//! f32 and f64: rounded operations, comparisons, rounding to integral values.

use super::float::{F32, F64, Format, MODES, Mode};
use super::nan;
use super::table::{Want, Word, table};
use crate::references::Gpu;
use std::cmp::Ordering;

const PTX: &str = include_str!("../../kernels/floats.ptx");
const COUNT: usize = 4000;

/// The references themselves against the host's own arithmetic, which rounds to nearest.
#[test]
fn references_agree_with_the_host() {
    let f = |bits: u64| f32::from_bits(bits as u32);
    let d = f64::from_bits;
    let same = |a: u64, b: u64, format: Format| a == b || format.is_nan(a) && format.is_nan(b);
    let [a, b, c] = F32.operands(COUNT);
    for ((&a, &b), &c) in a.iter().zip(&b).zip(&c) {
        let near = Mode::Nearest;
        for (ours, host) in [
            (F32.add(a, b, near), f(a) + f(b)),
            (F32.sub(a, b, near), f(a) - f(b)),
            (F32.mul(a, b, near), f(a) * f(b)),
            (F32.div(a, b, near), f(a) / f(b)),
            (F32.fma(a, b, c, near), f(a).mul_add(f(b), f(c))),
            (F32.sqrt(a, near), f(a).sqrt()),
            (F32.integral(a, near), f(a).round_ties_even()),
            (F32.integral(a, Mode::Up), f(a).ceil()),
            (F64.convert(F32.convert(a, F64, near), F32, near), f(a)),
        ] {
            assert!(same(ours, host.to_bits().into(), F32), "{a:#x} {b:#x} {c:#x}: {ours:#x}, host {host:e}");
        }
    }
    let [a, b, c] = F64.operands(COUNT);
    for ((&a, &b), &c) in a.iter().zip(&b).zip(&c) {
        let near = Mode::Nearest;
        for (ours, host) in [
            (F64.add(a, b, near), d(a) + d(b)),
            (F64.mul(a, b, near), d(a) * d(b)),
            (F64.div(a, b, near), d(a) / d(b)),
            (F64.fma(a, b, c, near), d(a).mul_add(d(b), d(c))),
            (F64.sqrt(a, near), d(a).sqrt()),
            (F64.rcp(a, near), 1.0 / d(a)),
            (F64.integral(a, Mode::Down), d(a).floor()),
        ] {
            assert!(same(ours, host.to_bits(), F64), "{a:#x} {b:#x} {c:#x}: {ours:#x}, host {host:e}");
        }
        let single = F64.convert(a, F32, near);
        assert!(same(single, u64::from((d(a) as f32).to_bits()), F32), "{a:#x} as f32: {single:#x}");
    }
}

const ROUNDED: [&str; 28] = [
    "add.rn", "add.rz", "add.rp", "add.rm", "sub.rn", "sub.rz", "sub.rp", "sub.rm", "mul.rn", "mul.rz",
    "mul.rp", "mul.rm", "fma.rn", "fma.rz", "fma.rp", "fma.rm", "div.rn", "div.rz", "div.rp", "div.rm",
    "sqrt.rn", "sqrt.rz", "sqrt.rp", "sqrt.rm", "rcp.rn", "rcp.rz", "rcp.rp", "rcp.rm",
];

fn rounded<T: Word>(kernel: &str, f: Format) {
    let gpu = Gpu::new();
    table::<T, T>(&gpu, &gpu.module(PTX), kernel, &ROUNDED, &f.operands(COUNT), |operands| {
        let [a, b, c] = operands[..] else { panic!("three") };
        let results = [
            MODES.map(|mode| nan::result(f, f.add(a, b, mode), &[a, b])),
            MODES.map(|mode| nan::result(f, f.sub(a, b, mode), &[a, b])),
            MODES.map(|mode| nan::result(f, f.mul(a, b, mode), &[a, b])),
            MODES.map(|mode| nan::result(f, f.fma(a, b, c, mode), &[a, b, c])),
            MODES.map(|mode| nan::result(f, f.div(a, b, mode), &[a, b])),
            MODES.map(|mode| Want::Exactly(f.sqrt(a, mode))),
            MODES.map(|mode| Want::Exactly(f.rcp(a, mode))),
        ];
        results.concat()
    });
}

#[test]
fn rounded_f32() {
    rounded::<u32>("rounded_f32", F32);
}

#[test]
fn rounded_f64() {
    rounded::<u64>("rounded_f64", F64);
}

/// Truth as a number.
fn flag(f: Format, truth: bool) -> Want {
    Want::Exactly(if truth { f.one() } else { 0 })
}

/// To the nearest integral value, halves away from zero, as C's `round`; software, so any NaN.
fn round(f: Format, a: u64) -> Want {
    if f.is_nan(a) {
        return Want::Nan(f);
    }
    let down = f.integral(a & !f.sign(), Mode::Down);
    let half = f.round(super::float::Number::new(false, 1, -1), Mode::Zero);
    let past = f.compare(f.sub(a & !f.sign(), down, Mode::Zero), half) != Some(Ordering::Less);
    Want::Exactly(if past { f.add(down, f.one(), Mode::Nearest) } else { down } | a & f.sign())
}

/// The exact remainder of C's `fmod`; software, so any NaN.
fn fmod(f: Format, a: u64, b: u64) -> Want {
    let exact = match f {
        F32 => u64::from((f32::from_bits(a as u32) % f32::from_bits(b as u32)).to_bits()),
        _ => (f64::from_bits(a) % f64::from_bits(b)).to_bits(),
    };
    if f.is_nan(exact) { Want::Nan(f) } else { Want::Exactly(exact) }
}

/// `isfinite(x) ? y : z` and the like move bits and leave NaN alone.
fn moved(condition: bool, yes: u64, no: u64) -> Want {
    Want::Exactly(if condition { yes } else { no })
}

fn is_finite(f: Format, a: u64) -> bool {
    a & !f.sign() < f.infinity()
}

#[test]
fn exact_f32() {
    let names = [
        "neg",
        "abs",
        "min",
        "max",
        "copysign",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "round",
        "saturate",
        "<",
        "<=",
        "==",
        "!=",
        "!(<)",
        "isnan",
        "isinf",
        "isfinite",
        "div",
        "sqrt",
        "fmod",
        "testp.subnormal",
        "add.ftz",
        "mul.ftz.sat",
    ];
    let (gpu, f) = (Gpu::new(), F32);
    table::<u32, u32>(&gpu, &gpu.module(PTX), "exact_f32", &names, &f.operands(COUNT), |operands| {
        let [a, b, c] = operands[..] else { panic!("three") };
        let order = f.compare(a, b);
        let (x, y) = (f.flush(a), f.flush(b));
        let is_subnormal = a & !f.sign() != 0 && a & !f.sign() < f.smallest_normal();
        vec![
            nan::sign_changed(f, a, a ^ f.sign()),
            nan::sign_changed(f, a, a & !f.sign()),
            Want::Exactly(f.extreme(a, b, false)),
            Want::Exactly(f.extreme(a, b, true)),
            nan::sign_changed(f, a, a & !f.sign() | b & f.sign()),
            Want::Exactly(f.integral(a, Mode::Down)),
            Want::Exactly(f.integral(a, Mode::Up)),
            Want::Exactly(f.integral(a, Mode::Zero)),
            Want::Exactly(f.integral(a, Mode::Nearest)),
            round(f, a),
            Want::Exactly(f.saturate(a)),
            flag(f, order == Some(Ordering::Less)),
            flag(f, order.is_some_and(|o| o != Ordering::Greater)),
            flag(f, order == Some(Ordering::Equal)),
            flag(f, order != Some(Ordering::Equal)),
            flag(f, order != Some(Ordering::Less)),
            flag(f, f.is_nan(a)),
            flag(f, a & !f.sign() == f.infinity()),
            moved(is_finite(f, a), b, c),
            Want::Exactly(f.div(a, b, Mode::Nearest)),
            Want::Exactly(f.sqrt(a, Mode::Nearest)),
            fmod(f, a, b),
            flag(f, is_subnormal),
            Want::Exactly(f.flushed(|mode| f.add(x, y, mode))),
            Want::Exactly(f.saturate(f.flushed(|mode| f.mul(x, y, mode)))),
        ]
    });
}

#[test]
fn exact_f64() {
    let names = [
        "neg", "abs", "min", "max", "copysign", "floor", "ceil", "trunc", "rint", "round", "<", "==",
        "!(>=)", "isnan", "isfinite", "div", "sqrt", "fmod",
    ];
    let (gpu, f) = (Gpu::new(), F64);
    table::<u64, u64>(&gpu, &gpu.module(PTX), "exact_f64", &names, &f.operands(COUNT), |operands| {
        let [a, b, c] = operands[..] else { panic!("three") };
        let order = f.compare(a, b);
        vec![
            nan::sign_changed(f, a, a ^ f.sign()),
            nan::sign_changed(f, a, a & !f.sign()),
            nan::result(f, f.extreme(a, b, false), &[a, b]),
            nan::result(f, f.extreme(a, b, true), &[a, b]),
            nan::sign_changed(f, a, a & !f.sign() | b & f.sign()),
            Want::Exactly(f.integral(a, Mode::Down)),
            Want::Exactly(f.integral(a, Mode::Up)),
            Want::Exactly(f.integral(a, Mode::Zero)),
            Want::Exactly(f.integral(a, Mode::Nearest)),
            round(f, a),
            flag(f, order == Some(Ordering::Less)),
            flag(f, order == Some(Ordering::Equal)),
            flag(f, order.is_none_or(|o| o == Ordering::Less)),
            flag(f, f.is_nan(a)),
            moved(is_finite(f, a), b, c),
            nan::result(f, f.div(a, b, Mode::Nearest), &[a, b]),
            Want::Exactly(f.sqrt(a, Mode::Nearest)),
            fmod(f, a, b),
        ]
    });
}
