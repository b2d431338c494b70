//! How many blocks fit on a multiprocessor (CUDA C++ Programming Guide, "Compute Capabilities"; the rules of the occupancy
//! calculator in Nsight Compute).

use cuda_ptx::image::Arch;

/// The resources of one multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) threads: u32,
    pub(super) blocks: u32,
    pub(super) registers: u32,
    /// Bytes of shared memory, and how many of them the system reserves for each block.
    pub(super) shared: u32,
    pub(super) shared_reserved: u32,
    /// Bytes that one block may have.
    pub(super) shared_optin: u32,
    /// Threads that one block may have.
    pub(super) max_block: u32,
}

/// The resources that a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resources {
    /// Of a thread.
    pub(super) registers: u32,
    /// Static shared memory of a block, in bytes.
    pub(super) shared: u32,
    /// Threads that a block of it may have.
    pub(super) max_threads: u32,
}

/// How many blocks fit, and why no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    pub(super) blocks: u32,
    pub(super) limiter: Limiter,
}

/// The resource that prevents another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limiter {
    Threads,
    Blocks,
    Registers,
    Shared,
}

impl Limiter {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Blocks => "blocks",
            Self::Registers => "registers",
            Self::Shared => "shared memory",
        }
    }
}

/// Compute capability times ten; threads and blocks of a multiprocessor; KiB of its shared memory, and of one block's.
const KNOWN: &[(u32, u32, u32, u32, u32)] = &[
    (50, 2048, 32, 64, 48),
    (52, 2048, 32, 96, 48),
    (53, 2048, 32, 64, 48),
    (60, 2048, 32, 64, 48),
    (61, 2048, 32, 96, 48),
    (62, 2048, 32, 64, 48),
    (70, 2048, 32, 96, 96),
    (72, 2048, 32, 96, 96),
    (75, 1024, 16, 64, 64),
    (80, 2048, 32, 164, 163),
    (86, 1536, 16, 100, 99),
    (87, 1536, 16, 164, 163),
    (89, 1536, 24, 100, 99),
    (90, 2048, 32, 228, 227),
    (100, 2048, 32, 228, 227),
    (103, 2048, 32, 228, 227),
    (110, 1536, 24, 228, 227),
    (120, 1536, 24, 100, 99),
    (121, 1536, 24, 100, 99),
];

/// Registers are allocated to warps in units of this, and warps to the four parts of a multiprocessor.
const REGISTER_UNIT: u32 = 256;
const PARTS: u32 = 4;

impl Machine {
    /// The resources for an architecture that is known here.
    pub(super) fn of_arch(arch: Arch) -> Option<Self> {
        let (_, threads, blocks, shared, optin) = *KNOWN.iter().find(|(sm, ..)| *sm == arch.sm)?;
        Some(Self {
            threads,
            blocks,
            registers: 65_536,
            shared: shared << 10,
            shared_reserved: if arch.sm >= 80 { 1024 } else { 0 },
            shared_optin: optin << 10,
            max_block: 1024,
        })
    }

    /// The architectures that are known here.
    pub(super) fn known() -> String {
        let names: Vec<String> = KNOWN.iter().map(|(sm, ..)| format!("sm_{sm}")).collect();
        format!("these are known here: {}", names.join(", "))
    }

    /// Blocks of `threads` threads and `dynamic` bytes of shared memory.
    pub(super) fn fit(&self, kernel: &Resources, threads: u32, dynamic: u32) -> Fit {
        let warps = threads.div_ceil(32).max(1);
        let shared = kernel.shared.saturating_add(dynamic);
        // Shared memory is allocated in units of 128 bytes since sm_80, and of 256 bytes before.
        let unit = if self.shared_reserved > 0 { 128 } else { 256 };
        let piece =
            shared.checked_next_multiple_of(unit).unwrap_or(u32::MAX).saturating_add(self.shared_reserved);
        let by_shared =
            if shared > self.shared_optin { 0 } else { self.shared.checked_div(piece).unwrap_or(u32::MAX) };
        let by_registers = match kernel.registers {
            0 => u32::MAX,
            // Whole warps, the same number in each part.
            count => {
                let warp = (u64::from(count) * 32).next_multiple_of(u64::from(REGISTER_UNIT));
                let fit = (u64::from(self.registers) / warp) as u32;
                fit / PARTS * PARTS / warps
            }
        };
        let by_threads = if threads > kernel.max_threads { 0 } else { self.threads / 32 / warps };
        let limits = [
            (by_threads, Limiter::Threads),
            (self.blocks, Limiter::Blocks),
            (by_registers, Limiter::Registers),
            (by_shared, Limiter::Shared),
        ];
        let least = limits.into_iter().min_by_key(|(blocks, _)| *blocks);
        let (blocks, limiter) = least.unwrap_or((0, Limiter::Threads));
        Fit { blocks, limiter }
    }

    /// The fraction of the maximum number of warps.
    pub(super) fn occupancy(&self, fit: &Fit, threads: u32) -> f64 {
        f64::from(fit.blocks * threads.div_ceil(32)) / f64::from((self.threads / 32).max(1))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn blocks_that_fit() {
        let h200 = Machine::of_arch(Arch { sm: 90, suffix: None }).unwrap();
        let kernel = |registers, shared| Resources { registers, shared, max_threads: 1024 };
        let fit = |kernel: &Resources, threads, dynamic| {
            let fit = h200.fit(kernel, threads, dynamic);
            (fit.blocks, fit.limiter)
        };
        assert_eq!(fit(&kernel(32, 0), 256, 0), (8, Limiter::Threads));
        assert_eq!(fit(&kernel(32, 0), 32, 0), (32, Limiter::Blocks));
        assert_eq!(fit(&kernel(64, 0), 256, 0), (4, Limiter::Registers));
        assert_eq!(fit(&kernel(32, 0), 256, 100 << 10), (2, Limiter::Shared));
        assert_eq!(fit(&kernel(32, 1 << 10), 256, 227 << 10), (0, Limiter::Shared));
        assert_eq!(h200.occupancy(&h200.fit(&kernel(64, 0), 256, 0), 256), 0.5);
        assert_eq!(Machine::of_arch(Arch { sm: 999, suffix: None }), None);
    }
}
