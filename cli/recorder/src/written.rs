//! The files of `cuda-launch record`: written beside their target, completely or not at all, and renamed. Another process of the program may
//! write the same target.

use cuda_emulator::stderr;
use cuda_harness::record::Recording;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::layer::line;

/// A file beside the target: its name is that of the target, the number of the process, and another number if such a file was left
/// behind by an earlier process.
pub(crate) struct Part {
    path: PathBuf,
    target: PathBuf,
    number: u32,
    /// The launch.
    what: String,
}

/// Writes the inputs of a launch before it is submitted; none for pipes and devices, which get the whole recording or nothing.
pub(crate) fn inputs(output: &Path, recording: &Recording) -> io::Result<Option<Part>> {
    let Some(target) = replaced(output) else { return Ok(None) };
    // The signals for a file at its size limit and for a pipe without a reader must not reach the program.
    stderr::without_a_signal(|| Part::write(target, recording)).map(Some)
}

/// Writes the whole recording to its target.
pub(crate) fn whole(output: &Path, recording: &Recording) -> io::Result<()> {
    match replaced(output) {
        Some(target) => {
            let part = stderr::without_a_signal(|| Part::write(target, recording))?;
            part.keep().map(drop)
        }
        None => stderr::without_a_signal(|| put(File::create(output)?, recording)).map(drop),
    }
}

/// The path to be replaced by a new file: the target of a symbolic link, so that the link is kept. None for pipes and devices, which are
/// written directly; `/dev/stdout` may be a file that the program writes to.
fn replaced(output: &Path) -> Option<PathBuf> {
    let names = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    let of_the_system = names.iter().any(|name| output.starts_with(name));
    match fs::metadata(output) {
        Ok(file) if !file.is_file() || of_the_system => None,
        Ok(_) => fs::canonicalize(output).ok(),
        // A link whose target does not exist yet.
        Err(_) if fs::symlink_metadata(output).is_ok() => None,
        Err(_) => Some(output.to_owned()),
    }
}

impl Part {
    fn write(target: PathBuf, recording: &Recording) -> io::Result<Part> {
        let (path, number, file) = create(&target)?;
        let part = Part { path, target, number, what: recording.to_string() };
        // If this process is killed, the tool finds the file by this.
        line(&part.line("writing", &Value::Null));
        let written = permit(&file, &part.target).and_then(|()| put(file, recording)?.sync_all());
        match written {
            Ok(()) => Ok(part),
            Err(error) => {
                part.remove();
                Err(error)
            }
        }
    }

    pub(crate) fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Gives it the name of the target.
    pub(crate) fn keep(self) -> io::Result<String> {
        if let Err(error) = fs::rename(&self.path, &self.target) {
            self.remove();
            return Err(error);
        }
        if let Some(Ok(folder)) = self.target.parent().map(File::open) {
            // Makes the new name durable, too; some file systems refuse that.
            let _ = folder.sync_all();
        }
        Ok(self.what)
    }

    /// A line for the tool that is about this file.
    pub(crate) fn line(&self, is: &str, what: &Value) -> Value {
        json!({ "is": is, "process": std::process::id(), "number": self.number, "what": what })
    }
}

/// A new file beside the target. One that an earlier process left behind may be a recording that somebody wants.
fn create(target: &Path) -> io::Result<(PathBuf, u32, File)> {
    let mut number = 0;
    loop {
        let path = beside(target, number);
        match File::create_new(&path) {
            Ok(file) => return Ok((path, number, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < u32::MAX => number += 1,
            Err(error) => return Err(error),
        }
    }
}

fn beside(target: &Path, number: u32) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    if number > 0 {
        name.push(format!(".{number}"));
    }
    PathBuf::from(name)
}

/// The file that is replaced may be private; the new one gets the same permissions.
fn permit(file: &File, target: &Path) -> io::Result<()> {
    match fs::metadata(target) {
        Ok(before) => file.set_permissions(before.permissions()),
        Err(_) => Ok(()),
    }
}

fn put(file: File, recording: &Recording) -> io::Result<File> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    recording.write_to(&mut writer)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)
}
