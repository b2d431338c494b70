//! Branches, and the instructions that leave the rest to the scheduler.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::code::{Exec, Inst, Step};
use super::super::decode::draft::Refusal;
use super::super::fault::FaultKind;
use super::super::windows::LOCAL_START;
use super::lanes::Lanes;
use super::operand::{Class, Dest};

/// An instruction that the scheduler executes.
pub(crate) const SCHEDULE: Exec = |_, _| Step::Control;

/// An instruction that could not be decoded: `imm` is the index among the code's refusals.
pub(crate) const REFUSED: Exec = |lanes, inst| {
    let lane = lanes.mask().trailing_zeros();
    let message = lanes.refusal(inst.imm as usize);
    lanes.fail(FaultKind::UnsupportedInstruction, lane, None, message);
    Step::Fault
};

/// `trap`
pub(crate) const TRAP: Exec = |lanes, _| {
    let lane = lanes.mask().trailing_zeros();
    lanes.fail(FaultKind::Trap, lane, None, "`trap` executed".to_owned());
    Step::Fault
};

/// `brkpt`
pub(crate) const BREAKPOINT: Exec = |lanes, _| {
    let lane = lanes.mask().trailing_zeros();
    lanes.fail(FaultKind::Trap, lane, None, "`brkpt` executed without a debugger".to_owned());
    Step::Fault
};

/// `bra`: `imm` is the target.
pub(crate) const BRANCH: Exec = branch;

unsafe fn branch(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: 1: the decoder made the instruction (duty 2 of `Exec`), and its guard one of the frame's predicates, or the one that always
    // holds, which each frame has.
    let taken = lanes.mask() & unsafe { lanes.passing(inst.guard) };
    lanes.target = inst.imm as u32;
    if taken == lanes.mask() {
        return Step::Jump;
    }
    if taken == 0 {
        return Step::Next;
    }
    lanes.taken = taken;
    Step::Diverge
}

/// The address of a local variable of the running frame: `imm` is its offset there.
pub(crate) fn local_address(class: Class) -> Result<Exec, Refusal> {
    match class {
        Class::Word => Ok(|lanes, inst| {
            let address = local(lanes, inst) as u32;
            // SAFETY: 1: the decoder made operand 0 the destination, of the class that this function was chosen for (duty 2 of `Exec`): a word.
            unsafe { <u32 as Dest>::commit(lanes, &inst.ops, &[address; 32]) };
            Step::Next
        }),
        Class::Wide => Ok(|lanes, inst| {
            let address = local(lanes, inst);
            // SAFETY: 1: operand 0 is the destination, of the class that this function was chosen for (duty 2 of `Exec`): wide.
            unsafe { <u64 as Dest>::commit(lanes, &inst.ops, &[address; 32]) };
            Step::Next
        }),
        _ => Err(Refusal::new("an address fits in 32 or 64 bits only")),
    }
}

/// The local address at which the stack of the running frame begins: a word.
pub(crate) const STACK_BASE: Exec = |lanes, inst| {
    let base = lanes.stack_base();
    // SAFETY: 1: the decoder made operand 0 the destination, a word (duty 2 of `Exec`).
    unsafe { <u32 as Dest>::commit(lanes, &inst.ops, &[base; 32]) };
    Step::Next
};

fn local(lanes: &Lanes<'_>, inst: &Inst) -> u64 {
    u64::from(LOCAL_START + lanes.local_base).wrapping_add(inst.imm)
}
