//! The schedule under a seed: one warp runs at a time, until it must yield to others.

use std::collections::VecDeque;

use super::super::block::{Group, Stepped, turn_of};
use super::super::env::Env;
use super::super::exec::lanes::Lanes;
use super::super::fault::Fault;
use super::super::report;
use super::probe::Probe;
use super::random::{Random, Style};
use super::{LastPoll, Order};

/// The number of turns per warp without a change of memory, after which it is determined whether any warp can make
/// progress.
const PATIENCE: usize = 16;
/// Turns between two checks of the clock.
const CLOCK: u32 = 256;
/// The limit of instructions of an order: this many times those of the ordinary order, plus a constant.
const LONGER: u64 = 200;
const LONGEST: u64 = 20_000_000;

/// Why the order ended.
pub(super) enum End {
    /// All threads have exited.
    Done,
    /// The launch was abandoned.
    Unwanted,
    /// A fault.
    Fault(Box<Fault>),
    /// Its threads wait for something that cannot happen.
    Hang(Box<Fault>),
}

/// A group that has started.
struct Resident {
    /// Its number in the grid.
    index: u64,
    group: Group,
    rank: u64,
    /// By warp, over all its blocks.
    ranks: Vec<u64>,
}

/// An order while it runs.
pub(super) struct Driver<'d, 'e> {
    env: &'e Env<'e>,
    lanes: Lanes<'e>,
    random: Random,
    style: Style,
    waiting: VecDeque<u64>,
    residents: Vec<Resident>,
    /// Turns since memory changed or a thread ended.
    idle: usize,
    probe: Probe,
    /// Instructions that the ordinary order executed.
    usual: u64,
    unwanted: &'d dyn Fn() -> bool,
    /// Backward branches of a warp's turn.
    turn: u32,
}

impl<'d, 'e> Driver<'d, 'e> {
    pub(super) fn new(
        env: &'e Env<'e>,
        seed: u64,
        late_stores: bool,
        usual: u64,
        unwanted: &'d dyn Fn() -> bool,
    ) -> Option<Driver<'d, 'e>> {
        let mut random = Random::new(seed);
        let style = Style::of(&mut random, late_stores, env.kernel.target);
        let mut lanes = Lanes::new(env);
        lanes.order = Some(Order::seeded(env.undo.as_ref()?, Random::new(random.number()), style));
        let extents = env.launch.grid.iter().zip(&env.cluster);
        let groups: u64 = extents.map(|(grid, cluster)| u64::from(grid / cluster)).product();
        let mut waiting: Vec<u64> = (0..groups).collect();
        if style.shuffled {
            random.shuffle(&mut waiting);
        }
        let style = if env.launch.cooperative { Style { resident: usize::MAX, ..style } } else { style };
        let (residents, probe) = (Vec::new(), Probe::default());
        let waiting = waiting.into();
        let turn = turn_of(env.kernel);
        Some(Driver { env, lanes, random, style, waiting, residents, idle: 0, probe, usual, unwanted, turn })
    }

    /// Runs until everything is done. Returns how it ended, and the lines of stores that others did not see.
    pub(super) fn run(mut self) -> (End, Vec<[u32; 2]>) {
        let mut turns = 0;
        let end = loop {
            self.start();
            if self.residents.is_empty() {
                break End::Done;
            }
            turns += 1;
            if turns % CLOCK == 0 || self.lanes.must_stop() {
                if (self.unwanted)() {
                    break End::Unwanted;
                }
                if let Some(fault) = self.too_long() {
                    break End::Hang(fault);
                }
            }
            let calm = self.idle > PATIENCE * self.size().max(4);
            let turn = if calm { self.calm_round() } else { self.turn() };
            if let Err(end) = turn {
                break end;
            }
        };
        // Delayed stores are written before the next order.
        let mut unseen = Vec::new();
        if let Some(mut order) = self.lanes.order.take() {
            order.set_calm(true);
            unseen.extend(order.unseen);
        }
        if let Some(watch) = self.lanes.watch.take() {
            watch.finish(self.env);
        }
        (end, unseen)
    }

    /// Starts groups, up to the maximum number at a time.
    fn start(&mut self) {
        while self.residents.len() < self.style.resident
            && let Some(index) = self.waiting.pop_front()
        {
            let mut group = Group::default();
            group.start(self.env, index);
            let ranks = (0..group.size()).map(|_| self.random.number()).collect();
            self.residents.push(Resident { index, group, rank: self.random.number(), ranks });
            self.idle = 0;
        }
    }

    fn size(&self) -> usize {
        self.residents.iter().map(|resident| resident.group.size()).sum()
    }

    /// The warp that runs next: the resident group, and one of its runnable warps. A resident group has a runnable warp;
    /// otherwise it would be deadlocked or finished.
    fn choose(&mut self) -> (usize, (usize, usize)) {
        if !self.style.ranked {
            let resident = self.random.below(self.residents.len());
            let ready: Vec<_> = self.residents[resident].group.ready().collect();
            return (resident, ready.get(self.random.below(ready.len())).copied().unwrap_or_default());
        }
        let ranks = self.residents.iter().map(|resident| resident.rank).enumerate();
        let resident = ranks.max_by_key(|(_, rank)| *rank).map_or(0, |(index, _)| index);
        let Resident { group, ranks, .. } = &self.residents[resident];
        let each = ranks.len() / group.blocks().max(1);
        let rank = |(block, warp): &(usize, usize)| ranks.get(block * each + warp).copied();
        (resident, group.ready().max_by_key(rank).unwrap_or_default())
    }

    /// One turn of one warp.
    fn turn(&mut self) -> Result<(), End> {
        let (resident, warp) = self.choose();
        let split = self.random.number();
        let (_, changed) = self.step(resident, warp, Some(split).filter(|_| !self.style.lockstep))?;
        if let Some(order) = &mut self.lanes.order {
            order.end_turn();
        }
        // Who goes before others does so until this, or until it only waits.
        let falls = if changed { self.random.chance(24) } else { self.random.chance(128) };
        if self.style.ranked && falls {
            let (group, single) = (self.random.chance(96), self.random.number() >> 32);
            if let Some(resident) = self.residents.get_mut(resident) {
                let each = resident.ranks.len() / resident.group.blocks().max(1);
                match resident.ranks.get_mut(warp.0 * each + warp.1) {
                    Some(rank) if !group => *rank = single,
                    _ => resident.rank = single,
                }
            }
        }
        Ok(())
    }

    /// Runs a turn, and handles its result; returns whether anything has changed.
    fn step(
        &mut self,
        index: usize,
        warp: (usize, usize),
        split: Option<u64>,
    ) -> Result<(Stepped, bool), End> {
        let resident = &mut self.residents[index];
        let stepped = resident.group.step(&mut self.lanes, warp, self.turn, split).map_err(End::Fault)?;
        let changed = self.lanes.order.as_mut().is_some_and(|order| order.take_changed()) || stepped.ended;
        self.idle = if changed { 0 } else { self.idle + 1 };
        if !resident.group.is_live() {
            if let Some(watch) = &mut self.lanes.watch {
                watch.left(self.lanes.env, resident.index);
            }
            self.residents.swap_remove(index);
        } else if resident.group.ready().next().is_none() && !resident.group.go_alone() {
            return Err(End::Hang(resident.group.deadlock(&self.lanes)));
        }
        Ok((stepped, changed))
    }

    /// Every warp gets a turn without interference; whether none gets any further.
    fn calm_round(&mut self) -> Result<(), End> {
        if let Some(order) = &mut self.lanes.order {
            order.set_calm(true);
            if order.take_changed() {
                return self.go_on();
            }
        }
        for index in 0..self.residents.len() {
            let ready: Vec<_> = self.residents[index].group.ready().collect();
            for warp in ready {
                let (stepped, changed) = self.step(index, warp, None)?;
                if changed {
                    return self.go_on();
                }
                let group = &self.residents[index].group;
                self.probe.note(
                    (group.linear(warp.0), warp.1 as u32),
                    group.fingerprint(warp),
                    stepped.polls,
                );
            }
        }
        let stuck = self.residents.iter().all(|resident| {
            let group = &resident.group;
            group.ready().all(|(block, warp)| self.probe.is_stuck((group.linear(block), warp as u32)))
        });
        if stuck { Err(End::Hang(self.livelock())) } else { Ok(()) }
    }

    /// Something has changed: back to the order.
    fn go_on(&mut self) -> Result<(), End> {
        self.idle = 0;
        self.probe.clear();
        if let Some(order) = &mut self.lanes.order {
            order.set_calm(false);
        }
        Ok(())
    }

    fn livelock(&self) -> Box<Fault> {
        let what =
            format!("livelock: all threads wait for memory that none of them changes{}", self.absent());
        self.hang(&what)
    }

    /// The report of an order that executes far more than the ordinary one.
    fn too_long(&self) -> Option<Box<Fault>> {
        let done = self.lanes.instructions;
        if done > self.usual.saturating_mul(LONGER).saturating_add(LONGEST) {
            let usual = self.usual;
            let what = format!(
                "{done} instructions, after {usual} in the ordinary order, and no end{}",
                self.absent()
            );
            return Some(self.hang(&what));
        }
        let overdue = self.env.is_overdue();
        let group = self.residents.first().map(|resident| &resident.group).filter(|_| overdue)?;
        Some(group.overdue(&self.lanes))
    }

    /// The groups that have not started.
    fn absent(&self) -> String {
        let blocks: u32 = self.env.cluster.iter().product();
        match self.waiting.len() * blocks as usize {
            0 => String::new(),
            1 => format!(" ({} resident, 1 block has not started)", self.present()),
            absent => format!(" ({} resident, {absent} blocks have not started)", self.present()),
        }
    }

    fn present(&self) -> String {
        let count: usize = self.residents.iter().map(|resident| resident.group.blocks()).sum();
        if count == 1 { "1 block".to_owned() } else { format!("{count} blocks") }
    }

    fn hang(&self, what: &str) -> Box<Fault> {
        let order = self.lanes.order.as_ref();
        let warps = self.residents.iter().flat_map(|resident| resident.group.warps());
        report::hang(self.env, warps, what, &|block, warp| {
            let LastPoll { line, address, place } = *order?.looks.get(&(block.linear, warp))?;
            let (bytes, contents) = place.describe();
            let place = match self.env.snapshot.find(address) {
                Some(_) => self.env.memory.describe(address, bytes),
                None => "in shared memory".to_owned(),
            };
            Some(format!("loops; PTX line {line} accesses {bytes} bytes at 0x{address:x}, {place}{contents}"))
        })
    }
}
