//! What the threads of a launch, and those of a block, share.

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
    /// What runs.
    pub(crate) kernel: &'e Kernel,
    /// How.
    pub(crate) launch: &'e Launch,
    /// Blocks per cluster.
    pub(crate) cluster: [u32; 3],
    /// The device's memory, for reports.
    pub(crate) memory: &'e Memory,
    /// The allocations that kernels see.
    pub(crate) snapshot: Arc<Snapshot>,
    /// The parameters, at address 0 of their window.
    pub(crate) params: Region,
    /// Generic address of the workspace of the grid barrier; 0 if the launch is not cooperative.
    pub(crate) workspace: u64,
    /// Set when a worker met a fault and the others are to stop.
    pub(crate) stop: AtomicBool,
    /// When it may run no longer, and the limit that says so.
    pub(crate) deadline: Option<(Instant, Duration)>,
    /// What ends it before its threads do.
    pub(crate) ends: RunControl<'e>,
    /// What the launch writes, where it runs under several orders.
    pub(crate) undo: Option<Arc<Mutex<Undo>>>,
    /// What its threads launch, where they can.
    pub(crate) runtime: Option<&'e Runtime<'e>>,
    /// Number of the launch, for `%gridid`.
    pub(crate) grid_id: u64,
}

impl Env<'_> {
    /// Whether its threads are to stop where they are: after a fault, because nobody wants the launch any more, or because its time is up.
    pub(crate) fn must_stop(&self) -> bool {
        self.stop.load(Relaxed) || self.ends.is_unwanted() || self.is_overdue()
    }

    /// Whether the launch has run for as long as it may.
    pub(crate) fn is_overdue(&self) -> bool {
        self.deadline.is_some_and(|(end, _)| Instant::now() >= end)
    }
}

/// What the threads of one block share.
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
