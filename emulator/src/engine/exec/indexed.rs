//! Accesses to elements of arrays: the address is the sum of an address common to all lanes and the product of a 32-bit index and the size
//! of the element. Compilers use three instructions for that. If the results of the first two are not used otherwise, those have nothing to
//! do, and the third reads only the index, whose rows are half as long.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; halves that `indexed_again` found are in a valid region.

use super::super::code::{Exec, Inst, Step};
use super::lanes::Lanes;
use super::load::{fast_load, load_half};
use super::memory::{Access, HALF, indexed_again};
use super::operand::{Class, Dest};
use super::store::{fast_store, store_half};
use super::width::{Wide64, Width, Word32};
use crate::memory::access::Word;
use crate::vectors;

/// The functions for an access that computes its address itself. Operands: the element, the register for the address, the
/// address of the array, the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed {
    /// With an unsigned index.
    pub(crate) unsigned: Exec,
    /// With a signed index.
    pub(crate) signed: Exec,
    /// Bytes of an element.
    pub(crate) bytes: u32,
}

/// The access to elements of `bytes` bytes in registers of that class; `None` if the CPU or the access does not support it.
pub(crate) fn indexed(bytes: usize, class: Class, access: Access) -> Option<Indexed> {
    if !vectors::available() || !access.is_simple() || access.narrow() {
        return None;
    }
    macro_rules! both {
        ($run:ident, $width:ident) => {
            Some(Indexed {
                unsigned: $run::<$width, false>,
                signed: $run::<$width, true>,
                bytes: bytes as u32,
            })
        };
    }
    match (access.writes(), bytes, class) {
        (false, 4, Class::Word) => both!(load, Word32),
        (false, 8, Class::Wide) => both!(load, Wide64),
        (true, 4, Class::Word) => both!(store, Word32),
        (true, 8, Class::Wide) => both!(store, Wide64),
        _ => None,
    }
}

/// # Safety
/// 1. The duties of [`Exec`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn load<L: Width, const SIGNED: bool>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let bytes = L::Memory::BYTES;
    // SAFETY: the decoder made the operands as `Indexed` says (duty 2 of `Exec`): the element a row of 32 lanes, of which each half takes
    // sixteen, and the address one of the frame; `indexed_again` found each half to be a run; the CPU supports this function (duty 1 of
    // `Exec`), and `fast_load` requires only the duties of `Exec`: its operands are the first two.
    unsafe {
        if lanes.mask() == !0
            && let Some(halves) = indexed_again::<SIGNED>(lanes, inst, bytes as u64)
        {
            let row = lanes.row(inst.ops[0]).cast::<L::Register>();
            for half in 0..2 {
                load_half::<L>(halves.hosts[half], halves.uniform[half], bytes, row.add(half * HALF));
            }
            return Step::Next;
        }
        find_addresses::<SIGNED>(lanes, inst, bytes as u64);
        fast_load::<L>(lanes, inst)
    }
}

/// # Safety
/// 1. The duties of [`Exec`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn store<S: Width, const SIGNED: bool>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let bytes = S::Memory::BYTES;
    // SAFETY: as in `load`.
    unsafe {
        if lanes.mask() == !0
            && let Some(halves) = indexed_again::<SIGNED>(lanes, inst, bytes as u64)
        {
            let row = lanes.row(inst.ops[0]).cast::<S::Register>();
            for half in 0..2 {
                store_half::<S>(halves.hosts[half], halves.uniform[half], bytes, row.add(half * HALF));
            }
            return Step::Next;
        }
        find_addresses::<SIGNED>(lanes, inst, bytes as u64);
        fast_store::<S>(lanes, inst)
    }
}

/// Computes the addresses of the live lanes: for other lanes, the row may belong to another register.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code with operands as [`Indexed`] says.
/// 2. The CPU, if it is an x86, has AVX2.
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn find_addresses<const SIGNED: bool>(lanes: &Lanes<'_>, inst: &Inst, bytes: u64) {
    let mut addresses = [0u64; 32];
    // SAFETY: the address of the array and the index are rows of 32 numbers of the frame or pool, the address is a register: the caller's
    // duty 1, and duty 1 of `commit_vector`, whose duty 2 is the caller's. The rows are not written before that, when they are no longer used.
    unsafe {
        let array = &*lanes.row(inst.ops[2]).cast::<[u64; 32]>();
        let index = &*lanes.row(inst.ops[3]).cast::<[u32; 32]>();
        for lane in 0..32 {
            let index = if SIGNED { index[lane] as i32 as u64 } else { u64::from(index[lane]) };
            addresses[lane] = array[lane].wrapping_add(index.wrapping_mul(bytes));
        }
        <u64 as Dest>::commit_vector(lanes, &inst.ops[1..], &addresses);
    }
}
