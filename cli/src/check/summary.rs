//! The summary of the findings.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

use crate::program::Ended;
use crate::style;
use crate::table::{Columns, Table, count};

#[derive(Default)]
pub(super) struct Summary {
    findings: Vec<Value>,
    /// For each rule its level, and how often it was broken, including findings that were not reported.
    rules: BTreeMap<String, (String, u64)>,
    calls: u64,
    /// The system's number of the error with which the log could not be written.
    pub(super) log_failed: Option<i32>,
    /// The number of processes that made a call, and of those that ended normally.
    processes: usize,
    ended: usize,
    /// Texts that could not be written to the program's standard error.
    late: Vec<String>,
}

impl Summary {
    /// Reads the recorder's lines. There is no file if the program made no driver call.
    pub(super) fn read(lines: &Path) -> Self {
        let mut summary = Self::default();
        let bytes = std::fs::read(lines).unwrap_or_default();
        for line in bytes.split(|byte| *byte == b'\n') {
            // A program that was killed may leave the last line cut.
            let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
            summary.add(line);
        }
        summary
    }

    fn add(&mut self, mut line: Value) {
        match line["is"].as_str() {
            Some("begin") => self.processes += 1,
            Some("end") => {
                self.ended += 1;
                self.calls += line["calls"].as_u64().unwrap_or(0);
                for (rule, times) in line["suppressed"].as_object().into_iter().flatten() {
                    let entry = self.rules.entry(rule.clone()).or_default();
                    entry.1 += times.as_u64().unwrap_or(0);
                }
            }
            Some("log-failed") => {
                self.log_failed = line["error"].as_i64().and_then(|number| i32::try_from(number).ok());
            }
            _ => {
                let late = line.as_object_mut().and_then(|line| line.remove("late"));
                self.late.extend(late.as_ref().and_then(Value::as_str).map(str::to_owned));
                let rule = line["rule"].as_str().unwrap_or_default().to_owned();
                let entry = self.rules.entry(rule).or_default();
                entry.0 = line["level"].as_str().unwrap_or_default().to_owned();
                entry.1 += 1;
                self.findings.push(line);
            }
        }
    }

    fn of_level(&self, level: &str) -> u64 {
        self.rules.values().filter(|(of, _)| of == level).map(|(_, times)| times).sum()
    }

    pub(super) fn errors(&self) -> u64 {
        self.of_level("error")
    }

    /// For people; `why_no_call` is told if there was none.
    pub(super) fn text(&self, ended: Ended, why_no_call: &str) -> String {
        let columns = Columns::err();
        let number = |level: &str| usize::try_from(self.of_level(level)).unwrap_or(usize::MAX);
        let facts = format!(
            "{} {}, {}",
            style::strong("cuda-launch check:"),
            count(number("error"), "error"),
            count(number("warning"), "warning")
        );
        let mut text: String = self.late.iter().map(|late| format!("cuda-launch check: {late}\n")).collect();
        text += &columns.wrap(&facts, "");
        if let Some(signal) = ended.signal {
            text += &columns.wrap(&format!("signal {signal} ended the program"), "  ");
        }
        if self.processes == 0 {
            text += &columns.wrap(why_no_call, "  ");
        } else if self.ended < self.processes {
            text += &columns.wrap("the program was ended early, so leaks are unknown", "  ");
        }
        if !self.rules.is_empty() {
            let mut table = Table::new(&["times", "level", "rule"], &[0]);
            for (rule, (level, times)) in &self.rules {
                table.row(vec![times.to_string(), level.clone(), rule.clone()]);
            }
            text += &table.print_in("  ", columns);
        }
        text
    }

    pub(super) fn json(&self, ended: Ended) -> Value {
        let rules = self
            .rules
            .iter()
            .map(|(rule, (level, times))| json!({ "rule": rule, "level": level, "times": times }));
        json!({
            "schema": "cuda-launch.check.1",
            "program_code": ended.code,
            "program_signal": ended.signal,
            "processes": self.processes,
            "processes_ended": self.ended,
            // A process that was ended early has not told how many it made.
            "calls": (self.ended >= self.processes).then_some(self.calls),
            "rules": rules.collect::<Vec<_>>(),
            "findings": self.findings,
        })
    }
}
