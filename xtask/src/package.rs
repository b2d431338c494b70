//! `cargo xtask gate package`: checks the contents of the published packages; `publish` builds them from these alone.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::Result;
use crate::cargo::{cargo, run};

/// What cargo adds to each package, and what each has besides its sources.
const EVERYWHERE: &[&str] = &[
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "build.rs",
];

/// What one package has: part of its documentation, and what its sources include. All of a folder where the name ends so.
const SOMEWHERE: &[(&str, &str)] = &[
    ("cuda-launch", "CHANGELOG.md"),
    ("cuda-launch", "docs/foundation.md"),
    ("cuda-launch", "docs/migration/"),
    ("cuda-launch", "docs/testing.md"),
    ("cuda-emulator", "EXACTNESS.md"),
    ("cuda-emulator", "src/driver/module/device_copies.ptx"),
    ("cuda-emulator", "src/driver/module/device_errors.ptx"),
    ("cuda-emulator", "src/driver/module/device_graphs.ptx"),
    ("cuda-emulator", "src/driver/module/device_launches.ptx"),
    ("cuda-emulator", "src/driver/module/device_nodes.ptx"),
    ("cuda-emulator", "src/driver/module/device_queries.ptx"),
    ("cuda-emulator", "src/driver/module/device_runtime.ptx"),
    ("cuda-emulator", "src/driver/module/device_waits.ptx"),
    ("cuda-emulator", "src/numeric/special_functions.bin"),
    ("cuda-launch-cli", "src/trace/zoom.js"),
];

/// Lists each package's files, and fails over one that does not belong there, or a licence or README that is missing.
pub(crate) fn check() -> Result<()> {
    let mut wrong = Vec::new();
    println!("{:22} {:>5} {:>6}", "package", "files", "KiB");
    for (name, folder) in published()? {
        let listed = output(&["package", "--list", "--allow-dirty", "--package", &name])?;
        let files: Vec<&str> = listed.lines().collect();
        let size = |file: &&str| std::fs::metadata(folder.join(file)).map_or(0, |data| data.len());
        let bytes: u64 = files.iter().map(size).sum();
        println!("{name:22} {:>5} {:>6}", files.len(), bytes.div_ceil(1024));
        wrong.extend(files.iter().filter(|file| !belongs(&name, file)).map(|file| format!("{name}: {file}")));
        let needed = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];
        let missing = needed.iter().filter(|file| !files.contains(file));
        wrong.extend(missing.map(|file| format!("{name}: no {file}")));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("`include` in a manifest, or xtask/src/package.rs, is wrong:\n  {}", wrong.join("\n  "))
        .into())
}

/// Packs and builds all packages as crates.io would give them to users, and uploads nothing.
pub(crate) fn publish() -> Result<()> {
    run(&mut cargo(&["publish", "--workspace", "--dry-run", "--allow-dirty"])?)
}

/// Whether a file is meant to be in a package.
fn belongs(package: &str, file: &str) -> bool {
    let source = file.starts_with("src/") && file.ends_with(".rs");
    let is_it =
        |path: &str| file == path || (path.ends_with('/') && file.starts_with(path) && file.ends_with(".md"));
    source
        || EVERYWHERE.contains(&file)
        || SOMEWHERE.iter().any(|(owner, path)| *owner == package && is_it(path))
}

/// Name and folder of each package that is published.
fn published() -> Result<Vec<(String, PathBuf)>> {
    let metadata: Value = serde_json::from_str(&output(&["metadata", "--no-deps", "--format-version=1"])?)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    // `publish = false` is an empty list of registries.
    let public = packages.iter().filter(|package| package["publish"].is_null());
    let named = public.filter_map(|package| {
        let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
        Some((package["name"].as_str()?.to_owned(), folder.to_owned()))
    });
    let named: Vec<_> = named.collect();
    if named.is_empty() { Err("no package is published".into()) } else { Ok(named) }
}

/// What cargo prints.
fn output(arguments: &[&str]) -> Result<String> {
    let mut command = cargo(arguments)?;
    let output = command.stderr(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(format!("cargo {}: {}", arguments.join(" "), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::belongs;

    #[test]
    fn sources_and_what_is_named_belong_and_nothing_else() {
        for file in ["src/lib.rs", "src/a/b.rs", "Cargo.toml", "LICENSE-MIT", "docs/migration/cust.md"] {
            assert!(belongs("cuda-launch", file), "{file}");
        }
        for file in
            ["tests/a.rs", "src/kernel.ptx", "benches/a.rs", "docs/other.md", "EXACTNESS.md", "src.rs"]
        {
            assert!(!belongs("cuda-launch", file), "{file}");
        }
    }
}
