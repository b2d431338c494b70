//! `cargo xtask gpu`: tests, examples, benches, the tool and the programs beside other libraries in one archive, for a machine with
//! a GPU and no toolchain.
//!
//! There `bash .gpu/run.sh OUT` runs everything; `CUDA_LAUNCH_DRIVER=emulator bash .gpu/run.sh OUT tests` tries it here.
//! `cargo xtask gpu --beside` bundles what runs on the GPU and on the emulator there, and compares (`gpu/beside.sh` runs it).
//! `cargo xtask gpu --check` bundles `cuda-launch check` and programs with faults (`gpu/check.sh` runs them),
//! `cargo xtask gpu --profile` the kernels that are profiled under Nsight Compute (`gpu/profile.sh`), and
//! `cargo xtask gpu --compilers` bundles the tests of `compile/` alone, with libraries that they need. `cargo xtask gpu --peers` bundles
//! the bench beside other crates; `bash .gpu/run.sh OUT peers` prints its tables.

mod beside;
mod check;
mod compilers;
mod files;
mod profile;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::cargo::{Program, build, cargo, root, run};
use crate::peers;

/// Where the bundle is made; git ignores it.
const FOLDER: &str = ".gpu";

/// A bundle travels with the working tree, which may have 64 MiB in all.
const LIMIT: u64 = 60 << 20;

/// Tests that need the whole repository where they run.
const LEFT_OUT: &[&str] = &["comparison", "pages"];

/// Tests of the run-time compilers.
pub(crate) const TESTS_OF_COMPILERS: &[&str] =
    &["compile_nvrtc", "compile_link", "compile_files", "compile_kinds", "compile_typed", "compile_cache"];

/// Benches that mean something on a GPU; `gpu/run.sh` runs each by its name.
const BENCHES: &[&str] = &["launch_cost", "launch_plan", "async_cost", "shared_weights", "copy_bandwidth"];

/// Of the tool's files: the others are for machines without a GPU.
const TOOL: [&str; 2] = ["cuda-launch", "cuda-launch-recorder"];

/// Folders that tests and examples read from at run time, below the package's.
const DATA: &[&str] = &["examples/kernels", "tests/kernels", "ptx/tests/data"];

/// Endings of the files there that programs load; sources stay behind.
const IMAGES: &[&str] = &["ptx", "cubin", "fatbin"];

/// Builds and bundles; fails over the limit.
pub(crate) fn bundle() -> Result<()> {
    let folder = emptied()?;
    let content = folder.join("bundle");
    let tests = tests()?;
    let both = ["--package", "cuda-launch", "--package", "cuda-launch-examples"];
    let examples = build(&[&["build", "--examples", "--profile", "gpu"], &both[..]].concat())?;
    let bench = benches()?;
    let bin = content.join("bin");
    put(&bin.join("tests"), tests.iter().filter(|test| !LEFT_OUT.contains(&test.name.as_str())))?;
    put(&bin.join("examples"), examples.iter())?;
    put(&bin.join("bench"), bench.iter())?;
    let tool = build(&["build", "--package", "cuda-launch-cli", "--profile", "gpu"])?;
    put(&bin.join("tool"), tool.iter().filter(|program| TOOL.contains(&program.name.as_str())))?;
    let interop = bin.join("interop");
    let package = ["--package", "cuda-launch-interop", "--profile", "gpu"];
    put(&interop, build(&[&["build", "--examples", "--bins"], &package[..]].concat())?.iter())?;
    put_library("cuda-launch-interop", "libcuda_launch_dlpack.so", &interop)?;
    fs::copy(root()?.join("examples/interop/dlpack.py"), interop.join("dlpack.py"))?;
    let size = finish(&folder)?;
    fits(size, "run.sh")
}

/// Builds and bundles these tests; fails over the limit.
pub(crate) fn bundle_tests(names: &[&str]) -> Result<()> {
    let folder = emptied()?;
    let bin = folder.join("bundle/bin");
    let tests = tests()?;
    if let Some(unknown) = names.iter().find(|name| tests.iter().all(|test| test.name != **name)) {
        return Err(format!("gpu: no test {unknown:?}").into());
    }
    put(&bin.join("tests"), tests.iter().filter(|test| names.contains(&test.name.as_str())))?;
    let size = finish(&folder)?;
    fits(size, "run.sh")
}

/// Builds and bundles the bench beside other crates; fails over the limit.
pub(crate) fn bundle_peers() -> Result<()> {
    let folder = emptied()?;
    put(&folder.join("bundle/bin/peers"), [peers::built()?].iter())?;
    let size = finish(&folder)?;
    fits(size, "run.sh")
}

/// Builds and bundles the benches; fails over the limit.
pub(crate) fn bundle_benches() -> Result<()> {
    let folder = emptied()?;
    put(&folder.join("bundle/bin/bench"), benches()?.iter())?;
    let size = finish(&folder)?;
    fits(size, "run.sh")
}

fn tests() -> Result<Vec<Program>> {
    let all = ["test", "--no-run", "--lib", "--tests", "--features", "tracing"];
    let package = ["--package", "cuda-launch", "--profile", "gpu"];
    let mut tests = build(&[&all[..], &package[..]].concat())?;
    let bound = ["test", "--no-run", "--package", "cuda-launch-bound", "--profile", "gpu"];
    tests.extend(build(&bound)?);
    // What the driver answers, call by call.
    let truth =
        ["test", "--no-run", "--package", "cuda-emulator", "--test", "driver_truth", "--profile", "gpu"];
    tests.extend(build(&truth)?);
    Ok(tests)
}

fn benches() -> Result<Vec<Program>> {
    let benches = BENCHES.iter().flat_map(|name| ["--bench", name]);
    let both = ["bench", "--no-run", "--package", "cuda-launch", "--package", "cuda-launch-cost"];
    build(&both.into_iter().chain(benches).collect::<Vec<_>>())
}

/// Builds and bundles what `compile/` is tested with, and the libraries of these compilers; fails over the limit.
pub(crate) fn bundle_compilers(names: &[&str]) -> Result<()> {
    let names = compilers::named(names)?;
    let folder = emptied()?;
    let package = ["--package", "cuda-launch", "--profile", "gpu"];
    let tests = TESTS_OF_COMPILERS.iter().flat_map(|name| ["--test", name]).collect::<Vec<_>>();
    let tests = build(&[&["test", "--no-run"], &package[..], &tests].concat())?;
    let example = ["build", "--example", "compile", "--package", "cuda-launch-examples", "--profile", "gpu"];
    let example = build(&example)?;
    let bin = folder.join("bundle/bin");
    put(&bin.join("tests"), tests.iter())?;
    put(&bin.join("examples"), example.iter())?;
    let size = finish(&folder)? + compilers::pack(root()?, &folder, &names)?;
    fits(size, "run.sh")
}

/// Bundles what shows which faults `cuda-launch check` finds; fails over the limit.
pub(crate) fn bundle_check() -> Result<()> {
    let folder = emptied()?;
    let size = check::pack(&folder)?;
    fits(size, "check.sh")
}

/// Bundles what runs on a GPU and on the emulator, and compares; fails over the limit.
pub(crate) fn bundle_beside() -> Result<()> {
    let folder = emptied()?;
    let size = beside::pack(&folder)?;
    fits(size, "beside.sh")
}

/// Bundles the kernels whose profiles are compared with a GPU's counters; fails over the limit.
pub(crate) fn bundle_profile() -> Result<()> {
    let folder = emptied()?;
    let size = profile::pack(&folder)?;
    fits(size, "profile.sh")
}

/// The folder, with nothing in it.
fn emptied() -> Result<PathBuf> {
    let folder = root()?.join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(folder)
}

/// Adds the images and packs what is in `bundle/`; the archive's size in bytes.
fn finish(folder: &Path) -> Result<u64> {
    let (root, content) = (root()?, folder.join("bundle"));
    DATA.iter().try_for_each(|data| copy_images(&root.join(data), &content.join(data)))?;
    // The emulator is in each of the programs: packed they are a third of the size.
    let size = archive(folder, "bundle")?;
    fs::write(folder.join("run.sh"), include_str!("gpu/run.sh"))?;
    Ok(size)
}

/// Packs a folder in `folder` and removes it; the archive's size in bytes.
fn archive(folder: &Path, name: &str) -> Result<u64> {
    let archive = folder.join(name).with_extension("tar.xz");
    // The programs have most of their code in common: a window over all of them finds it.
    let mut tar = Command::new("tar");
    tar.env("XZ_OPT", "--lzma2=preset=3,dict=256MiB");
    run(tar.arg("-cJf").arg(&archive).arg("-C").arg(folder).arg(name))?;
    fs::remove_dir_all(folder.join(name))?;
    Ok(fs::metadata(&archive)?.len())
}

fn fits(size: u64, script: &str) -> Result<()> {
    println!("{FOLDER}/: {:.1} MiB; on the machine: bash {FOLDER}/{script} OUT", mebibytes(size));
    if size > LIMIT {
        Err(format!("{FOLDER}/ is over its limit of {} MiB", LIMIT >> 20).into())
    } else {
        Ok(())
    }
}

/// Copies programs, without their symbols.
fn put<'a>(folder: &Path, programs: impl Iterator<Item = &'a Program>) -> Result<()> {
    fs::create_dir_all(folder)?;
    let here = root()?.as_os_str().as_encoded_bytes();
    let (mut count, mut size) = (0, 0);
    for program in programs {
        let name = if program.kind == "lib" { "unit" } else { &program.name };
        let target = folder.join(name);
        run(Command::new("strip").arg("-o").arg(&target).arg(&program.path))?;
        let bytes = fs::read(&target)?;
        if bytes.windows(here.len()).any(|window| window == here) {
            println!(
                "note: {name} names this folder, perhaps by env!(\"CARGO_MANIFEST_DIR\"): it will not find it there"
            );
        }
        count += 1;
        size += bytes.len() as u64;
    }
    let part = folder.file_name().unwrap_or_default().display();
    println!("{part:10} {count:3} programs, {:5.1} MiB", mebibytes(size));
    Ok(())
}

/// Builds the library of a package, and copies it to a folder.
fn put_library(package: &str, name: &str, folder: &Path) -> Result<()> {
    run(&mut cargo(&["build", "--lib", "--package", package, "--profile", "gpu"])?)?;
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or(root()?.join("target"), PathBuf::from);
    run(Command::new("strip").arg("-o").arg(folder.join(name)).arg(built.join("gpu").join(name)))
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Copies the kernel images of a folder and its subfolders.
fn copy_images(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).map_err(|e| format!("{}: {e}", from.display()))? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_images(&path, &target)?;
        } else if path.extension().is_some_and(|e| IMAGES.iter().any(|image| e == *image)) {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
