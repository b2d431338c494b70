//! A kernel that is ready to run.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use cuda_ptx::Parameter;

use super::code::{Code, Origin};
use super::profile::Profiled;
use super::schedule::Scheduled;
use super::watch::Watched;
use crate::schedule::OneOrderReason;

/// A decoded kernel with everything it calls.
#[non_exhaustive]
pub struct Kernel {
    /// Its name in the PTX.
    pub name: String,
    /// Its parameters with their C offsets.
    pub parameters: Vec<Parameter>,
    /// Bytes of the parameter block.
    pub parameter_bytes: usize,
    /// Bytes of static shared memory.
    pub static_shared: u32,
    /// Bytes of local memory per thread, the functions it calls included (one frame each).
    pub local_bytes: u32,
    /// Most threads in a block: the product of `.reqntid` or `.maxntid`, otherwise 1024.
    pub max_threads: u32,
    /// `.reqntid`
    pub reqntid: Option<[u32; 3]>,
    /// `.maxntid`
    pub maxntid: Option<[u32; 3]>,
    /// `.reqnctapercluster`
    pub cluster: Option<[u32; 3]>,
    /// `.version` as `major * 10 + minor`.
    pub ptx_version: u32,
    /// Architecture number of `.target`: 90 for `sm_90a`.
    pub target: u32,
    /// An estimate of the 32-bit registers that a thread needs: the maximum number that is live at once, and at
    /// most 255.
    pub registers: u32,
    /// Bytes of `.const` variables in its module.
    pub const_bytes: u64,
    /// First valid shared address.
    pub(super) shared_start: u32,
    /// The end of static shared memory, behind which a launch adds its own.
    pub(super) static_end: u32,
    /// Whether it has a dynamic array in shared memory.
    pub(super) dynamic: bool,
    /// Whether it can reach `malloc` or `free`.
    pub(super) allocates: bool,
    /// Whether it can reach a function with which the device runtime launches kernels.
    pub(super) launches: bool,
    /// Whether it can reach what launches graphs.
    pub(super) launches_graphs: bool,
    /// Whether it can reach what changes nodes of graphs.
    pub(super) updates_nodes: bool,
    /// Instructions that access memory.
    pub(super) sites: u32,
    /// The number of address shapes that loads record for each other.
    pub(super) shapes: u32,
    /// The information about watched instructions, by site; empty if nothing is watched.
    pub(super) watched: Vec<Watched>,
    /// The kernel's own registers that may be read before they are written, if that is watched.
    pub(super) unwritten: Vec<u32>,
    /// The information about counted instructions, by function; empty if nothing is counted.
    pub(super) profiled: Vec<Vec<Profiled>>,
    /// Why it runs in the ordinary order only, whatever orders are requested.
    pub(super) one_order: Option<OneOrderReason>,
    /// The information about instructions that run under several schedules, by function; empty if schedules are off.
    pub(super) scheduled: Vec<Vec<Scheduled>>,
    /// The kernel, then the functions it reaches.
    pub(super) codes: Vec<Code>,
    /// The address of the program's first function.
    pub(super) first_function: u64,
    /// Index in `codes` by index of the function in the program.
    pub(super) functions: HashMap<usize, usize>,
    /// Address ranges of `.const` variables.
    pub(super) constants: Vec<(u64, u64)>,
    /// The text of its module; empty if nothing is counted.
    pub(super) text: Arc<str>,
    /// `.file` names by index.
    pub(super) files: HashMap<u32, String>,
}

impl Kernel {
    /// File and line of the source that an instruction was compiled from.
    pub(super) fn source(&self, origin: Origin) -> Option<(&str, u32)> {
        let file = self.files.get(&origin.file).filter(|_| origin.source_line > 0)?;
        Some((file, origin.source_line))
    }

    /// Whether it can reach `malloc` or `free`.
    pub fn uses_heap(&self) -> bool {
        self.allocates
    }

    /// Whether it can reach a function that launches kernels.
    pub fn launches_kernels(&self) -> bool {
        self.launches
    }

    /// Whether it can reach what launches graphs.
    pub fn launches_graphs(&self) -> bool {
        self.launches_graphs
    }

    /// Whether it can reach what changes nodes of graphs.
    pub fn updates_nodes(&self) -> bool {
        self.updates_nodes
    }

    /// What it can reach that cannot be undone.
    pub(super) fn not_undone(&self, writes_surfaces: bool) -> Option<OneOrderReason> {
        let reached = [
            (self.allocates, OneOrderReason::Heap),
            (self.launches, OneOrderReason::KernelLaunches),
            (self.launches_graphs, OneOrderReason::GraphLaunches),
            (self.updates_nodes, OneOrderReason::NodeUpdates),
            (writes_surfaces, OneOrderReason::Surfaces),
        ];
        reached.into_iter().find_map(|(reached, reason)| reached.then_some(reason))
    }

    /// The instructions that would stop the kernel if a thread reached them, because this engine lacks them: line in
    /// the PTX text and reason.
    pub fn unsupported(&self) -> impl Iterator<Item = (u32, &str)> {
        self.codes.iter().flat_map(|code| code.refused())
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).finish_non_exhaustive()
    }
}
