//! From stamps to findings: one for each place in the code.

use std::collections::{HashMap, HashSet};

use super::super::code::Origin;
use super::super::env::Env;
use super::super::kernel::Kernel;
use super::bounds::LaneAccess;
use super::event::Event;
use super::family::Elsewhere;
use super::note::{Watched, What};
use super::place::Touch;
use super::stamp::{How, Stamp};
use super::unit::{Shape, WarpId};
use super::value::{Origin as Cause, Use};
use crate::check::{Actor, Bytes, Finding, FindingKind, Space};

const REGISTER_ADVICE: &str = "that register was never written on the way there";
const LOCAL_ADVICE: &str = "that local memory, of an array or a variable with an address, was never written";
const SHUFFLE_ADVICE: &str =
    "the lane that it reads takes no part in the shuffle: it is not in the mask, or its thread has returned";

/// Stands for the site of an atomic access by another grid.
const ATOMIC_ELSEWHERE: u32 = u32::MAX - 1;

/// Threads of a warp at a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtBarrier {
    /// Index of the function in the kernel.
    pub(crate) function: usize,
    /// The instruction.
    pub(crate) pc: u32,
    /// The first of them.
    pub(crate) lane: u8,
}

/// The findings of a launch.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// With the sites of the two accesses.
    list: Vec<(Finding, [u32; 2])>,
    /// Those whose other access is by another grid: index in `list` by kernel and site of that and the site of the other.
    across: HashMap<(String, u32, u32), usize>,
    /// Index in `list` by kind and sites.
    known: HashMap<(FindingKind, u32, u32), usize>,
    /// Index in `list` by function and instruction of the two barriers.
    barriers: HashMap<[(usize, u32); 2], usize>,
}

impl Reports {
    /// Adds what a lane does; `other` is the access that it conflicts with.
    pub(super) fn add(
        &mut self,
        env: &Env<'_>,
        kind: FindingKind,
        touch: &Touch,
        (stamp, what): (Stamp, What),
        other: Option<Stamp>,
        advice: &'static str,
    ) {
        let what = (stamp, what);
        let site = other.map_or(u32::MAX, |other| other.site);
        if !self.again((kind, stamp.site.min(site), stamp.site.max(site))) {
            self.add_at(env, kind, LaneAccess::of(touch).bytes_at(place(env, touch)), what, other, advice);
        }
    }

    /// Adds that a lane's access is not ordered behind one by another grid.
    pub(super) fn add_across(
        &mut self,
        env: &Env<'_>,
        touch: &Touch,
        (stamp, what): (Stamp, What),
        (other, elsewhere): (Stamp, &Elsewhere<'_>),
    ) {
        // Reads that were only guesses are none against atomics, which this grid's own are looked at for when it ends.
        let is_atomic = |what: Option<What>| matches!(what, Some(What::Atomic { .. }));
        if elsewhere.is_guess && is_atomic(Some(what)) {
            return;
        }
        let key = (elsewhere.kernel.name.clone(), other.site, stamp.site);
        if let Some((known, _)) = self.across.get(&key).and_then(|index| self.list.get_mut(*index)) {
            known.times = known.times.saturating_add(1);
            return;
        }
        self.across.insert(key, self.list.len());
        let kernel = elsewhere.kernel;
        let watched = kernel.watched.get(other.site as usize);
        let finding = Finding {
            kind: FindingKind::Race,
            kernel: env.kernel.name.clone(),
            bytes: Some(LaneAccess::of(touch).bytes_at(place(env, touch))),
            access: actor(env, stamp, Some(what)),
            other: Some(Actor {
                kernel: Some(kernel.name.clone()),
                ..actor_in(kernel, &elsewhere.shape, other, verb(watched, other.how, None))
            }),
            advice: Some(elsewhere.advice),
            times: 1,
        };
        let is_atomic = is_atomic(watched.and_then(|watched| watched.note).map(|note| note.what));
        self.list.push((finding, [stamp.site, if is_atomic { ATOMIC_ELSEWHERE } else { u32::MAX }]));
    }

    /// Counts a finding that is known.
    fn again(&mut self, key: (FindingKind, u32, u32)) -> bool {
        let known = self.known.get(&key).and_then(|index| self.list.get_mut(*index));
        known.map(|(known, _)| known.times = known.times.saturating_add(1)).is_some()
    }

    /// The same, saying where it is.
    #[allow(clippy::too_many_arguments)] // what a finding has
    pub(super) fn add_at(
        &mut self,
        env: &Env<'_>,
        kind: FindingKind,
        bytes: Bytes,
        (stamp, what): (Stamp, What),
        other: Option<Stamp>,
        advice: &'static str,
    ) {
        let site = other.map_or(u32::MAX, |other| other.site);
        let key = (kind, stamp.site.min(site), stamp.site.max(site));
        if let Some((known, _)) = self.known.get(&key).and_then(|index| self.list.get_mut(*index)) {
            known.times = known.times.saturating_add(1);
            return;
        }
        self.known.insert(key, self.list.len());
        let finding = Finding {
            kind,
            kernel: env.kernel.name.clone(),
            bytes: Some(bytes),
            access: actor(env, stamp, Some(what)),
            other: other.map(|other| actor(env, other, None)),
            advice: (!advice.is_empty()).then_some(advice),
            times: 1,
        };
        self.list.push((finding, [stamp.site, site]));
    }

    /// Adds that a lane lets an undefined value decide something.
    pub(super) fn add_undefined(&mut self, env: &Env<'_>, who: WarpId, site: u32, used: Use) {
        let kind = FindingKind::UndefinedValue;
        let key = (kind, site, used.from.site);
        if self.again(key) {
            return;
        }
        self.known.insert(key, self.list.len());
        let stamp =
            |site| Stamp { unit: who.unit, warp: who.warp as u16, lane: used.lane, site, ..Stamp::default() };
        let (verb, advice) = match used.from.origin {
            Cause::Shuffle => ("shuffle", SHUFFLE_ADVICE),
            Cause::Register => ("first read", REGISTER_ADVICE),
            Cause::Local => ("read of local memory", LOCAL_ADVICE),
        };
        let other = (used.from.site != site).then(|| actor_with(env, stamp(used.from.site), verb));
        let access = actor_with(env, stamp(site), used.verb);
        let (kernel, advice) = (env.kernel.name.clone(), Some(advice));
        let finding = Finding { kind, kernel, bytes: None, access, other, advice, times: 1 };
        self.list.push((finding, [site, used.from.site]));
    }

    /// Adds that a lane reads elements of a texture or surface that were not written.
    pub(super) fn add_fetch(&mut self, env: &Env<'_>, (who, lane): (WarpId, u8), site: u32, address: u64) {
        let kind = FindingKind::Uninitialised;
        if self.again((kind, site, u32::MAX)) {
            return;
        }
        self.known.insert((kind, site, u32::MAX), self.list.len());
        let stamp = Stamp { unit: who.unit, warp: who.warp as u16, lane, site, ..Stamp::default() };
        let bytes = Bytes { space: Space::Global, address, count: 1, place: env.memory.describe(address, 1) };
        let (kernel, access) = (env.kernel.name.clone(), actor_with(env, stamp, "texture or surface read"));
        let finding =
            Finding { kind, kernel, bytes: Some(bytes), access, other: None, advice: None, times: 1 };
        self.list.push((finding, [site, u32::MAX]));
    }

    /// Adds that a warp uses registers that a product uses, or that no fence orders before one.
    pub(super) fn add_registers(
        &mut self,
        env: &Env<'_>,
        kind: FindingKind,
        (stamp, verb): (Stamp, &'static str),
        (other, other_verb): (Stamp, &'static str),
        advice: &'static str,
    ) {
        let key = (kind, stamp.site.min(other.site), stamp.site.max(other.site));
        if let Some((known, _)) = self.known.get(&key).and_then(|index| self.list.get_mut(*index)) {
            known.times = known.times.saturating_add(1);
            return;
        }
        self.known.insert(key, self.list.len());
        let finding = Finding {
            kind,
            kernel: env.kernel.name.clone(),
            bytes: None,
            access: actor_with(env, stamp, verb),
            other: Some(actor_with(env, other, other_verb)),
            advice: Some(advice),
            times: 1,
        };
        self.list.push((finding, [stamp.site, other.site]));
    }

    /// Adds threads of a warp at two barriers, those that arrived last first.
    pub(super) fn add_barriers(&mut self, env: &Env<'_>, who: WarpId, at: [AtBarrier; 2]) {
        let mut key = at.map(|at| (at.function, at.pc));
        key.sort_unstable();
        if let Some((known, _)) = self.barriers.get(&key).and_then(|index| self.list.get_mut(*index)) {
            known.times = known.times.saturating_add(1);
            return;
        }
        self.barriers.insert(key, self.list.len());
        let [access, other] =
            at.map(|at| actor_at(env, (who, at.lane), "arrival", origin_of(env, at), at.function));
        let (kind, kernel) = (FindingKind::DivergentBarrier, env.kernel.name.clone());
        let finding =
            Finding { kind, kernel, bytes: None, access, other: Some(other), advice: None, times: 1 };
        self.list.push((finding, [u32::MAX; 2]));
    }

    /// Adds that a lane arrives at the cluster's barrier, or waits there, when it should not.
    pub(super) fn add_misuse(&mut self, env: &Env<'_>, who: WarpId, at: AtBarrier, how: &'static str) {
        let key = (FindingKind::ClusterBarrier, at.function as u32, at.pc);
        if let Some((known, _)) = self.known.get(&key).and_then(|index| self.list.get_mut(*index)) {
            known.times = known.times.saturating_add(1);
            return;
        }
        self.known.insert(key, self.list.len());
        let finding = Finding {
            kind: FindingKind::ClusterBarrier,
            kernel: env.kernel.name.clone(),
            bytes: None,
            access: actor_at(env, (who, at.lane), "use", origin_of(env, at), at.function),
            other: None,
            advice: Some(how),
            times: 1,
        };
        self.list.push((finding, [u32::MAX; 2]));
    }

    /// Adds that a lane passed by the barrier where others of its warp wait: it has already executed what they execute now.
    pub(super) fn add_passing(&mut self, env: &Env<'_>, who: WarpId, at: AtBarrier, (site, lane): (u32, u8)) {
        let origin = origin_of(env, at);
        let behind = |watched: &Watched| watched.function == at.function && watched.origin.line > origin.line;
        if !env.kernel.watched.get(site as usize).is_some_and(behind) {
            return;
        }
        let key = (FindingKind::DivergentBarrier, at.pc, site);
        if let Some((known, _)) = self.known.get(&key).and_then(|index| self.list.get_mut(*index)) {
            known.times = known.times.saturating_add(1);
            return;
        }
        self.known.insert(key, self.list.len());
        let stamp = Stamp { unit: who.unit, warp: who.warp as u16, lane, site, ..Stamp::default() };
        let finding = Finding {
            kind: FindingKind::DivergentBarrier,
            kernel: env.kernel.name.clone(),
            bytes: None,
            access: actor_at(env, (who, at.lane), "arrival", origin, at.function),
            other: Some(actor(env, stamp, None)),
            advice: Some("this thread has passed by the barrier"),
            times: 1,
        };
        self.list.push((finding, [u32::MAX; 2]));
    }

    /// What is left at the end: without reads that were only guesses, against atomics.
    pub(super) fn finish(self, env: &Env<'_>, guesses: &HashSet<u32>) -> impl Iterator<Item = Finding> {
        let is_atomic = |site: &u32| {
            if *site == ATOMIC_ELSEWHERE {
                return true;
            }
            let watched = env.kernel.watched.get(*site as usize);
            let note = watched.and_then(|watched| watched.note);
            note.is_some_and(|note| matches!(note.what, What::Atomic { .. }))
        };
        let matters = move |sites: &[u32; 2]| {
            !(sites.iter().any(|site| guesses.contains(site)) && sites.iter().any(is_atomic))
        };
        self.list.into_iter().filter(move |(_, sites)| matters(sites)).map(|(finding, _)| finding)
    }
}

/// Where a barrier comes from.
fn origin_of(env: &Env<'_>, at: AtBarrier) -> Origin {
    let code = env.kernel.codes.get(at.function);
    code.and_then(|code| code.origins.get(at.pc as usize)).copied().unwrap_or_default()
}

fn place(env: &Env<'_>, touch: &Touch) -> String {
    match touch.region.private {
        true => format!("at offset {} of {}", touch.offset(), touch.region.len),
        false => env.memory.describe(touch.address, touch.bytes),
    }
}

/// Who did it; `what` where the instruction does more than one thing.
fn actor(env: &Env<'_>, stamp: Stamp, what: Option<What>) -> Actor {
    actor_with(env, stamp, verb(env.kernel.watched.get(stamp.site as usize), stamp.how, what))
}

/// What an instruction does; `what` where it does more than one thing.
fn verb(watched: Option<&Watched>, how: How, what: Option<What>) -> &'static str {
    let what = what.or(watched.and_then(|watched| watched.note).map(|note| note.what));
    match (how.is_asynchronous(), what) {
        (true, Some(What::Load)) => "asynchronous read",
        (true, Some(What::Store { .. })) => "asynchronous write",
        (true, Some(What::Atomic { .. })) => "asynchronous reduction",
        (true, _) => watched.and_then(|watched| watched.event).map_or("asynchronous copy", Event::verb),
        (false, what) => what.map_or("access", What::verb),
    }
}

fn actor_with(env: &Env<'_>, stamp: Stamp, verb: &'static str) -> Actor {
    actor_in(env.kernel, &Shape::of(env), stamp, verb)
}

/// The same of a kernel whose grid had that shape.
pub(super) fn actor_in(kernel: &Kernel, shape: &Shape, stamp: Stamp, verb: &'static str) -> Actor {
    let watched = kernel.watched.get(stamp.site as usize);
    let who = WarpId { unit: stamp.unit, warp: usize::from(stamp.warp) };
    let origin = watched.map(|watched| watched.origin).unwrap_or_default();
    let function = watched.map_or(usize::MAX, |watched| watched.function);
    actor_of(kernel, who.thread(shape, stamp.lane), verb, origin, function)
}

fn actor_at(
    env: &Env<'_>,
    (who, lane): (WarpId, u8),
    verb: &'static str,
    origin: Origin,
    function: usize,
) -> Actor {
    actor_of(env.kernel, who.thread(&Shape::of(env), lane), verb, origin, function)
}

fn actor_of(
    kernel: &Kernel,
    (block, thread): ([u32; 3], [u32; 3]),
    verb: &'static str,
    origin: Origin,
    function: usize,
) -> Actor {
    let code = kernel.codes.get(function);
    Actor {
        verb,
        block,
        thread,
        ptx_line: origin.line,
        source: kernel.source(origin).map(|(file, line)| (file.to_owned(), line)),
        function: code.filter(|code| code.name != kernel.name).map(|code| code.name.clone()),
        kernel: None,
        stream: None,
    }
}
