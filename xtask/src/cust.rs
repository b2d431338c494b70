//! `cargo xtask gate cust`: a program of cust, with each of its driver calls failing.

use std::fs;
use std::process::Command;

use crate::Result;
use crate::cargo::{build, cargo, root, run};
use crate::stub;

/// Builds it with a stub in the place of a toolkit, runs it on the emulator, and compares what it prints with the committed table.
pub(crate) fn check() -> Result<()> {
    let folder = root()?.join("examples/interop/cust");
    let target = root()?.join("target/cust");
    stub::driver(&target.join("cuda/lib64/libcuda.so"))?;
    let mut program = cargo(&["build", "--locked", "--manifest-path"])?;
    program.arg(folder.join("Cargo.toml")).env("CARGO_TARGET_DIR", &target);
    run(program.env("CUDA_LIBRARY_PATH", target.join("cuda")))?;
    let tools = build(&["build", "--package", "cuda-launch-cli"])?;
    let tool = tools.iter().find(|tool| tool.name == "cuda-launch").ok_or("cargo built no tool")?;
    let program = target.join("debug/cuda-launch-interop-cust");
    let output = Command::new(&tool.path).args(["harness", "--"]).arg(program).output()?;
    let (text, table) = (String::from_utf8(output.stdout)?, folder.join("every_failure.md"));
    if fs::read_to_string(&table).is_ok_and(|known| known == text) && output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{} is not what the program prints:\n{text}{}",
        table.display(),
        String::from_utf8_lossy(&output.stderr)
    )
    .into())
}
