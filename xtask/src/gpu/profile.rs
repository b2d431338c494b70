//! `cargo xtask gpu --profile`: the kernels whose profiles are compared with the counters of a GPU.

use std::fs;
use std::path::Path;

use super::files::{copy, size};
use crate::Result;
use crate::cargo::{build, root};

/// Beside this file; the kernels and their command lines are those of `cli/tests/profile/ncu.rs`.
const SCRIPT: &str = include_str!("profile.sh");

/// Builds the tool into `folder`, beside the kernels that it runs; returns their bytes.
pub(super) fn pack(folder: &Path) -> Result<u64> {
    let root = root()?;
    let tool = build(&["build", "--package", "cuda-launch-cli", "--bin", "cuda-launch", "--profile", "gpu"])?;
    super::put(&folder.join("bin"), tool.iter().filter(|program| program.name == "cuda-launch"))?;
    let rows = fs::read_to_string(root.join("cli/tests/profile/kernels.txt"))?;
    for kernel in rows.lines().filter_map(image) {
        copy(&root.join(kernel), &folder.join(kernel))?;
    }
    fs::write(folder.join("kernels.txt"), rows)?;
    fs::write(folder.join("profile.sh"), SCRIPT)?;
    size(folder)
}

/// The file of a row: the word behind its name.
fn image(row: &str) -> Option<&str> {
    if row.starts_with('#') { None } else { row.split_whitespace().nth(1) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn rows_name_a_file_and_comments_do_not() {
        assert_eq!(
            super::image("saxpy  examples/kernels/saxpy.ptx saxpy --grid 4"),
            Some("examples/kernels/saxpy.ptx")
        );
        assert_eq!(super::image("# A comment of words"), None);
    }
}
