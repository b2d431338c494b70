//! `cargo xtask mutate-ptx`: whether PTX that is changed in one place is refused where ptxas refuses it.
//!
//! What is changed are the files of the repository, and those that `cargo xtask corpus` has left in `target/corpus/files/`; and then the single
//! instructions of `xtask/corpus/singles.txt`, each of them itself.

use crate::Result;
use crate::cargo::{cargo, root, run};
use crate::wheels::Wheels;

/// Compares `mutants` changed files that ptxas refuses, and as many changed instructions, chosen from `seed` on.
pub(crate) fn compare(mutants: &str, seed: &str) -> Result<()> {
    for number in [mutants, seed] {
        number.parse::<u64>().map_err(|_| format!("mutate-ptx: {number:?} is not a number"))?;
    }
    let wheels = Wheels::read(root()?)?;
    wheels.fetch("ptxas")?;
    let ptxas = wheels.file("ptxas", "program")?;
    make_executable(&ptxas)?;
    let mut command = cargo(&["test", "--package", "cuda-emulator", "--test", "mutate_ptx"])?;
    command.args(["--", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("PTXAS", ptxas).env("CUDA_LAUNCH_MUTANTS", mutants).env("CUDA_LAUNCH_SEED", seed);
    let corpus = root()?.join("target/corpus/files");
    if corpus.is_dir() {
        command.env("CUDA_LAUNCH_CORPUS", corpus);
    }
    run(&mut command)
}

/// What unpacks the wheel does not keep the permissions.
#[cfg(unix)]
fn make_executable(program: &std::path::Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn make_executable(_: &std::path::Path) -> Result<()> {
    Err("mutate-ptx: the wheel that is pinned has a program for Linux".into())
}
