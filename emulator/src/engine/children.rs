//! Kernels that launch kernels: a launch from the host with all launches that follow from it.
//!
//! A child grid begins when its parent has ended, and it completes, with everything that it launches, before the next one begins. So the
//! launches of a block to one stream are ordered, and all writes of the parent are visible. Launches to the tail stream come after all
//! others. CUDA guarantees no more: a grid that waits for its own child may wait forever, although on a GPU it seldom does.

use std::sync::Arc;
use std::time::Instant;

use super::device_runtime::{Runtime, Waiting};
use super::fault::{Fault, FaultKind};
use super::kernel::Kernel;
use super::launch::{Child, Launch, RunControl, Stats};
use super::{grid, report, watch};
use crate::memory::Memory;

/// The maximum size in bytes of the parameter buffers that are not launched yet.
const BUFFERS: u64 = 16 << 20;

/// Runs a kernel to its end on up to `workers` host threads, the calling one among them. With one worker, the run is
/// deterministic.
pub fn run(
    kernel: &Arc<Kernel>,
    launch: &Launch,
    memory: &Memory,
    workers: usize,
) -> Result<Stats, Box<Fault>> {
    run_until(kernel, launch, memory, workers, RunControl::default())
}

/// The same, with everything that it launches, for a launch that may be stopped before its threads have ended.
pub fn run_until(
    kernel: &Arc<Kernel>,
    launch: &Launch,
    memory: &Memory,
    workers: usize,
    ends: RunControl<'_>,
) -> Result<Stats, Box<Fault>> {
    let deadline = ends.limit.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit)));
    let Some(launcher) = ends.launcher.filter(|_| kernel.launches) else {
        return grid::run(kernel, launch, memory, workers, ends, deadline, None);
    };
    let memory = memory.with_buffers(BUFFERS);
    let child = Child { kernel: Arc::clone(kernel), launch: launch.clone() };
    // The next launch is the last element.
    let mut waiting = vec![Waiting { child, depth: 0, parent: None }];
    let mut bytes: usize = waiting.iter().map(Waiting::bytes).sum();
    let (mut stats, mut ends) = (Stats::default(), ends);
    let (mut blocks, mut family) = (0_u32, None);
    for number in 0.. {
        let Some(next) = waiting.pop() else { break };
        bytes -= next.bytes();
        let Waiting { child, depth, parent } = next;
        if ends.is_unwanted() {
            break;
        }
        if let Some((_, limit)) = deadline.filter(|(end, _)| Instant::now() >= *end) {
            return Err(grid::unplaced(&child.kernel, FaultKind::TimeLimit, report::too_long(limit)));
        }
        let (kernel, launch) = (&child.kernel, &child.launch);
        let runtime = Runtime::new(launcher, depth, bytes).behind(number, blocks, (kernel, parent), family);
        let ran = grid::run(kernel, launch, &memory, workers, ends, deadline, Some(&runtime))?;
        debug_assert!(ends.is_unwanted() || runtime.has_no_errors(), "errors go with their blocks");
        stats.instructions += ran.instructions;
        // Who looks on counts the blocks of the launch from the host, which alone is a graph's node.
        (ends.progress, ends.graphs) = (None, None);
        blocks = launch.grid.into_iter().fold(1, u32::wrapping_mul).wrapping_add(blocks);
        family = runtime.take_family();
        let [ordinary, tail] = runtime.end(&memory, &child.kernel.name);
        let launched = ordinary.into_iter().chain(tail);
        waiting.extend(launched.inspect(|next| bytes += next.bytes()).rev());
    }
    if let (Some(family), Some(ongoing)) = (family, ends.ongoing) {
        watch::hand_over(family, kernel, ongoing);
    }
    Ok(stats)
}
