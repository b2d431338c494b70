//! `atom` and `red`: lane by lane, in the order of the lanes.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `together` and `effective_address`, which checked bounds and
// alignment.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst, fence};

use super::super::code::{Exec, Inst, Step};
use super::super::fault::FaultKind;
use super::lanes::Lanes;
use super::memory::{Access, EffectiveAddress, address, effective_address, live, together_apart};
use super::operand::{Dest, Source};
use crate::memory::access::Word;

/// A number in memory that can be changed atomically.
pub(crate) trait Atomic: Word + PartialEq + Source + Dest + 'static {
    /// Stores `new` if memory contains `old`; the error is the actual value.
    ///
    /// # Safety
    /// 1. `pointer` is valid for reads and writes of a `Self`, and aligned for it.
    /// 2. Others use its bytes meanwhile as the head of `memory::access` says.
    unsafe fn exchange_if(pointer: *mut u8, old: Self, new: Self) -> Result<Self, Self>;
}

macro_rules! atomic {
    ($($number:ty, $atomic:ty;)*) => {$(
        impl Atomic for $number {
            #[inline(always)]
            unsafe fn exchange_if(pointer: *mut u8, old: Self, new: Self) -> Result<Self, Self> {
                // SAFETY: valid and aligned for this type, which has the size and alignment of the atomic: duty 1.
                // Others use the bytes meanwhile, by accesses of any size, as the head of `memory::access` says (duty
                // 2), which also explains the basis.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.compare_exchange(old, new, SeqCst, SeqCst)
            }
        }
    )*};
}

atomic! {
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

/// An atomic operation on numbers of type `T`: the new value from the old one, the operands, and whether memory is
/// shared (where `.f32` additions keep subnormal numbers).
pub(crate) trait Operation<T>: Copy + 'static {
    /// The new value.
    fn apply(old: T, b: T, c: T, shared: bool) -> T;
}

/// The instruction that applies `O`. Operands: the destination, the address, `b`, `c`.
pub(crate) fn atomic<T: Atomic, O: Operation<T>>() -> Exec {
    run::<T, O>
}

unsafe fn run<T: Atomic, O: Operation<T>>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let bytes = T::BYTES as u64;
    if Access(inst.aux).ordered() {
        fence(SeqCst);
    }
    lanes.polls += u32::from(Access(inst.aux).polls());
    // SAFETY: the decoder made the operands as `atomic` lists them (duty 2 of `Exec`); `together_apart` and
    // `effective_address` found each number inside its region and as `EffectiveAddress::Host` says, which `update`
    // requires. Live lanes are below 32, and the frame stays the entered one.
    unsafe {
        let (b, c) = (T::place(lanes, inst.ops[2]), T::place(lanes, inst.ops[3]));
        let together = if lanes.few() { None } else { together_apart(lanes, inst, inst.ops[1], bytes) };
        for lane in live(lanes) {
            let (pointer, private) = match &together {
                Some(together) => (together.host.add(together.offsets[lane] as usize), together.private),
                None => {
                    let address = address(lanes, inst, inst.ops[1], lane);
                    match effective_address(lanes, inst, lane, address, bytes) {
                        Some(EffectiveAddress::Host { pointer, private }) => (pointer, private),
                        Some(EffectiveAddress::Local(_)) => return local(lanes, lane, address),
                        None => return Step::Fault,
                    }
                }
            };
            let old =
                update::<T>(pointer, private, |old| O::apply(old, T::get(b, lane), T::get(c, lane), private));
            T::set(lanes, &inst.ops, lane, old);
        }
    }
    if Access(inst.aux).ordered() {
        fence(SeqCst);
    }
    Step::Next
}

/// Replaces the number at `pointer` and returns the old one.
///
/// # Safety
/// 1. `pointer` is valid for reads and writes of a `T`, and aligned for it.
/// 2. Others use its bytes meanwhile as the head of `memory::access` says.
#[inline(always)]
pub(super) unsafe fn update<T: Atomic>(pointer: *mut u8, private: bool, new: impl Fn(T) -> T) -> T {
    // SAFETY: 1, 2: loads, stores and exchanges have the same duties: the caller's duties 1 and 2.
    unsafe {
        let mut old = T::load(pointer);
        if private {
            // All threads that can access it run on this host thread.
            T::store(pointer, new(old));
            return old;
        }
        loop {
            match T::exchange_if(pointer, old, new(old)) {
                Ok(old) => return old,
                Err(found) => old = found,
            }
        }
    }
}

#[cold]
pub(super) fn local(lanes: &mut Lanes<'_>, lane: usize, address: u64) -> Step {
    let message = format!("atomic access to local memory at 0x{address:x}");
    lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(address), message);
    Step::Fault
}

/// Refuses addresses that are not a multiple of a vector's size: operand 0 is the address, `imm` its offset, `aux` the access and, shifted
/// by 16, the size.
pub(crate) const ALIGNED: Exec = aligned;

unsafe fn aligned(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let bytes = u64::from(inst.aux >> 16).max(1);
    for lane in live(lanes) {
        // SAFETY: 1: the decoder made operand 0 the address, with the width of the access in `aux` (duty 2 of `Exec`); 2: live lanes
        // are below 32.
        let address = unsafe { address(lanes, inst, inst.ops[0], lane) };
        if !address.is_multiple_of(bytes) {
            let message = format!("misaligned access of {bytes} bytes at 0x{address:x}");
            lanes.fail(FaultKind::MisalignedAddress, lane as u32, Some(address), message);
            return Step::Fault;
        }
    }
    Step::Next
}
