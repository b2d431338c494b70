//! Integers of 64, 16 and 8 bits.

use super::operands::integers;
use super::table::{Want, table};
use crate::references::Gpu;

const PTX: &str = include_str!("../../kernels/integers.ptx");

#[test]
fn arithmetic_u64() {
    let names = [
        "a+b",
        "a-b",
        "a*b+c",
        "umul64hi",
        "mul64hi",
        "a/b",
        "a%b",
        "x/y",
        "x%y",
        "a/10",
        "x/10",
        "min",
        "max signed",
        "logic",
        "<<",
        ">>",
        ">> signed",
        "popc",
        "clz",
        "ffs",
        "brev",
        "x<y",
        "128 bits",
        "field",
    ];
    let gpu = Gpu::new();
    table::<u64, u64>(&gpu, &gpu.module(PTX), "arithmetic_u64", &names, &integers(64, 3000), |operands| {
        let [a, b, c] = operands[..] else { panic!("three") };
        let (x, y) = (a as i64, b as i64);
        let wide = u128::from(a) * u128::from(b);
        let values = [
            a.wrapping_add(b),
            a.wrapping_sub(b),
            a.wrapping_mul(b).wrapping_add(c),
            (wide >> 64) as u64,
            (i128::from(x) * i128::from(y) >> 64) as u64,
            a.checked_div(b).unwrap_or(0),
            a.checked_rem(b).unwrap_or(0),
            x.checked_div(y).unwrap_or(0) as u64,
            x.checked_rem(y).unwrap_or(0) as u64,
            a / 10,
            (x / 10) as u64,
            a.min(b),
            x.max(y) as u64,
            a & b | !c,
            a << (b % 64),
            a >> (b % 64),
            (x >> (b % 64)) as u64,
            a.count_ones().into(),
            a.leading_zeros().into(),
            if a == 0 { 0 } else { u64::from(a.trailing_zeros()) + 1 },
            a.reverse_bits(),
            (x < y).into(),
            (wide.wrapping_add(c.into()) >> 64) as u64,
            a >> 13 & 0xfff_ffff,
        ];
        values.map(Want::exactly).to_vec()
    });
}

#[test]
fn arithmetic_small() {
    let names = [
        "a+b",
        "a*b+c",
        "a/b",
        "a%b",
        "a/3 signed",
        ">> signed",
        "<<",
        "u8 a*b",
        "s8 a-b",
        "u8 a+b",
        "s8 a<b",
        "mul.hi.u16",
        "mad.lo.s16",
        "max.s16",
    ];
    let gpu = Gpu::new();
    table::<u16, u16>(&gpu, &gpu.module(PTX), "arithmetic_small", &names, &integers(16, 3000), |operands| {
        let [a, b, c] = [0, 1, 2].map(|i| operands[i] as u16);
        let (x, y) = (a as i16, b as i16);
        let values = [
            a.wrapping_add(b),
            a.wrapping_mul(b).wrapping_add(c),
            a.checked_div(b).unwrap_or(0),
            a.checked_rem(b).unwrap_or(0),
            (x / 3) as u16,
            (x >> (b % 16)) as u16,
            a << (b % 16),
            (a & 0xff) * (b & 0xff),
            (i16::from(a as i8) - i16::from(b as i8)) as u16,
            a.wrapping_add(b) & 0xff,
            ((a as i8) < (b as i8)).into(),
            (u32::from(a) * u32::from(b) >> 16) as u16,
            a.wrapping_mul(b).wrapping_add(c),
            x.max(y) as u16,
        ];
        values.map(Want::exactly).to_vec()
    });
}

#[test]
fn divisions_128() {
    let names = [
        "x/y",
        "x/y high",
        "x%y",
        "x%y high",
        "signed x/y",
        "signed x/y high",
        "signed x%y",
        "signed x%y high",
    ];
    let gpu = Gpu::new();
    table::<u64, u64>(&gpu, &gpu.module(PTX), "divisions_128", &names, &integers(64, 3000), |operands| {
        let [a, b, c] = operands[..] else { panic!("three") };
        let join = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let (x, y) = (join(a, b), join(c, a) >> (b & 127));
        let (s, t) = (x as i128, y as i128);
        let values = [
            x.checked_div(y).unwrap_or(0),
            x.checked_rem(y).unwrap_or(0),
            s.checked_div(t).unwrap_or(0) as u128,
            s.checked_rem(t).unwrap_or(0) as u128,
        ];
        values.iter().flat_map(|&value| [value as u64, (value >> 64) as u64]).map(Want::exactly).collect()
    });
}
