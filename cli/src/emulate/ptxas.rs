//! This program, started as `ptxas` by a program under `cuda-launch emulate`: it writes the PTX that it was given, unassembled.

use cuda_emulator_stand_ins::version::lower;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The variable with the path of the program's own ptxas, which checks the PTX before.
pub(super) const REAL: &str = "CUDA_LAUNCH_EMULATE_PTXAS";

/// What `--version` says without one. Programs look for the release, which tells them what PTX it takes.
const VERSION: &str =
    "ptxas: the stand-in of cuda-launch emulate\nCuda compilation tools, release 13.0, V13.0.88";

/// The user's, where one is known: as Triton names it, or as a shell finds it.
pub(super) fn users() -> Option<PathBuf> {
    let named = std::env::var_os("TRITON_PTXAS_PATH").map(PathBuf::from).filter(|path| path.is_file());
    let folders = std::env::var_os("PATH").unwrap_or_default();
    named.or_else(|| {
        std::env::split_paths(&folders).map(|folder| folder.join("ptxas")).find(|path| path.is_file())
    })
}

/// The exit code, if this program was started by that name.
pub(crate) fn stand_in() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let name = arguments.next()?;
    let is_it = Path::new(&name).file_name() == Some(OsStr::new("ptxas"));
    is_it.then(|| assemble(&arguments.collect::<Vec<_>>()))
}

fn assemble(arguments: &[OsString]) -> ExitCode {
    if let Some(real) = std::env::var_os(REAL) {
        // One that is a stand-in itself, of `emulate` under `emulate`, has nothing behind it.
        match Command::new(&real).args(arguments).env_remove(REAL).status() {
            Ok(status) if status.success() => {}
            Ok(status) => {
                return ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
            }
            Err(error) => {
                eprintln!("cuda-launch emulate: ptxas {} does not start: {error}", real.display());
                return ExitCode::FAILURE;
            }
        }
    } else if arguments.iter().any(|argument| argument == "--version" || argument == "-V") {
        println!("{VERSION}");
    }
    let Some((input, output)) = files(arguments) else { return ExitCode::SUCCESS };
    let written = std::fs::read(&input).and_then(|mut ptx| {
        ptx.truncate(ptx.iter().position(|byte| *byte == 0).unwrap_or(ptx.len()));
        lower(&mut ptx);
        // A driver reads PTX up to its NUL.
        ptx.push(0);
        std::fs::write(&output, ptx)
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!(
                "cuda-launch emulate: cannot make {} of {}: {error}",
                output.display(),
                input.display()
            );
            ExitCode::FAILURE
        }
    }
}

/// The PTX, and the file for what is made of it; `None` where nothing is assembled.
fn files(arguments: &[OsString]) -> Option<(PathBuf, PathBuf)> {
    let mut output = PathBuf::from("elf.o");
    let mut input = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if text == "-o" || text == "--output-file" {
            output = arguments.next()?.into();
        } else if let Some(file) = text.strip_prefix("--output-file=").or_else(|| text.strip_prefix("-o=")) {
            output = file.into();
        } else if !text.starts_with('-') && Path::new(argument).is_file() {
            input = Some(PathBuf::from(argument));
        }
    }
    Some((input?, output))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn input_and_output_are_told_from_options() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let asked = |arguments: &[&str]| files(&arguments.iter().map(OsString::from).collect::<Vec<_>>());
        let found = |output: &str| Some((PathBuf::from(source), PathBuf::from(output)));
        assert_eq!(
            asked(&["-lineinfo", "-v", "--gpu-name=sm_90a", source, "-o", "x.cubin"]),
            found("x.cubin")
        );
        assert_eq!(asked(&["--output-file=y", source]), found("y"));
        assert_eq!(asked(&[source]), found("elf.o"));
        assert_eq!(asked(&["--version"]), None);
    }
}
