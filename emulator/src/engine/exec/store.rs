//! `st`, in the same ways as [`load`](super::load).
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `runs`, `together` and `effective_address`, which checked
// bounds and alignment for the whole vector access.

use std::sync::atomic::{Ordering::SeqCst, fence};

use super::super::code::{Exec, ExecPair, Inst, Slot, Step};
use super::lanes::{Lanes, bits};
use super::memory::{
    Access, EffectiveAddress, HALF, RUN, Run, address, effective_address, halves, halves_again, is_local,
    live, local_index, local_offset, local_write, runs, scattered_local, together, uniform_local,
};
use super::operand::{Class, Source};
use super::vector::Eight;
use super::width::{U8Wide, U8Word, U16Wide, U16Word, U32Wide, Wide64, Width, Word32};
use crate::memory::access::{Word, copy_eight};

/// The store of numbers of `bytes` bytes each from registers of that class.
pub(crate) fn store(bytes: usize, class: Class, access: Access) -> Option<ExecPair> {
    macro_rules! pair {
        ($name:ident) => {{
            let fast: Exec = match (access.is_simple(), access.narrow()) {
                (true, true) => quick_store::<$name, u32>,
                (true, false) => quick_store::<$name, u64>,
                (false, _) => fast_store::<$name>,
            };
            ExecPair { fast, plain: plain_store::<$name> }
        }};
    }
    Some(match (bytes, class) {
        (1, Class::Word) => pair!(U8Word),
        (2, Class::Word) => pair!(U16Word),
        (4, Class::Word) => pair!(Word32),
        (1, Class::Wide) => pair!(U8Wide),
        (2, Class::Wide) => pair!(U16Wide),
        (4, Class::Wide) => pair!(U32Wide),
        (8, Class::Wide) => pair!(Wide64),
        _ => return None,
    })
}

/// The store of one number without special properties: takes the fast way for a full warp in the region of its last
/// access, and the general way otherwise.
///
/// # Safety
/// 1. The duties of [`Exec`].
/// 2. The address operand is as wide as `A`, and the [`Access`] is a simple one.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn quick_store<S: Width, A: Eight>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let bytes = S::Memory::BYTES;
    // SAFETY: the decoder made operand 0 the element and operand 1 the address (duty 2 of `Exec`), of the width of `A`
    // (duty 2), rows of 32 lanes, of which each half takes sixteen; `halves_again` found each half to be a run; the CPU
    // supports this function (duty 1 of `Exec`), and `fast_store` requires only the duties of `Exec`.
    unsafe {
        if lanes.mask() == !0
            && let Some(halves) = halves_again::<A>(lanes, inst, inst.ops[1], bytes as u64)
        {
            let row = lanes.row(inst.ops[0]).cast::<S::Register>();
            for half in 0..2 {
                store_half::<S>(halves.hosts[half], halves.uniform[half], bytes, row.add(half * HALF));
            }
            return Step::Next;
        }
        fast_store::<S>(lanes, inst)
    }
}

/// For a CPU with vectors.
///
/// # Safety
/// 1. The duties of [`Exec`].
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(super) unsafe fn fast_store<S: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: the duties of the body are `Exec`'s duties 1 and 2: this is called on a CPU with these features.
    unsafe { store_body::<S, true>(lanes, inst) }
}

unsafe fn plain_store<S: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: `Exec`'s duty 2 is that of the body; without vectors it requires no CPU features.
    unsafe { store_body::<S, false>(lanes, inst) }
}

/// Operands: the elements, then the address.
#[inline(always)]
unsafe fn store_body<S: Width, const VECTOR: bool>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let access = Access(inst.aux);
    let elements = access.elements();
    let slot = inst.ops[elements];
    let size = S::Memory::BYTES;
    let bytes = elements * size;
    if access.ordered() {
        fence(SeqCst);
    }
    // SAFETY: the decoder made the last operand the address, and those before it the elements (duty 2 of `Exec`), rows
    // of 32 lanes, of which each half takes sixteen; `halves` found each half to be a run, and each element is a part
    // of its accesses; x86 CPUs get here with `VECTOR` only if they have AVX2 and FMA (duty 1 of `Exec`).
    let done = unsafe {
        if VECTOR
            && !(access.may_be_local() && is_local(lanes, inst, slot))
            && lanes.mask() == !0
            && let Some(halves) = halves(lanes, inst, slot, bytes as u64)
        {
            for half in 0..2 {
                for element in 0..elements {
                    let row = lanes.row(inst.ops[element]).cast::<S::Register>();
                    let host = halves.hosts[half].add(element * size);
                    store_half::<S>(host, halves.uniform[half], bytes, row.add(half * HALF));
                }
            }
            true
        } else if VECTOR {
            store_apart::<S>(lanes, inst, slot, bytes)
        } else {
            store_each::<S>(lanes, inst, slot, bytes as u64)
        }
    };
    if done { Step::Next } else { Step::Fault }
}

/// The ways that are not for runs: whether no lane met a fault.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code whose elements are of this class and have `bytes` bytes
///    together.
/// 2. The CPU, if it is an x86, has AVX2 and FMA.
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn store_apart<S: Width>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: usize) -> bool {
    let access = Access(inst.aux);
    // SAFETY: the operands are those of the caller's duty 1, rows of 32 lanes: four groups of eight. `runs` found each
    // group to be a run, and `together` every live lane's whole access, of which each element is a part, to be as
    // `EffectiveAddress::Host` says; x86 CPUs get here only if they have AVX2 and FMA (duty 2); lanes are below 32.
    unsafe {
        if access.may_be_local() && is_local(lanes, inst, slot) {
            return store_uniform_local::<S>(lanes, inst, slot, bytes as u64)
                || store_scattered_local::<S>(lanes, inst, slot, bytes as u64)
                || store_each::<S>(lanes, inst, slot, bytes as u64);
        }
        if let Some(runs) = runs(lanes, inst, slot, bytes as u64) {
            for (group, run) in runs.into_iter().enumerate() {
                for element in 0..access.elements() {
                    let row = lanes.row(inst.ops[element]).cast::<S::Register>();
                    store_run::<S>(run, element * S::Memory::BYTES, bytes, row.add(group * RUN));
                }
            }
            return true;
        }
        if !lanes.few()
            && let Some(together) = together(lanes, inst, slot, bytes as u64)
        {
            // Lane by lane outside, so that of lanes with one address the last wins with all its elements.
            for lane in live(lanes) {
                for element in 0..access.elements() {
                    let place = S::Register::place(lanes, inst.ops[element]);
                    let pointer =
                        together.host.add(together.offsets[lane] as usize + element * S::Memory::BYTES);
                    S::Memory::store(pointer, S::truncate(S::Register::get(place, lane)));
                }
            }
            return true;
        }
        store_each::<S>(lanes, inst, slot, bytes as u64)
    }
}

/// The lanes of one half, `stride` bytes apart or all at one address: then the last wins.
///
/// # Safety
/// 1. The half was checked for its access, and the store at `host` lies inside that.
/// 2. `row` is sixteen lanes of a row of the frame or pool.
/// 3. The CPU, if it is an x86, has AVX2.
#[inline(always)]
pub(super) unsafe fn store_half<S: Width>(
    host: *mut u8,
    uniform: bool,
    stride: usize,
    row: *const S::Register,
) {
    // SAFETY: the check covered sixteen accesses, `stride` bytes apart or all at one address (duty 1): they are
    // aligned, valid, and used by others as `EffectiveAddress::Host` says. Lanes are below 16 (duty 2); the row
    // belongs to the frame or pool, which is not memory of kernels, so the two do not overlap. The vectors are those
    // of AVX2 (duty 3).
    unsafe {
        if uniform {
            S::Memory::store(host, S::truncate(*row.add(HALF - 1)));
        } else if stride == S::Memory::BYTES && S::AS_IS {
            for group in 0..2 {
                let host = host.add(group * RUN * stride);
                match S::Memory::BYTES {
                    4 => copy_eight::<false>(row.add(group * RUN).cast(), host),
                    _ => copy_eight::<true>(row.add(group * RUN).cast(), host),
                }
            }
        } else {
            for lane in 0..HALF {
                S::Memory::store(host.add(lane * stride), S::truncate(*row.add(lane)));
            }
        }
    }
}

/// Stores for the live lanes of one run, at `offset` bytes into the access of each, `stride` bytes apart. If all have one address,
/// the last lane wins.
///
/// # Safety
/// 1. The run was checked for its access, and the store at `offset` lies inside that.
/// 2. `row` is eight lanes of a row of the frame or pool.
/// 3. The CPU, if it is an x86, has AVX2.
#[inline(always)]
unsafe fn store_run<S: Width>(run: Run, offset: usize, stride: usize, row: *const S::Register) {
    let host = run.host.wrapping_add(offset);
    // SAFETY: the check covered the accesses of live lanes, `stride` bytes apart or all at one address, of which this
    // uses the bytes from `offset` on (duty 1): they are aligned, valid, and used by others as
    // `EffectiveAddress::Host` says. Lanes are below 8 (duty 2); the row is not memory of kernels, so they do not
    // overlap. The vectors are those of AVX2 (duty 3).
    unsafe {
        if run.uniform {
            if run.live != 0 {
                S::Memory::store(host, S::truncate(*row.add(7 - run.live.leading_zeros() as usize)));
            }
        } else if stride == S::Memory::BYTES && S::AS_IS && run.live == !0 {
            match S::Memory::BYTES {
                4 => copy_eight::<false>(row.cast(), host),
                _ => copy_eight::<true>(row.cast(), host),
            }
        } else {
            for lane in bits(run.live.into()) {
                S::Memory::store(host.wrapping_add(lane * stride), S::truncate(*row.add(lane)));
            }
        }
    }
}

/// All lanes at one local address: whether that was the case.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code whose elements are of this class.
#[inline(always)]
unsafe fn store_uniform_local<S: Width>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> bool {
    // SAFETY: 1: the same operand: the caller's duty 1.
    let Some(offset) = (unsafe { uniform_local(lanes, inst, slot, bytes) }) else { return false };
    let (size, mask) = (S::Memory::BYTES as u32, lanes.mask());
    for element in 0..Access(inst.aux).elements() {
        let at = offset + element as u32 * size;
        // SAFETY: 1: the operands before the address are the elements, of this class: the caller's duty 1.
        let place = unsafe { S::Register::place(lanes, inst.ops[element]) };
        let (mut low, mut high) = ([0u32; 32], [0u32; 32]);
        for lane in 0..32 {
            // SAFETY: 1: the place was just obtained for the frame that is still entered; 2: lanes are below 32.
            let value: u64 = unsafe { S::Register::get(place, lane) }.into();
            (low[lane], high[lane]) = ((value as u32) << (at % 4 * 8), (value >> 32) as u32);
        }
        let bits = if size >= 4 { !0 } else { ((1 << (size * 8)) - 1) << (at % 4 * 8) };
        put_row(lanes.local(), local_index(at, 0), &low, bits, mask);
        if size == 8 {
            put_row(lanes.local(), local_index(at, 0) + 32, &high, bits, mask);
        }
    }
    true
}

/// All lanes in local memory, of which more than a few live: whether that was the case, and none met a fault.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code whose elements are of this class.
#[inline(always)]
unsafe fn store_scattered_local<S: Width>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> bool {
    if lanes.few() {
        return false;
    }
    // SAFETY: 1: the same operand: the caller's duty 1.
    let Some(offsets) = (unsafe { scattered_local(lanes, inst, slot, bytes) }) else { return false };
    let (size, live) = (S::Memory::BYTES as u32, live(lanes));
    for lane in live {
        for element in 0..Access(inst.aux).elements() {
            // SAFETY: 1: the operands before the address are the elements, of this class, the caller's duty 1, and the frame stays the entered one; 2:
            // live lanes are below 32.
            let value = unsafe { S::Register::get(S::Register::place(lanes, inst.ops[element]), lane) };
            let offset = offsets[lane] + element as u32 * size;
            local_write(lanes.local(), offset, lane, size, value.into());
        }
    }
    true
}

/// Writes the bits of a row of local words for the lanes of `mask`.
#[inline(always)]
fn put_row(local: &mut [u32], start: usize, values: &[u32; 32], bits: u32, mask: u32) {
    let Some(row) = local.get_mut(start..start + 32).and_then(|row| row.first_chunk_mut::<32>()) else {
        return;
    };
    for lane in 0..32 {
        let bits = if mask & 1 << lane != 0 { bits } else { 0 };
        row[lane] = row[lane] & !bits | values[lane] & bits;
    }
}

/// Lane by lane: whether no lane met a fault.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code whose elements are of this class.
#[inline(never)]
unsafe fn store_each<S: Width>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> bool {
    let size = S::Memory::BYTES;
    for lane in live(lanes) {
        // SAFETY: 1: the same operand: the caller's duty 1; 2: live lanes are below 32.
        let address = unsafe { address(lanes, inst, slot, lane) };
        let place = match local_offset(lanes, inst, address, bytes) {
            Some(offset) => EffectiveAddress::Local(offset),
            None => match effective_address(lanes, inst, lane, address, bytes) {
                Some(place) => place,
                None => return false,
            },
        };
        for element in 0..Access(inst.aux).elements() {
            // SAFETY: 1: the operands before the address are the elements, of this class: the caller's duty 1; 2: live lanes are below 32.
            let value = unsafe { S::Register::get(S::Register::place(lanes, inst.ops[element]), lane) };
            match place {
                // SAFETY: 1, 2: the element is a part of the access, all of which is as `EffectiveAddress::Host` says,
                // and whose alignment is a multiple of the element's.
                EffectiveAddress::Host { pointer, .. } => unsafe {
                    S::Memory::store(pointer.add(element * size), S::truncate(value));
                },
                EffectiveAddress::Local(offset) => {
                    let offset = offset + (element * size) as u32;
                    local_write(lanes.local(), offset, lane, size as u32, value.into());
                }
            }
        }
    }
    true
}
