//! What launches did, counted for each instruction: how often it ran, for how many threads, and what it cost in memory.
//!
//! Off by default, and then free: kernels are decoded differently when it is on (`engine/profile`).

mod heat;
mod lcov;
mod lines;
mod operations;

pub use heat::AllocationProfile;
pub(crate) use heat::Heat;
pub use lcov::lcov;
pub use lines::LineProfile;
pub use operations::{MatrixOperations, Operations};

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
    /// Branches, `ret` and `exit` with a guard: threads that jumped or left.
    pub taken: u64,
    /// Branches, `ret` and `exit` with a guard: threads that continued with the next instruction.
    pub not_taken: u64,
    /// Branches, `ret` and `exit` with a guard: times the threads of a warp went both ways. Nsight Compute counts this of branches only.
    pub divergent: u64,
    /// Accesses of warps to global memory; of bulk copies (`cp.async.bulk` and its tensor forms), which single threads begin, one for each
    /// thread.
    pub global_requests: u64,
    /// Sectors of 32 bytes that these touched.
    pub global_sectors: u64,
    /// Sectors that their bytes would fill side by side, or those that they touched if these are fewer.
    pub global_sectors_ideal: u64,
    /// Bytes that their threads requested.
    pub global_bytes: u64,
    /// Accesses of warps to shared memory.
    pub shared_requests: u64,
    /// Passes over the 32 banks that these took: more than one if threads access different words of one bank, update one word by atomics,
    /// or access more than 4 bytes each.
    pub shared_wavefronts: u64,
    /// Passes that their bytes would fill, or those that they took if these are fewer: the others are bank conflicts.
    pub shared_wavefronts_ideal: u64,
    /// Bytes that their threads requested, and those that bulk copies and `st.async` read and wrote, which do not count as accesses of warps.
    pub shared_bytes: u64,
    /// Accesses of warps to local memory: arrays of a thread, and registers that were spilled.
    pub local_requests: u64,
    /// Bytes that their threads requested.
    pub local_bytes: u64,
    /// Accesses of warps to constants, by loads that name them or by generic addresses. Nsight Compute counts those that the compiler leaves
    /// as loads (`idc__requests`): most become operands of other instructions.
    pub constant_requests: u64,
    /// Bytes that their threads requested.
    pub constant_bytes: u64,
    /// Accesses of warps to textures: `tex`, `tld4` (`l1tex__t_requests_pipe_tex_mem_texture`).
    pub texture_requests: u64,
    /// Bytes of the elements that their threads read: of all that a filter averages, and of none where a border is.
    pub texture_bytes: u64,
    /// Accesses of warps to surfaces: `suld`, `sust`, `sured` (`l1tex__t_requests_pipe_tex_mem_surface_op_ld`, `_st`, `_red`).
    pub surface_requests: u64,
    /// Bytes that their threads read or wrote.
    pub surface_bytes: u64,
    /// Barriers of a block: instructions for which its warps waited there, if all warps execute theirs at the same rate. This is no
    /// counter of Nsight Compute, whose stalls are measured in time.
    pub barrier_wait: u64,
    /// Atomic operations of threads on an address that another thread of the warp updated in the same instruction.
    pub collisions: u64,
}

impl Counts {
    /// Whether any thread executed it: one whose guard held, or which came to a branch or the end of a function under a guard.
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
        self.local_requests += other.local_requests;
        self.local_bytes += other.local_bytes;
        self.constant_requests += other.constant_requests;
        self.constant_bytes += other.constant_bytes;
        self.texture_requests += other.texture_requests;
        self.texture_bytes += other.texture_bytes;
        self.surface_requests += other.surface_requests;
        self.surface_bytes += other.surface_bytes;
        self.barrier_wait += other.barrier_wait;
        self.collisions += other.collisions;
    }
}

/// An instruction of a kernel, or of a function that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionProfile {
    /// The function that it is in.
    pub function: Arc<str>,
    /// Its name with all modifiers, as in the PTX: `fma.rn.f32`.
    pub name: Arc<str>,
    /// Its line in the PTX text, counted from 1.
    pub ptx_line: u32,
    /// File and line of the source, if the PTX has `.loc`; `None` also for line 0, which compilers give to code that belongs to no line.
    pub source: Option<(Arc<str>, u32)>,
    /// The column there, counted from 1; 0 if it is not known.
    pub column: u32,
    /// Whether it is a branch, a `ret` or an `exit` with a guard.
    pub conditional: bool,
    /// Of the first instruction of a function: times a warp entered the function, over all launches. 0 for all others.
    pub entries: u64,
    /// Of a `brx.idx`: threads that jumped to each of its targets, which are in the order of its list, each once. Empty for all others.
    pub targets: Vec<u64>,
    /// Its counts over all launches.
    pub counts: Counts,
}

/// Adds what the same instruction did in other launches.
impl AddAssign<&InstructionProfile> for InstructionProfile {
    fn add_assign(&mut self, other: &InstructionProfile) {
        self.counts += other.counts;
        self.entries += other.entries;
        self.targets.iter_mut().zip(&other.targets).for_each(|(known, new)| *known += new);
    }
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
    /// The allocations of global memory that it accessed, in the order of their addresses; at most 64.
    pub allocations: Vec<AllocationProfile>,
}

/// Collects what launches did.
#[derive(Default)]
pub struct Profiler {
    kernels: Mutex<Vec<KernelProfile>>,
    /// A profiler that also receives everything, and the kernels of each module.
    coverage: Option<Arc<Profiler>>,
}

impl Profiler {
    /// One that hands everything on to another, for the coverage of the whole process.
    pub(crate) fn covering(coverage: Arc<Profiler>) -> Profiler {
        Profiler { kernels: Mutex::default(), coverage: Some(coverage) }
    }

    /// Whether it wants to know of kernels that are never launched.
    pub(crate) fn covers(&self) -> bool {
        self.coverage.is_some()
    }

    /// A module has this kernel, with no counts.
    pub(crate) fn declare(&self, kernel: KernelProfile) {
        if let Some(coverage) = &self.coverage {
            coverage.add(kernel);
        }
    }

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
        if let Some(coverage) = &self.coverage {
            coverage.add(KernelProfile { allocations: Vec::new(), ..new.clone() });
        }
        let mut kernels = self.lock();
        // The text is shared by all kernels of a loaded module; modules of the same text are told together.
        let same = |known: &&mut KernelProfile| known.kernel == new.kernel && known.text == new.text;
        let Some(known) = kernels.iter_mut().find(same) else {
            let mut new = new;
            new.allocations.sort_by_key(|allocation| (allocation.address, allocation.bytes));
            return kernels.push(new);
        };
        known.launches += new.launches;
        known.blocks += new.blocks;
        known.threads += new.threads;
        for (known, new) in known.instructions.iter_mut().zip(&new.instructions) {
            *known += new;
        }
        heat::merge(&mut known.allocations, new.allocations);
        known.allocations.sort_by_key(|allocation| (allocation.address, allocation.bytes));
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
