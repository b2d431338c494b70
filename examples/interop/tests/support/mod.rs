//! Libraries that tests load, and child processes that load them.

#![allow(dead_code, unreachable_pub)] // Each test needs a part of it.

#[path = "../../../../harness/src/skip.rs"]
mod skip;

use skip::or_skip;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A library that this workspace makes, built as this test was; `None`, with a line that says so, on a
/// machine that only runs tests.
pub fn built(library: &str) -> Option<PathBuf> {
    let cargo = or_skip(std::env::var_os("CARGO"), format!("no cargo here to build {library}"))?;
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().unwrap().parent().unwrap();
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        // Not `dev`, of which nothing else is built here.
        "debug" => "test",
        profile => profile,
    };
    // All libraries, as for all tests: with the features of one alone the emulator would be built once more.
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--workspace", "--lib", "--profile", profile, "--target-dir"])
        .arg(folder.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.unwrap().success());
    Some(folder.join(format!("{}{library}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)))
}

/// The library of `stand_in/`.
pub fn stand_in() -> Option<PathBuf> {
    built("cuda_launch_stand_in")
}

/// Set in a child.
const CHILD: &str = "INTEROP_CHILD";

/// Whether this process is the child of a test.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs test `name` of this program again in a child, with these variables.
pub fn child(name: &str, variables: &[(&str, &std::ffi::OsStr)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// Standard error of a child that succeeded: its lines that begin with `prefix`, without it.
pub fn lines(output: &Output, prefix: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stdout));
    text.lines().filter_map(|line| line.strip_prefix(prefix)).map(str::to_string).collect()
}
