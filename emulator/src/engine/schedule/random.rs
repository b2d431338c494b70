//! Numbers that a seed decides.

/// SplitMix64: small, and the same everywhere.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub(super) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.number() >> 16) as usize % bound.max(1)
    }

    /// True with a probability in 256ths.
    pub(super) fn chance(&mut self, of_256: u32) -> bool {
        ((self.number() >> 24) as u32 & 255) < of_256
    }

    /// One of these.
    pub(super) fn one_of<T: Copy, const N: usize>(&mut self, choices: [T; N]) -> T {
        choices[self.below(N)]
    }

    /// A different order.
    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

/// Code for architectures before this one may rely on the threads of a warp to stay together.
const VOLTA: u32 = 70;

/// The style of an order: each seed has one of many, because each kind of mistake shows in a different one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// How often, in 256ths, a warp must yield to others after an access.
    pub(super) preempts: u32,
    /// How often, in 256ths, some threads of a warp stay behind at an access.
    pub(super) parts: u32,
    /// How often an ordinary store becomes visible late, of 256.
    pub(super) delays: u32,
    /// Whether that holds for volatile and relaxed stores too.
    pub(super) delays_polled: bool,
    /// How often, after a turn of a warp, a late store becomes visible by itself, of 256.
    pub(super) lands: u32,
    /// Whether the threads of a warp stay together as on GPUs before Volta.
    pub(super) lockstep: bool,
    /// The number of resident blocks (or clusters).
    pub(super) resident: usize,
    /// Whether blocks start in another order than that of their numbers.
    pub(super) shuffled: bool,
    /// Whether warps and blocks have priorities, which change over time; otherwise all are equal.
    pub(super) ranked: bool,
}

impl Style {
    /// The style of a seed; `target` is the architecture that the kernel was compiled for.
    pub(super) fn of(random: &mut Random, late_stores: bool, target: u32) -> Style {
        let delays = random.one_of([0, 64, 256]);
        let lockstep = target < VOLTA;
        let parts = random.one_of([0, 0, 24, 96]);
        let polled = Random::new(random.clone().number()).one_of([true, false]);
        Style {
            preempts: random.one_of([256, 128, 64, 24, 8]),
            parts: if lockstep { 0 } else { parts },
            lockstep,
            delays: if late_stores { delays } else { 0 },
            // Threads that stay together see such stores of each other at once.
            delays_polled: polled && !lockstep,
            lands: random.one_of([0, 4, 64]),
            resident: random.one_of([1, 2, 4, 16, 64]),
            shuffled: random.one_of([false, true]),
            ranked: random.one_of([false, true]),
        }
    }
}
