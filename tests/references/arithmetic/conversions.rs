//! Conversions between all types.

use super::float::{F16, F32, F64, Format, MODES, Mode, Number, Value};
use super::nan;
use super::operands::integers;
use super::table::{Want, Word, table};
use crate::references::Gpu;

const PTX: &str = include_str!("../../kernels/conversions.ptx");

fn check<T: Word>(kernel: &str, names: &[&str], column: Vec<u64>, reference: impl Fn(u64) -> Vec<u64>) {
    let gpu = Gpu::new();
    table::<T, u64>(&gpu, &gpu.module(PTX), kernel, names, &[column], |x| {
        reference(x[0]).into_iter().map(Want::Exactly).collect()
    });
}

/// An integer as a float.
fn from_integer(to: Format, x: i128, mode: Mode) -> u64 {
    to.round(Number::new(x < 0, x.unsigned_abs(), 0), mode)
}

/// A float as an integer of `bits` bits, held to its range, extended to 64 bits as its type is.
fn to_integer(from: Format, x: u64, mode: Mode, bits: u32, signed: bool) -> u64 {
    let (least, most) = match signed {
        true => (-1i128 << (bits - 1), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    let integer = match from.decode(x) {
        Value::Nan => extend(nan::as_integer(from, bits), bits, signed),
        Value::Infinite { negative } => {
            if negative {
                least
            } else {
                most
            }
        }
        Value::Finite(number) => {
            let (negative, magnitude) = number.to_integer(mode);
            let magnitude = magnitude.min(1 << 100) as i128;
            if negative { -magnitude } else { magnitude }.clamp(least, most)
        }
    };
    integer as u64
}

fn extend(x: u64, bits: u32, signed: bool) -> i128 {
    let shift = 128 - bits;
    if signed { (x as i128) << shift >> shift } else { ((x as u128) << shift >> shift) as i128 }
}

#[test]
fn from_i64() {
    let names = [
        "s8",
        "u8",
        "s16",
        "u16",
        "s32",
        "u32",
        "f32.s8",
        "f32.u16",
        "f32.s32 rn",
        "rz",
        "ru",
        "rd",
        "f32.u32 rn",
        "f64.s32",
        "f64.u32",
        "f32.s64 rn",
        "f32.u64 rz",
        "f64.s64 rn",
        "f64.s64 ru",
        "f64.u64 rd",
    ];
    let [column, ..] = integers(64, 4000);
    check::<u64>("from_i64", &names, column, |x| {
        let as_type = |bits, signed| extend(x, bits, signed);
        let (near, [rn, rz, ru, rd]) =
            (Mode::Nearest, MODES.map(|m| from_integer(F32, as_type(32, true), m)));
        let integers = [(8, true), (8, false), (16, true), (16, false), (32, true), (32, false)];
        let mut all: Vec<u64> = integers.map(|(bits, signed)| as_type(bits, signed) as u64).to_vec();
        all.extend([
            from_integer(F32, as_type(8, true), near),
            from_integer(F32, as_type(16, false), near),
            rn,
            rz,
            ru,
            rd,
            from_integer(F32, as_type(32, false), near),
            from_integer(F64, as_type(32, true), near),
            from_integer(F64, as_type(32, false), near),
            from_integer(F32, as_type(64, true), near),
            from_integer(F32, as_type(64, false), Mode::Zero),
            from_integer(F64, as_type(64, true), near),
            from_integer(F64, as_type(64, true), Mode::Up),
            from_integer(F64, as_type(64, false), Mode::Down),
        ]);
        all
    });
}

#[test]
fn from_f32() {
    let names = [
        "s32 rn", "rz", "ru", "rd", "u32 rn", "rz", "ru", "rd", "s64 rn", "s64 rz", "u64 ru", "u64 rd",
        "s16 rzi", "u16 rni", "s8 rzi", "u8 rzi", "f64", "f16 rn", "f16 rz", "f16 ru", "f16 rd", "bits",
    ];
    check::<u32>("from_f32", &names, F32.column(6000), |x| {
        let to = |mode, bits, signed| to_integer(F32, x, mode, bits, signed);
        let mut all = MODES.map(|mode| to(mode, 32, true)).to_vec();
        all.extend(MODES.map(|mode| to(mode, 32, false)));
        all.extend([
            to(Mode::Nearest, 64, true),
            to(Mode::Zero, 64, true),
            to(Mode::Up, 64, false),
            to(Mode::Down, 64, false),
            to(Mode::Zero, 16, true),
            to(Mode::Nearest, 16, false),
            to(Mode::Zero, 8, true),
            to(Mode::Zero, 8, false),
            F32.convert(x, F64, Mode::Nearest),
        ]);
        all.extend(MODES.map(|mode| F32.convert(x, F16, mode)));
        all.push(x as u32 as i32 as u64);
        all
    });
}

#[test]
fn from_f64() {
    let names = [
        "s32 rn", "s32 rz", "u32 ru", "u32 rd", "s64 rn", "s64 rz", "u64 ru", "u64 rd", "f32 rn", "f32 rz",
        "f32 ru", "f32 rd", "f16", "high", "low", "swapped",
    ];
    check::<u64>("from_f64", &names, F64.column(6000), |x| {
        let to = |mode, bits, signed| to_integer(F64, x, mode, bits, signed);
        let mut all = vec![
            to(Mode::Nearest, 32, true),
            to(Mode::Zero, 32, true),
            to(Mode::Up, 32, false),
            to(Mode::Down, 32, false),
            to(Mode::Nearest, 64, true),
            to(Mode::Zero, 64, true),
            to(Mode::Up, 64, false),
            to(Mode::Down, 64, false),
        ];
        all.extend(MODES.map(|mode| F64.convert(x, F32, mode)));
        all.push(F64.convert(x, F16, Mode::Nearest));
        all.extend([(x >> 32) as i32 as u64, x as i32 as u64, x.rotate_left(32)]);
        all
    });
}

/// All 65,536 of them.
#[test]
fn from_f16() {
    let names = ["f32", "f64", "s32 rn", "s32 rz", "u32 ru", "s64 rd", "s16 rz", "bits"];
    check::<u16>("from_f16", &names, (0..1 << 16).collect(), |x| {
        let to = |mode, bits, signed| to_integer(F16, x, mode, bits, signed);
        let single = F16.convert(x, F32, Mode::Nearest);
        vec![
            single,
            F32.convert(single, F64, Mode::Nearest),
            to(Mode::Nearest, 32, true),
            to(Mode::Zero, 32, true),
            to(Mode::Up, 32, false),
            to(Mode::Down, 64, true),
            to(Mode::Zero, 16, true),
            x,
        ]
    });
}

#[test]
fn saturate_i64() {
    let names = ["s32.s64", "u32.s64", "u32.u64", "s8.s64", "u8.s32", "u32.s32", "s16.u32"];
    let [column, ..] = integers(64, 4000);
    check::<u64>("saturate_i64", &names, column, |x| {
        let (wide, int) = (x as i64, x as i32);
        vec![
            wide.clamp(i32::MIN.into(), i32::MAX.into()) as u64,
            wide.clamp(0, u32::MAX.into()) as u64,
            x.min(u32::MAX.into()),
            wide.clamp(-128, 127) as u64,
            int.clamp(0, 255) as u64,
            int.max(0) as u64,
            u64::from((x as u32).min(32767)),
        ]
    });
}

#[test]
fn integral_f32() {
    let names = ["rni", "rzi", "rpi", "rmi", "rni.ftz", "rzi.sat", "sat", "ftz"];
    check::<u32>("integral_f32", &names, F32.column(6000), |x| {
        let integral = |mode| F32.integral(x, mode);
        vec![
            integral(Mode::Nearest),
            integral(Mode::Zero),
            integral(Mode::Up),
            integral(Mode::Down),
            F32.integral(F32.flush(x), Mode::Nearest),
            F32.saturate(integral(Mode::Zero)),
            F32.saturate(x),
            if F32.is_nan(x) { nan::arithmetic(F32, &[x]) } else { F32.flush(x) },
        ]
    });
}
