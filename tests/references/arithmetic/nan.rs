//! Which NaN a GPU gives: all that these tests expect about NaN payloads. PTX leaves most of it open; compared with an
//! H200 it holds as written here.

use super::float::{BF16, F16, F32, F64, Format};

/// Of every arithmetic instruction (add, mul, fma, div, sqrt, min, max, rounding to an integral value, narrowing) whose
/// result is NaN.
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
