//! Test programs that are empty without a feature: `cargo test` says "0 tests, ok" for each, and this program says which they are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::{or_skip, skipped};
use std::fs;
use std::path::Path;

/// Whether this program was built with a feature; `None` for one that it does not know.
fn is_on(feature: &str) -> Option<bool> {
    (feature == "tracing").then_some(cfg!(feature = "tracing"))
}

#[test]
fn programs_that_are_empty_say_so() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let Some(files) = or_skip(fs::read_dir(folder).ok(), "the sources are not on this machine") else {
        return;
    };
    let mut needs = Vec::new();
    for file in files.map(|file| file.unwrap().path()) {
        let text = if file.is_file() { fs::read_to_string(&file).unwrap() } else { continue };
        // Of the whole program.
        let feature =
            text.lines().find_map(|line| line.strip_prefix("#![cfg(feature = \"")?.strip_suffix("\")]"));
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        needs.extend(feature.map(|feature| (name, feature.to_owned())));
    }
    assert!(needs.len() >= 5, "only {needs:?}");
    for (program, feature) in needs {
        if !is_on(&feature).unwrap_or_else(|| panic!("{program} needs `{feature}`: add it to `is_on`")) {
            skipped(format!("{program} is empty without the feature: cargo test --features {feature}"));
        }
    }
}
