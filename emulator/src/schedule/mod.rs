//! Launches run under several orders of their warps and blocks: the options, and what differed.
//!
//! The runs themselves are in `engine/schedule`. Without schedules kernels are decoded and run as usual.

mod collect;
mod difference;
mod one_order;

pub(crate) use collect::Report;
pub use collect::Scheduler;
pub use difference::{DifferenceKind, DifferentBytes, ScheduleDifference};
pub use one_order::{OneOrder, OneOrderReason};

/// The orders of warps and blocks under which each launch runs.
///
/// A launch first runs in the ordinary order, whose results are kept. Then it runs again from the same memory, once for each seed: a seed
/// decides which warp runs and for how long, in which order blocks start and how many are resident, where a warp's threads diverge,
/// and when stores become visible. The same seed always gives the same order.
///
/// ```
/// use cuda_emulator::Schedules;
///
/// // Fifty orders: those of the seeds 1 to 50.
/// let fifty = Schedules::new(50);
/// // The order of seed 17 alone, as it was reported.
/// let replay = Schedules::new(1).seed(17);
/// assert_eq!((fifty.count(), replay.first_seed()), (50, 17));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Schedules {
    count: u32,
    seed: u64,
    late_stores: bool,
}

impl Schedules {
    /// That many orders, those of the seeds from 1 on.
    pub fn new(count: u32) -> Schedules {
        Schedules { count, seed: 1, late_stores: true }
    }

    /// The first seed; the others follow it.
    pub fn seed(self, seed: u64) -> Schedules {
        Schedules { seed, ..self }
    }

    /// Whether an ordinary store may become visible to other threads later than it is executed, at the latest when its thread comes to a
    /// fence, a barrier, a release or its end. GPUs do so; with `false` every store is visible at once, and a missing fence is not found.
    pub fn late_stores(self, allowed: bool) -> Schedules {
        Schedules { late_stores: allowed, ..self }
    }

    /// How many orders.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The first seed.
    pub fn first_seed(&self) -> u64 {
        self.seed
    }

    /// Whether stores may become visible late.
    pub fn has_late_stores(&self) -> bool {
        self.late_stores
    }

    /// The seeds in order.
    pub(crate) fn seeds(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.count)).map(move |number| self.seed.wrapping_add(number))
    }
}
