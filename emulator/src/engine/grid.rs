//! A launch: worker threads that take the blocks of a grid in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::block::{Group, Turn};
use super::device_runtime::Runtime;
use super::env::Env;
use super::exec::lanes::Lanes;
use super::exec::memory::Region;
use super::fault::{Fault, FaultKind};
use super::float_environment::FloatEnvironment;
use super::kernel::Kernel;
use super::launch::{Launch, RunControl, Stats};
use super::{report, schedule};
use crate::memory::Memory;
use crate::progress::Progress;

/// Bytes of the workspace of the grid barrier.
const WORKSPACE: u64 = 256;
/// The number of thread instructions after which a worker starts the others: about as many as it executes in the time that a
/// thread takes to start.
const ALONE: u64 = 100_000;
/// Backward branches of a warp's turn until then.
const SHORT_TURN: u32 = 64;

/// Runs one grid to its end on up to `workers` host threads, the calling one among them.
pub(super) fn run(
    kernel: &Arc<Kernel>,
    launch: &Launch,
    memory: &Memory,
    workers: usize,
    ends: RunControl<'_>,
    deadline: Option<(Instant, Duration)>,
    runtime: Option<&Runtime<'_>>,
) -> Result<Stats, Box<Fault>> {
    static LAUNCHES: AtomicU64 = AtomicU64::new(1);
    let cluster = if launch.cluster == [1; 3] { kernel.cluster.unwrap_or([1; 3]) } else { launch.cluster };
    if let Some(message) = refuse(launch, cluster) {
        return Err(unplaced(kernel, FaultKind::OutOfResources, message));
    }
    let workspace = Workspace::new(launch, memory)
        .map_err(|message| unplaced(kernel, FaultKind::OutOfResources, message))?;
    // Aligned like the parameters themselves.
    let bytes = launch.parameters.len().max(kernel.parameter_bytes);
    let mut params = vec![0u128; bytes.div_ceil(16)];
    for (word, chunk) in params.iter_mut().zip(launch.parameters.chunks(16)) {
        let mut bytes = [0; 16];
        bytes[..chunk.len()].copy_from_slice(chunk);
        *word = u128::from_ne_bytes(bytes);
    }
    let env = Env {
        kernel,
        launch,
        cluster,
        memory,
        snapshot: memory.snapshot(),
        params: Region { base: 0, len: bytes as u64, host: params.as_mut_ptr().cast(), private: false },
        workspace: workspace.address,
        stop: AtomicBool::new(false),
        deadline,
        ends,
        undo: schedule::undo_of(kernel, memory),
        runtime,
        grid_id: LAUNCHES.fetch_add(1, Relaxed),
    };
    let _environment = FloatEnvironment::standard();
    let result = run_ordinary(&env, workers);
    // What it accesses in other orders is not compared.
    schedule::run_others(&env, &result, RunControl { ongoing: None, ..ends });
    result
}

/// Runs a launch in the ordinary order.
fn run_ordinary(env: &Env<'_>, workers: usize) -> Result<Stats, Box<Fault>> {
    // The watch has to see all accesses, in one order.
    let races = env.memory.checker().is_some_and(|checker| checker.checks().races);
    // Results that are compared with other runs must be deterministic.
    let one = races || env.undo.is_some();
    let work = Work::new(env, if one { 1 } else { workers });
    thread::scope(|scope| {
        let others = || {
            for worker in 1..work.workers {
                let work = &work;
                scope.spawn(move || work.run(env, worker, None::<fn()>));
            }
        };
        work.run(env, 0, (work.workers > 1).then_some(others));
    });
    let fault = work.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    match fault {
        Some((_, fault)) => Err(fault),
        None => Ok(Stats { instructions: work.instructions.into_inner() }),
    }
}

/// The number of things in three extents.
fn volume(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |all, extent| u64::from(*extent).saturating_mul(all))
}

/// Why a launch cannot run, for callers that have not checked it.
fn refuse(launch: &Launch, cluster: [u32; 3]) -> Option<String> {
    let empty = launch.grid.iter().chain(&launch.block).chain(&cluster).any(|extent| *extent == 0);
    let threads = volume(launch.block);
    let uneven = || launch.grid.iter().zip(&cluster).any(|(grid, cluster)| grid % cluster != 0);
    let blocks = volume(cluster);
    if empty {
        Some("an extent of the launch is zero".to_owned())
    } else if threads > 1024 {
        Some(format!("a block of {threads} threads: at most 1024 are possible"))
    } else if uneven() {
        Some(format!("a grid of {:?} blocks is not a multiple of clusters of {cluster:?}", launch.grid))
    } else if blocks > 16 {
        Some(format!("a cluster of {blocks} blocks: at most 16 are possible"))
    } else if launch.dynamic_shared >= 1 << 23 {
        Some(format!("{} bytes of dynamic shared memory", launch.dynamic_shared))
    } else {
        None
    }
}

/// A fault of the launch as a whole.
pub(super) fn unplaced(kernel: &Kernel, kind: FaultKind, message: String) -> Box<Fault> {
    Box::new(Fault {
        kind,
        kernel: kernel.name.clone(),
        block: [0; 3],
        thread: [0; 3],
        address: None,
        ptx_line: 0,
        source: None,
        message,
    })
}

/// The memory in which the blocks of a cooperative grid meet.
struct Workspace<'m> {
    memory: &'m Memory,
    address: u64,
}

impl<'m> Workspace<'m> {
    fn new(launch: &Launch, memory: &'m Memory) -> Result<Workspace<'m>, String> {
        if !launch.cooperative {
            return Ok(Workspace { memory, address: 0 });
        }
        let address = memory.allocate(WORKSPACE).map_err(|error| error.to_string())?;
        memory.fill(address, &[0], WORKSPACE).map_err(|error| error.to_string())?;
        Ok(Workspace { memory, address })
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        if self.address != 0 {
            // Allocated above and freed only here.
            let _ = self.memory.free(self.address);
        }
    }
}

/// A value in separate cache lines, so that changing it does not invalidate neighbouring data in other caches.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// The groups of a grid and the state of the workers that run them.
struct Work<'w> {
    workers: usize,
    groups: u64,
    /// The next group: the only field that workers change for each group.
    next: Apart<AtomicU64>,
    /// Groups that a worker may have under way at once.
    resident: usize,
    cooperative: bool,
    instructions: AtomicU64,
    /// The fault of the first faulting group in grid order, with its number.
    fault: Mutex<Option<(u64, Box<Fault>)>>,
    /// The progress to report to, and the number of blocks of a group.
    progress: Option<(&'w Progress, u64)>,
}

impl Work<'_> {
    fn new<'w>(env: &Env<'w>, workers: usize) -> Work<'w> {
        let extents = env.launch.grid.iter().zip(&env.cluster);
        let groups: u64 = extents.map(|(grid, cluster)| u64::from(grid / cluster)).product();
        let workers = (workers.max(1) as u64).min(groups) as usize;
        let size: u64 = volume(env.launch.block).saturating_mul(volume(env.cluster));
        let device = env.memory.architecture();
        // As on the device that is played, on all workers.
        let threads = u64::from(device.model().multiprocessors) * u64::from(device.machine().threads);
        let resident = (threads / size / workers as u64).max(16) as usize;
        Work {
            workers,
            groups,
            next: Apart::default(),
            resident,
            cooperative: env.launch.cooperative,
            instructions: AtomicU64::new(0),
            fault: Mutex::new(None),
            progress: env.ends.progress.map(|progress| (progress, volume(env.cluster))),
        }
    }

    /// One worker: runs groups until none is left or a worker has met a fault. It starts the others when there is enough to do.
    // Not inlined, so that its instructions can be counted as the bench's documentation describes.
    #[inline(never)]
    fn run(&self, env: &Env<'_>, worker: usize, mut others: Option<impl FnOnce()>) {
        let mut lanes = Lanes::new(env);
        let mut running: VecDeque<(u64, Group)> = VecDeque::new();
        let mut spare: Vec<Group> = Vec::new();
        if self.cooperative {
            // All groups are resident from the start, each with its worker.
            for index in (worker as u64..self.groups).step_by(self.workers) {
                running.push_back((index, start(&mut spare, env, index)));
            }
            others.take().into_iter().for_each(|start| start());
        }
        while !env.stop.load(Relaxed) && !env.ends.is_unwanted() {
            if running.is_empty() && !self.take(&mut running, &mut spare, env) {
                break;
            }
            let Some((index, mut group)) = running.pop_front() else { break };
            let turn = match others {
                Some(_) => group.run_for(&mut lanes, SHORT_TURN, ALONE),
                None => group.run(&mut lanes),
            };
            if lanes.instructions >= ALONE || matches!(turn, Turn::Yielded | Turn::Polling) {
                others.take().into_iter().for_each(|start| start());
            }
            let polls = matches!(turn, Turn::Polling);
            match turn {
                Turn::Done => {
                    if let Some(watch) = &mut lanes.watch {
                        watch.left(env, index);
                    }
                    if let Some(profile) = &mut lanes.profile {
                        profile.left((0..group.blocks()).map(|block| group.linear(block)));
                    }
                    if let Some(runtime) = env.runtime {
                        (0..group.blocks()).for_each(|block| runtime.left(group.linear(block)));
                    }
                    if let Some((progress, blocks)) = self.progress {
                        progress.done.fetch_add(blocks, Relaxed);
                    }
                    let block = group.warps().next().map(|(block, _)| block.id);
                    spare.push(group);
                    // A grid of many short blocks may be long, too.
                    let is_last = || running.is_empty() && self.next.0.load(Relaxed) >= self.groups;
                    if env.is_overdue() && !is_last() {
                        let limit = env.deadline.map_or(Duration::ZERO, |(_, limit)| limit);
                        let mut fault = unplaced(env.kernel, FaultKind::TimeLimit, report::too_long(limit));
                        // The one that has just ended.
                        fault.block = block.unwrap_or_default();
                        self.report(index, fault);
                        env.stop.store(true, Relaxed);
                    }
                }
                Turn::Yielded | Turn::Polling if env.is_overdue() => {
                    self.report(index, group.overdue(&lanes));
                    env.stop.store(true, Relaxed);
                }
                Turn::Yielded | Turn::Polling => {
                    // It may wait for a group that has not started, or that another worker runs.
                    running.push_back((index, group));
                    if running.len() < self.resident {
                        self.take(&mut running, &mut spare, env);
                    }
                    // Yields only when polling: on a busy machine, other processes would keep the processor for long.
                    if polls {
                        thread::yield_now();
                    }
                }
                Turn::Fault(fault) => {
                    self.report(index, fault);
                    env.stop.store(true, Relaxed);
                }
            }
        }
        self.instructions.fetch_add(lanes.instructions, Relaxed);
        if let Some(watch) = lanes.watch.take() {
            watch.finish(env);
        }
        if let Some(profile) = lanes.profile.take() {
            profile.finish(env, worker == 0);
        }
    }

    /// Starts the next group of the grid, ahead of the running ones; returns whether there was one.
    fn take(&self, running: &mut VecDeque<(u64, Group)>, spare: &mut Vec<Group>, env: &Env<'_>) -> bool {
        if self.cooperative || self.next.0.load(Relaxed) >= self.groups {
            return false;
        }
        let index = self.next.0.fetch_add(1, Relaxed);
        if index < self.groups {
            running.push_front((index, start(spare, env, index)));
            if let Some((progress, blocks)) = self.progress {
                progress.begun.fetch_add(blocks, Relaxed);
            }
        }
        index < self.groups
    }

    fn report(&self, index: u64, fault: Box<Fault>) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| index < *other) {
            *first = Some((index, fault));
        }
    }
}

fn start(spare: &mut Vec<Group>, env: &Env<'_>, index: u64) -> Group {
    let mut group = spare.pop().unwrap_or_default();
    group.start(env, index);
    group
}
