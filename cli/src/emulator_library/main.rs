//! The emulator's `libcuda.so.1` and `libnvidia-ml.so.1` for `cuda-launch harness` and `cuda-launch emulate`: a shared library that is linked as a program of
//! this package, as the recorder is, because `cargo install` installs nothing else.

/// Bring every function of the libraries into this file.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use {cuda_emulator_nvml as _, emulated_cuda as _};

/// Only for platforms on which `build.rs` builds a program, not a library.
fn main() {
    eprintln!(
        "cuda-launch-emulator is a library for `cuda-launch harness`, and there is none for this platform"
    );
    std::process::exit(2);
}
