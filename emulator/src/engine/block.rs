//! The blocks of a cluster, which run on one worker.

use super::barrier::Barriers;
use super::cluster::Cluster;
use super::env::{Block, Env};
use super::exec::lanes::Lanes;
use super::exec::memory::Region;
use super::fault::Fault;
use super::kernel::Kernel;
use super::report;
use super::warp::{BlockState, Outcome, TURN, Warp};

/// The number of turns of a group before other groups get theirs.
const GROUP_TURNS: u32 = 32;

/// Instructions of a warp's turn, at most about: a few milliseconds, after which it may be told to stop.
const TURN_INSTRUCTIONS: usize = 1 << 20;

/// Backward branches of a warp's turn: fewer where many instructions may lie between two of them.
pub(super) fn turn_of(kernel: &Kernel) -> u32 {
    let longest = kernel.codes.iter().map(|code| code.insts.len()).sum::<usize>();
    TURN.min((TURN_INSTRUCTIONS / longest.max(1)).max(1) as u32)
}

/// A block while it runs.
#[derive(Debug)]
struct Running {
    block: Block,
    warps: Vec<Warp>,
    barriers: Barriers,
    /// Shared memory; aligned to 16 bytes.
    shared: Vec<u128>,
}

/// The blocks of one cluster; a single block if there are no clusters.
#[derive(Debug, Default)]
pub(super) struct Group {
    blocks: Vec<Running>,
    cluster: Cluster,
}

/// The result of a block's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ran {
    /// No warp could run.
    Nothing,
    /// The warps that could run were waiting for other threads' stores.
    Polling,
    /// There was progress.
    Something,
}

/// The result of one warp's turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stepped {
    /// Threads have ended.
    pub(super) ended: bool,
    /// It only waited for other threads' stores.
    pub(super) polls: bool,
}

/// The result of a group's turn.
#[derive(Debug)]
pub(super) enum Turn {
    /// All threads have exited.
    Done,
    /// There is more to do.
    Yielded,
    /// There is more to do, but it waits for other groups or for something outside of the launch.
    Polling,
    /// The kernel stops.
    Fault(Box<Fault>),
}

impl Group {
    /// Sets the group up as cluster `index` of the grid. Its memory from the previous cluster is reused.
    pub(super) fn start(&mut self, env: &Env<'_>, index: u64) {
        let (size, grid, shape) = (env.cluster, env.launch.grid, env.launch.block);
        let clusters = [0, 1].map(|axis| u64::from(grid[axis] / size[axis]));
        let origin =
            [index % clusters[0], index / clusters[0] % clusters[1], index / clusters[0] / clusters[1]];
        let blocks: u32 = size.iter().product();
        let threads: u32 = shape.iter().product();
        self.cluster = Cluster::new(blocks.saturating_mul(threads));
        for rank in 0..blocks {
            let within = [rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]];
            let id = [0, 1, 2].map(|axis| origin[axis] as u32 * size[axis] + within[axis]);
            let linear = u64::from(id[0])
                + u64::from(grid[0]) * (u64::from(id[1]) + u64::from(grid[1]) * u64::from(id[2]));
            let block = Block { id, linear, rank, shared: Box::default() };
            match self.blocks.get_mut(rank as usize) {
                Some(running) => running.restart(block, env),
                None => self.blocks.push(Running::new(block, env)),
            }
        }
        let regions: Box<[Region]> = self.blocks.iter_mut().map(|running| running.region(env)).collect();
        for running in &mut self.blocks {
            running.block.shared.clone_from(&regions);
        }
    }

    /// The warps that can run: number of the block in the group, and of the warp in the block.
    pub(super) fn ready(&self) -> impl Iterator<Item = (usize, usize)> {
        let warps = |running: &'_ Running| running.warps.len();
        let all = self
            .blocks
            .iter()
            .enumerate()
            .flat_map(move |(block, running)| (0..warps(running)).map(move |warp| (block, warp)));
        all.filter(|(block, warp)| self.blocks[*block].warps[*warp].is_runnable())
    }

    /// The number of its blocks.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The number of warps, including those that have ended.
    pub(super) fn size(&self) -> usize {
        self.blocks.iter().map(|running| running.warps.len()).sum()
    }

    /// Whether threads are left.
    pub(super) fn is_live(&self) -> bool {
        self.blocks.iter().any(Running::is_live)
    }

    /// Linear number of a block of the group.
    pub(super) fn linear(&self, block: usize) -> u64 {
        self.blocks[block].block.linear
    }

    /// Gives one warp a turn of that many backward branches. The number chooses the split that runs first; with `None` it is the usual
    /// one.
    pub(super) fn step(
        &mut self,
        lanes: &mut Lanes<'_>,
        (block, warp): (usize, usize),
        budget: u32,
        split: Option<u64>,
    ) -> Result<Stepped, Box<Fault>> {
        let running = &mut self.blocks[block];
        lanes.enter_block(&running.block);
        if let Some(number) = split {
            running.warps[warp].favour(number);
        }
        let live = running.warps[warp].live();
        let outcome = running.step(warp, lanes, &mut self.cluster, budget)?;
        self.open_cluster();
        if !self.blocks[block].is_live() {
            self.left(block);
        }
        let ended = self.blocks[block].warps[warp].live() != live;
        Ok(Stepped { ended, polls: outcome == Ran::Polling })
    }

    /// A hash of the state of a warp.
    pub(super) fn fingerprint(&self, (block, warp): (usize, usize)) -> u64 {
        self.blocks[block].warps[warp].fingerprint()
    }

    /// Called when a block has ended: the other blocks of its cluster can no longer access its shared memory.
    fn left(&mut self, ended: usize) {
        for (rank, running) in self.blocks.iter_mut().enumerate().filter(|(rank, _)| *rank != ended) {
            debug_assert_eq!(running.block.rank as usize, rank);
            running.block.shared.iter_mut().skip(ended).take(1).for_each(|region| region.len = 0);
        }
    }

    /// Resumes warps that waited for the cluster's barrier, if it has opened.
    fn open_cluster(&mut self) -> bool {
        let opens = self.cluster.take_news();
        if opens {
            let phase = self.cluster.phase();
            let warps = self.blocks.iter_mut().flat_map(|running| &mut running.warps);
            warps.for_each(|warp| warp.open_cluster(phase));
        }
        opens
    }

    /// Runs until everything is done, the turn is over, or a fault occurs.
    pub(super) fn run(&mut self, lanes: &mut Lanes<'_>) -> Turn {
        self.run_for(lanes, turn_of(lanes.env.kernel), u64::MAX)
    }

    /// The same with turns of so many backward branches for each warp, which ends as soon as the worker has run that many instructions.
    pub(super) fn run_for(&mut self, lanes: &mut Lanes<'_>, turn: u32, end: u64) -> Turn {
        for _ in 0..GROUP_TURNS {
            let (mut progress, mut polling, mut live) = (false, true, false);
            for index in 0..self.blocks.len() {
                let running = &mut self.blocks[index];
                let ran = running.turn(lanes, &mut self.cluster, turn);
                if lanes.must_stop() {
                    return ran.map_or_else(Turn::Fault, |_| Turn::Yielded);
                }
                match ran {
                    Ok(ran) => {
                        progress |= ran != Ran::Nothing;
                        polling &= ran != Ran::Something;
                    }
                    Err(fault) => return Turn::Fault(fault),
                }
                let is_live = running.is_live();
                live |= is_live;
                if !is_live {
                    self.left(index);
                }
                if self.open_cluster() {
                    (progress, polling) = (true, false);
                }
            }
            if !live {
                return Turn::Done;
            }
            if !progress {
                if !self.go_alone() {
                    return Turn::Fault(self.deadlock(lanes));
                }
                // They can run now: nobody else has to do something first.
                continue;
            }
            if polling {
                return Turn::Polling;
            }
            if lanes.instructions >= end {
                break;
            }
        }
        Turn::Yielded
    }

    /// Called when nothing can run any more: parts of warps that wait for the rest of their warp stop waiting.
    /// Returns whether there were any.
    pub(super) fn go_alone(&mut self) -> bool {
        let warps = self.blocks.iter_mut().flat_map(|running| &mut running.warps);
        warps.fold(false, |parted, warp| warp.go_alone() | parted)
    }

    pub(super) fn deadlock(&self, lanes: &Lanes<'_>) -> Box<Fault> {
        report::deadlock(lanes.env, self.warps())
    }

    /// The report of a kernel that has exceeded the time limit, with its current position.
    pub(super) fn overdue(&self, lanes: &Lanes<'_>) -> Box<Fault> {
        report::overdue(lanes.env, self.warps())
    }

    pub(super) fn warps(&self) -> impl Iterator<Item = (&Block, &Warp)> {
        self.blocks.iter().flat_map(|running| running.warps.iter().map(|warp| (&running.block, warp)))
    }
}

impl Running {
    fn new(block: Block, env: &Env<'_>) -> Running {
        let shape = env.launch.block;
        let threads: u32 = shape.iter().product();
        let warps = (0..threads.div_ceil(32)).map(|index| Warp::new(index, shape, env.kernel));
        let mut running =
            Running { block, warps: warps.collect(), barriers: Barriers::default(), shared: Vec::new() };
        running.prepare(env);
        running
    }

    fn restart(&mut self, block: Block, env: &Env<'_>) {
        self.block = block;
        self.warps.iter_mut().for_each(|warp| warp.restart(env.kernel));
        self.prepare(env);
    }

    fn prepare(&mut self, env: &Env<'_>) {
        self.barriers.start(self.warps.iter().map(Warp::live));
        self.shared.clear();
        self.shared.resize(shared_bytes(env).div_ceil(16) as usize, 0);
    }

    /// The block's shared memory.
    fn region(&mut self, env: &Env<'_>) -> Region {
        let host = self.shared.as_mut_ptr().cast();
        Region { base: env.kernel.shared_start.into(), len: shared_bytes(env), host, private: true }
    }

    fn is_live(&self) -> bool {
        self.warps.iter().any(|warp| warp.live() != 0)
    }

    /// Gives every warp that can run a turn of so many backward branches.
    fn turn(&mut self, lanes: &mut Lanes<'_>, cluster: &mut Cluster, turn: u32) -> Result<Ran, Box<Fault>> {
        let mut ran = Ran::Nothing;
        lanes.enter_block(&self.block);
        for index in 0..self.warps.len() {
            if self.warps[index].is_runnable() {
                ran = ran.max(self.step(index, lanes, cluster, turn)?);
                if lanes.must_stop() {
                    break;
                }
            }
        }
        Ok(ran)
    }

    /// Gives one warp a turn of so many backward branches.
    fn step(
        &mut self,
        index: usize,
        lanes: &mut Lanes<'_>,
        cluster: &mut Cluster,
        budget: u32,
    ) -> Result<Ran, Box<Fault>> {
        lanes.enter_block_again(&self.block);
        let warp = &mut self.warps[index];
        let mut around = BlockState { barriers: &mut self.barriers, cluster, budget, polled: 0 };
        let ran = match warp.run(lanes, &mut around) {
            Outcome::Fault(trouble, code, at) => {
                return Err(report::fault(lanes.env, &self.block, warp.state(), *trouble, code, at));
            }
            Outcome::Polling => Ran::Polling,
            Outcome::Done | Outcome::Blocked | Outcome::Yielded => Ran::Something,
        };
        if self.barriers.has_opened() {
            for (id, result) in self.barriers.take_opened() {
                if lanes.watch.is_some() || lanes.profile.is_some() {
                    self.tell(lanes, id);
                }
                self.warps.iter_mut().for_each(|warp| warp.open(id, result));
            }
        }
        Ok(ran)
    }

    /// Reports to the watch and the profile that a barrier has opened.
    #[cold]
    fn tell(&self, lanes: &mut Lanes<'_>, id: u32) {
        let env = lanes.env;
        if let Some(watch) = &mut lanes.watch {
            watch.met(env, &self.block, &self.barriers.met(id));
        }
        if let Some(profile) = &mut lanes.profile {
            profile.met(self.block.linear, &self.barriers.met(id));
        }
    }
}

/// Bytes of shared memory of a block.
fn shared_bytes(env: &Env<'_>) -> u64 {
    u64::from(env.kernel.static_end - env.kernel.shared_start) + u64::from(env.launch.dynamic_shared)
}
