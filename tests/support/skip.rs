//! Tests that show nothing where they run say so, and the run counts them: `cargo xtask gate test` and `.gpu/run.sh` print how
//! many there were, and why.

#![allow(dead_code, unreachable_pub)] // Each test program needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{Write, stderr};

/// Names a file that each line is added to.
pub const FILE: &str = "CUDA_LAUNCH_TEST_SKIPPED";

/// Says on standard error that this test, or a part of it, is skipped: `skipped: streams::a_test: why`.
pub fn skipped(why: impl Display) {
    let program = std::env::current_exe().unwrap();
    let program = program.file_stem().unwrap().to_string_lossy().into_owned();
    // Cargo adds 16 digits to the name.
    let name = match program.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 => name,
        _ => &program,
    };
    let thread = std::thread::current();
    let why = why.to_string();
    let why = why.lines().next().unwrap_or_default();
    let line = format!("skipped: {name}::{}: {why}\n", thread.name().unwrap_or("?"));
    // Not by `eprintln`, which the test harness keeps to itself where a test passes.
    stderr().write_all(line.as_bytes()).unwrap();
    if let Some(path) = std::env::var_os(FILE) {
        // In one piece: other programs write there, too.
        OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
    }
}

/// The value, or a line that says why the test is skipped.
pub fn or_skip<T>(value: Option<T>, why: impl Display) -> Option<T> {
    if value.is_none() {
        skipped(why);
    }
    value
}
