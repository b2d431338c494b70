//! What is this library's own in a program that may close any of its files, and get their numbers for others: the variables as
//! they were when it was loaded, standard error as it was then, and files that lines are added to.

#![allow(unsafe_code)] // Looks at a file by its number, and holds a signal back.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What all variables of this library begin with.
const OURS: &str = "CUDA_LAUNCH_";

/// Which file it is, wherever it is open.
type Identity = (u64, u64);

struct Start {
    variables: Vec<(OsString, OsString)>,
    stderr: Option<Identity>,
}

static START: OnceLock<Start> = OnceLock::new();

/// When the library is loaded, or at first use where nobody calls it then.
pub(crate) fn start() {
    start_of();
}

fn start_of() -> &'static Start {
    START.get_or_init(|| Start {
        variables: std::env::vars_os()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(OURS.as_bytes()))
            .collect(),
        stderr: identity_of_stderr(),
    })
}

/// A variable as it was at the start: a program may clear its environment.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    start_of().variables.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
}

/// Writes to standard error; false where that is not what it was at the start, and may be a file of the program's.
pub(crate) fn say(text: &str) -> bool {
    let before = start_of().stderr;
    let is_it = (before.is_some() || cfg!(not(unix))) && identity_of_stderr() == before;
    // Not by `eprint`, whose panic where nothing can be written would end the program.
    is_it && without_a_signal(|| io::stderr().write_all(text.as_bytes())).is_ok()
}

/// A file that lines are added to.
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

    /// In one call of the system: other threads and processes may write to the file too. If the program has closed it, by its path.
    pub(crate) fn add(&self, bytes: &[u8]) -> io::Result<()> {
        let anew = match identity(&self.file) == self.identity {
            true => None,
            false => Some(File::options().append(true).open(&self.path)?),
        };
        let mut file = anew.as_ref().unwrap_or(&self.file);
        without_a_signal(|| file.write_all(bytes))
    }
}

#[cfg(unix)]
fn identity(file: &File) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    file.metadata().ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(unix)]
fn identity_of_stderr() -> Option<Identity> {
    use std::os::fd::FromRawFd;
    // SAFETY: the number is only asked about, in one call, which answers an error where nothing is open; it is not closed, as the
    // `ManuallyDrop` never drops.
    identity(&std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDERR_FILENO) }))
}

#[cfg(not(unix))]
fn identity(_: &File) -> Option<Identity> {
    None
}

#[cfg(not(unix))]
fn identity_of_stderr() -> Option<Identity> {
    None
}

/// Writes without the signals that would end the program where nobody reads a pipe any more, or a file is at its limit.
#[cfg(target_os = "linux")]
fn without_a_signal<R>(write: impl FnOnce() -> R) -> R {
    use std::mem::MaybeUninit;
    use std::ptr::null_mut;
    let sets = || MaybeUninit::<libc::sigset_t>::zeroed();
    let (mut held, mut before, mut pending) = (sets(), sets(), sets());
    // SAFETY: the sets are plain numbers, for which zeros are a value, and outlive the calls, which write or read them and
    // ask for nothing else.
    let is_held = unsafe {
        libc::sigemptyset(held.as_mut_ptr());
        libc::sigpending(pending.as_mut_ptr());
        for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
            // One that waits already is the program's.
            if libc::sigismember(pending.as_ptr(), signal) == 0 {
                libc::sigaddset(held.as_mut_ptr(), signal);
            }
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, held.as_ptr(), before.as_mut_ptr()) == 0
    };
    let result = write();
    if is_held {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: as above; the second set is what the thread had, as `pthread_sigmask` has written it.
        unsafe {
            libc::sigtimedwait(held.as_ptr(), null_mut(), &now);
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
        }
    }
    result
}

#[cfg(not(target_os = "linux"))]
fn without_a_signal<R>(write: impl FnOnce() -> R) -> R {
    write()
}
