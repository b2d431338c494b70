//! Which registers hold a value that is still needed.

use super::super::decode::draft::{Draft, Register};
use super::blocks::Block;

const NOWHERE: u32 = u32::MAX;

/// The live range of a register, as indices of instructions; both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Bits of the registers that cross block boundaries.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn new(len: usize) -> Set {
        Set(vec![0; len.div_ceil(64)])
    }

    fn insert(&mut self, index: u32) {
        self.0[index as usize / 64] |= 1 << (index % 64);
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| word as u32 * 64 + bit)
        })
    }
}

/// When the registers of a function are live.
pub(super) struct Lives {
    /// By register, `None` for those that do not occur: from its first to its last mention, widened over every block that it is live
    /// into or out of.
    pub(super) intervals: Vec<Option<Interval>>,
    /// The registers that may be read before they are written: live at the start of the function.
    pub(super) unwritten: Vec<Register>,
}

/// When the registers of a function are live.
pub(super) fn lives(drafts: &[Draft], blocks: &[Block], registers: usize) -> Lives {
    let mut intervals: Vec<Option<Interval>> = vec![None; registers];
    let mut widen = |register: Register, at: u32| {
        let interval = intervals[register.0 as usize].get_or_insert(Interval { start: at, end: at });
        *interval = Interval { start: interval.start.min(at), end: interval.end.max(at) };
    };
    for (at, draft) in drafts.iter().enumerate() {
        draft.read().chain(draft.written()).for_each(|register| widen(register, at as u32));
    }
    let crossing = Crossing::new(drafts, blocks, registers);
    let (into, out) = crossing.solve(blocks);
    for (block, (into, out)) in blocks.iter().zip(into.iter().zip(&out)) {
        into.iter().for_each(|index| widen(crossing.registers[index as usize], block.range.start));
        out.iter().for_each(|index| widen(crossing.registers[index as usize], block.range.end - 1));
    }
    let unwritten =
        into.first().into_iter().flat_map(Set::iter).map(|index| crossing.registers[index as usize]);
    Lives { intervals, unwritten: unwritten.collect() }
}

/// The registers that some block reads before it writes them: only these can be live between blocks, and they are few.
struct Crossing {
    registers: Vec<Register>,
    /// Per block: what it reads before writing.
    used: Vec<Set>,
    /// Per block: what it writes.
    killed: Vec<Set>,
}

impl Crossing {
    fn new(drafts: &[Draft], blocks: &[Block], count: usize) -> Crossing {
        let mut index = vec![NOWHERE; count];
        let mut registers = Vec::new();
        // The block that wrote a register last, to recognise reads of values from the same block.
        let mut written_in = vec![NOWHERE; count];
        for (number, block) in blocks.iter().enumerate() {
            for draft in &drafts[block.range.start as usize..block.range.end as usize] {
                for register in draft.read() {
                    let at = register.0 as usize;
                    if written_in[at] != number as u32 && index[at] == NOWHERE {
                        index[at] = registers.len() as u32;
                        registers.push(register);
                    }
                }
                draft.written().for_each(|register| written_in[register.0 as usize] = number as u32);
            }
        }
        let sets = || vec![Set::new(registers.len()); blocks.len()];
        let (mut used, mut killed) = (sets(), sets());
        written_in.fill(NOWHERE);
        for (number, block) in blocks.iter().enumerate() {
            for draft in &drafts[block.range.start as usize..block.range.end as usize] {
                for register in draft.read().filter(|register| index[register.0 as usize] != NOWHERE) {
                    if written_in[register.0 as usize] != number as u32 {
                        used[number].insert(index[register.0 as usize]);
                    }
                }
                for register in draft.written().filter(|register| index[register.0 as usize] != NOWHERE) {
                    written_in[register.0 as usize] = number as u32;
                    killed[number].insert(index[register.0 as usize]);
                }
            }
        }
        Crossing { registers, used, killed }
    }

    /// What is live into and out of every block: the smallest solution, by a work list from the end.
    fn solve(&self, blocks: &[Block]) -> (Vec<Set>, Vec<Set>) {
        let mut previous: Vec<Vec<u32>> = vec![Vec::new(); blocks.len()];
        for (number, block) in blocks.iter().enumerate() {
            block.next.iter().for_each(|next| previous[*next as usize].push(number as u32));
        }
        let mut into = self.used.clone();
        let mut out = vec![Set::new(self.registers.len()); blocks.len()];
        let mut work: Vec<u32> = (0..blocks.len() as u32).collect();
        let mut waiting = vec![true; blocks.len()];
        while let Some(number) = work.pop() {
            let at = number as usize;
            waiting[at] = false;
            let mut changed = false;
            for word in 0..out[at].0.len() {
                let live = blocks[at].next.iter().fold(0, |live, next| live | into[*next as usize].0[word]);
                out[at].0[word] = live;
                let live = self.used[at].0[word] | live & !self.killed[at].0[word];
                changed |= into[at].0[word] != live;
                into[at].0[word] = live;
            }
            if changed {
                for previous in previous[at]
                    .iter()
                    .filter(|previous| !std::mem::replace(&mut waiting[**previous as usize], true))
                {
                    work.push(*previous);
                }
            }
        }
        (into, out)
    }
}
