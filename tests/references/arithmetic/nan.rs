//! Which NaN a GPU gives: all that these tests expect about NaN. PTX leaves most of it open.

use super::float::{BF16, F16, F32, F64, Format};
use super::table::Want;

/// Of every instruction that rounds (add, mul, fma, div, sqrt, cvt to an integral value or a narrower format) and of min
/// and max, where the result is NaN.
pub fn arithmetic(format: Format, operands: &[u64]) -> u64 {
    match format {
        F32 => 0x7fff_ffff,
        F16 | BF16 => 0x7fff,
        _ => first_operand(operands),
    }
}

/// `.f64` keeps the first NaN operand, made quiet; an invalid operation gives the default NaN of the hardware.
fn first_operand(operands: &[u64]) -> u64 {
    let nan = operands.iter().find(|&&bits| F64.is_nan(bits));
    nan.map_or(0xfff8_0000_0000_0000, |bits| bits | 0x0008_0000_0000_0000)
}

/// Widening a NaN.
pub fn widened(to: Format) -> u64 {
    match to {
        F32 => 0x7fff_ffff,
        _ => 0x7fff_ffff_e000_0000,
    }
}

/// `neg`, `abs` and `copysign` of `operand`, which change bits and are arithmetic to the GPU's compiler or not: of a NaN,
/// any NaN.
pub fn sign_changed(format: Format, operand: u64, result: u64) -> Want {
    if format.is_nan(operand) { Want::Nan(format) } else { Want::Exactly(result) }
}

/// A NaN as an integer: zero, or the sign bit where either side has 64 bits.
pub fn as_integer(from: Format, bits: u32) -> u64 {
    if from.width == 64 || bits == 64 { 1 << (bits - 1) } else { 0 }
}
