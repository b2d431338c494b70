//! Tells the crate whether it is optimised, which no `cfg` does.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-env=OPT_LEVEL_OF_EMULATOR={level}");
}
