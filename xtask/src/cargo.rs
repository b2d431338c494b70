//! Running cargo in the repository, and finding what it built.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;

/// The oldest Rust that the manifests promise (`rust-version`).
pub(crate) const OLDEST_RUST: &str = concat!(env!("CARGO_PKG_RUST_VERSION"), ".0");

/// The folder of the workspace.
pub(crate) fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or_else(|| "xtask has no parent folder".into())
}

/// `cargo arguments`, in the repository, with the cargo that runs this program.
pub(crate) fn cargo(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.args(arguments).current_dir(root()?);
    Ok(command)
}

/// `cargo arguments` of another toolchain, in the repository.
pub(crate) fn on(toolchain: &str, arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, "cargo"]).args(arguments).current_dir(root()?);
    Ok(command)
}

/// Writes a file that does not have this text yet: cargo builds anew what was made from a newer one.
pub(crate) fn write_changed(file: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(file).is_ok_and(|known| known == text) {
        Ok(())
    } else {
        Ok(fs::write(file, text)?)
    }
}

/// Runs a command that talks to the terminal itself.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|e| format!("{}: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}`: {status}", shown(command)).into()) }
}

/// Whether a program can be run at all: it is there and answers to `arguments` with success.
pub(crate) fn answers(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let arguments = command.get_args().map(|a| a.to_string_lossy());
    std::iter::once(program.to_string_lossy()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// A program that cargo built.
pub(crate) struct Program {
    /// `lib` (its unit tests), `test`, `example`, `bench`.
    pub(crate) kind: String,
    /// The target's name, without the hash.
    pub(crate) name: String,
    /// The executable.
    pub(crate) path: PathBuf,
}

/// Runs cargo with `arguments`, which build, and returns the programs.
pub(crate) fn build(arguments: &[&str]) -> Result<Vec<Program>> {
    build_with(arguments, |_| Ok(()))
}

/// The same, with what else is to be said to cargo.
pub(crate) fn build_with(
    arguments: &[&str],
    more: impl FnOnce(&mut Command) -> Result<()>,
) -> Result<Vec<Program>> {
    let mut command = cargo(arguments)?;
    more(&mut command)?;
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output().map_err(|e| format!("{}: {e}", shown(&command)))?;
    if !output.status.success() {
        return Err(format!("`{}`: {}", shown(&command), output.status).into());
    }
    String::from_utf8(output.stdout)?.lines().filter_map(|line| program(line).transpose()).collect()
}

/// The program that a message of cargo's reports, if it does (the Cargo book, "External tools", artifact messages).
fn program(message: &str) -> Result<Option<Program>> {
    let message: Value = serde_json::from_str(message)?;
    let (Some(path), target) = (message["executable"].as_str(), &message["target"]) else { return Ok(None) };
    let (Some(kind), Some(name)) = (target["kind"][0].as_str(), target["name"].as_str()) else {
        return Err("cargo reports an executable without a target".into());
    };
    Ok(Some(Program { kind: kind.into(), name: name.into(), path: path.into() }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::program;

    #[test]
    fn messages_of_cargo() {
        let library =
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"a"},"executable":null}"#;
        assert!(program(library).unwrap().is_none());
        let test =
            r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"a b"},"executable":"t/a-12"}"#;
        let found = program(test).unwrap().unwrap();
        assert_eq!((found.kind.as_str(), found.name.as_str()), ("test", "a b"));
        assert_eq!(found.path, std::path::Path::new("t/a-12"));
        assert!(program("not JSON").is_err());
    }
}
