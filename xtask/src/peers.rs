//! `cargo xtask peers`: the bench of this crate beside bare driver calls and other crates, `benches/peers`.
//!
//! It is a workspace of its own, as these crates are only built with a toolkit at hand. A folder with the parts that they look for
//! serves instead: the header of a pinned wheel, a stub of the driver's library, and declarations of what cuda-core names of cuRAND.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::cargo::{Program, build, build_with, cargo, root, run, write_changed};
use crate::wheels::Wheels;
use crate::{clang, stub};

/// cuda-core binds `curand.h` too. Its functions are looked up at run time; the bench uses none of them.
const CURAND: &str = "\
#include <cuda.h>
typedef enum curandStatus { CURAND_STATUS_SUCCESS = 0, CURAND_STATUS_NOT_INITIALIZED = 101 } curandStatus_t;
typedef enum curandRngType { CURAND_RNG_PSEUDO_DEFAULT = 100 } curandRngType_t;
typedef struct curandGenerator_st *curandGenerator_t;
curandStatus_t curandCreateGenerator(curandGenerator_t *, curandRngType_t);
curandStatus_t curandDestroyGenerator(curandGenerator_t);
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t, unsigned long long);
curandStatus_t curandSetStream(curandGenerator_t, CUstream);
curandStatus_t curandGenerateNormal(curandGenerator_t, float *, size_t, float, float);
curandStatus_t curandGenerateNormalDouble(curandGenerator_t, double *, size_t, double, double);
curandStatus_t curandGenerateUniform(curandGenerator_t, float *, size_t);
curandStatus_t curandGenerateUniformDouble(curandGenerator_t, double *, size_t);
";

const MANIFEST: &str = "benches/peers/Cargo.toml";

/// The page with the table of driver calls.
const PAGE: &str = "docs/performance.md";

/// Builds the bench and runs it: on the emulator, or with `--gpu` first on the driver of this machine.
pub(crate) fn run_bench(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["--gpu", arguments @ ..] => run(Command::new(built()?.path).args(arguments)),
        ["calls"] => {
            print!("{}", calls()?);
            Ok(())
        }
        arguments => run(emulated(&[])?.arg(built()?.path).args(arguments)),
    }
}

/// Runs the bench on the emulator, and compares its table of driver calls with that of the page.
pub(crate) fn check() -> Result<()> {
    // Not in the workspace, and so not seen by the step `fmt`.
    run(cargo(&["fmt", "--check", "--manifest-path"])?.arg(root()?.join(MANIFEST)))?;
    run_bench(&[])?;
    let table = calls()?;
    if fs::read_to_string(root()?.join(PAGE))?.contains(&table) {
        return Ok(());
    }
    Err(format!("{PAGE} does not have this table:\n{table}").into())
}

/// The table of driver calls and allocations.
fn calls() -> Result<String> {
    let (bench, log) = (built()?, root()?.join("target/peers/calls.log"));
    let mut command = emulated(&["--log", &log.to_string_lossy()])?;
    let output = command.arg(bench.path).arg("calls").arg(log).output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// What runs a program on the emulator.
fn emulated(options: &[&str]) -> Result<Command> {
    let tools = build(&["build", "--package", "cuda-launch-cli"])?;
    let tool = tools.iter().find(|tool| tool.name == "cuda-launch").ok_or("cargo built no tool")?;
    let mut command = Command::new(&tool.path);
    command.arg("harness").args(options).arg("--");
    Ok(command)
}

/// Builds the bench; its target folder is its own.
pub(crate) fn built() -> Result<Program> {
    let root = root()?;
    let target = root.join("target/peers");
    let wheels = Wheels::read(root)?;
    let toolkit = toolkit(&wheels, &target.join("cuda"))?;
    let include = clang::headers(&wheels)?;
    let programs = build_with(&["build", "--release", "--locked", "--manifest-path"], |command| {
        command.arg(root.join(MANIFEST)).env("CARGO_TARGET_DIR", &target);
        command.env("CUDA_LIBRARY_PATH", &toolkit).env("CUDA_TOOLKIT_PATH", &toolkit);
        command.env("LIBCLANG_PATH", clang::library(&wheels)?);
        command.env("BINDGEN_EXTRA_CLANG_ARGS", format!("-nostdinc -isystem {}", include.display()));
        Ok(())
    })?;
    programs.into_iter().find(|program| program.name == "peers").ok_or("cargo built no peers".into())
}

/// A folder that passes for a toolkit.
fn toolkit(wheels: &Wheels, folder: &Path) -> Result<PathBuf> {
    wheels.fetch("runtime")?;
    stub::driver(&folder.join("lib64/libcuda.so"))?;
    let include = folder.join("include");
    fs::create_dir_all(&include)?;
    write_changed(&include.join("cuda.h"), &fs::read_to_string(wheels.file("runtime", "header")?)?)?;
    write_changed(&include.join("curand.h"), CURAND)?;
    Ok(folder.into())
}
