//! A warp: 32 threads in lockstep as far as they agree.
//!
//! Threads of a warp that stand at the same place form a *split*. The split that runs is that with the deepest call,
//! then that with the lowest program counter; two that meet at one place become one. That brings the sides of
//! structured code together again without any analysis. A split that is blocked is plain data.
#![allow(unsafe_code)]
// Relies on: instructions run only on the frame of their own code, which `enter` points the lanes at.

mod call;
mod frames;
mod wait;

use super::barrier::Barriers;
use super::cluster::Cluster;
use super::code::{Code, Control, Row, Step};
use super::exec::lanes::{Lanes, Trouble, WarpState};
use super::exec::warp_ops::WarpOp;
use super::kernel::Kernel;
use frames::Frames;

/// Backward branches of a warp's turn.
pub(super) const TURN: u32 = 1 << 14;
/// Backward branches after which a split lets others of its warp go first: one of them may hold the lock it spins on.
const SPLIT_QUANTUM: u32 = 1000;
/// Basic blocks that the others then run.
const BOOST: u32 = 1000;
/// Backward branches that a load counts for which looks for another thread's store.
const POLL_WEIGHT: u32 = 64;

/// What a split waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    Ready,
    /// A block barrier.
    Barrier(u32),
    /// Nothing more: the barrier opened, with this result of its reduction.
    Opened(u32),
    /// The other members of a warp-wide instruction.
    WarpSync(WarpOp, u32),
    /// The cluster's barrier to complete this phase.
    Cluster(u64),
}

/// Threads of a warp that stand at the same place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// Number that no other split of the warp has.
    id: u32,
    frame: usize,
    pub(super) pc: u32,
    pub(super) mask: u32,
    pub(super) state: State,
}

/// Where a split of a blocked warp stands, for reports.
pub(super) struct Waiting<'k> {
    pub(super) code: &'k Code,
    pub(super) split: Split,
}

/// Why a warp stopped running.
#[derive(Debug)]
pub(super) enum Outcome {
    /// All its threads have exited.
    Done,
    /// All its splits wait.
    Blocked,
    /// Its turn is over, and there is more to do.
    Yielded,
    /// It does nothing but wait for stores of other threads.
    Polling,
    /// A fault, at that instruction of that function of the kernel.
    Fault(Box<Trouble>, usize, u32),
}

/// What the running split did last.
enum Event {
    /// Another split may have to run.
    Switch,
    /// The warp's turn is over.
    Yield,
    /// A fault at that instruction.
    Fault(u32),
}

/// A warp while it runs.
#[derive(Debug)]
pub(super) struct Warp {
    pub(super) state: WarpState,
    splits: Vec<Split>,
    frames: Frames,
    next_id: u32,
    /// A split that goes first for a while, and for how many more basic blocks.
    boost: Option<(u32, u32)>,
    /// Backward branches until the next split goes first.
    patience: u32,
    /// Arrivals at the cluster's barrier by lane.
    arrivals: [u64; 32],
}

/// What warps of a block act on.
pub(super) struct Surroundings<'r> {
    pub(super) barriers: &'r mut Barriers,
    pub(super) cluster: &'r mut Cluster,
    /// Backward branches left of the turn.
    pub(super) budget: u32,
    /// Part of the turn that went into waiting for other threads' stores.
    pub(super) polled: u32,
}

impl Warp {
    /// Warp `index` of a block of that shape, at the start of the kernel.
    pub(super) fn new(index: u32, shape: [u32; 3], kernel: &Kernel) -> Warp {
        let mut warp = Warp {
            state: WarpState { index, tid: [Row::ZERO; 3], present: 0, exited: !0, local: Vec::new() },
            splits: Vec::new(),
            frames: Frames::default(),
            next_id: 0,
            boost: None,
            patience: SPLIT_QUANTUM,
            arrivals: [0; 32],
        };
        let threads = shape.iter().map(|extent| u64::from(*extent)).product::<u64>();
        for lane in 0..32 {
            let linear = u64::from(index) * 32 + lane as u64;
            if linear < threads {
                let (x, y) = (u64::from(shape[0]), u64::from(shape[1]));
                warp.state.present |= 1 << lane;
                warp.state.tid[0].0[lane] = (linear % x) as u32;
                warp.state.tid[1].0[lane] = (linear / x % y) as u32;
                warp.state.tid[2].0[lane] = (linear / x / y) as u32;
            }
        }
        warp.restart(kernel);
        warp
    }

    /// Puts the warp back to the start of the kernel.
    pub(super) fn restart(&mut self, kernel: &Kernel) {
        self.state.exited = !self.state.present;
        self.splits.clear();
        (self.boost, self.patience) = (None, SPLIT_QUANTUM);
        self.next_id = 0;
        self.arrivals = [0; 32];
        let frame = self.frames.start(kernel, &mut self.state.local);
        self.add(frame, 0, self.state.present);
    }

    fn add(&mut self, frame: usize, pc: u32, mask: u32) {
        self.next_id = self.next_id.wrapping_add(1);
        self.splits.push(Split { id: self.next_id, frame, pc, mask, state: State::Ready });
    }

    /// Threads that have not exited.
    pub(super) fn live(&self) -> u32 {
        !self.state.exited
    }

    /// Whether some split can run.
    pub(super) fn is_runnable(&self) -> bool {
        self.splits.iter().any(|split| matches!(split.state, State::Ready | State::Opened(_)))
    }

    /// The splits that wait, for reports.
    pub(super) fn waiting<'k>(&'k self, kernel: &'k Kernel) -> impl Iterator<Item = Waiting<'k>> + 'k {
        self.splits.iter().map(|split| Waiting { code: self.frames.code(kernel, split.frame), split: *split })
    }

    /// Opens a block barrier for the splits that wait at it.
    pub(super) fn open(&mut self, id: u32, result: u32) {
        for split in self.splits.iter_mut().filter(|split| split.state == State::Barrier(id)) {
            split.state = State::Opened(result);
        }
    }

    /// Lets the splits go on that waited for the cluster's barrier to complete a phase.
    pub(super) fn open_cluster(&mut self, phase: u64) {
        for split in &mut self.splits {
            if matches!(split.state, State::Cluster(wanted) if wanted <= phase) {
                (split.state, split.pc) = (State::Ready, split.pc + 1);
            }
        }
    }

    /// Runs until the threads have exited, all wait, the budget is used up, or a fault.
    pub(super) fn run(&mut self, lanes: &mut Lanes<'_>, around: &mut Surroundings<'_>) -> Outcome {
        lanes.enter_warp(&mut self.state);
        self.take_results(lanes);
        loop {
            let Some(index) = self.choose() else {
                return if self.splits.is_empty() { Outcome::Done } else { Outcome::Blocked };
            };
            let frame = self.splits[index].frame;
            match self.run_split(index, lanes, around) {
                Event::Switch => {}
                Event::Yield if around.polled > TURN / 2 => return Outcome::Polling,
                Event::Yield => return Outcome::Yielded,
                Event::Fault(at) => {
                    let code = self.frames.code_index(frame);
                    let trouble = lanes.trouble.take().unwrap_or_else(Trouble::unknown);
                    return Outcome::Fault(trouble, code, at);
                }
            }
        }
    }

    /// The split to run: splits that stand at its place have joined it.
    fn choose(&mut self) -> Option<usize> {
        if let [only] = self.splits.as_slice() {
            return (only.state == State::Ready).then_some(0);
        }
        let ready = |split: &&Split| split.state == State::Ready;
        let boosted = self.boost.map(|(id, _)| id);
        if !self.splits.iter().filter(ready).any(|split| Some(split.id) == boosted) {
            self.boost = None;
        }
        let frames = &self.frames;
        let best = self.splits.iter().filter(ready).min_by_key(|split| {
            (Some(split.id) != boosted, u32::MAX - frames.depth(split.frame), split.pc)
        })?;
        let (best, count) = (*best, self.splits.len());
        let mut joined = best.mask;
        self.splits.retain(|split| {
            let same = split.id != best.id
                && split.frame == best.frame
                && split.pc == best.pc
                && split.state == State::Ready;
            if same {
                joined |= split.mask;
            }
            !same
        });
        self.frames.join(best.frame, count - self.splits.len());
        let index = self.splits.iter().position(|split| split.id == best.id)?;
        self.splits[index].mask = joined;
        Some(index)
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

    /// Points the lanes at a split's frame.
    fn enter<'e>(&mut self, index: usize, lanes: &mut Lanes<'e>) -> &'e Code {
        let split = self.splits[index];
        let code = self.frames.enter(split.frame, lanes);
        lanes.set_mask(split.mask);
        code
    }

    /// Runs one split until something else has to be decided.
    fn run_split(&mut self, index: usize, lanes: &mut Lanes<'_>, around: &mut Surroundings<'_>) -> Event {
        let code = self.enter(index, lanes);
        let horizon = self.horizon(index);
        let live = u64::from(lanes.mask().count_ones());
        let start = self.splits[index].pc;
        let mut pc = start;
        loop {
            if pc >= horizon && (pc != start || horizon == 0) && self.pass(index, pc, start) {
                return Event::Switch;
            }
            let end = code.block_end[pc as usize];
            lanes.instructions += u64::from(end - pc) * live;
            let mut step = Step::Next;
            let mut at = pc;
            for inst in &code.insts[pc as usize..end as usize] {
                // SAFETY: the lanes stand on a frame of this code; the decoder picked what this CPU can run.
                step = unsafe { (inst.exec)(lanes, inst) };
                if step != Step::Next {
                    break;
                }
                at += 1;
            }
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
                    let split = self.splits[index];
                    let (taken, target) = (lanes.taken, lanes.target);
                    self.frames.hold(split.frame);
                    self.add(split.frame, target, taken);
                    let remaining = &mut self.splits[index];
                    (remaining.mask, remaining.pc) = (split.mask & !taken, at + 1);
                    if target <= at {
                        let rest = at + 1;
                        return self.spend(index, rest, lanes, around).unwrap_or(Event::Switch);
                    }
                    return Event::Switch;
                }
                Step::Control => {
                    self.splits[index].pc = at;
                    return self.control(index, code, lanes, around);
                }
                Step::Fault => return Event::Fault(at),
            }
        }
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
    fn spend(
        &mut self,
        index: usize,
        pc: u32,
        lanes: &mut Lanes<'_>,
        around: &mut Surroundings<'_>,
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
        self.patience = SPLIT_QUANTUM;
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
        around: &mut Surroundings<'_>,
    ) -> Event {
        let at = self.splits[index].pc;
        let inst = &code.insts[at as usize];
        // SAFETY: the guard is one of this frame's predicates, or the one that always holds.
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
            Control::Table(targets) => self.jump_table(index, targets, inst, lanes),
            Control::Barrier(barrier) => self.barrier(index, *barrier, inst, lanes, around),
            Control::ClusterArrive => {
                self.cluster_arrive(index, around);
                true
            }
            Control::ClusterWait => {
                self.cluster_wait(index, around);
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
