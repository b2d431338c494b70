//! Finds the memory accesses that compute their address themselves: those to elements of arrays.

use super::super::flow::blocks::Block;
use super::draft::{Draft, Operand, Part, Register};
use super::pool::Pool;

/// An access and the sources of its address.
struct Found {
    product: usize,
    sum: usize,
    array: Operand,
    index: Operand,
    signed: bool,
}

/// What is known about a register.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The number of its reads.
    uses: u32,
    /// Its last write in the text.
    written: Option<usize>,
}

/// Makes such accesses compute their addresses, and records that the work of those before is done, which are kept so that they
/// are counted.
pub(super) fn mark(drafts: &mut [Draft], blocks: &[Block], pool: &Pool, registers: usize) {
    if !drafts.iter().any(|draft| draft.part == Some(Part::Sum)) {
        return;
    }
    let mut registers = vec![Known::default(); registers];
    for Register(index) in drafts.iter().flat_map(Draft::read) {
        registers[index as usize].uses += 1;
    }
    for block in blocks {
        for at in block.range.start as usize..block.range.end as usize {
            if let Some(found) = find(drafts, (at, block.range.start as usize), &registers, pool)
                && let Some(indexed) = drafts[at].indexed
            {
                (drafts[found.product].is_done, drafts[found.sum].is_done) = (true, true);
                let access = &mut drafts[at];
                access.exec = if found.signed { indexed.signed } else { indexed.unsigned };
                (access.ops[2], access.ops[3], access.again) = (found.array, found.index, None);
            }
            for Register(index) in drafts[at].written() {
                registers[index as usize].written = Some(at);
            }
        }
    }
}

/// Whether the instruction there is such an access. `start` is the start of its basic block.
fn find(drafts: &[Draft], (at, start): (usize, usize), registers: &[Known], pool: &Pool) -> Option<Found> {
    // The last write of a register in the block.
    let written = |Register(index): Register| registers[index as usize].written.filter(|at| *at >= start);
    // The instruction that wrote an operand, if the value has only one use.
    let source = |operand: Operand| match operand {
        Operand::Register(register) if registers[register.0 as usize].uses == 1 => {
            written(register).filter(|at| drafts[*at].guard.is_none())
        }
        _ => None,
    };
    // Whether an operand still has the value that it had there.
    let stays = |operand: Operand, since: usize| match operand {
        Operand::Register(register) => written(register).is_none_or(|written| written < since),
        Operand::Constant(_) => true,
        _ => false,
    };
    let access = &drafts[at];
    let indexed = access.indexed.filter(|_| access.guard.is_none())?;
    let sum = source(access.ops[1]).filter(|sum| drafts[*sum].part == Some(Part::Sum))?;
    let [_, first, second, ..] = drafts[sum].ops;
    [(first, second), (second, first)].into_iter().find_map(|(offset, array)| {
        let product = source(offset)?;
        let Some(Part::Product { signed }) = drafts[product].part else { return None };
        let [_, index, size, ..] = drafts[product].ops;
        let fits = matches!(size, Operand::Constant(row) if pool.word_of(row) == Some(indexed.bytes));
        let found = Found { product, sum, array, index, signed };
        (fits && stays(index, product) && stays(array, sum)).then_some(found)
    })
}
