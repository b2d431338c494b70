//! Files that are read up to a limit, and files that are tried before the work whose result they take.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::failure::{Exit, Failure, Tried};

/// Bytes that are read of a pipe or a device, which do not say how many they have.
const MAX_STREAM: u64 = 256 << 20;

/// The bytes of a file; `what` it is for is said where it has more than `limit`.
pub(crate) fn read(path: &Path, limit: u64, what: &str) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| Failure::io(Tried::Read, path, &error);
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
    written.map_err(|error| Failure::io(Tried::Write, path, &error))
}

/// Finds out whether a file can be written, before the work that makes its contents, and leaves it as it is.
///
/// Pipes and devices are not tried: to open a pipe is to wait for its reader, and to close it is the end of what that reads.
pub(crate) fn try_to_write(path: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::io(Tried::Write, path, &error);
    match fs::metadata(path) {
        Ok(data) if !data.is_file() && !data.is_dir() => return Ok(()),
        Ok(_) => return File::options().append(true).open(path).map(drop).map_err(failed),
        Err(_) => {}
    }
    match File::create_new(path) {
        // Nobody shall take an empty file for a result.
        Ok(_) => fs::remove_file(path).map_err(failed),
        // Made by somebody else meanwhile, or a link that leads nowhere yet.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error)),
    }
}
