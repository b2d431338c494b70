//! `cuda-launch emulate -- PROGRAM`: runs a program on the emulator, with stand-ins for compilers that would generate
//! cubins.
//!
//! | file | part |
//! |---|---|
//! | `explain` | why a program cannot run, and the nearest way round |
//! | `tools` | this program, started by the name of a compiler |
//! | `ptxas`, `nvcc` | by these names |

mod explain;
mod nvcc;
mod ptxas;
mod tools;

use cuda_emulator_stand_ins::{COMPILERS, FOLDER, STAND_INS};
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;

use crate::beside;
use crate::emulated::{Emulated, Options};
use crate::failure::{Failure, FileOperation};
use crate::number;
use crate::output::Outcome;
use crate::style;
use crate::table::Columns;
use explain::Reason;

pub(crate) use tools::stand_in;

/// The names of the stand-ins' files, in the order of `COMPILERS`: shared libraries, although cargo treats them as
/// programs (`src/stand_ins`). The first is also the loader's auditor.
const LIBRARIES: [&str; 2] = ["cuda-launch-nvrtc", "cuda-launch-nvjitlink"];

/// The end of `--help`.
const NOTES: &str = "\
The program finds the emulator as libcuda.so.1. It uses its own NVRTC,
nvJitLink, ptxas and nvcc, which produce PTX when it asks for a cubin: all
that the emulator runs. Programs that use the CUDA runtime (<<<>>>, CuPy,
PyTorch) do not run: the runtime asks the driver to prove that it is NVIDIA's,
and the emulator does not answer. docs/emulator.md lists what runs, and the
workarounds.

The check `leak` is about memory that kernels allocate: for that of the program
there is `harness --leaks`.

Exit codes:
  that of the program, or 128 plus the number of the signal that ended it
If the program did not fail:
  1  a check found something, a checked kernel faulted, or schedules differed,
     in it or in a process that it started
  3  the log lacks calls, or a coverage report was not written
If it was not started:
  2  the command line is wrong
  3  a file cannot be read or written, or the program cannot be started";

#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// Memory of each device, in bytes or with K, M, G
    #[arg(long, value_name = "BYTES", value_parser = number::some_bytes)]
    memory: Option<u64>,
    /// At the end, list what in the program cannot run on the emulator, and alternatives
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(arguments: &Arguments, json: bool) -> Result<Outcome, Failure> {
    let mut emulated = Emulated::new(&arguments.options, json)?;
    if let Some(bytes) = arguments.memory {
        emulated.command.env("CUDA_LAUNCH_EMULATOR_MEMORY", bytes.to_string());
    }
    put_in_front(&mut emulated)?;
    if arguments.explain {
        explain::start(&emulated.folder)?;
    }
    let program = emulated.command.get_program().to_owned();
    let finished = emulated.run()?;
    let mut reasons = explain::absent(&emulated.folder);
    if arguments.explain {
        reasons.extend(finished.unreached.iter().map(|why| Reason::of_program(&program, why)));
        reasons.extend(explain::files(&emulated.folder, &program, arguments.options.architecture()));
        reasons.extend(finished.found.obstacles.iter().map(Reason::of_obstacle));
    }
    let fields = json!({ "explanation": reasons.iter().map(Reason::json).collect::<Vec<_>>() });
    Ok(finished.outcome("cuda-launch.emulate.1", &text(&reasons, arguments.explain), fields))
}

fn text(reasons: &[Reason], is_asked: bool) -> String {
    let columns = Columns::err();
    let mut text = String::new();
    if is_asked {
        let heading = if reasons.is_empty() {
            "nothing was found in the program that cannot run on the emulator"
        } else {
            "what cannot run on the emulator:"
        };
        text += &columns.wrap(&style::strong(heading), "");
    }
    for reason in reasons {
        text +=
            &columns.wrap(&format!("{} {}", style::strong(&format!("{}:", reason.subject)), reason.why), "");
        text += &columns.wrap(&format!("help: {}", reason.way), "  ");
    }
    text
}

/// Makes the program find the stand-ins instead of its compilers.
fn put_in_front(emulated: &mut Emulated) -> Result<(), Failure> {
    let [nvrtc, nvjitlink] = LIBRARIES;
    let (nvrtc, nvjitlink) = (beside::installed(nvrtc, "")?, beside::installed(nvjitlink, "")?);
    for (name, library) in COMPILERS.iter().zip([&nvrtc, &nvjitlink]) {
        emulated.folder.link(&format!("{STAND_INS}/{name}"), library)?;
    }
    let own = std::env::current_exe()
        .map_err(|error| Failure::io(FileOperation::Read, Path::new("/proc/self/exe"), &error))?;
    for ptxas in &ptxas::NAMES {
        let path = emulated.folder.link(&format!("bin/{}", ptxas.program), &own)?;
        if let Some(real) = ptxas.users() {
            emulated.command.env(ptxas.real, real);
        }
        emulated.command.env(ptxas.triton, path);
    }
    let bin = emulated.folder.path().join("bin");
    let command = &mut emulated.command;
    command.env(FOLDER, emulated.folder.path());
    command.env("LD_AUDIT", after(nvrtc.into(), "LD_AUDIT"));
    command.env("PATH", after(bin.into(), "PATH"));
    if let Some(real) = nvcc::users() {
        emulated.folder.link("bin/nvcc", &own)?;
        let copy = nvcc::copy(&real, &own, &emulated.folder)
            .map_err(|error| Failure::io(FileOperation::Read, &real, &error))?;
        emulated.command.env(nvcc::REAL, &real);
        match copy {
            Some(copy) => emulated.command.env(nvcc::COPY, copy),
            None => emulated.command.env_remove(nvcc::COPY),
        };
    }
    Ok(())
}

/// A list of the environment that begins with `first`.
fn after(mut first: OsString, variable: &str) -> OsString {
    if let Some(before) = std::env::var_os(variable).filter(|before| !before.is_empty()) {
        first.push(":");
        first.push(before);
    }
    first
}
