//! Finds the loads of a basic block with the same address register: the first leads, the others follow.

use super::super::exec::load_again::Again;
use super::super::flow::blocks::Block;
use super::draft::{Draft, Operand, Register};

/// A load that others may follow.
struct Leader {
    base: Register,
    again: Again,
    at: usize,
    /// The number of the shape, if a load follows.
    shape: Option<u32>,
}

/// The maximum number of leaders at a time, because each instruction of a long block is compared with all of them.
const MOST: usize = 16;

/// Marks the loads that lead, and those that follow them. `count` is the number of shapes of the kernel.
pub(super) fn mark(drafts: &mut [Draft], blocks: &[Block], count: &mut u32) {
    let mut leaders: Vec<Leader> = Vec::new();
    for block in blocks {
        leaders.clear();
        for at in block.range.start as usize..block.range.end as usize {
            if let Some((base, again)) = candidate(&drafts[at]) {
                let leader = leaders
                    .iter_mut()
                    .find(|leader| leader.base == base && fits(&drafts[leader.at], &drafts[at], again));
                match leader {
                    Some(leader) => {
                        let shape = *leader.shape.get_or_insert_with(|| {
                            *count += 1;
                            *count - 1
                        });
                        let first = &mut drafts[leader.at];
                        (first.exec, first.shape) = (leader.again.lead, shape);
                        (drafts[at].exec, drafts[at].shape) = (again.follow, shape);
                    }
                    None => {
                        if leaders.len() == MOST {
                            leaders.remove(0);
                        }
                        leaders.push(Leader { base, again, at, shape: None });
                    }
                }
            }
            for written in drafts[at].written() {
                leaders.retain(|leader| leader.base != written);
            }
        }
    }
}

/// The address register of a load that can lead or follow. A load with a guard cannot, because it does not run for all
/// lanes.
fn candidate(draft: &Draft) -> Option<(Register, Again)> {
    match (draft.again, draft.guard, draft.ops[1]) {
        (Some(again), None, Operand::Register(base)) => Some((base, again)),
        _ => None,
    }
}

/// Whether a load with the same register is the same except for its offset, which must be close enough.
fn fits(first: &Draft, other: &Draft, again: Again) -> bool {
    let distance = other.imm.wrapping_sub(first.imm);
    first.aux == other.aux
        && first.again.map(|first| first.bytes) == Some(again.bytes)
        && distance & (again.bytes - 1) == 0
}
