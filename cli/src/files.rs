//! Input files, read up to a limit; output files, tried before the work whose results they get.

use serde_json::json;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure, FileOperation};

/// The maximum number of bytes that are read from a pipe or a device, whose length is unknown.
const MAX_STREAM: u64 = 256 << 20;

/// The bytes of a file; `what` is named in the error if it has more than `limit`.
pub(crate) fn read(path: &Path, limit: u64, what: &str) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| Failure::io(FileOperation::Read, path, &error);
    let file = File::open(path).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    let limit = if data.is_file() { limit } else { limit.min(MAX_STREAM) };
    let mut bytes = Vec::new();
    if data.len() <= limit {
        let length = usize::try_from(data.len()).unwrap_or(usize::MAX);
        bytes.try_reserve_exact(length).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    if data.len() <= limit && bytes.len() as u64 <= limit {
        return Ok(bytes);
    }
    let next =
        if data.is_file() { "name a smaller file" } else { "save its output as a file, and name that" };
    let message = format!("{}: over the limit of {limit} bytes for {what}\n  help: {next}", path.display());
    Err(Failure::new(Exit::File, message))
}

/// Writes a file anew.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = File::create(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| Failure::io(FileOperation::Write, path, &error))
}

/// Empties a file to which others append. Pipes and devices are not opened: their reader would see the end.
pub(crate) fn empty(path: &Path) -> Result<(), Failure> {
    match fs::metadata(path) {
        Ok(data) if !data.is_file() && !data.is_dir() => Ok(()),
        _ => write(path, b""),
    }
}

/// Checks that a file can be written, before its contents are computed, and leaves it unchanged.
///
/// Pipes and devices are not checked: opening a pipe waits for its reader, and closing it ends the reader's input.
pub(crate) fn try_to_write(path: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::io(FileOperation::Write, path, &error);
    match fs::metadata(path) {
        Ok(data) if !data.is_file() && !data.is_dir() => return Ok(()),
        Ok(_) => return File::options().append(true).open(path).map(drop).map_err(failed),
        Err(_) => {}
    }
    match File::create_new(path) {
        // An empty file must not be mistaken for a result.
        Ok(_) => fs::remove_file(path).map_err(failed),
        // Made by another process meanwhile, or a link that leads nowhere yet.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Refuses to write an output over a file that is needed.
pub(crate) fn keep(needed: &Path, output: &Path, what: &str) -> Result<(), Failure> {
    if !is_same(needed, output) {
        return Ok(());
    }
    let name = output.display();
    Err(Failure::usage(format!(
        "{name} is {what}, which would be overwritten\n  help: write to another file"
    )))
}

/// The outputs that the user has asked for, of options that need not be given.
pub(crate) fn asked<'o>(options: &[(&'o str, &'o Option<PathBuf>)]) -> Vec<(&'o str, &'o Path)> {
    options.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?))).collect()
}

/// Refuses to write two outputs to one file.
pub(crate) fn keep_apart(outputs: &[(&str, &Path)]) -> Result<(), Failure> {
    for (at, (option, path)) in outputs.iter().enumerate() {
        if let Some((other, _)) = outputs[..at].iter().find(|(_, other)| is_same(other, path)) {
            let name = path.display();
            return Err(Failure::usage(format!(
                "{other} and {option} both write to {name}\n  help: give each a file of its own"
            )));
        }
    }
    Ok(())
}

/// Whether two paths name one file, which need not exist yet. Pipes and devices take several outputs.
fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other && one.is_file(),
        (Err(_), Err(_)) => std::path::absolute(one).ok() == std::path::absolute(other).ok(),
        _ => false,
    }
}

/// The same for a file that is replaced by another one, which is written beside it.
pub(crate) fn try_to_replace(path: &Path) -> Result<(), Failure> {
    try_to_write(path)?;
    // The target of a link; a file that does not exist can be created, as was just checked.
    let Some(target) = fs::canonicalize(path).ok().filter(|target| target.is_file()) else { return Ok(()) };
    if ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder)) {
        return Ok(());
    }
    let mut beside = target.into_os_string();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let made = File::create_new(&beside).and_then(|_| fs::remove_file(&beside));
    made.map_err(|error| Failure::io(FileOperation::Write, &beside, &error))
}

/// Says that a log lacks calls, by the system's number of the first error.
pub(crate) fn say_lost(log: &Path, number: i32) {
    let failure = Failure::io(FileOperation::Write, log, &io::Error::from_raw_os_error(number));
    anstream::eprint!("{}", crate::output::Outcome::from(failure).text);
}

/// The folder for temporary files is the system's choice, or that of a variable: no path on the command line is wrong.
fn no_folder(error: &io::Error) -> Failure {
    let place = std::env::temp_dir();
    let variable = if cfg!(windows) { "TMP" } else { "TMPDIR" };
    let message = format!(
        "cannot make a folder for temporary files in {}: {error}\n  help: set {variable} to a folder that can be written",
        place.display()
    );
    Failure { place: json!({ "file": place.display().to_string() }), ..Failure::new(Exit::File, message) }
}

/// A folder for files that a started program must find; removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Accessible only to this user. An existing folder belongs to another process, because process numbers are
    /// reused.
    pub(crate) fn new(purpose: &str) -> Result<Self, Failure> {
        #[cfg_attr(not(unix), allow(unused_mut, reason = "the mode is Unix's"))]
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let mut number = 0_u32;
        loop {
            let name = format!("cuda-launch-{purpose}-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            if path.as_os_str().as_encoded_bytes().iter().any(|byte| b":;".contains(byte)) && cfg!(unix) {
                let message = format!(
                    "{}: the loader does not find libraries in folders whose names have a `:` or a `;`\n  help: set TMPDIR to another folder",
                    path.display()
                );
                return Err(Failure::new(Exit::File, message));
            }
            match builder.create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(no_folder(&error)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Links a file into it, under a name that may contain folders.
    pub(crate) fn link(&self, name: &str, file: &Path) -> Result<PathBuf, Failure> {
        let link = self.0.join(name);
        let folder = link.parent().unwrap_or(&self.0);
        fs::create_dir_all(folder).map_err(|error| Failure::io(FileOperation::Write, folder, &error))?;
        symlink(file, &link).map_err(|error| Failure::io(FileOperation::Write, &link, &error))?;
        Ok(link)
    }
}

/// Makes a symbolic link to a file or folder. `emulate`, which needs them, runs only on Linux.
pub(crate) fn symlink(to: &Path, link: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(to, link);
    #[cfg(not(unix))]
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("no link from {} to {}", link.display(), to.display()),
    ))
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A file left in a folder for temporary files does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
