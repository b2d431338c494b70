//! What launches did, counted for each instruction: how often it ran, for how many threads, and what it cost in memory.
//!
//! Off by default, and then free: kernels are decoded differently when it is on (`engine/profile`).

mod lcov;

pub use lcov::lcov;

use std::fmt;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often an instruction ran, and what it accessed. Names and definitions are those of Nsight Compute, counted in PTX instructions
/// instead of machine instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Times a warp executed it (`inst_executed`).
    pub warps: u64,
    /// Threads that were active in it, summed over those times (`thread_inst_executed`).
    pub threads: u64,
    /// Threads whose guard held as well (`thread_inst_executed_pred_on`).
    pub threads_on: u64,
    /// Conditional branches: threads that jumped.
    pub taken: u64,
    /// Conditional branches: threads that continued with the next instruction.
    pub not_taken: u64,
    /// Conditional branches: times the threads of a warp went both ways.
    pub divergent: u64,
    /// Accesses of warps to global memory.
    pub global_requests: u64,
    /// Sectors of 32 bytes that these touched.
    pub global_sectors: u64,
    /// Sectors that would have been enough for the bytes that they touched.
    pub global_sectors_ideal: u64,
    /// Bytes that their threads requested.
    pub global_bytes: u64,
    /// Accesses of warps to shared memory.
    pub shared_requests: u64,
    /// Passes over the 32 banks that these took: more than one if threads access different words of one bank.
    pub shared_wavefronts: u64,
    /// Passes that would have been enough without bank conflicts.
    pub shared_wavefronts_ideal: u64,
    /// Bytes that their threads requested.
    pub shared_bytes: u64,
    /// Atomic operations of threads on an address that another thread of the warp updated in the same instruction.
    pub collisions: u64,
}

impl Counts {
    /// Whether any thread executed it: one whose guard held, or which came to a branch.
    pub fn ran(&self) -> bool {
        self.threads_on + self.taken + self.not_taken > 0
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.warps += other.warps;
        self.threads += other.threads;
        self.threads_on += other.threads_on;
        self.taken += other.taken;
        self.not_taken += other.not_taken;
        self.divergent += other.divergent;
        self.global_requests += other.global_requests;
        self.global_sectors += other.global_sectors;
        self.global_sectors_ideal += other.global_sectors_ideal;
        self.global_bytes += other.global_bytes;
        self.shared_requests += other.shared_requests;
        self.shared_wavefronts += other.shared_wavefronts;
        self.shared_wavefronts_ideal += other.shared_wavefronts_ideal;
        self.shared_bytes += other.shared_bytes;
        self.collisions += other.collisions;
    }
}

/// An instruction of a kernel, or of a function that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionProfile {
    /// The function that it is in.
    pub function: Arc<str>,
    /// Its line in the PTX text, counted from 1.
    pub ptx_line: u32,
    /// File and line of the source, if the PTX has `.loc`.
    pub source: Option<(Arc<str>, u32)>,
    /// Whether it is a branch with a guard.
    pub conditional: bool,
    /// Its counts over all launches.
    pub counts: Counts,
}

/// What all launches of a kernel did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelProfile {
    /// Its name in the PTX.
    pub kernel: String,
    /// The PTX text that contains it.
    pub text: Arc<str>,
    /// Launches.
    pub launches: u64,
    /// Blocks of these.
    pub blocks: u64,
    /// Threads of these.
    pub threads: u64,
    /// All instructions in the order of the text, followed by those of called functions; includes those that never ran.
    pub instructions: Vec<InstructionProfile>,
}

/// Collects what launches did.
#[derive(Default)]
pub struct Profiler {
    kernels: Mutex<Vec<KernelProfile>>,
}

impl Profiler {
    /// What was counted since the last call, by kernel in the order of their first launches.
    pub fn take(&self) -> Vec<KernelProfile> {
        std::mem::take(&mut *self.lock())
    }

    /// What has been counted so far.
    pub fn peek(&self) -> Vec<KernelProfile> {
        self.lock().clone()
    }

    /// Adds what a worker counted of a launch.
    pub(crate) fn add(&self, new: KernelProfile) {
        let mut kernels = self.lock();
        // The text is shared by all kernels of a loaded module; modules of the same text are told together.
        let same = |known: &&mut KernelProfile| known.kernel == new.kernel && known.text == new.text;
        let Some(known) = kernels.iter_mut().find(same) else { return kernels.push(new) };
        known.launches += new.launches;
        known.blocks += new.blocks;
        known.threads += new.threads;
        for (known, new) in known.instructions.iter_mut().zip(&new.instructions) {
            known.counts += new.counts;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<KernelProfile>> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Profiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profiler").finish_non_exhaustive()
    }
}
