//! DLPack from and to Python: the example, where there is a Python.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../harness/src/skip.rs"]
mod skip;

use skip::skipped;
use std::path::Path;
use std::process::Command;

#[test]
fn python_takes_and_gives_tensors() {
    let tests = std::env::current_exe().unwrap();
    let name = format!("{}cuda_launch_dlpack{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    // Cargo builds a package's library before its tests. Elsewhere it may be beside the tests.
    let folders = tests.ancestors().skip(1).take(2);
    let Some(library) = folders.map(|folder| folder.join(&name)).find(|library| library.exists()) else {
        assert!(std::env::var_os("CARGO").is_none(), "{name} is not where cargo puts it");
        return skipped(format!("no {name} here"));
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("dlpack.py");
    let output =
        match Command::new("python3").arg(&script).arg(&library).env("CUDA_LAUNCH_QUIET", "1").output() {
            Ok(output) => output,
            Err(error) => return skipped(format!("no python3 here ({error})")),
        };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("arrays made, each given back once") && err.is_empty(), "{out}{err}");
    // Two round trips of two arrays, two capsules left alone, one taken twice; PyTorch adds two.
    assert!(out.contains("7 arrays made") || out.contains("PyTorch takes and gives"), "{out}");
}
