//! Findings and their report.

use std::fmt;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// A kernel reads bytes that are uninitialised: not written since they were allocated.
    Uninitialised,
    /// Two threads access the same bytes, at least one writes, and nothing orders the accesses.
    Race,
    /// Two launches, copies or fills access the same bytes, at least one writes, and nothing orders the two: no stream, event, graph edge
    /// or wait of the host. [`Finding::kernel`] is the one that ended later, a kernel or a driver call.
    LaunchRace,
    /// Threads of a warp are at different barriers that a whole warp must reach together, or pass by one: `bar`, `barrier` with
    /// `.aligned` (PTX ISA, "bar, barrier": otherwise the behaviour is undefined).
    DivergentBarrier,
    /// A thread arrives at the barrier of its cluster twice without waiting in between, or waits without having arrived.
    ClusterBarrier,
    /// Bytes or registers are used that an asynchronous instruction (`cp.async`, a bulk copy, `wgmma`) may still be
    /// reading or writing: nothing orders the access after its completion.
    MissingWait,
    /// A bulk copy or `wgmma` reads what threads wrote to shared memory, without `fence.proxy.async` in between; or `wgmma` uses
    /// registers that were written after the last `wgmma.fence`.
    MissingFence,
    /// An undefined value is used: that of a register that was never written, or of a lane that does not participate in a shuffle. It is
    /// used as an address, decides a branch or whether an access, a barrier, a call or a return happens, or is stored to global memory.
    UndefinedValue,
    /// The host copies memory that is entirely uninitialised. There is no kernel: [`Finding::kernel`] is the driver call.
    UninitialisedCopy,
    /// An access by an address that is computed from that of one variable or allocation leads into another one, or into another space.
    OutOfBounds,
    /// A kernel writes to `__constant__` memory, which threads may read through caches that do not see the write.
    ConstantWrite,
    /// A fetch through a texture of what the same kernel has written: the texture cache need not show it, even if a barrier or a fence orders
    /// the two.
    StaleTexture,
    /// `mbarrier.init` of an mbarrier that was not invalidated.
    LiveMbarrier,
    /// A block that a kernel allocated with `malloc` and that was not freed.
    Leak,
}

/// The state space of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Space {
    /// Global memory.
    Global,
    /// Shared memory of a block.
    Shared,
    /// Local memory of a thread.
    Local,
}

/// The accessed bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bytes {
    /// The state space of the bytes.
    pub space: Space,
    /// The address, as used by the later access.
    pub address: u64,
    /// The number of bytes of that access; of a race between launches, those that both access.
    pub count: u32,
    /// A description of the address: in which allocation, at which offset.
    pub place: String,
}

/// A thread and its position in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Actor {
    /// `read`, `write` or `atomic access`, `asynchronous read` and the like; `arrival` at a barrier; `free` and the like of a driver call.
    pub verb: &'static str,
    /// Block index in the grid.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// Line of the instruction in the PTX text, counted from 1.
    pub ptx_line: u32,
    /// File and line of the source, if the PTX has `.loc`.
    pub source: Option<(String, u32)>,
    /// The function that it is in, if not the kernel itself.
    pub function: Option<String>,
    /// The kernel of its grid, if that is not the grid of the other access: an ancestor, or a grid that was launched beside it by
    /// a kernel.
    pub kernel: Option<String>,
    /// Where it was submitted to, for races between launches: then `kernel` is the kernel or the driver call. A copy or a fill has no
    /// threads, and its `ptx_line` is 0.
    pub stream: Option<String>,
}

/// A mistake of a kernel, or of the order of kernels, copies and fills, that a GPU does not report. There is one per place in the code, with the first threads for
/// which it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// Name of the kernel; for a copy to the host the driver call.
    pub kernel: String,
    /// The bytes; `None` for barriers and registers.
    pub bytes: Option<Bytes>,
    /// The access that revealed it: for a race, the later one; for a barrier, the threads that arrived later.
    pub access: Actor,
    /// The other access of a race; for a barrier, the other threads of the warp, or the instruction of one that passed
    /// by.
    pub other: Option<Actor>,
    /// The missing instruction, if it is known.
    pub advice: Option<&'static str>,
    /// The number of times it was found at this place.
    pub times: u64,
}

impl Finding {
    /// A copy of that many uninitialised bytes at an address to the host, by a driver call or a graph node.
    pub(crate) fn of_copy(call: &str, address: u64, bytes: usize, place: String) -> Finding {
        let count = u32::try_from(bytes).unwrap_or(u32::MAX);
        Finding {
            kind: FindingKind::UninitialisedCopy,
            kernel: call.to_owned(),
            bytes: Some(Bytes { space: Space::Global, address, count, place }),
            access: Actor::of_call("copy"),
            other: None,
            advice: Some("check that the kernel that fills it was launched before the copy"),
            times: 1,
        }
    }
}

impl Actor {
    /// A driver call.
    pub(crate) fn of_call(verb: &'static str) -> Actor {
        let (block, thread, ptx_line) = ([0; 3], [0; 3], 0);
        Actor { verb, block, thread, ptx_line, source: None, function: None, kernel: None, stream: None }
    }
}

impl FindingKind {
    /// One word for programs.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Uninitialised => "uninitialised-read",
            FindingKind::Race => "race",
            FindingKind::LaunchRace => "launch-race",
            FindingKind::DivergentBarrier => "divergent-barrier",
            FindingKind::ClusterBarrier => "cluster-barrier",
            FindingKind::MissingWait => "missing-wait",
            FindingKind::MissingFence => "missing-fence",
            FindingKind::UndefinedValue => "undefined-value",
            FindingKind::UninitialisedCopy => "uninitialised-copy",
            FindingKind::OutOfBounds => "out-of-bounds",
            FindingKind::ConstantWrite => "constant-write",
            FindingKind::StaleTexture => "stale-texture",
            FindingKind::LiveMbarrier => "live-mbarrier",
            FindingKind::Leak => "leak",
        }
    }
}

impl Space {
    /// Its name in PTX.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bytes { space, address, count, place } = self;
        write!(f, "{count} bytes of {} memory at 0x{address:x}, {place}", space.name())
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [x, y, z]) = (self.block, self.thread);
        if let (0, Some(call), Some(stream)) = (self.ptx_line, &self.kernel, &self.stream) {
            return write!(f, "{} by `{call}` in {stream}", self.verb);
        }
        write!(
            f,
            "{} by block ({bx}, {by}, {bz}), thread ({x}, {y}, {z}), PTX line {}",
            self.verb, self.ptx_line
        )?;
        if let Some((file, line)) = &self.source {
            write!(f, " ({file}:{line})")?;
        }
        if let Some(function) = &self.function {
            write!(f, " in function `{function}`")?;
        }
        match (&self.kernel, &self.stream) {
            (Some(kernel), Some(stream)) => write!(f, ", of kernel `{kernel}` in {stream}"),
            (Some(kernel), None) => write!(f, ", in another grid, of kernel `{kernel}`"),
            (None, _) => Ok(()),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { kernel, access, times, .. } = self;
        match self.kind {
            FindingKind::Race => write!(f, "race in kernel `{kernel}` on ")?,
            FindingKind::LaunchRace => {
                let other = self.other.as_ref().and_then(|other| other.kernel.as_deref());
                write!(f, "race between `{kernel}` and `{}` on ", other.unwrap_or_default())?;
            }
            FindingKind::Uninitialised => {
                write!(f, "read of memory that was never written in kernel `{kernel}`: ")?;
            }
            FindingKind::DivergentBarrier => {
                let here = if self.advice.is_some() {
                    "do not come to a barrier together"
                } else {
                    "are at different barriers"
                };
                write!(f, "threads of a warp {here} in kernel `{kernel}`: ")?;
            }
            FindingKind::ClusterBarrier => {
                write!(f, "misuse of the cluster's barrier in kernel `{kernel}`: ")?
            }
            FindingKind::MissingWait => {
                write!(f, "missing wait for asynchronous work in kernel `{kernel}` on ")?
            }
            FindingKind::MissingFence => {
                write!(f, "missing fence before asynchronous work in kernel `{kernel}` on ")?
            }
            FindingKind::UndefinedValue => write!(f, "use of an undefined value in kernel `{kernel}`: ")?,
            FindingKind::UninitialisedCopy => {
                write!(f, "`{kernel}` copies memory to the host that was never written: ")?
            }
            FindingKind::OutOfBounds => write!(
                f,
                "access outside the memory that its address is computed from, in kernel `{kernel}`: "
            )?,
            FindingKind::ConstantWrite => write!(f, "write to constant memory in kernel `{kernel}`: ")?,
            FindingKind::StaleTexture => write!(f, "fetch of what was just written, in kernel `{kernel}`: ")?,
            FindingKind::LiveMbarrier => {
                write!(f, "initialisation of an mbarrier that is in use, in kernel `{kernel}`: ")?
            }
            FindingKind::Leak => write!(f, "leak in kernel `{kernel}`: ")?,
        }
        match (&self.bytes, self.kind) {
            (Some(bytes), FindingKind::UninitialisedCopy) => write!(f, "{bytes}")?,
            (Some(bytes), _) => write!(f, "{bytes}: ")?,
            (None, FindingKind::MissingWait | FindingKind::MissingFence) => f.write_str("registers: ")?,
            (None, _) => {}
        }
        // A copy has no threads.
        if self.kind != FindingKind::UninitialisedCopy {
            write!(f, "{access}")?;
        }
        if let Some(other) = &self.other {
            write!(f, "; {other}")?;
        }
        if let Some(advice) = &self.advice {
            write!(f, "; {advice}")?;
        }
        match times.saturating_sub(1) {
            0 => Ok(()),
            1 => f.write_str("; once more here"),
            more => write!(f, "; {more} times more here"),
        }
    }
}
