//! The grids that result from one launch of the host, and the order between accesses of different grids.
//!
//! A grid sees the effects that happened before the launch in the launching thread, but not later ones of the launching grid. Launches by
//! one grid are ordered if they are to the same stream, if an event orders them, or if the later one is to the tail stream, which runs
//! after everything that the grid did and launched. Apart from that, fences and atomics order accesses of different grids like those of
//! different blocks.
//!
//! Grids run one after the other, each with all its descendants, so a grid has a lower number than its descendants. Asynchronous work
//! of a launching grid counts as done when something is launched.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::super::env::Env;
use super::super::kernel::Kernel;
use super::clock::{Clock, Times};
use super::stamp::{Shadow, Stamp};
use super::unit::{Shape, WarpId};
use crate::memory::Snapshot;

/// What to do where an access of the launching grid is not before the launch.
const LAUNCH_ADVICE: &str = "a grid sees what the thread that launches it has done, or waited for, before the launch, and nobody sees what it does but grids in the tail (`cudaStreamTailLaunch`)";
/// The same for two launches by one grid.
const SIBLING_ADVICE: &str = "nothing orders the two grids: they have to be launched to one stream, behind an event, or the later one to the tail (`cudaStreamTailLaunch`)";

/// A stream that a grid launches to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) enum Stream {
    /// That of a block, by its number.
    Block(u64),
    /// One that was made.
    Made(u64),
    /// That of launches without an order.
    Unordered,
    /// The grid's tail.
    Tail,
}

/// By stream, how many of the grid's launches are before: those of the stream among them.
type Before = Vec<(Stream, usize)>;

/// A launch by a grid.
#[derive(Debug)]
struct Birth {
    stream: Stream,
    /// What other streams have done before, by events.
    before: Arc<Before>,
    by: WarpId,
    lane: u8,
    /// What the warp knew of its unit, itself among it, and when it last acquired.
    known: Box<[u32]>,
    acquired: u64,
}

/// A grid that has begun.
#[derive(Debug)]
struct Grid {
    /// `None` where it launches nothing and nothing has led to it.
    kernel: Option<Arc<Kernel>>,
    shape: Shape,
    /// The number of the grid that launched it, and which of that one's launches it is.
    parent: Option<(usize, usize)>,
    launches: Vec<Birth>,
    /// When it first released something to others.
    released: Option<u64>,
    /// As in [`Watch`](super::Watch).
    guesses: HashSet<u32>,
}

/// A grid that an access was made by, where it is not the one that runs.
pub(super) struct Elsewhere<'f> {
    pub(super) kernel: &'f Arc<Kernel>,
    pub(super) shape: Shape,
    pub(super) advice: &'static str,
    /// Whether the access was only a guess.
    pub(super) is_guess: bool,
}

/// All grids that a launch of the host has led to, and what they did.
#[derive(Debug, Default)]
pub(in crate::engine) struct Family {
    /// Who accessed global memory.
    pub(super) global: Shadow,
    pub(super) grids: Grids,
    /// The allocations when the launch of the host began.
    pub(super) snapshot: Option<Arc<Snapshot>>,
}

/// The grids in the order in which they run; the last one runs now.
#[derive(Debug, Default)]
pub(super) struct Grids {
    pub(super) times: Times,
    list: Vec<Grid>,
    /// What the grid that runs has made its streams wait for, and its events stand for.
    streams: HashMap<Stream, Arc<Before>>,
    events: HashMap<u64, Arc<Before>>,
}

impl Grids {
    /// A grid begins.
    pub(super) fn begin(&mut self, env: &Env<'_>) {
        let kernel = env.runtime.and_then(|runtime| runtime.kernel.clone());
        let (shape, parent) = (Shape::of(env), env.runtime.and_then(|runtime| runtime.parent));
        let (launches, released, guesses) = (Vec::new(), None, HashSet::new());
        self.list.push(Grid { kernel, shape, parent, launches, released, guesses });
    }

    /// It ends.
    pub(super) fn end(&mut self, guesses: HashSet<u32>) {
        (self.streams, self.events) = Default::default();
        if let Some(grid) = self.list.last_mut() {
            grid.guesses = guesses;
        }
    }

    /// The grid releases something to others.
    pub(super) fn release(&mut self) {
        let now = self.times.now();
        if let Some(grid) = self.list.last_mut() {
            grid.released.get_or_insert(now);
        }
    }

    /// A lane of a warp, whose unit this is the clock of, launches a grid.
    pub(super) fn launch(&mut self, clock: &Clock, (by, lane): (WarpId, u8), stream: Stream) {
        let before = self.streams.get(&stream).cloned().unwrap_or_default();
        let (known, acquired) = clock.known(by.warp);
        if let Some(grid) = self.list.last_mut() {
            grid.launches.push(Birth { stream, before, by, lane, known, acquired });
        }
    }

    /// An event stands for what a stream has been given so far.
    pub(super) fn record(&mut self, event: u64, stream: Stream) {
        let mut before = self.streams.get(&stream).cloned().unwrap_or_default();
        let count = self.list.last().map_or(0, |grid| grid.launches.len());
        join(Arc::make_mut(&mut before), &[(stream, count)]);
        self.events.insert(event, before);
    }

    /// What a stream is given from now on comes behind what an event stands for.
    pub(super) fn wait(&mut self, stream: Stream, event: u64) {
        if let Some(event) = self.events.get(&event) {
            join(Arc::make_mut(self.streams.entry(stream).or_default()), event);
        }
    }

    /// The number of the grid that a unit belongs to.
    fn grid_of(&self, unit: u32) -> usize {
        self.list.partition_point(|grid| grid.shape.before < unit).saturating_sub(1)
    }

    /// The grid that an access was made by, with its number: its kernel, if that is known, its shape, and whether the access was only a
    /// guess.
    pub(super) fn maker(&self, stamp: &Stamp) -> Option<(usize, Option<&Kernel>, &Shape, bool)> {
        let number = self.grid_of(stamp.unit);
        let Grid { kernel, shape, guesses, .. } = self.list.get(number)?;
        Some((number, kernel.as_deref(), shape, guesses.contains(&stamp.site)))
    }

    /// The grid that an access was made by; `None` if it is the one that runs.
    pub(super) fn elsewhere(&self, stamp: &Stamp) -> Option<Elsewhere<'_>> {
        let number = self.grid_of(stamp.unit);
        if number + 1 >= self.list.len() {
            return None;
        }
        let Grid { kernel, shape, guesses, .. } = self.list.get(number)?;
        let is_child = self.meet(number, self.list.len() - 1).is_some_and(|(own, _)| own.is_none());
        let advice = if is_child { LAUNCH_ADVICE } else { SIBLING_ADVICE };
        let is_guess = guesses.contains(&stamp.site);
        Some(Elsewhere { kernel: kernel.as_ref()?, shape: *shape, advice, is_guess })
    }

    /// Whether an access by another grid is before what a warp does now that last acquired something then.
    pub(super) fn is_before(&self, stamp: &Stamp, acquired: u64) -> bool {
        let (of, last) = (self.grid_of(stamp.unit), self.list.len().saturating_sub(1));
        let releasing = |(number, grid): (usize, &Grid)| {
            grid.released.is_some_and(|released| released < acquired)
                && self.is_before_grid(stamp, of, number)
        };
        self.is_before_grid(stamp, of, last) || self.list.iter().enumerate().skip(of + 1).any(releasing)
    }

    /// Whether an access by grid `of` is before grid `number` began.
    fn is_before_grid(&self, stamp: &Stamp, of: usize, number: usize) -> bool {
        let Some((own, Some((parent, at)))) = self.meet(of, number) else { return false };
        let Some(parent) = self.list.get(parent) else { return false };
        match own {
            Some(earlier) => parent.is_in_order(earlier, at),
            // The grid that made the access led to the other one.
            None => parent.launches.get(at).is_some_and(|birth| birth.is_after(stamp, &self.times)),
        }
    }

    /// Where what led to two grids parts: for each of them the grid that launched both, and which of its launches led there; `None` for the
    /// one that led to the other.
    #[allow(clippy::type_complexity)] // two of what `parent` of a grid is
    fn meet(&self, one: usize, other: usize) -> Option<(Option<usize>, Option<(usize, usize)>)> {
        let (mut sides, mut last) = ([one, other], [None; 2]);
        while sides[0] != sides[1] {
            let later = usize::from(sides[1] > sides[0]);
            let parent = self.list.get(sides[later])?.parent?;
            (sides[later], last[later]) = (parent.0, Some(parent));
        }
        Some((last[0].map(|(_, at)| at), last[1]))
    }
}

impl Grid {
    /// Whether one of its launches, and all that it led to, is done before one begins that has run later.
    fn is_in_order(&self, earlier: usize, later: usize) -> bool {
        let (Some(one), Some(other)) = (self.launches.get(earlier), self.launches.get(later)) else {
            return false;
        };
        other.stream == Stream::Tail
            || one.stream == other.stream && one.stream != Stream::Unordered
            || other.before.iter().any(|(stream, count)| *stream == one.stream && earlier < *count)
    }
}

impl Birth {
    /// Whether it comes after an access of the grid that launched it: that thread knew of it, or all of that grid is done.
    fn is_after(&self, stamp: &Stamp, times: &Times) -> bool {
        if self.stream == Stream::Tail || stamp.how.is_asynchronous() {
            return true;
        }
        if stamp.unit != self.by.unit {
            return times.when_released(stamp).is_some_and(|released| released < self.acquired);
        }
        let known = self.known.get(usize::from(stamp.warp)).copied().unwrap_or(0);
        // Lanes of its warp that it has not met since may still be at it.
        let has_met = usize::from(stamp.warp) != self.by.warp || stamp.lane == self.lane;
        stamp.epoch < known || has_met && stamp.epoch == known
    }
}

/// What is before two things is before both.
fn join(all: &mut Before, others: &[(Stream, usize)]) {
    for (stream, count) in others {
        match all.iter_mut().find(|(known, _)| known == stream) {
            Some((_, known)) => *known = (*known).max(*count),
            None => all.push((*stream, *count)),
        }
    }
}

impl Stream {
    /// By the handle that a thread of a block has of it.
    pub(in crate::engine) fn of(handle: u64, block: u64) -> Stream {
        use super::super::device_runtime::{BLOCK, FORGET, TAIL};
        match handle {
            TAIL => Stream::Tail,
            FORGET => Stream::Unordered,
            handle if BLOCK.contains(&handle) => Stream::Block(block),
            handle => Stream::Made(handle),
        }
    }
}
