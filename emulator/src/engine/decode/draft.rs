//! Instructions between decoding and slot allocation: operands are still virtual registers.

use super::super::code::{Control, Exec, INLINE_OPERANDS, Matrix, Origin};
use super::super::exec::alu::Single;
use super::super::exec::indexed::Indexed;
use super::super::exec::load_again::Again;
use super::super::exec::operand::Class;
use super::super::watch::{Event, Note};
use super::meaning::Meaning;

/// A virtual register: an index into the function's list of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Register(pub(crate) u32);

/// A label of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label(pub(crate) u32);

/// An operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Operand {
    /// Not used.
    #[default]
    None,
    /// A virtual register.
    Register(Register),
    /// A constant: the row in the pool.
    Constant(u32),
    /// A fixed row of the frame: a parameter.
    Row(u32),
    /// A predicate that always has this value.
    Fixed(bool),
}

/// The control flow after an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next one.
    #[default]
    Next,
    /// To the label; with a guard, also to the next one.
    Branch(Label),
    /// To one of the labels.
    Table(Vec<Label>),
    /// Nowhere; with a guard, to the next one.
    Stop,
    /// To the next one, after the scheduler has acted: ends a basic block.
    Pause,
}

/// The part of an address computation that an instruction performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The product of two 32-bit numbers, signed or unsigned.
    Product {
        /// Whether they are signed.
        signed: bool,
    },
    /// A sum of 64 bits.
    Sum,
}

impl Part {
    /// The part that the instruction with that name computes.
    pub(super) fn of(name: &str) -> Option<Part> {
        match name {
            "mul.wide.u32" => Some(Part::Product { signed: false }),
            "mul.wide.s32" => Some(Part::Product { signed: true }),
            "add.s64" | "add.u64" => Some(Part::Sum),
            _ => None,
        }
    }
}

/// An instruction.
#[derive(Clone)]
pub(crate) struct Draft {
    /// The function that executes it.
    pub(crate) exec: Exec,
    /// Destinations, then sources.
    pub(crate) ops: [Operand; INLINE_OPERANDS],
    /// How many of `ops` are destinations.
    pub(crate) dests: u8,
    /// The guard and whether it is negated.
    pub(crate) guard: Option<(Register, bool)>,
    /// Whether `exec` evaluates the guard itself.
    pub(crate) reads_guard: bool,
    /// See [`Inst::imm`](super::super::code::Inst::imm); for branches and controls filled in later.
    pub(crate) imm: u64,
    /// See [`Inst::aux`](super::super::code::Inst::aux).
    pub(crate) aux: u32,
    /// Whether it accesses memory and so needs a site number.
    pub(crate) site: bool,
    /// How it runs if other loads of the block use the same address register, if it supports that.
    pub(crate) again: Option<Again>,
    /// How it runs if it computes its address itself, if it supports that.
    pub(crate) indexed: Option<Indexed>,
    /// The part of an address that it computes, if any.
    pub(crate) part: Option<Part>,
    /// Whether another instruction does its work, so that it is only counted.
    pub(crate) is_done: bool,
    /// What it computes, if it can run together with another.
    pub(crate) single: Option<Single>,
    /// The operands of the instruction after it, if it runs that one, too.
    pub(crate) second: Option<[Operand; 4]>,
    /// See [`Inst::shape`](super::super::code::Inst::shape).
    pub(crate) shape: u32,
    /// Its effect on memory or on the order of accesses, for watched kernels.
    pub(crate) note: Option<Note>,
    /// Bytes of the loaded elements that the checks inspect, if they are fewer than its name implies.
    pub(crate) element: Option<u32>,
    /// Its relation to asynchronous work that continues after it, for watched kernels.
    pub(crate) event: Option<Event>,
    /// Its effect on values and addresses, for watched kernels.
    pub(crate) meaning: Option<Box<Meaning>>,
    /// Whether it only moves a value from one register to another.
    pub(crate) moves: bool,
    /// The operands of a matrix instruction, beside `ops`.
    pub(crate) matrix: Option<Box<Matrix<Operand>>>,
    /// The action of the scheduler.
    pub(crate) control: Option<Control>,
    /// The control flow after it.
    pub(crate) flow: Flow,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

impl Draft {
    /// An instruction with these operands and nothing else.
    pub(crate) fn new(exec: Exec, dests: &[Operand], sources: &[Operand]) -> Draft {
        let mut ops = [Operand::None; INLINE_OPERANDS];
        for (slot, operand) in ops.iter_mut().zip(dests.iter().chain(sources)) {
            *slot = *operand;
        }
        Draft {
            exec,
            ops,
            dests: dests.len() as u8,
            guard: None,
            reads_guard: false,
            imm: 0,
            aux: 0,
            site: false,
            again: None,
            indexed: None,
            part: None,
            is_done: false,
            single: None,
            second: None,
            shape: u32::MAX,
            note: None,
            element: None,
            event: None,
            meaning: None,
            moves: false,
            matrix: None,
            control: None,
            flow: Flow::Next,
            origin: Origin::default(),
        }
    }

    /// Registers that are written.
    pub(crate) fn written(&self) -> impl Iterator<Item = Register> + '_ {
        let more = self.matrix.iter().flat_map(|matrix| matrix.d.iter().copied());
        registers(self.ops[..usize::from(self.dests)].iter().copied().chain(more))
    }

    /// Registers that are read, the guard included; with a guard also those written, which keep their old values in
    /// the lanes that do not pass.
    pub(crate) fn read(&self) -> impl Iterator<Item = Register> + '_ {
        let first = if self.guard.is_some() { 0 } else { usize::from(self.dests) };
        let kept =
            self.matrix.iter().filter(|_| self.guard.is_some()).flat_map(|matrix| matrix.d.iter().copied());
        let more = self.matrix.iter().flat_map(|matrix| matrix.sources()).chain(kept);
        registers(self.ops[first..].iter().copied().chain(more))
            .chain(self.guard.map(|(register, _)| register))
    }
}

fn registers(operands: impl Iterator<Item = Operand>) -> impl Iterator<Item = Register> {
    operands.filter_map(|operand| match operand {
        Operand::Register(register) => Some(register),
        _ => None,
    })
}

/// Why an instruction cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

impl Refusal {
    /// A refusal with this message.
    pub(crate) fn new(message: impl Into<String>) -> Refusal {
        Refusal(message.into())
    }
}

impl Class {
    /// Its name in messages.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Class::Word => "a register of up to 32 bits",
            Class::Wide => "a 64-bit register",
            Class::Predicate => "a predicate",
            Class::Quad => "a 128-bit register",
        }
    }
}
