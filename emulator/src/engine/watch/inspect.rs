//! Checks the accesses of one instruction: whether they are inside their variables, whether the memory they read was written and is
//! visible, and whether they are ordered after earlier accesses.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`.

use super::super::code::Inst;
use super::super::env::Env;
use super::super::exec::lanes::Lanes;
use super::bounds::{self, LaneAccess};
use super::family::Family;
use super::note::What;
use super::operand::{Base, LocalAccess};
use super::place::Touch;
use super::stamp::{How, Stamp};
use super::unit::{Shape, Unit, WarpId};
use super::{Watch, asynchronous, local};
use crate::check::{Checks, FindingKind};

const FETCH_ADVICE: &str = "a texture need not show what its own kernel writes: load from the memory itself, or fetch in the next kernel";

/// What an instruction does, for all its lanes.
#[derive(Clone, Copy)]
pub(super) struct WarpAccess {
    pub(super) who: WarpId,
    pub(super) what: What,
    pub(super) site: u32,
    pub(super) how: How,
    /// By lane, where it continues after its instruction.
    pub(super) completions: [u32; 32],
}

impl Watch {
    /// Checks the accesses of the lanes of one instruction.
    pub(super) fn inspect(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        let Checks { uninitialised, races, .. } = self.checker.checks();
        if uninitialised {
            self.inspect_contents(env, access, touches);
        }
        if races {
            self.note_foreign(env, access, touches);
            self.inspect_together(env, access, touches);
            self.inspect_before(env, access, touches);
            if access.how.is_in_proxy() && access.what.reads() {
                self.inspect_proxy(env, access, touches);
            }
            self.record(env, access, touches);
        }
    }

    /// Whether they access what they should.
    pub(super) fn inspect_place(
        &mut self,
        env: &Env<'_>,
        access: WarpAccess,
        base: Option<&Base>,
        touches: &[Touch],
    ) {
        let writes = access.what.writes() && !env.kernel.constants.is_empty();
        if base.is_none() && !writes {
            return;
        }
        let unit = self.units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
        for touch in touches {
            let stamp = (access.stamp(unit, touch), access.what);
            let spot = LaneAccess::of(touch);
            if let Some(place) = base.and_then(|base| base.missed_by(env, &spot)) {
                let (kind, bytes) = (FindingKind::OutOfBounds, spot.bytes_at(place));
                self.reports.add_at(env, kind, bytes, stamp, None, bounds::ADVICE);
            }
            let is_in = |(start, bytes): &(u64, u64)| touch.address.wrapping_sub(*start) < *bytes;
            if writes && env.kernel.constants.iter().any(is_in) {
                self.reports.add(
                    env,
                    FindingKind::ConstantWrite,
                    touch,
                    stamp,
                    None,
                    bounds::CONSTANT_ADVICE,
                );
            }
        }
    }

    /// Whether an access that may be to local memory, and is, leads there from elsewhere, or from another variable.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and that access its own.
    pub(super) unsafe fn inspect_local(
        &mut self,
        lanes: &Lanes<'_>,
        inst: &Inst,
        who: WarpId,
        (access, base): (LocalAccess, &Base),
    ) {
        let what = if access.stores { What::Store { wide: false } } else { What::Load };
        let bytes = u64::from(access.bytes) * access.elements as u64;
        // SAFETY: 1: the caller's duty 1.
        for (lane, offset) in unsafe { local::offsets(lanes, inst, access) } {
            let spot = LaneAccess::of_local(lanes, offset, bytes);
            let Some(place) = base.missed_by(lanes.env, &spot) else { continue };
            let (unit, warp, lane) = (who.unit, who.warp as u16, lane as u8);
            let stamp = Stamp { unit, warp, lane, site: inst.site, ..Stamp::default() };
            let (kind, bytes) = (FindingKind::OutOfBounds, spot.bytes_at(place));
            self.reports.add_at(lanes.env, kind, bytes, (stamp, what), None, bounds::ADVICE);
        }
    }

    /// Whether what they read was written.
    fn inspect_contents(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        for touch in touches {
            let unit = self.units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
            let stamp = access.stamp(unit, touch);
            let written = unit.written(env, touch.region, touch.address);
            let Some((written, first)) = written else { continue };
            let missing = access.what.reads() && !written.covers(first + touch.offset(), touch.bytes);
            if access.what.writes() {
                written.mark(first + touch.offset(), touch.bytes);
            }
            if missing && !touch.is_reserved() {
                self.reports.add(env, FindingKind::Uninitialised, touch, (stamp, access.what), None, "");
            }
        }
    }

    /// Whether lanes of one store leave it to chance whose value stays.
    fn inspect_together(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        if !matches!(access.what, What::Store { .. } | What::StoreRows(_)) || access.how != How::Plain {
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
                self.reports.add(env, FindingKind::Race, touch, (mine, access.what), Some(other), "");
            }
        }
    }

    /// Whether something orders them behind what others did to the same bytes before.
    pub(super) fn inspect_before(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        let Watch { units, family, reports, flight, .. } = self;
        let Family { global, grids, .. } = &mut **family;
        let before = Shape::of(env).before;
        let unit = units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
        let writes = access.what.writes();
        // Neighbours were mostly accessed together.
        let mut known = Stamp::default();
        for touch in touches.iter().filter(|touch| !touch.silent) {
            let stamp = access.stamp(unit, touch);
            let Unit { clock, shared, .. } = &mut *unit;
            let shadow = if touch.region.private { shared } else { &mut *global };
            let cells = shadow.cells(touch.host(), touch.bytes);
            let mut others = cells.iter().flat_map(|cell| cell.others(stamp, writes));
            let unordered = |other: &Stamp| {
                if *other == known {
                    return false;
                }
                let (who, times) = (access.who, &grids.times);
                let is_after = || clock.is_after(who.unit, who.warp, other, times);
                let ordered = match other.how.is_asynchronous() {
                    _ if other.unit <= before => {
                        grids.is_before(other, clock.acquired(who.warp))
                            || !other.how.is_asynchronous() && is_after()
                    }
                    true => flight.is_over(other, (who, stamp.lane), clock, times),
                    false => is_after(),
                };
                // Of work it depends on the lane who knows of its end.
                if ordered && !other.how.is_asynchronous() {
                    known = *other;
                }
                !ordered
            };
            if let Some(other) = others.find(unordered) {
                let (stamp, elsewhere) = ((stamp, access.what), grids.elsewhere(&other));
                let (kind, advice) = match (elsewhere, other.how.is_asynchronous()) {
                    (Some(elsewhere), _) => {
                        reports.add_across(env, touch, stamp, (other, &elsewhere));
                        continue;
                    }
                    (None, true) => flight.advice(&other),
                    (None, false) => (FindingKind::Race, ""),
                };
                reports.add(env, kind, touch, stamp, Some(other), advice);
            }
        }
    }

    /// Whether what they read was made visible to the async proxy.
    fn inspect_proxy(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        let Watch { units, family, reports, .. } = self;
        let Family { global, grids, .. } = &mut **family;
        let unit = units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
        for touch in touches {
            let stamp = access.stamp(unit, touch);
            let Unit { clock, shared, .. } = &mut *unit;
            let shadow = if touch.region.private { shared } else { &mut *global };
            let warp = access.who.warp;
            let hidden = |write: &Stamp| {
                let is_ordered =
                    !write.is_other(&stamp) || clock.is_after(access.who.unit, warp, write, &grids.times);
                is_ordered && !clock.is_in_proxy(warp, usize::from(write.warp), write.epoch)
            };
            let mut writes =
                shadow.cells(touch.host(), touch.bytes).iter().filter_map(|cell| cell.generic_write());
            // Whether other blocks have executed a fence is not known.
            let is_ours = |write: &Stamp| write.unit == stamp.unit;
            if let Some(other) = writes.find(|write| is_ours(write) && hidden(write)) {
                let kind = FindingKind::MissingFence;
                reports.add(env, kind, touch, (stamp, access.what), Some(other), asynchronous::PROXY_ADVICE);
            }
        }
    }

    /// Whether they fetch through a texture what the same grid has written: the texture cache need not show it, whatever orders the two.
    /// Fetches that nothing orders are races.
    pub(super) fn inspect_fetch(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        let Watch { units, family, reports, .. } = self;
        let Family { global, grids, .. } = &mut **family;
        let before = Shape::of(env).before;
        let unit = units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
        for touch in touches {
            let stamp = access.stamp(unit, touch);
            let is_ordered = |write: &Stamp| {
                !write.is_other(&stamp)
                    || unit.clock.is_after(access.who.unit, access.who.warp, write, &grids.times)
            };
            let cells = global.cells(touch.host(), touch.bytes);
            let mut writes = cells.iter().filter_map(|cell| cell.generic_write());
            if let Some(other) = writes.find(|write| write.unit > before && is_ordered(write)) {
                let kind = FindingKind::StaleTexture;
                reports.add(env, kind, touch, (stamp, access.what), Some(other), FETCH_ADVICE);
            }
        }
    }

    pub(super) fn record(&mut self, env: &Env<'_>, access: WarpAccess, touches: &[Touch]) {
        let Watch { units, family, guesses, .. } = self;
        let global = &mut family.global;
        let unit = units.entry(access.who.unit).or_insert_with(|| Unit::new(env));
        let writes = access.what.writes();
        for touch in touches {
            let mut stamp = access.stamp(unit, touch);
            if touch.silent && stamp.how == How::Plain {
                stamp.how = How::Silent;
            }
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
    pub(super) fn stamp(&self, unit: &Unit, touch: &Touch) -> Stamp {
        let epoch = match self.how.is_asynchronous() {
            true => self.completions[touch.lane & 31],
            false => unit.clock.epoch(self.who.warp),
        };
        Stamp {
            unit: self.who.unit,
            epoch,
            site: self.site,
            warp: self.who.warp as u16,
            lane: touch.lane as u8,
            how: self.how,
        }
    }
}
