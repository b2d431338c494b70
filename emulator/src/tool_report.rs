//! What the tool that started a program (`cuda-launch emulate`, `harness`) is told, as it happens and by every process of the program: a
//! line of a file that the tool names in a variable. People read the same on standard error or in the driver's log.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::stderr;

/// The variable with the path of the file, which exists.
pub const VARIABLE: &str = "CUDA_LAUNCH_EMULATOR_FOUND";

/// One thing that the tool is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolReport {
    /// A finding of a check, or a fault of a kernel that is checked.
    Finding,
    /// A difference between two orders of warps and blocks.
    Difference,
    /// The end of a process whose objects were counted.
    Ledger {
        /// Objects that were not released.
        live: u64,
        /// Double frees, and uses of destroyed handles.
        mistakes: u64,
    },
    /// The coverage report of a process could not be written.
    LostCoverage,
    /// What cannot run here.
    Obstacle(Obstacle),
}

/// An image or a kernel that was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Obstacle {
    /// A word for programs, such as `cubin`.
    pub kind: String,
    /// The driver's result code.
    pub code: u32,
    /// The file or the kernel; empty for an image in memory.
    pub subject: String,
    /// Why it was refused.
    pub why: String,
    /// The nearest way round.
    pub way: String,
}

impl ToolReport {
    /// One line, without its end.
    fn line(&self) -> String {
        match self {
            ToolReport::Finding => "finding".to_owned(),
            ToolReport::Difference => "difference".to_owned(),
            ToolReport::Ledger { live, mistakes } => format!("ledger\t{live}\t{mistakes}"),
            ToolReport::LostCoverage => "lost-coverage".to_owned(),
            ToolReport::Obstacle(Obstacle { kind, code, subject, why, way }) => {
                let fields = [kind, subject, why, way].map(|text| text.replace(['\t', '\n', '\r'], " "));
                format!("obstacle\t{code}\t{}", fields.join("\t"))
            }
        }
    }

    /// The opposite; `None` for a line that is none of these.
    pub fn read(line: &str) -> Option<ToolReport> {
        let fields: Vec<&str> = line.split('\t').collect();
        Some(match fields.as_slice() {
            ["finding"] => ToolReport::Finding,
            ["difference"] => ToolReport::Difference,
            ["lost-coverage"] => ToolReport::LostCoverage,
            ["ledger", live, mistakes] => {
                ToolReport::Ledger { live: live.parse().ok()?, mistakes: mistakes.parse().ok()? }
            }
            ["obstacle", code, kind, subject, why, way] => {
                let [kind, subject, why, way] = [kind, subject, why, way].map(|text| (*text).to_owned());
                ToolReport::Obstacle(Obstacle { kind, code: code.parse().ok()?, subject, why, way })
            }
            _ => return None,
        })
    }

    /// Adds the line to the tool's file, if a tool has started this program. That is one call of the system, so that the lines of several
    /// processes do not mix.
    pub fn send(&self) {
        let Some(path) = file() else { return };
        let line = format!("{}\n", self.line());
        // No new file, if the tool has ended before a process that it did not wait for.
        let append = || OpenOptions::new().append(true).open(path)?.write_all(line.as_bytes());
        if let Err(error) = stderr::without_a_signal(append)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            let file = path.display();
            stderr::say(&format!("cuda-emulator: {file} lacks what was found: {error}\n"));
        }
    }
}

/// The file; read when the driver is initialised, as all variables are.
pub(crate) fn file() -> Option<&'static PathBuf> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    FILE.get_or_init(|| std::env::var_os(VARIABLE).map(PathBuf::from)).as_ref()
}

#[cfg(test)]
mod tests {
    use super::{Obstacle, ToolReport};

    #[test]
    fn what_is_told_is_read() {
        let obstacle = Obstacle {
            kind: "cubin".into(),
            code: 209,
            subject: String::new(),
            why: "two\nlines".into(),
            way: "a\ttab".into(),
        };
        for told in [
            ToolReport::Finding,
            ToolReport::Difference,
            ToolReport::Ledger { live: 2, mistakes: 1 },
            ToolReport::LostCoverage,
            ToolReport::Obstacle(obstacle),
        ] {
            let line = told.line();
            assert!(!line.contains('\n'), "{line:?}");
            let same = match told {
                ToolReport::Obstacle(obstacle) => ToolReport::Obstacle(Obstacle {
                    why: "two lines".into(),
                    way: "a tab".into(),
                    ..obstacle
                }),
                told => told,
            };
            assert_eq!(ToolReport::read(&line), Some(same));
        }
        for other in ["", "findings", "ledger\t1", "ledger\tx\t1", "obstacle\t209\tcubin"] {
            assert_eq!(ToolReport::read(other), None, "{other}");
        }
    }
}
