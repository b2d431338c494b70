//! Errors, and the exit codes.

use cuda_launch::error::{CompileError, GlobalError};
use cuda_launch::{Error, ErrorKind};
use cuda_ptx::image::ImageError;
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// The end of `--help`, except where a program is started.
pub(crate) const CODES: &str = "\
Exit codes:
  0  success
  1  something is wrong: a kernel faulted, --check found a mistake, or `doctor`
     found no working driver
  2  the command line is wrong: an option, an argument, a kernel's name
  3  a file cannot be read or written, or is damaged
  4  no usable driver or compiler, or the driver refused";

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Well = 0,
    Found = 1,
    Usage = 2,
    File = 3,
    Driver = 4,
}

/// The operation on a file that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileOperation {
    Read,
    Write,
    Start,
}

impl FileOperation {
    fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Start => "start",
        }
    }

    /// The advice for the system's error.
    fn help(self, path: &Path, error: &io::Error) -> String {
        match (error.kind(), self) {
            (io::ErrorKind::NotFound, Self::Start) => {
                "name a program that is in PATH, or give its path".into()
            }
            (io::ErrorKind::NotFound, _) => self.missing(path),
            (io::ErrorKind::PermissionDenied, Self::Read) => {
                "this user has no permission to read it: change its permissions, or read a copy".into()
            }
            (io::ErrorKind::PermissionDenied, Self::Write) => {
                "this user has no permission to write it: change the permissions, or name another file".into()
            }
            (io::ErrorKind::InvalidData, Self::Read) => "it has to be text in UTF-8: convert it".into(),
            (io::ErrorKind::PermissionDenied, Self::Start) if path.is_dir() => {
                "it is a folder: name a program".into()
            }
            (io::ErrorKind::PermissionDenied, Self::Start) => {
                "this user has no permission to run it: `chmod +x` it, or start it by its interpreter".into()
            }
            (io::ErrorKind::IsADirectory, _) => "it is a folder: name a file in it".into(),
            (io::ErrorKind::NotADirectory, _) => {
                let file = path.ancestors().skip(1).find(|part| part.is_file()).unwrap_or(path);
                format!("{} is a file, not a folder: correct the path", file.display())
            }
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge, _) => {
                "make room, or write to another disk".into()
            }
            (io::ErrorKind::ReadOnlyFilesystem, _) => "name a file on a disk that can be written".into(),
            (_, Self::Start) => {
                "it must be a program for this machine, or be started by its interpreter".into()
            }
            _ => "name another file, or a copy of it".into(),
        }
    }

    /// The part of a path that does not exist.
    fn missing(self, path: &Path) -> String {
        if path.is_symlink() {
            return "it is a dangling symbolic link: correct it".into();
        }
        let exists = |part: &Path| part.as_os_str().is_empty() || part.exists();
        let absent = path.ancestors().take_while(|part| !exists(part)).last().unwrap_or(path);
        let what = match (absent == path, self) {
            (true, Self::Write) => "no such place",
            (true, _) => "no such file",
            (false, _) => "no folder",
        };
        let place = match (absent.parent(), std::env::current_dir()) {
            (Some(parent), Ok(here)) => here.join(parent).display().to_string(),
            _ => "the working folder".into(),
        };
        let next = if self == Self::Write { "make it, or write elsewhere" } else { "correct the path" };
        let name = absent.file_name().unwrap_or(absent.as_os_str()).display();
        format!("{place} has {what} `{name}`: {next}")
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// A sentence, and lines that show more.
    pub(crate) message: String,
    /// The location, for programs: fields of the JSON output.
    pub(crate) place: Value,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), place: json!({}) }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// A file that cannot be read, written or started: what was tried, the system's error, and the advice.
    pub(crate) fn io(tried: FileOperation, path: &Path, error: &io::Error) -> Self {
        let (file, verb) = (path.display().to_string(), tried.verb());
        let message = format!("cannot {verb} {file}: {error}\n  help: {}", tried.help(path, error));
        Self { place: json!({ "file": file }), ..Self::new(Exit::File, message) }
    }

    /// A file that is no kernel image, or a damaged one.
    pub(crate) fn image(path: &Path, error: &ImageError) -> Self {
        let file = path.display().to_string();
        let (message, place) = match error.parse_error() {
            Some(parse) => {
                let (line, column) = (parse.line, parse.column);
                (format!("{file}: {parse:#}"), json!({ "file": file, "line": line, "column": column }))
            }
            None => (format!("{file}: {error}"), json!({ "file": file, "offset": error.offset() })),
        };
        Self { place, ..Self::new(Exit::File, message) }
    }

    /// The same, of this file.
    pub(crate) fn about(self, path: &Path) -> Self {
        let message = format!("{}: {}", path.display(), self.message);
        Self { message, place: json!({ "file": path.display().to_string() }), ..self }
    }

    /// The same, with the value that was refused.
    pub(crate) fn with(self, what: &str) -> Self {
        Self { message: format!("{}: {what}", self.message), ..self }
    }

    /// The word for a program.
    pub(crate) fn kind(&self) -> &'static str {
        match self.exit {
            Exit::Well | Exit::Found => "found",
            Exit::Usage => "usage",
            Exit::File => "file",
            Exit::Driver => "driver",
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        // The parameters of the launch come from the command line.
        let exit = match error.kind() {
            ErrorKind::Launch(_)
            | ErrorKind::Kernel(_)
            | ErrorKind::Global(GlobalError::NotFound { .. })
            | ErrorKind::Arguments(_)
            | ErrorKind::Attribute(_) => Exit::Usage,
            ErrorKind::Compile(CompileError::Refused(_)) => Exit::File,
            _ => Exit::Driver,
        };
        let message = match error.kind() {
            // The error's advice is meant for authors of Rust code.
            ErrorKind::Arguments(mismatch) => {
                let mut mismatch = mismatch.clone();
                mismatch.guess = None;
                mismatch.to_string()
            }
            _ => error.to_string(),
        };
        Self::new(exit, message)
    }
}
