//! What an instruction has to do with work that continues after it: noted while it is decoded.

/// Work that an instruction starts, finishes, or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, their tensor forms, `st.async`: while they run they tell what they access.
    Bulk {
        /// Whether they complete with a bulk group of their thread; else at a barrier.
        grouped: bool,
        /// Whether their first two operands are the addresses of the target and of the source.
        plain: bool,
    },
    /// `wgmma.mma_async`
    Product,
    /// The work of a thread, or a warp, becomes a group.
    Commit(Group),
    /// All groups but the last so many are waited for.
    Wait(Group, u32),
    /// `cp.async.wait_all`
    WaitAll,
    /// `cp.async.mbarrier.arrive`: the barrier's phase waits for the copies before it.
    CopiesArrive {
        /// Without `.noinc`: it is no arrival that the barrier counts.
        extra: bool,
    },
    /// `wgmma.fence`
    RegisterFence,
    /// `fence.proxy.async`
    ProxyFence,
    /// `griddepcontrol`
    Dependents {
        /// `wait`: what the grid depends on is over; else grids that depend on this one may begin.
        wait: bool,
    },
    /// `mbarrier.init`
    Init,
    /// `mbarrier.inval`
    Invalidate,
    /// `mbarrier.arrive` and what else changes a barrier.
    Change {
        /// Without `.relaxed`: whoever waits sees what this thread did before.
        releases: bool,
    },
    /// `mbarrier.test_wait`, `mbarrier.try_wait`: operand 0 says for whom the phase is over.
    Waited {
        /// Without `.relaxed`: it sees what those did who arrived.
        acquires: bool,
    },
}

impl Event {
    /// What it does to memory, in findings.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Event::Product => "asynchronous read",
            _ => "asynchronous copy",
        }
    }
}

/// What is committed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// `cp.async`
    Copies,
    /// `cp.async.bulk` to global memory: all of it.
    Bulk,
    /// The same, as far as it reads.
    BulkReads,
    /// `wgmma`
    Products,
}

/// Registers that work in flight may use, by their numbers in the function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registers {
    /// Those that the instruction reads.
    pub(crate) read: Vec<u32>,
    /// Those that it writes.
    pub(crate) written: Vec<u32>,
    /// Whether it only moves a value from one register to another.
    pub(crate) moves: bool,
}
