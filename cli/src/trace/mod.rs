//! `cuda-launch trace -- PROGRAM`: the program runs with the recorder as its driver, whose lines become a timeline.
//!
//! | file | part |
//! |---|---|
//! | `summary` | the rows, and a summary of them in a few lines |
//! | `rows` | the bars of a picture, few enough for a file |
//! | `picture`, `axis` | the picture: SVG |
//! | `page` | the picture with a table, for a browser; `zoom.js` makes it larger |

mod axis;
mod page;
mod picture;
mod rows;
mod summary;

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, FileOperation};
use crate::files;
use crate::interpose::Started;
use crate::output::Outcome;
use crate::program::{self, Ended};
use picture::Timeline;
use rows::Rows;
use summary::{Summary, Track};

/// The end of `--help`.
const NOTES: &str = "\
The extension of the file chooses the format: .html is a page with the timeline
and sums, .svg the same as a picture, and .json is for https://ui.perfetto.dev
and chrome://tracing. If a signal ends the program, as ^C does, the timeline
shows everything up to then. Programs find the recorder as libcuda.so.1 (Linux),
and those that use the crate cuda-launch through the variable
CUDA_LAUNCH_DRIVER. The work inside a graph is not shown.

Exit codes:
  that of the program, or 128 plus the number of the signal that ended it
If it was not started:
  2  the command line is wrong
  3  a file cannot be read or written, or the program cannot be started
  4  no usable driver";

#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// The timeline: .json, .svg or .html
    #[arg(long, short, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,
    #[command(flatten)]
    started: Started,
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// Chrome's trace format.
    Json,
    Svg,
    Html,
}

impl Format {
    /// By the file extension. Pipes and devices, which have none, get JSON.
    fn of(output: &Path) -> Result<Self, Failure> {
        let end = output.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
        match end.as_deref() {
            Some("json") => Ok(Self::Json),
            Some("svg") => Ok(Self::Svg),
            Some("html") => Ok(Self::Html),
            _ if output.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir()) => Ok(Self::Json),
            _ => Err(Failure::usage(format!(
                "--output {}: the name does not say what to write\n  help: end it in .html (a page), .svg (a picture) or .json \
                 (for Perfetto)",
                output.display()
            ))),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, json: bool) -> Result<Outcome, Failure> {
    let mut prepared = arguments.started.prepare(json)?;
    files::try_to_write(&arguments.output)?;
    let format = Format::of(&arguments.output)?;
    let lines = prepared.lines();
    let ended = program::run(prepared.command.env("CUDA_LAUNCH_TRACE_FILE", &lines))?;
    let summary = match format {
        Format::Json => convert(&lines, arguments)?,
        Format::Svg => draw(&lines, arguments, ended, |timeline| timeline.svg())?,
        Format::Html => draw(&lines, arguments, ended, page::draw)?,
    };
    let (text, answer) = summary.show(&arguments.output, ended);
    Ok(Outcome { is_error: true, program: Some(ended.exit_code()), ..Outcome::new(text, answer) })
}

/// Converts the recorder's lines to one file that every reader of the format accepts.
fn convert(lines: &Path, arguments: &Arguments) -> Result<Summary, Failure> {
    let output = &arguments.output;
    let failed = |error: std::io::Error| Failure::io(FileOperation::Write, output, &error);
    let mut out = BufWriter::new(File::create(output).map_err(failed)?);
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n").map_err(failed)?;
    let summary = read(lines, arguments, |_, event| writeln!(out, "{event},")).map_err(failed)?;
    out.write_all(summary.names().join(",\n").as_bytes()).map_err(failed)?;
    out.write_all(b"\n]}\n").and_then(|()| out.flush()).map_err(failed)?;
    Ok(summary)
}

/// The recorder's lines as a picture.
fn draw(
    lines: &Path,
    arguments: &Arguments,
    ended: Ended,
    draw: impl FnOnce(&Timeline) -> String,
) -> Result<Summary, Failure> {
    let failed = |error: std::io::Error| Failure::io(FileOperation::Write, &arguments.output, &error);
    let mut rows = Rows::default();
    let summary = read(lines, arguments, |track, event| {
        rows.add(track, event);
        Ok(())
    })
    .map_err(failed)?;
    let timeline =
        Timeline { program: arguments.started.shown(), summary: &summary, ended, rows: rows.sorted() };
    files::write(&arguments.output, draw(&timeline).as_bytes())?;
    Ok(summary)
}

/// Passes on each event; those of work whose end was not observed come last.
fn read(
    lines: &Path,
    arguments: &Arguments,
    mut each: impl FnMut(Track, &Value) -> std::io::Result<()>,
) -> std::io::Result<Summary> {
    let mut summary = Summary::new(arguments.started.why_no_call("trace"));
    // No file: the program made no driver call.
    let lines = File::open(lines).ok().map(BufReader::new);
    for line in lines.into_iter().flat_map(|lines| lines.split(b'\n').map_while(Result::ok)) {
        // A program that was killed may leave the last line cut.
        let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { continue };
        if event["args"].is_object() {
            let track = summary.add(&mut event);
            each(track, &event)?;
        }
    }
    for (track, event) in summary.left_behind() {
        each(track, &event)?;
    }
    Ok(summary)
}

#[cfg(test)]
mod tests;
