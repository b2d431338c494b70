//! `docs/environment.md` is complete: every variable of ours that the sources name stands there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Names in quotes that begin as ours do.
fn ours(text: &str) -> impl Iterator<Item = &str> {
    let is_name =
        |text: &&str| text.bytes().all(|byte| byte.is_ascii_uppercase() || b"_0123456789".contains(&byte));
    text.split('"')
        .filter(|text| ["CUDA_LAUNCH_", "CUDA_EMULATOR_"].iter().any(|start| text.starts_with(start)))
        .filter(is_name)
}

#[test]
fn every_variable_is_in_the_table() {
    let page = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let mut files = Vec::new();
    ["src", "sys/src", "ptx/src", "emulator/src", "macros/src", "cli/src", "cli/recorder/src"]
        .iter()
        .for_each(|folder| sources(&root().join(folder), &mut files));
    let texts: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let names: BTreeSet<_> = texts.iter().flat_map(|text| ours(text)).collect();
    assert!(names.len() > 12, "only {names:?} were found");
    // NVIDIA's, with our prefix.
    let missing: Vec<_> = names
        .into_iter()
        .filter(|name| *name != "CUDA_LAUNCH_BLOCKING" && !page.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "docs/environment.md lacks {missing:?}");
}
