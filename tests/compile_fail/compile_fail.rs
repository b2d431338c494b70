//! Programs that must not compile, and what the compiler says about them.
//!
//! A case is a file `cases/<case>.rs` with the compiler's answer in `<case>.stderr`, which has to tell a reader what to do. One
//! file holds the programs that get one message, or messages about one thing. Marks turn it into its twin, the same programs put
//! right, so that each is refused for its own reason only: `//~ text` stands for the line above it, `//~` alone leaves that line out,
//! and `//+ text` adds a line. `build.rs` makes the twins, and they are compiled with this test.
//!
//! `TRYBUILD=overwrite cargo test -p cuda-launch-compile-fail` writes the answers; `-- case trybuild=typed` after it restricts that to files
//! with `typed` in their names. Images of typed modules are named relative to this package; those in `images` are for the cases
//! alone, and nothing loads them.

#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What `build.rs` made of the cases.
#[allow(unused, unreachable_pub, clippy::unnecessary_literal_unwrap)] // Nothing in the twins is called.
mod twins {
    include!(concat!(env!("OUT_DIR"), "/twins.rs"));
}

/// The compiler that gave the answers. Others word them differently; with them only the refusal is tested.
const COMPILER: &str = "rustc 1.95.";

/// Where the second test finds its cases when the first runs it.
const COPIES: &str = "CUDA_LAUNCH_TEST_COPIES";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// The names of the files with this extension.
fn stems(folder: &Path, extension: &str) -> BTreeSet<String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let wanted = files.filter(|path| path.extension().is_some_and(|found| found == extension));
    wanted.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Copies the images that typed modules name to where trybuild builds: their paths are relative to the crate, which is there.
fn copy_images() {
    let project =
        Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tests/trybuild/cuda-launch-compile-fail");
    for images in ["images", "../kernels", "../../examples/kernels"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(images);
        fs::create_dir_all(project.join(images)).unwrap();
        let files = fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|path| path.is_file()) {
            fs::copy(&file, project.join(images).join(file.file_name().unwrap())).unwrap();
        }
    }
}

#[test]
fn every_case_is_refused() {
    copy_images();
    let version = Command::new("rustc").arg("--version").output().unwrap().stdout;
    if version.starts_with(COMPILER.as_bytes()) {
        trybuild::TestCases::new().compile_fail("cases/*.rs");
    } else {
        refused_by_another_compiler();
    }
}

/// Runs the cases without their answers, in a process of its own that accepts every answer.
fn refused_by_another_compiler() {
    let copies = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    let _ = fs::remove_dir_all(&copies);
    fs::create_dir_all(&copies).unwrap();
    for case in stems(&folder(), "rs") {
        let file = format!("{case}.rs");
        fs::copy(folder().join(&file), copies.join(&file)).unwrap();
    }
    let mut tests = Command::new(env::current_exe().unwrap());
    tests.args(["--exact", "every_copy_is_refused", "--nocapture"]);
    let status = tests.env("TRYBUILD", "overwrite").env(COPIES, &copies).status().unwrap();
    assert!(status.success(), "a case compiles, see above");
}

#[test]
fn every_copy_is_refused() {
    if let Ok(copies) = env::var(COPIES) {
        copy_images();
        trybuild::TestCases::new().compile_fail(format!("{copies}/*.rs"));
    }
}

#[test]
fn every_case_has_an_answer_that_fits_every_machine() {
    if env::var("TRYBUILD").is_ok_and(|mode| mode == "overwrite") {
        return; // They are being written.
    }
    let (cases, answers) = (stems(&folder(), "rs"), stems(&folder(), "stderr"));
    assert!(cases.len() >= 100, "only {} cases were found", cases.len());
    assert_eq!(cases, answers, "cases and answers");
    for case in answers {
        let text = fs::read_to_string(folder().join(format!("{case}.stderr"))).unwrap();
        assert!(!text.contains("--> /"), "{case}.stderr names a path of one machine");
    }
}
