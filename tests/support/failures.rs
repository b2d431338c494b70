//! Runs a program once for each driver call that it makes and each way in which that call can fail.

#![allow(unsafe_code)] // The environment, before anything reads it.
#![allow(dead_code, unreachable_pub)] // Each user needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "inject.rs"]
pub mod inject;

use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, Error};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// What calls answer in place of the driver. None is sticky: the context goes on.
pub const CODES: [CUresult; 5] = [
    CUresult::CUDA_ERROR_INVALID_VALUE,
    CUresult::CUDA_ERROR_OUT_OF_MEMORY,
    CUresult::CUDA_ERROR_INVALID_HANDLE,
    CUresult::CUDA_ERROR_UNKNOWN,
    CUresult(12345),
];

/// One test at a time: each watches what is allocated.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How much was tried.
#[derive(Debug)]
pub struct Tried {
    /// Failures injected.
    pub sites: usize,
    /// The functions that failed.
    pub names: BTreeSet<&'static str>,
}

/// Fails each call of `program` once and from then on, with each code. Whatever happens, the program ends with that error or
/// well, and what it made is gone afterwards.
pub fn each_call_fails(what: &str, program: impl Fn(&CudaContext) -> Result<(), Error>) -> Tried {
    let _alone = alone();
    static TWO_DEVICES: Once = Once::new();
    // SAFETY: other tests wait for the lock above, and nothing else of this program reads the environment.
    TWO_DEVICES.call_once(|| unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") });
    let ctx = CudaContext::with_driver(&inject::driver(""), 0).unwrap();
    inject::watch();
    // What a driver makes at first use is there after the first run.
    program(&ctx).unwrap();
    settle(&ctx, what);
    inject::watch();
    program(&ctx).unwrap();
    let total = inject::calls().len();
    settle(&ctx, what);
    let (before, used) = (inject::live(), ctx.memory_info().unwrap());
    let mut tried = Tried { sites: 0, names: BTreeSet::new() };
    for number in 0..total {
        for code in CODES {
            for last in [number + 1, usize::MAX] {
                inject::plan(number, last, code);
                let result = program(&ctx);
                let Some(failed) = inject::failed() else {
                    // This run made fewer calls: the failure is still to come, and must not meet a later call.
                    inject::watch();
                    continue;
                };
                let calls = inject::calls();
                let around =
                    &calls[number.saturating_sub(8).min(calls.len())..(number + 20).min(calls.len())];
                let site = format!(
                    "{what}, call {number}, {failed} answers {code:?} until {last}: {around:?}, refused {:?}",
                    inject::refused()
                );
                tried.sites += 1;
                tried.names.insert(failed);
                settle(&ctx, &site);
                if let Err(error) = result {
                    assert!(error.code().is_none_or(|c| c == code), "{site}: {error}");
                }
                assert_eq!(inject::live(), before, "{site}: left behind");
            }
        }
    }
    // A GPU's driver keeps memory for later as it likes.
    if ctx.device_name().unwrap().contains("emulator") {
        // What a graph's end lets go of is given back by another thread.
        let start = Instant::now();
        while ctx.memory_info().unwrap() != used && start.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        assert_eq!(ctx.memory_info().unwrap(), used, "{what}: memory was left behind");
    }
    println!("{what}: {} failures injected into {} functions, {total} calls", tried.sites, tried.names.len());
    tried
}

/// Nothing fails any more: all work ends, and what was put off until then is done.
fn settle(ctx: &CudaContext, site: &str) {
    inject::watch();
    // Twice: what the first gives back may have to wait for its own work.
    for _ in 0..2 {
        ctx.synchronize().unwrap_or_else(|error| panic!("{site}: {error}"));
    }
}
