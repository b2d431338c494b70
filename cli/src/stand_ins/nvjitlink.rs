//! The stand-in of `cuda-launch emulate` for a program's nvJitLink: a shared library that is linked as a program of this package, as
//! the recorder is, because `cargo install` installs nothing else. `build.rs` lists the functions that it exports.

/// Brings every function of the library into this file.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use cuda_emulator_stand_ins as _;

/// Only for platforms on which `build.rs` builds a program, not a library.
fn main() {
    eprintln!(
        "cuda-launch-nvjitlink is a library for `cuda-launch emulate`, and there is none for this platform"
    );
    std::process::exit(2);
}
