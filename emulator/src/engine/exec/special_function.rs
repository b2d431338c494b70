//! Special functions of one number: all lanes at once where the CPU has the vectors for it.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use super::super::code::{ExecPair, Inst, Step};
use super::alu::{Lane, lane1};
use super::lanes::{Lanes, bits};
use super::operand::{Dest, Source};
use crate::numeric::special::{Special, special};

/// An instruction that computes a special function.
pub(crate) const fn special1<F: Special>(_function: F) -> Lane {
    let plain = lane1(|a: u32| F::one(a));
    Lane { exec: ExecPair { fast: fast::<F>, plain: plain.exec.plain }, ..plain }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn fast<F: Special>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: the decoder made the operands words, the destination first (duty 2 of `Exec`); lanes are below 32, and the frame stays the entered one;
    // the reference into it is not used when the result is written; the CPU has these features (duty 1 of `Exec`).
    unsafe {
        if lanes.few() {
            return each::<F>(lanes, inst);
        }
        let operands = lanes.row(inst.ops[1]).cast();
        if lanes.mask() == !0 {
            special::<F>(operands, lanes.row(inst.ops[0]).cast(), !0);
        } else {
            let mut results = [0; 32];
            special::<F>(operands, &raw mut results, lanes.mask());
            <u32 as Dest>::commit_vector(lanes, &inst.ops, &results);
        }
    }
    Step::Next
}

/// Lane by lane.
#[inline(never)]
unsafe fn each<F: Special>(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    // SAFETY: as above.
    unsafe {
        let source = <u32 as Source>::place(lanes, inst.ops[1]);
        for lane in bits(lanes.mask()) {
            <u32 as Dest>::set(lanes, &inst.ops, lane, F::one(<u32 as Source>::get(source, lane)));
        }
    }
    Step::Next
}
