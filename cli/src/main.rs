//! The tool `cuda-launch`, for kernel files and for programs that use the driver, with or without a GPU.
//!
//! | file | part |
//! |---|---|
//! | `doctor`, `inspect`, `bind`, `run`, `profile`, `occupancy`, `trace`, `check`, `record`, `replay`, `harness`, `emulate` | the commands |
//! | `interpose` | a program with the recorder as its driver, for `trace`, `check` and `record` |
//! | `emulated` | a program with the emulator as its driver |
//! | `program` | a program that a command starts |
//! | `beside` | the libraries that are installed with the tool |
//! | `kernel_file`, `image` | reading a kernel file: sources that must be compiled, and images |
//! | `signature`, `debug` | the meaning of its parameters: from its code and names, from debug information |
//! | `model`, `scalar` | the description of a kernel file |
//! | `number` | numbers as options take them |
//! | `roofline` | what memory and arithmetic of a device allow a kernel |
//! | `output`, `table`, `style` | the result of a command, as text or JSON |
//! | `markup` | common parts of pages and pictures for a browser |
//! | `files` | reading up to a limit, writing after a check that it is possible |
//! | `failure` | errors and the exit codes |

mod beside;
mod bind;
mod check;
mod debug;
mod doctor;
mod emulate;
mod emulated;
mod failure;
mod files;
mod harness;
mod image;
mod inspect;
mod interpose;
mod kernel_file;
mod markup;
mod model;
mod number;
mod occupancy;
mod output;
mod profile;
mod program;
mod record;
mod replay;
mod roofline;
mod run;
mod scalar;
mod signature;
mod stdout;
mod style;
mod table;
mod trace;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

use output::Outcome;

/// Inspect CUDA kernel files, generate typed Rust modules for them, and run them, with or without a GPU.
#[derive(Parser)]
#[command(name = "cuda-launch", version, after_help = failure::CODES, max_term_width = 80)]
struct Cli {
    /// Print JSON, errors included; each object names its schema
    #[arg(long, global = true, display_order = 900)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the CUDA installation of this machine, and problems with it
    #[command(after_help = failure::CODES)]
    Doctor,
    /// Show the contents of a PTX, cubin or fatbin: kernels, parameters, resources
    Inspect(inspect::Arguments),
    /// Generate the `#[cuda_module]` source for a kernel file
    Bind(bind::Arguments),
    /// Launch a kernel, show or save its output; check or time it
    Run(run::Arguments),
    /// Run a kernel on the emulator and show a profile of its lines
    Profile(profile::Arguments),
    /// Show how many blocks fit on a multiprocessor, by block size and shared memory
    Occupancy(occupancy::Arguments),
    /// Run a program and write a timeline of its launches, copies and waits
    Trace(trace::Arguments),
    /// Run a program and report misuse of the driver API
    Check(check::Arguments),
    /// Run a program and write one of its launches to a file
    Record(record::Arguments),
    /// Replay a recorded launch, on the emulator with all checks or on a GPU
    Replay(replay::Arguments),
    /// Run a program on the emulator, with failing calls, leak reports, logs, or as an
    /// older driver
    Harness(harness::Arguments),
    /// Run a program without a GPU, on the emulator, with compilers that produce PTX
    Emulate(emulate::Arguments),
}

fn main() -> ExitCode {
    if let Some(code) = emulate::stand_in() {
        return code;
    }
    let cli = match command_line() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") => {
            let failure = failure::Failure::usage(error.to_string().trim_start_matches("error: "));
            return output::print(&failure.into(), true);
        }
        Err(error) => error.exit(),
    };
    let answer = match &cli.command {
        Command::Doctor => Ok(doctor::run()),
        Command::Inspect(arguments) => inspect::run(arguments, cli.json),
        Command::Bind(arguments) => bind::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Profile(arguments) => profile::run(arguments),
        Command::Occupancy(arguments) => occupancy::run(arguments),
        Command::Trace(arguments) => trace::run(arguments, cli.json),
        Command::Check(arguments) => check::run(arguments, cli.json),
        Command::Record(arguments) => record::run(arguments, cli.json),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Harness(arguments) => harness::run(arguments, cli.json),
        Command::Emulate(arguments) => emulate::run(arguments, cli.json),
    };
    output::print(&answer.unwrap_or_else(Outcome::from), cli.json)
}

/// What is no command of its own, although one may look for it, with the place where it is.
const ELSEWHERE: [(&str, &str); 2] = [
    (
        "coverage",
        "`cuda-launch profile --lcov FILE` reports the coverage of one launch, the variable CUDA_LAUNCH_EMULATOR_COVERAGE=FOLDER that of a program",
    ),
    (
        "schedules",
        "`cuda-launch run --schedules N` runs a kernel in N orders of its warps and blocks, `cuda-launch emulate --schedules N` those of a program",
    ),
];

fn with_advice(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
        && let Some((_, advice)) = ELSEWHERE.iter().find(|(known, _)| known == name)
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*advice).into()]));
    }
    error
}

/// The command line. `-1` after an option is its value, so that the error says what is wrong with it.
fn command_line() -> Result<Cli, clap::Error> {
    let negative = |argument: clap::Arg| {
        let takes_value = argument.get_action().takes_values();
        argument.allow_negative_numbers(takes_value)
    };
    let mut command = Cli::command().mut_subcommands(|command| command.mut_args(negative));
    let mut matches = command.try_get_matches_from_mut(std::env::args_os()).map_err(with_advice)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}
