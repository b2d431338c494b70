//! Turns one instruction of the text into drafts; the rows of the table use this builder.

use cuda_ptx::{FunctionKind, Instruction, Operand as Text};

use super::super::code::{Control, Exec};
use super::super::exec::alu::{Lane, mask1};
use super::super::exec::control;
use super::super::exec::operand::Class;
use super::body::Body;
use super::draft::{Draft, Flow, Operand, Refusal, Register};
use super::meaning::Pointer;

/// The modifier of instructions whose last operand is a cache policy.
pub(crate) const CACHE_HINT: &str = "L2::cache_hint";

/// Finds the row of an instruction and builds it.
pub(crate) type Table = fn(&mut Builder<'_, '_>) -> Result<(), Refusal>;

/// An instruction of the text and the function it belongs to.
pub(crate) struct Builder<'b, 'a> {
    pub(crate) body: &'b mut Body<'a>,
    instruction: &'a Instruction<'a>,
    guard: Option<(Register, bool)>,
    /// The number of operands at the end that only control caches.
    hints: usize,
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
        let hints = usize::from(instruction.name.split('.').any(|part| part == CACHE_HINT));
        let mut builder = Builder { body, instruction, guard, hints };
        builder.keep_guard()?;
        Ok(builder)
    }

    /// A guard that is one of two destinations is read as it was before: the other one may be written after it.
    fn keep_guard(&mut self) -> Result<(), Refusal> {
        let Instruction { guard: Some(text), operands, .. } = self.instruction else { return Ok(()) };
        let (Some(Text::Pair(first, second)), Some((register, negated))) = (operands.first(), self.guard)
        else {
            return Ok(());
        };
        if ![first, second].iter().any(|dest| ***dest == Text::Name(text.register)) {
            return Ok(());
        }
        let kept = self.body.new_register(Class::Predicate)?;
        let operands = [kept, register].map(Operand::Register);
        self.push_helper(Draft::new(mask1(|a| a).exec.pick(), &operands[..1], &operands[1..]));
        self.guard = Some((kept, negated));
        Ok(())
    }

    /// The dotted name.
    pub(crate) fn name(&self) -> &'a str {
        self.instruction.name
    }

    /// Whether it belongs to a function that is not a kernel.
    pub(crate) fn is_function(&self) -> bool {
        self.body.kind == FunctionKind::Function
    }

    /// The bytes of its load that are used, if a pragma says so.
    pub(crate) fn used_bytes(&self) -> Option<u32> {
        self.body.used_bytes
    }

    /// The operands of the text, without a cache policy.
    pub(crate) fn operands(&self) -> &'a [Text<'a>] {
        let all = self.instruction.operands.as_slice();
        all.get(..all.len().saturating_sub(self.hints)).unwrap_or(all)
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

    /// Whether ptxas places the value of operand `first` after that of `second`.
    pub(crate) fn comes_after(&self, first: usize, second: usize) -> bool {
        match (self.operands().get(first), self.operands().get(second)) {
            (Some(first), Some(second)) => self.body.comes_after(first, second),
            _ => false,
        }
    }

    /// Appends an instruction under the guard of the text.
    pub(crate) fn push(&mut self, mut draft: Draft) {
        draft.guard = self.guard;
        self.body.push(draft);
    }

    /// Appends an instruction that all live lanes execute and that computes an operand.
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
        let mut draft = Draft::new(lane.exec.pick(), dests, sources);
        draft.single = lane.single;
        self.push(draft);
    }

    /// Appends a lane-wise instruction that takes the operands of the text in order.
    pub(crate) fn lane_in_order(&mut self, lane: Lane) -> Result<(), Refusal> {
        let (dests, sources) = self.lane_operands(lane, self.operands())?;
        self.lane(lane, &dests, &sources);
        Ok(())
    }

    /// Appends a lane-wise instruction that takes the operands of the text in order, and another that computes the
    /// final result from its result.
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
        texts: &[Text<'a>],
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

    /// The end of the thread's stack, relative to the end of the frame's variables. Its initial value is zero.
    pub(crate) fn stack(&mut self) -> Result<Register, Refusal> {
        match self.body.stack {
            Some(register) => Ok(register),
            None => {
                let register = self.body.new_register(Class::Word)?;
                self.body.stack = Some(register);
                Ok(register)
            }
        }
    }

    /// Appends an instruction that is not lane-wise, with a small parameter.
    pub(crate) fn whole(&mut self, exec: Exec, dests: &[Operand], sources: &[Operand], imm: u64) {
        let mut draft = Draft::new(exec, dests, sources);
        draft.imm = imm;
        self.push(draft);
    }

    /// Records that the last appended instruction computes an address from an address.
    pub(crate) fn keeps_address(&mut self) {
        if self.body.watched
            && let Some(draft) = self.body.drafts.last_mut()
        {
            draft.meaning.get_or_insert_default().pointer = Pointer::Sum;
        }
    }

    /// A new register.
    pub(crate) fn temporary(&mut self, class: Class) -> Result<Operand, Refusal> {
        self.body.new_register(class).map(Operand::Register)
    }

    /// A constant.
    pub(crate) fn constant(&mut self, class: Class, bits: u64) -> Operand {
        self.body.constant(class, bits)
    }
}
