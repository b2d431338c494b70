//! `ld` and `st`.
//!
//! Each has three ways: all lanes in one region (checked together, then moved one after the other without a branch),
//! all lanes at one local address (rows are copied), and lane by lane, where faults are found.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `together` and `spot`, which checked bounds and alignment for
// the whole vector access.

use std::sync::atomic::{Ordering::SeqCst, fence};

use super::super::code::{Exec, ExecPair, Inst, Slot, Step};
use super::lanes::{Class, Dest, Lanes, Source};
use super::memory::{
    Access, Run, Spot, address, is_local, live, local_index, local_read, local_write, runs, spot, together,
    uniform_local,
};
use crate::memory::access::{Word, copy_run};

/// A number in memory and the register it is loaded into.
trait Load: Copy + 'static {
    /// What memory holds.
    type Memory: Word + Into<u64>;
    /// What the register holds: `u32` or `u64`, of which its row has 32.
    type Register: Dest + Copy + 'static;
    /// Whether memory and register hold the same bits.
    const AS_IS: bool = size_of::<Self::Memory>() == size_of::<Self::Register>();
    /// Extends.
    fn extend(value: Self::Memory) -> Self::Register;
    /// Extends bits that were read from local memory.
    fn from_bits(bits: u64) -> Self::Register;
}

/// A number in memory and the register it is stored from.
trait Store: Copy + 'static {
    /// What memory holds.
    type Memory: Word;
    /// What the register holds.
    type Register: Source + Into<u64> + 'static;
    /// Truncates.
    fn truncate(value: Self::Register) -> Self::Memory;
}

macro_rules! accesses {
    ($($name:ident: $memory:ty as $middle:ty => $register:ty;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;

        impl Load for $name {
            type Memory = $memory;
            type Register = $register;
            #[inline(always)]
            fn extend(value: $memory) -> $register {
                value as $middle as $register
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> $register {
                bits as $middle as $register
            }
        }

        impl Store for $name {
            type Memory = $memory;
            type Register = $register;
            #[inline(always)]
            fn truncate(value: $register) -> $memory {
                value as $memory
            }
        }
    )*};
}

accesses! {
    U8Word: u8 as u8 => u32;
    S8Word: u8 as i8 => u32;
    U16Word: u16 as u16 => u32;
    S16Word: u16 as i16 => u32;
    Word32: u32 as u32 => u32;
    U8Wide: u8 as u8 => u64;
    S8Wide: u8 as i8 => u64;
    U16Wide: u16 as u16 => u64;
    S16Wide: u16 as i16 => u64;
    U32Wide: u32 as u32 => u64;
    S32Wide: u32 as i32 => u64;
    Wide64: u64 as u64 => u64;
}

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

/// The store of a number of `bytes` bytes from a register of that class.
pub(crate) fn store(bytes: usize, class: Class) -> Option<ExecPair> {
    macro_rules! pair {
        ($name:ident) => {
            ExecPair { fast: fast_store::<$name>, plain: plain_store::<$name> }
        };
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

// SAFETY: duties of `Exec`, passed on.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn fast_load<L: Load>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: duties of `Exec`, passed on.
    unsafe { load_body::<L, true>(lanes, inst) }
}

// SAFETY: duties of `Exec`, passed on.
unsafe fn plain_load<L: Load>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: duties of `Exec`, passed on.
    unsafe { load_body::<L, false>(lanes, inst) }
}

// SAFETY: duties of `Exec`, passed on.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn fast_store<S: Store>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: duties of `Exec`, passed on.
    unsafe { store_body::<S, true>(lanes, inst) }
}

// SAFETY: duties of `Exec`, passed on.
unsafe fn plain_store<S: Store>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: duties of `Exec`, passed on.
    unsafe { store_body::<S, false>(lanes, inst) }
}

/// Operands: the elements' destinations, then the address.
#[inline(always)]
unsafe fn load_body<L: Load, const VECTOR: bool>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let access = Access(inst.aux);
    let elements = access.elements();
    let slot = inst.ops[elements];
    let size = L::Memory::BYTES;
    let bytes = (elements * size) as u64;
    lanes.polls += u32::from(access.polls());
    // SAFETY: the last operand is the address; `together` checked every live lane's whole access.
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
/// The run was checked for its access; `row` has room for sixteen lanes; the CPU has AVX.
#[inline(always)]
unsafe fn load_run<L: Load>(run: Run, offset: usize, stride: usize, row: *mut L::Register) {
    // SAFETY: passed on to the caller.
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

/// Sixteen lanes of one run, as for [`load_run`]. Of lanes with one address the last wins.
///
/// # Safety
/// The run was checked for its access; `row` holds sixteen lanes; the CPU has AVX.
#[inline(always)]
unsafe fn store_run<S: Store>(run: Run, offset: usize, stride: usize, row: *const S::Register) {
    // SAFETY: passed on to the caller.
    unsafe {
        let host = run.host.add(offset);
        if run.uniform {
            S::Memory::store(host, S::truncate(*row.add(15)));
        } else if stride == S::Memory::BYTES && size_of::<S::Register>() == S::Memory::BYTES {
            match S::Memory::BYTES {
                4 => copy_run::<64, true>(row.cast(), host),
                _ => copy_run::<128, true>(row.cast(), host),
            }
        } else {
            for lane in 0..16 {
                S::Memory::store(host.add(lane * stride), S::truncate(*row.add(lane)));
            }
        }
    }
}

/// All lanes at one local address: whether that was the case.
unsafe fn load_uniform_local<L: Load>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> bool {
    // SAFETY: `slot` is the instruction's address operand.
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
            // SAFETY: the destination holds words, as memory does.
            unsafe { <u32 as Dest>::commit(lanes, &inst.ops[element..], &low) };
            continue;
        }
        let high = if size == 8 { local.get(start + 32..start + 64) } else { None };
        let high = high.and_then(|row| row.first_chunk::<32>()).copied().unwrap_or([0; 32]);
        for lane in 0..32 {
            let bits = u64::from(low[lane]) | u64::from(high[lane]) << 32;
            L::Register::put(&mut rows, lane, L::from_bits(bits >> (at % 4 * 8)));
        }
        // SAFETY: the operands before the address are the elements' destinations.
        unsafe { L::Register::commit(lanes, &inst.ops[element..], &rows) };
    }
    true
}

/// Lane by lane: whether no lane met a fault.
#[inline(never)]
unsafe fn load_each<L: Load>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> bool {
    let size = L::Memory::BYTES;
    for lane in live(lanes) {
        // SAFETY: `slot` is the instruction's address operand.
        let address = unsafe { address(lanes, inst, slot, lane) };
        let Some(spot) = spot(lanes, inst, lane, address, bytes) else { return false };
        for element in 0..Access(inst.aux).elements() {
            let value = match spot {
                Spot::Host { pointer, .. } => {
                    // SAFETY: `spot` checked the whole access.
                    let stored = unsafe { L::Memory::load(pointer.add(element * size)) };
                    L::extend(stored)
                }
                Spot::Local(offset) => {
                    let offset = offset + (element * size) as u32;
                    L::from_bits(local_read(lanes.local(), offset, lane, size as u32))
                }
            };
            // SAFETY: the operands before the address are the elements' destinations.
            unsafe { L::Register::set(lanes, &inst.ops[element..], lane, value) };
        }
    }
    true
}

/// All lanes at one local address: whether that was the case.
unsafe fn store_uniform_local<S: Store>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> bool {
    // SAFETY: `slot` is the instruction's address operand.
    let Some(offset) = (unsafe { uniform_local(lanes, inst, slot, bytes) }) else { return false };
    let (size, mask) = (S::Memory::BYTES as u32, lanes.mask());
    for element in 0..Access(inst.aux).elements() {
        let at = offset + element as u32 * size;
        // SAFETY: the operands before the address are the elements.
        let place = unsafe { S::Register::place(lanes, inst.ops[element]) };
        let (mut low, mut high) = ([0u32; 32], [0u32; 32]);
        for lane in 0..32 {
            // SAFETY: as above.
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

/// Operands: the elements, then the address.
#[inline(always)]
unsafe fn store_body<S: Store, const VECTOR: bool>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let access = Access(inst.aux);
    let elements = access.elements();
    let slot = inst.ops[elements];
    let size = S::Memory::BYTES;
    let bytes = (elements * size) as u64;
    if access.ordered() {
        fence(SeqCst);
    }
    // SAFETY: the last operand is the address, those before are values; `together` checked every live lane.
    unsafe {
        if VECTOR && access.may_be_local() && is_local(lanes, inst, slot) {
            let done = store_uniform_local::<S>(lanes, inst, slot, bytes)
                || store_each::<S>(lanes, inst, slot, bytes);
            return if done { Step::Next } else { Step::Fault };
        }
        if VECTOR && let Some(runs) = runs(lanes, inst, slot, bytes) {
            for (half, run) in runs.into_iter().enumerate() {
                for element in 0..elements {
                    let row = lanes.row(inst.ops[element]).cast::<S::Register>();
                    store_run::<S>(run, element * size, bytes as usize, row.add(half * 16));
                }
            }
            return Step::Next;
        }
        if VECTOR
            && !lanes.few()
            && let Some(together) = together(lanes, inst, slot, bytes)
        {
            // Lane by lane outside, so that of lanes with one address the last wins with all its elements.
            if lanes.mask() == !0 && elements == 1 {
                let place = S::Register::place(lanes, inst.ops[0]);
                for lane in 0..32 {
                    let value = S::truncate(S::Register::get(place, lane));
                    S::Memory::store(together.host.add(together.offsets[lane] as usize), value);
                }
                return Step::Next;
            }
            for lane in live(lanes) {
                for element in 0..elements {
                    let place = S::Register::place(lanes, inst.ops[element]);
                    let pointer = together.host.add(together.offsets[lane] as usize + element * size);
                    S::Memory::store(pointer, S::truncate(S::Register::get(place, lane)));
                }
            }
            return Step::Next;
        }
        if store_each::<S>(lanes, inst, slot, bytes) { Step::Next } else { Step::Fault }
    }
}

/// Lane by lane: whether no lane met a fault.
#[inline(never)]
unsafe fn store_each<S: Store>(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> bool {
    let size = S::Memory::BYTES;
    for lane in live(lanes) {
        // SAFETY: `slot` is the instruction's address operand.
        let address = unsafe { address(lanes, inst, slot, lane) };
        let Some(spot) = spot(lanes, inst, lane, address, bytes) else { return false };
        for element in 0..Access(inst.aux).elements() {
            // SAFETY: the operands before the address are the elements.
            let value = unsafe { S::Register::get(S::Register::place(lanes, inst.ops[element]), lane) };
            match spot {
                // SAFETY: `spot` checked the whole access.
                Spot::Host { pointer, .. } => unsafe {
                    S::Memory::store(pointer.add(element * size), S::truncate(value));
                },
                Spot::Local(offset) => {
                    let offset = offset + (element * size) as u32;
                    local_write(lanes.local(), offset, lane, size as u32, value.into());
                }
            }
        }
    }
    true
}

/// A load of which all lanes have the address of the first. Operands: the destination, then the address.
unsafe fn uniform<L: Load>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let lane = lanes.mask().trailing_zeros() as usize & 31;
    // SAFETY: the second operand is the address.
    let address = unsafe { address(lanes, inst, inst.ops[1], lane) };
    let Some(Spot::Host { pointer, .. }) = spot(lanes, inst, lane, address, L::Memory::BYTES as u64) else {
        return Step::Fault;
    };
    // SAFETY: `spot` checked the access.
    let value = L::extend(unsafe { L::Memory::load(pointer) });
    let mut rows = L::Register::empty();
    for lane in 0..32 {
        L::Register::put(&mut rows, lane, value);
    }
    // SAFETY: the first operand is the destination.
    unsafe { L::Register::commit(lanes, &inst.ops, &rows) };
    Step::Next
}
