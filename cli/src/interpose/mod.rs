//! Starts a program with the recorder (the file `cuda-launch-recorder`) as its driver: for `trace`, `check` and `record`.

use cuda_emulator_stand_ins::INTERPOSER;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::beside;
use crate::failure::{Exit, Failure};
use crate::files::Folder;
use crate::program;
use crate::run::DeviceOptions;

/// The name of the recorder's file: a shared library, although cargo treats it as a program (`src/recorder/main.rs`).
const RECORDER: &str = "cuda-launch-recorder";

/// Why the recorder saw nothing of most programs.
pub(crate) const NO_CALL: &str = "the program made no driver call, or does not load libcuda.so.1";

/// The program and its driver.
#[derive(clap::Args)]
pub(crate) struct Started {
    /// system, emulator, or the path of a libcuda [default: the system's if it has a device,
    /// otherwise the emulator]
    #[arg(long)]
    driver: Option<String>,
    /// The recorder [default: cuda-launch-recorder, beside this program]
    #[arg(long, value_name = "FILE", env = "CUDA_LAUNCH_RECORDER", hide_env_values = true)]
    recorder: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// A program that can be started, and the folder in which the recorder writes its lines.
pub(crate) struct Prepared {
    pub(crate) command: Command,
    folder: Folder,
}

impl Started {
    /// The command line, for a heading.
    pub(crate) fn shown(&self) -> String {
        self.program.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Why the recorder that `cuda-launch COMMAND` started saw no driver call. If the program is this tool, the cause is known.
    pub(crate) fn why_no_call(&self, command: &str) -> String {
        let mut words = self.program.iter().map(|word| word.to_string_lossy());
        let program = words.next().unwrap_or_default();
        if Path::new(&*program).file_name().is_none_or(|name| name != "cuda-launch") {
            return NO_CALL.into();
        }
        match words.find(|word| !word.starts_with('-')).as_deref() {
            Some(inner @ ("emulate" | "harness")) => format!(
                "`cuda-launch {inner}` gives its program a driver of its own, which the recorder does not see: put it in front, as \
                 `cuda-launch {inner} -- cuda-launch {command} -- PROGRAM`"
            ),
            _ => "this command of cuda-launch made no driver call, or used the emulator inside the tool, which the recorder does not see, as \
                  `profile` does, and `run` with --check, --schedules, --seed, --arch or --driver emulator"
                .into(),
        }
    }

    /// Finds recorder and driver. With `json`, standard output is only for the result.
    pub(crate) fn prepare(&self, json: bool) -> Result<Prepared, Failure> {
        let recorder = beside::given(self.recorder.as_deref(), "--recorder", RECORDER)?;
        let driver = driver(self.driver.as_deref())?;
        let folder = Folder::new("trace")?;
        let library = folder.link("libcuda.so.1", &recorder)?;
        let (started, rest) = self.program.split_first().ok_or_else(|| Failure::usage("no program"))?;
        let mut command = Command::new(started);
        command
            .args(rest)
            .env("LD_LIBRARY_PATH", program::library_path(folder.path()))
            // Set by a command that has started this one.
            .env_remove("CUDA_LAUNCH_CHECK_FILE")
            .env_remove("CUDA_LAUNCH_RECORD_FILE")
            .env_remove("CUDA_LAUNCH_TRACE_FILE")
            // If `emulate` has started this command, its stand-ins choose the program's driver.
            .env(INTERPOSER, library)
            .env("CUDA_LAUNCH_DRIVER", recorder)
            .env("CUDA_LAUNCH_TRACE_DRIVER", driver);
        if json {
            command.stdout(Stdio::from(std::io::stderr()));
        }
        Ok(Prepared { command, folder })
    }
}

impl Prepared {
    /// The file of the recorder's lines; there is none if the program made no driver call.
    pub(crate) fn lines(&self) -> PathBuf {
        self.folder.path().join("lines")
    }
}

/// The path of the driver that works: the recorder would find itself by the name.
fn driver(wish: Option<&str>) -> Result<OsString, Failure> {
    let system = || cuda_launch::Driver::system().ok().and_then(|driver| driver.file());
    match wish {
        Some("system") => {
            system().map(Into::into).ok_or_else(|| Failure::new(Exit::Driver, "this machine has no driver: `--driver emulator` needs none; `cuda-launch doctor` shows what was tried"))
        }
        Some("emulator") => Ok("emulator".into()),
        // Otherwise the program would find no driver; the person who started it shall know before.
        Some(path) => DeviceOptions::of(path, 0).driver().map(|_| path.into()),
        None => match cuda_launch::diagnostics::doctor().serving().map(|serving| serving.source) {
            Some(cuda_launch::diagnostics::DriverSource::System) => Ok(system().map_or("emulator".into(), Into::into)),
            Some(cuda_launch::diagnostics::DriverSource::Variable) => {
                Ok(std::env::var_os("CUDA_LAUNCH_DRIVER").unwrap_or_default())
            }
            _ => Ok("emulator".into()),
        },
    }
}
