//! Loads of several numbers per lane, `ld.v2` and `ld.v4`, by a full warp in the region of the instruction's last access.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; what `one_again` and `halves_again` found is in a valid region.

use super::super::code::{Exec, Inst, Step};
use super::lanes::Lanes;
use super::load::{fast_load, load_half};
use super::memory::{Access, HALF, halves_again, one_again};
use super::operand::Class;
use super::vector::Eight;
use super::width::{Wide64, Width, Word32};
use crate::memory::access::Word;

/// The load of as many numbers as the access has, of `bytes` bytes in registers of that class; `None` if there is no such way for it.
pub(super) fn quick(bytes: usize, class: Class, access: Access) -> Option<Exec> {
    let exec: Exec = match (access.elements(), bytes, class, access.narrow()) {
        _ if !access.is_plain() => return None,
        (2, 4, Class::Word, true) => quick_load::<Word32, u32, 2>,
        (2, 4, Class::Word, false) => quick_load::<Word32, u64, 2>,
        (4, 4, Class::Word, true) => quick_load::<Word32, u32, 4>,
        (4, 4, Class::Word, false) => quick_load::<Word32, u64, 4>,
        (2, 8, Class::Wide, true) => quick_load::<Wide64, u32, 2>,
        (2, 8, Class::Wide, false) => quick_load::<Wide64, u64, 2>,
        _ => return None,
    };
    Some(exec)
}

/// Operands: the elements' destinations, then the address.
///
/// # Safety
/// 1. The duties of [`Exec`].
/// 2. The address operand is as wide as `A`, there are `ELEMENTS` elements, and the [`Access`] is a plain one.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn quick_load<L: Width, A: Eight, const ELEMENTS: usize>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let size = L::Memory::BYTES;
    // SAFETY: the decoder made the operand behind the elements' destinations the address (duty 2 of `Exec`), of the width of `A` (duty 2);
    // `one_again` found the access of all lanes, of which each element is a part; its destination is a row of 32 lanes. `load_halves` has the duties
    // of this function.
    unsafe {
        if lanes.mask() == !0
            && let Some(host) = one_again::<A>(lanes, inst, inst.ops[ELEMENTS], (ELEMENTS * size) as u64)
        {
            for element in 0..ELEMENTS {
                let value = L::extend(L::Memory::load(host.add(element * size)));
                let row = lanes.row(inst.ops[element]).cast::<L::Register>();
                (0..2 * HALF).for_each(|lane| row.add(lane).write(value));
            }
            return Step::Next;
        }
        load_halves::<L, A, ELEMENTS>(lanes, inst)
    }
}

/// Where the lanes have several addresses.
///
/// # Safety
/// 1. Those of [`quick_load`].
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn load_halves<L: Width, A: Eight, const ELEMENTS: usize>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let size = L::Memory::BYTES;
    let bytes = ELEMENTS * size;
    // SAFETY: the decoder made the operand behind the elements' destinations the address (duty 2 of `Exec`), of the width of `A` (duty 2 of `quick_load`),
    // rows of 32 lanes, of which each half takes sixteen; `halves_again` found each half to be a run, and each element is a part of its accesses; the CPU
    // supports this function (duty 1 of `Exec`), and `fast_load` requires only the duties of `Exec`.
    unsafe {
        if lanes.mask() == !0
            && let Some(halves) = halves_again::<A>(lanes, inst, inst.ops[ELEMENTS], bytes as u64)
        {
            for element in 0..ELEMENTS {
                let row = lanes.row(inst.ops[element]).cast::<L::Register>();
                for half in 0..2 {
                    let host = halves.hosts[half].add(element * size);
                    load_half::<L>(host, halves.uniform[half], bytes, row.add(half * HALF));
                }
            }
            return Step::Next;
        }
        fast_load::<L>(lanes, inst)
    }
}
