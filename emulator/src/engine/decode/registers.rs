//! Registers of a function, and instructions that do not correspond to one instruction of the text.

use cuda_ptx::Instruction;

use super::super::code::{Control, Slot};
use super::super::exec::control;
use super::super::exec::operand::Class;
use super::body::Body;
use super::draft::{Draft, Flow, Operand, Refusal, Register};
use super::rows::{from_rows, to_rows};
use super::scope::Symbol;

impl<'a> Body<'a> {
    /// The symbol for a name.
    pub(crate) fn symbol(&self, name: &str) -> Result<Symbol<'a>, Refusal> {
        self.find(name).ok_or_else(|| Refusal::new(format!("`{name}` is not declared")))
    }

    /// The class of a register.
    pub(crate) fn class(&self, register: Register) -> Class {
        self.classes[register.0 as usize]
    }

    /// The register of that name, which must have that class.
    pub(crate) fn register(&self, name: &str, class: Class) -> Result<Register, Refusal> {
        match self.symbol(name)? {
            Symbol::Register { first, elements: 1 } if self.class(first) == class => Ok(first),
            Symbol::Register { first, elements: 1 } => {
                let (found, expected) = (self.class(first).describe(), class.describe());
                Err(Refusal::new(format!("`{name}` is {found}, but {expected} is expected")))
            }
            Symbol::Register { .. } => Err(Refusal::new(format!("`{name}` is a vector"))),
            _ => Err(Refusal::new(format!("`{name}` is not a register"))),
        }
    }

    /// An element of the vector register of that name.
    pub(super) fn element(&self, name: &str, index: u32, class: Class) -> Result<Register, Refusal> {
        match self.symbol(name)? {
            Symbol::Register { first, elements } if index < elements && self.class(first) == class => {
                Ok(Register(first.0 + index))
            }
            _ => Err(Refusal::new(format!("`{name}` has no such element"))),
        }
    }

    /// Copies a parameter that is passed in a register.
    pub(super) fn copy_from_rows(&mut self, register: Register, row: u32) {
        let (lane, sources) = from_rows(self.class(register), row);
        self.push(Draft::new(lane.exec.pick(), &[Operand::Register(register)], &sources));
    }

    /// Appends the end of the function, for control that reaches it.
    pub(super) fn finish_function(&mut self, end: Control) {
        self.copy_register_returns();
        let mut draft = Draft::new(control::SCHEDULE, &[], &[]);
        (draft.control, draft.flow) = (Some(end), Flow::Stop);
        self.push(draft);
    }

    /// Copies results that are registers to the rows from which the caller reads them.
    pub(crate) fn copy_register_returns(&mut self) {
        for (register, row) in self.register_returns.clone() {
            let (lane, dests) = to_rows(self.class(register), row);
            self.push(Draft::new(lane.exec.pick(), &dests, &[Operand::Register(register)]));
        }
    }

    /// Appends an instruction that stops the kernel.
    pub(super) fn refuse(&mut self, message: String) {
        let mut draft = Draft::new(control::REFUSED, &[], &[]);
        draft.imm = self.refusals.len() as u64;
        self.refusals.push((self.origin.line, message));
        self.push(draft);
    }

    /// Replaces an instruction that could not be decoded by one that stops the kernel if a lane passes the guard.
    pub(super) fn refuse_guarded(&mut self, instruction: &Instruction<'_>, message: &str) {
        let guard = instruction
            .guard
            .and_then(|guard| Some((self.register(guard.register, Class::Predicate).ok()?, guard.negated)));
        self.refuse(format!("`{}` cannot be executed: {message}", instruction.name));
        if let Some(draft) = self.drafts.last_mut() {
            draft.guard = guard;
        }
    }

    /// The index among the kernel's functions of a function of the program.
    pub(crate) fn linked(&self, index: usize) -> Result<usize, Refusal> {
        let linked = self.link.functions.get(&index).copied();
        linked.ok_or_else(|| Refusal::new("the function called cannot be read"))
    }
}

/// A guard in the interpreter's encoding: the predicate's index, with the top bit set for "not".
pub(super) fn guard_bits(index: u32, negated: bool) -> u32 {
    index | if negated { Slot::CONSTANT } else { 0 }
}
