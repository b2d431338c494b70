//! `cargo xtask corpus`: the PTX that compilers make, decoded by the emulator.
//!
//! Each script of `xtask/corpus/` writes the files of one producer into `target/corpus/files/`; `place.py` takes out what ptxas refuses. The
//! compilers come from pip, but for clang and a nightly rustc, which the whole corpus needs.

use std::process::Command;

use crate::Result;
use crate::cargo::{cargo, root, run};
use crate::wheels::python;

const PRODUCERS: &[(&str, &str)] = &[
    ("nvcc", "nvcc.py"),
    ("cub", "cub.py"),
    ("cutlass", "cutlass.py"),
    ("nvrtc", "nvrtc.py"),
    ("triton", "triton_kernels.py"),
    ("numba", "numba_kernels.py"),
    ("warp", "warp_kernels.py"),
    ("tinygrad", "tinygrad_kernels.py"),
    ("clang", "clang.py"),
    ("rustc", "rustc.py"),
    ("singles", "singles.py"),
];

/// Makes the files of the named producers, and decodes what is in the folder; of all, from an empty folder, if none is named. Then there must
/// be files of every producer.
pub(crate) fn run_named(names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| PRODUCERS.iter().all(|(known, _)| known != *name)) {
        let known: Vec<_> = PRODUCERS.iter().map(|(name, _)| *name).collect();
        return Err(format!("corpus: no producer {unknown:?}; there are: {}", known.join(" ")).into());
    }
    let (scripts, folder) = (root()?.join("xtask/corpus"), root()?.join("target/corpus"));
    let environment = folder.join("venv");
    let interpreter = environment.join("bin/python");
    if !interpreter.exists() {
        run(python(&["-m", "venv"]).arg(&environment))?;
    }
    run(Command::new(&interpreter)
        .args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(scripts.join("requirements.txt")))?;
    let files = folder.join("files");
    if names.is_empty() && files.exists() {
        std::fs::remove_dir_all(&files)?;
    }
    for (_, script) in PRODUCERS.iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        run(Command::new(&interpreter).arg(scripts.join(script)))?;
    }
    let test = ["test", "--package", "cuda-emulator", "--test", "corpus", "--", "--ignored", "--nocapture"];
    let mut test = cargo(&test)?;
    if names.is_empty() {
        test.env("CUDA_LAUNCH_CORPUS_WHOLE", "1");
    }
    run(test.env("CUDA_LAUNCH_CORPUS", files))
}
