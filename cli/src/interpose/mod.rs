//! Starts a program with the recorder (the file `cuda-launch-recorder`) as its driver: for `trace` and `check`.

mod program;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Exit, Failure, Tried};
pub(crate) use program::{Ended, run};

/// What the recorder's file is called: a shared library, though cargo takes it for a program (`src/recorder/main.rs`).
const RECORDER: &str = "cuda-launch-recorder";

/// Which program, and which driver it gets.
#[derive(clap::Args)]
pub(crate) struct Started {
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

/// A program that can be started, and the folder in which the recorder leaves its lines.
pub(crate) struct Prepared {
    pub(crate) command: Command,
    folder: Folder,
}

impl Started {
    /// Finds recorder and driver. With `json` standard output has the answer, and nothing else.
    pub(crate) fn prepare(&self, json: bool) -> Result<Prepared, Failure> {
        let recorder = recorder(self.recorder.as_deref())?;
        let driver = driver(self.driver.as_deref())?;
        let folder = Folder::new(&recorder)?;
        let (program, rest) = self.program.split_first().ok_or_else(|| Failure::usage("no program"))?;
        let mut path = folder.0.as_os_str().to_owned();
        if let Some(before) = std::env::var_os("LD_LIBRARY_PATH").filter(|before| !before.is_empty()) {
            path.push(":");
            path.push(before);
        }
        let mut command = Command::new(program);
        command
            .args(rest)
            .env("LD_LIBRARY_PATH", path)
            .env("CUDA_LAUNCH_DRIVER", recorder)
            .env("CUDA_LAUNCH_TRACE_DRIVER", driver);
        if json {
            command.stdout(Stdio::from(std::io::stderr()));
        }
        Ok(Prepared { command, folder })
    }
}

impl Prepared {
    /// The file of the recorder's lines; there is none where the program made no call of the driver.
    pub(crate) fn lines(&self) -> PathBuf {
        self.folder.0.join("lines")
    }
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

/// A folder in which the recorder is called `libcuda.so.1`; gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(recorder: &Path) -> Result<Self, Failure> {
        let folder = Self(Self::make()?);
        let link = folder.0.join("libcuda.so.1");
        #[cfg(unix)]
        std::os::unix::fs::symlink(recorder, &link)
            .map_err(|error| Failure::io(Tried::Write, &link, &error))?;
        #[cfg(not(unix))]
        let _ = (recorder, link);
        Ok(folder)
    }

    /// For this user alone. A folder that is there already is another process's: numbers of processes come again.
    fn make() -> Result<PathBuf, Failure> {
        #[cfg_attr(not(unix), allow(unused_mut, reason = "the mode is Unix's"))]
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let mut number = 0_u32;
        loop {
            let name = format!("cuda-launch-trace-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match builder.create(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(Failure::io(Tried::Write, &path, &error)),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in a folder for temporary files harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
