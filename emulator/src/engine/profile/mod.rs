//! Counts the work of a launch, instruction by instruction.
//!
//! Where a module's memory has a [`Profiler`], the decoder puts [`PROFILE`] in place of every instruction: it counts, and then runs
//! the original instruction. Other modules are decoded as usual. Each worker counts separately, and reports its counts at the end
//! of the launch.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`; the decoder puts `PROFILE` only in code that knows what it replaces.

mod bulk;
mod counted;
mod images;
mod note;
mod shared;

pub(super) use counted::nothing;
pub(super) use images::Image;
pub(super) use note::{Profiled, local_bytes};

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use self::bulk::Bulk;
use self::counted::Counted;
use self::shared::{Sharing, wavefronts};
use super::code::{Exec, Inst, Step};
use super::env::Env;
use super::exec::lanes::{Lanes, bits};
use super::exec::memory::{address, local_offset};
use super::watch::{Note, Touch, What, copies, touches};
use crate::profile::{Counts, Heat, Profiler};

/// Bytes of a sector, the least that is moved between the L1 cache and the L2 cache.
const SECTOR: u64 = 32;

/// Counts, and runs the instruction.
pub(super) const PROFILE: Exec = |lanes, inst| {
    let Some((code, at, profiled)) = lanes.profiled(inst) else { return Step::Fault };
    if let Some(mut profile) = lanes.profile.take() {
        // SAFETY: 1: the instruction is of the entered code, duty 2 of `Exec`, and `profiled` is what the decoder noted about it.
        unsafe { profile.before(lanes, inst, profiled, (code, at)) };
        lanes.profile = Some(profile);
    }
    // SAFETY: 1, 2: what the decoder chose for the instruction and this CPU before it put this in its place: the duties
    // of `Exec` are the caller's.
    let step = unsafe { (profiled.exec)(lanes, inst) };
    if let Some(profile) = &mut lanes.profile {
        profile.end_bulk((code, at));
        profile.end_elements((code, at));
    }
    step
};

/// The counts of a worker for a launch.
pub(super) struct Profile {
    profiler: Arc<Profiler>,
    counted: Counted,
    /// By the linear number of a block, then by warp: how far each is.
    clocks: HashMap<u64, Vec<Clock>>,
    heat: Heat,
    /// The bytes that the running instruction moves, if it is a bulk copy.
    bulk: Bulk,
    /// The bytes of elements that it accesses, if it is an access to a texture or a surface.
    elements: Option<(Image, u64)>,
}

/// How far a warp is.
#[derive(Clone, Copy, Default)]
struct Clock {
    /// Whether it has executed anything.
    begun: bool,
    /// Instructions that it has executed, and for which it has waited.
    now: u64,
    /// The time of its arrival at a barrier that has not opened yet, and the instruction at which it waits.
    arrived: Option<(u64, Option<(usize, usize)>)>,
}

impl Profile {
    /// For a launch in memory that has a profiler.
    pub(super) fn new(env: &Env<'_>) -> Option<Box<Profile>> {
        let profiler = Arc::clone(env.memory.profiler()?);
        Some(Box::new(Profile {
            profiler,
            counted: Counted::new(env.kernel),
            clocks: HashMap::new(),
            heat: Heat::default(),
            bulk: Bulk::default(),
            elements: None,
        }))
    }

    fn counts(&mut self, place: (usize, usize)) -> Option<&mut Counts> {
        self.counted.at(place)
    }

    /// Threads of a warp enter that function of the kernel together.
    pub(super) fn enters(&mut self, code: usize) {
        self.counted.enters(code);
    }

    /// Threads of a warp jump to one of the targets of a `brx.idx`, at that instruction of that function.
    pub(super) fn jumps(&mut self, place: (usize, usize), target: u32, threads: u32) {
        self.counted.jumps(place, target, threads);
    }

    /// An instruction is about to run.
    ///
    /// # Safety
    /// 1. `inst` is an instruction of the entered code, and `profiled` what the decoder noted about it.
    unsafe fn before(
        &mut self,
        lanes: &mut Lanes<'_>,
        inst: &Inst,
        profiled: &Profiled,
        place: (usize, usize),
    ) {
        let mask = lanes.mask();
        // SAFETY: 1: the guard of an instruction of the entered code: the caller's duty 1.
        let on = mask & unsafe { lanes.passing(inst.guard) };
        let time = self.tick(lanes, profiled, place, on != 0);
        self.bulk.begin(time);
        let Some(counts) = self.counted.at(place) else { return };
        counts.warps += 1;
        counts.threads += u64::from(mask.count_ones());
        counts.threads_on += u64::from(on.count_ones());
        if profiled.conditional {
            counts.taken += u64::from(on.count_ones());
            counts.not_taken += u64::from((mask & !on).count_ones());
            counts.divergent += u64::from(on != 0 && on != mask);
        }
        if profiled.local > 0 && on != 0 {
            counts.local_requests += 1;
            counts.local_bytes += profiled.local * u64::from(on.count_ones());
        }
        let Some(note) = profiled.note.filter(|_| on != 0) else { return };
        lanes.set_mask(on);
        let (block, blocks) = (lanes.block().linear, blocks(lanes.env));
        let sharing = sharing(note.what, profiled.increments);
        let mut access = |counts: &mut Counts, env: &Env<'_>, touches: &[Touch]| {
            access(counts, env, (touches, sharing), |touch, sector| {
                let start = (sector * SECTOR).saturating_sub(touch.region.base);
                self.heat.count((touch.region.base, touch.region.len), start, time, (block, blocks));
            });
        };
        match note.what {
            // SAFETY: 1: the note, the instruction's own, says that it is a `cp.async`: the caller's duty 1.
            What::Copy => unsafe {
                let (sources, targets) = copies(lanes, inst);
                access(counts, lanes.env, &sources);
                access(counts, lanes.env, &targets);
            },
            What::LoadRows(addressing) | What::StoreRows(addressing) => {
                lanes.set_mask(on & addressing);
                // SAFETY: 1: an instruction of the entered code, and the note is its own: the caller's duty 1.
                let touches = unsafe { touches(lanes, inst, &note) };
                access(counts, lanes.env, &touches);
            }
            What::Load | What::Store { .. } | What::Atomic { .. } => {
                // SAFETY: 1: an instruction of the entered code, and the note is its own: the caller's duty 1.
                let touches = unsafe { touches(lanes, inst, &note) };
                access(counts, lanes.env, &touches);
                // SAFETY: 1: an instruction of the entered code, and the note is its own: the caller's duty 1.
                let local = unsafe { local(lanes, inst, &note) };
                counts.local_requests += u64::from(local > 0);
                counts.local_bytes += local * note.bytes;
                if matches!(note.what, What::Atomic { .. }) {
                    let places: BTreeSet<u64> = touches.iter().map(Touch::host).collect();
                    counts.collisions += (touches.len() - places.len()) as u64;
                }
            }
            What::Fetch | What::Barrier { .. } | What::Fence | What::WarpSync => {}
        }
        lanes.set_mask(mask);
    }

    /// A warp executes an instruction, or skips it with all its threads; how far it is.
    fn tick(&mut self, lanes: &Lanes<'_>, profiled: &Profiled, place: (usize, usize), runs: bool) -> u64 {
        let (block, warp) = (lanes.block().linear, lanes.warp().index as usize);
        let clocks = self.clocks.entry(block).or_default();
        if clocks.len() <= warp {
            clocks.resize(warp + 1, Clock::default());
        }
        let Some(clock) = clocks.get_mut(warp) else { return 0 };
        if !std::mem::replace(&mut clock.begun, true) {
            self.counted.enters(0);
        }
        clock.now += u64::from(profiled.first);
        if let Some(waits) = profiled.barrier.filter(|_| runs) {
            clock.arrived = Some((clock.now, waits.then_some(place)));
        }
        clock.now
    }

    /// A barrier of a block opens, at which these warps have arrived.
    pub(super) fn met(&mut self, block: u64, warps: &[usize]) {
        let Some(clocks) = self.clocks.get_mut(&block) else { return };
        let mut arrived = Vec::new();
        for warp in warps {
            let Some(clock) = clocks.get_mut(*warp) else { continue };
            arrived.extend(clock.arrived.take().map(|(time, place)| (*warp, time, place)));
        }
        let last = arrived.iter().map(|(_, time, _)| *time).max().unwrap_or(0);
        for (warp, time, place) in arrived {
            let Some(place) = place else { continue };
            if let Some(clock) = self.clocks.get_mut(&block).and_then(|clocks| clocks.get_mut(warp)) {
                clock.now += last - time;
            }
            if let Some(counts) = self.counts(place) {
                counts.barrier_wait += last - time;
            }
        }
    }

    /// These blocks, by their linear numbers, have ended.
    pub(super) fn left(&mut self, blocks: impl Iterator<Item = u64>) {
        blocks.for_each(|block| drop(self.clocks.remove(&block)));
    }

    /// Reports the counts; the first worker also reports the launch itself.
    pub(super) fn finish(self, env: &Env<'_>, first: bool) {
        let blocks = blocks(env);
        let mut profile = self.counted.of(env.kernel);
        profile.allocations = self.heat.into_allocations();
        if first {
            profile.launches = 1;
            profile.blocks = blocks;
            profile.threads = blocks * volume(env.launch.block);
        }
        self.profiler.add(profile);
    }
}

fn volume(extents: [u32; 3]) -> u64 {
    extents.iter().map(|extent| u64::from(*extent)).product()
}

/// The blocks of a launch.
fn blocks(env: &Env<'_>) -> u64 {
    volume(env.launch.grid)
}

/// Threads that access local memory.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code, and the note is its own.
unsafe fn local(lanes: &Lanes<'_>, inst: &Inst, note: &Note) -> u64 {
    let Some(slot) = inst.ops.get(note.address).filter(|_| note.bytes > 0) else { return 0 };
    let is_local = |lane: &usize| {
        // SAFETY: 1: the note says which operand is the address: the caller's duty 1; 2: lanes of a mask are below 32.
        let address = unsafe { address(lanes, inst, *slot, *lane) };
        local_offset(lanes, inst, address, note.bytes).is_some()
    };
    bits(lanes.mask()).filter(is_local).count() as u64
}

/// How the threads of an instruction share passes over the banks.
fn sharing(what: What, increments: bool) -> Sharing {
    match what {
        What::Load => Sharing::Loads,
        What::Atomic { .. } if !increments => Sharing::Nothing,
        What::Copy => Sharing::Nothing,
        _ => Sharing::Words,
    }
}

/// Counts one access of a warp; `each` is told of each sector of global memory, with an access to it.
fn access(
    counts: &mut Counts,
    env: &Env<'_>,
    (touches, sharing): (&[Touch], Sharing),
    mut each: impl FnMut(&Touch, u64),
) {
    let constant = |touch: &&Touch| {
        let inside = |&(start, bytes): &(u64, u64)| touch.address.wrapping_sub(start) < bytes;
        env.kernel.constants.iter().any(inside)
    };
    // An access goes to one kind of memory; generic addresses of several count for each.
    let (shared, others): (Vec<&Touch>, Vec<&Touch>) = touches.iter().partition(|touch| touch.region.private);
    let (constants, global): (Vec<&Touch>, Vec<&Touch>) = others.into_iter().partition(constant);
    if !global.is_empty() {
        let mut all: BTreeMap<u64, &Touch> = BTreeMap::new();
        global.iter().for_each(|touch| all.extend(sectors(touch).map(|sector| (sector, *touch))));
        all.iter().for_each(|(sector, touch)| each(touch, *sector));
        let bytes = global.iter().map(|touch| touch.bytes).sum::<u64>();
        counts.global_requests += 1;
        counts.global_sectors += all.len() as u64;
        // Threads that request the same bytes may need less.
        counts.global_sectors_ideal += bytes.div_ceil(SECTOR).min(all.len() as u64);
        counts.global_bytes += bytes;
    }
    if !shared.is_empty() {
        let (wavefronts, ideal) = wavefronts(&shared, sharing);
        counts.shared_requests += 1;
        counts.shared_wavefronts += wavefronts;
        counts.shared_wavefronts_ideal += ideal;
        counts.shared_bytes += shared.iter().map(|touch| touch.bytes).sum::<u64>();
    }
    counts.constant_requests += u64::from(!constants.is_empty());
    counts.constant_bytes += constants.iter().map(|touch| touch.bytes).sum::<u64>();
}

fn sectors(touch: &Touch) -> std::ops::RangeInclusive<u64> {
    touch.address / SECTOR..=(touch.address + touch.bytes - 1) / SECTOR
}
