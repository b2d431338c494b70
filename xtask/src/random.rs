//! `cargo xtask random`: kernels that no one chose, on the emulator and on a GPU.
//!
//! `xtask/random/kernels.py` writes CUDA C++ with defined results, `make.py` compiles it, `runner.c` runs it on any driver, and `compare.py`
//! compares what two drivers computed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::cargo::{cargo, root, run};
use crate::wheels::python;

/// Makes the files of these seeds and runs them on the emulator; with `--gpu` on the machine's driver, too, and compares.
pub(crate) fn run_seeds(arguments: &[&str]) -> Result<()> {
    let (gpu, seeds) = match arguments {
        ["--gpu", seeds @ ..] => (true, seeds),
        seeds => (false, seeds),
    };
    let (first, last) = match seeds {
        [] => ("1", "60"),
        [first, last] if number(first)? <= number(last)? => (*first, *last),
        _ => return Err("random: two seeds, the first and the last: cargo xtask random 1 60".into()),
    };
    let (scripts, folder) = (root()?.join("xtask/random"), root()?.join("target/random"));
    fs::create_dir_all(&folder)?;
    for left in files(&folder, "ptx")? {
        fs::remove_file(left)?;
    }
    let interpreter = environment(&scripts, &folder)?;
    run(Command::new(&interpreter).arg(scripts.join("make.py")).arg(&folder).args([first, last]))?;

    let runner = folder.join("runner");
    run(Command::new("cc").args(["-O1", "-o"]).arg(&runner).arg(scripts.join("runner.c")).arg("-ldl"))?;
    run(&mut cargo(&["build", "--release", "--package", "cuda-emulator-libcuda"])?)?;
    let emulator = root()?.join("target/release/libemulated_cuda.so");
    let on_emulator = results(&runner, &emulator, &folder, "emulator");
    if !gpu {
        println!("on a GPU: {} libcuda.so.1 OTHER {}/*.ptx", runner.display(), folder.display());
        println!("then: python3 {}/compare.py {1} {1}/emulator OTHER", scripts.display(), folder.display());
        return on_emulator;
    }
    // A file that fails on one of them shows in the comparison, too.
    let on_gpu = results(&runner, Path::new("libcuda.so.1"), &folder, "gpu");
    let compare = scripts.join("compare.py");
    run(Command::new(&interpreter)
        .arg(compare)
        .arg(&folder)
        .arg(folder.join("emulator"))
        .arg(folder.join("gpu")))?;
    on_emulator.and(on_gpu)
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|error| format!("random: {text:?} is not a seed: {error}").into())
}

/// The Python that has nvcc installed.
fn environment(scripts: &Path, folder: &Path) -> Result<PathBuf> {
    let environment = folder.join("venv");
    let interpreter = environment.join("bin/python");
    if !interpreter.exists() {
        run(python(&["-m", "venv"]).arg(&environment))?;
    }
    let mut install = Command::new(&interpreter);
    run(install
        .args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(scripts.join("requirements.txt")))?;
    Ok(interpreter)
}

/// Runs every file on a driver, into a folder of that name.
fn results(runner: &Path, driver: &Path, folder: &Path, name: &str) -> Result<()> {
    let to = folder.join(name);
    fs::create_dir_all(&to)?;
    for left in files(&to, "bin")? {
        fs::remove_file(left)?;
    }
    run(Command::new(runner).arg(driver).arg(to).args(files(folder, "ptx")?))
}

/// The files of a folder with that extension, sorted.
fn files(folder: &Path, wanted: &str) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == wanted));
    files.sort();
    Ok(files)
}
