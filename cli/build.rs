//! Links programs of this package as shared libraries that export C functions: see `src/recorder/main.rs`.

use std::path::Path;

/// The feature that brings the code of each, and the functions that it exports: nothing of Rust's, for a program that loads it may be a
/// Rust program.
const LIBRARIES: [(&str, &str, &str); 4] = [
    ("RECORDER", "cuda-launch-recorder", "cu*;"),
    ("EMULATE", "cuda-launch-emulator", "cu*; nvml*;"),
    ("EMULATE", "cuda-launch-nvrtc", "nvrtc*; la_*;"),
    ("EMULATE", "cuda-launch-nvjitlink", "nvJitLink*; __nvJitLink*;"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    let supported = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let folder = std::env::var("OUT_DIR")?;
    for (feature, library, exported) in LIBRARIES {
        if supported && std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some() {
            let exports = Path::new(&folder).join(library);
            std::fs::write(&exports, format!("{{ global: {exported} local: *; }};\n"))?;
            let option = format!("cargo::rustc-link-arg-bin={library}=");
            println!("{option}-shared");
            println!("{option}-Wl,--version-script={}", exports.display());
            // By which the auditor of `cuda-emulator-stand-ins` knows them. What is linked with the emulator looks for it as a driver.
            let name = if library == "cuda-launch-emulator" { "libcuda.so.1" } else { library };
            println!("{option}-Wl,-soname,{name}");
        }
    }
    Ok(())
}
