//! How many blocks fit on a multiprocessor (CUDA C++ Programming Guide, "Compute Capabilities"; the rules of the occupancy
//! calculator in Nsight Compute). The driver and `cuda-launch occupancy` both ask here.

/// The resources of one multiprocessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Threads that are there at once.
    pub threads: u32,
    /// Blocks that are there at once.
    pub blocks: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Bytes of shared memory.
    pub shared: u32,
    /// How many of them the system reserves for each block.
    pub shared_reserved: u32,
    /// Bytes that one block may have.
    pub shared_optin: u32,
    /// Threads that one block may have.
    pub max_block: u32,
}

/// The resources that a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Of a thread.
    pub registers: u32,
    /// Static shared memory of a block, in bytes.
    pub shared: u32,
    /// Threads that a block of it may have.
    pub max_threads: u32,
}

/// How many blocks fit, and why no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The number of blocks.
    pub blocks: u32,
    /// The resource that prevents another one.
    pub limiter: Limiter,
}

/// The resource that prevents another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// Warps.
    Threads,
    /// The number of blocks itself.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
}

impl Limiter {
    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
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
    /// The resources for the architecture with that number, if it is known here.
    pub fn of_number(sm: u32) -> Option<Self> {
        let (_, threads, blocks, shared, optin) = *KNOWN.iter().find(|(known, ..)| *known == sm)?;
        Some(Self {
            threads,
            blocks,
            registers: 65_536,
            shared: shared << 10,
            shared_reserved: if sm >= 80 { 1024 } else { 0 },
            shared_optin: optin << 10,
            max_block: 1024,
        })
    }

    /// The architectures that are known here.
    pub fn known() -> String {
        let names: Vec<String> = KNOWN.iter().map(|(sm, ..)| format!("sm_{sm}")).collect();
        format!("these are known here: {}", names.join(", "))
    }

    /// The unit in which shared memory is allocated: 128 bytes since `sm_80`, and 256 before.
    pub fn shared_unit(&self) -> u32 {
        if self.shared_reserved > 0 { 128 } else { 256 }
    }

    /// Warps of so many registers in each thread that fit: the same number in each part.
    pub fn warps_by_registers(&self, registers: u32) -> u32 {
        let warp = (u64::from(registers) * 32).next_multiple_of(u64::from(REGISTER_UNIT));
        let fit = u64::from(self.registers).checked_div(warp).map_or(u32::MAX, |warps| warps as u32);
        fit / PARTS * PARTS
    }

    /// Blocks of `threads` threads and `dynamic` bytes of shared memory.
    pub fn fit(&self, kernel: &Resources, threads: u32, dynamic: u32) -> Fit {
        let warps = threads.div_ceil(32).max(1);
        let shared = kernel.shared.saturating_add(dynamic);
        let piece = shared
            .checked_next_multiple_of(self.shared_unit())
            .unwrap_or(u32::MAX)
            .saturating_add(self.shared_reserved);
        let by_shared =
            if shared > self.shared_optin { 0 } else { self.shared.checked_div(piece).unwrap_or(u32::MAX) };
        let by_registers = self.warps_by_registers(kernel.registers) / warps;
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
    pub fn occupancy(&self, fit: &Fit, threads: u32) -> f64 {
        f64::from(fit.blocks * threads.div_ceil(32)) / f64::from((self.threads / 32).max(1))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn blocks_that_fit() {
        let h200 = Machine::of_number(90).unwrap();
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
        assert_eq!(Machine::of_number(999), None);
    }
}
