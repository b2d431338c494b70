//! The files that processes of the program left beside the recording.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

use crate::program;

/// A file that a process wrote; `what` is the launch if it has all inputs.
struct Part {
    path: PathBuf,
    process: u64,
    what: Option<String>,
}

/// Renames the last file with the inputs of a launch, during which its process ended, if nothing is recorded, and adds the line that the
/// process would have written. Removes other files of processes that have ended. Whether one was cut.
pub(super) fn settle(output: &Path, lines: &mut Vec<Value>) -> bool {
    // The recorder's name for it: that of the target of a link, if there was one.
    let target = fs::canonicalize(output).unwrap_or_else(|_| output.to_owned());
    let is_recorded = |lines: &[Value]| lines.iter().any(|line| line["is"] == "recorded");
    let mut is_cut = false;
    let left: Vec<Part> = of(&target, lines).into_iter().rev().filter(|part| part.path.exists()).collect();
    for part in left {
        if program::is_alive(part.process) {
            if part.what.is_some() && !is_recorded(lines) {
                let (process, file) = (part.process, part.path.display());
                let why = format!(
                    "process {process} still runs the launch: its inputs are in {file} until it is done"
                );
                lines.push(json!({ "is": "failed", "why": why }));
            }
            continue;
        }
        match part.what {
            Some(what) if !is_recorded(lines) && fs::rename(&part.path, &target).is_ok() => {
                let why = "the process was ended during the launch";
                lines.push(json!({ "is": "recorded", "what": what, "why_no_outputs": why }));
            }
            what => is_cut |= fs::remove_file(&part.path).is_ok() && what.is_none(),
        }
    }
    is_cut
}

/// All files that the processes say they wrote.
fn of(target: &Path, lines: &[Value]) -> Vec<Part> {
    let written = lines.iter().filter(|line| line["is"] == "writing");
    let part = |line: &Value| {
        let (process, number) = (line["process"].as_u64()?, line["number"].as_u64()?);
        let mut path = target.as_os_str().to_owned();
        path.push(format!(".{process}"));
        if number > 0 {
            path.push(format!(".{number}"));
        }
        let is_same = |other: &&Value| {
            other["is"] == "inputs"
                && other["process"] == line["process"]
                && other["number"] == line["number"]
        };
        let what = lines.iter().find(is_same).and_then(|line| line["what"].as_str());
        let path = PathBuf::from(path);
        // The process may have been killed before it could say that the file is done.
        let what = what.map(str::to_owned).or_else(|| Some(crate::replay::read(&path).ok()?.to_string()));
        Some(Part { path, process, what })
    };
    written.filter_map(part).collect()
}
