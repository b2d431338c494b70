//! Literals of the text.

use cuda_ptx::{Literal, Type};

/// A literal as a value of `ty`.
pub(super) fn literal_bits(literal: Literal, ty: Type) -> u64 {
    match (literal, ty) {
        (Literal::Int(value), Type::F32) => u64::from((value as f32).to_bits()),
        (Literal::Int(value), Type::F64) => (value as f64).to_bits(),
        (Literal::Int(value), _) => value as u64,
        // As ptxas has it, those are the lower bits of a number of 64 bits.
        (Literal::F32(bits), _) => u64::from(bits),
        (Literal::F64(bits), _) if ty.size() == 4 => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Literal::F64(bits), _) => bits,
    }
}
