//! Which split runs, and for how long.
#![allow(unsafe_code)]
// Relies on: instructions run only on the frame of their own code, which `enter` points the lanes at.

use super::super::code::{Code, Control, Run, Step};
use super::super::exec::lanes::Lanes;
use super::aside::Aside;
use super::{BlockState, Event, Split, State, Warp};

/// The number of backward branches after which other splits of the warp are preferred: one of them may hold the lock
/// that this one spins on.
pub(super) const PATIENCE: u32 = 1000;
/// The number of basic blocks that the others then run.
const BOOST: u32 = 1000;
/// The number of backward branches that a polling load counts for.
const POLL_WEIGHT: u32 = 64;

/// Why the running split stopped.
enum Stop {
    /// Something that it did.
    Event(Event),
    /// It stands at a control instruction.
    Control,
    /// It made a backward branch, and other splits, warps or blocks may have to get their turn.
    Spent,
}

impl Warp {
    /// The split to run, after splits with the same position were merged into it.
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
            // The boosted one, otherwise the deepest, then the one that is furthest behind. Depths have less than 31
            // bits.
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
        let can_run = |split: &&Split| split.is_runnable();
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

    /// Runs one split until something else has to be decided, and decides that, if it is about this split alone.
    pub(super) fn run_split(
        &mut self,
        index: usize,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> Event {
        let code = self.enter(index, lanes);
        let (stop, aside) = self.run_blocks(index, code, lanes, around);
        self.settle(index, aside);
        match stop {
            Stop::Control => self.control(index, code, lanes, around),
            Stop::Spent => self.spend_last(index, lanes, around),
            Stop::Event(event) => event,
        }
    }

    /// Runs the basic blocks of one split, which was entered, until something else has to be decided. With what it put aside.
    fn run_blocks(
        &mut self,
        index: usize,
        code: &Code,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> (Stop, Aside) {
        let mut horizon = self.horizon(index);
        let mut aside = Aside::NONE;
        let mut live = u64::from(lanes.live());
        let mut start = self.splits[index].pc;
        let mut pc = start;
        let stop = loop {
            if pc == aside.pc {
                self.take_back(index, &mut aside);
                lanes.set_mask(self.splits[index].mask);
                live = u64::from(lanes.live());
            }
            let limit = horizon.min(aside.pc);
            if pc >= limit && (pc != start || limit == 0) && self.pass(index, pc, start) {
                break Stop::Event(Event::Switch);
            }
            let Run { first, end } = code.runs[pc as usize];
            lanes.instructions += u64::from(end - pc) * live;
            let mut rest = code.insts[first as usize..end as usize].iter();
            let mut step = Step::Next;
            for inst in rest.by_ref() {
                // SAFETY: 1: the decoder used the result of `ExecPair::pick` for this CPU; 2: `enter` pointed the lanes at a frame of this
                // code, whose instruction this is.
                step = unsafe { (inst.exec)(lanes, inst) };
                if step != Step::Next {
                    break;
                }
            }
            // The instruction that did something else, if one did.
            let at = end.wrapping_sub(rest.len() as u32 + 1);
            match step {
                Step::Next => {
                    pc = end;
                    continue;
                }
                Step::Jump => pc = lanes.target,
                Step::Diverge if horizon == 0 => {
                    self.part(index, at, lanes);
                    let spent = lanes.target <= at && !spend(&mut self.patience, lanes, around);
                    break if spent { Stop::Spent } else { Stop::Event(Event::Switch) };
                }
                Step::Diverge => {
                    // The lanes that go on do not start here: where they come to others, they have to let go, also where they started.
                    let (next, split) = self.diverge(index, at, &mut aside, lanes);
                    (pc, start, horizon) = (next, u32::MAX, horizon.min(split));
                    lanes.set_mask(self.splits[index].mask);
                    live = u64::from(lanes.live());
                }
                Step::Control => {
                    self.splits[index].pc = at;
                    break Stop::Control;
                }
                Step::Preempt => {
                    lanes.instructions -= u64::from(end - at - 1) * live;
                    self.splits[index].pc = at + 1;
                    break Stop::Event(Event::Yield);
                }
                Step::Part => {
                    self.part(index, at, lanes);
                    break Stop::Event(Event::Yield);
                }
                Step::Fault => break Stop::Event(Event::Fault(at)),
            }
            if pc <= at && !spend(&mut self.patience, lanes, around) {
                self.splits[index].pc = pc;
                break Stop::Spent;
            }
        };
        (stop, aside)
    }

    /// Of the lanes of a divergent branch, those that are behind continue, and those that are ahead wait for them. Where the former go on,
    /// and where a split stands that this made, or nowhere.
    #[inline(always)]
    fn diverge(&mut self, index: usize, at: u32, aside: &mut Aside, lanes: &Lanes<'_>) -> (u32, u32) {
        let (target, taken, mask) = (lanes.target, lanes.taken, self.splits[index].mask);
        let (behind, ahead) = if target <= at {
            (target, Aside { pc: at + 1, mask: mask & !taken })
        } else {
            (at + 1, Aside { pc: target, mask: taken })
        };
        (behind, self.put_aside(index, aside, ahead))
    }

    /// The lanes that take a branch become a split of their own.
    fn part(&mut self, index: usize, at: u32, lanes: &Lanes<'_>) {
        let remaining = &mut self.splits[index];
        (remaining.mask, remaining.pc) = (remaining.mask & !lanes.taken, at + 1);
        self.settle(index, Aside { pc: lanes.target, mask: lanes.taken });
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

    /// A backward branch of a split where something may be used up.
    #[inline(never)]
    fn spend_last(&mut self, index: usize, lanes: &mut Lanes<'_>, around: &mut BlockState<'_>) -> Event {
        let polls = std::mem::take(&mut lanes.polls).saturating_mul(POLL_WEIGHT);
        let cost = polls.saturating_add(1);
        around.polled = around.polled.saturating_add(polls);
        around.budget = around.budget.saturating_sub(cost);
        self.patience = self.patience.saturating_sub(cost);
        if around.budget > 0 && self.patience > 0 {
            return Event::Switch;
        }
        self.rotate(index);
        if around.budget == 0 { Event::Yield } else { Event::Switch }
    }

    /// Lets the next split that can run go first for a while.
    fn rotate(&mut self, index: usize) {
        self.patience = PATIENCE;
        let count = self.splits.len();
        let others = (1..count).map(|step| (index + step) % count);
        let next = others.map(|other| self.splits[other]).find(|split| split.state == State::Ready);
        self.boost = next.map(|split| (split.id, BOOST));
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
        if control.is_aligned() && !self.has_come(index, control, lanes) {
            return Event::Switch;
        }
        let done = match control {
            Control::Exit => {
                self.exit(index, lanes, around);
                true
            }
            Control::Return => self.return_from(index, lanes, around),
            Control::Call(call) => self.call(index, call, inst, lanes),
            Control::Grow => self.grow(index, inst, lanes),
            Control::Table(targets) => self.jump_table(index, targets, inst, lanes),
            Control::Barrier(_) | Control::ClusterArrive { .. } | Control::ClusterWait { .. } => {
                self.arrive(index, control, inst, lanes, around)
            }
            Control::WarpSync(op) => self.warp_sync(index, *op, inst, lanes),
            Control::Yield => {
                self.splits[index].pc += 1;
                self.rotate(index);
                around.polled = u32::MAX;
                return Event::Yield;
            }
        };
        if !done {
            return Event::Fault(at);
        }
        // They lead back, too: a table of targets, recursion.
        let leads_back = matches!(control, Control::Table(_) | Control::Call(_) | Control::Return);
        if leads_back && !spend(&mut self.patience, lanes, around) {
            return self.spend_last(index, lanes, around);
        }
        Event::Switch
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

/// A backward branch: other splits, warps and blocks must get their turn. False where something may be used up, and nothing was counted.
#[inline(always)]
fn spend(patience: &mut u32, lanes: &Lanes<'_>, around: &mut BlockState<'_>) -> bool {
    let enough = lanes.polls == 0 && around.budget > 1 && *patience > 1;
    if enough {
        around.budget -= 1;
        *patience -= 1;
    }
    enough
}
