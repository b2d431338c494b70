//! Instructions in which the lanes of a warp see each other's values: `shfl`, `vote`, `match`, `redux`, `elect`,
//! `bar.warp.sync`, `activemask`.
//!
//! A `.sync` instruction runs at once if all members are in the running split, which is nearly always the case.
//! Otherwise the split waits until the others arrive at any instruction of the same kind; then the values of all
//! splits are gathered, the result computed once, and scattered.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::code::{Exec, ExecPair, Inst, Slot, Step};
use super::super::fault::FaultKind;
use super::super::warp_op::{Reduction, Shuffle, WarpOp};
use super::lanes::{Lanes, bits};
use super::memory::agree;
use super::operand::{Dest, Source};
use super::warp_values::shuffle;
pub(crate) use super::warp_values::{Inputs, Outputs};

/// The lanes of the running split by the member mask that they name: usually one group.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code that performs `op`.
pub(crate) unsafe fn groups(lanes: &Lanes<'_>, inst: &Inst, op: WarpOp) -> Vec<(u32, u32)> {
    let mut groups = Vec::with_capacity(1);
    let mut rest = lanes.mask();
    // SAFETY: the operand is the member mask, a word, as `op` says: the caller's duty 1; lanes of a mask are below 32,
    // and the frame stays the entered one.
    unsafe {
        let place = <u32 as Source>::place(lanes, inst.ops[op.members_at()]);
        while rest != 0 {
            let members = <u32 as Source>::get(place, rest.trailing_zeros() as usize);
            let group = bits(rest).filter(|lane| <u32 as Source>::get(place, *lane) == members);
            let group = group.fold(0, |mask, lane| mask | 1 << lane);
            groups.push((members, group));
            rest &= !group;
        }
    }
    groups
}

/// Faults if a lane executes an instruction but is not among its members; returns whether there was no such lane.
pub(crate) fn belongs(lanes: &mut Lanes<'_>, op: WarpOp, members: u32, group: u32) -> bool {
    if group & !members == 0 {
        return true;
    }
    let lane = (group & !members).trailing_zeros();
    let message =
        format!("lane {lane} executes `{}` but is not in its member mask 0x{members:08x}", op.name());
    lanes.fail(FaultKind::InvalidSync, lane, None, message);
    false
}

macro_rules! warp_op {
    ($($name:ident = $op:expr;)*) => {
        /// How an instruction runs that performs `op`.
        pub(crate) fn exec(op: WarpOp) -> Option<Exec> {
            $(
                if op == $op {
                    return Some(ExecPair { fast: $name::fast, plain: $name::plain }.pick());
                }
            )*
            None
        }

        $(
            mod $name {
                use super::*;

                /// # Safety
                /// 1. The duties of [`Exec`](super::Exec).
                #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
                pub(super) unsafe fn fast(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
                    // SAFETY: 1: the decoder made the instruction (duty 2 of `Exec`), and pairs this function with the operation; 2: its duty 1.
                    unsafe { super::sync::<true>(lanes, inst, $op) }
                }

                /// # Safety
                /// 1. Duty 2 of [`Exec`](super::Exec).
                pub(super) unsafe fn plain(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
                    // SAFETY: 1: the decoder made the instruction (duty 2 of `Exec`), and pairs this function with the operation;
                    // 2: no vectors.
                    unsafe { super::sync::<false>(lanes, inst, $op) }
                }
            }
        )*
    };
}

warp_op! {
    barrier = WarpOp::Barrier;
    shuffle_up = WarpOp::Shuffle(Shuffle::Up);
    shuffle_down = WarpOp::Shuffle(Shuffle::Down);
    shuffle_butterfly = WarpOp::Shuffle(Shuffle::Butterfly);
    shuffle_index = WarpOp::Shuffle(Shuffle::Index);
    all = WarpOp::All;
    any = WarpOp::Any;
    uniform = WarpOp::Uniform;
    ballot = WarpOp::Ballot;
    match_any = WarpOp::MatchAny(false);
    match_any_wide = WarpOp::MatchAny(true);
    match_all = WarpOp::MatchAll(false);
    match_all_wide = WarpOp::MatchAll(true);
    redux_add = WarpOp::Redux(Reduction::Add);
    redux_min_unsigned = WarpOp::Redux(Reduction::MinUnsigned);
    redux_max_unsigned = WarpOp::Redux(Reduction::MaxUnsigned);
    redux_min_signed = WarpOp::Redux(Reduction::MinSigned);
    redux_max_signed = WarpOp::Redux(Reduction::MaxSigned);
    redux_and = WarpOp::Redux(Reduction::And);
    redux_or = WarpOp::Redux(Reduction::Or);
    redux_xor = WarpOp::Redux(Reduction::Xor);
    elect = WarpOp::Elect;
    matrix = WarpOp::Matrix;
}

/// Runs the instruction if all members are present, otherwise leaves it to the scheduler.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code that performs `op`.
/// 2. With `VECTOR`, the CPU, if it is an x86, has AVX2.
#[inline(always)]
unsafe fn sync<const VECTOR: bool>(lanes: &mut Lanes<'_>, inst: &Inst, op: WarpOp) -> Step {
    let slot = inst.ops[op.members_at()];
    // SAFETY: the operand is the member mask, a word, as `op` says, and `& 31` makes it a lane. It is not a constant
    // but a row of 32 words of the frame, which is not written while `agree` reads it: only this thread runs the
    // warp, and `agree` only reads. The called functions require duty 1 and, for `perform`, duty 2: those of the
    // caller.
    unsafe {
        let place = <u32 as Source>::place(lanes, slot);
        let members = <u32 as Source>::get(place, lanes.mask().trailing_zeros() as usize & 31);
        let all = members & !lanes.warp().exited == lanes.mask();
        if all && (slot.0 & Slot::CONSTANT != 0 || agree(&*place.cast::<[u32; 32]>(), lanes.mask())) {
            perform::<VECTOR>(lanes, inst, op, lanes.mask());
            return Step::Next;
        }
        sync_groups(lanes, inst, op)
    }
}

/// [`sync`] if lanes may name different members: each group is independent.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code that performs `op`.
#[inline(never)]
unsafe fn sync_groups(lanes: &mut Lanes<'_>, inst: &Inst, op: WarpOp) -> Step {
    // SAFETY: 1: the same instruction and operation: the caller's duty 1.
    let groups = unsafe { groups(lanes, inst, op) };
    for (members, group) in &groups {
        if !belongs(lanes, op, *members, *group) {
            return Step::Fault;
        }
    }
    let exited = lanes.warp().exited;
    if groups.iter().any(|(members, group)| members & !exited != *group) {
        return Step::Control;
    }
    let mask = lanes.mask();
    for (_, group) in groups {
        lanes.set_mask(group);
        // SAFETY: 1: the same instruction and operation: the caller's duty 1; 2: no vectors.
        unsafe { perform::<false>(lanes, inst, op, group) };
    }
    lanes.set_mask(mask);
    Step::Next
}

/// Gathers, computes and scatters for the lanes of `active`.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code that performs `op`.
/// 2. With `VECTOR`, the CPU, if it is an x86, has AVX2.
#[inline(always)]
unsafe fn perform<const VECTOR: bool>(lanes: &mut Lanes<'_>, inst: &Inst, op: WarpOp, active: u32) {
    // SAFETY: a shuffle's operands 2 to 4 are words, rows of 32 lanes, which are not written before `scatter`, when
    // the references are no longer used. The called functions require duty 1 and, for `shuffle`, duty 2: those of the
    // caller.
    unsafe {
        if let WarpOp::Shuffle(mode) = op {
            let row = |index: usize| &*<u32 as Source>::place(lanes, inst.ops[2 + index]).cast::<[u32; 32]>();
            return shuffle::<VECTOR>(mode, row(0), row(1), row(2), active).scatter(lanes, inst, op);
        }
        let mut inputs = Inputs::new();
        inputs.gather(lanes, inst, op);
        Outputs::compute(op, &inputs, active).scatter(lanes, inst, op);
    }
}

/// The forms without `.sync`: all live lanes participate.
pub(crate) fn exec_active(op: WarpOp) -> Option<Exec> {
    Some(match op {
        WarpOp::All => |lanes, inst| active(lanes, inst, WarpOp::All),
        WarpOp::Any => |lanes, inst| active(lanes, inst, WarpOp::Any),
        WarpOp::Uniform => |lanes, inst| active(lanes, inst, WarpOp::Uniform),
        WarpOp::Ballot => |lanes, inst| active(lanes, inst, WarpOp::Ballot),
        WarpOp::Shuffle(Shuffle::Up) => |lanes, inst| active(lanes, inst, WarpOp::Shuffle(Shuffle::Up)),
        WarpOp::Shuffle(Shuffle::Down) => |lanes, inst| active(lanes, inst, WarpOp::Shuffle(Shuffle::Down)),
        WarpOp::Shuffle(Shuffle::Butterfly) => {
            |lanes, inst| active(lanes, inst, WarpOp::Shuffle(Shuffle::Butterfly))
        }
        WarpOp::Shuffle(Shuffle::Index) => |lanes, inst| active(lanes, inst, WarpOp::Shuffle(Shuffle::Index)),
        _ => return None,
    })
}

fn active(lanes: &mut Lanes<'_>, inst: &Inst, op: WarpOp) -> Step {
    let mask = lanes.mask();
    // SAFETY: 1: the decoder made the instruction (duty 2 of `Exec`), and pairs this function with the operation; 2: no
    // vectors.
    unsafe { perform::<false>(lanes, inst, op, mask) };
    Step::Next
}

/// `activemask`
pub(crate) const ACTIVEMASK: Exec = |lanes, inst| {
    // SAFETY: 1: the decoder made operand 0 the destination, a word (duty 2 of `Exec`).
    unsafe { <u32 as Dest>::commit(lanes, &inst.ops, &[lanes.mask(); 32]) };
    Step::Next
};
