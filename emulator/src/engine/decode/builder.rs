//! Turns one instruction of the text into drafts: what the rows of the table build with.

use cuda_ptx::{Instruction, Operand as Text};

use super::super::code::{Control, Exec, Slot};
use super::super::exec::alu::{Lane, mask1};
use super::super::exec::control;
use super::super::exec::lanes::Class;
use super::super::special::Special;
use super::super::windows;
use super::body::Body;
use super::draft::{Draft, Flow, Operand, Refusal, Register};
use super::scope::Symbol;
use crate::engine::load::{function_address, literal_bits};

/// An instruction of the text and the function it belongs to.
pub(crate) struct Builder<'b, 'a> {
    pub(crate) body: &'b mut Body<'a>,
    instruction: &'a Instruction<'a>,
    guard: Option<(Register, bool)>,
}

/// Where a memory operand points: a register or constant plus an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    /// The register or constant.
    pub(crate) base: Operand,
    /// Bytes added to it.
    pub(crate) offset: u64,
    /// Whether the register has 32 bits.
    pub(crate) narrow: bool,
}

impl<'b, 'a> Builder<'b, 'a> {
    pub(super) fn new(body: &'b mut Body<'a>, instruction: &'a Instruction<'a>) -> Result<Self, Refusal> {
        let guard = match instruction.guard {
            None => None,
            Some(guard) => {
                let register = body.register(guard.register, Class::Predicate)?;
                Some((register, guard.negated))
            }
        };
        Ok(Builder { body, instruction, guard })
    }

    /// The dotted name.
    pub(crate) fn name(&self) -> &'a str {
        self.instruction.name
    }

    /// The operands of the text.
    pub(crate) fn operands(&self) -> &'a [Text<'a>] {
        &self.instruction.operands
    }

    /// Operand `index` of the text.
    pub(crate) fn operand(&self, index: usize) -> Result<&'a Text<'a>, Refusal> {
        self.operands().get(index).ok_or_else(|| Refusal::new("an operand is missing"))
    }

    /// Refuses operands past `count`.
    pub(crate) fn expect_operands(&self, count: usize) -> Result<(), Refusal> {
        let found = self.operands().len();
        if found == count {
            Ok(())
        } else {
            Err(Refusal::new(format!("{count} operands expected, {found} found")))
        }
    }

    /// Appends an instruction under the guard of the text.
    pub(crate) fn push(&mut self, mut draft: Draft) {
        draft.guard = self.guard;
        self.body.push(draft);
    }

    /// Appends an instruction that all live lanes execute: it computes an operand.
    pub(crate) fn push_helper(&mut self, draft: Draft) {
        self.body.push(draft);
    }

    /// Appends an instruction for the scheduler.
    pub(crate) fn control(&mut self, control: Control, dests: &[Operand], sources: &[Operand], flow: Flow) {
        let mut draft = Draft::new(control::SCHEDULE, dests, sources);
        (draft.control, draft.flow) = (Some(control), flow);
        self.push(draft);
    }

    /// Appends a lane-wise instruction with these operands.
    pub(crate) fn lane(&mut self, lane: Lane, dests: &[Operand], sources: &[Operand]) {
        self.push(Draft::new(lane.exec.pick(), dests, sources));
    }

    /// Appends a lane-wise instruction that takes the operands of the text in order.
    pub(crate) fn lane_in_order(&mut self, lane: Lane) -> Result<(), Refusal> {
        let (dests, sources) = self.lane_operands(lane, self.operands())?;
        self.lane(lane, &dests, &sources);
        Ok(())
    }

    /// Appends a lane-wise instruction that takes the operands of the text in order, and another that makes its
    /// result the final one.
    pub(crate) fn lane_then(&mut self, lane: Lane, then: Option<Lane>) -> Result<(), Refusal> {
        let Some(then) = then else { return self.lane_in_order(lane) };
        let (dests, sources) = self.lane_operands(lane, self.operands())?;
        let result = self.temporary(lane.dests[0])?;
        self.push_helper(Draft::new(lane.exec.pick(), &[result], &sources));
        self.lane(then, &dests, &[result]);
        Ok(())
    }

    /// The operands of a lane-wise instruction: `d|p` stands for two destinations.
    pub(crate) fn lane_operands(
        &mut self,
        lane: Lane,
        texts: &'a [Text<'a>],
    ) -> Result<(Vec<Operand>, Vec<Operand>), Refusal> {
        let mut flat: Vec<&Text<'a>> = Vec::with_capacity(texts.len() + 1);
        for text in texts {
            match text {
                Text::Pair(first, second) => flat.extend([&**first, &**second]),
                text => flat.push(text),
            }
        }
        let (dests, sources) = (lane.dests.len(), lane.sources.len());
        if flat.len() != dests + sources {
            let (expected, found) = (dests + sources, flat.len());
            return Err(Refusal::new(format!("{expected} operands expected, {found} found")));
        }
        let read = flat[dests..].iter().zip(lane.sources).map(|(text, class)| self.source(text, *class));
        let read = read.collect::<Result<_, _>>()?;
        let written = flat[..dests].iter().zip(lane.dests).map(|(text, class)| self.dest(text, *class));
        Ok((written.collect::<Result<_, _>>()?, read))
    }

    /// A register of its own.
    pub(crate) fn temporary(&mut self, class: Class) -> Result<Operand, Refusal> {
        self.body.new_register(class).map(Operand::Register)
    }

    /// A constant.
    pub(crate) fn constant(&mut self, class: Class, bits: u64) -> Operand {
        self.body.constant(class, bits)
    }

    /// An operand that is written. `_` is a register that nobody reads.
    pub(crate) fn dest(&mut self, text: &Text<'a>, class: Class) -> Result<Operand, Refusal> {
        match text {
            Text::Name("_") => self.temporary(class),
            Text::Name(name) => self.body.register(name, class).map(Operand::Register),
            Text::Element(name, index) => self.body.element(name, *index, class).map(Operand::Register),
            Text::Vector(list) if list.len() == 1 => self.dest(&list[0], class),
            _ => Err(Refusal::new("a register is expected as destination")),
        }
    }

    /// An operand that is read: a register, a number, a special register or the address of a variable.
    pub(crate) fn source(&mut self, text: &Text<'a>, class: Class) -> Result<Operand, Refusal> {
        match text {
            Text::Name(name) => self.named(name, 0, class),
            Text::Offset(name, offset) => self.named(name, *offset, class),
            Text::Indexed(name, index) => {
                let size = self.body.image.globals.get(*name).map_or(1, |global| global.ty.size());
                self.named(name, index.wrapping_mul(size as i64), class)
            }
            Text::Element(name, index) => self.body.element(name, *index, class).map(Operand::Register),
            Text::Literal(literal) => {
                // The class tells floats apart: a number of 32 bits can only become an `.f32`.
                let ty = if class == Class::Wide { cuda_ptx::Type::B64 } else { cuda_ptx::Type::B32 };
                let bits = match literal {
                    cuda_ptx::Literal::F32(bits) if class == Class::Wide => {
                        f64::from(f32::from_bits(*bits)).to_bits()
                    }
                    literal => literal_bits(*literal, ty),
                };
                Ok(self.constant(class, bits))
            }
            Text::Not(name) => self.negated_predicate(name, class),
            Text::Vector(list) if list.len() == 1 => self.source(&list[0], class),
            _ => Err(Refusal::new(format!("{} is expected as operand", class.describe()))),
        }
    }

    fn negated_predicate(&mut self, name: &str, class: Class) -> Result<Operand, Refusal> {
        if class != Class::Predicate {
            return Err(Refusal::new("`!` goes with predicates only"));
        }
        let register = Operand::Register(self.body.register(name, Class::Predicate)?);
        let negated = self.temporary(Class::Predicate)?;
        const NOT: Lane = mask1(|a| !a);
        self.push_helper(Draft::new(NOT.exec.pick(), &[negated], &[register]));
        Ok(negated)
    }

    /// The value of a name plus an offset.
    fn named(&mut self, name: &str, offset: i64, class: Class) -> Result<Operand, Refusal> {
        if let Some(special) = Special::from_name(name) {
            let register = self.temporary(class)?;
            let mut draft = Draft::new(special.exec(class)?, &[register], &[]);
            draft.imm = special as u64;
            self.push_helper(draft);
            return Ok(register);
        }
        match self.body.symbol(name)? {
            Symbol::Register { .. } => {
                if offset != 0 {
                    return Err(Refusal::new(format!("`{name}` and an offset outside an address")));
                }
                self.body.register(name, class).map(Operand::Register)
            }
            Symbol::Local(start) => self.local_address(u64::from(start).wrapping_add_signed(offset), class),
            Symbol::Param { .. } => {
                Err(Refusal::new(format!("the address of parameter `{name}` is not supported")))
            }
            symbol => {
                let address = constant_address(&symbol)
                    .ok_or_else(|| Refusal::new(format!("`{name}` has no address")))?;
                Ok(self.constant(class, address.wrapping_add_signed(offset)))
            }
        }
    }

    /// The address of a local variable of this frame, in local space.
    fn local_address(&mut self, offset: u64, class: Class) -> Result<Operand, Refusal> {
        let register = self.temporary(class)?;
        let mut draft = Draft::new(control::local_address(class)?, &[register], &[]);
        draft.imm = offset;
        self.push_helper(draft);
        Ok(register)
    }

    /// The memory operand `text`. With `generic`, a variable stands for its generic address, else for the address
    /// in its own space.
    pub(crate) fn address(&mut self, text: &Text<'a>, generic: bool) -> Result<Address, Refusal> {
        let (base, offset) = match text {
            Text::Address { base, offset } => (&**base, *offset),
            _ => return Err(Refusal::new("an address in brackets is expected")),
        };
        let name = match base {
            Text::Name(name) => name,
            Text::Element(name, index) => {
                let base = Operand::Register(self.body.element(name, *index, Class::Wide)?);
                return Ok(Address { base, offset: offset as u64, narrow: false });
            }
            Text::Literal(literal) => {
                let base = self.constant(Class::Wide, literal_bits(*literal, cuda_ptx::Type::B64));
                return Ok(Address { base, offset: offset as u64, narrow: false });
            }
            _ => return Err(Refusal::new("the base of an address is a register, a variable or a number")),
        };
        let symbol = self.body.symbol(name)?;
        if let Symbol::Register { first, .. } = symbol {
            let narrow = self.body.class(first) == Class::Word;
            let class = if narrow { Class::Word } else { Class::Wide };
            let base = Operand::Register(self.body.register(name, class)?);
            return Ok(Address { base, offset: offset as u64, narrow });
        }
        let window = match &symbol {
            Symbol::Shared(_) if generic => windows::SHARED,
            Symbol::Local(_) if generic => windows::LOCAL,
            Symbol::KernelParam(_) if generic => windows::PARAM,
            _ => 0,
        };
        let base = self.named(name, 0, Class::Wide)?;
        Ok(Address { base, offset: window.wrapping_add_signed(offset), narrow: false })
    }

    /// The elements of a vector operand; a single operand counts as one.
    pub(crate) fn elements(&self, text: &'a Text<'a>) -> Result<Vec<Text<'a>>, Refusal> {
        match text {
            Text::Vector(list) => Ok(list.clone()),
            Text::Name(name) => match self.body.find(name) {
                Some(Symbol::Register { elements, .. }) if elements > 1 => {
                    Ok((0..elements).map(|index| Text::Element(name, index)).collect())
                }
                _ => Ok(vec![text.clone()]),
            },
            text => Ok(vec![text.clone()]),
        }
    }

    /// The class of the register that an operand names; `None` for everything else.
    pub(crate) fn class_of(&self, text: &Text<'a>) -> Option<Class> {
        let (Text::Name(name) | Text::Element(name, _)) = text else { return None };
        match self.body.find(name) {
            Some(Symbol::Register { first, .. }) => Some(self.body.class(first)),
            _ => None,
        }
    }
}

/// The address of a variable or function, if it is the same for all threads.
fn constant_address(symbol: &Symbol<'_>) -> Option<u64> {
    match symbol {
        Symbol::Global(address) => Some(*address),
        Symbol::Shared(address) => Some(u64::from(*address)),
        Symbol::KernelParam(offset) => Some(u64::from(*offset)),
        Symbol::Function(index) => Some(function_address(*index)),
        _ => None,
    }
}

impl<'a> Body<'a> {
    /// What a name stands for.
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
            _ => Err(Refusal::new(format!("`{name}` is no register"))),
        }
    }

    /// An element of the vector register of that name.
    fn element(&self, name: &str, index: u32, class: Class) -> Result<Register, Refusal> {
        match self.symbol(name)? {
            Symbol::Register { first, elements } if index < elements && self.class(first) == class => {
                Ok(Register(first.0 + index))
            }
            _ => Err(Refusal::new(format!("`{name}` has no such element"))),
        }
    }

    /// Copies a parameter that is passed in a register.
    pub(super) fn copy_from_rows(&mut self, register: Register, row: u32) {
        let (lane, sources) = super::super::table::movement::from_rows(self.class(register), row);
        self.push(Draft::new(lane.exec.pick(), &[Operand::Register(register)], &sources));
    }

    /// Ends the function where control reaches its end.
    pub(super) fn finish_function(&mut self, end: Control) {
        self.copy_register_returns();
        let mut draft = Draft::new(control::SCHEDULE, &[], &[]);
        (draft.control, draft.flow) = (Some(end), Flow::Stop);
        self.push(draft);
    }

    /// Puts results that are registers where the caller takes them from.
    pub(crate) fn copy_register_returns(&mut self) {
        for (register, row) in self.register_returns.clone() {
            let (lane, dests) = super::super::table::movement::to_rows(self.class(register), row);
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

    /// Stands in for an instruction that could not be decoded: stops the kernel if a lane passes the guard.
    pub(super) fn refuse_guarded(&mut self, instruction: &Instruction<'_>, message: &str) {
        let guard = instruction
            .guard
            .and_then(|guard| Some((self.register(guard.register, Class::Predicate).ok()?, guard.negated)));
        self.refuse(format!("`{}` cannot be executed: {message}", instruction.name));
        if let Some(draft) = self.drafts.last_mut() {
            draft.guard = guard;
        }
    }
}

/// A guard as the interpreter wants it: the predicate's index, the top bit set for "not".
pub(super) fn guard_bits(index: u32, negated: bool) -> u32 {
    index | if negated { Slot::CONSTANT } else { 0 }
}

impl Builder<'_, '_> {
    /// The carry flag of the thread, `CC.CF`.
    pub(crate) fn carry(&mut self) -> Result<Register, Refusal> {
        match self.body.carry {
            Some(register) => Ok(register),
            None => {
                let register = self.body.new_register(Class::Predicate)?;
                self.body.carry = Some(register);
                Ok(register)
            }
        }
    }
}

impl Builder<'_, '_> {
    /// Appends an instruction that is not lane-wise, with a small parameter.
    pub(crate) fn whole(&mut self, exec: Exec, dests: &[Operand], sources: &[Operand], imm: u64) {
        let mut draft = Draft::new(exec, dests, sources);
        draft.imm = imm;
        self.push(draft);
    }
}

impl Body<'_> {
    /// The index among the kernel's functions of a function of the program.
    pub(crate) fn linked(&self, index: usize) -> Result<usize, Refusal> {
        let linked = self.link.functions.get(&index).copied();
        linked.ok_or_else(|| Refusal::new("the function called cannot be read"))
    }
}
