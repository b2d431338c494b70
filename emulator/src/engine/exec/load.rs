//! `ld`.
//!
//! There are four ways: the halves of a full warp, or groups of eight lanes of which some are live, each at one address or at consecutive
//! addresses; all lanes in one region, checked together and then loaded one after the other without a branch; and lane by lane, which
//! detects faults. In local memory, where the words of the lanes are adjacent, lanes with the same address copy rows.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `runs`, `together` and `effective_address`, which checked
// bounds and alignment for the whole vector access.

use std::sync::atomic::{Ordering::SeqCst, fence};

use super::super::code::{Exec, ExecPair, Inst, Slot, Step};
use super::lanes::{Lanes, bits};
use super::load_vector;
use super::memory::{
    Access, EffectiveAddress, HALF, RUN, Run, address, effective_address, halves, halves_again, is_local,
    live, local_index, local_offset, local_read, present, runs, scattered_local, together, uniform_local,
};
use super::operand::{Class, Dest};
use super::vector::Eight;
use super::width::{
    S8Wide, S8Word, S16Wide, S16Word, S32Wide, U8Wide, U8Word, U16Wide, U16Word, U32Wide, Wide64, Width,
    Word32,
};
use crate::memory::access::{Word, copy_eight, load_eight};

/// Applies the macro `pair` to a number of that many bytes, signed or not, in a register of a class.
macro_rules! by_width {
    ($number:expr, $pair:ident) => {
        match $number {
            (1, false, Class::Word) => Some($pair!(U8Word)),
            (1, true, Class::Word) => Some($pair!(S8Word)),
            (2, false, Class::Word) => Some($pair!(U16Word)),
            (2, true, Class::Word) => Some($pair!(S16Word)),
            (4, _, Class::Word) => Some($pair!(Word32)),
            (1, false, Class::Wide) => Some($pair!(U8Wide)),
            (1, true, Class::Wide) => Some($pair!(S8Wide)),
            (2, false, Class::Wide) => Some($pair!(U16Wide)),
            (2, true, Class::Wide) => Some($pair!(S16Wide)),
            (4, false, Class::Wide) => Some($pair!(U32Wide)),
            (4, true, Class::Wide) => Some($pair!(S32Wide)),
            (8, _, Class::Wide) => Some($pair!(Wide64)),
            _ => None,
        }
    };
}

/// The load of numbers of `bytes` bytes each into registers of that class.
pub(crate) fn load(bytes: usize, signed: bool, class: Class, access: Access) -> Option<ExecPair> {
    macro_rules! pair {
        ($name:ident) => {{
            let fast: Exec = match (access.is_simple(), access.narrow()) {
                (true, true) => quick_load::<$name, u32>,
                (true, false) => quick_load::<$name, u64>,
                (false, _) => load_vector::quick(bytes, class, access).unwrap_or(fast_load::<$name>),
            };
            ExecPair { fast, plain: plain_load::<$name> }
        }};
    }
    by_width!((bytes, signed, class), pair)
}

/// The load of an aligned number, which is zero if there is no memory.
pub(crate) fn load_if_present(bytes: usize, signed: bool, class: Class) -> Option<ExecPair> {
    macro_rules! pair {
        ($name:ident) => {
            ExecPair { fast: if_present::<$name>, plain: if_present::<$name> }
        };
    }
    by_width!((bytes, signed, class), pair)
}

/// The load of a number of `bytes` bytes at an address that is the same for all lanes.
pub(crate) fn load_uniform(bytes: usize, signed: bool, class: Class) -> Option<ExecPair> {
    macro_rules! pair {
        ($name:ident) => {
            ExecPair { fast: fast_uniform::<$name>, plain: uniform::<$name> }
        };
    }
    by_width!((bytes, signed, class), pair)
}

/// The load of one number without special properties: takes the fast way for a full warp in the region of its last
/// access, and the general way otherwise.
///
/// # Safety
/// 1. The duties of [`Exec`].
/// 2. The address operand is as wide as `A`, and the [`Access`] is a simple one.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn quick_load<L: Width, A: Eight>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let bytes = L::Memory::BYTES;
    // SAFETY: the decoder made operand 0 the destination and operand 1 the address (duty 2 of `Exec`), of the width of
    // `A` (duty 2), rows of 32 lanes, of which each half takes sixteen; `halves_again` found each half to be a run; the
    // CPU supports this function (duty 1 of `Exec`), and `fast_load` requires only the duties of `Exec`.
    unsafe {
        if lanes.mask() == !0
            && let Some(halves) = halves_again::<A>(lanes, inst, inst.ops[1], bytes as u64)
        {
            let row = lanes.row(inst.ops[0]).cast::<L::Register>();
            for half in 0..2 {
                load_half::<L>(halves.hosts[half], halves.uniform[half], bytes, row.add(half * HALF));
            }
            return Step::Next;
        }
        fast_load::<L>(lanes, inst)
    }
}

/// For a CPU with vectors.
///
/// # Safety
/// 1. The duties of [`Exec`].
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(super) unsafe fn fast_load<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: the duties of the body are `Exec`'s duties 1 and 2: this is called on a CPU with these features.
    unsafe { load_body::<L, true>(lanes, inst) }
}

unsafe fn plain_load<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: `Exec`'s duty 2 is that of the body; without vectors it requires no CPU features.
    unsafe { load_body::<L, false>(lanes, inst) }
}

/// Operands: the elements' destinations, then the address.
#[inline(always)]
unsafe fn load_body<L: Width, const VECTOR: bool>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let access = Access(inst.aux);
    let elements = access.elements();
    let slot = inst.ops[elements];
    let size = L::Memory::BYTES;
    let bytes = elements * size;
    lanes.polls += u32::from(access.polls());
    // SAFETY: the decoder made the last operand the address, and those before it the elements' destinations (duty 2 of
    // `Exec`), rows of 32 lanes, of which each half takes sixteen; `halves` found each half to be a run, and each
    // element is a part of its accesses; x86 CPUs get here with `VECTOR` only if they have AVX2 and FMA (duty 1 of
    // `Exec`).
    let done = unsafe {
        if VECTOR
            && !(access.may_be_local() && is_local(lanes, inst, slot))
            && lanes.mask() == !0
            && let Some(halves) = halves(lanes, inst, slot, bytes as u64)
        {
            let one = halves.uniform == [true; 2] && halves.hosts[0] == halves.hosts[1];
            for element in 0..elements {
                let row = lanes.row(inst.ops[element]).cast::<L::Register>();
                if one {
                    let value = L::extend(L::Memory::load(halves.hosts[0].add(element * size)));
                    (0..2 * HALF).for_each(|lane| row.add(lane).write(value));
                    continue;
                }
                for half in 0..2 {
                    let host = halves.hosts[half].add(element * size);
                    load_half::<L>(host, halves.uniform[half], bytes, row.add(half * HALF));
                }
            }
            true
        } else if VECTOR {
            load_apart::<L>(lanes, inst, slot, bytes)
        } else {
            load_each::<L>(lanes, inst, slot, bytes as u64)
        }
    };
    if !done {
        return Step::Fault;
    }
    if access.ordered() {
        fence(SeqCst);
    }
    Step::Next
}

/// The ways that are not for runs: whether no lane met a fault.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code whose elements are of this class and have `bytes` bytes
///    together.
/// 2. The CPU, if it is an x86, has AVX2 and FMA.
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn load_apart<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: usize) -> bool {
    let access = Access(inst.aux);
    // SAFETY: 1: the same operand: the caller's duty 1.
    let local = access.may_be_local() && unsafe { is_local(lanes, inst, slot) };
    // SAFETY: the operands are those of the caller's duty 1, rows of 32 lanes: four groups of eight. `runs` found each
    // group to be a run, and `together` every live lane's whole access, of which each element is a part, to be as
    // `EffectiveAddress::Host` says; x86 CPUs get here only if they have AVX2 and FMA (duty 2); lanes are below 32.
    unsafe {
        if !local && let Some(runs) = runs(lanes, inst, slot, bytes as u64) {
            for element in 0..access.elements() {
                let row = lanes.row(inst.ops[element]).cast::<L::Register>();
                for (group, run) in runs.into_iter().enumerate() {
                    load_run::<L>(run, element * L::Memory::BYTES, bytes, row.add(group * RUN));
                }
            }
            return true;
        }
        if !local
            && !lanes.few()
            && let Some(together) = together(lanes, inst, slot, bytes as u64)
        {
            for element in 0..access.elements() {
                let host = together.host.add(element * L::Memory::BYTES);
                let row = lanes.row(inst.ops[element]).cast::<L::Register>();
                for lane in live(lanes) {
                    let value = L::Memory::load(host.add(together.offsets[lane] as usize));
                    row.add(lane).write(L::extend(value));
                }
            }
            return true;
        }
        load_uniform_local::<L, true>(lanes, inst, slot, bytes as u64)
            || load_scattered_local::<L>(lanes, inst, slot, bytes as u64)
            || load_each::<L>(lanes, inst, slot, bytes as u64)
    }
}

/// The lanes of one half, `stride` bytes apart or all at one address.
///
/// # Safety
/// 1. The half was checked for its access, and the load at `host` lies inside that.
/// 2. `row` is sixteen lanes of a row of the frame.
/// 3. The CPU, if it is an x86, has AVX2.
#[inline(always)]
pub(super) unsafe fn load_half<L: Width>(
    host: *const u8,
    uniform: bool,
    stride: usize,
    row: *mut L::Register,
) {
    // SAFETY: the check covered sixteen accesses, `stride` bytes apart or all at one address (duty 1): they are
    // aligned, valid, and used by others as `EffectiveAddress::Host` says. Lanes are below 16 (duty 2); the row
    // belongs to the frame, which is not memory of kernels, so the two do not overlap. The vectors are those of AVX2
    // (duty 3).
    unsafe {
        if uniform {
            let value = L::extend(L::Memory::load(host));
            for lane in 0..HALF {
                row.add(lane).write(value);
            }
        } else if stride == L::Memory::BYTES && L::AS_IS {
            for group in 0..2 {
                let host = host.add(group * RUN * stride);
                match L::Memory::BYTES {
                    4 => copy_eight::<false>(host, row.add(group * RUN).cast()),
                    _ => copy_eight::<true>(host, row.add(group * RUN).cast()),
                }
            }
        } else {
            for lane in 0..HALF {
                row.add(lane).write(L::extend(L::Memory::load(host.add(lane * stride))));
            }
        }
    }
}

/// Loads for the live lanes of one run, at `offset` bytes into the access of each, `stride` bytes apart.
///
/// # Safety
/// 1. The run was checked for its access, and the load at `offset` lies inside that.
/// 2. `row` is eight lanes of a row of the frame.
/// 3. The CPU, if it is an x86, has AVX2.
#[inline(always)]
unsafe fn load_run<L: Width>(run: Run, offset: usize, stride: usize, row: *mut L::Register) {
    let host = run.host.wrapping_add(offset);
    // SAFETY: the check covered the accesses of live lanes, `stride` bytes apart or all at one address, of which this
    // uses the bytes from `offset` on (duty 1): they are aligned, valid, and used by others as
    // `EffectiveAddress::Host` says. Lanes are below 8 (duty 2); the row belongs to the frame, which is not memory of
    // kernels, so they do not overlap. The vectors are those of AVX2 (duty 3).
    unsafe {
        if run.uniform && run.live == !0 {
            let value = L::extend(L::Memory::load(host));
            for lane in 0..RUN {
                row.add(lane).write(value);
            }
        } else if stride == L::Memory::BYTES && L::AS_IS && !run.uniform {
            match (L::Memory::BYTES, run.live) {
                (4, 0xff) => copy_eight::<false>(host, row.cast()),
                (_, 0xff) => copy_eight::<true>(host, row.cast()),
                (4, live) => load_eight::<false>(host, row.cast(), live),
                (_, live) => load_eight::<true>(host, row.cast(), live),
            }
        } else {
            let step = if run.uniform { 0 } else { stride };
            for lane in bits(run.live.into()) {
                row.add(lane).write(L::extend(L::Memory::load(host.wrapping_add(lane * step))));
            }
        }
    }
}

/// All lanes at one local address: whether that was the case.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code whose elements are of this class.
/// 2. With `VECTOR`, the CPU, if it is an x86, has AVX2.
#[inline(always)]
unsafe fn load_uniform_local<L: Width, const VECTOR: bool>(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> bool {
    // SAFETY: 1: the same operand: the caller's duty 1.
    let Some(offset) = (unsafe { uniform_local(lanes, inst, slot, bytes) }) else { return false };
    let size = L::Memory::BYTES as u32;
    for element in 0..Access(inst.aux).elements() {
        let at = offset + element as u32 * size;
        let mut rows = L::Register::empty();
        let start = local_index(at, 0);
        let local = lanes.local();
        // One row of words, or two for a number of 64 bits; words outside are not allocated and read as zero.
        let low =
            local.get(start..start + 32).and_then(|row| row.first_chunk::<32>()).copied().unwrap_or([0; 32]);
        if size == 4 && L::AS_IS {
            // SAFETY: 1: by the caller's duty 1 the element's operand is a destination of the class of `L::Register`,
            // which is a word because of `AS_IS` and the size of 4; 2: duty 2.
            unsafe {
                if VECTOR {
                    <u32 as Dest>::commit_vector(lanes, &inst.ops[element..], &low);
                } else {
                    <u32 as Dest>::commit(lanes, &inst.ops[element..], &low);
                }
            }
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

/// All lanes in local memory, of which more than a few live: whether that was the case, and none met a fault.
///
/// # Safety
/// 1. `slot` is the address operand of `inst`, an instruction of the entered code whose elements are of this class.
#[inline(always)]
unsafe fn load_scattered_local<L: Width>(lanes: &Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> bool {
    if lanes.few() {
        return false;
    }
    // SAFETY: 1: the same operand: the caller's duty 1.
    let Some(offsets) = (unsafe { scattered_local(lanes, inst, slot, bytes) }) else { return false };
    let (local, size) = (lanes.warp().local.as_slice(), L::Memory::BYTES as u32);
    for element in 0..Access(inst.aux).elements() {
        // SAFETY: the operands before the address are the elements' destinations, of this class, the caller's duty 1: rows of 32 lanes, which are not
        // local memory.
        unsafe {
            let row = lanes.row(inst.ops[element]).cast::<L::Register>();
            for lane in live(lanes) {
                let offset = offsets[lane] + element as u32 * size;
                row.add(lane).write(L::from_bits(local_read(local, offset, lane, size)));
            }
        }
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
        let place = match local_offset(lanes, inst, address, bytes) {
            Some(offset) => EffectiveAddress::Local(offset),
            None => match effective_address(lanes, inst, lane, address, bytes) {
                Some(place) => place,
                None => return false,
            },
        };
        for element in 0..Access(inst.aux).elements() {
            let value = match place {
                EffectiveAddress::Host { pointer, .. } => {
                    // SAFETY: 1, 2: the element is a part of the access, which is entirely as
                    // `EffectiveAddress::Host` says, and whose alignment is a multiple of the element's.
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

/// Lane by lane, and zero where there is no memory. Operands: the destination, then the address.
unsafe fn if_present<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let (slot, size) = (inst.ops[1], L::Memory::BYTES);
    // SAFETY: 1: the decoder made operand 1 the address, and operand 0 the only element's destination, of this class (duty 2 of `Exec`).
    if unsafe { load_uniform_local::<L, false>(lanes, inst, slot, size as u64) } {
        return Step::Next;
    }
    for lane in live(lanes) {
        // SAFETY: 1: the same operand; 2: live lanes are below 32.
        let address = unsafe { address(lanes, inst, slot, lane) };
        let value = match present(lanes, inst, address, size as u64) {
            // SAFETY: 1, 2: the access is as `EffectiveAddress::Host` says.
            Some(EffectiveAddress::Host { pointer, .. }) => L::extend(unsafe { L::Memory::load(pointer) }),
            Some(EffectiveAddress::Local(offset)) => {
                L::from_bits(local_read(lanes.local(), offset, lane, size as u32))
            }
            None => L::from_bits(0),
        };
        // SAFETY: 1: operand 0 is the destination, of this class (duty 2 of `Exec`); 2: live lanes are below 32.
        unsafe { L::Register::set(lanes, &inst.ops, lane, value) };
    }
    Step::Next
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn fast_uniform<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: it requires only `Exec`'s duties.
    unsafe { uniform::<L>(lanes, inst) }
}

/// A load of which all lanes have the address of the first. Operands: the destination, then the address.
#[inline(always)]
unsafe fn uniform<L: Width>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let lane = lanes.mask().trailing_zeros() as usize & 31;
    let bytes = L::Memory::BYTES as u64;
    // SAFETY: 1: the decoder made operand 1 the address (duty 2 of `Exec`); 2: `& 31` makes it a lane.
    let address = unsafe { address(lanes, inst, inst.ops[1], lane) };
    let pointer = match lanes.sites.get(inst.site as usize) {
        Some(known) if known.contains(address, bytes) && address.is_multiple_of(bytes) => {
            // SAFETY: `contains` found the offset inside the region's bytes, which are one allocation that is live
            // while the instruction runs.
            unsafe { known.host.add((address - known.base) as usize) }
        }
        _ => match effective_address(lanes, inst, lane, address, bytes) {
            Some(EffectiveAddress::Host { pointer, .. }) => pointer,
            _ => return Step::Fault,
        },
    };
    // SAFETY: 1, 2: in both cases the access was found to be aligned and inside a region, whose bytes are as
    // `EffectiveAddress::Host` says.
    let value = L::extend(unsafe { L::Memory::load(pointer) });
    let mut rows = L::Register::empty();
    for lane in 0..32 {
        L::Register::put(&mut rows, lane, value);
    }
    // SAFETY: 1: the decoder made operand 0 the destination, of this class (duty 2 of `Exec`).
    unsafe { L::Register::commit(lanes, &inst.ops, &rows) };
    Step::Next
}
