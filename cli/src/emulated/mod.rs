//! A program that is started with the emulator's `libcuda.so.1` (the file `cuda-launch-emulator`) as its driver.

pub(crate) mod elf;
pub(crate) mod reach;
mod reports;

use clap::ValueEnum;
use cuda_emulator::Architecture;
use cuda_emulator_stand_ins::INTERPOSER;
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::beside;
use crate::failure::{Exit, Failure};
use crate::files::{self, Folder};
use crate::number;
use crate::output::Outcome;
use crate::program::{self, Ended};
use crate::style;
use crate::table::Columns;
use reports::{Found, ReportFile};

/// The name of the library's file: a shared library, although cargo treats it as a program (`src/emulator_library/main.rs`).
const LIBRARY: &str = "cuda-launch-emulator";

/// The architectures of the devices.
pub(crate) const ARCH: &str = "CUDA_LAUNCH_EMULATOR_ARCH";
const COVERAGE: &str = "CUDA_LAUNCH_EMULATOR_COVERAGE";
const PROGRESS: &str = "CUDA_LAUNCH_EMULATOR_PROGRESS";
const SCHEDULES: &str = "CUDA_LAUNCH_EMULATOR_SCHEDULES";
const SEED: &str = "CUDA_LAUNCH_EMULATOR_SEED";

/// The options that the commands share.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of devices, 0 to 8 [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=8))]
    devices: Option<u8>,
    /// Architecture of the devices, such as sm_80; a list gives each device its own
    /// [default: sm_90]
    #[arg(long, value_name = "ARCH", value_delimiter = ',')]
    arch: Vec<Architecture>,
    /// Check kernels for more than faults: init, race, barrier, leak, all, constant [without =LIST: init, race, barrier]
    #[arg(
        long,
        value_name = "LIST",
        num_args = 0..=1,
        require_equals = true,
        hide_possible_values = true,
        value_delimiter = ',',
        default_missing_value = "init,race,barrier"
    )]
    check: Vec<Check>,
    /// Also run each launch under this many orders of warps and blocks, and report results that
    /// depend on the order (docs/schedules.md)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    schedules: Option<u32>,
    /// The seed of the first order [default: 1]; without --schedules, run only that order
    #[arg(long, value_name = "S", value_parser = number::whole::<u64>)]
    seed: Option<u64>,
    /// Log every driver call, with its arguments and its result; - is standard error
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The emulator [default: cuda-launch-emulator, beside this program]
    #[arg(long, value_name = "FILE", env = "CUDA_LAUNCH_EMULATOR_LIBRARY", hide_env_values = true)]
    library: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// Checks of the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Check {
    /// Reads of uninitialised memory
    Init,
    /// Data races
    Race,
    /// Barriers that only part of a warp reaches
    Barrier,
    /// Blocks that a kernel allocated and nobody freed
    Leak,
    /// Variables in constant memory that nobody has set
    Constant,
    /// All except that of constant memory
    All,
}

impl Check {
    fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Race => "race",
            Self::Barrier => "barrier",
            Self::Leak => "leak",
            Self::Constant => "constant",
            Self::All => "all",
        }
    }
}

/// The program, ready to be started, and the folder in which it finds its driver.
pub(crate) struct Emulated {
    pub(crate) command: Command,
    pub(crate) folder: Folder,
    /// The log, and where the library says that it could not be written.
    log: Option<(PathBuf, PathBuf)>,
    /// Where the library tells what it found.
    reports: ReportFile,
}

impl Options {
    /// The oldest of the devices' architectures, as the options or the environment say.
    pub(crate) fn architecture(&self) -> Architecture {
        let variable = std::env::var(ARCH).unwrap_or_default();
        let from_variable = variable.split(',').filter_map(|name| name.trim().parse().ok());
        let all = if self.arch.is_empty() { from_variable.collect() } else { self.arch.clone() };
        all.into_iter().min().unwrap_or_default()
    }

    fn set_schedules(&self, command: &mut Command) {
        if let Some(seed) = self.seed {
            // Alone it is its one order, whatever the variable says where this program was started.
            command.env_remove(SCHEDULES).env(SEED, seed.to_string());
        }
        if let Some(orders) = self.schedules {
            command.env(SCHEDULES, orders.to_string());
        }
    }
}

impl Emulated {
    pub(crate) fn new(options: &Options, json: bool) -> Result<Self, Failure> {
        let (program, rest) = options.program.split_first().ok_or_else(|| Failure::usage("no program"))?;
        let library = beside::given(options.library.as_deref(), "--library", LIBRARY)?;
        let folder = Folder::new("emulated")?;
        // The second is the name of a toolkit's stub, which some programs open.
        for name in ["libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"] {
            folder.link(name, &library)?;
        }
        let mut command = Command::new(program);
        command.args(rest).env("LD_LIBRARY_PATH", program::library_path(folder.path()));
        // Programs of the crate `cuda-launch`, too, for they may have an emulator of their own.
        command.env("CUDA_LAUNCH_DRIVER", &library);
        // Set by a command that has started this one.
        command.env_remove(INTERPOSER);
        if let Some(devices) = options.devices {
            command.env("CUDA_LAUNCH_EMULATOR_DEVICES", devices.to_string());
        }
        if !options.arch.is_empty() {
            let (given, devices) = (options.arch.len(), options.devices);
            if given > 8 {
                return Err(Failure::usage(format!("--arch names {given} devices: there are at most 8")));
            }
            if given > 1 && devices.is_some_and(|devices| usize::from(devices) != given) {
                return Err(Failure::usage(format!(
                    "--arch names {given} devices: give one architecture for each of --devices, or one for all"
                )));
            }
            let names: Vec<String> = options.arch.iter().map(Architecture::to_string).collect();
            command.env(ARCH, names.join(","));
            if given > 1 && devices.is_none() {
                // It may say something else where this program was started.
                command.env("CUDA_LAUNCH_EMULATOR_DEVICES", given.to_string());
            }
        }
        if !options.check.is_empty() {
            let names: Vec<&str> = options.check.iter().map(|check| check.name()).collect();
            command.env("CUDA_LAUNCH_EMULATOR_CHECK", names.join(","));
        }
        options.set_schedules(&mut command);
        if let Some(coverage) = std::env::var_os(COVERAGE).filter(|folder| !folder.is_empty()) {
            // The program, or a process that it starts, may go to another folder.
            command.env(COVERAGE, std::path::absolute(&coverage).map_or(coverage, Into::into));
        }
        if std::io::stderr().is_terminal() {
            command.env(PROGRESS, "1");
        }
        let reports = ReportFile::new(&folder, &mut command)?;
        let mut told = None;
        if let Some(log) = &options.log {
            let failed = folder.path().join("log-failed");
            command
                .env("CUDA_LAUNCH_HARNESS_LOG", log_for(log)?)
                .env("CUDA_LAUNCH_HARNESS_LOG_FAILED", &failed);
            told = Some((log.clone(), failed));
        }
        if json {
            // Standard output is only for the result.
            command.stdout(Stdio::from(std::io::stderr()));
        }
        Ok(Self { command, folder, log: told, reports })
    }

    /// Starts it and waits for its end.
    pub(crate) fn run(&mut self) -> Result<Finished, Failure> {
        let unreached = reach::problem(self.command.get_program());
        if let Some(why) = &unreached {
            note(why);
        }
        let ended = program::run(&mut self.command)?;
        let failed = |(log, failed): &(PathBuf, PathBuf)| {
            let number = std::fs::read_to_string(failed).ok()?.parse().ok()?;
            files::say_lost(log, number);
            Some(())
        };
        let has_lost_log = self.log.as_ref().and_then(failed).is_some();
        Ok(Finished { ended, unreached, has_lost_log, found: self.reports.read() })
    }
}

/// A program that has ended.
pub(crate) struct Finished {
    ended: Ended,
    /// Why its loader does not find the emulator.
    pub(crate) unreached: Option<String>,
    /// A log that was asked for lacks calls, which the user was told.
    has_lost_log: bool,
    /// What the library told of all its processes.
    pub(crate) found: Found,
}

impl Finished {
    /// The outcome with its exit code, and with additional text and fields.
    pub(crate) fn outcome(self, schema: &str, more: &str, fields: Value) -> Outcome {
        let mut answer: Value = json!({
            "schema": schema,
            "program_code": self.ended.code,
            "program_signal": self.ended.signal,
            "not_reached": self.unreached,
        });
        for fields in [self.found.json(), fields] {
            if let (Some(answer), Value::Object(fields)) = (answer.as_object_mut(), fields) {
                answer.extend(fields);
            }
        }
        // Standard output is the program's.
        let signal = self.ended.signal.map(|signal| format!("signal {signal} ended the program"));
        let mut text = signal.map(|text| Columns::err().wrap(&text, "")).unwrap_or_default();
        text += more;
        let code = match (self.ended.exit_code(), self.found.wrong()) {
            (0, _) if self.has_lost_log || self.found.has_lost_report => Exit::File as u8,
            (0, Some(wrong)) => {
                let wrong = format!(
                    "{} the program exited with 0, but the emulator reported {wrong}",
                    style::bad("error:")
                );
                text += &Columns::err().wrap(&wrong, "");
                Exit::Found as u8
            }
            (code, _) => code,
        };
        Outcome { is_error: true, program: Some(code), ..Outcome::new(text, answer) }
    }
}

/// A word before the program starts.
fn note(why: &str) {
    let text = format!("{} {why}", style::strong("note:"));
    anstream::eprint!("{}", Columns::err().wrap_lines(&text, ""));
}

/// The log's name for a program that may go to another folder.
fn log_for(log: &Path) -> Result<OsString, Failure> {
    if log == OsStr::new("-") {
        return Ok(log.into());
    }
    files::try_to_write(log)?;
    Ok(std::path::absolute(log).map_or_else(|_| log.into(), Into::into))
}
