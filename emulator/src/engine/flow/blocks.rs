//! Basic blocks.

use std::ops::Range;

use super::super::decode::draft::{Draft, Flow};

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Its instructions.
    pub(crate) range: Range<u32>,
    /// Indices of the blocks that may follow.
    pub(crate) next: Vec<u32>,
}

/// The basic blocks of a function in the order of the text. A block ends after every instruction after which the
/// scheduler may act, and before every label.
pub(crate) fn blocks(drafts: &[Draft], labels: &[u32]) -> Vec<Block> {
    let mut starts: Vec<bool> = vec![false; drafts.len() + 1];
    starts[0] = true;
    labels.iter().for_each(|label| starts[*label as usize] = true);
    for (index, draft) in drafts.iter().enumerate() {
        starts[index + 1] |= draft.flow != Flow::Next;
    }
    let starts: Vec<u32> = (0..drafts.len() as u32).filter(|index| starts[*index as usize]).collect();
    let block_of = |index: u32| starts.partition_point(|start| *start <= index) as u32 - 1;
    let ends = starts.iter().skip(1).copied().chain([drafts.len() as u32]);
    let ranges = starts.iter().zip(ends).map(|(start, end)| *start..end);
    let block = |range: Range<u32>| {
        let last = &drafts[range.end as usize - 1];
        let mut next: Vec<u32> = match &last.flow {
            Flow::Branch(label) => vec![block_of(labels[label.0 as usize])],
            Flow::Table(targets) => targets.iter().map(|label| block_of(labels[label.0 as usize])).collect(),
            Flow::Next | Flow::Pause | Flow::Stop => Vec::new(),
        };
        let falls = matches!(last.flow, Flow::Next | Flow::Pause) || last.guard.is_some();
        if falls && (range.end as usize) < drafts.len() {
            next.push(block_of(range.end));
        }
        Block { range, next }
    };
    ranges.map(block).collect()
}
