//! State of this library in a program that may close any file descriptor and reuse its number: the environment variables and
//! standard error as they were when the library was loaded, and files to which lines are appended.

use cuda_emulator::stderr;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The prefix of all variables of this library.
const OURS: &str = "CUDA_LAUNCH_";

/// Device and inode: the same for every descriptor of a file.
type Identity = (u64, u64);

type Variables = Vec<(OsString, OsString)>;

static VARIABLES: OnceLock<Variables> = OnceLock::new();

/// Called when the library is loaded, or at first use if it is not called then.
pub(crate) fn start() {
    stderr::remember();
    VARIABLES.get_or_init(variables);
}

/// The variables of the process; if it has none any more, those that it was started with, because a program may clear its environment
/// before it loads this library.
fn variables() -> Variables {
    let is_own = |(name, _): &(OsString, OsString)| name.as_encoded_bytes().starts_with(OURS.as_bytes());
    let now: Variables = std::env::vars_os().filter(is_own).collect();
    if !now.is_empty() {
        return now;
    }
    at_the_start().into_iter().filter(is_own).collect()
}

#[cfg(target_os = "linux")]
fn at_the_start() -> Variables {
    use std::os::unix::ffi::OsStringExt;
    let text = std::fs::read("/proc/self/environ").unwrap_or_default();
    let named = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (line.get(..at)?.to_vec(), line.get(at + 1..)?.to_vec());
        Some((OsString::from_vec(name), OsString::from_vec(value)))
    };
    text.split(|byte| *byte == 0).filter_map(named).collect()
}

#[cfg(not(target_os = "linux"))]
fn at_the_start() -> Variables {
    Variables::new()
}

/// A variable as it was at the start: a program may clear its environment.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    let variables = VARIABLES.get_or_init(variables);
    variables.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
}

/// A file to which lines are appended.
pub(crate) struct Lines {
    path: PathBuf,
    file: File,
    identity: Option<Identity>,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> io::Result<Lines> {
        let file = File::options().append(true).create(true).open(path)?;
        let path = std::path::absolute(path)?;
        let identity = identity(&file);
        Ok(Lines { path, file, identity })
    }

    /// Appends with one system call, because other threads and processes may also write to the file. If the program has closed the
    /// descriptor, the file is opened again by its path.
    pub(crate) fn add(&self, bytes: &[u8]) -> io::Result<()> {
        let anew = match identity(&self.file) == self.identity {
            true => None,
            false => Some(File::options().append(true).open(&self.path)?),
        };
        let mut file = anew.as_ref().unwrap_or(&self.file);
        stderr::without_a_signal(|| file.write_all(bytes))
    }
}

#[cfg(unix)]
fn identity(file: &File) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    file.metadata().ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &File) -> Option<Identity> {
    None
}
