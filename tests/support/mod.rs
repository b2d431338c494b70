//! Shorthands for `cuda_harness::null`, the driver that does nothing, as these tests ask about it. They are of no use to others: each is a line
//! over that module.

#![allow(dead_code, unreachable_pub, unused_imports)] // Each user needs a part of it.

use cuda_harness::null::{self, NullDriver};
use cuda_launch::sys::{CUresult, Driver};
use std::ffi::{CStr, c_void};
use std::sync::{Arc, LazyLock};

pub use null::{
    queries, reset, set_max_threads, set_parameters as expect_parameters, set_progress as progress,
};

/// The driver without some of its functions.
pub fn driver(hidden: &[&str]) -> Arc<Driver> {
    driver_of_version(13_000, hidden)
}

/// The same, which says that it is this version.
pub fn driver_of_version(version: u32, hidden: &[&str]) -> Arc<Driver> {
    let driver = hidden.iter().fold(NullDriver::new().version(version), |driver, name| driver.hide(*name));
    driver.driver()
}

/// The driver's function of that name, for tests that put something before it.
pub fn lookup(name: &CStr) -> *const c_void {
    static DRIVER: LazyLock<Arc<Driver>> = LazyLock::new(|| NullDriver::new().driver());
    DRIVER.address(name.to_str().unwrap_or_default())
}

/// Calls, and launches among them.
pub fn counted() -> (usize, usize) {
    (null::calls(), null::launches())
}

/// The bytes of the last launch's arguments.
pub fn packet() -> Vec<Vec<u8>> {
    null::last_launch().arguments
}

/// The ids of its attributes.
pub fn attributes() -> Vec<u32> {
    null::last_launch().attributes
}

/// What orders or ends work, in a word each, and the stream.
pub fn marks() -> Vec<(&'static str, usize)> {
    let word = |name| match name {
        "cuEventRecord" => "record",
        "cuStreamWaitEvent" => "wait",
        "cuMemFreeAsync" => "free",
        "cuStreamDestroy_v2" => "destroy",
        _ => "idle",
    };
    null::marks().into_iter().map(|(name, stream)| (word(name), stream)).collect()
}

/// Launches answer this from now on.
pub fn answer(code: CUresult) {
    null::answer_launches(move || code);
}

/// The same as long as the context with this handle is not current.
pub fn answer_unless_current(code: CUresult, context: usize) {
    null::answer_launches(move || if null::current() == context { CUresult::SUCCESS } else { code });
}

/// The next call that submits work other than a launch, or waits for the context, runs `meanwhile` first.
pub fn during_next_submission(meanwhile: impl FnOnce() + 'static) {
    let submits = &[
        "cuMemsetD8Async",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemcpyPeerAsync",
        "cuCtxSynchronize",
    ];
    null::before_next(submits, meanwhile);
}

/// The next `cuEventRecord` runs `meanwhile` first, as where the stream is full.
pub fn during_next_record(meanwhile: impl FnOnce() + 'static) {
    null::before_next(&["cuEventRecord"], meanwhile);
}
