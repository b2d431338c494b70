//! Which element of a matrix each lane holds where, as the ISA's section on the fragments of `mma` says.

use super::form::{Form, Kind};

/// Row and column.
pub type Place = (usize, usize);

/// The quad of `mma.m8n8k4` that a lane belongs to.
pub fn quad(lane: usize) -> usize {
    lane % 16 / 4
}

/// The element of A that a lane holds at an index. Of a sparse A: of the compressed one.
pub fn a(form: &Form, lane: usize, index: usize) -> Place {
    let upper = if lane < 16 { 0 } else { 4 };
    match form.kind {
        Kind::Quads(true, _) => return (lane % 4 + upper, index),
        Kind::Quads(false, _) => return (index + upper, lane % 4),
        _ => {}
    }
    let (group, thread) = (lane / 4, lane % 4);
    let each = 8 * form.width() / form.types[0].bits();
    let (register, within) = (index / each, index % each);
    if form.m == 8 {
        return (group, register * 4 * each + thread * each + within);
    }
    (group + 8 * (register % 2), register / 2 * 4 * each + thread * each + within)
}

/// The element of B that a lane holds at an index.
pub fn b(form: &Form, lane: usize, index: usize) -> Place {
    let upper = if lane < 16 { 0 } else { 4 };
    match form.kind {
        Kind::Quads(_, true) => return (lane % 4, index + upper),
        Kind::Quads(_, false) => return (index, lane % 4 + upper),
        _ => {}
    }
    let each = 8 * form.width() / form.types[1].bits();
    (index / each * 4 * each + lane % 4 * each + index % each, lane / 4)
}

/// The element of C (or D, as `which` says: 2 or 3) that a lane holds at an index.
pub fn c(form: &Form, which: usize, lane: usize, index: usize) -> Place {
    if let Kind::Quads(..) = form.kind {
        let upper = if lane < 16 { 0 } else { 4 };
        return match form.types[which].bits() {
            16 => (lane % 4 + upper, index),
            _ => (lane % 2 + index / 2 % 2 * 2 + upper, index / 4 * 4 + lane % 4 / 2 * 2 + index % 2),
        };
    }
    (lane / 4 + index / 2 * 8, lane % 4 * 2 + index % 2)
}

/// The bits of an element in the registers of an operand, first all lanes of the first register.
pub fn get(form: &Form, bits: usize, registers: &[u64], lane: usize, index: usize) -> u64 {
    let width = 8 * form.width();
    registers[index * bits / width * 32 + lane] >> (index * bits % width) & u64::MAX >> (64 - bits)
}
