//! What the emulator's library told: findings, differences and leaks, which decide the exit code, and what was refused.

use cuda_emulator::tool_report::{Obstacle, ToolReport, VARIABLE};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::files::{self, Folder};
use crate::table::count;

/// Where the library tells it.
pub(super) struct ReportFile(PathBuf);

impl ReportFile {
    /// For the processes that the command starts.
    pub(super) fn new(folder: &Folder, command: &mut Command) -> Result<Self, Failure> {
        let file = folder.path().join("found");
        files::write(&file, b"")?;
        command.env(VARIABLE, &file);
        Ok(Self(file))
    }

    /// What was told so far.
    pub(super) fn read(&self) -> Found {
        let text = std::fs::read(&self.0).unwrap_or_default();
        Found::read(&String::from_utf8_lossy(&text))
    }
}

/// What all processes together told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    findings: u64,
    differences: u64,
    /// Objects that were not released, and mistakes; `None` if no process reported them.
    ledger: Option<(u64, u64)>,
    /// A report of coverage was not written, which the library said.
    pub(super) has_lost_report: bool,
    /// Each once.
    pub(crate) obstacles: Vec<Obstacle>,
}

impl Found {
    fn read(text: &str) -> Self {
        let mut found = Self::default();
        for told in text.lines().filter_map(ToolReport::read) {
            match told {
                ToolReport::Finding => found.findings += 1,
                ToolReport::Difference => found.differences += 1,
                ToolReport::Ledger { live, mistakes } => {
                    let (all, more) = found.ledger.unwrap_or_default();
                    found.ledger = Some((all.saturating_add(live), more.saturating_add(mistakes)));
                }
                ToolReport::LostCoverage => found.has_lost_report = true,
                ToolReport::Obstacle(obstacle) if found.obstacles.contains(&obstacle) => {}
                ToolReport::Obstacle(obstacle) => found.obstacles.push(obstacle),
            }
        }
        found
    }

    /// Whether no process reported its leaks.
    pub(crate) fn lacks_leaks(&self) -> bool {
        self.ledger.is_none()
    }

    /// What makes a program fail that did not fail itself, in words.
    pub(super) fn wrong(&self) -> Option<String> {
        let (leaks, mistakes) = self.ledger.unwrap_or_default();
        let parts = [
            (self.findings, "finding", ""),
            (self.differences, "difference", " between schedules"),
            (leaks, "leaked object", ""),
            (mistakes, "mistake", " with handles"),
        ];
        let wrong = parts.into_iter().filter(|(number, ..)| *number > 0);
        let words: Vec<String> = wrong
            .map(|(number, what, of)| {
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                format!("{}{of}", count(number, what))
            })
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The fields for programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "findings": self.findings,
            "differences": self.differences,
            "leaks": self.ledger.map(|(live, _)| live),
            "mistakes": self.ledger.map(|(_, mistakes)| mistakes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Found;

    #[test]
    fn what_all_processes_told_is_added_up() {
        assert_eq!(Found::read("").wrong(), None);
        let clean = Found::read("ledger\t0\t0\nnonsense\n");
        assert!(clean.wrong().is_none() && !clean.lacks_leaks());
        let found = Found::read("finding\nledger\t2\t0\ndifference\ndifference\nledger\t1\t1\n");
        let words = "1 finding, 2 differences between schedules, 3 leaked objects, 1 mistake with handles";
        assert_eq!(found.wrong().as_deref(), Some(words));
        let cubin = "obstacle\t209\tcubin\t\twhy\tway\n";
        assert_eq!(Found::read(&cubin.repeat(2)).obstacles.len(), 1);
    }
}
