//! The barrier of a cluster.

/// The barrier that all threads of a cluster arrive at and wait for.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    /// Completed phases.
    phase: u64,
    arrived: u32,
    /// Threads that the current phase waits for.
    live: u32,
    /// Those of them that have arrived and exited.
    leaving: u32,
    /// Whether a phase has completed and not all waiting threads were told.
    news: bool,
}

impl Cluster {
    /// The barrier of a cluster with that many threads.
    pub(super) fn new(threads: u32) -> Cluster {
        Cluster { live: threads, ..Cluster::default() }
    }

    /// Completed phases.
    pub(super) fn phase(&self) -> u64 {
        self.phase
    }

    /// Lets threads arrive; returns whether that completed a phase.
    pub(super) fn arrive(&mut self, threads: u32) -> bool {
        self.arrived += threads;
        self.check()
    }

    /// Threads exit: `pending` that have not arrived in this phase, and `arrived` that have. Returns whether that completed
    /// a phase.
    pub(super) fn exit(&mut self, pending: u32, arrived: u32) -> bool {
        self.live -= pending.min(self.live);
        self.leaving += arrived;
        self.check()
    }

    fn check(&mut self) -> bool {
        let complete = self.arrived > 0 && self.arrived >= self.live;
        if complete {
            self.live -= self.leaving.min(self.live);
            (self.arrived, self.leaving) = (0, 0);
            self.phase += 1;
            self.news = true;
        }
        complete
    }

    /// Whether a phase completed since the last call.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }
}
