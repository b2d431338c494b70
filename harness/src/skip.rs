//! Tests that show nothing on this machine, and say so.

#![allow(clippy::panic, reason = "they are part of a test, as assertions are")]
// Tests of the emulator, and of programs of other crates, have this file as a module.
#![allow(dead_code, unreachable_pub)]

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{Write, stderr};

/// The environment variable that names a file to which [`skipped`] adds a line.
pub const SKIPPED_FILE: &str = "CUDA_LAUNCH_TEST_SKIPPED";

/// Says that this test, or a part of it, is skipped, and why: on standard error even if the test passes (`skipped: program::test: why`),
/// and in the file that the environment variable `CUDA_LAUNCH_TEST_SKIPPED` names, which a run in CI can count.
///
/// A test that needs a second device, a compiler or a newer driver, and returns where there is none, passes without showing anything.
///
/// ```
/// fn needs_two_devices(cuda: &cuda_driver_sys::Driver) {
///     let mut count = 0;
///     unsafe { cuda.cuDeviceGetCount(&mut count) };
///     if count < 2 {
///         return cuda_harness::skipped("there is one device");
///     }
///     // ..
/// }
/// # needs_two_devices(&cuda_emulator::driver());
/// ```
///
/// # Panics
///
/// If the file cannot be written to.
#[track_caller]
pub fn skipped(why: impl Display) {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // Cargo adds 16 digits to the name.
    let name = match program.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 => name,
        _ => &program,
    };
    let thread = std::thread::current();
    let why = why.to_string();
    let why = why.lines().next().unwrap_or_default();
    let line = format!("skipped: {name}::{}: {why}\n", thread.name().unwrap_or("?"));
    // Not with `eprintln`, whose output the test harness captures if a test passes. An error is ignored: standard error may be
    // closed.
    let _ = stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(SKIPPED_FILE) {
        // In one piece: other programs write there, too.
        let file = OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            panic!("{SKIPPED_FILE}: {}: {error}", path.display());
        }
    }
}

/// The value; if there is none, says that this test is skipped, as [`skipped`] does.
///
/// ```
/// # fn compiler() -> Option<std::path::PathBuf> { None }
/// fn test() {
///     let Some(compiler) = cuda_harness::or_skip(compiler(), "there is no C compiler") else { return };
///     // ..
/// }
/// # test();
/// ```
///
/// # Panics
///
/// As [`skipped`].
#[track_caller]
pub fn or_skip<T>(value: Option<T>, why: impl Display) -> Option<T> {
    if value.is_none() {
        skipped(why);
    }
    value
}
