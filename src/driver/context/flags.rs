//! How a context behaves: how its threads wait, and flags.

use crate::flags::flags;

/// How host threads wait for a context's work (`CU_CTX_SCHED_*`).
///
/// ```
/// use cuda_launch::context::ContextSchedule;
/// assert_eq!(ContextSchedule::from_raw(4), Some(ContextSchedule::BlockingSync));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
#[doc(alias = "CU_CTX_SCHED_AUTO")]
pub enum ContextSchedule {
    /// The driver chooses: it spins if there are more processors than contexts, otherwise it yields.
    #[default]
    Auto = 0,
    /// Spin: lowest latency, at the cost of a whole processor.
    Spin = 1,
    /// Spin, yielding to other threads.
    Yield = 2,
    /// Sleep: no processor time, but a few microseconds of extra latency.
    BlockingSync = 4,
}

impl ContextSchedule {
    /// The bits of the flags that say how to wait.
    const MASK: u32 = 7;

    /// From the driver's flags; `None` for a policy that this crate does not know.
    pub fn from_raw(flags: u32) -> Option<Self> {
        match flags & Self::MASK {
            0 => Some(Self::Auto),
            1 => Some(Self::Spin),
            2 => Some(Self::Yield),
            4 => Some(Self::BlockingSync),
            _ => None,
        }
    }
}

flags! {
    /// Flags of a context (`CUctx_flags` without the scheduling policy, which is [`ContextSchedule`]).
    ///
    /// ```
    /// use cuda_launch::context::ContextFlags;
    /// let flags = ContextFlags::MAP_HOST | ContextFlags::LMEM_RESIZE_TO_MAX;
    /// assert_eq!(flags.bits(), 0x18);
    /// ```
    #[derive(Clone, Copy, Default, PartialEq, Eq)]
    #[doc(alias = "CUctx_flags")]
    pub struct ContextFlags: u32 {
        /// Pinned host memory can be mapped for kernels; always so since CUDA 11.
        const MAP_HOST = 0x08;
        /// Local memory that was grown for a kernel is kept; always so since CUDA 11.
        const LMEM_RESIZE_TO_MAX = 0x10;
        /// A kernel's fault writes a core dump.
        const COREDUMP_ENABLE = 0x20;
        /// Writing to the core dump pipe writes one.
        const USER_COREDUMP_ENABLE = 0x40;
        /// Memory operations that are synchronous by default are so in every case.
        const SYNC_MEMOPS = 0x80;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// Schedule and switches in one number, as the driver takes and tells them.
pub(in crate::driver) fn join(schedule: ContextSchedule, flags: ContextFlags) -> u32 {
    schedule as u32 | flags.bits()
}

/// The two parts of what the driver tells. A schedule that this crate does not know is left to the driver.
pub(in crate::driver) fn split(raw: u32) -> (ContextSchedule, ContextFlags) {
    let schedule = ContextSchedule::from_raw(raw).unwrap_or_default();
    (schedule, ContextFlags::from_bits_retain(raw & !ContextSchedule::MASK))
}
