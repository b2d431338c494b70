//! [`wait_until`]: waits for something that must happen.

use crate::error::Error;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than a busy machine takes for anything that a test waits for.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until a condition holds, a minute at most: for what another thread does, or what is released later.
///
/// A test that waits for a condition passes on a busy machine, too; one that sleeps for a fixed time may not.
///
/// ```
/// use cuda_harness::{Spy, wait_until};
///
/// let spy = Spy::over(&cuda_emulator::driver())?;
/// let cuda = spy.driver();
/// let thread = std::thread::spawn(move || cuda.version());
/// wait_until("the version is queried", || spy.count("cuDriverGetVersion") == 1)?;
/// wait_until("everything is released", || spy.ledger().is_clean())?;
/// # assert!(thread.join().is_ok());
/// # Ok::<(), cuda_harness::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::TimedOut`] with `what` if the condition does not hold within a minute.
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) -> Result<(), Error> {
    wait_until_within(LIMIT, what, condition)
}

/// As [`wait_until`], with this limit in place of a minute. The condition is evaluated once at least.
///
/// ```
/// use cuda_harness::{Error, wait_until_within};
/// use std::time::Duration;
///
/// let error = wait_until_within(Duration::ZERO, "pigs fly", || false).unwrap_err();
/// assert_eq!(error.to_string(), "still not true after 0ns: pigs fly");
/// ```
///
/// # Errors
///
/// [`Error::TimedOut`] with `what` if the condition does not hold within that time.
pub fn wait_until_within(
    limit: Duration,
    what: &str,
    mut condition: impl FnMut() -> bool,
) -> Result<(), Error> {
    let start = Instant::now();
    // First often, for what takes microseconds; then the processor is left to what is waited for.
    let mut pause = Duration::ZERO;
    while !condition() {
        if start.elapsed() >= limit {
            return Err(Error::TimedOut { what: what.to_owned(), waited: limit });
        }
        if pause.is_zero() {
            thread::yield_now()
        } else {
            thread::sleep(pause)
        }
        pause = if start.elapsed() > Duration::from_millis(1) { Duration::from_micros(500) } else { pause };
    }
    Ok(())
}
