//! `cargo xtask gpu --beside`: the emulator beside a GPU, for a machine with a GPU and no toolchain.

use std::fs;
use std::path::Path;

use super::files::{copy, copy_all, size};
use crate::Result;
use crate::cargo::{build, root};

/// Beside this file.
const SCRIPT: &str = include_str!("beside.sh");

/// Builds the tests and the tool into `folder`; returns their bytes.
pub(super) fn pack(folder: &Path) -> Result<u64> {
    let (root, bin) = (root()?, folder.join("bin"));
    // Optimised: the emulator does as much as the GPU.
    let emulator = ["test", "--no-run", "--package", "cuda-emulator", "--release"];
    let tests = ["matrix_device", "wgmma_device", "driver_truth"].iter().flat_map(|name| ["--test", name]);
    super::put(&bin, build(&emulator.into_iter().chain(tests).collect::<Vec<_>>())?.iter())?;
    let gemm = ["test", "--no-run", "--package", "cuda-launch", "--test", "hopper_gemm", "--release"];
    super::put(&bin, build(&gemm)?.iter())?;
    let tool = build(&["build", "--package", "cuda-launch-cli", "--release"])?;
    super::put(&bin, tool.iter().filter(|program| super::TOOL.contains(&program.name.as_str())))?;
    super::archive(folder, "bin")?;
    copy_all(&root.join("xtask/beside"), &folder.join("beside"))?;
    copy(&root.join("xtask/corpus/triton_products.py"), &folder.join("beside/triton_products.py"))?;
    copy(&root.join("emulator/libcuda/exports.txt"), &folder.join("exports.txt"))?;
    fs::write(folder.join("beside.sh"), SCRIPT)?;
    size(folder)
}
