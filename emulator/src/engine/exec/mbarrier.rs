//! `mbarrier`: barriers that are numbers in shared memory (PTX ISA, "mbarrier").
//!
//! The ISA does not specify the layout of the 64 bits. Here: bits 19..0 are the pending arrivals of the current phase,
//! 39..20 the arrivals of later phases, 60..40 the expected transaction bytes (signed), 62 says whether the barrier has `.layout::v1`, and
//! 63 is the parity of the current phase. Nothing here reports to a barrier of that layout, so that its two kinds of phases are one.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `effective_address`, which checked bounds and alignment, and
// point to shared memory, which only this host thread accesses.

use cuda_ptx::Space;

use super::super::code::{Exec, Inst, Step};
use super::super::fault::FaultKind;
use super::lanes::Lanes;
use super::memory::{Access, EffectiveAddress, address, effective_address, live};
use super::operand::{Dest, Source};
use crate::memory::access::Word;

/// Arrivals that fit.
const MOST: u64 = (1 << 20) - 1;
const PARITY: u64 = 1 << 63;
const LAYOUT: u64 = 1 << 62;

/// An operation on a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// `init`: the value is the number of arrivals.
    Init,
    /// `init.layout::v1`
    InitLayout,
    /// `inval`
    Invalidate,
    /// `expect_tx`: the value is a number of bytes.
    Expect,
    /// `complete_tx`: the value is a number of bytes.
    Complete,
    /// `arrive`: the value is the number of arrivals.
    Arrive,
    /// `arrive.expect_tx`: one arrival; the value is a number of bytes.
    ArriveExpect,
    /// `arrive_drop`: the value is the number of arrivals.
    Drop,
    /// `arrive_drop.expect_tx`
    DropExpect,
}

/// The instruction that changes a barrier. Operands: the state before, the address, the value.
pub(crate) fn change(action: Action) -> Exec {
    match action {
        Action::Init => |lanes, inst| changed(lanes, inst, Action::Init),
        Action::InitLayout => |lanes, inst| changed(lanes, inst, Action::InitLayout),
        Action::Invalidate => |lanes, inst| changed(lanes, inst, Action::Invalidate),
        Action::Expect => |lanes, inst| changed(lanes, inst, Action::Expect),
        Action::Complete => |lanes, inst| changed(lanes, inst, Action::Complete),
        Action::Arrive => |lanes, inst| changed(lanes, inst, Action::Arrive),
        Action::ArriveExpect => |lanes, inst| changed(lanes, inst, Action::ArriveExpect),
        Action::Drop => |lanes, inst| changed(lanes, inst, Action::Drop),
        Action::DropExpect => |lanes, inst| changed(lanes, inst, Action::DropExpect),
    }
}

/// `test_wait`, `try_wait` with a state: whether its phase is over. Operands: the predicate, the address, the state.
pub(crate) const WAIT_STATE: Exec = |lanes, inst| {
    // SAFETY: the decoder made operand 2 wide, the state (duty 2 of `Exec`); `waited` passes live lanes, which are
    // below 32.
    waited(lanes, inst, |lanes, lane| unsafe {
        <u64 as Source>::get(<u64 as Source>::place(lanes, inst.ops[2]), lane) & PARITY != 0
    })
};

/// `test_wait.parity`, `try_wait.parity`: whether the phase of that parity is over. Operands: the predicate, the
/// address, the parity.
pub(crate) const WAIT_PARITY: Exec = |lanes, inst| {
    // SAFETY: the decoder made operand 2 a word, the parity (duty 2 of `Exec`); `waited` passes live lanes, which are
    // below 32.
    waited(lanes, inst, |lanes, lane| unsafe {
        <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[2]), lane) & 1 != 0
    })
};

/// `check_layout`: whether the barrier has `.layout::v1`. Operands: the predicate, the address.
pub(crate) const HAS_LAYOUT: Exec = |lanes, inst| tested(lanes, inst, |word, _, _| word & LAYOUT != 0);

/// The same of `.layout::v0`.
pub(crate) const LACKS_LAYOUT: Exec = |lanes, inst| tested(lanes, inst, |word, _, _| word & LAYOUT == 0);

/// `pending_count`: of a state.
pub(crate) fn pending(state: u64) -> u32 {
    (state & MOST) as u32
}

/// The barrier that a lane addresses: 8 bytes in shared memory, as [`EffectiveAddress::Host`] says. `None` after a fault.
fn barrier(lanes: &mut Lanes<'_>, inst: &Inst, lane: usize) -> Option<*mut u8> {
    // SAFETY: 1: the decoder made operand 1 the address (duty 2 of `Exec`); 2: `lane` is a live one, below 32.
    let address = unsafe { address(lanes, inst, inst.ops[1], lane) };
    match effective_address(lanes, inst, lane, address, 8)? {
        EffectiveAddress::Host { pointer, private: true } => Some(pointer),
        _ => {
            let message = format!("an mbarrier at 0x{address:x}, which is not in shared memory");
            lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(address), message);
            None
        }
    }
}

/// A copy of that many bytes has arrived at the barrier at a shared address; `None` after a fault.
pub(super) fn complete(lanes: &mut Lanes<'_>, lane: usize, address: u64, bytes: u64) -> Option<()> {
    let aux = Access::new(1, Some(Space::Shared), Access::ATOMIC).0;
    let inst = Inst { aux, ..Inst::NOTHING };
    let Some(EffectiveAddress::Host { pointer, .. }) = effective_address(lanes, &inst, lane, address, 8)
    else {
        return None;
    };
    if let Some(mut watch) = lanes.watch.take() {
        // SAFETY: 1: `effective_address` found 8 aligned bytes to be as `EffectiveAddress::Host` says.
        let later = watch.defers(lanes, lane, pointer, unsafe { parity(pointer) }, bytes);
        lanes.watch = Some(watch);
        if later {
            return Some(());
        }
    }
    // SAFETY: 1: `effective_address` found 8 aligned bytes to be as `EffectiveAddress::Host` says.
    if let Err(message) = unsafe { change_at(pointer, Action::Complete, bytes) } {
        lanes.fail(FaultKind::InvalidSync, lane as u32, Some(address), message);
        return None;
    }
    Some(())
}

/// Applies the operation to the barrier at an address; the error says what is wrong with it.
///
/// # Safety
/// 1. The pointer is to 8 aligned bytes that are as [`EffectiveAddress::Host`] says.
pub(in crate::engine) unsafe fn change_at(
    pointer: *mut u8,
    action: Action,
    value: u64,
) -> Result<(), String> {
    // SAFETY: 1, 2, of both: the caller's duty 1.
    unsafe { u64::store(pointer, next(u64::load(pointer), action, value)?) };
    Ok(())
}

/// The parity of the current phase of the barrier at an address.
///
/// # Safety
/// 1. The pointer is to 8 aligned bytes that are as [`EffectiveAddress::Host`] says.
pub(in crate::engine) unsafe fn parity(pointer: *mut u8) -> bool {
    // SAFETY: 1, 2: the caller's duty 1.
    unsafe { u64::load(pointer) & PARITY != 0 }
}

fn changed(lanes: &mut Lanes<'_>, inst: &Inst, action: Action) -> Step {
    for lane in live(lanes) {
        let Some(pointer) = barrier(lanes, inst, lane) else { return Step::Fault };
        // SAFETY: `barrier` returns 8 bytes that are as `EffectiveAddress::Host` says; the decoder made operand 2 a word, the count (duty 2
        // of `Exec`); live lanes are below 32.
        let (before, value) = unsafe {
            (u64::load(pointer), <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[2]), lane))
        };
        match next(before, action, u64::from(value)) {
            // SAFETY: `pointer` is to 8 bytes that are as `EffectiveAddress::Host` says; the decoder made operand 0 the destination, which is wide
            // (duty 2 of `Exec`); live lanes are below 32.
            Ok(after) => unsafe {
                u64::store(pointer, after);
                <u64 as Dest>::set(lanes, &inst.ops, lane, before);
            },
            Err(message) => {
                lanes.fail(FaultKind::InvalidSync, lane as u32, None, message);
                return Step::Fault;
            }
        }
    }
    Step::Next
}

fn waited(lanes: &mut Lanes<'_>, inst: &Inst, parity: impl Fn(&Lanes<'_>, usize) -> bool) -> Step {
    lanes.polls += 1;
    tested(lanes, inst, |word, lanes, lane| (word & PARITY != 0) != parity(lanes, lane))
}

/// Writes what a test of the barrier's word says.
fn tested(lanes: &mut Lanes<'_>, inst: &Inst, test: impl Fn(u64, &Lanes<'_>, usize) -> bool) -> Step {
    for lane in live(lanes) {
        let Some(pointer) = barrier(lanes, inst, lane) else { return Step::Fault };
        // SAFETY: 1, 2: `barrier` returns 8 bytes that are as `EffectiveAddress::Host` says.
        let word = unsafe { u64::load(pointer) };
        let result = test(word, lanes, lane);
        // SAFETY: 1: the decoder made operand 0 the destination, a predicate (duty 2 of `Exec`); 2: live lanes are below 32.
        unsafe { <bool as Dest>::set(lanes, &inst.ops, lane, result) };
    }
    Step::Next
}

/// The barrier after an action; the error says what is wrong with it.
fn next(before: u64, action: Action, value: u64) -> Result<u64, String> {
    let (mut pending, mut expected) = (before & MOST, before >> 20 & MOST);
    // Sign-extended from 21 bits.
    let mut bytes = ((before << 3) as i64) >> 43;
    let arrivals = match action {
        Action::Init | Action::InitLayout => {
            if value == 0 || value > MOST {
                return Err(format!("an mbarrier cannot wait for {value} arrivals"));
            }
            return Ok(value | value << 20 | if action == Action::InitLayout { LAYOUT } else { 0 });
        }
        Action::Invalidate => return Ok(0),
        Action::Expect | Action::Complete => 0,
        Action::Arrive | Action::Drop => value,
        Action::ArriveExpect | Action::DropExpect => 1,
    };
    match action {
        Action::Expect | Action::ArriveExpect | Action::DropExpect => bytes += value as i64,
        Action::Complete => bytes -= value as i64,
        _ => {}
    }
    if arrivals > pending || bytes.unsigned_abs() > MOST {
        return Err(format!("{arrivals} arrivals at an mbarrier that waits for {pending}"));
    }
    pending -= arrivals;
    if matches!(action, Action::Drop | Action::DropExpect) {
        expected -= arrivals.min(expected);
    }
    let mut parity = before & PARITY;
    if pending == 0 && bytes == 0 {
        (pending, parity) = (expected, parity ^ PARITY);
    }
    let bytes = bytes as u64 & ((1 << 21) - 1);
    Ok(pending | expected << 20 | bytes << 40 | before & LAYOUT | parity)
}
