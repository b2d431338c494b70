//! From stamps to findings: one for each place in the code.

use std::collections::{HashMap, HashSet};

use super::super::env::Env;
use super::note::What;
use super::place::Touch;
use super::stamp::Stamp;
use super::unit::Who;
use crate::check::{Actor, Finding, FindingKind, Space};

/// The findings of a launch.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// With the sites of the two accesses.
    list: Vec<(Finding, [u32; 2])>,
    /// Index in `list` by kind and sites.
    known: HashMap<(FindingKind, u32, u32), usize>,
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
            space: if touch.region.private { Space::Shared } else { Space::Global },
            address: touch.address,
            bytes: touch.bytes as u32,
            place: place(env, touch),
            access: actor(env, stamp, Some(what)),
            other: other.map(|other| actor(env, other, None)),
            times: 1,
        };
        self.list.push((finding, [stamp.site, site]));
    }

    /// What is left at the end: without reads that were only guesses, against atomics.
    pub(super) fn finish(self, env: &Env<'_>, guesses: &HashSet<u32>) -> impl Iterator<Item = Finding> {
        let is_atomic = |site: &u32| {
            let watched = env.kernel.watched.get(*site as usize);
            watched.is_some_and(|watched| matches!(watched.note.what, What::Atomic { .. }))
        };
        let matters = move |sites: &[u32; 2]| {
            !(sites.iter().any(|site| guesses.contains(site)) && sites.iter().any(is_atomic))
        };
        self.list.into_iter().filter(move |(_, sites)| matters(sites)).map(|(finding, _)| finding)
    }
}

fn place(env: &Env<'_>, touch: &Touch) -> String {
    match touch.region.private {
        true => format!("at offset {} of {}", touch.offset(), touch.region.len),
        false => env.memory.describe(touch.address, touch.bytes),
    }
}

/// Who did it; `what` where the instruction does more than one thing.
fn actor(env: &Env<'_>, stamp: Stamp, what: Option<What>) -> Actor {
    let watched = env.kernel.watched.get(stamp.site as usize);
    let who = Who { unit: stamp.unit, warp: usize::from(stamp.warp) };
    let (block, thread) = who.thread(env, stamp.lane);
    let origin = watched.map(|watched| watched.origin).unwrap_or_default();
    let file = env.kernel.files.get(&origin.file);
    let code = watched.and_then(|watched| env.kernel.codes.get(watched.function));
    let what = what.or(watched.map(|watched| watched.note.what));
    Actor {
        verb: what.map_or("access", What::verb),
        block,
        thread,
        ptx_line: origin.line,
        source: file.map(|file| (file.clone(), origin.source_line)),
        function: code.filter(|code| code.name != env.kernel.name).map(|code| code.name.clone()),
    }
}
