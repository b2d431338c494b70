//! `cuda-launch check -- PROGRAM`: the program runs with the recorder as its driver, which reports calls that break a rule.

mod summary;

use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure, FileOperation};
use crate::files;
use crate::interpose::Started;
use crate::output::Outcome;
use crate::program;
use cuda_harness::check::{Allow, Level, Rule};
use summary::Summary;

/// The end of `--help`.
const NOTES: &str = "\
Findings are written to standard error as calls are made, with a summary at the
end. A suppression is RULE or RULE:KERNEL, where * in the name of the kernel
matches any text; a file has one per line, and # begins a comment. docs/check.md
lists the rules.

Exit codes:
  that of the program, or 128 plus the number of the signal that ended it
If the program did not fail:
  1  a rule of level error was broken
  3  the log lacks calls, or --output cannot be written
If it was not started:
  2  the command line is wrong
  3  a file cannot be read or written, or the program cannot be started
  4  no usable driver";

#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// Report findings of this level or worse: warning, error
    #[arg(long, default_value = "warning", value_parser = level)]
    level: Level,
    /// Suppress a rule, for all kernels or for those with matching names
    #[arg(long, value_name = "RULE[:KERNEL]", value_parser = allow)]
    allow: Vec<String>,
    /// Suppressions from a file
    #[arg(long, value_name = "FILE")]
    allow_file: Vec<PathBuf>,
    /// Write the findings as JSON
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write each driver call of the program, with its arguments, one per line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Make launches, copies and fills that break a rule of level error fail with CUDA_ERROR_INVALID_VALUE
    #[arg(long)]
    refuse: bool,
    #[command(flatten)]
    started: Started,
}

pub(crate) fn run(arguments: &Arguments, json: bool) -> Result<Outcome, Failure> {
    let allowed = arguments.allowed()?;
    let mut prepared = arguments.started.prepare(json)?;
    if let Some(output) = &arguments.output {
        files::try_to_write(output)?;
    }
    files::keep_apart(&files::asked(&[("--output", &arguments.output), ("--log", &arguments.log)]))?;
    let lines = prepared.lines();
    let command = &mut prepared.command;
    command
        .env("CUDA_LAUNCH_CHECK_FILE", &lines)
        .env("CUDA_LAUNCH_CHECK_LEVEL", arguments.level.name())
        .env("CUDA_LAUNCH_CHECK_ALLOW", allowed.join("\n"));
    match arguments.refuse {
        true => command.env("CUDA_LAUNCH_CHECK_REFUSE", "1"),
        false => command.env_remove("CUDA_LAUNCH_CHECK_REFUSE"),
    };
    match &arguments.log {
        Some(log) => {
            // The recorder appends to it, even if the program changes its folder.
            files::empty(log)?;
            let log =
                std::path::absolute(log).map_err(|error| Failure::io(FileOperation::Write, log, &error))?;
            command.env("CUDA_LAUNCH_CHECK_LOG", log)
        }
        None => command.env_remove("CUDA_LAUNCH_CHECK_LOG"),
    };
    let ended = program::run(command)?;
    let summary = Summary::read(&lines);
    let answer = summary.json(ended);
    if let Some(output) = &arguments.output {
        std::fs::write(output, format!("{answer:#}\n"))
            .map_err(|error| Failure::io(FileOperation::Write, output, &error))?;
    }
    let own = match (summary.log_failed, &arguments.log) {
        (Some(error), Some(log)) => {
            files::say_lost(log, error);
            Exit::File
        }
        _ if summary.errors() > 0 => Exit::Found,
        _ => Exit::Well,
    } as u8;
    let program = Some(ended.exit_code()).filter(|code| *code != 0).unwrap_or(own);
    let text = summary.text(ended, &arguments.started.why_no_call("check"));
    Ok(Outcome { is_error: true, program: Some(program), ..Outcome::new(text, answer) })
}

impl Arguments {
    /// All suppressions.
    fn allowed(&self) -> Result<Vec<String>, Failure> {
        let mut allowed = self.allow.clone();
        for file in &self.allow_file {
            allowed.extend(of_file(file)?);
        }
        Ok(allowed)
    }
}

fn of_file(file: &Path) -> Result<Vec<String>, Failure> {
    let text =
        std::fs::read_to_string(file).map_err(|error| Failure::io(FileOperation::Read, file, &error))?;
    let lines = text
        .lines()
        .zip(1_usize..)
        .map(|(line, number)| (line.split('#').next().unwrap_or_default().trim(), number));
    lines
        .filter(|(line, _)| !line.is_empty())
        .map(|(line, number)| {
            allow(line).map_err(|message| {
                Failure::new(Exit::File, format!("{}, line {number}: {message}", file.display()))
            })
        })
        .collect()
}

fn level(text: &str) -> Result<Level, String> {
    Level::named(text).ok_or_else(|| "it is `warning` or `error`".to_owned())
}

/// Leaves it as it is: the recorder reads it again.
fn allow(text: &str) -> Result<String, String> {
    match Allow::of(text) {
        Some(_) => Ok(text.to_owned()),
        None => {
            let names: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
            Err(format!("`{text}` is not a rule, nor RULE:KERNEL; the rules are {}", names.join(", ")))
        }
    }
}
