//! `cuda-launch record`: the driver behind the exports writes one launch to a file.
//!
//! Variables, all set by the tool: `CUDA_LAUNCH_RECORD_FILE` is the file for its lines; `CUDA_LAUNCH_RECORD_KERNEL`, `_NTH`, `_LIMIT`
//! and `_OUTPUT` are its options.

use cuda_driver_sys::Driver;
use cuda_emulator::stderr;
use cuda_harness::record::{Event, Record, RecordOptions, Recording};
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::layer::{line, say};
use crate::own;

pub(crate) const FILE: &str = "CUDA_LAUNCH_RECORD_FILE";

static RECORD: OnceLock<Record> = OnceLock::new();

/// The driver that inspects launches before it passes them on to `base`.
pub(crate) fn over(base: Arc<Driver>) -> Arc<Driver> {
    let variable =
        |name: &str| own::variable(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
    let nth = variable("CUDA_LAUNCH_RECORD_NTH").parse().unwrap_or(1);
    let mut options = RecordOptions::new(variable("CUDA_LAUNCH_RECORD_KERNEL"), nth);
    if let Ok(limit) = variable("CUDA_LAUNCH_RECORD_LIMIT").parse() {
        options = options.limit(limit);
    }
    let output = PathBuf::from(own::variable("CUDA_LAUNCH_RECORD_OUTPUT").unwrap_or_default());
    match options.over(&base, move |event| tell(event, &output)) {
        Ok(record) => {
            line(&json!({ "is": "start" }));
            let driver = record.driver();
            let _ = RECORD.set(record);
            driver
        }
        Err(error) => {
            let _ = say("record", &error.to_string());
            base
        }
    }
}

/// The recording is written at once, because the program may crash afterwards.
fn tell(event: Event, output: &Path) {
    let failed = |why: String| line(&json!({ "is": "failed", "why": why }));
    match event {
        Event::Begun(kernel) => line(&json!({ "is": "begun", "kernel": kernel })),
        Event::Failed(why) => failed(why),
        Event::Recorded(recording) => match write(output, &recording) {
            Ok(()) => {
                line(&json!({ "is": "recorded", "what": recording.to_string(), "code": recording.code }))
            }
            Err(error) => failed(format!("{}: {error}", output.display())),
        },
    }
}

/// Writes the file completely or not at all, even if this process is killed meanwhile; another process of the program may write the same
/// file. The signals for a file at its size limit and for a pipe without a reader must not reach the program.
fn write(output: &Path, recording: &Recording) -> io::Result<()> {
    stderr::without_a_signal(|| match replaced(output) {
        Some(target) => replace(&target, recording),
        None => put(File::create(output)?, recording).map(drop),
    })
}

/// The path to be replaced by a new file: the target of a symbolic link, so that the link is kept. None for pipes and devices, which are
/// written directly; `/dev/stdout` may be a file that the program writes to.
fn replaced(output: &Path) -> Option<PathBuf> {
    let of_the_system = ["/dev", "/proc"].iter().any(|folder| output.starts_with(folder));
    match fs::metadata(output) {
        Ok(file) if !file.is_file() || of_the_system => None,
        Ok(_) => fs::canonicalize(output).ok(),
        // A link whose target does not exist yet.
        Err(_) if fs::symlink_metadata(output).is_ok() => None,
        Err(_) => Some(output.to_owned()),
    }
}

fn replace(target: &Path, recording: &Recording) -> io::Result<()> {
    let mut part = target.as_os_str().to_owned();
    part.push(format!(".{}", std::process::id()));
    let part = PathBuf::from(part);
    // If this process is killed, the tool finds the temporary file by this name.
    line(&json!({ "is": "writing", "process": std::process::id() }));
    let written = File::create(&part).and_then(|file| {
        // The file may be private; the file that replaces it gets the same permissions.
        if let Ok(before) = fs::metadata(target) {
            file.set_permissions(before.permissions())?;
        }
        put(file, recording)?.sync_all()?;
        fs::rename(&part, target)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    } else if let Some(Ok(folder)) = target.parent().map(File::open) {
        // Makes the new name durable, too; some file systems refuse that.
        let _ = folder.sync_all();
    }
    written
}

fn put(file: File, recording: &Recording) -> io::Result<File> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    recording.write_to(&mut writer)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Reports which kernels were launched.
pub(crate) fn end() {
    let Some(record) = RECORD.get() else { return };
    line(&json!({ "is": "end", "launches": record.launches(), "captured": record.captured() }));
}

/// Called in a forked process, which must not wait for a lock that a thread of its parent held: nothing is recorded
/// there.
pub(crate) fn switch_off() {
    if let Some(record) = RECORD.get() {
        record.switch_off();
    }
}
