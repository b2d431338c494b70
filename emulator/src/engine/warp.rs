//! A warp: 32 threads in lockstep as far as they agree.
//!
//! Threads of a warp with the same position form a *split*. The split that runs is the one with the deepest call,
//! then the one with the lowest program counter; two splits that reach the same position are merged. This reconverges
//! structured code without any analysis. A blocked split is plain data.
#![allow(unsafe_code)]
// Relies on: instructions run only on the frame of their own code, which `enter` points the lanes at.

mod aside;
mod call;
mod frames;
mod schedule;
mod together;
mod wait;

use std::cell::UnsafeCell;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::barrier::Barriers;
use super::cluster::Cluster;
use super::code::{Code, Row};
use super::exec::lanes::{Lanes, StopReason, WarpState};
use super::kernel::Kernel;
use super::warp_op::WarpOp;
use frames::Frames;
use schedule::PATIENCE;

/// Backward branches of a warp's turn.
pub(super) const TURN: u32 = 1 << 14;

/// The state of a split.
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
    /// Waits for the rest of its warp, at a barrier that a warp must execute together.
    Rest,
    /// No longer waits: the rest cannot reach that barrier, so it arrives alone.
    Alone,
}

/// Threads of a warp with the same position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// A unique number in the warp.
    id: u32,
    frame: usize,
    pub(super) pc: u32,
    pub(super) mask: u32,
    pub(super) state: State,
}

impl Split {
    /// Whether it can run.
    #[inline(always)]
    fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready)
    }

    /// Whether it can run without actions of other splits.
    fn is_runnable(&self) -> bool {
        matches!(self.state, State::Ready | State::Opened(_) | State::Alone)
    }

    /// Whether it can run and is not `other`, but has the same position.
    #[inline(always)]
    fn joins(&self, other: &Split) -> bool {
        self.pc == other.pc && self.frame == other.frame && self.id != other.id && self.is_ready()
    }
}

/// The position of a split of a blocked warp, for reports.
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
    /// It only polls for stores of other threads.
    Polling,
    /// A fault, at that instruction of that function of the kernel.
    Fault(Box<StopReason>, usize, u32),
}

/// The last action of the running split.
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
    /// Instructions access it through the lanes, while the scheduler holds the warp: it is only borrowed for short
    /// times.
    state: Box<UnsafeCell<WarpState>>,
    splits: Vec<Split>,
    frames: Frames,
    next_id: u32,
    /// A split that goes first for a while, and for how many more basic blocks.
    boost: Option<(u32, u32)>,
    /// Backward branches until the next split is preferred.
    patience: u32,
    /// Arrivals at the cluster's barrier by lane.
    arrivals: [u64; 32],
    /// Whether there were any.
    arrived: bool,
    /// The lanes that have arrived at the cluster's barrier and not waited.
    owing: u32,
}

/// The state of a block that its warps use.
pub(super) struct BlockState<'r> {
    pub(super) barriers: &'r mut Barriers,
    pub(super) cluster: &'r mut Cluster,
    /// Backward branches left of the turn.
    pub(super) budget: u32,
    /// The part of the turn that was spent polling for other threads' stores.
    pub(super) polled: u32,
}

impl Warp {
    /// Warp `index` of a block of that shape, at the start of the kernel.
    pub(super) fn new(index: u32, shape: [u32; 3], kernel: &Kernel) -> Warp {
        let mut state = WarpState { index, tid: [Row::ZERO; 3], present: 0, exited: !0, local: Vec::new() };
        let threads = shape.iter().map(|extent| u64::from(*extent)).product::<u64>();
        for lane in 0..32 {
            let linear = u64::from(index) * 32 + lane as u64;
            if linear < threads {
                let (x, y) = (u64::from(shape[0]), u64::from(shape[1]));
                state.present |= 1 << lane;
                state.tid[0].0[lane] = (linear % x) as u32;
                state.tid[1].0[lane] = (linear / x % y) as u32;
                state.tid[2].0[lane] = (linear / x / y) as u32;
            }
        }
        let mut warp = Warp {
            state: Box::new(UnsafeCell::new(state)),
            splits: Vec::new(),
            frames: Frames::default(),
            next_id: 0,
            boost: None,
            patience: PATIENCE,
            arrivals: [0; 32],
            arrived: false,
            owing: 0,
        };
        warp.restart(kernel);
        warp
    }

    /// Puts the warp back to the start of the kernel.
    pub(super) fn restart(&mut self, kernel: &Kernel) {
        let state = self.state_mut();
        state.exited = !state.present;
        let present = state.present;
        self.splits.clear();
        (self.boost, self.patience) = (None, PATIENCE);
        self.next_id = 0;
        if std::mem::take(&mut self.arrived) {
            (self.arrivals, self.owing) = ([0; 32], 0);
        }
        let frame = self.frames.start(kernel, &mut self.state.get_mut().local);
        self.add(frame, 0, present);
    }

    fn add(&mut self, frame: usize, pc: u32, mask: u32) {
        self.next_id = self.next_id.wrapping_add(1);
        self.splits.push(Split { id: self.next_id, frame, pc, mask, state: State::Ready });
    }

    /// What instructions see of it.
    pub(super) fn state(&self) -> &WarpState {
        // SAFETY: only one thread has the warp, because the cell is not `Sync`. `&mut` to the state is created only
        // from `&mut self`, or by an instruction while it runs: none runs while the scheduler reads the state, and
        // none keeps a reference.
        unsafe { &*self.state.get() }
    }

    fn state_mut(&mut self) -> &mut WarpState {
        self.state.get_mut()
    }

    /// Threads that have not exited.
    pub(super) fn live(&self) -> u32 {
        !self.state().exited
    }

    /// Whether some split can run.
    pub(super) fn is_runnable(&self) -> bool {
        self.splits.iter().any(Split::is_runnable)
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

    /// Resumes the splits that waited for a phase of the cluster's barrier.
    pub(super) fn open_cluster(&mut self, phase: u64) {
        for split in &mut self.splits {
            if matches!(split.state, State::Cluster(wanted) if wanted <= phase) {
                (split.state, split.pc) = (State::Ready, split.pc + 1);
            }
        }
    }

    /// Runs until the threads have exited, all wait, the budget is used up, or a fault.
    pub(super) fn run(&mut self, lanes: &mut Lanes<'_>, around: &mut BlockState<'_>) -> Outcome {
        lanes.enter_warp(&self.state);
        self.take_results(lanes);
        loop {
            let Some(index) = self.choose() else {
                match self.come_together(lanes, around) {
                    Ok(true) => continue,
                    Ok(false) if self.splits.is_empty() => return Outcome::Done,
                    Ok(false) => return Outcome::Blocked,
                    Err(split) => return self.fault(split.frame, split.pc, lanes),
                }
            };
            let frame = self.splits[index].frame;
            match self.run_split(index, lanes, around) {
                Event::Switch => {}
                Event::Yield if around.polled > TURN / 2 => return Outcome::Polling,
                Event::Yield => return Outcome::Yielded,
                Event::Fault(at) => return self.fault(frame, at, lanes),
            }
        }
    }

    fn fault(&self, frame: usize, at: u32, lanes: &mut Lanes<'_>) -> Outcome {
        let trouble = lanes.trouble.take().unwrap_or_else(StopReason::unknown);
        Outcome::Fault(trouble, self.frames.code_index(frame), at)
    }

    /// A hash of its state: the positions of threads and the values of registers.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut splits: Vec<&Split> = self.splits.iter().collect();
        splits.sort_unstable_by_key(|split| split.mask);
        for split in splits {
            (split.mask, split.pc).hash(&mut hasher);
            split.is_runnable().hash(&mut hasher);
            self.frames.hash(split.frame, &mut hasher);
        }
        self.state().local.hash(&mut hasher);
        hasher.finish()
    }

    /// Points the lanes at a split's frame.
    fn enter<'e>(&mut self, index: usize, lanes: &mut Lanes<'e>) -> &'e Code {
        let split = self.splits[index];
        let code = self.frames.enter(split.frame, lanes);
        // Entered again, because a `&mut` to the state in the scheduler would invalidate the earlier pointer.
        lanes.enter_warp(&self.state);
        lanes.set_mask(split.mask);
        code
    }
}
