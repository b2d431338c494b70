//! The work that something may still race with, and its comparison.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::held::{Held, Pair};
use super::runs::Reach;
use super::vector_clock::{Epoch, VectorClock};
use super::{Actor, Finding, Frees, Label, Work};

#[cfg(test)]
mod tests;

/// Pieces of work, and runs of bytes (of 24 bytes each) in all of them, that are remembered. Then the oldest are forgotten.
const MOST_WORK: usize = if cfg!(test) { 64 } else { 4096 };
const MOST_RUNS: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Table {
    /// The last number given to a lane or a piece of work.
    last: u64,
    /// How often the host has learned something.
    learned: u64,
    /// What is submitted and not over: how many pieces behind each point of what the host knew.
    submitted: BTreeMap<u64, usize>,
    work: BTreeMap<u64, Work>,
    /// What of it is not over.
    running: BTreeSet<u64>,
    /// How many pieces of work each lane has there.
    lanes: HashMap<u64, usize>,
    held: Held,
    /// Work was forgotten that may have synchronised with others: the number of what began next when the last such was over.
    lost: u64,
}

/// What a piece of work has led to at its end.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) findings: Vec<Finding>,
    /// Whether older work was forgotten, or races that nobody can be certain of.
    pub(super) is_full: bool,
}

impl Table {
    pub(super) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn submit(&mut self) -> VectorClock {
        *self.submitted.entry(self.learned).or_default() += 1;
        self.known()
    }

    pub(super) fn over(&mut self, submitted: &VectorClock) {
        if let Some(count) = self.submitted.get_mut(&submitted.host) {
            *count -= 1;
            if *count == 0 {
                self.submitted.remove(&submitted.host);
            }
        }
        self.forget_useless();
    }

    pub(super) fn known(&self) -> VectorClock {
        VectorClock::of_host(self.learned)
    }

    pub(super) fn shorten(&self, past: &mut VectorClock) {
        past.retain(|lane| self.lanes.contains_key(&lane));
    }

    pub(super) fn learn(&mut self, past: &VectorClock) {
        if self.learn_at(past, self.learned + 1) {
            self.learned += 1;
            self.forget_useless();
        }
    }

    /// The host knew at that point that all of that is over. Whether anything of it is new.
    fn learn_at(&mut self, past: &VectorClock, point: u64) -> bool {
        let (mut is_new, mut all) = (false, vec![past.clone()]);
        while let Some(past) = all.pop() {
            for work in self.work.values_mut() {
                if work.known.is_none_or(|known| known > point) && work.is_in(&past) {
                    (work.known, is_new) = (Some(point), true);
                    // Of what it has synchronised with the rest is not in there.
                    if !work.partners.is_empty() {
                        all.push(work.past.clone());
                    }
                }
            }
        }
        is_new
    }

    pub(super) fn begin(&mut self, past: &mut VectorClock, lane: u64, label: Label) -> u64 {
        let count = self.number();
        let epoch = Epoch { lane, count };
        self.work.insert(count, Work::new(epoch, past.clone(), label));
        self.running.insert(count);
        *self.lanes.entry(lane).or_default() += 1;
        past.add(epoch);
        count
    }

    /// The work with that number, and all before it.
    pub(super) fn past_of(&self, number: u64) -> VectorClock {
        let Some(work) = self.work.get(&number) else { return VectorClock::default() };
        let mut past = work.past.clone();
        past.add(work.epoch);
        past
    }

    /// That work came behind all that the host knows by now, too.
    pub(super) fn hear(&mut self, number: u64) {
        let known = self.known();
        if let Some(work) = self.work.get_mut(&number) {
            work.past.join(&known);
        }
    }

    /// That work may begin before `before` is over, and what that may begin before, if it was let.
    pub(super) fn begin_early(&mut self, number: u64, before: u64) {
        let Some(earlier) = self.work.get(&before).filter(|earlier| earlier.releases) else { return };
        let mut beside = earlier.beside.clone();
        beside.push(before);
        if let Some(work) = self.work.get_mut(&number) {
            work.beside = beside;
        }
    }

    /// Whether that work has let others begin before it is over, and whether it has waited for what is before it.
    pub(super) fn depend(&mut self, number: u64, releases: bool, waited: bool) {
        if let Some(work) = self.work.get_mut(&number) {
            work.releases |= releases;
            if waited {
                work.beside.clear();
            }
        }
    }

    pub(super) fn forget(&mut self, start: u64, end: u64) {
        for work in self.work.values_mut() {
            match work.ended {
                Some(_) if work.label.frees == Frees::Allocation => {}
                Some(_) => work.reach.forget(start, end),
                None => work.gone.push((start, end)),
            }
        }
    }

    /// That work is over. `describe` says where a range of host addresses is: its device address, and in words.
    pub(super) fn end(
        &mut self,
        number: u64,
        reach: Reach,
        actors: Vec<Actor>,
        describe: &dyn Fn(u64, u64) -> (u64, String),
    ) -> Ended {
        if self.work.get(&number).is_none_or(|work| work.ended.is_some()) {
            return Ended::default();
        }
        let Some(mut work) = self.work.remove(&number) else { return Ended::default() };
        self.running.remove(&number);
        (work.may_synchronise, work.ended) = (reach.may_synchronise(), Some(self.last + 1));
        (work.reach, work.actors) = (reach, actors);
        let mut is_full = false;
        // Frees first: then what was freed meanwhile is taken out.
        let gone = std::mem::take(&mut work.gone);
        let (frees, others): (Vec<_>, Vec<_>) = self
            .work
            .iter_mut()
            .filter(|(_, other)| {
                other.ended.is_some() && !other.reach.is_apart(&work.reach) && other.concerns(&work)
            })
            .partition(|(_, other)| other.label.frees == Frees::Allocation);
        let count = frees.len();
        for (index, (earlier, other)) in frees.into_iter().chain(others).enumerate() {
            if index == count {
                gone.iter().for_each(|(start, end)| work.reach.forget(*start, *end));
            }
            if other.is_before(&work) || work.is_before(other) {
                continue;
            }
            let met = other.reach.meet(&work.reach);
            if met.synchronised {
                other.partners.push(work.epoch);
                work.partners.push(other.epoch);
                if let Some(known) = other.known {
                    work.known = Some(work.known.map_or(known, |own| own.min(known)));
                }
            }
            for clash in met.clashes.iter().filter(|_| !met.synchronised) {
                let of = [*earlier, number];
                let pair = Pair { of, clash: *clash, until: self.last + 1, times: 1 };
                let place = work.place(other, clash);
                is_full |= !self.held.add(place, pair, || describe(clash.start, clash.end - clash.start));
            }
        }
        gone.iter().for_each(|(start, end)| work.reach.forget(*start, *end));
        self.cover(&work);
        let known = work.known;
        self.work.insert(number, work);
        if let Some(known) = known {
            let past = self.past_of(number);
            self.learn_at(&past, known);
        }
        let mut told = self.tell(describe);
        self.forget_useless();
        told.is_full |= self.forget_oldest() | is_full;
        told
    }

    /// The first number of what has begun and is not over.
    fn first_running(&self) -> u64 {
        self.running.first().copied().unwrap_or(u64::MAX)
    }

    /// Takes from all work before that one what it has accessed as well.
    fn cover(&mut self, later: &Work) {
        if later.label.frees == Frees::Allocation {
            return;
        }
        let running = self.first_running();
        for work in self.work.values_mut() {
            let is_over = work.ended.is_some_and(|ended| !work.may_synchronise || ended <= running);
            if is_over && !work.reach.is_apart(&later.reach) && work.is_before(later) {
                work.reach.cover(&later.reach);
            }
        }
    }

    /// The races that are certain by now.
    fn tell(&mut self, describe: &dyn Fn(u64, u64) -> (u64, String)) -> Ended {
        let mut told = Ended::default();
        let ripe = self.held.ripe(self.first_running());
        // Clocks are transitive: without synchronisation by themselves no path leads over others.
        let may_lead = !ripe.is_empty() && self.work.values().any(|work| !work.partners.is_empty());
        let mut paths = (0, HashSet::new());
        for site in ripe {
            let mut found: Option<Finding> = None;
            for pair in &site.pairs {
                let [earlier, later] = pair.of;
                let both = self.work.get(&earlier).zip(self.work.get(&later));
                let Some((one, other)) = both.filter(|_| earlier.min(later) >= self.lost) else {
                    told.is_full = true;
                    continue;
                };
                if may_lead && paths.0 != later {
                    paths = (later, self.linked(later));
                }
                if paths.0 == later && paths.1.contains(&earlier) {
                    continue;
                }
                if let Some(found) = &mut found {
                    found.times += pair.times;
                } else {
                    let (start, end) = (pair.clash.start, pair.clash.end);
                    let bytes = site.bytes(pair).unwrap_or_else(|| describe(start, end - start));
                    found = Some(Finding { times: pair.times, ..other.finding(one, &pair.clash, bytes) });
                }
            }
            told.findings.extend(found);
        }
        told
    }

    /// All that is before that one, or behind it, by what kernels may have synchronised by themselves.
    fn linked(&self, number: u64) -> HashSet<u64> {
        let Some(work) = self.work.get(&number) else { return HashSet::new() };
        let mut all = HashSet::new();
        self.search(&mut all, work, Work::is_before);
        self.search(&mut all, work, |work, other| other.is_before(work));
        all
    }

    /// Adds all that a path of such steps leads to.
    fn search(&self, all: &mut HashSet<u64>, from: &Work, leads: impl Fn(&Work, &Work) -> bool) {
        let (mut left, mut next): (Vec<&Work>, _) = (self.work.values().collect(), vec![from]);
        while let Some(work) = next.pop() {
            left.retain(|other| {
                let follows = leads(work, other) || work.partners.contains(&other.epoch);
                if follows {
                    all.insert(other.epoch.count);
                    // Where the others lead to, their clocks say already.
                    next.extend(Some(*other).filter(|other| !other.partners.is_empty()));
                }
                !follows
            });
        }
    }

    /// Forgets work that nothing can race with.
    fn forget_useless(&mut self) {
        if !self.held.is_empty() {
            return;
        }
        let oldest = self.submitted.keys().next().copied().unwrap_or(u64::MAX);
        let running = self.first_running();
        let is_useless = |number: &u64, work: &Work| {
            let Some(ended) = work.ended else { return false };
            if work.label.frees == Frees::Allocation {
                return *number < running;
            }
            // Who has synchronised with it is known at the end of all that ran beside it.
            let is_known = work.known.is_some_and(|known| known <= oldest);
            let is_nothing = || work.reach.is_empty() && !self.is_awaited(*number, work);
            (is_known || is_nothing()) && (!work.may_synchronise || ended <= running)
        };
        let useless: Vec<u64> = self
            .work
            .iter()
            .filter(|(number, work)| is_useless(number, work))
            .map(|(number, _)| *number)
            .collect();
        useless.into_iter().for_each(|number| self.remove(number));
    }

    /// Whether a kernel behind it in its stream may yet begin before it is over.
    fn is_awaited(&self, number: u64, work: &Work) -> bool {
        let is_over = |later: &Work| later.epoch.lane == work.epoch.lane && later.ended.is_some();
        work.releases && !self.work.range(number + 1..).any(|(_, later)| is_over(later))
    }

    /// Forgets the oldest work while there is too much.
    fn forget_oldest(&mut self) -> bool {
        let (mut count, mut runs) =
            (self.work.len(), self.work.values().map(|work| work.reach.len()).sum::<usize>());
        let mut oldest = Vec::new();
        for (number, work) in self.work.iter().filter(|(_, work)| work.ended.is_some()) {
            if count <= MOST_WORK && runs <= MOST_RUNS {
                break;
            }
            oldest.push(*number);
            if work.may_synchronise || !work.partners.is_empty() {
                self.lost = self.lost.max(work.ended.unwrap_or_default());
            }
            (count, runs) = (count - 1, runs - work.reach.len());
        }
        oldest.iter().for_each(|number| self.remove(*number));
        !oldest.is_empty()
    }

    fn remove(&mut self, number: u64) {
        let Some(work) = self.work.remove(&number) else { return };
        if let Some(count) = self.lanes.get_mut(&work.epoch.lane) {
            *count -= 1;
            if *count == 0 {
                self.lanes.remove(&work.epoch.lane);
            }
        }
    }
}
