//! The kernel images of this repository, as they lie there when a test runs; `cargo xtask gpu` takes them along.

#![allow(dead_code, unreachable_pub)] // Each test program needs a part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

/// PTX that is worth reading though no compiler of a driver takes it; the emulator passes over what they refuse.
///
/// `rust.debug.ptx` is what rustc writes with `-g`: labels between its sections, and `.b84`, which is no type.
pub const REFUSED: [&str; 1] = ["ptx/tests/data/rust.debug.ptx"];

/// The folders that have them.
pub const FOLDERS: [&str; 3] = ["examples/kernels", "tests/kernels", "ptx/tests/data"];

/// Every PTX text, cubin and fatbin below the repository's folder, in order.
pub fn all(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut found);
    }
    found.sort();
    assert!(found.len() > 80, "only {} kernel files", found.len());
    found
}

/// The folder of the package, which is the repository's for tests of the root crate: asked for when the test runs, perhaps on another
/// machine than it was built on.
pub fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap()
}

/// A file's path as this repository writes it.
pub fn name(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/")
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| ["ptx", "cubin", "fatbin"].iter().any(|kind| e == *kind)) {
            found.push(path);
        }
    }
}
