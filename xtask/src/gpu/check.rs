//! `cargo xtask gpu --check`: the matrix of `cuda-launch check`, for a machine with a GPU and no toolchain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{copy, copy_all, size};
use crate::Result;
use crate::cargo::{build, root, run};
use crate::stub;
use crate::wheels::Wheels;

/// Beside this file; the programs and the rows that it runs are those of `cli/tests/check.rs`.
const SCRIPT: &str = include_str!("check.sh");

/// Some of those of `cli/tests/check_examples.rs`.
const EXAMPLES: &[&str] = &["vecadd", "raw", "builder", "typed", "graph", "everything", "async"];

/// Builds the tool and the programs into `folder`; returns their bytes.
pub(super) fn pack(folder: &Path) -> Result<u64> {
    let root = root()?;
    let (bin, sources) = (folder.join("bin"), root.join("cli/tests/check"));
    let tool = build(&["build", "--package", "cuda-launch-cli", "--profile", "gpu"])?;
    super::put(&bin, tool.iter().filter(|program| super::TOOL.contains(&program.name.as_str())))?;
    let rows = fs::read_to_string(sources.join("matrix/emulator.txt"))?;
    let scratch = folder.join("link");
    stub::driver(&scratch.join("libcuda.so.1"))?;
    for name in rows.lines().filter_map(program) {
        for (twin, option) in [("wrong", Some("-DWRONG")), ("right", None)] {
            let made = bin.join("programs").join(format!("{name}-{twin}"));
            let mut cc = compiler(&sources.join(format!("{name}.c")), &made)?;
            run(cc.args(option).arg("-pthread").arg("-L").arg(&scratch).arg("-l:libcuda.so.1"))?;
        }
    }
    fs::remove_dir_all(scratch)?;
    run(compiler(&sources.join("runtime/faults.c"), &bin.join("faults"))?.arg("-ldl"))?;
    run(compiler(&sources.join("runtime/calls.c"), &bin.join("calls"))?.arg("-ldl"))?;
    copy(&sources.join("runtime/stand_in_calls.txt"), &folder.join("stand_in_calls.txt"))?;
    let stand_in = ["-shared", "-fPIC", "-ldl"];
    run(compiler(&sources.join("runtime/stand_in.c"), &bin.join("stand_in"))?.args(stand_in))?;
    copy_all(&sources.join("nvcc"), &folder.join("nvcc"))?;
    let examples = EXAMPLES.iter().flat_map(|name| ["--example", name]);
    let both = ["build", "--package", "cuda-launch", "--package", "cuda-launch-examples", "--profile", "gpu"];
    let examples = build(&both.into_iter().chain(examples).collect::<Vec<_>>())?;
    super::put(&bin.join("examples"), examples.iter())?;
    super::copy_images(&root.join("examples/kernels"), &folder.join("examples/kernels"))?;
    let wheels = Wheels::read(root)?;
    wheels.fetch("runtime")?;
    copy(&wheels.file("runtime", "library")?, &folder.join("lib/libcudart.so.13"))?;
    fs::write(folder.join("emulator.txt"), rows)?;
    fs::write(folder.join("check.sh"), SCRIPT)?;
    // The emulator is in each of the examples: packed they are a fraction.
    super::archive(folder, "bin")?;
    size(folder)
}

/// The program of a row of the driver API.
fn program(row: &str) -> Option<&str> {
    let mut words = row.split_whitespace();
    (words.next() == Some("driver")).then(|| words.nth(1)).flatten()
}

fn compiler(source: &Path, made: &PathBuf) -> Result<Command> {
    made.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-O1", "-s", "-o"]).arg(made).arg(source);
    Ok(cc)
}

#[cfg(test)]
mod tests {
    #[test]
    fn programs_are_those_of_the_driver_api() {
        assert_eq!(
            super::program("driver  leak   leak_of_events   --allow x | leak | -"),
            Some("leak_of_events")
        );
        assert_eq!(super::program("runtime leak   leak    | leak | -"), None);
    }
}
