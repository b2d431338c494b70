//! `cuda-launch trace -- PROGRAM`: the program runs with the recorder as its driver, whose lines become a timeline.

mod summary;

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Tried};
use crate::files;
use crate::interpose::Started;
use crate::output::Outcome;
use crate::program;
use summary::Summary;

/// What `--help` ends with.
const NOTES: &str = "\
Open the file at https://ui.perfetto.dev, or in chrome://tracing. ^C and other
signals end the program, and the timeline has what it did until then. The exit
code is that of the program, 128 plus the number of the signal that ended it, or
2 to 4 if it did not start. Programs find the recorder as libcuda.so.1 (Linux),
and those that use the crate cuda-launch through the variable
CUDA_LAUNCH_DRIVER. The work inside a graph is not shown.";

#[derive(clap::Args)]
#[command(after_help = format!("{NOTES}\n\n{}", crate::failure::CODES))]
pub(crate) struct Arguments {
    /// The timeline
    #[arg(long, short, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,
    #[command(flatten)]
    started: Started,
}

pub(crate) fn run(arguments: &Arguments, json: bool) -> Result<Outcome, Failure> {
    let mut prepared = arguments.started.prepare(json)?;
    files::try_to_write(&arguments.output)?;
    let lines = prepared.lines();
    let ended = program::run(prepared.command.env("CUDA_LAUNCH_TRACE_FILE", &lines))?;
    let summary = convert(&lines, &arguments.output)?;
    let (text, answer) = summary.show(&arguments.output, ended);
    Ok(Outcome { is_error: true, program: Some(ended.exit_code()), ..Outcome::new(text, answer) })
}

/// The recorder's lines as one file that every reader of the format takes.
fn convert(lines: &Path, output: &Path) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    let failed = |error: std::io::Error| Failure::io(Tried::Write, output, &error);
    let mut out = BufWriter::new(File::create(output).map_err(failed)?);
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n").map_err(failed)?;
    // No file: the program made no call of the driver.
    let lines = File::open(lines).ok().map(BufReader::new);
    for line in lines.into_iter().flat_map(|lines| lines.split(b'\n').map_while(Result::ok)) {
        // A program that was killed may leave the last line cut.
        let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { continue };
        if event["args"].is_object() {
            summary.add(&mut event);
            writeln!(out, "{event},").map_err(failed)?;
        }
    }
    for event in summary.left_behind() {
        writeln!(out, "{event},").map_err(failed)?;
    }
    out.write_all(summary.names().join(",\n").as_bytes()).map_err(failed)?;
    out.write_all(b"\n]}\n").and_then(|()| out.flush()).map_err(failed)?;
    Ok(summary)
}
