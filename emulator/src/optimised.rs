//! Whether the emulator was compiled with optimisation, and whether that matters to a program.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Whether the emulator itself was compiled with optimisation: without it, kernels run about forty times slower. The top of this page
/// says how to optimise it in debug builds, too.
pub const OPTIMISED: bool = !matches!(env!("OPT_LEVEL_OF_EMULATOR").as_bytes(), b"0");

/// What to do where it was not.
#[doc(hidden)]
pub const ADVICE: &str = "the emulator was compiled without optimisation, so kernels run about forty times slower: build with \
    `--release`, or add to Cargo.toml, below `[profile.dev.package]`, the lines `cuda-emulator.opt-level = 3` and `cuda-ptx.opt-level = 2`";

/// What kernels may take before it matters.
const LONG: Duration = Duration::from_secs(1);

static SPENT: AtomicU64 = AtomicU64::new(0);

/// Counts the time that a kernel took: whether this process has now spent a second in kernels, and the program should hear of it.
pub(crate) fn matters(time: Duration) -> bool {
    passes(&SPENT, time) && std::env::var_os("CUDA_LAUNCH_QUIET").is_none()
}

/// Whether it is this time that makes it long.
fn passes(spent: &AtomicU64, time: Duration) -> bool {
    let add = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let long = LONG.as_nanos() as u64;
    let before = spent.fetch_update(Relaxed, Relaxed, |before| Some(before.saturating_add(add))).unwrap_or(0);
    before < long && before.saturating_add(add) >= long
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_comes_once_when_kernels_have_taken_a_second() {
        let spent = AtomicU64::new(0);
        let half = Duration::from_millis(500);
        assert_eq!(
            [half, half, half, Duration::MAX, half].map(|time| passes(&spent, time)),
            [false, true, false, false, false]
        );
        assert!(passes(&AtomicU64::new(0), Duration::MAX), "one kernel, for ever");
    }
}
