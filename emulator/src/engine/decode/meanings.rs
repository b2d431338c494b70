//! Determines the effect of an instruction of the text on values and addresses, in watched kernels.

use cuda_ptx::{FunctionKind, Instruction, Operand as Text};

use super::super::exec::memory::Access;
use super::super::watch::{Base, LocalAccess, Rule};
use super::body::Body;
use super::draft::Draft;
use super::meaning::{Meaning, Pointer};
use super::scope::Symbol;

impl<'a> Body<'a> {
    /// Records the effect of an instruction, whose drafts begin at `start`.
    pub(super) fn note_meaning(&mut self, instruction: &'a Instruction<'a>, start: usize) {
        if !self.watched || self.drafts.len() <= start {
            return;
        }
        let (rule, pointer) = (rule(instruction), pointer(instruction));
        let base = self.base(instruction);
        if (rule, pointer, &base) != (Rule::None, Pointer::None, &None)
            && let Some(draft) = self.drafts.last_mut()
        {
            draft.meaning = Some(Box::new(Meaning { rule, pointer, base, ..Meaning::default() }));
        }
        if let Some(decided) = decided(instruction) {
            let guarded = self.drafts.iter_mut().skip(start).filter(|draft| draft.guard.is_some());
            guarded.for_each(|draft| draft.meaning.get_or_insert_default().decides = Some(decided));
        }
        if rule == Rule::Memory {
            let bytes = bytes(instruction.name);
            let stores = instruction.name.starts_with("st");
            self.drafts.iter_mut().skip(start).for_each(|draft| note_local(draft, bytes, stores));
        }
    }

    /// The variable or parameter that the operands of an instruction name, if there is exactly one.
    fn base(&self, instruction: &Instruction<'a>) -> Option<Base> {
        let mut bases = instruction.operands.iter().filter_map(|operand| match operand {
            Text::Name(name) | Text::Offset(name, _) | Text::Indexed(name, _) => self.variable_of(name),
            Text::Address { base, offset } => match &**base {
                Text::Name(name) => {
                    self.variable_of(name).or_else(|| self.parameter(instruction.name, name, *offset))
                }
                _ => None,
            },
            _ => None,
        });
        let first = bases.next()?;
        bases.next().is_none().then_some(first)
    }

    /// Records that the last draft computes the address of a variable in local memory.
    pub(super) fn note_local_variable(&mut self, name: &str, start: u32) {
        let bytes = self.local_sizes.get(&start).copied().filter(|bytes| self.watched && *bytes > 0);
        if let (Some(bytes), Some(draft)) = (bytes, self.drafts.last_mut()) {
            let base = Some(Base::Local { name: name.into(), start, bytes });
            draft.meaning = Some(Box::new(Meaning { pointer: Pointer::Sum, base, ..Meaning::default() }));
        }
    }

    fn variable_of(&self, name: &str) -> Option<Base> {
        match self.find(name)? {
            Symbol::Shared(address) => {
                let of_module = self.image.shared.get(name).filter(|_| self.scopes.find(name).is_none());
                // The launch determines the length of a dynamic array.
                let bytes = match of_module {
                    Some(variable) => variable.bytes,
                    None => self.shared_bytes.get(&address).copied().unwrap_or(0),
                };
                let bytes = Some(bytes).filter(|bytes| *bytes > 0);
                Some(Base::Shared { name: name.into(), address, bytes })
            }
            Symbol::Global(address) => Some(Base::Global { name: name.into(), address }),
            _ => None,
        }
    }

    /// A parameter of the kernel that has the size of an address.
    fn parameter(&self, instruction: &str, name: &str, offset: i64) -> Option<Base> {
        let is_one = matches!(instruction, "ld.param.u64" | "ld.param.b64" | "ld.param.s64");
        match self.find(name)? {
            Symbol::KernelParam(start) if is_one && self.kind == FunctionKind::Entry => {
                let offset = u32::try_from(i64::from(start) + offset).ok()?;
                Some(Base::Parameter { name: name.into(), offset })
            }
            _ => None,
        }
    }
}

/// Records that a load or store of elements of that size may access local memory.
pub(super) fn note_local(draft: &mut Draft, bytes: Option<u32>, stores: bool) {
    let access = Access(draft.aux);
    let elements = access.elements();
    let bytes = draft.element.or(bytes).filter(|bytes| *bytes > 0);
    let (Some(bytes), true) = (bytes, draft.site && access.may_be_local()) else { return };
    let meaning = draft.meaning.get_or_insert_default();
    meaning.rule = Rule::Memory;
    meaning.local = Some(LocalAccess { address: elements, bytes, elements, stores });
}

/// The size of the elements that a load or store with that name moves; `None` for atomics.
fn bytes(name: &str) -> Option<u32> {
    let is_plain = name.starts_with("ld.") || name.starts_with("st.");
    let bits: u32 =
        name.rsplit('.').next()?.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
    // A 128-bit number takes two registers.
    (is_plain && bits.is_multiple_of(8)).then_some(bits.min(64) / 8)
}

fn pointer(instruction: &Instruction<'_>) -> Pointer {
    let mut parts = instruction.name.split('.');
    // In a register with several values, only parts are addresses.
    let in_parts = || instruction.operands.iter().any(|operand| matches!(operand, Text::Vector(_)));
    match (parts.next(), parts.next()) {
        (Some("mov"), _) if in_parts() => Pointer::None,
        (Some("mov" | "cvta" | "add" | "sub" | "or" | "xor"), _) | (Some("ld"), Some("param")) => {
            Pointer::Sum
        }
        (Some("mad"), Some("lo" | "wide")) => Pointer::Last,
        _ => Pointer::None,
    }
}

/// What a guard of it decides, if that is more than the values of registers.
fn decided(instruction: &Instruction<'_>) -> Option<&'static str> {
    instruction.guard.as_ref()?;
    let parts: Vec<&str> = instruction.name.split('.').collect();
    match parts[0] {
        // Parameters are kept in registers.
        "ld" | "st" if parts.iter().any(|part| part.starts_with("param")) => None,
        "cp" if parts.contains(&"prefetch") => None,
        "wmma" if parts.get(1) == Some(&"mma") => None,
        "bar" if parts.get(1) == Some(&"warp") => Some("`bar.warp.sync` guarded by it"),
        "bar" | "barrier" => Some("barrier guarded by it"),
        "bra" | "brx" => Some("branch by it"),
        "call" => Some("call guarded by it"),
        "exit" | "ret" => Some("return guarded by it"),
        "trap" => Some("trap guarded by it"),
        "fence" | "membar" => Some("fence guarded by it"),
        "shfl" | "vote" | "match" | "redux" if parts.get(1) == Some(&"sync") => {
            Some("exchange between lanes guarded by it")
        }
        "atom" | "cp" | "ld" | "ldmatrix" | "ldu" | "mbarrier" | "multimem" | "red" | "st" | "stmatrix"
        | "suld" | "sured" | "sust" | "tensormap" | "tex" | "tld4" | "wgmma" | "wmma" => {
            Some("access guarded by it")
        }
        _ => None,
    }
}

/// The rules are sound for values none of whose bits is defined. Results of instructions that select or mask bits count as defined.
fn rule(instruction: &Instruction<'_>) -> Rule {
    let parts: Vec<&str> = instruction.name.split('.').collect();
    let last = parts.last().copied().unwrap_or_default();
    let is_float = ["f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"].contains(&last);
    let operands = instruction.operands.as_slice();
    let plain = |operand: &Text<'_>| matches!(operand, Text::Name(_) | Text::Literal(_));
    match (parts[0], operands) {
        ("mov" | "cvta", [to, from]) if plain(to) && plain(from) => Rule::Move,
        ("cvt" | "neg" | "not", [to, from]) if plain(to) && plain(from) => Rule::All,
        ("sub", [_, a, b]) if a == b => Rule::None,
        ("add" | "sub", [_, a, b]) if !parts.contains(&"cc") && plain(a) && plain(b) => Rule::All,
        ("mul" | "fma", _) if is_float => Rule::All,
        ("setp", _) if parts.len() == 3 => Rule::All,
        ("selp", _) => Rule::Select,
        ("and", _) if last == "pred" => Rule::And,
        ("or", _) if last == "pred" => Rule::Or,
        ("bra" | "brx" | "call", _) => Rule::Branch,
        ("shfl", _) if parts.get(1) == Some(&"sync") => Rule::Shuffle,
        ("ld" | "st" | "atom" | "red", _) => Rule::Memory,
        ("tex" | "tld4" | "suld", _) => Rule::Fetch,
        _ => Rule::None,
    }
}
