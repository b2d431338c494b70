//! Atomics that only count: they add a constant 1 to a word of shared memory, and their result is unused. The compiler turns them into
//! an instruction that first counts the threads of a warp with the same address, so that these make one access.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::code::Row;
use super::super::watch::What;
use super::draft::{Draft, Operand, Register};

/// Returns for each instruction whether it is one.
pub(super) fn find(drafts: &[Draft], names: &[Arc<str>], constants: &[Row]) -> Vec<bool> {
    let is_one = |draft: &Draft| {
        let Some(note) = draft.note.filter(|note| matches!(note.what, What::Atomic { .. })) else {
            return false;
        };
        let name = (draft.origin.statement as usize).checked_sub(1).and_then(|at| names.get(at));
        name.is_some_and(|name| counts(name)) && adds_one(draft.ops.get(note.address + 1), constants)
    };
    let mut reads: HashMap<Register, usize> = HashMap::new();
    for register in drafts.iter().flat_map(Draft::read) {
        *reads.entry(register).or_default() += 1;
    }
    // Another instruction reads its result.
    let looks = |draft: &Draft| {
        let own = |result: Register| draft.read().filter(|register| *register == result).count();
        draft.written().any(|result| reads.get(&result).is_some_and(|reads| *reads > own(result)))
    };
    drafts.iter().map(|draft| is_one(draft) && !looks(draft)).collect()
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
