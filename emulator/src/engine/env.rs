//! State shared by the threads of a launch, and by those of a block.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::device_runtime::Runtime;
use super::exec::memory::Region;
use super::kernel::Kernel;
use super::launch::{Launch, RunControl};
use super::schedule::Undo;
use crate::memory::{Memory, Snapshot};

/// A launch while it runs.
pub(crate) struct Env<'e> {
    /// The kernel.
    pub(crate) kernel: &'e Kernel,
    /// Its launch configuration.
    pub(crate) launch: &'e Launch,
    /// Blocks per cluster.
    pub(crate) cluster: [u32; 3],
    /// The device's memory, for reports.
    pub(crate) memory: &'e Memory,
    /// The allocations that kernels can access.
    pub(crate) snapshot: Arc<Snapshot>,
    /// The parameters, at address 0 of their window.
    pub(crate) params: Region,
    /// Generic address of the workspace of the grid barrier; 0 if the launch is not cooperative.
    pub(crate) workspace: u64,
    /// Set when a worker has met a fault and the others must stop.
    pub(crate) stop: AtomicBool,
    /// The time at which it must stop, and the limit.
    pub(crate) deadline: Option<(Instant, Duration)>,
    /// What ends it before its threads do.
    pub(crate) ends: RunControl<'e>,
    /// The writes of the launch, if it runs under several schedules.
    pub(crate) undo: Option<Arc<Mutex<Undo>>>,
    /// The launches of its threads, if they can launch.
    pub(crate) runtime: Option<&'e Runtime<'e>>,
    /// Number of the launch, for `%gridid`.
    pub(crate) grid_id: u64,
}

impl Env<'_> {
    /// Whether its threads are to stop where they are: after a fault, because nobody wants the launch any more, or because its time is up.
    pub(crate) fn must_stop(&self) -> bool {
        self.stop.load(Relaxed) || self.ends.is_unwanted() || self.is_overdue()
    }

    /// Whether the launch has exceeded its time limit.
    pub(crate) fn is_overdue(&self) -> bool {
        self.deadline.is_some_and(|(end, _)| Instant::now() >= end)
    }
}

/// State shared by the threads of one block.
#[derive(Debug)]
pub(crate) struct Block {
    /// `%ctaid`
    pub(crate) id: [u32; 3],
    /// Linear index in the grid, x first.
    pub(crate) linear: u64,
    /// Rank in its cluster.
    pub(crate) rank: u32,
    /// Shared memory of every block of the cluster, by rank, at the kernel's first valid address.
    pub(crate) shared: Box<[Region]>,
}
