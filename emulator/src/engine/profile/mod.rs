//! Counts what a launch does, instruction by instruction.
//!
//! Where a module's memory has a [`Profiler`], the decoder puts [`PROFILE`] in place of every instruction: it counts, and runs what
//! was there. Other modules are decoded as ever. Each worker counts for itself, and hands over at the end of the launch.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`; the decoder puts `PROFILE` only in code that knows what it replaces.

mod note;

pub(super) use note::Profiled;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::code::{Exec, Inst, Step};
use super::env::Env;
use super::exec::lanes::Lanes;
use super::watch::{Touch, What, copies, touches};
use crate::profile::{Counts, InstructionProfile, KernelProfile, Profiler};

/// Bytes of a sector, the least that is moved between the L1 cache and the L2 cache.
const SECTOR: u64 = 32;
/// Banks of shared memory, each of one word.
const BANKS: u64 = 32;
const WORD: u64 = 4;

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
    let (mask, target) = (lanes.mask(), lanes.taken);
    if profiled.conditional
        && let Some(counts) = lanes.profile.as_mut().and_then(|profile| profile.counts((code, at)))
    {
        let taken = match step {
            Step::Jump => mask,
            Step::Diverge => target,
            _ => 0,
        };
        counts.divergent += u64::from(step == Step::Diverge);
        counts.taken += u64::from(taken.count_ones());
        counts.not_taken += u64::from((mask & !taken).count_ones());
    }
    step
};

/// What a worker has counted of a launch.
pub(super) struct Profile {
    profiler: Arc<Profiler>,
    /// By function of the kernel, then by instruction.
    counts: Vec<Vec<Counts>>,
}

impl Profile {
    /// For a launch in memory that has a profiler.
    pub(super) fn new(env: &Env<'_>) -> Option<Box<Profile>> {
        let profiler = Arc::clone(env.memory.profiler()?);
        let counts = env.kernel.codes.iter().map(|code| vec![Counts::default(); code.insts.len()]).collect();
        Some(Box::new(Profile { profiler, counts }))
    }

    fn counts(&mut self, (code, at): (usize, usize)) -> Option<&mut Counts> {
        self.counts.get_mut(code)?.get_mut(at)
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
        let Some(counts) = self.counts(place) else { return };
        let mask = lanes.mask();
        // SAFETY: 1: the guard of an instruction of the entered code: the caller's duty 1.
        let on = mask & unsafe { lanes.passing(inst.guard) };
        counts.warps += 1;
        counts.threads += u64::from(mask.count_ones());
        counts.threads_on += u64::from(on.count_ones());
        let Some(note) = profiled.note.filter(|_| on != 0) else { return };
        lanes.set_mask(on);
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
                if matches!(note.what, What::Atomic { .. }) {
                    let places: BTreeSet<u64> = touches.iter().map(Touch::host).collect();
                    counts.collisions += (touches.len() - places.len()) as u64;
                }
            }
            What::Barrier { .. } | What::Fence | What::WarpSync => {}
        }
        lanes.set_mask(mask);
    }

    /// Hands over what was counted; the first worker also tells of the launch itself.
    pub(super) fn finish(self, env: &Env<'_>, first: bool) {
        let volume = |extents: [u32; 3]| extents.iter().map(|extent| u64::from(*extent)).product::<u64>();
        let blocks = volume(env.launch.grid);
        let files: BTreeMap<u32, Arc<str>> =
            env.kernel.files.iter().map(|(number, name)| (*number, Arc::from(name.as_str()))).collect();
        let mut instructions: Vec<InstructionProfile> = Vec::new();
        let codes = env.kernel.codes.iter().zip(&env.kernel.profiled).zip(&self.counts);
        for ((code, profiled), counts) in codes {
            let function: Arc<str> = code.name.as_str().into();
            let mut last = 0;
            for ((origin, profiled), counts) in code.origins.iter().zip(profiled).zip(counts) {
                // Statement 0: the decoder's own.
                match instructions.last_mut() {
                    _ if origin.statement == 0 => continue,
                    Some(known) if origin.statement == last => one_more(known, profiled, counts),
                    _ => instructions.push(InstructionProfile {
                        function: Arc::clone(&function),
                        ptx_line: origin.line,
                        source: files.get(&origin.file).map(|file| (Arc::clone(file), origin.source_line)),
                        conditional: profiled.conditional,
                        counts: *counts,
                    }),
                }
                last = origin.statement;
            }
        }
        self.profiler.add(KernelProfile {
            kernel: env.kernel.name.clone(),
            text: Arc::clone(&env.kernel.text),
            launches: u64::from(first),
            blocks: if first { blocks } else { 0 },
            threads: if first { blocks * volume(env.launch.block) } else { 0 },
            instructions,
        });
    }
}

/// An instruction goes on: what computes its operands comes first, and is for all its threads.
fn one_more(known: &mut InstructionProfile, part: &Profiled, counts: &Counts) {
    known.conditional |= part.conditional;
    known.counts += *counts;
    (known.counts.warps, known.counts.threads) = (counts.warps, counts.threads);
    known.counts.threads_on = counts.threads_on;
}

/// Counts one access of a warp.
fn access(counts: &mut Counts, env: &Env<'_>, touches: &[Touch]) {
    let constant = |touch: &&Touch| {
        let inside = |&(start, bytes): &(u64, u64)| touch.address.wrapping_sub(start) < bytes;
        env.kernel.constants.iter().any(inside)
    };
    // An access goes to one kind of memory; generic addresses of both count for both.
    let (shared, others): (Vec<&Touch>, Vec<&Touch>) = touches.iter().partition(|touch| touch.region.private);
    let global: Vec<_> = others.into_iter().filter(|touch| !constant(touch)).collect();
    if let Some(first) = global.first() {
        let sectors: BTreeSet<u64> = global.iter().flat_map(|touch| sectors(touch)).collect();
        let places: BTreeSet<u64> = global.iter().map(|touch| touch.address).collect();
        counts.global_requests += 1;
        counts.global_sectors += sectors.len() as u64;
        counts.global_sectors_ideal += (places.len() as u64 * first.bytes).div_ceil(SECTOR);
        counts.global_bytes += global.iter().map(|touch| touch.bytes).sum::<u64>();
    }
    if let Some(first) = shared.first() {
        let (wavefronts, ideal) = wavefronts(&shared, first.bytes);
        counts.shared_requests += 1;
        counts.shared_wavefronts += wavefronts;
        counts.shared_wavefronts_ideal += ideal;
        counts.shared_bytes += shared.iter().map(|touch| touch.bytes).sum::<u64>();
    }
}

fn sectors(touch: &Touch) -> std::ops::RangeInclusive<u64> {
    touch.address / SECTOR..=(touch.address + touch.bytes - 1) / SECTOR
}

/// Passes over the banks, and how many there would be without conflicts: as many lanes at a time as together ask for no more than all
/// banks hold; each pass takes one word of each bank.
fn wavefronts(touches: &[&Touch], bytes: u64) -> (u64, u64) {
    let together = (BANKS * WORD / bytes.max(WORD)).max(1) as usize;
    let (mut passes, mut ideal) = (0, 0);
    for group in 0..32usize.div_ceil(together) {
        let lanes = group * together..(group + 1) * together;
        let mut words: BTreeSet<u64> = BTreeSet::new();
        for touch in touches.iter().filter(|touch| lanes.contains(&touch.lane)) {
            words.extend(touch.address / WORD..=(touch.address + touch.bytes - 1) / WORD);
        }
        let mut banks = [0u64; BANKS as usize];
        words.iter().for_each(|word| banks[(word % BANKS) as usize] += 1);
        passes += banks.iter().max().copied().unwrap_or(0);
        ideal += u64::from(!words.is_empty());
    }
    (passes, ideal)
}
