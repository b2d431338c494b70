//! This program, started as `nvcc` by a program under `cuda-launch emulate`: it runs the program's own nvcc with the stand-in for
//! `ptxas`, so that the output is PTX that the emulator reads.
//!
//! nvcc searches for its tools beside its own path before it searches PATH. So it is started in a copy of its toolkit's folder that
//! consists of links, with the stand-in as ptxas.

use cuda_emulator_stand_ins::version::lower;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::{ptxas, tools};
use crate::files::{self, Folder};

/// The variable with the path of the program's own nvcc.
pub(super) const REAL: &str = "CUDA_LAUNCH_EMULATE_NVCC";
/// The variable with the path of that nvcc in the copy.
pub(super) const COPY: &str = "CUDA_LAUNCH_EMULATE_NVCC_COPY";

/// The user's nvcc: the one that another `emulate` found, or the one that a shell finds.
pub(super) fn users() -> Option<PathBuf> {
    let named = std::env::var_os(REAL).map(PathBuf::from).filter(|path| path.is_file());
    named.or_else(|| tools::in_path("nvcc"))
}

/// Copies the toolkit of an nvcc, and links the stand-in there. `None` if there is no toolkit beside it, as for a script.
pub(super) fn copy(real: &Path, own: &Path, folder: &Folder) -> io::Result<Option<PathBuf>> {
    let real = real.canonicalize()?;
    let Some(bin) = real.parent().filter(|bin| bin.join("nvcc.profile").is_file()) else { return Ok(None) };
    let Some(toolkit) = bin.parent() else { return Ok(None) };
    let copied = folder.path().join("toolkit");
    link_all(toolkit, &copied, bin.file_name())?;
    let tools = copied.join("bin");
    link_all(bin, &tools, Some(OsStr::new("ptxas")))?;
    files::symlink(own, &tools.join("ptxas"))?;
    Ok(Some(tools.join("nvcc")))
}

/// Links everything of a folder into another, but one name.
fn link_all(from: &Path, to: &Path, but: Option<&OsStr>) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        if Some(name.as_os_str()) != but {
            files::symlink(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

pub(super) fn compile(arguments: &[OsString]) -> ExitCode {
    let Some(real) = std::env::var_os(REAL).map(PathBuf::from) else {
        eprintln!(
            "cuda-launch emulate: nvcc is not known: {REAL} is not set; keep the environment of `emulate`"
        );
        return ExitCode::FAILURE;
    };
    let asks = |mode: &str| arguments.iter().any(|one| one == mode || one.to_str() == Some(&mode[1..]));
    let copy = std::env::var_os(COPY).filter(|_| asks("--cubin"));
    let mut command = Command::new(copy.as_deref().unwrap_or(real.as_os_str()));
    if copy.is_some() {
        // Its own, not one that PATH has.
        let own =
            real.canonicalize().ok().map(|real| real.with_file_name("ptxas")).filter(|own| own.is_file());
        if let Some(own) = own {
            command.env(ptxas::REAL, own);
        }
    }
    match command.args(arguments).status() {
        Ok(status) if status.success() && asks("--ptx") => lowered(arguments),
        Ok(status) => tools::code_of(status),
        Err(error) => {
            eprintln!("cuda-launch emulate: nvcc {} does not start: {error}", real.display());
            ExitCode::FAILURE
        }
    }
}

/// Lowers the version of the generated PTX, if it is one file.
fn lowered(arguments: &[OsString]) -> ExitCode {
    let Some((input, output)) = tools::input_and_output(arguments) else { return ExitCode::SUCCESS };
    let output =
        output.unwrap_or_else(|| Path::new(input.file_name().unwrap_or_default()).with_extension("ptx"));
    let Ok(mut ptx) = fs::read(&output) else { return ExitCode::SUCCESS };
    lower(&mut ptx);
    match fs::write(&output, ptx) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuda-launch emulate: cannot write {}: {error}", output.display());
            ExitCode::FAILURE
        }
    }
}
