//! Why a kernel stopped, and where.

use std::fmt;

/// What stopped a kernel. The driver layer maps each to the code that a GPU's driver returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside every allocation, into freed memory, or outside the window of its state space
    /// (`CUDA_ERROR_ILLEGAL_ADDRESS`).
    IllegalAddress,
    /// An access inside an allocation whose address is not a multiple of its size
    /// (`CUDA_ERROR_MISALIGNED_ADDRESS`).
    MisalignedAddress,
    /// `trap` or `brkpt` (`CUDA_ERROR_LAUNCH_FAILED`).
    Trap,
    /// A failed device-side `assert` (`CUDA_ERROR_ASSERT`).
    Assert,
    /// An instruction that this engine does not support, or supports only in other forms (`CUDA_ERROR_NOT_SUPPORTED`).
    UnsupportedInstruction,
    /// Every remaining thread waits for one that cannot arrive. A GPU would hang
    /// (`CUDA_ERROR_LAUNCH_TIMEOUT`).
    Deadlock,
    /// The kernel ran for longer than it may (`CUDA_ERROR_LAUNCH_TIMEOUT`).
    TimeLimit,
    /// Calls nested too deep for the stack (`CUDA_ERROR_ILLEGAL_ADDRESS`, as GPUs report it).
    StackOverflow,
    /// An indirect call to something that is not a function with that signature
    /// (`CUDA_ERROR_INVALID_PC`).
    InvalidCall,
    /// A barrier or `.sync` instruction used in a way that the ISA leaves undefined: a number out of range, a
    /// thread outside its own member mask, different counts for one barrier
    /// (`CUDA_ERROR_ILLEGAL_INSTRUCTION`).
    InvalidSync,
    /// The host has no memory left for the launch (`CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`).
    OutOfResources,
}

/// The report of a kernel that was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Name of the kernel as launched.
    pub kernel: String,
    /// Block index in the grid.
    pub block: [u32; 3],
    /// Thread index in the block: the first of those that faulted together.
    pub thread: [u32; 3],
    /// The address accessed, for the two kinds that have one.
    pub address: Option<u64>,
    /// Line of the instruction in the PTX text, counted from 1; 0 if no instruction is to blame.
    pub ptx_line: u32,
    /// File and line of the source, if the PTX has `.loc`.
    pub source: Option<(String, u32)>,
    /// A description of what happened: one sentence, without the fields above.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(
            f,
            "{} in kernel `{}`, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})",
            self.message, self.kernel
        )?;
        if self.ptx_line > 0 {
            write!(f, ", PTX line {}", self.ptx_line)?;
        }
        if let Some((file, line)) = &self.source {
            write!(f, " ({file}:{line})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
