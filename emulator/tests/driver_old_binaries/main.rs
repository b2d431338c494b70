//! Programs in C with the symbols of older headers, linked with the shared library as `libcuda.so.1`.
#![cfg(all(target_os = "linux", not(miri)))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../driver_support/library.rs"]
mod library;
#[path = "../../../harness/src/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that is removed with this.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program, compiled and linked; none where that cannot be done.
fn compiled(name: &str) -> Option<Folder> {
    let library = skip::or_skip(library::shared_library(), "no cargo here to build the library")?;
    let folder = Folder(std::env::temp_dir().join(format!("cuda-emulator-{name}-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    std::os::unix::fs::symlink(library, folder.0.join("libcuda.so.1")).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver_old_binaries").join(name);
    let mut compiler = Command::new("cc");
    compiler.arg(source.with_extension("c")).arg("-Werror").arg("-o").arg(folder.0.join("program"));
    let built = compiler.arg("-L").arg(&folder.0).arg("-l:libcuda.so.1").output();
    let built = skip::or_skip(built.ok(), "no C compiler here")?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(folder)
}

fn run(folder: &Folder, variables: &[(&str, &str)]) -> Output {
    Command::new(folder.0.join("program"))
        .env("LD_LIBRARY_PATH", &folder.0)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// It says that it came to its end, and nothing else. Where a function of today fails, it fails under the symbol that the program knows.
fn runs(name: &str, fails: &str, symbol: &str) {
    let Some(folder) = compiled(name) else { return };
    let said = |variables: &[(&str, &str)]| {
        let output = run(&folder, variables);
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(said(&[]), ("done\n".into(), String::new()));
    let (says, errors) = said(&[("CUDA_LAUNCH_HARNESS_LEAKS", "1")]);
    assert_eq!(says, "done\n");
    assert!(errors.contains("cuda-harness: 0 live, 0 mistakes"), "{errors}");
    let (says, _) = said(&[("CUDA_LAUNCH_HARNESS_FAIL", fails)]);
    assert!(says.contains(&format!(": {symbol}(")) && says.ends_with("): 2\n"), "{says}");
}

#[test]
fn a_program_of_cuda_11_8_runs() {
    runs("cuda_11_8", "cuGraphInstantiateWithParams@1=OUT_OF_MEMORY", "cuGraphInstantiate_v2");
}

#[test]
fn a_program_of_cuda_12_4_with_per_thread_default_streams_runs() {
    runs("cuda_12_4", "cuMemcpyDtoH@1=OUT_OF_MEMORY", "cuMemcpyDtoH_v2_ptds");
}
