//! Finds the registers that may hold undefined values, and the instructions that use them.

use std::collections::BTreeSet;

use super::super::code::Control;
use super::super::watch::{Rule, Values};
use super::draft::{Draft, Operand, Register};

/// The registers of a kernel that may be undefined somewhere.
#[derive(Default)]
pub(super) struct Undefined(BTreeSet<u32>);

impl Undefined {
    /// The registers in `unwritten`, those that shuffles and loads of local memory write, and all that are computed from these or
    /// written under a guard that is one of these.
    pub(super) fn find(drafts: &[Draft], unwritten: &[u32]) -> Undefined {
        let mut all = Undefined(unwritten.iter().copied().collect());
        loop {
            let before = all.0.len();
            for draft in drafts {
                let is_known = |register| all.0.contains(&register);
                let is_one = is_source(draft)
                    || guard(draft).is_some_and(is_known)
                    || rule(draft).passes_on() && sources(draft).any(|(_, register)| is_known(register));
                if is_one {
                    all.0.extend(draft.written().map(|Register(number)| number));
                }
            }
            if all.0.len() == before {
                return all;
            }
        }
    }

    /// How an instruction uses or writes them, if it does.
    pub(super) fn of(&self, draft: &Draft) -> Option<Box<Values>> {
        let rule = rule(draft);
        let is_one = |register: &u32| self.0.contains(register);
        let local = draft.meaning.as_ref().and_then(|meaning| meaning.local);
        let written: Vec<(usize, u32)> = written(draft).filter(|(_, register)| is_one(register)).collect();
        let guard = guard(draft).filter(is_one);
        let mut read = Vec::new();
        if rule != Rule::None {
            read = sources(draft).filter(|(_, register)| is_one(register)).collect();
        }
        if rule != Rule::Fetch && local.is_none() && written.is_empty() && read.is_empty() && guard.is_none()
        {
            return None;
        }
        let shuffle = match draft.control {
            Some(Control::WarpSync(op)) => Some(op),
            _ => None,
        };
        let decides = draft.meaning.as_ref().and_then(|meaning| meaning.decides);
        Some(Box::new(Values { rule, written, read, guard, decides, local, shuffle }))
    }
}

fn rule(draft: &Draft) -> Rule {
    draft.meaning.as_ref().map_or(Rule::None, |meaning| meaning.rule)
}

/// The register that guards it.
fn guard(draft: &Draft) -> Option<u32> {
    draft.guard.map(|(Register(number), _)| number)
}

/// Whether it can produce undefined values: a shuffle, or a load of local memory.
fn is_source(draft: &Draft) -> bool {
    let local = draft.meaning.as_ref().and_then(|meaning| meaning.local);
    rule(draft) == Rule::Shuffle || local.is_some_and(|local| !local.stores)
}

/// The registers that it writes, with the numbers of the operands.
fn written(draft: &Draft) -> impl Iterator<Item = (usize, u32)> + '_ {
    draft.written().map(|register| {
        let at = draft.ops.iter().position(|operand| *operand == Operand::Register(register));
        (at.unwrap_or(usize::MAX), register.0)
    })
}

/// The registers among the operands that it reads, with their numbers.
fn sources(draft: &Draft) -> impl Iterator<Item = (usize, u32)> + '_ {
    draft.ops.iter().enumerate().skip(draft.dests.into()).filter_map(|(at, operand)| match operand {
        Operand::Register(Register(number)) => Some((at, *number)),
        _ => None,
    })
}
