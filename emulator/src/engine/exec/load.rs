//! `ld`.
//!
//! There are three ways: the halves of the warp each at one address or at addresses in a row; all lanes in one region,
//! checked together and then loaded one after the other without a branch; and lane by lane, where faults are found. In
//! local memory, where the words of the lanes lie side by side, lanes with one address copy rows.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `runs`, `together` and `effective_address`, which checked
// bounds and alignment for the whole vector access.

use std::sync::atomic::{Ordering::SeqCst, fence};

use super::super::code::{Exec, ExecPair, Inst, Slot, Step};
use super::lanes::Lanes;
use super::memory::{
    Access, EffectiveAddress, Run, address, effective_address, is_local, live, local_index, local_read, runs,
    together, uniform_local,
};
use super::operand::{Class, Dest};
use super::width::{
    S8Wide, S8Word, S16Wide, S16Word, S32Wide, U8Wide, U8Word, U16Wide, U16Word, U32Wide, Wide64, Width,
    Word32,
};
use crate::memory::access::{Word, copy_run};

/// The load of a number of `bytes` bytes into a register of that class.
pub(crate) fn load(bytes: usize, signed: bool, class: Class) -> Option<ExecPair> {
    macro_rules! pair {
        ($name:ident) => {
            ExecPair { fast: fast_load::<$name>, plain: plain_load::<$name> }
        };
    }
    Some(match (bytes, signed, class) {
        (1, false, Class::Word) => pair!(U8Word),
        (1, true, Class::Word) => pair!(S8Word),
        (2, false, Class::Word) => pair!(U16Word),
        (2, true, Class::Word) => pair!(S16Word),
        (4, _, Class::Word) => pair!(Word32),
        (1, false, Class::Wide) => pair!(U8Wide),
        (1, true, Class::Wide) => pair!(S8Wide),
        (2, false, Class::Wide) => pair!(U16Wide),
        (2, true, Class::Wide) => pair!(S16Wide),
        (4, false, Class::Wide) => pair!(U32Wide),
        (4, true, Class::Wide) => pair!(S32Wide),
        (8, _, Class::Wide) => pair!(Wide64),
        _ => return None,
    })
}

/// The load of a number of `bytes` bytes at an address that is the same for all lanes.
pub(crate) fn load_uniform(bytes: usize, signed: bool, class: Class) -> Option<Exec> {
    Some(match (bytes, signed, class) {
        (1, false, Class::Word) => uniform::<U8Word>,
        (1, true, Class::Word) => uniform::<S8Word>,
        (2, false, Class::Word) => uniform::<U16Word>,
        (2, true, Class::Word) => uniform::<S16Word>,
        (4, _, Class::Word) => uniform::<Word32>,
        (1, false, Class::Wide) => uniform::<U8Wide>,
        (1, true, Class::Wide) => uniform::<S8Wide>,
        (2, false, Class::Wide) => uniform::<U16Wide>,
        (2, true, Class::Wide) => uniform::<S16Wide>,
        (4, false, Class::Wide) => uniform::<U32Wide>,
        (4, true, Class::Wide) => uniform::<S32Wide>,
        (8, _, Class::Wide) => uniform::<Wide64>,
        _ => return None,
    })
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn fast_load<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: `Exec`'s duties 1 and 2, which the body has: this is called for a CPU with these features.
    unsafe { load_body::<L, true>(lanes, inst) }
}

unsafe fn plain_load<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: `Exec`'s duty 2 is the body's; without vectors it asks for no features of the CPU.
    unsafe { load_body::<L, false>(lanes, inst) }
}

/// Operands: the elements' destinations, then the address.
#[inline(always)]
unsafe fn load_body<L: Width, const VECTOR: bool>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let access = Access(inst.aux);
    let elements = access.elements();
    let slot = inst.ops[elements];
    let size = L::Memory::BYTES;
    let bytes = (elements * size) as u64;
    lanes.polls += u32::from(access.polls());
    // SAFETY: the decoder made the last operand the address, and those before it the elements' destinations; `together` and `runs` found
    // every live lane's whole access to be as `EffectiveAddress::Host` says, and runs of sixteen lanes in one piece; lanes are below 32;
    // of the x86 CPUs only those with AVX come here with `VECTOR` (duty 1 of `Exec`).
    unsafe {
        if VECTOR && access.may_be_local() && is_local(lanes, inst, slot) {
            if !load_uniform_local::<L>(lanes, inst, slot, bytes) && !load_each::<L>(lanes, inst, slot, bytes)
            {
                return Step::Fault;
            }
        } else if VECTOR && let Some(runs) = runs(lanes, inst, slot, bytes) {
            for element in 0..elements {
                // All lanes are live: results go to the register without a detour.
                let row = lanes.row(inst.ops[element]).cast::<L::Register>();
                for (half, run) in runs.into_iter().enumerate() {
                    load_run::<L>(run, element * size, bytes as usize, row.add(half * 16));
                }
            }
        } else if VECTOR
            && !lanes.few()
            && let Some(together) = together(lanes, inst, slot, bytes)
        {
            for element in 0..elements {
                let host = together.host.add(element * size);
                let row = lanes.row(inst.ops[element]).cast::<L::Register>();
                if lanes.mask() == !0 {
                    for lane in 0..32 {
                        let value = L::Memory::load(host.add(together.offsets[lane] as usize));
                        row.add(lane).write(L::extend(value));
                    }
                } else {
                    for lane in live(lanes) {
                        let value = L::Memory::load(host.add(together.offsets[lane] as usize));
                        row.add(lane).write(L::extend(value));
                    }
                }
            }
        } else if load_uniform_local::<L>(lanes, inst, slot, bytes)
            || load_each::<L>(lanes, inst, slot, bytes)
        {
        } else {
            return Step::Fault;
        }
    }
    if access.ordered() {
        fence(SeqCst);
    }
    Step::Next
}

/// Sixteen lanes of one run: `offset` bytes into what each accesses, `stride` bytes apart.
///
/// # Safety
/// 1. The run was checked for its access, and what is loaded at `offset` lies inside that.
/// 2. `row` has room for sixteen lanes.
/// 3. The CPU, if it is an x86, has AVX.
#[inline(always)]
unsafe fn load_run<L: Width>(run: Run, offset: usize, stride: usize, row: *mut L::Register) {
    // SAFETY: sixteen accesses `stride` bytes apart are what the check covered, of which this takes the bytes from
    // `offset` on (duty 1); lanes are below 16 (duty 2); the vectors are those of AVX (duty 3).
    unsafe {
        let host = run.host.add(offset);
        if run.uniform {
            let value = L::extend(L::Memory::load(host));
            for lane in 0..16 {
                row.add(lane).write(value);
            }
        } else if stride == L::Memory::BYTES && L::AS_IS {
            match L::Memory::BYTES {
                4 => copy_run::<64, true>(host, row.cast()),
                _ => copy_run::<128, true>(host, row.cast()),
            }
        } else {
            for lane in 0..16 {
                row.add(lane).write(L::extend(L::Memory::load(host.add(lane * stride))));
            }
        }
    }
}

/// All lanes at one local address: whether that was the case.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code whose elements are of this class.
unsafe fn load_uniform_local<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> bool {
    // SAFETY: 1: the same operand: the caller's duty 1.
    let Some(offset) = (unsafe { uniform_local(lanes, inst, slot, bytes) }) else { return false };
    let size = L::Memory::BYTES as u32;
    for element in 0..Access(inst.aux).elements() {
        let at = offset + element as u32 * size;
        let mut rows = L::Register::empty();
        let start = local_index(at, 0);
        let local = lanes.local();
        // One row of words, or two for a number of 64 bits; what lies outside is not allocated and reads as zero.
        let low =
            local.get(start..start + 32).and_then(|row| row.first_chunk::<32>()).copied().unwrap_or([0; 32]);
        if size == 4 && L::AS_IS {
            // SAFETY: 1: the decoder made the element's destination of the class of `L::Register`, which `AS_IS` says holds what memory does: words.
            unsafe { <u32 as Dest>::commit(lanes, &inst.ops[element..], &low) };
            continue;
        }
        let high = if size == 8 { local.get(start + 32..start + 64) } else { None };
        let high = high.and_then(|row| row.first_chunk::<32>()).copied().unwrap_or([0; 32]);
        for lane in 0..32 {
            let bits = u64::from(low[lane]) | u64::from(high[lane]) << 32;
            L::Register::put(&mut rows, lane, L::from_bits(bits >> (at % 4 * 8)));
        }
        // SAFETY: 1: the operands before the address are the elements' destinations, of this class: the caller's duty 1.
        unsafe { L::Register::commit(lanes, &inst.ops[element..], &rows) };
    }
    true
}

/// Lane by lane: whether no lane met a fault.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code whose elements are of this class.
#[inline(never)]
unsafe fn load_each<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> bool {
    let size = L::Memory::BYTES;
    for lane in live(lanes) {
        // SAFETY: 1: the same operand: the caller's duty 1; 2: live lanes are below 32.
        let address = unsafe { address(lanes, inst, slot, lane) };
        let Some(place) = effective_address(lanes, inst, lane, address, bytes) else { return false };
        for element in 0..Access(inst.aux).elements() {
            let value = match place {
                EffectiveAddress::Host { pointer, .. } => {
                    // SAFETY: 1, 2: the element is a part of the access, all of which is as `EffectiveAddress::Host` says.
                    let stored = unsafe { L::Memory::load(pointer.add(element * size)) };
                    L::extend(stored)
                }
                EffectiveAddress::Local(offset) => {
                    let offset = offset + (element * size) as u32;
                    L::from_bits(local_read(lanes.local(), offset, lane, size as u32))
                }
            };
            // SAFETY: 1: the operands before the address are the elements' destinations, of this class: the caller's duty 1; 2: live lanes are
            // below 32.
            unsafe { L::Register::set(lanes, &inst.ops[element..], lane, value) };
        }
    }
    true
}

/// A load of which all lanes have the address of the first. Operands: the destination, then the address.
unsafe fn uniform<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let lane = lanes.mask().trailing_zeros() as usize & 31;
    // SAFETY: 1: the decoder made operand 1 the address; 2: `& 31` makes it a lane.
    let address = unsafe { address(lanes, inst, inst.ops[1], lane) };
    let Some(EffectiveAddress::Host { pointer, .. }) =
        effective_address(lanes, inst, lane, address, L::Memory::BYTES as u64)
    else {
        return Step::Fault;
    };
    // SAFETY: 1, 2: all of the access is as `EffectiveAddress::Host` says.
    let value = L::extend(unsafe { L::Memory::load(pointer) });
    let mut rows = L::Register::empty();
    for lane in 0..32 {
        L::Register::put(&mut rows, lane, value);
    }
    // SAFETY: 1: the decoder made operand 0 the destination, of this class.
    unsafe { L::Register::commit(lanes, &inst.ops, &rows) };
    Step::Next
}
