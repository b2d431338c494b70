//! Loads of one basic block with the same address register and different offsets, as in unrolled loops. The first *leads*: it checks the
//! addresses of all lanes and records their shape. Those that *follow* only check whether their offsets lie inside it.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; the shape that a load records is that of addresses that it checked, in a region that stays valid
// until the lanes are pointed at another frame.

use super::super::code::{Exec, Inst, Step};
use super::lanes::{Lanes, Shape};
use super::load::{fast_load, load_half};
use super::memory::{Access, HALF, halves_again};
use super::operand::Class;
use super::vector::Eight;
use super::width::{Wide64, Width, Word32};
use crate::memory::access::Word;
use crate::vectors;

/// The two ways to run a load whose address register is also that of other loads of the block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    /// The function for the first of them.
    pub(crate) lead: Exec,
    /// The function for the others: their offsets differ from that of the first by multiples of `bytes`, and they have the
    /// same [`Access`].
    pub(crate) follow: Exec,
    /// Bytes of the number.
    pub(crate) bytes: u64,
}

/// The ways for numbers of `bytes` bytes in registers of that class; `None` if the CPU or the access does not support them.
pub(crate) fn again(bytes: usize, class: Class, access: Access) -> Option<Again> {
    if !vectors::available() || !access.is_simple() {
        return None;
    }
    let (lead, follow): (Exec, Exec) = match (bytes, class, access.narrow()) {
        (4, Class::Word, true) => (lead_load::<Word32, u32>, follow_load::<Word32>),
        (4, Class::Word, false) => (lead_load::<Word32, u64>, follow_load::<Word32>),
        (8, Class::Wide, true) => (lead_load::<Wide64, u32>, follow_load::<Wide64>),
        (8, Class::Wide, false) => (lead_load::<Wide64, u64>, follow_load::<Wide64>),
        _ => return None,
    };
    Some(Again { lead, follow, bytes: bytes as u64 })
}

/// The first load: takes the fast way for a full warp in the region of its last access, and the general way
/// otherwise.
///
/// # Safety
/// 1. The duties of [`Exec`].
/// 2. The address operand is as wide as `A`, and the [`Access`] is a simple one.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn lead_load<L: Width, A: Eight>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let bytes = L::Memory::BYTES;
    // SAFETY: the decoder made operand 0 the destination and operand 1 the address (duty 2 of `Exec`), of the width of `A` (duty 2), rows of
    // 32 lanes, of which each half takes sixteen; `halves_again` found each half to be a run, with that many bytes of the region below it;
    // the CPU supports this function (duty 1 of `Exec`), and `fast_load` requires only the duties of `Exec`.
    unsafe {
        if lanes.mask() == !0
            && let Some(halves) = halves_again::<A>(lanes, inst, inst.ops[1], bytes as u64)
        {
            let below = halves.below as usize;
            lanes.remember_shape(
                inst.shape,
                Shape {
                    turn: lanes.turn(),
                    lowest: inst.imm.wrapping_sub(halves.below),
                    room: halves.below + halves.above,
                    hosts: [halves.hosts[0].sub(below), halves.hosts[1].sub(below)],
                    uniform: halves.uniform,
                },
            );
            let row = lanes.row(inst.ops[0]).cast::<L::Register>();
            for half in 0..2 {
                load_half::<L>(halves.hosts[half], halves.uniform[half], bytes, row.add(half * HALF));
            }
            return Step::Next;
        }
        lanes.remember_shape(inst.shape, Shape::NONE);
        fast_load::<L>(lanes, inst)
    }
}

/// A later load in the same block, for the same lanes.
///
/// # Safety
/// 1. The duties of [`Exec`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn follow_load<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let bytes = L::Memory::BYTES;
    let shape = lanes.shape(inst.shape);
    let ahead = inst.imm.wrapping_sub(shape.lowest);
    // SAFETY: the decoder made operand 0 the destination (duty 2 of `Exec`), a row of 32 lanes, of which each half takes sixteen. The shape
    // is that of this turn: since it was recorded, the lanes have been on this frame, so the memory of the region is still valid. Up to
    // `room` bytes after `hosts`, each half lies entirely inside the region. It is aligned, because the decoder only lets loads follow
    // whose distance from the checked one is a multiple of their size (duty 2). The CPU supports this function (duty 1), and `fast_load`
    // requires only the duties of `Exec`.
    unsafe {
        if shape.turn != lanes.turn() || ahead > shape.room {
            return fast_load::<L>(lanes, inst);
        }
        let row = lanes.row(inst.ops[0]).cast::<L::Register>();
        for half in 0..2 {
            let host = shape.hosts[half].add(ahead as usize);
            load_half::<L>(host, shape.uniform[half], bytes, row.add(half * HALF));
        }
    }
    Step::Next
}
