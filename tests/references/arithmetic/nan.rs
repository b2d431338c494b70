//! Which NaN a GPU gives: all that these tests expect about NaN. PTX leaves most of it open; compared with an H200, driver
//! 580, it is as written here.

use super::float::{BF16, F16, F32, F64, Format};
use super::table::Want;

/// Of instructions that round (add, mul, fma, div, sqrt, cvt to an integral value) and of min and max: the one NaN of f32,
/// f16 and bf16; in f64 an operand that is NaN, made quiet, or the default for an invalid operation.
pub fn arithmetic(format: Format, operands: &[u64]) -> u64 {
    match format {
        F32 => 0x7fff_ffff,
        F16 | BF16 => 0x7fff,
        _ => {
            operands.iter().find(|&&bits| F64.is_nan(bits)).map_or(0xfff8_0000_0000_0000, |&bits| quiet(bits))
        }
    }
}

fn quiet(bits: u64) -> u64 {
    bits | 0x0008_0000_0000_0000
}

/// `result`, as [`arithmetic`] has it. Of several f64 operands that are NaN any may come through: which is first to the
/// hardware, the GPU's compiler decides.
pub fn result(format: Format, result: u64, operands: &[u64]) -> Want {
    let nans: Vec<u64> = operands.iter().copied().filter(|&bits| format.is_nan(bits)).map(quiet).collect();
    match nans[..] {
        [a, b, ref more @ ..] if format == F64 && format.is_nan(result) => {
            Want::OneOf([a, b, more.first().copied().unwrap_or(a)])
        }
        _ => Want::Exactly(result),
    }
}

/// A NaN in another format: between f64 and the others sign and upper payload stay, and it is quiet; else it is the one NaN.
pub fn converted(from: Format, bits: u64, to: Format) -> u64 {
    if from != F64 && to != F64 {
        return arithmetic(to, &[]);
    }
    let sign = if from.is_negative(bits) { to.sign() } else { 0 };
    let payload = bits & ((1 << from.fraction) - 1);
    let payload = match to.fraction >= from.fraction {
        true => payload << (to.fraction - from.fraction),
        false => payload >> (from.fraction - to.fraction),
    };
    sign | to.infinity() | 1 << (to.fraction - 1) | payload
}

/// `neg`, `abs` and `copysign` of `operand`, which the GPU's compiler makes arithmetic or not: of a NaN, any NaN.
pub fn sign_changed(format: Format, operand: u64, result: u64) -> Want {
    if format.is_nan(operand) { Want::Nan(format) } else { Want::Exactly(result) }
}

/// A NaN as an integer: zero, or the sign bit where either side has 64 bits.
pub fn as_integer(from: Format, bits: u32) -> u64 {
    if from.width == 64 || bits == 64 { 1 << (bits - 1) } else { 0 }
}
