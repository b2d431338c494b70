//! Finds arithmetic that runs two instructions at a time.

use super::super::exec::alu::Single;
use super::super::flow::blocks::Block;
use super::draft::{Draft, Operand};
use crate::vectors;

/// Makes such instructions do the work of those after them, too, which are kept so that they are counted.
pub(super) fn mark(drafts: &mut [Draft], blocks: &[Block]) {
    if !vectors::available() {
        return;
    }
    for block in blocks {
        let mut at = block.range.start as usize;
        while at + 1 < block.range.end as usize {
            at += if pair(drafts, at) { 2 } else { 1 };
        }
    }
}

/// Whether the instruction there and the one after it are one.
fn pair(drafts: &mut [Draft], at: usize) -> bool {
    let (Some(first), Some(second)) = (single(&drafts[at]), single(&drafts[at + 1])) else { return false };
    let (links, operands) = linked(second, &drafts[at + 1].ops, drafts[at].ops[0]);
    let Some(exec) = first.then(second, links) else { return false };
    (drafts[at].exec, drafts[at].second) = (exec, Some(operands));
    drafts[at + 1].is_done = true;
    true
}

fn single(draft: &Draft) -> Option<Single> {
    draft.single.filter(|_| draft.guard.is_none())
}

/// Which sources are the result of the instruction before, a bit for each, and the operands.
fn linked(single: Single, ops: &[Operand], result: Operand) -> (u32, [Operand; 4]) {
    let mut operands = [ops[0], ops[1], ops[2], ops[3]];
    if single.commutes() && operands[2] == result {
        operands.swap(1, 2);
    }
    let links = (1..4).fold(0, |links, source| links | u32::from(operands[source] == result) << (source - 1));
    (links, operands)
}
