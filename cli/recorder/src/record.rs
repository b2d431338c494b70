//! `cuda-launch record`: the driver behind the exports writes one launch to a file.
//!
//! Variables, all set by the tool: `CUDA_LAUNCH_RECORD_FILE` is where its lines go; `CUDA_LAUNCH_RECORD_KERNEL`, `_NTH`, `_LIMIT` and
//! `_OUTPUT` are its options.

use cuda_driver_sys::Driver;
use cuda_harness::record::{Event, Record, RecordOptions};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::layer::{line, say};
use crate::own;

pub(crate) const FILE: &str = "CUDA_LAUNCH_RECORD_FILE";

static RECORD: OnceLock<Record> = OnceLock::new();

/// The driver that sees launches before it passes them on to `base`.
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

/// The file is written at once: the program may crash after it.
fn tell(event: Event, output: &Path) {
    let failed = |why: String| line(&json!({ "is": "failed", "why": why }));
    match event {
        Event::Failed(why) => failed(why),
        Event::Recorded(recording) => match write(output, &recording.to_bytes()) {
            Ok(()) => {
                line(&json!({ "is": "recorded", "what": recording.to_string(), "code": recording.code }))
            }
            Err(error) => failed(format!("{}: {error}", output.display())),
        },
    }
}

/// As a whole: another process of the program may write the same file.
fn write(output: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // A pipe or a device stays what it is, and a link: `/dev/stdout` is one.
    let is_linked = std::fs::symlink_metadata(output).is_ok_and(|file| file.is_symlink());
    if is_linked || std::fs::metadata(output).is_ok_and(|file| !file.is_file()) {
        return std::fs::write(output, bytes);
    }
    let mut part = output.as_os_str().to_owned();
    part.push(format!(".{}", std::process::id()));
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, output));
    if written.is_err() {
        let _ = std::fs::remove_file(part);
    }
    written
}

/// Tells which kernels there were.
pub(crate) fn end() {
    let Some(record) = RECORD.get() else { return };
    line(&json!({ "is": "end", "launches": record.launches() }));
}

/// A forked process may not wait for what a thread of its parent has: nothing is recorded there.
pub(crate) fn switch_off() {
    if let Some(record) = RECORD.get() {
        record.switch_off();
    }
}
