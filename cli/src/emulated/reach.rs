//! Whether a program loads `libcuda.so.1` from a folder that `LD_LIBRARY_PATH` names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::elf::Elf;

/// Interpreters of interpreters: no system follows more.
const MAX_DEPTH: usize = 4;

/// Why it does not find the emulator; `None` if no reason is known.
pub(crate) fn problem(program: &OsStr) -> Option<String> {
    let path = file_of(program)?;
    let name = path.display();
    if changes_user(&path) {
        return Some(format!(
            "{name} is set-user-ID or set-group-ID, and the loader ignores LD_LIBRARY_PATH for it: it finds the system's \
             libcuda.so.1, or none\n  help: run a copy of it without these bits (`cp` leaves them out)"
        ));
    }
    let mut elf = Elf::open(&path)?;
    if !elf.is_dynamic() {
        return Some(format!(
            "{name} is statically linked, and loads no libcuda.so.1\n  help: link it dynamically (without `-static`)"
        ));
    }
    let dynamic = elf.dynamic();
    // The loader searches RPATH first, unless there is a RUNPATH, which is searched after LD_LIBRARY_PATH.
    let first = dynamic.rpath.filter(|_| dynamic.runpath.is_none())?;
    let other = elf
        .folders(&first)
        .into_iter()
        .map(|folder| folder.join("libcuda.so.1"))
        .find(|file| file.exists())?;
    Some(format!(
        "{name} has an RPATH, which comes before LD_LIBRARY_PATH, and finds {} there\n  help: link it with `-Wl,--enable-new-dtags`, or \
         remove the RPATH (`patchelf --remove-rpath`)",
        other.display()
    ))
}

/// The file that the loader gets: of a script, its interpreter's.
pub(crate) fn file_of(program: &OsStr) -> Option<PathBuf> {
    let mut path = found(program)?;
    for _ in 0..MAX_DEPTH {
        let Some(next) = interpreter(&path) else { break };
        path = next;
    }
    Some(path)
}

/// Finds the program like `exec`.
fn found(program: &OsStr) -> Option<PathBuf> {
    if program.to_string_lossy().contains('/') {
        return Some(program.into());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The interpreter in a script's first line; for `env`, the program that it starts.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut line = Vec::new();
    BufReader::new(File::open(script).ok()?.take(512)).read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8_lossy(line.strip_prefix(b"#!")?).into_owned();
    let mut words = line.split_whitespace();
    let first = Path::new(words.next()?);
    if first.file_name() == Some(OsStr::new("env")) {
        return found(OsStr::new(words.find(|word| !word.starts_with('-') && !word.contains('='))?));
    }
    Some(first.to_owned())
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "the ids of this process")]
fn changes_user(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(data) = std::fs::metadata(path) else { return false };
    // SAFETY: by POSIX both have no parameters, write nothing and cannot fail: any process may call them.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    let sets = |bit: u32, is_other: bool| data.mode() & bit != 0 && is_other;
    sets(0o4000, data.uid() != user) || sets(0o2000, data.gid() != group)
}

#[cfg(not(unix))]
fn changes_user(_: &Path) -> bool {
    false
}
