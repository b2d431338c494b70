//! Runs a program of a context through every failure of its driver calls.

#![allow(unsafe_code)] // The environment, before anything reads it.
#![allow(dead_code, unreachable_pub)] // Each user needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::{Alone, EveryFailure, Report, Site};
use cuda_launch::sys::Driver;
use cuda_launch::{CudaContext, Error};
use std::sync::{Arc, Once};
use std::time::Duration;

/// One test at a time: each watches what is allocated, for as long as hundreds of runs take.
pub fn alone() -> Alone {
    cuda_harness::alone_within(Duration::from_secs(600))
}

/// Fails each driver call of `program` once and from then on, with each code. Whatever happens, the program ends with that error or
/// well, and what it made is gone afterwards.
pub fn each_call_fails(
    what: &str,
    program: impl Fn(&CudaContext) -> Result<(), Error> + Send + Sync + 'static,
) -> Report {
    let _alone = alone();
    static TWO_DEVICES: Once = Once::new();
    // SAFETY: every other test that gets here waits for the lock above, and this program's tests ask for a driver, whose code
    // might read it without the lock of `std::env`, only under it; all else reads the environment by `std::env`.
    TWO_DEVICES.call_once(|| unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") });
    let base = cuda_launch::default_driver().unwrap();
    // Open until the end, so that the primary context, and with it the modules' own memory, stays.
    let outer = CudaContext::with_driver(&base, 0).unwrap();
    let program = Arc::new(program);
    let in_context = move |driver: Arc<Driver>| program(&CudaContext::with_driver(&driver, 0)?);
    in_context(base.clone()).unwrap();
    settle(&base);
    let used = outer.memory_info().unwrap();
    let report = EveryFailure::new().settle(settle).run_checked(&base, in_context, is_about_it).unwrap();
    report.assert_clean();
    // A GPU's driver keeps memory for later as it likes.
    if outer.device_name().unwrap().contains("emulator") {
        // What a graph's end lets go of is given back by another thread.
        let is_back = || outer.memory_info().unwrap() == used;
        cuda_harness::wait_until(&format!("{what}: the memory is released"), is_back).unwrap();
    }
    print!("{what}: {report}");
    report
}

/// What the program returned is the failure, or says nothing of a code.
pub fn is_about_it(site: &Site, result: Result<(), &Error>) -> Result<(), String> {
    match result {
        Err(error) if !site.explains(error.code()) => Err(format!("another error: {error}")),
        _ => Ok(()),
    }
}

/// Nothing fails any more: all work ends, and what was put off until then is done.
pub fn settle(driver: &Arc<Driver>) {
    let ctx = CudaContext::with_driver(driver, 0).unwrap();
    // Twice: what the first gives back may have to wait for its own work.
    for _ in 0..2 {
        ctx.synchronize().unwrap();
    }
}
