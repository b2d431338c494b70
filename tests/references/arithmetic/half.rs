//! f16 and bf16, alone and in pairs.

use super::float::{BF16, F16, F32, F64, Format, Mode};
use super::nan;
use super::table::{Want, table};
use crate::references::{Gpu, Random, each};
use cuda_launch::{DeviceCopy, LaunchConfig, cuda_launch};
use std::cmp::Ordering;

const PTX: &str = include_str!("../../kernels/half.ptx");
const PTX_90: &str = include_str!("../../kernels/half90.ptx");
const NEAR: Mode = Mode::Nearest;

fn check(ptx: &str, kernel: &str, names: &[&str], f: Format, reference: impl Fn(u64, u64, u64) -> Vec<Want>) {
    let gpu = Gpu::new();
    table::<u16, u16>(&gpu, &gpu.module(ptx), kernel, names, &f.operands(8000), |x| {
        reference(x[0], x[1], x[2])
    });
}

/// Both halves of 32 bits; a pair differs where either does.
fn check_pairs(
    ptx: &str,
    kernel: &str,
    names: &[&str],
    f: Format,
    reference: impl Fn([u64; 3], [u64; 3]) -> Vec<Want>,
) {
    let gpu = Gpu::new();
    let columns = f.operands(8000).map(|column| {
        let other = column.iter().cycle().skip(column.len() / 3);
        column.iter().zip(other).map(|(low, high)| high << 16 | low).collect()
    });
    table::<u32, u32>(&gpu, &gpu.module(ptx), kernel, names, &columns, |x| {
        reference([0, 1, 2].map(|i| x[i] & 0xffff), [0, 1, 2].map(|i| x[i] >> 16))
    });
}

fn pair(low: u64, high: u64) -> Want {
    Want::Exactly(high << 16 | low)
}

/// Made with f32 approximations that are within 2^-22 of `exact`, then rounded to `f`.
fn by_way_of_f32(f: Format, exact: f64) -> Want {
    if exact.is_nan() {
        return Want::Exactly(nan::arithmetic(f, &[]));
    }
    let rounded = |x: f64| F64.convert(x.to_bits(), f, NEAR);
    let error = 2f64.powi(-22);
    let [below, above] = [1.0 - error, 1.0 + error].map(|factor| rounded(exact * factor));
    Want::OneOf([below, above, above])
}

fn moved(condition: bool, yes: u64, no: u64) -> Want {
    Want::Exactly(if condition { yes } else { no })
}

/// `.relu`: not below zero; NaN stays.
fn relu(f: Format, x: u64) -> u64 {
    if !f.is_nan(x) && f.is_negative(x) { 0 } else { x }
}

/// `.NaN`: a NaN operand wins.
fn extreme_nan(f: Format, a: u64, b: u64, largest: bool) -> u64 {
    if f.is_nan(a) || f.is_nan(b) { nan::arithmetic(f, &[a, b]) } else { f.extreme(a, b, largest) }
}

#[test]
fn arithmetic_f16() {
    let names = [
        "add", "sub", "mul", "fma", "div", "neg", "abs", "add.sat", "fma.sat", "lt", "eq", "neu", "isnan",
        "floor", "rint", "sqrt",
    ];
    let f = F16;
    check(PTX, "arithmetic_f16", &names, f, |a, b, c| {
        let order = f.compare(a, b);
        let (x, y) = (f.to_f64(a), f.to_f64(b));
        vec![
            Want::Exactly(f.add(a, b, NEAR)),
            Want::Exactly(f.sub(a, b, NEAR)),
            Want::Exactly(f.mul(a, b, NEAR)),
            Want::Exactly(f.fma(a, b, c, NEAR)),
            by_way_of_f32(f, x / y),
            nan::sign_changed(f, a, a ^ f.sign()),
            nan::sign_changed(f, a, a & !f.sign()),
            Want::Exactly(f.saturate(f.add(a, b, NEAR))),
            Want::Exactly(f.saturate(f.fma(a, b, c, NEAR))),
            moved(order == Some(Ordering::Less), a, c),
            moved(order == Some(Ordering::Equal), a, c),
            moved(order != Some(Ordering::Equal), a, c),
            moved(f.is_nan(a), b, c),
            Want::Exactly(f.integral(a, Mode::Down)),
            Want::Exactly(f.integral(a, NEAR)),
            by_way_of_f32(f, x.sqrt()),
        ]
    });
}

#[test]
fn arithmetic_f16x2() {
    let names = ["add", "sub", "mul", "fma", "neg", "abs", "gt", "swap", "floats"];
    let f = F16;
    check_pairs(PTX, "arithmetic_f16x2", &names, f, |low, high| {
        let both = |op: &dyn Fn(u64, u64, u64) -> u64| {
            pair(op(low[0], low[1], low[2]), op(high[0], high[1], high[2]))
        };
        // Of a NaN the sign may or may not change.
        let signs = |op: &dyn Fn(u64) -> u64| match (f.is_nan(low[0]), f.is_nan(high[0])) {
            (false, false) => pair(op(low[0]), op(high[0])),
            (true, true) => Want::NanPair(None, None),
            (true, false) => Want::NanPair(None, Some(op(high[0]))),
            (false, true) => Want::NanPair(Some(op(low[0])), None),
        };
        let plus_one = F32.add(f.convert(low[0], F32, NEAR), F32.one(), NEAR);
        let second = f.convert(high[1], F32, NEAR);
        vec![
            both(&|a, b, _| f.add(a, b, NEAR)),
            both(&|a, b, _| f.sub(a, b, NEAR)),
            both(&|a, b, _| f.mul(a, b, NEAR)),
            both(&|a, b, c| f.fma(a, b, c, NEAR)),
            signs(&|a| a ^ f.sign()),
            signs(&|a| a & !f.sign()),
            both(&|a, b, _| if f.compare(a, b) == Some(Ordering::Greater) { f.one() } else { 0 }),
            pair(high[0], low[0]),
            pair(F32.convert(plus_one, f, NEAR), F32.convert(second, f, NEAR)),
        ]
    });
}

#[test]
fn arithmetic_bf16() {
    let names = [
        "add",
        "sub",
        "mul",
        "fma",
        "fma.relu",
        "neg",
        "abs",
        "min",
        "max.NaN",
        "lt",
        "f32 sum",
        "f32 product rz",
        "to int and back",
        "rint",
    ];
    let f = BF16;
    check(PTX_90, "arithmetic_bf16", &names, f, |a, b, c| {
        let (x, y) = (f.convert(a, F32, NEAR), f.convert(b, F32, NEAR));
        let factor = u64::from(1.01f32.to_bits());
        let integer = f64::from(f.to_f64(a) as i32);
        vec![
            Want::Exactly(f.add(a, b, NEAR)),
            Want::Exactly(f.sub(a, b, NEAR)),
            Want::Exactly(f.mul(a, b, NEAR)),
            Want::Exactly(f.fma(a, b, c, NEAR)),
            Want::Exactly(relu(f, f.fma(a, b, c, NEAR))),
            nan::sign_changed(f, a, a ^ f.sign()),
            nan::sign_changed(f, a, a & !f.sign()),
            Want::Exactly(f.extreme(a, b, false)),
            Want::Exactly(extreme_nan(f, a, b, true)),
            moved(f.compare(a, b) == Some(Ordering::Less), a, c),
            Want::Exactly(F32.convert(F32.add(x, y, NEAR), f, NEAR)),
            Want::Exactly(F32.convert(F32.mul(x, factor, NEAR), f, Mode::Zero)),
            Want::Exactly(F64.convert(integer.to_bits(), f, NEAR)),
            Want::Exactly(f.integral(a, NEAR)),
        ]
    });
}

#[test]
fn arithmetic_bf16x2() {
    let names = ["add", "mul", "fma", "max", "floats"];
    let f = BF16;
    check_pairs(PTX_90, "arithmetic_bf16x2", &names, f, |low, high| {
        let both = |op: &dyn Fn(u64, u64, u64) -> u64| {
            pair(op(low[0], low[1], low[2]), op(high[0], high[1], high[2]))
        };
        let again = |x: u64| F32.convert(f.convert(x, F32, NEAR), f, NEAR);
        vec![
            both(&|a, b, _| f.add(a, b, NEAR)),
            both(&|a, b, _| f.mul(a, b, NEAR)),
            both(&|a, b, c| f.fma(a, b, c, NEAR)),
            both(&|a, b, _| f.extreme(a, b, true)),
            pair(again(low[0]), again(high[2])),
        ]
    });
}

#[test]
fn later_f16() {
    let names = ["min", "max", "min.NaN", "fma.relu", "relu by f32"];
    let f = F16;
    check(PTX_90, "later_f16", &names, f, |a, b, c| {
        vec![
            Want::Exactly(f.extreme(a, b, false)),
            Want::Exactly(f.extreme(a, b, true)),
            Want::Exactly(extreme_nan(f, a, b, false)),
            Want::Exactly(relu(f, f.fma(a, b, c, NEAR))),
            Want::Exactly(if f.is_nan(a) { 0 } else { relu(f, a) }),
        ]
    });
}

#[repr(C, align(4))]
#[derive(Clone, Copy, DeviceCopy)]
struct Half2([u16; 2]);

#[test]
fn axpy_in_pairs() {
    let gpu = Gpu::new();
    let module = gpu.module(PTX);
    let [x, y, _] = F16.operands(500);
    let (n, alpha) = (x.len() / 2, [0x3e00u16, 0xb555]); // 1.5, -0.333
    let words = |column: &[u64]| column.iter().map(|&bits| bits as u16).collect::<Vec<_>>();
    let (dx, mut out) = (gpu.put(&words(&x)), gpu.put(&words(&y)));
    // SAFETY: 1, 2: the kernel takes a pair of halves, two addresses and a count; it reads n pairs of x and changes n pairs
    // of out, and both buffers have that many; 3, 4: `get` below waits before they are dropped, and nothing else uses them;
    // 5: any bits are an element; 6: it ends.
    unsafe {
        cuda_launch! { kernel: axpy_f16x2, module: module, stream: gpu.stream,
        config: LaunchConfig::for_num_elems(n as u32),
        args: [Half2(alpha), dx.as_device_ptr(), out.as_mut_device_ptr(), n as u32] }
    }
    .unwrap();
    each(&gpu.get(&out), "axpy", |i| match i / 2 < n {
        true => F16.fma(alpha[i % 2].into(), x[i], y[i], NEAR) as u16,
        false => y[i] as u16,
    });
}

#[test]
fn dot_products_in_f32() {
    let gpu = Gpu::new();
    let module = gpu.module(PTX);
    let (rows, columns) = (64, 37);
    let mut random = Random::new(10);
    let mut halves = || -> Vec<u16> {
        (0..rows * columns).map(|_| F32.convert(random.f32().to_bits().into(), F16, NEAR) as u16).collect()
    };
    let (a, b) = (halves(), halves());
    let (da, db, mut out) = (gpu.put(&a), gpu.put(&b), gpu.zeros::<f32>(rows));
    // SAFETY: 1, 2: the kernel takes three addresses and the length of a row; each of 64 threads reads a row of `columns` and
    // writes one of `rows` sums; 3, 4: `get` below waits before the buffers end, and nothing else uses them; 5: of floats; 6: it
    // ends with the row.
    unsafe {
        cuda_launch! { kernel: dot_f16, module: module, stream: gpu.stream,
        config: LaunchConfig::new((2, 1, 1), (32, 1, 1)),
        args: [da.as_device_ptr(), db.as_device_ptr(), out.as_mut_device_ptr(), columns as u32] }
    }
    .unwrap();
    let single = |bits: u16| F16.to_f64(bits.into()) as f32;
    each(&gpu.get(&out), "dot", |row| {
        let range = row * columns..(row + 1) * columns;
        range.fold(0.0f32, |sum, i| single(a[i]).mul_add(single(b[i]), sum))
    });
}
