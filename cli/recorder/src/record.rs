//! `cuda-launch record`: the driver behind the exports writes one launch to a file.
//!
//! Variables, all set by the tool: `CUDA_LAUNCH_RECORD_FILE` is the file for its lines; `CUDA_LAUNCH_RECORD_KERNEL`, `_NTH`, `_LIMIT`
//! and `_OUTPUT` are its options.

use cuda_driver_sys::Driver;
use cuda_harness::record::{Event, Record, RecordOptions};
use serde_json::json;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::layer::{line, say};
use crate::own;
use crate::written::{self, Part};

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
    let output = Output { path: output, inputs: Mutex::new(None) };
    match options.over(&base, move |event| output.tell(event)) {
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

/// The file that is written.
struct Output {
    path: PathBuf,
    /// The file with the inputs, until the launch is over.
    inputs: Mutex<Option<Part>>,
}

impl Output {
    /// Everything is written at once: the process may end during the launch or after it, without another call.
    fn tell(&self, event: Event) {
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Begun(recording) => {
                line(&json!({ "is": "begun", "kernel": recording.kernel }));
                match written::inputs(&self.path, &recording) {
                    Ok(Some(part)) => {
                        line(&part.line("inputs", &json!(recording.to_string())));
                        *inputs = Some(part);
                    }
                    Ok(None) => {}
                    Err(error) => self.failed(&error),
                }
            }
            Event::Failed(why) => self.without_outputs(inputs.take(), &why),
            Event::Recorded(recording) => match written::whole(&self.path, &recording) {
                Ok(()) => {
                    inputs.take().into_iter().for_each(Part::remove);
                    line(&json!({ "is": "recorded", "what": recording.to_string(), "code": recording.code }));
                }
                Err(error) => self.without_outputs(inputs.take(), &self.why(&error)),
            },
        }
    }

    /// The launch is over, and the file has its inputs at most.
    fn without_outputs(&self, inputs: Option<Part>, why: &str) {
        match inputs.map(Part::keep) {
            Some(Ok(part)) => {
                line(&json!({ "is": "recorded", "what": part, "code": 0, "why_no_outputs": why }));
            }
            Some(Err(error)) => self.failed(&error),
            None => line(&json!({ "is": "failed", "why": why })),
        }
    }

    fn failed(&self, error: &io::Error) {
        line(&json!({ "is": "failed", "why": self.why(error) }));
    }

    fn why(&self, error: &io::Error) -> String {
        let next = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                "make room, or write to another disk with -o"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound => {
                "the program's user has to be able to make files in that folder"
            }
            _ => "name another file with -o",
        };
        format!("{}: {error}: {next}", self.path.display())
    }
}

/// Reports which kernels were launched.
pub(crate) fn end() {
    let Some(record) = RECORD.get().filter(|record| !record.is_busy()) else { return };
    line(&json!({ "is": "end", "launches": record.launches(), "captured": record.captured() }));
}

/// Called in a forked process, which must not wait for a lock that a thread of its parent held: nothing is recorded
/// there.
pub(crate) fn switch_off() {
    if let Some(record) = RECORD.get() {
        record.switch_off();
    }
}
