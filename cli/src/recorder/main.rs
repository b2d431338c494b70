//! The recorder of `cuda-launch trace`, `check` and `record`: a shared library that is linked as a program of this package, because
//! `cargo install` installs nothing else. `build.rs` has the linker's options; all code is in `cuda-launch-recorder`,
//! which cargo compiles as a library, so that it may be loaded at any address and its thread-local variables too.

#![allow(unsafe_code)] // Names the section that the loader looks at.

/// Brings every function of the library into this file.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[used]
static FUNCTIONS: &[cuda_launch_recorder::Function] = cuda_launch_recorder::FUNCTIONS;

/// The driver's exports that are neither recorded nor checked.
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[used]
static PASSED_ON: &[cuda_launch_recorder::Function] = cuda_launch_recorder::PASSED_ON;

/// Called when the library is loaded: before the program itself does anything, if it is linked with a driver.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[used]
// SAFETY: the section is an array of function pointers, which this is an element of; the loader calls each once, when the library
// is loaded. The arguments that it passes are in registers, which a function without parameters ignores.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = cuda_launch_recorder::start;

/// Called when the library is unloaded: after the program's own exit functions.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[used]
// SAFETY: the section is an array of pointers to functions without parameters, which this is an element of; the
// loader calls each once, when the library is unloaded.
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = cuda_launch_recorder::end;

/// Only for platforms on which `build.rs` builds a program, not a library: `trace` runs only on Linux with glibc,
/// like NVIDIA's driver.
fn main() {
    eprintln!(
        "cuda-launch-recorder is a library for `cuda-launch trace`, and there is none for this platform"
    );
    std::process::exit(2);
}
