//! `cp.async`: copies from global to shared memory. They are done at once, which is one of the orders that the ISA
//! allows, so that committing and waiting have nothing left to do.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `effective_address`, which checked bounds and alignment.

use cuda_ptx::Space;

use super::super::code::{Exec, Inst, Step};
use super::lanes::Lanes;
use super::memory::{
    Access, EffectiveAddress, address, effective_address, effective_address_of, live, together_apart,
};
use super::operand::Source;
use crate::memory::access::Word;

/// `cp.async`. Operands: the target's address, the source's address, how many bytes to read (the rest is zero).
/// `imm` is the size, `aux` the target's access and, shifted by 16, the source's.
pub(crate) const COPY: Exec = copy;

/// Packs the accesses of the two sides.
pub(crate) fn sides(narrow_target: bool, narrow_source: bool) -> u32 {
    let flags = |narrow| if narrow { Access::NARROW } else { 0 };
    let target = Access::new(1, Some(Space::Shared), flags(narrow_target) | Access::WRITE).0;
    target | Access::new(1, Some(Space::Global), flags(narrow_source)).0 << 16
}

unsafe fn copy(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let bytes = inst.imm;
    // The region that is remembered for the instruction is the source's: the target's is found faster.
    let side = |aux: u32, site: u32| Inst { aux, site, imm: 0, ..inst.clone() };
    let (to, from) = (side(inst.aux & 0xffff, u32::MAX), side(inst.aux >> 16, inst.site));
    // SAFETY: 1: the same instruction, and its sides.
    if unsafe { together(lanes, inst, &to, &from) }.is_some() {
        return Step::Next;
    }
    for lane in live(lanes) {
        // SAFETY: the decoder created the operands in the order that `COPY` lists (duty 2 of `Exec`), with addresses of the width that `to`
        // and `from` state; live lanes are below 32.
        let (target, source, wanted) = unsafe {
            let wanted = <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[2]), lane);
            (address(lanes, &to, inst.ops[0], lane), address(lanes, &from, inst.ops[1], lane), wanted)
        };
        let wanted = u64::from(wanted).min(bytes);
        let Some(EffectiveAddress::Host { pointer: target, .. }) =
            effective_address(lanes, &to, lane, target, bytes)
        else {
            return Step::Fault;
        };
        let mut buffer = [0; 16];
        if wanted > 0 {
            // Only what is read has to be there; the address is aligned as for all of it.
            let Some(EffectiveAddress::Host { pointer: source, .. }) =
                effective_address_of(lanes, &from, lane, source, (wanted, bytes))
            else {
                return Step::Fault;
            };
            // SAFETY: 1, 2: `wanted` bytes, all of which are as `EffectiveAddress::Host` says: valid, and used by others as
            // `load` asks.
            unsafe { crate::memory::access::load(source, &mut buffer[..wanted as usize]) };
        }
        for (at, word) in buffer[..bytes as usize].chunks_exact(4).enumerate() {
            let word = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
            // SAFETY: 1, 2: a word of the `bytes` bytes, inside which `at * 4` lies, and all of which are as
            // `EffectiveAddress::Host` says, also aligned to 4: the decoder takes sizes of 4, 8 and 16.
            unsafe { u32::store(target.add(at * 4), word) };
        }
    }
    Step::Next
}

/// The copy, if all bytes of all live lanes are read, from one region, and written to one; else `None`, and nothing is done.
///
/// # Safety
/// 1. `inst` is [`COPY`], an instruction of the entered code, and `to` and `from` are the same with the access of that side.
unsafe fn together(lanes: &mut Lanes<'_>, inst: &Inst, to: &Inst, from: &Inst) -> Option<()> {
    let bytes = inst.imm;
    // SAFETY: the third operand is a row of 32 words; 1, of the others: the operands are addresses of the width that
    // `to` and `from` state: the caller's duty 1.
    let (target, source) = unsafe {
        let wanted = <u32 as Source>::place(lanes, inst.ops[2]);
        let less = |lane| u32::from(u64::from(<u32 as Source>::get(wanted, lane)) < bytes) << lane;
        if lanes.few() || (0..32).fold(0, |some, lane| some | less(lane)) & lanes.mask() != 0 {
            return None;
        }
        (together_apart(lanes, to, inst.ops[0], bytes)?, together_apart(lanes, from, inst.ops[1], bytes)?)
    };
    for lane in live(lanes) {
        // SAFETY: 1, 2, for each move: `bytes` bytes at both offsets are as `EffectiveAddress::Host` says (the documentation of `Together`), so
        // aligned to as many, which are 4, 8 or 16: the decoder takes these sizes.
        unsafe {
            let target = target.host.add(target.offsets[lane] as usize);
            let source = source.host.add(source.offsets[lane] as usize);
            match bytes {
                16 => {
                    let halves = [u64::load(source), u64::load(source.add(8))];
                    u64::store(target, halves[0]);
                    u64::store(target.add(8), halves[1]);
                }
                8 => u64::store(target, u64::load(source)),
                _ => u32::store(target, u32::load(source)),
            }
        }
    }
    Some(())
}
