//! Common code of the stand-ins for compilers that are programs: this program, started by another name.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use super::{nvcc, ptxas};

/// The exit code, if this program was started by the name of one.
pub(crate) fn stand_in() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let name = arguments.next()?;
    let name = Path::new(&name).file_name().and_then(OsStr::to_str)?;
    let arguments: Vec<_> = arguments.collect();
    if name == "nvcc" {
        return Some(nvcc::compile(&arguments));
    }
    let ptxas = ptxas::NAMES.iter().find(|ptxas| ptxas.program == name)?;
    Some(ptxas::assemble(ptxas, &arguments))
}

/// The program that a shell finds by a name.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The exit code of a stand-in for another tool.
pub(super) fn code_of(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// The input file among the arguments, and the output file if one is named; `None` if nothing is compiled.
pub(super) fn input_and_output(arguments: &[OsString]) -> Option<(PathBuf, Option<PathBuf>)> {
    let mut output = None;
    let mut input = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if text == "-o" || text == "--output-file" {
            output = Some(arguments.next()?.into());
        } else if let Some(file) = text.strip_prefix("--output-file=").or_else(|| text.strip_prefix("-o=")) {
            output = Some(file.into());
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
        let asked =
            |arguments: &[&str]| input_and_output(&arguments.iter().map(OsString::from).collect::<Vec<_>>());
        let found = |output: &str| Some((PathBuf::from(source), Some(PathBuf::from(output))));
        assert_eq!(
            asked(&["-lineinfo", "-v", "--gpu-name=sm_90a", source, "-o", "x.cubin"]),
            found("x.cubin")
        );
        assert_eq!(asked(&["--output-file=y", source]), found("y"));
        assert_eq!(asked(&[source]), Some((source.into(), None)));
        assert_eq!(asked(&["--version"]), None);
    }
}
