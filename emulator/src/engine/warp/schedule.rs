//! Which split runs, and for how long.
#![allow(unsafe_code)]
// Relies on: instructions run only on the frame of their own code, which `enter` points the lanes at.

use super::super::code::{Code, Control, Step};
use super::super::exec::lanes::Lanes;
use super::{BlockState, Event, Split, State, Warp};

/// Backward branches after which a split lets others of its warp go first: one of them may hold the lock it spins on.
pub(super) const PATIENCE: u32 = 1000;
/// Basic blocks that the others then run.
const BOOST: u32 = 1000;
/// Backward branches that a load counts for which looks for another thread's store.
const POLL_WEIGHT: u32 = 64;

impl Warp {
    /// The split to run: splits that stand at its place have joined it.
    pub(super) fn choose(&mut self) -> Option<usize> {
        if let [only] = self.splits.as_slice() {
            return (only.state == State::Ready).then_some(0);
        }
        if let [first, second] = self.splits.as_slice()
            && self.boost.is_none()
            && first.is_ready()
            && second.is_ready()
            && first.frame == second.frame
        {
            let (frame, both) = (first.frame, first.mask | second.mask);
            if first.pc != second.pc {
                return Some(usize::from(second.pc < first.pc));
            }
            self.splits.truncate(1);
            self.splits[0].mask = both;
            self.frames.join(frame, 1);
            return Some(0);
        }
        let mut boosted = self.boost.map(|(id, _)| id);
        if boosted.is_some() && !self.splits.iter().any(|split| split.is_ready() && Some(split.id) == boosted)
        {
            (self.boost, boosted) = (None, None);
        }
        let mut best: Option<(u64, usize)> = None;
        for (index, split) in self.splits.iter().enumerate() {
            if !split.is_ready() {
                continue;
            }
            // The boosted one, else the deepest, else the one that is furthest behind. Depths have less than 31 bits.
            let first = u64::from(boosted.is_some_and(|id| id != split.id)) << 63;
            let depth = u64::from(i32::MAX as u32 - self.frames.depth(split.frame));
            let rank = first | depth << 32 | u64::from(split.pc);
            if best.is_none_or(|(other, _)| rank < other) {
                best = Some((rank, index));
            }
        }
        let (_, index) = best?;
        let best = self.splits[index];
        let (mut joined, mut before, mut count) = (best.mask, 0, 0);
        for (other, split) in self.splits.iter().enumerate() {
            if split.joins(&best) {
                joined |= split.mask;
                (before, count) = (before + usize::from(other < index), count + 1);
            }
        }
        if count == 0 {
            return Some(index);
        }
        self.splits.retain(|split| !split.joins(&best));
        self.frames.join(best.frame, count);
        self.splits[index - before].mask = joined;
        Some(index - before)
    }

    /// Of the splits that can run, the one that the number chooses goes first.
    pub(in crate::engine) fn favour(&mut self, number: u64) {
        let can_run = |split: &&Split| matches!(split.state, State::Ready | State::Opened(_));
        let count = self.splits.iter().filter(can_run).count().max(1) as u64;
        let chosen = self.splits.iter().filter(can_run).nth((number % count) as usize);
        self.boost = chosen.map(|split| (split.id, BOOST));
    }

    /// The program counter at which a split has to look for others: where the next one of its frame stands.
    fn horizon(&self, index: usize) -> u32 {
        if self.splits.len() == 1 {
            return u32::MAX;
        }
        if self.boost.is_some() {
            return 0;
        }
        let frame = self.splits[index].frame;
        let others =
            self.splits.iter().enumerate().filter(|(other, split)| {
                *other != index && split.frame == frame && split.state == State::Ready
            });
        others.map(|(_, split)| split.pc).min().unwrap_or(u32::MAX)
    }

    /// Runs one split until something else has to be decided.
    pub(super) fn run_split(
        &mut self,
        index: usize,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> Event {
        let code = self.enter(index, lanes);
        let mut horizon = self.horizon(index);
        let mut live = u64::from(lanes.live());
        let mut start = self.splits[index].pc;
        let mut pc = start;
        loop {
            if pc >= horizon && (pc != start || horizon == 0) && self.pass(index, pc, start) {
                return Event::Switch;
            }
            let end = code.block_end[pc as usize];
            lanes.instructions += u64::from(end - pc) * live;
            let mut rest = code.insts[pc as usize..end as usize].iter();
            let mut step = Step::Next;
            for inst in rest.by_ref() {
                // SAFETY: 1: the decoder took what `ExecPair::pick` gives on this CPU; 2: `enter` pointed the lanes at a frame of this code, whose
                // instruction this is.
                step = unsafe { (inst.exec)(lanes, inst) };
                if step != Step::Next {
                    break;
                }
            }
            // The instruction that did something else, if one did.
            let at = end.wrapping_sub(rest.len() as u32 + 1);
            match step {
                Step::Next => pc = end,
                Step::Jump => {
                    let back = lanes.target <= at;
                    pc = lanes.target;
                    if back && let Some(event) = self.spend(index, pc, lanes, around) {
                        return event;
                    }
                }
                Step::Diverge => {
                    if self.part(index, at, lanes) {
                        return self.spend(index, at + 1, lanes, around).unwrap_or(Event::Switch);
                    }
                    if horizon == 0 {
                        return Event::Switch;
                    }
                    // No other split of the frame stands before the lanes that stay. They do not start here: where they come to others,
                    // they have to let go, also where they started.
                    (horizon, pc, start) = (horizon.min(lanes.target), end, u32::MAX);
                    lanes.set_mask(self.splits[index].mask);
                    live = u64::from(lanes.live());
                }
                Step::Control => {
                    self.splits[index].pc = at;
                    return self.control(index, code, lanes, around);
                }
                Step::Preempt => {
                    lanes.instructions -= u64::from(end - at - 1) * live;
                    self.splits[index].pc = at + 1;
                    return Event::Yield;
                }
                Step::Part => {
                    self.part(index, at, lanes);
                    return Event::Yield;
                }
                Step::Fault => return Event::Fault(at),
            }
        }
    }

    /// The lanes that take a branch become a split of their own; whether they go back.
    #[inline(always)]
    fn part(&mut self, index: usize, at: u32, lanes: &Lanes<'_>) -> bool {
        let split = self.splits[index];
        let (taken, target) = (lanes.taken, lanes.target);
        self.frames.hold(split.frame);
        self.add(split.frame, target, taken);
        let remaining = &mut self.splits[index];
        (remaining.mask, remaining.pc) = (split.mask & !taken, at + 1);
        target <= at
    }

    /// At a place where other splits may stand: whether the running one has to let go.
    fn pass(&mut self, index: usize, pc: u32, start: u32) -> bool {
        if pc != start {
            self.splits[index].pc = pc;
            return true;
        }
        // The first block after a split was chosen always runs.
        self.boost = self.boost.and_then(|(id, left)| Some((id, left.checked_sub(1)?)));
        false
    }

    /// A backward branch: other splits, warps and blocks must get their turn.
    #[inline(always)]
    fn spend(
        &mut self,
        index: usize,
        pc: u32,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> Option<Event> {
        if lanes.polls == 0 && around.budget > 1 && self.patience > 1 {
            around.budget -= 1;
            self.patience -= 1;
            return None;
        }
        self.spend_last(index, pc, lanes, around)
    }

    /// [`Self::spend`] where something may be used up.
    #[inline(never)]
    fn spend_last(
        &mut self,
        index: usize,
        pc: u32,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> Option<Event> {
        let polls = std::mem::take(&mut lanes.polls).saturating_mul(POLL_WEIGHT);
        let cost = polls.saturating_add(1);
        around.polled = around.polled.saturating_add(polls);
        around.budget = around.budget.saturating_sub(cost);
        self.patience = self.patience.saturating_sub(cost);
        if around.budget > 0 && self.patience > 0 {
            return None;
        }
        self.splits[index].pc = pc;
        let others = self.rotate(index);
        match (around.budget, others) {
            (0, _) => Some(Event::Yield),
            (_, true) => Some(Event::Switch),
            (_, false) => None,
        }
    }

    /// Lets the next split that can run go first for a while; whether there is one.
    fn rotate(&mut self, index: usize) -> bool {
        self.patience = PATIENCE;
        let count = self.splits.len();
        let others = (1..count).map(|step| (index + step) % count);
        let next = others.map(|other| self.splits[other]).find(|split| split.state == State::Ready);
        self.boost = next.map(|split| (split.id, BOOST));
        next.is_some()
    }

    /// Carries out a control instruction of a split, which stands at it.
    fn control(
        &mut self,
        index: usize,
        code: &Code,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> Event {
        let at = self.splits[index].pc;
        let inst = &code.insts[at as usize];
        // SAFETY: 1: `inst` is of the code that was entered: the decoder made its guard one of the frame's predicates, or the one that always
        // holds, which each frame has.
        let passing = lanes.mask() & unsafe { lanes.passing(inst.guard) };
        let index = self.separate(index, passing, at);
        lanes.set_mask(passing);
        let Some(control) = code.controls.get(inst.imm as usize) else { return Event::Fault(at) };
        let done = match control {
            Control::Exit => {
                self.exit(index, lanes, around);
                true
            }
            Control::Return => self.return_from(index, lanes, around),
            Control::Call(call) => self.call(index, call, inst, lanes),
            Control::Grow => self.grow(index, inst, lanes),
            Control::Table(targets) => self.jump_table(index, targets, inst, lanes),
            Control::Barrier(barrier) => self.barrier(index, *barrier, inst, lanes, around),
            Control::ClusterArrive { aligned, .. } => {
                self.cluster_arrive(index, *aligned, lanes, around);
                true
            }
            Control::ClusterWait { .. } => {
                self.cluster_wait(index, lanes, around);
                true
            }
            Control::WarpSync(op) => self.warp_sync(index, *op, inst, lanes),
            Control::Yield => {
                self.splits[index].pc += 1;
                self.rotate(index);
                around.polled = u32::MAX;
                return Event::Yield;
            }
        };
        if done { Event::Switch } else { Event::Fault(at) }
    }

    /// Splits the lanes outside `passing` off: they go on behind the instruction at `at`.
    fn separate(&mut self, index: usize, passing: u32, at: u32) -> usize {
        let split = self.splits[index];
        let rest = split.mask & !passing;
        if rest != 0 {
            self.frames.hold(split.frame);
            self.add(split.frame, at + 1, rest);
            self.splits[index].mask = passing;
        }
        index
    }
}
