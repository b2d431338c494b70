//! The product of two matrices element by element, by other means than the emulator's: exact sums in 128 bits.

use rustc_apfloat::ieee::{Double, Half};
use rustc_apfloat::{Float, FloatConvert};

use super::form::{Elem, Form, Kind};
use super::layout;

/// A number of up to 32 bits: `significand * 2^(exponent - 23)`, the exponent being what sums are aligned by.
#[derive(Clone, Copy, Debug)]
struct Number {
    significand: i128,
    exponent: i32,
    /// Infinite, NaN or finite, as a float.
    value: f64,
}

/// A number of a format. `.e4m3` is what it is as `.f16`.
fn number(elem: Elem, bits: u64) -> Number {
    let layout = elem.float().unwrap();
    let (sign, field) = (bits & layout.sign() != 0, (bits & !layout.sign()) >> layout.fraction);
    let mut fraction = bits & ((1 << layout.fraction) - 1);
    if elem == Elem::Tf32 {
        fraction &= !0x1fff;
    }
    let bias = (1 << (layout.exponent - 1)) - 1;
    let mut exponent = (field as i32).max(1) - bias;
    let mut significand = i128::from(fraction) | if field == 0 { 0 } else { 1 << layout.fraction };
    significand <<= 23 - layout.fraction;
    while elem == Elem::E4m3 && significand != 0 && significand < 1 << 23 {
        (significand, exponent) = (significand * 2, exponent - 1);
    }
    if sign {
        significand = -significand;
    }
    let magnitude = significand.unsigned_abs() as f64 * 2f64.powi(exponent - 23);
    let value = if sign { -magnitude } else { magnitude };
    let last = field == (1 << layout.exponent) - 1;
    let value = match (elem, last, fraction) {
        (Elem::E4m3, true, 7) => f64::NAN,
        (Elem::E4m3, ..) | (_, false, _) => value,
        (_, true, 0) => f64::INFINITY.copysign(value),
        _ => f64::NAN,
    };
    Number { significand, exponent, value }
}

fn nan(elem: Elem) -> u64 {
    if elem == Elem::F16 { 0x7fff } else { 0x7fff_ffff }
}

/// Rounds a number: towards zero to `.f32`, but beyond the largest to infinity; to the nearest even to `.f16`. No `-0`.
fn rounded(elem: Elem, value: f64) -> u64 {
    let bits = if elem == Elem::F16 {
        let half: Half = Double::from_bits(value.to_bits().into()).convert(&mut false).value;
        half.to_bits() as u64
    } else {
        let near = value as f32;
        let inward = near.is_finite() && f64::from(near).abs() > value.abs();
        let inward = inward || near.is_infinite() && value.abs() < 2f64.powi(128);
        u64::from(near.to_bits() - u32::from(inward))
    };
    if value == 0.0 || bits & nan(elem) == 0 { 0 } else { bits }
}

/// One group of products added to `c`, a number of format `elem`, as EXACTNESS.md says.
fn group(pairs: &[(Number, Number)], elem: Elem, c: u64) -> u64 {
    let c = number(elem, c);
    let finite = pairs.iter().all(|(a, b)| a.value.is_finite() && b.value.is_finite()) && c.value.is_finite();
    if !finite {
        // The largest finite numbers stay below infinity in this sum.
        let sum = pairs.iter().map(|(a, b)| a.value * b.value).sum::<f64>() + c.value;
        return if sum.is_nan() { nan(elem) } else { rounded(elem, sum) };
    }
    let mut terms = vec![(c.significand << 23, c.exponent)];
    terms.extend(pairs.iter().map(|(a, b)| (a.significand * b.significand, a.exponent + b.exponent)));
    terms.retain(|(significand, _)| *significand != 0);
    let floor = if elem == Elem::F16 { -21 } else { -133 };
    let top = terms.iter().map(|(_, exponent)| *exponent).max().unwrap_or(0).max(floor);
    let cut = |(significand, exponent): &(i128, i32)| {
        // A division of integers drops what is left, towards zero.
        let shift = (46 - 25 + top - exponent).min(120);
        if shift < 0 { significand << -shift } else { significand / (1 << shift) }
    };
    let sum: i128 = terms.iter().map(cut).sum();
    rounded(elem, sum as f64 * 2f64.powi(top - 25))
}

/// `add.rn` of two numbers of a format.
fn add(elem: Elem, a: u64, b: u64) -> u64 {
    let sum = number(elem, a).value + number(elem, b).value;
    match elem {
        _ if sum.is_nan() => nan(elem),
        Elem::F16 => {
            let half: Half = Double::from_bits(sum.to_bits().into()).convert(&mut false).value;
            half.to_bits() as u64
        }
        _ => u64::from((f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits()),
    }
}

fn integer(elem: Elem, bits: u64) -> i64 {
    match elem {
        Elem::S8 => i64::from(bits as i8),
        Elem::S4 => (bits << 60) as i64 >> 60,
        _ => bits as i64,
    }
}

/// The sum of products of `.f64`: the NaN of a sum is the emulator's own.
fn double(a: &[u64], b: &[u64], c: u64) -> u64 {
    use cuda_emulator::numeric::{fp64, rounding::Nearest};
    a.iter().zip(b).fold(c, |sum, (a, b)| fp64::fma::<Nearest>(*a, *b, sum))
}

/// `mma.m8n8k4` of halves
fn quad(form: &Form, a: &[u64], b: &[u64], c: u64) -> u64 {
    let [_, _, from, to] = form.types;
    let value = |bits: u64| number(Elem::F16, bits).value as f32;
    let products: Vec<f32> = a.iter().zip(b).map(|(a, b)| value(*a) * value(*b)).collect();
    let c = if from == Elem::F16 { value(c) } else { f32::from_bits(c as u32) };
    let sum = if to == Elem::F16 {
        ((products[0] + products[1]) + c) + (products[2] + products[3])
    } else {
        products.iter().fold(0f32, |sum, product| sum + product) + c
    };
    match to {
        _ if sum.is_nan() => nan(to),
        Elem::F16 => {
            let half: Half = Double::from_bits(f64::from(sum).to_bits().into()).convert(&mut false).value;
            half.to_bits() as u64
        }
        _ => u64::from(sum.to_bits()),
    }
}

/// One element of the result, from a row of A, a column of B and an element of C.
pub fn element(form: &Form, a: &[u64], b: &[u64], c: u64) -> u64 {
    let [ta, tb, tc, _] = form.types;
    match (form.kind, ta) {
        (Kind::Quads(..), _) => quad(form, a, b, c),
        (_, Elem::F64) => double(a, b, c),
        (_, Elem::B1) => {
            let bits = a.iter().zip(b).filter(|(a, b)| if form.and { **a & **b != 0 } else { a != b });
            u64::from((c as u32).wrapping_add(bits.count() as u32))
        }
        _ if tc == Elem::S32 => {
            let products = a.iter().zip(b).map(|(a, b)| integer(ta, *a) * integer(tb, *b));
            let sum = products.sum::<i64>() + i64::from(c as i32);
            let clamped = sum.clamp(i32::MIN.into(), i32::MAX.into());
            u64::from(if form.saturates { clamped } else { sum } as u32)
        }
        _ => {
            let pairs: Vec<_> = a.iter().zip(b).map(|(a, b)| (number(ta, *a), number(tb, *b))).collect();
            if ta.bits() != 8 {
                return group(&pairs, tc, c);
            }
            let half = |upper: bool| {
                let chosen = pairs.iter().enumerate().filter(move |(k, _)| (k % 4 >= 2) == upper);
                chosen.map(|(_, pair)| *pair).collect::<Vec<_>>()
            };
            add(tc, c, group(&half(true), tc, group(&half(false), tc, 0)))
        }
    }
}

/// [`element`] of a sparse A.
fn sparse_element(form: &Form, a: &[Option<u64>], b: &[u64], c: u64) -> u64 {
    let there = |wanted: &dyn Fn(usize) -> bool| -> (Vec<u64>, Vec<u64>) {
        (0..form.k).filter(|k| wanted(*k)).filter_map(|k| Some((a[k]?, b[k]))).unzip()
    };
    if form.types[0].bits() != 8 || form.types[2] == Elem::S32 {
        let (a, b) = there(&|_| true);
        return element(form, &a, &b, c);
    }
    let [ta, tb, tc, _] = form.types;
    let half = |upper: bool| {
        let (a, b) = there(&|k| (k % 8 >= 4) == upper);
        a.iter().zip(&b).map(|(a, b)| (number(ta, *a), number(tb, *b))).collect::<Vec<_>>()
    };
    add(tc, c, group(&half(true), tc, group(&half(false), tc, 0)))
}

/// A row of a sparse A: the elements that are there, by the metadata of four lanes.
fn spread(form: &Form, selector: usize, row: usize, there: &[u64], metadata: &[u64]) -> Vec<Option<u64>> {
    let bits = form.types[0].bits();
    let (elements, columns) = match bits {
        32 => (1, 2),
        4 => (4, 8),
        _ => (2, 4),
    };
    let mut spread = vec![None; form.k];
    for (code, elements) in there.chunks(elements).enumerate() {
        // Words of 16 bits for each of two rows, or of 32 for one.
        let (lane, shift) = match (bits, form.k / columns) {
            (16 | 32, 4) => (selector, code * 4 + row / 8 * 16),
            (16 | 32, _) => (2 * selector + code / 4, code % 4 * 4 + row / 8 * 16),
            _ => (2 * selector + row / 8 + code / 8 * 2, code % 8 * 4),
        };
        let chosen = metadata[row % 8 * 4 + lane] as usize >> shift;
        for (index, element) in elements.iter().enumerate() {
            let column = match bits {
                32 => chosen >> 3 & 1,
                4 => (chosen >> (index / 2 * 2) & 3) * 2 + index % 2,
                _ => chosen >> (index * 2) & 3,
            };
            spread[code * columns + column] = Some(*element);
        }
    }
    spread
}

/// The registers of D of one instance of `mma`.
pub fn registers(form: &Form, operands: &[u64]) -> Vec<u64> {
    let [ra, rb, rc, rd] = form.registers();
    let (a, rest) = operands.split_at(ra * 32);
    let (b, rest) = rest.split_at(rb * 32);
    let (c, metadata) = rest.split_at(rc * 32);
    let width = 8 * form.width();
    let mut d = vec![0; rd * 32];
    let quads = if matches!(form.kind, Kind::Quads(..)) { 4 } else { 1 };
    for quad in 0..quads {
        let lanes = || (0..32).filter(|lane| quads == 1 || layout::quad(*lane) == quad);
        let mut left = vec![vec![0; form.k]; form.m];
        let mut right = vec![vec![0; form.k]; form.n];
        let mut addend = vec![vec![0; form.n]; form.m];
        let [ta, tb, tc, td] = form.types.map(Elem::bits);
        for lane in lanes() {
            for index in 0..ra * width / ta {
                let (row, k) = layout::a(form, lane, index);
                left[row][k] = layout::get(form, ta, a, lane, index);
            }
            for index in 0..rb * width / tb {
                let (k, column) = layout::b(form, lane, index);
                right[column][k] = layout::get(form, tb, b, lane, index);
            }
            for index in 0..rc * width / tc {
                let (row, column) = layout::c(form, 2, lane, index);
                addend[row][column] = layout::get(form, tc, c, lane, index);
            }
        }
        for lane in lanes() {
            for index in 0..rd * width / td {
                let (row, column) = layout::c(form, 3, lane, index);
                let value = match form.kind {
                    Kind::Sparse(selector) => {
                        let there = spread(form, selector as usize, row, &left[row][..form.k / 2], metadata);
                        sparse_element(form, &there, &right[column], addend[row][column])
                    }
                    _ => element(form, &left[row], &right[column], addend[row][column]),
                };
                d[index * td / width * 32 + lane] |= value << (index * td % width);
            }
        }
    }
    d
}
