//! What goes wrong, and the exit codes.

use cuda_launch::{CompileError, Error, ErrorKind};
use cuda_ptx::image::ImageError;
use serde_json::{Value, json};
use std::path::Path;

/// The end of every `--help`.
pub(crate) const CODES: &str = "\
Exit codes:
  0  all is well
  1  the answer says that something is wrong: a kernel's fault, a finding of
     --check; from `doctor`, that no driver serves
  2  the command line is wrong: an option, an argument, a kernel's name
  3  a file cannot be read or written, or is damaged
  4  no answer: no driver or compiler serves it, or the driver refused";

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Well = 0,
    Found = 1,
    Usage = 2,
    File = 3,
    Driver = 4,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// A sentence, and lines that show more.
    pub(crate) message: String,
    /// Where, for programs: fields of the JSON answer.
    pub(crate) place: Value,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), place: json!({}) }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// A file that the system does not give or take.
    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        let message = format!("{}: {error}", path.display());
        Self { place: json!({ "file": path.display().to_string() }), ..Self::new(Exit::File, message) }
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
        // What the launch itself was given is the command line's.
        let exit = match error.kind() {
            ErrorKind::Launch(_)
            | ErrorKind::Kernel(_)
            | ErrorKind::Arguments(_)
            | ErrorKind::Attribute(_) => Exit::Usage,
            ErrorKind::Compile(CompileError::Refused(_)) => Exit::File,
            _ => Exit::Driver,
        };
        Self::new(exit, error.to_string())
    }
}
