//! Runs a launch under orders of its warps and blocks that seeds decide.
//!
//! Where a module's memory has a [`Scheduler`](crate::schedule::Scheduler), the decoder puts [`ORDER`] in place of each instruction that
//! accesses memory or orders accesses: in the ordinary order it records the written bytes ([`undo`]); under a seed it also lets other
//! warps run first, leaves some threads of a warp behind, and delays stores ([`delayed_stores`]). Other modules are decoded as usual.
//!
//! [`orders`] performs the runs, [`driver`] schedules the warps, [`probe`] detects that no warp makes progress.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`; the decoder puts `ORDER` only in code that knows what it replaces.

mod delayed_stores;
mod driver;
mod note;
mod orders;
mod probe;
mod random;
mod undo;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use note::{Role, Scheduled};
pub(super) use orders::{run_others, undo_of};
pub(in crate::engine) use undo::Undo;

use super::code::{Exec, Inst, Step};
use super::exec::lanes::Lanes;
use super::exec::memory::{Access, Region};
use super::watch::{Note, Touch, What, copies, touches};
use delayed_stores::{DelayedStores, LONGEST, Place, WarpKey};
use random::{Random, Style};

/// Nanoseconds of `%globaltimer` per thread instruction: about what one takes on the emulator.
const TICK: u64 = 16;

/// Lets the order do its part, and runs the instruction.
pub(super) const ORDER: Exec = |lanes, inst| {
    let Some((at, scheduled)) = lanes.scheduled(inst) else { return Step::Fault };
    let Some(mut order) = lanes.order.take() else {
        // SAFETY: 1, 2: what the decoder chose for the instruction and this CPU: the duties of `Exec` are the caller's.
        return unsafe { (scheduled.exec)(lanes, inst) };
    };
    // SAFETY: 1: the instruction is of the entered code, duty 2 of `Exec`, and `scheduled` is what the decoder noted
    // about it, which `scheduled()` found at `at`; 2: what it noted runs on this CPU: duty 1 of `Exec`.
    let step = unsafe { order.step(lanes, inst, at, scheduled) };
    lanes.order = Some(order);
    step
};

/// Turns of warps after which a volatile or relaxed store becomes visible at the latest.
const TURNS: [u64; 4] = [32, 128, 512, 2048];

/// The last memory that a warp has polled, while nothing changes.
#[derive(Clone, Copy)]
pub(super) struct LastPoll {
    line: u32,
    address: u64,
    place: Place,
}

/// The order that a worker runs in.
pub(crate) struct Order {
    undo: Arc<Mutex<Undo>>,
    /// `None` in the ordinary order.
    chance: Option<RandomOrder>,
    late: DelayedStores,
    /// Turns of warps so far.
    turn: u64,
    /// Lines of stores that others did not see, each with the line that read there.
    unseen: BTreeSet<[u32; 2]>,
    /// Whether memory has changed since the last query.
    changed: bool,
    /// The memory that warps poll, since nothing changes.
    looks: BTreeMap<WarpKey, LastPoll>,
    /// The start of the launch, and the time that a thread last read.
    start: u64,
    time: Cell<u64>,
}

/// The state of an order that is not the ordinary one.
struct RandomOrder {
    random: Random,
    style: Style,
    /// Whether interference is off, while it is determined whether any warp makes progress.
    calm: bool,
}

impl Order {
    /// The ordinary order.
    pub(super) fn ordinary(undo: &Arc<Mutex<Undo>>) -> Box<Order> {
        let (undo, looks) = (Arc::clone(undo), BTreeMap::new());
        let (late, unseen) = (DelayedStores::default(), BTreeSet::new());
        let start = undo.lock().unwrap_or_else(PoisonError::into_inner).start();
        Box::new(Order {
            undo,
            chance: None,
            late,
            turn: 0,
            unseen,
            changed: false,
            looks,
            start,
            time: Cell::new(start),
        })
    }

    /// That of a seed.
    fn seeded(undo: &Arc<Mutex<Undo>>, random: Random, style: Style) -> Box<Order> {
        Box::new(Order { chance: Some(RandomOrder { random, style, calm: false }), ..*Order::ordinary(undo) })
    }

    /// The time in nanoseconds, which passes with the instructions that were executed; it never goes back.
    pub(super) fn time(&self, instructions: u64) -> u64 {
        // A basic block is counted when it starts, also the part of it that runs after an interruption.
        let now = self.start.saturating_add(instructions.saturating_mul(TICK)).max(self.time.get());
        self.time.set(now);
        now
    }

    /// Whether effects outside of memory take place: they do so once, in the ordinary order.
    pub(super) fn is_ordinary(&self) -> bool {
        self.chance.is_none()
    }

    fn is_calm(&self) -> bool {
        self.chance.as_ref().is_none_or(|chance| chance.calm)
    }

    fn set_calm(&mut self, calm: bool) {
        if calm {
            self.changed |= self.late.all();
        } else {
            self.looks.clear();
        }
        if let Some(chance) = &mut self.chance {
            chance.calm = calm;
        }
    }

    /// Whether memory has changed since the last call.
    fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Ends a warp's turn: due stores become visible, and sometimes another one.
    fn end_turn(&mut self) {
        self.turn += 1;
        self.changed |= self.late.due(self.turn);
        if let Some(RandomOrder { random, style, .. }) = &mut self.chance
            && random.chance(style.lands)
        {
            self.changed |= self.late.one(random);
        }
    }

    /// True with a probability in 256ths, which depends on the style of this order.
    fn draw(&mut self, of_256: impl Fn(&Style) -> u32) -> bool {
        match &mut self.chance {
            Some(RandomOrder { random, style, calm: false }) => random.chance(of_256(style)),
            _ => false,
        }
    }

    /// Chooses some of these lanes, not all, to stay behind.
    fn left_behind(&mut self, lanes: u32) -> u32 {
        if lanes.count_ones() < 2 || !self.draw(|style| style.parts) {
            return 0;
        }
        let Some(RandomOrder { random, .. }) = &mut self.chance else { return 0 };
        match lanes & random.number() as u32 {
            all if all == lanes => 0,
            some => some,
        }
    }

    /// An instruction runs.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, at index `at`, and `scheduled` what the decoder noted about it.
    /// 2. The CPU has the features that its function was compiled for.
    unsafe fn step(&mut self, lanes: &mut Lanes<'_>, inst: &Inst, at: u32, scheduled: &Scheduled) -> Step {
        let all = lanes.mask();
        // SAFETY: 1: the guard of an instruction of the entered code: the caller's duty 1.
        let on = all & unsafe { lanes.passing(inst.guard) };
        let warp = (lanes.block().linear, lanes.warp().index);
        let accesses = matches!(scheduled.role, Role::Access { .. });
        let Some(note) = scheduled.note.filter(|_| accesses && on != 0) else {
            self.changed |= match scheduled.role {
                Role::Meet => self.late.flush(warp, on),
                Role::MeetBlock => self.late.flush_to_block(warp, on),
                Role::End => self.late.end(warp, on),
                _ => false,
            };
            // SAFETY: 1, 2 of `Exec`: what the decoder chose for the instruction, of the entered code, and this CPU:
            // the caller's duties 2 and 1.
            let step = unsafe { (scheduled.exec)(lanes, inst) };
            return self.pause(step);
        };
        let behind = if scheduled.role == (Role::Access { parts: true }) { self.left_behind(on) } else { 0 };
        let (mask, on) = (all & !behind, on & !behind);
        lanes.set_mask(on);
        let touched = if self.overlooks(&note) {
            Touched::default()
        } else {
            // SAFETY: 1: an instruction of the entered code, and the note is its own: the caller's duty 1.
            unsafe { Touched::new(lanes, inst, &note) }
        };
        lanes.set_mask(mask);
        self.before(lanes, inst, warp, on, &note, &touched, scheduled.line);
        let old: Vec<_> = touched.written.iter().map(|touch| Place::of(touch).load()).collect();
        // SAFETY: 1, 2 of `Exec`: what the decoder chose for the instruction, of the entered code, and this CPU: the
        // caller's duties 2 and 1.
        let step = unsafe { (scheduled.exec)(lanes, inst) };
        lanes.set_mask(all);
        if step != Step::Next {
            return step;
        }
        self.after(inst, warp, &note, scheduled.line, &touched.written, &old);
        if behind != 0 {
            (lanes.taken, lanes.target) = (behind, at);
            return self.pause(Step::Diverge);
        }
        self.pause(step)
    }

    /// Whether it makes no difference what an instruction accesses: it reads, nothing is written late, and nobody asks.
    fn overlooks(&self, note: &Note) -> bool {
        let reads = matches!(note.what, What::Load | What::LoadRows(_));
        reads && self.chance.as_ref().is_none_or(|chance| !chance.calm && self.late.is_empty())
    }

    /// Lets other warps run first, depending on chance, after an instruction with this step.
    fn pause(&mut self, step: Step) -> Step {
        match step {
            Step::Next if self.draw(|style| style.preempts) => Step::Preempt,
            Step::Diverge if self.draw(|style| if style.lockstep { 0 } else { style.preempts }) => Step::Part,
            step => step,
        }
    }

    /// Lanes are about to access memory.
    #[allow(clippy::too_many_arguments, reason = "all that is known of one access")]
    fn before(
        &mut self,
        lanes: &Lanes<'_>,
        inst: &Inst,
        warp: WarpKey,
        on: u32,
        note: &Note,
        touched: &Touched,
        line: u32,
    ) {
        let all = || touched.read.iter().chain(&touched.written);
        if self.chance.is_some() {
            let releases = match note.what {
                What::Store { .. } | What::Atomic { .. } => Access(inst.aux).ordered(),
                What::Barrier { .. } => true,
                _ => false,
            };
            if releases {
                self.changed |= self.late.flush(warp, on);
            }
            for touch in all() {
                let place = Place::of(touch);
                self.changed |= self.late.meet(warp, touch.lane, &place);
                if note.what.reads()
                    && let Some(store) = self.late.unseen(&place)
                {
                    self.unseen.insert([store, line]);
                }
            }
            if self.is_calm()
                && let Some(touch) = all().next()
            {
                self.looks.insert(warp, LastPoll { line, address: touch.address, place: Place::of(touch) });
            }
        }
        if !touched.written.is_empty() {
            let mut undo = self.undo.lock().unwrap_or_else(PoisonError::into_inner);
            for touch in touched.written.iter().filter(|touch| !touch.region.private) {
                undo.note(&lanes.env.snapshot, touch.region, (touch.address, touch.bytes), line);
            }
        }
    }

    /// A bulk copy is about to write.
    pub(in crate::engine) fn wrote(&self, lanes: &Lanes<'_>, region: Region, address: u64, bytes: u64) {
        if !region.private {
            let mut undo = self.undo.lock().unwrap_or_else(PoisonError::into_inner);
            undo.note(&lanes.env.snapshot, region, (address, bytes), 0);
        }
    }

    /// Called after lanes have written: returns whether that changed memory, or will become visible later.
    fn after(
        &mut self,
        inst: &Inst,
        warp: WarpKey,
        note: &Note,
        line: u32,
        written: &[Touch],
        old: &[[u8; LONGEST]],
    ) {
        if self.chance.is_none() {
            return;
        }
        let is_store = matches!(note.what, What::Store { .. }) && !Access(inst.aux).ordered();
        let polled = Access(inst.aux).polls();
        let stays = polled && !self.chance.as_ref().is_some_and(|chance| chance.style.delays_polled);
        // Lanes of one store that write to the same place: which of them wins was decided.
        let apart = || {
            let mut hosts: Vec<u64> = written.iter().map(Touch::host).collect();
            hosts.sort_unstable();
            hosts.windows(2).all(|pair| pair[0] != pair[1])
        };
        let delays = is_store && !stays && self.draw(|style| style.delays) && apart();
        // Others may wait for a volatile or relaxed store: it becomes visible before long.
        let due = self.chance.as_mut().filter(|_| delays && polled).map(|RandomOrder { random, .. }| {
            let turns: u64 = random.one_of(TURNS);
            self.turn + turns
        });
        for (touch, old) in written.iter().zip(old) {
            let place = Place::of(touch);
            let new = place.load();
            if new == *old {
                continue;
            }
            if delays {
                place.store(old);
                self.late.add(warp, touch.lane, place, new, line);
                due.into_iter().for_each(|turn| self.late.lands_by(turn, warp, touch.lane, &place));
            } else {
                self.changed = true;
            }
        }
    }
}

/// The accesses of an instruction's lanes.
#[derive(Default)]
struct Touched {
    read: Vec<Touch>,
    written: Vec<Touch>,
}

impl Touched {
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and the note is its own.
    unsafe fn new(lanes: &mut Lanes<'_>, inst: &Inst, note: &Note) -> Touched {
        if note.what == What::Copy {
            // SAFETY: 1: the note, the instruction's own, says that it is a `cp.async`: the caller's duty 1.
            let (read, written) = unsafe { copies(lanes, inst) };
            return Touched { read, written };
        }
        if let What::LoadRows(addressing) | What::StoreRows(addressing) = note.what {
            lanes.set_mask(lanes.mask() & addressing);
        }
        // SAFETY: 1: the same instruction and note: the caller's duty 1.
        let all = unsafe { touches(lanes, inst, note) };
        match note.what {
            What::Load | What::LoadRows(_) => Touched { read: all, written: Vec::new() },
            _ => Touched { read: Vec::new(), written: all },
        }
    }
}
