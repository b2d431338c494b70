//! The instructions that wrote registers last, in the order of the text.
//!
//! ptxas writes the operands of commutative `.f64` instructions in this order, whatever order the PTX has, and of two NaN operands
//! an H200 keeps the payload of the second (measured with 18,432 triples of operands; see `EXACTNESS.md`).

use cuda_ptx::{FunctionKind, Instruction, Operand as Text};

use super::super::exec::operand::Class;
use super::body::Body;
use super::draft::Register;

/// By register: the number of the instruction that wrote it last.
#[derive(Debug, Default)]
pub(super) struct LastWrites(Vec<u32>);

/// Values of parameters are read by the instruction that uses them, always as the last operand.
const PARAMETER: u32 = u32::MAX;

impl LastWrites {
    /// Records that the instruction with that number writes the register.
    pub(super) fn note(&mut self, Register(index): Register, at: u32) {
        let index = index as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        if let Some(birth) = self.0.get_mut(index) {
            *birth = at;
        }
    }

    fn of(&self, Register(index): Register) -> u32 {
        self.0.get(index as usize).copied().unwrap_or(0)
    }
}

impl<'a> Body<'a> {
    /// To be called after an instruction: a register that only receives a copy is as old as the copied value, and a register that was
    /// loaded from a kernel parameter counts as the parameter.
    pub(super) fn note_copy(&mut self, instruction: &Instruction<'a>) {
        let [Text::Name(to), from, ..] = instruction.operands.as_slice() else { return };
        let mut parts = instruction.name.split('.');
        let birth = match (parts.next(), parts.next(), from) {
            (Some("mov" | "neg" | "abs"), _, Text::Name(from)) => {
                self.scalar(from).map(|from| self.last_writes.of(from))
            }
            (Some("ld"), Some("param"), _) if self.kind == FunctionKind::Entry => Some(PARAMETER),
            _ => None,
        };
        if let (Some(to), Some(birth)) = (self.scalar(to), birth) {
            self.last_writes.note(to, birth);
        }
    }

    /// Whether ptxas places the value of one register operand after that of another. False for other operands.
    pub(crate) fn comes_after(&self, first: &Text<'_>, second: &Text<'_>) -> bool {
        let birth = |text: &Text<'_>| match text {
            Text::Name(name) => self.scalar(name).map(|register| self.last_writes.of(register)),
            _ => None,
        };
        match (birth(first), birth(second)) {
            (Some(first), Some(second)) => first > second || first == PARAMETER,
            _ => false,
        }
    }

    fn scalar(&self, name: &str) -> Option<Register> {
        self.register(name, Class::Wide).ok()
    }
}
