//! Links the program `cuda-launch-recorder` as a shared library that exports the functions of the driver: see
//! `src/recorder/main.rs`.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    let supported = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if supported && std::env::var_os("CARGO_FEATURE_RECORDER").is_some() {
        let exports = Path::new(&std::env::var("OUT_DIR")?).join("exports");
        // Nothing of Rust's: a program that is traced may be a Rust program.
        std::fs::write(&exports, "{ global: cu*; local: *; };\n")?;
        let option = "cargo::rustc-link-arg-bin=cuda-launch-recorder=";
        println!("{option}-shared");
        println!("{option}-Wl,--version-script={}", exports.display());
    }
    Ok(())
}
