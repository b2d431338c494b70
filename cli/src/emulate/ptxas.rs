//! This program, started as `ptxas` by a program under `cuda-launch emulate`: it writes its input PTX without assembling it.

use cuda_emulator_stand_ins::registers::{self, limited};
use cuda_emulator_stand_ins::version::lower;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use super::tools;

/// The variable with the path of the program's own ptxas, which checks the PTX first.
pub(super) const REAL: &str = "CUDA_LAUNCH_EMULATE_PTXAS";

/// A name by which it is started.
pub(super) struct Name {
    pub(super) program: &'static str,
    /// Triton's variable with its path; otherwise Triton takes one of its own.
    pub(super) triton: &'static str,
    /// The variable with the path of the program's own.
    pub(super) real: &'static str,
}

/// Triton has two: the second is for `sm_100` and later in 3.6, for `sm_90` and later in 3.9.
pub(super) const NAMES: [Name; 2] = [
    Name { program: "ptxas", triton: "TRITON_PTXAS_PATH", real: REAL },
    Name {
        program: "ptxas-blackwell",
        triton: "TRITON_PTXAS_BLACKWELL_PATH",
        real: "CUDA_LAUNCH_EMULATE_PTXAS_BLACKWELL",
    },
];

/// The output of `--version` if there is none. Programs look for the release, which tells them the accepted PTX
/// versions.
const VERSION: &str =
    "ptxas: the stand-in of cuda-launch emulate\nCuda compilation tools, release 13.0, V13.0.88";

impl Name {
    /// The user's ptxas, if known: the one that Triton's variable names, or the one that a shell finds.
    pub(super) fn users(&self) -> Option<PathBuf> {
        let named = std::env::var_os(self.triton).map(PathBuf::from).filter(|path| path.is_file());
        named.or_else(|| tools::in_path(self.program))
    }
}

pub(super) fn assemble(name: &Name, arguments: &[OsString]) -> ExitCode {
    if let Some(real) = std::env::var_os(name.real) {
        // If it is itself a stand-in (`emulate` under `emulate`), it must not start another one.
        match Command::new(&real).args(arguments).env_remove(name.real).status() {
            Ok(status) if status.success() => {}
            Ok(status) => return tools::code_of(status),
            Err(error) => {
                eprintln!("cuda-launch emulate: ptxas {} does not start: {error}", real.display());
                return ExitCode::FAILURE;
            }
        }
    } else if arguments.iter().any(|argument| argument == "--version" || argument == "-V") {
        println!("{VERSION}");
    }
    let Some((input, output)) = tools::input_and_output(arguments) else { return ExitCode::SUCCESS };
    let output = output.unwrap_or_else(|| "elf.o".into());
    let written = std::fs::read(&input).and_then(|mut ptx| {
        ptx.truncate(ptx.iter().position(|byte| *byte == 0).unwrap_or(ptx.len()));
        lower(&mut ptx);
        // A driver reads PTX up to its NUL.
        ptx.push(0);
        std::fs::write(
            &output,
            limited(ptx, registers::of(arguments.iter().map(|one| one.as_encoded_bytes()))),
        )
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
