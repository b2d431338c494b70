//! Watches the memory accesses of a launch for reads of uninitialised memory, and for races.
//!
//! Where a module's memory has a [`Checker`], the decoder puts [`WATCH`] in place of each instruction that accesses
//! memory or orders accesses; it inspects the accesses that the lanes are about to make and then runs the
//! instruction. Other modules are decoded as usual: nothing is tested while they run, except at barriers that open
//! and blocks that end.
//!
//! [`clock`] determines the order of accesses; [`stamp`] records the last accesses. A launch that is checked for
//! races runs on one worker, so that the watch sees all accesses in one order and its findings are deterministic.
//!
//! Two accesses to one byte by different threads are a race if one of them writes, not both are strong (atomic, volatile,
//! relaxed, acquire, release), nothing orders them, and the later one changes something: a store of the value that is
//! already there is harmless. A plain read does not race with atomics either if its threads then continue with an atomic
//! that checks the number again, as in the usual loop around `cas`.
//!
//! Threads of one warp that wait at different barriers have diverged, if one of the barriers requires the whole warp; so have threads that
//! pass by such a barrier: see [`passing`].
//!
//! Work that continues after its instruction (`cp.async`, bulk copies, `wgmma`) is executed at once, and accesses that are not ordered
//! after its completion are found: see [`flight`] and [`asynchronous`].
//!
//! Undefined values of registers, local memory and shuffles are followed: see [`value`]. Accesses that lead from one variable into another one
//! are found: see [`bounds`].
//!
//! A block of a cluster must not end while others use its shared memory: see [`foreign`].
//!
//! The grids that a kernel launches are checked together with its own: see [`family`].
//!
//! What was accessed is handed over for comparison with other launches, copies and fills: see [`reach`].
//!
//! What is not seen: reads of unwritten bytes in memory that the host can write by itself; races with the host; the scope of a block among the blocks of a cluster;
//! reads older than the last two of a byte; what only another order of the threads would show. Warps that only arrive at a barrier count as if they waited, lanes that meet in a part of
//! a warp as if all did, and every fence or volatile access may stand for the flag that others wait for.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`; the decoder puts `WATCH` only where the kernel knows what it replaces.

mod asynchronous;
mod bounds;
mod clock;
mod event;
mod family;
mod flight;
mod foreign;
mod inspect;
mod local;
mod note;
mod operand;
mod passing;
mod place;
mod reach;
mod report;
mod stamp;
mod unit;
mod value;

use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

pub(in crate::engine) use asynchronous::Side;
pub(super) use event::{Event, Group, Registers};
pub(super) use family::Stream;
pub(super) use note::{Note, Watched, What};
pub(super) use operand::{Base, LocalAccess, Rule, Values};
pub(super) use place::{Touch, copies, touches};
pub(super) use reach::hand_over;
pub(super) use report::AtBarrier;

use self::asynchronous::Running;
use self::family::Family;
use self::flight::Flight;
use self::inspect::WarpAccess;
use self::passing::Passing;
use self::report::Reports;
use self::stamp::How;
use self::unit::{Unit, WarpId};
use self::value::{Followed, Open};
use super::code::{Exec, Inst, Step};
use super::device_runtime::Runtime;
use super::env::{Block, Env};
use super::exec::alu::guarded;
use super::exec::lanes::Lanes;
use super::exec::memory::{Access, Region};
use crate::check::Checker;

/// Inspects an instruction, and runs it.
pub(crate) const WATCH: Exec = |lanes, inst| {
    let Some(watched) = lanes.env.kernel.watched.get(inst.site as usize) else { return Step::Fault };
    if let Some(mut watch) = lanes.watch.take() {
        // SAFETY: 1: the instruction is of the entered code, duty 2 of `Exec`, and `watched` is what the decoder noted about it: its site is the
        // index.
        let later = unsafe { watch.see(lanes, inst, watched) };
        lanes.watch = Some(watch);
        if later {
            return Step::Next;
        }
    }
    // SAFETY: 1, 2: what the decoder chose for the instruction and this CPU before it put this in its place: the duties
    // of `Exec` are the caller's.
    let step = unsafe { (watched.exec)(lanes, inst) };
    if step == Step::Next
        && let Some(event) = watched.event
        && let Some(mut watch) = lanes.watch.take()
    {
        // SAFETY: 1: the instruction is of the entered code, duty 2 of `Exec`, and `event` is what the decoder noted about it.
        let stands = unsafe { watch.after(lanes, inst, event) };
        lanes.watch = Some(watch);
        if stands.is_none() {
            return Step::Fault;
        }
    }
    step
};

/// Looks at a guard that may be undefined, and runs the instruction in the lanes that pass it.
pub(crate) const GUARD: Exec = |lanes, inst| {
    let watched = lanes.env.kernel.watched.get(inst.site as usize);
    let Some(values) = watched.and_then(|watched| watched.values.as_deref()) else { return Step::Fault };
    let who = WarpId::of(lanes.env, lanes.block(), lanes.warp().index);
    let watch = lanes.watch.take();
    let open = watch.map(|mut watch| {
        let open = watch.guard(lanes, inst, who, values);
        lanes.watch = Some(watch);
        open
    });
    // SAFETY: 1, 2: the duties of `Exec` are the caller's.
    let step = unsafe { guarded(lanes, inst) };
    if let (Some(watch), Some(open)) = (&mut lanes.watch, open) {
        watch.followed.ran(who, values, open);
    }
    step
};

/// What a worker knows about the accesses of a launch.
pub(crate) struct Watch {
    checker: Arc<Checker>,
    /// The grids of this launch, and what they did to global memory.
    family: Box<Family>,
    units: FxHashMap<u32, Unit>,
    reports: Reports,
    flight: Flight,
    /// The bulk instruction that runs.
    running: Option<Running>,
    /// Who passes by a barrier.
    passing: Passing,
    /// Undefined values in registers.
    followed: Followed,
    /// Sites of plain reads after which the same thread changed the number by an atomic that looks at it again.
    guesses: HashSet<u32>,
    /// Whether a thread has executed a fence that concerns others than its block.
    fenced: bool,
}

impl Watch {
    /// For a launch in memory that has a checker.
    pub(crate) fn new(env: &Env<'_>) -> Option<Box<Watch>> {
        let checker = Arc::clone(env.memory.checker()?);
        let kept = env.runtime.and_then(Runtime::take_family);
        let mut family = kept.and_then(|kept| kept.downcast::<Family>().ok()).unwrap_or_default();
        family.grids.begin(env);
        family.snapshot.get_or_insert_with(|| Arc::clone(&env.snapshot));
        Some(Box::new(Watch {
            checker,
            family,
            units: FxHashMap::default(),
            reports: Reports::default(),
            flight: Flight::default(),
            running: None,
            passing: Passing::default(),
            followed: Followed::default(),
            guesses: HashSet::new(),
            fenced: false,
        }))
    }

    /// Hands over what was found.
    pub(crate) fn finish(mut self, env: &Env<'_>) {
        self.reports.finish(env, &self.guesses).for_each(|finding| self.checker.add(finding));
        if self.family.global.is_full() {
            self.checker.miss();
        }
        self.family.grids.end(self.guesses);
        match (env.runtime, env.ends.ongoing) {
            (Some(runtime), _) => runtime.put_family(self.family),
            (None, Some(ongoing)) => ongoing.touch(self.family.touched(env.kernel)),
            (None, None) => {}
        }
    }

    /// A lane has launched a grid.
    pub(in crate::engine) fn launched(&mut self, lanes: &Lanes<'_>, lane: usize, stream: Stream) {
        let who = WarpId::of(lanes.env, lanes.block(), lanes.warp().index);
        let unit = self.units.entry(who.unit).or_insert_with(|| Unit::new(lanes.env));
        self.family.grids.launch(&unit.clock, (who, lane as u8), stream);
    }

    /// All lanes have launched what they launch together.
    pub(in crate::engine) fn have_launched(&mut self, lanes: &Lanes<'_>) {
        let who = WarpId::of(lanes.env, lanes.block(), lanes.warp().index);
        self.unit(lanes.env, who.unit).clock.step(who.warp);
    }

    /// A grid's event is recorded in a stream, or the stream waits for it.
    pub(in crate::engine) fn event(&mut self, event: u64, stream: Stream, waits: bool) {
        match waits {
            false => self.family.grids.record(event, stream),
            true => self.family.grids.wait(stream, event),
        }
    }

    /// A cluster of that number has ended.
    pub(crate) fn left(&mut self, env: &Env<'_>, index: u64) {
        if let Some(unit) = self.units.remove(&unit::number(env, index)) {
            unit.foreign.finish(env, &mut self.reports);
        }
        self.passing.left(unit::number(env, index));
        self.flight.left(unit::number(env, index));
        self.followed.left(unit::number(env, index));
    }

    /// `malloc` has handed out these bytes, by their host address: who had them before has given them back, which orders the two.
    pub(in crate::engine) fn allocated(&mut self, host: u64, bytes: u64) {
        self.family.global.forget(host, bytes);
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

    /// Threads of a warp, of which the `live` have not exited, arrive at a barrier that all of them should come to together.
    pub(crate) fn arrived(
        &mut self,
        env: &Env<'_>,
        block: &Block,
        warp: u32,
        at: AtBarrier,
        [mask, live]: [u32; 2],
    ) {
        if self.checker.checks().barriers {
            self.passing.arrive(WarpId::of(env, block, warp), at, mask, live);
        }
    }

    /// A thread uses the barrier of its cluster in the wrong order.
    pub(crate) fn misused(
        &mut self,
        env: &Env<'_>,
        block: &Block,
        warp: u32,
        at: AtBarrier,
        how: &'static str,
    ) {
        if self.checker.checks().barriers {
            self.reports.add_misuse(env, WarpId::of(env, block, warp), at, how);
        }
    }

    /// Threads of a warp exit.
    pub(crate) fn exited(&mut self, env: &Env<'_>, block: &Block, warp: u32, mask: u32) {
        let who = WarpId::of(env, block, warp);
        self.passing.exit(who, mask);
        if let Some(Unit { clock, foreign, .. }) = self.units.get_mut(&who.unit) {
            let Watch { flight, family, .. } = self;
            let times = &family.grids.times;
            foreign.exit(block.rank, |access| match access.how.is_asynchronous() {
                true => (0..32)
                    .any(|lane| mask >> lane & 1 != 0 && flight.is_over(access, (who, lane), clock, times)),
                false => clock.is_after(who.unit, who.warp, access, times),
            });
        }
    }

    /// All threads of the cluster of a block have met.
    pub(crate) fn cluster_met(&mut self, env: &Env<'_>, block: &Block) {
        let warps: Vec<usize> = (0..unit::warps(env)).collect();
        let Unit { clock, arrivals, foreign, .. } = self.unit(env, WarpId::of(env, block, 0).unit);
        let relaxed = std::mem::take(arrivals).into_iter().filter(|(_, is_relaxed)| *is_relaxed);
        let relaxed: BTreeSet<usize> = relaxed.map(|(warp, _)| warp).collect();
        match relaxed.is_empty() {
            true => clock.join(&warps),
            false => clock.join_relaxed(&warps, &relaxed),
        }
        foreign.met(&relaxed);
    }

    /// Threads of a warp arrive at the barrier of their cluster; whether that releases what they did.
    pub(crate) fn cluster_arrived(&mut self, env: &Env<'_>, block: &Block, warp: u32, releases: bool) {
        let who = WarpId::of(env, block, warp);
        let is_relaxed = self.unit(env, who.unit).arrivals.entry(who.warp).or_insert(true);
        *is_relaxed &= !releases;
    }

    fn unit(&mut self, env: &Env<'_>, unit: u32) -> &mut Unit {
        self.units.entry(unit).or_insert_with(|| Unit::new(env))
    }

    /// An instruction is about to run. Whether it is not to, but will have its effect later.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and `watched` what the decoder noted about it.
    unsafe fn see(&mut self, lanes: &mut Lanes<'_>, inst: &Inst, watched: &Watched) -> bool {
        let who = WarpId::of(lanes.env, lanes.block(), lanes.warp().index);
        if let Some((at, lane)) = self.passing.act(who, inst.site, lanes.mask()) {
            self.reports.add_passing(lanes.env, who, at, (inst.site, lane));
        }
        if let Some(registers) = &watched.registers {
            self.use_registers(lanes, who, (inst.site, watched), registers);
        }
        if let Some(values) = &watched.values {
            // SAFETY: 1: the same instruction, and what was noted of it: the caller's duty 1.
            unsafe { self.use_values(lanes, inst, who, (watched, values)) };
            if let (Some(access), Some(base)) = (values.local, &watched.base) {
                // SAFETY: 1: the same instruction, and what was noted of it: the caller's duty 1.
                unsafe { self.inspect_local(lanes, inst, who, (access, base)) };
            }
        }
        // These order nothing among threads.
        let orders_nothing =
            matches!(watched.event, Some(Event::ProxyFence | Event::Change { releases: false }));
        let note = watched.note.filter(|_| !orders_nothing);
        if let Some(note) = note {
            // SAFETY: 1: the same instruction, and its note: the caller's duty 1.
            unsafe { self.access(lanes, inst, who, note) };
        }
        // SAFETY: 1: the same instruction, and what was noted of it: the caller's duty 1.
        watched.event.is_some_and(|event| unsafe { self.before(lanes, inst, who, (watched, event)) })
    }

    /// It uses registers that may be undefined.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and `watched` what the decoder noted about it, with `values`.
    unsafe fn use_values(
        &mut self,
        lanes: &mut Lanes<'_>,
        inst: &Inst,
        who: WarpId,
        (watched, values): (&Watched, &Values),
    ) {
        if !self.checker.checks().uninitialised {
            return;
        }
        // A branch looks at its guard itself.
        if values.rule == Rule::Branch {
            self.guard(lanes, inst, who, values);
        }
        let stored = match watched.note {
            // SAFETY: 1: the same instruction, and its note: the caller's duty 1.
            Some(note) if watched.is_store() => unsafe { touches(lanes, inst, &note) },
            _ => Vec::new(),
        };
        let global =
            || stored.iter().filter(|touch| !touch.region.private).fold(0, |on, touch| on | 1 << touch.lane);
        // SAFETY: 1: the same instruction, and what was noted of it: the caller's duty 1.
        if let Some(used) = unsafe { self.followed.step(lanes, inst, who, values, None, global) } {
            self.reports.add_undefined(lanes.env, who, inst.site, used);
        }
    }

    /// A guard that may be undefined is about to be looked at.
    fn guard(&mut self, lanes: &Lanes<'_>, inst: &Inst, who: WarpId, values: &Values) -> Open {
        if !self.checker.checks().uninitialised {
            return Open::default();
        }
        let (used, open) = self.followed.guard(lanes, inst, who, values);
        if let Some(used) = used {
            self.reports.add_undefined(lanes.env, who, inst.site, used);
        }
        open
    }

    /// Lanes of which some have waited for others perform an instruction of the warp together with the others that are `active`.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code.
    pub(in crate::engine) unsafe fn met_late(&mut self, lanes: &Lanes<'_>, inst: &Inst, active: u32) {
        let watched = lanes.env.kernel.watched.get(inst.site as usize);
        let Some(values) = watched.and_then(|watched| watched.values.as_deref()) else { return };
        if self.checker.checks().uninitialised {
            let who = WarpId::of(lanes.env, lanes.block(), lanes.warp().index);
            // SAFETY: 1: the same instruction, and what was noted of it: its site is the index.
            unsafe { self.followed.step(lanes, inst, who, values, Some(active), || 0) };
        }
    }

    /// A lane reads a texture or a surface, of which the bytes at that address were not written.
    pub(in crate::engine) fn fetched(
        &mut self,
        lanes: &Lanes<'_>,
        inst: &Inst,
        (lane, address): (usize, u64),
    ) {
        if self.checker.checks().uninitialised {
            let who = WarpId::of(lanes.env, lanes.block(), lanes.warp().index);
            self.reports.add_fetch(lanes.env, (who, lane as u8), inst.site, address);
        }
    }

    /// A lane accesses elements of a texture or a surface: address and bytes of each. `new` is what a store puts there.
    pub(in crate::engine) fn reached(
        &mut self,
        lanes: &mut Lanes<'_>,
        inst: &Inst,
        (lane, what): (usize, What),
        places: &[(u64, u64)],
        new: &[u8],
    ) {
        if !self.checker.checks().races {
            return;
        }
        let who = WarpId::of(lanes.env, lanes.block(), lanes.warp().index);
        let how = if matches!(what, What::Atomic { .. }) { How::Strong } else { How::Plain };
        let access = WarpAccess { who, what, site: inst.site, how, completions: [0; 32] };
        let touches: Vec<Touch> =
            places.iter().filter_map(|place| Touch::element(lanes, lane, *place, new)).collect();
        self.inspect_before(lanes.env, access, &touches);
        if what == What::Fetch {
            self.inspect_fetch(lanes.env, access, &touches);
        }
        self.record(lanes.env, access, &touches);
    }

    /// It accesses memory or orders accesses.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and `note` its own.
    unsafe fn access(&mut self, lanes: &mut Lanes<'_>, inst: &Inst, who: WarpId, note: Note) {
        let env = lanes.env;
        let aux = Access(inst.aux);
        let ordering = aux.polls() || aux.ordered();
        let atomic = matches!(note.what, What::Atomic { .. });
        let is_wide = !aux.is_of_block();
        let how = match ordering || atomic {
            true if is_wide => How::Strong,
            true => How::StrongInBlock,
            false => How::Plain,
        };
        let access = WarpAccess { who, what: note.what, site: inst.site, how, completions: [0; 32] };
        let base = env.kernel.watched.get(inst.site as usize).and_then(|watched| watched.base.as_ref());
        match note.what {
            What::WarpSync => self.unit(env, who.unit).clock.step(who.warp),
            // Its `imm` says whether it concerns the threads of a block only.
            What::Fence => {
                self.fenced |= inst.imm == 0;
                self.release(env, who, inst.imm == 0);
                self.acquire(env, who, inst.imm == 0);
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
                // Fences and atomics may carry it on.
                self.release(env, who, true);
                if self.checker.checks().races {
                    self.note_foreign(env, access, &touches);
                }
            }
            What::LoadRows(addressing) | What::StoreRows(addressing) => {
                let mask = lanes.mask();
                lanes.set_mask(mask & addressing);
                // SAFETY: 1: an instruction of the entered code, and the note is its own: the caller's duty 1.
                let touches = unsafe { touches(lanes, inst, &note) };
                lanes.set_mask(mask);
                self.inspect_place(env, access, base, &touches);
                self.inspect(env, access, &touches);
            }
            What::Load | What::Fetch | What::Store { .. } | What::Atomic { .. } => {
                // SAFETY: 1: an instruction of the entered code, and the note is its own: the caller's duty 1.
                let touches = unsafe { touches(lanes, inst, &note) };
                if ordering && note.what.writes() {
                    self.release(env, who, is_wide);
                }
                self.inspect_place(env, access, base, &touches);
                self.inspect(env, access, &touches);
                self.signal(env, access, &touches);
                if how.is_strong() && note.what.reads() || atomic {
                    self.acquire(env, who, is_wide);
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
        let completions = self.flight.open(access.who, lanes.mask(), Group::Copies);
        let access = WarpAccess { how: How::Copied, completions, ..access };
        let read = WarpAccess { what: What::Load, ..access };
        let write = WarpAccess { what: What::Store { wide: false }, ..access };
        let watched = lanes.env.kernel.watched.get(inst.site as usize);
        self.inspect_place(lanes.env, read, watched.and_then(|watched| watched.source.as_ref()), &sources);
        self.inspect_place(lanes.env, write, watched.and_then(|watched| watched.base.as_ref()), &targets);
        self.inspect(lanes.env, read, &sources);
        self.inspect(lanes.env, write, &targets);
    }

    /// A release; `is_wide` if other blocks may acquire it.
    fn release(&mut self, env: &Env<'_>, who: WarpId, is_wide: bool) {
        let unit = self.units.entry(who.unit).or_insert_with(|| Unit::new(env));
        unit.clock.release(who.unit, who.warp, is_wide.then_some(&mut self.family.grids.times));
        if is_wide {
            self.family.grids.release();
        }
    }

    /// An acquire; `is_wide` if other blocks may have released it.
    fn acquire(&mut self, env: &Env<'_>, who: WarpId, is_wide: bool) {
        let unit = self.units.entry(who.unit).or_insert_with(|| Unit::new(env));
        unit.clock.acquire(who.warp, is_wide.then_some(&mut self.family.grids.times));
    }

    fn mark(&mut self, env: &Env<'_>, who: WarpId, touch: &Touch) {
        if self.checker.checks().uninitialised
            && let Some((written, first)) = self.unit(env, who.unit).written(env, touch.region, touch.address)
        {
            written.mark(first + touch.offset(), touch.bytes);
        }
    }

    /// A tensor map is about to be written: nothing reads what was not written there.
    pub(in crate::engine) fn wrote(&mut self, lanes: &Lanes<'_>, region: Region, address: u64, bytes: u64) {
        let (env, who) = (lanes.env, WarpId::of(lanes.env, lanes.block(), lanes.warp().index));
        if self.checker.checks().uninitialised
            && let Some((written, first)) = self.unit(env, who.unit).written(env, region, address)
        {
            written.mark(first + (address - region.base), bytes);
        }
    }
}
