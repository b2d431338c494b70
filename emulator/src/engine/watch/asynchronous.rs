//! Work that continues after its instruction: what starts it, what waits for it, and what it accesses.
//!
//! The bytes are there at once, and so that a wait for the wrong phase is seen, a barrier learns of them late: after the next
//! instruction that asks it in vain. What counts as knowing that work is over is in [`flight`](super::flight).
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`; what a region describes is there.

use super::super::code::Inst;
use super::super::env::Env;
use super::super::exec::lanes::Lanes;
use super::super::exec::matrix::group;
use super::super::exec::mbarrier::{self, Action};
use super::super::exec::memory::Region;
use super::super::fault::FaultKind;
use super::event::{Event, Group, Registers};
use super::note::{Note, Watched, What};
use super::place::{Touch, touches};
use super::stamp::{How, Stamp};
use super::unit::{Unit, WarpId};
use super::{WarpAccess, Watch};
use crate::check::FindingKind;

/// What is missing where bulk copies read what threads wrote.
pub(super) const PROXY_ADVICE: &str = "the threads that wrote it have to execute `fence.proxy.async` before the barrier that comes before the asynchronous instruction";
const MBARRIER_ADVICE: &str =
    "`mbarrier.inval` has to come before another `mbarrier.init` or another use of its memory";
const REGISTER_ADVICE: &str =
    "`wgmma.fence` has to come between the write and the first `wgmma` that uses the register";
const PRODUCT_ADVICE: &str = "`wgmma.commit_group` and `wgmma.wait_group` have to come between `wgmma` and other uses of its registers";

/// What a bulk instruction does to some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Side {
    /// Reads them.
    Read,
    /// Replaces them.
    Write,
    /// Changes numbers, each atomically.
    Update,
    /// Changes one number, outside the async proxy.
    UpdateOne,
}

/// A bulk instruction that runs.
#[derive(Debug)]
pub(super) struct Running {
    who: WarpId,
    site: u32,
    event: Event,
    /// By lane: what its accesses complete with at the next barrier.
    completions: [Option<u32>; 32],
}

/// The access of barriers in memory.
const BARRIER: Note = Note { what: What::Barrier { init: false }, address: 1, bytes: 8 };

impl Watch {
    /// Mbarriers are made or given up: whether some are made where there are some.
    fn inspect_barriers(
        &mut self,
        env: &Env<'_>,
        (who, site): (WarpId, u32),
        event: Event,
        touches: &[Touch],
    ) {
        let checks = self.checker.checks().barriers;
        let unit = self.units.entry(who.unit).or_insert_with(|| Unit::new(env));
        let known: Vec<&Touch> =
            touches.iter().filter(|touch| unit.mbarriers.contains(&touch.host())).collect();
        if let (Event::Init, true, Some(touch)) = (event, checks, known.first()) {
            let what = What::Barrier { init: true };
            let access = WarpAccess { who, what, site, how: How::Plain, completions: [0; 32] };
            let stamp = (access.stamp(unit, touch), what);
            self.reports.add(env, FindingKind::LiveMbarrier, touch, stamp, None, MBARRIER_ADVICE);
        }
        for touch in touches {
            match event {
                Event::Init => unit.mbarriers.insert(touch.host()),
                _ => unit.mbarriers.remove(&touch.host()),
            };
        }
    }

    /// An instruction that has to do with such work is about to run. Whether it is not to, but will have its effect later.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and `watched` what the decoder noted about it.
    pub(super) unsafe fn before(
        &mut self,
        lanes: &mut Lanes<'_>,
        inst: &Inst,
        who: WarpId,
        (watched, event): (&Watched, Event),
    ) -> bool {
        let (env, mask) = (lanes.env, lanes.mask());
        let epoch = self.unit(env, who.unit).clock.epoch(who.warp);
        match event {
            Event::Bulk { .. } => {
                let running = Running { who, site: inst.site, event, completions: [None; 32] };
                self.running = Some(running);
            }
            // SAFETY: 1: an instruction of the entered code, and what was noted of it: the caller's duty 1.
            Event::Product => unsafe { self.product(lanes, inst, who, watched) },
            Event::Commit(Group::Products) => self.flight.commit(who, 1, Group::Products),
            Event::Commit(group) => {
                self.flight.commit(who, mask, group);
                if group == Group::Bulk {
                    self.flight.commit(who, mask, Group::BulkReads);
                }
            }
            Event::Wait(Group::Products, left) => self.flight.wait(who, epoch, 1, Group::Products, left),
            Event::Wait(group, left) => {
                self.flight.wait(who, epoch, mask, group, left);
                if group == Group::Bulk {
                    self.flight.wait(who, epoch, mask, Group::BulkReads, left);
                }
            }
            Event::WaitAll => {
                self.flight.commit(who, mask, Group::Copies);
                self.flight.wait(who, epoch, mask, Group::Copies, 0);
            }
            Event::RegisterFence => {
                self.flight.issued(who).dirty.clear();
                self.unit(env, who.unit).clock.step(who.warp);
            }
            Event::ProxyFence => {
                self.unit(env, who.unit).clock.fence_proxy(who.warp);
                // Whoever acquires next knows of it.
                self.release(env, who, true);
            }
            // SAFETY: 1: an instruction of the entered code that has the operands of an `mbarrier`: the caller's duty 1.
            Event::CopiesArrive { extra } => return unsafe { self.copies_arrive(lanes, inst, who, extra) },
            Event::Dependents { wait } => {
                env.ends.ongoing.into_iter().for_each(|ongoing| ongoing.depend(wait));
            }
            Event::Init | Event::Invalidate => {
                // SAFETY: 1: as in `CopiesArrive`.
                let touches = unsafe { touches(lanes, inst, &BARRIER) };
                touches.iter().for_each(|touch| self.flight.forget(who.unit, touch.host()));
                self.inspect_barriers(env, (who, inst.site), event, &touches);
            }
            Event::Change { releases } => {
                // SAFETY: 1: as in `CopiesArrive`.
                for (barrier, _, _) in unsafe { self.barriers(lanes, inst, who) } {
                    let Watch { units, flight, .. } = self;
                    if let Some(unit) = units.get_mut(&who.unit) {
                        flight.arrive(barrier, &mut unit.clock, who.warp, releases);
                    }
                }
            }
            Event::Waited { .. } => {
                // SAFETY: 1: as in `CopiesArrive`.
                unsafe { self.barriers(lanes, inst, who) };
            }
        }
        false
    }

    /// An instruction that has to do with such work has run. `None` after a fault.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and `event` what the decoder noted about it.
    pub(super) unsafe fn after(&mut self, lanes: &mut Lanes<'_>, inst: &Inst, event: Event) -> Option<()> {
        let who = WarpId::of(lanes.env, lanes.block(), lanes.warp().index);
        match event {
            Event::Bulk { .. } => self.running = None,
            // SAFETY: 1: an instruction of the entered code that has the operands of an `mbarrier`: the caller's duty 1.
            Event::Change { .. } | Event::CopiesArrive { .. } => unsafe {
                self.barriers(lanes, inst, who);
            },
            Event::Waited { acquires } => {
                // SAFETY: 1, of both: operand 0 of an instruction of the entered code that waits at an `mbarrier` is a predicate: the
                // caller's duty 1. It is read at once.
                let (over, barriers) =
                    unsafe { (*lanes.predicate(inst.ops[0]), self.barriers(lanes, inst, who)) };
                for (barrier, by, touch) in barriers {
                    let Watch { units, flight, .. } = self;
                    if let Some(unit) = units.get_mut(&who.unit)
                        && by & over != 0
                    {
                        flight.waited(barrier, &mut unit.clock, (who, by & over), acquires);
                    }
                    // Whoever goes on because of the phase before must not make it come true.
                    if by & !over != 0 {
                        self.land(lanes, barrier, &touch)?;
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    /// The barriers that the live lanes address, with those lanes; each is looked at.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code whose operand 1 is the address of an `mbarrier`.
    unsafe fn barriers(
        &mut self,
        lanes: &mut Lanes<'_>,
        inst: &Inst,
        who: WarpId,
    ) -> Vec<(usize, u32, Touch)> {
        let mut all: Vec<(usize, u32, Touch)> = Vec::new();
        // SAFETY: 1: the note says what the instruction has: the caller's duty 1.
        for touch in unsafe { touches(lanes, inst, &BARRIER) } {
            if let Some(known) = all.iter_mut().find(|known| known.2.host() == touch.host()) {
                known.1 |= 1 << touch.lane;
            } else if touch.region.private {
                // SAFETY: 1: `touches` found 8 aligned bytes inside the region, which are used as its head says.
                let parity = unsafe { mbarrier::parity(touch.pointer()) };
                let barrier = self.flight.barrier(who.unit, touch.host(), parity);
                self.flight.look(barrier, parity);
                all.push((barrier, 1 << touch.lane, touch));
            }
        }
        all
    }

    /// A barrier learns what it has not been told.
    fn land(&mut self, lanes: &mut Lanes<'_>, barrier: usize, touch: &Touch) -> Option<()> {
        while let Some(landing) = self.flight.land(barrier) {
            for _ in 0..landing.times {
                let pointer = touch.pointer();
                // SAFETY: 1: `touches` found 8 aligned bytes inside the region, which are used as its head says.
                let changed = unsafe { mbarrier::change_at(pointer, landing.action, landing.value) };
                if let Err(message) = changed {
                    lanes.fail(FaultKind::InvalidSync, touch.lane as u32, Some(touch.address), message);
                    return None;
                }
                // SAFETY: 1: the same bytes.
                self.flight.look(barrier, unsafe { mbarrier::parity(pointer) });
            }
        }
        Some(())
    }

    /// `cp.async.mbarrier.arrive`; whether the arrivals come later.
    ///
    /// # Safety
    /// 1. `inst` is such an instruction of the entered code.
    unsafe fn copies_arrive(&mut self, lanes: &mut Lanes<'_>, inst: &Inst, who: WarpId, extra: bool) -> bool {
        if !self.checker.checks().races {
            return false;
        }
        let mask = lanes.mask();
        // SAFETY: 1: operand 1 of such an instruction is the address: the caller's duty 1.
        let barriers = unsafe { self.barriers(lanes, inst, who) };
        let there = barriers.iter().fold(0, |all, barrier| all | barrier.1);
        for (barrier, by, _) in &barriers {
            let copies = self.flight.copies(who, *by);
            let Watch { units, flight, .. } = self;
            if let Some(unit) = units.get_mut(&who.unit) {
                flight.arrive(*barrier, &mut unit.clock, who.warp, true);
            }
            match extra {
                true => copies.iter().for_each(|copy| flight.completes_at(*copy, *barrier)),
                false => flight.defer(*barrier, copies, (Action::Arrive, by.count_ones(), 1)),
            }
        }
        // Where there is no barrier the instruction says so.
        !extra && there == mask
    }

    /// `wgmma.mma_async`
    ///
    /// # Safety
    /// 1. `inst` is such an instruction of the entered code, and `watched` what the decoder noted about it.
    unsafe fn product(&mut self, lanes: &mut Lanes<'_>, inst: &Inst, who: WarpId, watched: &Watched) {
        let env = lanes.env;
        self.unit(env, who.unit).clock.step(who.warp);
        // SAFETY: 1: such an instruction of the entered code: the caller's duty 1.
        let Some(places) = (unsafe { group::places(lanes, inst) }) else { return };
        let completions = match self.checker.checks().races {
            true => self.flight.open(who, 1, Group::Products),
            false => [0; 32],
        };
        let access = WarpAccess { who, what: What::Load, site: inst.site, how: How::Bulk, completions };
        let all: Vec<Touch> = places
            .into_iter()
            .flat_map(|(region, address, bytes)| pieces(0, region, address, bytes))
            .collect();
        self.inspect(env, access, &all);
        let Some(registers) = watched.registers.as_deref().filter(|_| self.checker.checks().races) else {
            return;
        };
        let stamp = self.own_stamp(lanes, who, inst.site);
        let used = Stamp { epoch: completions[0], how: How::Bulk, ..stamp };
        let function = watched.function;
        let Watch { flight, reports, .. } = self;
        let issued = flight.issued(who);
        let result = issued
            .products
            .iter()
            .find(|product| product.function == function && meets(&registers.read, &product.results));
        if let Some(product) = result {
            let (access, other) = ((stamp, "use of registers as A"), (product.stamp, "product"));
            reports.add_registers(env, FindingKind::MissingWait, access, other, PRODUCT_ADVICE);
        }
        for register in registers.read.iter().chain(&registers.written) {
            if let Some(write) = issued.dirty.remove(&(function, *register)) {
                let (access, other) = ((stamp, "product"), (write, "write"));
                reports.add_registers(env, FindingKind::MissingFence, access, other, REGISTER_ADVICE);
            }
        }
        flight.occupy(who, used, function, &registers.written, &registers.read);
    }

    /// An instruction uses registers that products may use.
    pub(super) fn use_registers(
        &mut self,
        lanes: &Lanes<'_>,
        who: WarpId,
        (site, watched): (u32, &Watched),
        registers: &Registers,
    ) {
        if watched.event == Some(Event::Product) || !self.checker.checks().races {
            return;
        }
        let stamp = self.own_stamp(lanes, who, site);
        let (env, function) = (lanes.env, watched.function);
        let Watch { flight, reports, .. } = self;
        let issued = flight.issued(who);
        let mine = |product: &&mut super::flight::Product| product.function == function;
        if registers.moves {
            // The value is the same elsewhere: compilers rename registers so around instructions that change them in place.
            let (from, to) = (registers.read.first(), registers.written.first());
            for product in issued.products.iter_mut().filter(mine) {
                let moved = from.is_some_and(|from| product.results.contains(from));
                if let Some(to) = to {
                    product.results.retain(|register| moved || register != to);
                    product.results.extend(Some(*to).filter(|_| moved));
                }
            }
            let written = from.and_then(|from| issued.dirty.get(&(function, *from)).copied());
            match (to, written) {
                (Some(to), Some(write)) => drop(issued.dirty.insert((function, *to), write)),
                (Some(to), None) => drop(issued.dirty.remove(&(function, *to))),
                (None, _) => {}
            }
            return;
        }
        let used = issued.products.iter_mut().filter(mine).find(|product| {
            meets(&registers.read, &product.results)
                || meets(&registers.written, &product.results)
                || meets(&registers.written, &product.factors)
        });
        if let Some(product) = used {
            let verb = if meets(&registers.read, &product.results) { "read" } else { "write" };
            let other = (product.stamp, "product");
            reports.add_registers(env, FindingKind::MissingWait, (stamp, verb), other, PRODUCT_ADVICE);
        }
        issued.dirty.extend(registers.written.iter().map(|register| ((function, *register), stamp)));
    }

    fn own_stamp(&mut self, lanes: &Lanes<'_>, who: WarpId, site: u32) -> Stamp {
        let epoch = self.unit(lanes.env, who.unit).clock.epoch(who.warp);
        let lane = lanes.mask().trailing_zeros() as u8 & 31;
        Stamp { unit: who.unit, epoch, site, warp: who.warp as u16, lane, how: How::Plain }
    }

    /// The bulk instruction that runs is about to access bytes that were found to be there.
    pub(in crate::engine) fn touch(
        &mut self,
        lanes: &Lanes<'_>,
        lane: usize,
        region: Region,
        (address, bytes): (u64, u64),
        side: Side,
    ) {
        let Some(Running { who, site, event, completions }) = &mut self.running else { return };
        let (who, site, lane) = (*who, *site, lane & 31);
        let mut all = [0; 32];
        if self.checker.checks().races {
            all[lane] = match event {
                Event::Bulk { grouped: true, .. } => {
                    let group = if side == Side::Read { Group::BulkReads } else { Group::Bulk };
                    self.flight.open(who, 1 << lane, group)[lane]
                }
                event => *completions[lane].get_or_insert_with(|| self.flight.start(*event)),
            };
        }
        let (what, how) = match side {
            Side::Read => (What::Load, How::Bulk),
            Side::Write => (What::Store { wide: false }, How::Bulk),
            Side::Update => (What::Atomic { reads: true, after_guess: false }, How::BulkAtomic),
            Side::UpdateOne => (What::Atomic { reads: true, after_guess: false }, How::CopiedAtomic),
        };
        let access = WarpAccess { who, what, site, how, completions: all };
        let all: Vec<Touch> = pieces(lane, region, address, bytes).collect();
        let watched = lanes.env.kernel.watched.get(site as usize);
        let base = watched.and_then(|watched| match side {
            Side::Read => watched.source.as_ref(),
            _ => watched.base.as_ref(),
        });
        self.inspect_place(lanes.env, access, base, &all);
        self.inspect(lanes.env, access, &all);
    }

    /// Whether a barrier is to learn later that bytes have arrived.
    pub(in crate::engine) fn defers(
        &mut self,
        lanes: &Lanes<'_>,
        lane: usize,
        pointer: *mut u8,
        parity: bool,
        bytes: u64,
    ) -> bool {
        let Some(running) = self.running.as_mut().filter(|_| self.checker.checks().races) else {
            return false;
        };
        let who = WarpId::of(lanes.env, lanes.block(), lanes.warp().index);
        let event = running.event;
        let completion = running.completions[lane & 31].take();
        let completion = completion.unwrap_or_else(|| self.flight.start(event));
        let barrier = self.flight.barrier(who.unit, pointer.addr() as u64, parity);
        self.flight.defer(barrier, vec![completion], (Action::Complete, 1, bytes));
        true
    }
}

fn meets(some: &[u32], others: &[u32]) -> bool {
    some.iter().any(|register| others.contains(register))
}

/// A piece of memory in parts that the shadow takes: inside a page, and of whole words but for the ends.
fn pieces(lane: usize, region: Region, address: u64, bytes: u64) -> impl Iterator<Item = Touch> {
    let (mut at, end) = (address, address + bytes);
    std::iter::from_fn(move || {
        let host = (region.host.addr() as u64).wrapping_add(at - region.base);
        let count = match (host % 4, end - at) {
            (_, 0) => return None,
            (0, 1..4) => 1,
            (0, left) => (super::stamp::PAGE - host % super::stamp::PAGE).min(left & !3),
            _ => 1,
        };
        let touch = Touch::piece(lane, region, at, count);
        at += count;
        Some(touch)
    })
}
