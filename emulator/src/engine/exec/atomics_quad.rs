//! 128-bit `atom`, and 128-bit loads and stores that may be concurrent with other threads.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `effective_address`, which checked bounds and alignment.

use std::sync::atomic::{Ordering::SeqCst, fence};

use super::super::code::{Exec, Inst, Step};
use super::atomics::local;
use super::lanes::Lanes;
use super::memory::{Access, EffectiveAddress, address, effective_address, live};
use super::operand::Source;
use crate::memory::access::Word;

/// `atom.exch.b128`. Operand 0 is the address; the matrix has the halves of the destination, and those of the number as `a`.
pub(crate) const EXCHANGE_QUAD: Exec = |lanes, inst| run(lanes, inst, |_, [new, _]| new);
/// `atom.cas.b128`. The same, with the halves of the expected and of the new number as `a`.
pub(crate) const SWAP_QUAD: Exec =
    |lanes, inst| run(lanes, inst, |old, [expected, new]| if old == expected { new } else { old });

/// `ld` of 128 bits at once. Operand 0 is the address; the matrix has the halves of the destination.
pub(crate) const LOAD_QUAD: Exec = |lanes, inst| run(lanes, inst, |old, _| old);
/// `st` of 128 bits at once. The same, with the halves of the number as `a`; the destination is unused.
pub(crate) const STORE_QUAD: Exec = EXCHANGE_QUAD;

const BYTES: u64 = 16;

fn run(lanes: &mut Lanes<'_>, inst: &Inst, new: fn(u128, [u128; 2]) -> u128) -> Step {
    let Some(matrix) = lanes.matrix(inst) else { return Step::Fault };
    // The offset is part of the address: `imm` is the matrix.
    let whole = Inst { imm: 0, ..*inst };
    if Access(inst.aux).ordered() {
        fence(SeqCst);
    }
    lanes.polls += u32::from(Access(inst.aux).polls());
    for lane in live(lanes) {
        // SAFETY: the decoder made operand 0 the address, wide, and the matrix's `a` wide (duty 2 of `Exec`); live lanes are below 32. This is
        // 1 and 2 of `address`, too.
        let (address, read) = unsafe {
            let half = |index: usize| match matrix.a.get(index) {
                Some(slot) => u128::from(<u64 as Source>::get(<u64 as Source>::place(lanes, *slot), lane)),
                None => 0,
            };
            let number = |index: usize| half(index) | half(index + 1) << 64;
            (address(lanes, &whole, inst.ops[0], lane), [number(0), number(2)])
        };
        let (pointer, private) = match effective_address(lanes, &whole, lane, address, BYTES) {
            Some(EffectiveAddress::Host { pointer, private }) => (pointer, private),
            Some(EffectiveAddress::Local(_)) => return local(lanes, lane, address),
            None => return Step::Fault,
        };
        // SAFETY: 1, 2: `effective_address` found 16 bytes from a multiple of 16 on to be as `EffectiveAddress::Host` says.
        let old = unsafe { update(pointer, private, |old| new(old, read)) };
        for (slot, half) in matrix.d.iter().zip([old as u64, (old >> 64) as u64]) {
            // SAFETY: the decoder made the matrix's `d` wide, the destinations (duty 2 of `Exec`); live lanes are below 32; no reference into
            // the frame is alive.
            unsafe { lanes.row(*slot).cast::<u64>().add(lane).write(half) };
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
/// 1. `pointer` is valid for reads and writes of 16 bytes, and aligned to 16.
/// 2. Others use its bytes meanwhile as the head of `memory::access` says.
unsafe fn update(pointer: *mut u8, private: bool, new: impl Fn(u128) -> u128) -> u128 {
    // SAFETY: 1, 2 of `load`, `store` and `exchange_if`: the caller's duties 1 and 2; halves are inside and aligned to 8.
    unsafe {
        let mut old = load(pointer);
        if private {
            // All threads that can access it run on this host thread.
            store(pointer, new(old));
            return old;
        }
        loop {
            let found = exchange_if(pointer, old, new(old));
            if found == old {
                return old;
            }
            old = found;
        }
    }
}

/// Reads both halves, which others may change in between, so the result is only a guess.
///
/// # Safety
/// As of [`update`].
unsafe fn load(pointer: *mut u8) -> u128 {
    // SAFETY: 1, 2: the caller's duties 1 and 2, of each half.
    unsafe { u128::from(u64::load(pointer)) | u128::from(u64::load(pointer.add(8))) << 64 }
}

/// # Safety
/// As of [`update`].
unsafe fn store(pointer: *mut u8, number: u128) {
    // SAFETY: 1, 2: the caller's duties 1 and 2, of each half.
    unsafe {
        u64::store(pointer, number as u64);
        u64::store(pointer.add(8), (number >> 64) as u64);
    }
}

/// Stores `new` if memory contains `old`. Returns the previous value.
///
/// # Safety
/// As of [`update`].
unsafe fn exchange_if(pointer: *mut u8, old: u128, new: u128) -> u128 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::arch::is_x86_feature_detected!("cmpxchg16b") {
        // SAFETY: 1, 2: the caller's duties 1 and 2; 3: the processor was checked to have the instruction.
        return unsafe { compare_exchange(pointer, old, new) };
    }
    // A lock for all 128-bit operations.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // SAFETY: 1, 2: the caller's duties 1 and 2.
    unsafe {
        let found = load(pointer);
        if found == old {
            store(pointer, new);
        }
        found
    }
}

/// `lock cmpxchg16b`: LLVM turns `std`'s intrinsic into a call of a library that is not linked.
///
/// # Safety
/// 1, 2. As of [`update`].
/// 3. The processor has the instruction.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn compare_exchange(pointer: *mut u8, old: u128, new: u128) -> u128 {
    let [mut low, mut high] = [old as u64, (old >> 64) as u64];
    // SAFETY: the processor has the instruction (duty 3). It atomically reads and perhaps writes the 16 bytes at `rdi`, which are valid and
    // aligned (duty 1), while others use them by moves and exchanges (duty 2). It also changes `rax`, `rdx` and the flags, which are
    // declared. `rbx`, which cannot be declared, is restored at the end; the stack is not used.
    unsafe {
        std::arch::asm!(
            "xchg {rbx}, rbx",
            "lock cmpxchg16b xmmword ptr [rdi]",
            "mov rbx, {rbx}",
            rbx = inout(reg) new as u64 => _,
            in("rcx") (new >> 64) as u64,
            in("rdi") pointer,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    u128::from(low) | u128::from(high) << 64
}
