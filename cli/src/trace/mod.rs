//! `cuda-launch trace -- PROGRAM`: the program runs with the recorder (the file `cuda-launch-recorder`) as its driver.

mod summary;

use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Exit, Failure, Tried};
use crate::files::{self, Folder};
use crate::output::Outcome;
use crate::program;
use summary::Summary;

/// What the recorder's file is called: a shared library, though cargo takes it for a program (`src/recorder/main.rs`).
const RECORDER: &str = "cuda-launch-recorder";

/// What `--help` ends with.
const NOTES: &str = "\
Open the file at https://ui.perfetto.dev, or in chrome://tracing. ^C and other
signals end the program, and what it did until then is written. The exit code
is that of the program, 128 and the number of the signal that ended it, or 2 to
4 where it did not start. Programs find the recorder as libcuda.so.1 (Linux),
and those of the crate cuda-launch by the variable CUDA_LAUNCH_DRIVER. What
graphs do inside is not seen.";

#[derive(clap::Args)]
#[command(after_help = format!("{NOTES}\n\n{}", crate::failure::CODES))]
pub(crate) struct Arguments {
    /// The timeline
    #[arg(long, short, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,
    /// system, emulator, or the path of a libcuda [default: the system's if it has
    /// a device, else the emulator]
    #[arg(long)]
    driver: Option<String>,
    /// The recorder [default: cuda-launch-recorder, beside this program]
    #[arg(long, value_name = "FILE", env = "CUDA_LAUNCH_RECORDER", hide_env_values = true)]
    recorder: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments, json: bool) -> Result<Outcome, Failure> {
    let recorder = recorder(arguments.recorder.as_deref())?;
    let driver = driver(arguments.driver.as_deref())?;
    files::try_to_write(&arguments.output)?;
    let folder = Folder::new("trace")?;
    folder.link("libcuda.so.1", &recorder)?;
    let lines = folder.path().join("lines");
    let ended = program::run(&mut command(arguments, json, &recorder, &driver, folder.path())?)?;
    let summary = convert(&lines, &arguments.output)?;
    let (text, answer) = summary.show(&arguments.output, ended);
    Ok(Outcome { is_error: true, program: Some(ended.exit_code()), ..Outcome::new(text, answer) })
}

/// Beside this program, where cargo builds and installs it.
fn recorder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(RECORDER));
    let candidates = given.map(Path::to_owned).or(beside);
    let found = candidates.filter(|path| path.is_file()).and_then(|path| path.canonicalize().ok());
    found.ok_or_else(|| {
        Failure::new(
            Exit::File,
            format!(
                "the recorder `{RECORDER}` is not beside this program: `cargo install cuda-launch-cli` installs both, \
                 and `--recorder FILE` names another place"
            ),
        )
    })
}

/// The path of the driver that works: the recorder would find itself by the name.
fn driver(wish: Option<&str>) -> Result<OsString, Failure> {
    let system = || cuda_launch::Driver::system().ok().and_then(|driver| driver.file());
    match wish {
        Some("system") => {
            system().map(Into::into).ok_or_else(|| Failure::new(Exit::Driver, "this machine has no driver: `--driver emulator` needs none; `cuda-launch doctor` shows what was tried"))
        }
        Some(name) => Ok(name.into()),
        None => match cuda_launch::diagnostics::doctor().serving().map(|serving| serving.source) {
            Some(cuda_launch::diagnostics::DriverSource::System) => Ok(system().map_or("emulator".into(), Into::into)),
            Some(cuda_launch::diagnostics::DriverSource::Variable) => {
                Ok(std::env::var_os("CUDA_LAUNCH_DRIVER").unwrap_or_default())
            }
            _ => Ok("emulator".into()),
        },
    }
}

/// The program, with the recorder before its driver.
fn command(
    arguments: &Arguments,
    json: bool,
    recorder: &Path,
    driver: &OsString,
    folder: &Path,
) -> Result<Command, Failure> {
    let (program, rest) = arguments.program.split_first().ok_or_else(|| Failure::usage("no program"))?;
    let path = program::library_path(folder);
    let mut command = Command::new(program);
    command
        .args(rest)
        .env("LD_LIBRARY_PATH", path)
        .env("CUDA_LAUNCH_DRIVER", recorder)
        .env("CUDA_LAUNCH_TRACE_DRIVER", driver)
        .env("CUDA_LAUNCH_TRACE_FILE", folder.join("lines"));
    if json {
        // Standard output has the answer, and nothing else.
        command.stdout(Stdio::from(std::io::stderr()));
    }
    Ok(command)
}

/// The recorder's lines as one file that every reader of the format takes.
fn convert(lines: &Path, output: &Path) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    let failed = |error: std::io::Error| Failure::io(Tried::Write, output, &error);
    let mut out = BufWriter::new(File::create(output).map_err(failed)?);
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n").map_err(failed)?;
    // No file: the program made no call of the driver.
    let lines = File::open(lines).ok().map(BufReader::new);
    for line in lines.into_iter().flat_map(|lines| lines.split(b'\n').map_while(Result::ok)) {
        // A program that was killed may leave the last line cut.
        let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { continue };
        if event["args"].is_object() {
            summary.add(&mut event);
            writeln!(out, "{event},").map_err(failed)?;
        }
    }
    for event in summary.left_behind() {
        writeln!(out, "{event},").map_err(failed)?;
    }
    out.write_all(summary.names().join(",\n").as_bytes()).map_err(failed)?;
    out.write_all(b"\n]}\n").and_then(|()| out.flush()).map_err(failed)?;
    Ok(summary)
}
