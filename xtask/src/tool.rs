//! Programs of crates at exactly the version that this repository names.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::wheels::run;

/// The program `name` of the crate `package`: the one on PATH if its version is right, else one installed below `work`.
/// `version_arguments` make it print its name and version.
pub(crate) fn pinned(
    work: &Path,
    name: &str,
    package: &str,
    version: &str,
    version_arguments: &[&str],
) -> Result<PathBuf> {
    let expected = format!("{name} {version}");
    let own = work.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    for candidate in [PathBuf::from(name), own.clone()] {
        let output = Command::new(&candidate).args(version_arguments).output();
        if output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == expected) {
            return Ok(candidate);
        }
    }
    eprintln!("installing {package} {version} into {}", work.display());
    let mut install = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    install.args(["install", "--quiet", "--locked", "--force", package, "--version", version, "--root"]);
    run(install.arg(work))?;
    Ok(own)
}
