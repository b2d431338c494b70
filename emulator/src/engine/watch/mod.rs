//! Watches what the threads of a launch do to memory: reads of what nobody wrote, and races.
//!
//! Where a module's memory has a [`Checker`], the decoder puts [`WATCH`] in place of each instruction that accesses
//! memory or orders accesses; it looks at what the lanes are about to do and then runs the instruction. Other modules
//! are decoded as ever: nothing is tested while they run, but for barriers that open and blocks that end.
//!
//! What counts as order is in [`clock`]; who accessed what is in [`stamp`]. A launch that is checked for races runs
//! on one worker, so that the watch sees all of it in one order and finds the same each time.
//!
//! Two accesses to one byte by different threads are a race if one of them writes, not both are strong (atomic, volatile,
//! relaxed, acquire, release), nothing orders them, and the later one changes something: a store of the value that is
//! there already disturbs nobody. Nor is a plain read one against atomics if its threads then go on with an atomic that
//! looks at the number again: the usual loop around `cas`.
//!
//! Threads of one warp that wait at different barriers diverge, if one of these is for all of a warp.
//!
//! What is not seen: local memory; textures, surfaces and memory that the host can write by itself, as far as reads of
//! unwritten bytes go; races with other kernels, with copies and with the host; atomics of too narrow a scope;
//! `cp.async` and `mbarrier` that are not waited for; reads older than the last two of a byte; what only another order of
//! the threads would show. Warps that only arrive at a barrier count as if they waited, lanes that meet in a part of
//! a warp as if all did, and every fence or volatile access may stand for the flag that others wait for.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`; the decoder puts `WATCH` only where the kernel knows what it replaces.

mod clock;
mod note;
mod place;
mod report;
mod stamp;
mod unit;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(super) use note::{Note, Watched, What};
pub(super) use place::{Touch, copies, touches};
pub(super) use report::AtBarrier;

use self::clock::Times;
use self::report::Reports;
use self::stamp::{Shadow, Stamp};
use self::unit::{Unit, WarpId};
use super::code::{Exec, Inst, Step};
use super::env::{Block, Env};
use super::exec::lanes::Lanes;
use super::exec::memory::{Access, Region};
use crate::check::{Checker, Checks, FindingKind};

/// Looks at what an instruction does, and runs it.
pub(crate) const WATCH: Exec = |lanes, inst| {
    let Some(watched) = lanes.env.kernel.watched.get(inst.site as usize) else { return Step::Fault };
    if let Some(mut watch) = lanes.watch.take() {
        // SAFETY: 1: the instruction is of the entered code, duty 2 of `Exec`, and `watched` is what the decoder noted about it: its site is the
        // index.
        unsafe { watch.see(lanes, inst, watched) };
        lanes.watch = Some(watch);
    }
    // SAFETY: 1, 2: what the decoder chose for the instruction and this CPU before it put this in its place: the duties
    // of `Exec` are the caller's.
    unsafe { (watched.exec)(lanes, inst) }
};

/// What a worker knows about the accesses of a launch.
pub(crate) struct Watch {
    checker: Arc<Checker>,
    times: Times,
    units: HashMap<u32, Unit>,
    global: Shadow,
    reports: Reports,
    /// Sites of plain reads after which the same thread changed the number by an atomic that looks at it again.
    guesses: HashSet<u32>,
}

/// What an instruction does, for all its lanes.
#[derive(Clone, Copy)]
struct WarpAccess {
    who: WarpId,
    what: What,
    site: u32,
    strong: bool,
}

impl Watch {
    /// For a launch in memory that has a checker.
    pub(crate) fn new(env: &Env<'_>) -> Option<Box<Watch>> {
        let checker = Arc::clone(env.memory.checker()?);
        Some(Box::new(Watch {
            checker,
            times: Times::default(),
            units: HashMap::new(),
            global: Shadow::default(),
            reports: Reports::default(),
            guesses: HashSet::new(),
        }))
    }

    /// Hands over what was found.
    pub(crate) fn finish(self, env: &Env<'_>) {
        self.reports.finish(env, &self.guesses).for_each(|finding| self.checker.add(finding));
        if self.global.is_full() {
            self.checker.miss();
        }
    }

    /// A cluster of that number has ended.
    pub(crate) fn left(&mut self, index: u64) {
        self.units.remove(&unit::number(index));
    }

    /// Warps of a block have met at a barrier.
    pub(crate) fn met(&mut self, env: &Env<'_>, block: &Block, warps: &[usize]) {
        let first = WarpId::of(env, block, 0);
        let warps: Vec<usize> = warps.iter().map(|warp| first.warp + warp).collect();
        self.unit(env, first.unit).clock.join(&warps);
    }

    /// Threads of a warp are at two different barriers, one of which all of them should have come to together: those that have just
    /// arrived, and those that wait.
    pub(crate) fn diverged(&mut self, env: &Env<'_>, block: &Block, warp: u32, at: [AtBarrier; 2]) {
        if self.checker.checks().barriers {
            self.reports.add_barriers(env, WarpId::of(env, block, warp), at);
        }
    }

    /// All threads of the cluster of a block have met.
    pub(crate) fn cluster_met(&mut self, env: &Env<'_>, block: &Block) {
        let warps: Vec<usize> = (0..unit::warps(env)).collect();
        self.unit(env, WarpId::of(env, block, 0).unit).clock.join(&warps);
    }

    fn unit(&mut self, env: &Env<'_>, unit: u32) -> &mut Unit {
        self.units.entry(unit).or_insert_with(|| Unit::new(env))
    }

    /// An instruction is about to run.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and `watched` what the decoder noted about it.
    unsafe fn see(&mut self, lanes: &mut Lanes<'_>, inst: &Inst, watched: &Watched) {
        let (env, note) = (lanes.env, watched.note);
        let who = WarpId::of(env, lanes.block(), lanes.warp().index);
        let aux = Access(inst.aux);
        let ordering = aux.polls() || aux.ordered();
        let atomic = matches!(note.what, What::Atomic { .. });
        let access = WarpAccess { who, what: note.what, site: inst.site, strong: ordering || atomic };
        match note.what {
            What::WarpSync => self.unit(env, who.unit).clock.step(who.warp),
            What::Fence => {
                self.release(env, who);
                self.acquire(env, who);
            }
            // SAFETY: 1: the note says that it is a `cp.async`, and is that of the instruction, which is of the entered
            // code: the caller's duty 1.
            What::Copy => unsafe { self.copy(lanes, inst, access) },
            What::Barrier { init } => {
                // SAFETY: 1: an instruction of the entered code, and the note is its own: the caller's duty 1.
                let touches = unsafe { touches(lanes, inst, &note) };
                if init {
                    touches.iter().for_each(|touch| self.mark(env, who, touch));
                }
                self.release(env, who);
                self.acquire(env, who);
            }
            What::LoadRows(addressing) | What::StoreRows(addressing) => {
                let mask = lanes.mask();
                lanes.set_mask(mask & addressing);
                // SAFETY: 1: an instruction of the entered code, and the note is its own: the caller's duty 1.
                let touches = unsafe { touches(lanes, inst, &note) };
                lanes.set_mask(mask);
                self.inspect(env, access, &touches);
            }
            What::Load | What::Store { .. } | What::Atomic { .. } => {
                // SAFETY: 1: an instruction of the entered code, and the note is its own: the caller's duty 1.
                let touches = unsafe { touches(lanes, inst, &note) };
                if ordering && note.what.writes() {
                    self.release(env, who);
                }
                self.inspect(env, access, &touches);
                if access.strong && note.what.reads() || atomic {
                    self.acquire(env, who);
                }
            }
        }
    }

    /// `cp.async`: each lane reads at one side and writes at the other.
    ///
    /// # Safety
    /// 1. `inst` is such an instruction of the entered code.
    unsafe fn copy(&mut self, lanes: &mut Lanes<'_>, inst: &Inst, access: WarpAccess) {
        // SAFETY: 1: it is a `cp.async` of the entered code: the caller's duty 1.
        let (sources, targets) = unsafe { copies(lanes, inst) };
        self.inspect(lanes.env, WarpAccess { what: What::Load, ..access }, &sources);
        self.inspect(lanes.env, WarpAccess { what: What::Store { wide: false }, ..access }, &targets);
    }

    fn release(&mut self, env: &Env<'_>, who: WarpId) {
        let unit = self.units.entry(who.unit).or_insert_with(|| Unit::new(env));
        unit.clock.release(who.unit, who.warp, &mut self.times);
    }

    fn acquire(&mut self, env: &Env<'_>, who: WarpId) {
        let unit = self.units.entry(who.unit).or_insert_with(|| Unit::new(env));
        unit.clock.acquire(who.warp, &mut self.times);
    }

    fn mark(&mut self, env: &Env<'_>, who: WarpId, touch: &Touch) {
        if self.checker.checks().uninitialised
            && let Some(written) = self.unit(env, who.unit).written(env, touch.region, touch.address)
        {
            written.mark(touch.offset(), touch.bytes);
        }
    }

    /// A bulk copy is about to write: nobody reads what was not written there.
    pub(in crate::engine) fn wrote(&mut self, lanes: &Lanes<'_>, region: Region, address: u64, bytes: u64) {
        let (env, who) = (lanes.env, WarpId::of(lanes.env, lanes.block(), lanes.warp().index));
        if self.checker.checks().uninitialised
            && let Some(written) = self.unit(env, who.unit).written(env, region, address)
        {
            written.mark(address - region.base, bytes);
        }
    }

    /// Looks at what the lanes of one instruction do.
    fn inspect(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        let Checks { uninitialised, races, .. } = self.checker.checks();
        if uninitialised {
            self.inspect_contents(env, access, touches);
        }
        if races {
            self.inspect_together(env, access, touches);
            self.inspect_before(env, access, touches);
        }
    }

    /// Whether what they read was written.
    fn inspect_contents(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        for touch in touches {
            let unit = self.units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
            let stamp = access.stamp(unit, touch);
            let Some(written) = unit.written(env, touch.region, touch.address) else { continue };
            let missing = access.what.reads() && !written.covers(touch.offset(), touch.bytes);
            if access.what.writes() {
                written.mark(touch.offset(), touch.bytes);
            }
            if missing && !touch.is_reserved() {
                self.reports.add(env, FindingKind::Uninitialised, touch, (stamp, access.what), None);
            }
        }
    }

    /// Whether lanes of one store leave it to chance whose value stays.
    fn inspect_together(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        if !matches!(access.what, What::Store { .. } | What::StoreRows(_)) || access.strong {
            return;
        }
        let rising = touches.windows(2).all(|pair| pair[0].host() < pair[1].host());
        if rising {
            return;
        }
        let unit = self.units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
        for (index, touch) in touches.iter().enumerate() {
            let earlier = touches.get(..index).unwrap_or(&[]);
            if let Some(other) = earlier.iter().find(|other| touch.collides(other)) {
                let (mine, other) = (access.stamp(unit, touch), access.stamp(unit, other));
                self.reports.add(env, FindingKind::Race, touch, (mine, access.what), Some(other));
            }
        }
    }

    /// Whether something orders them behind what others did to the same bytes before.
    fn inspect_before(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        let Watch { units, global, reports, times, guesses, .. } = self;
        let unit = units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
        let writes = access.what.writes();
        for touch in touches.iter().filter(|touch| !touch.silent) {
            let stamp = access.stamp(unit, touch);
            let Unit { clock, shared, .. } = &mut *unit;
            let shadow = if touch.region.private { shared } else { &mut *global };
            let cells = shadow.cells(touch.host(), touch.bytes);
            let mut others = cells.iter().flat_map(|cell| cell.others(stamp, writes));
            let unordered = |other: &Stamp| !clock.is_after(access.who.unit, access.who.warp, other, times);
            if let Some(other) = others.find(unordered) {
                reports.add(env, FindingKind::Race, touch, (stamp, access.what), Some(other));
            }
        }
        for touch in touches {
            let stamp = access.stamp(unit, touch);
            let shadow = if touch.region.private { &mut unit.shared } else { &mut *global };
            let cells = shadow.cells(touch.host(), touch.bytes);
            if matches!(access.what, What::Atomic { after_guess: true, .. }) {
                guesses.extend(cells.iter().filter_map(|cell| cell.plain_read_by(&stamp)));
            }
            cells.iter_mut().for_each(|cell| cell.record(stamp, writes));
        }
    }
}

impl WarpAccess {
    /// What is remembered of one lane.
    fn stamp(&self, unit: &Unit, touch: &Touch) -> Stamp {
        Stamp {
            unit: self.who.unit,
            epoch: unit.clock.epoch(self.who.warp),
            site: self.site,
            warp: self.who.warp as u16,
            lane: touch.lane as u8,
            strong: self.strong,
        }
    }
}
