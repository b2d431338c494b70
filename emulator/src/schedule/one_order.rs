//! Kernels that run in the ordinary order only.

use std::fmt;

/// Why a kernel runs in the ordinary order only: what it can reach cannot be undone between two orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OneOrderReason {
    /// `malloc` and `free`.
    Heap,
    /// Launches of kernels.
    KernelLaunches,
    /// Launches of graphs.
    GraphLaunches,
    /// Changes of graph nodes.
    NodeUpdates,
    /// Stores to surfaces, and reductions there (`sust`, `sured`).
    Surfaces,
}

/// A kernel whose launches ran in the ordinary order only, although several orders were requested.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OneOrder {
    /// Name of the kernel.
    pub kernel: String,
    /// How many launches.
    pub launches: u64,
    /// Why.
    pub reason: OneOrderReason,
}

impl OneOrderReason {
    /// One word for programs.
    pub fn name(self) -> &'static str {
        match self {
            OneOrderReason::Heap => "heap",
            OneOrderReason::KernelLaunches => "kernel-launches",
            OneOrderReason::GraphLaunches => "graph-launches",
            OneOrderReason::NodeUpdates => "node-updates",
            OneOrderReason::Surfaces => "surfaces",
        }
    }
}

impl fmt::Display for OneOrderReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OneOrderReason::Heap => "it can call malloc or free",
            OneOrderReason::KernelLaunches => "it can launch kernels",
            OneOrderReason::GraphLaunches => "it can launch graphs",
            OneOrderReason::NodeUpdates => "it can change nodes of graphs",
            OneOrderReason::Surfaces => "it can store to surfaces",
        })
    }
}

impl fmt::Display for OneOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OneOrder { kernel, reason, .. } = self;
        write!(
            f,
            "kernel `{kernel}` ran in the ordinary order only: {reason}, which cannot be undone between two orders"
        )
    }
}
