//! A program that is traced, and what its timeline has.

use serde_json::Value;
use std::path::Path;

use crate::support::{Run, finished, tool};

/// Traces `program` on the emulator; the answer, and the events of the timeline.
pub(crate) fn trace(recorder: &Path, folder: &Path, program: &[&str]) -> (Run, Vec<Value>) {
    trace_on(Path::new("emulator"), recorder, folder, program)
}

/// The same on the driver of that path.
pub(crate) fn trace_on(driver: &Path, recorder: &Path, folder: &Path, program: &[&str]) -> (Run, Vec<Value>) {
    let file = folder.join("trace.json");
    let mut command = tool();
    command
        .args(["trace", "--json", "--driver"])
        .arg(driver)
        .arg("--recorder")
        .arg(recorder)
        .arg("-o")
        .arg(&file)
        .arg("--");
    let run = finished(&command.args(program).output().unwrap());
    let whole: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    (run, whole["traceEvents"].as_array().unwrap().clone())
}

pub(crate) fn named<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["name"] == name).collect()
}
