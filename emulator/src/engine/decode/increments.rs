//! Atomics that only count: they add a constant 1 to a word of shared memory, and nobody looks at what was there. The compiler makes an
//! instruction of these that counts the threads of a warp first, so that those of one address go together.

use std::sync::Arc;

use super::super::code::Row;
use super::super::watch::What;
use super::draft::{Draft, Operand, Register};

/// Says of each instruction whether it is one.
pub(super) fn find(drafts: &[Draft], names: &[Arc<str>], constants: &[Row]) -> Vec<bool> {
    let is_one = |draft: &Draft| {
        let Some(note) = draft.note.filter(|note| matches!(note.what, What::Atomic { .. })) else {
            return false;
        };
        let name = (draft.origin.statement as usize).checked_sub(1).and_then(|at| names.get(at));
        name.is_some_and(|name| counts(name)) && adds_one(draft.ops.get(note.address + 1), constants)
    };
    let looks = |draft: &Draft, at: usize| {
        let read = |result: Register| {
            let others = drafts.iter().enumerate().filter(|(other, _)| *other != at);
            others.flat_map(|(_, other)| other.read()).any(|register| register == result)
        };
        draft.written().any(read)
    };
    drafts.iter().enumerate().map(|(at, draft)| is_one(draft) && !looks(draft, at)).collect()
}

/// `atom.shared.add.u32`, `red.shared::cta.add.s32`
fn counts(name: &str) -> bool {
    let adds = name.ends_with(".add.u32") || name.ends_with(".add.s32");
    adds && name.split('.').any(|part| matches!(part, "shared" | "shared::cta"))
}

fn adds_one(operand: Option<&Operand>, constants: &[Row]) -> bool {
    let Some(Operand::Constant(row)) = operand else { return false };
    constants.get(*row as usize).is_some_and(|row| row.0.iter().all(|word| *word == 1))
}
