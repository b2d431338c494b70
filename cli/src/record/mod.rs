//! `cuda-launch record -- PROGRAM`: the program runs with the recorder as its driver, which writes one launch to a file.

use serde_json::{Value, json};
use std::path::PathBuf;

use crate::failure::{Exit, Failure};
use crate::files;
use crate::interpose::Started;
use crate::number;
use crate::output::Outcome;
use crate::program::{self, Ended};
use crate::style;
use crate::table::Columns;

mod parts;

/// The end of `--help`.
const NOTES: &str = "\
The file has the kernel's image as the program loaded it, the configuration, the
arguments, and all memory that they reach, before and after the launch: each
allocation that a pointer in the arguments, or in such an allocation, points
into. Protect it as you would that data. `record` waits for all work of the
context before and after the launch. Launches that are captured into a graph are
not counted. `cuda-launch replay` reads the file. If the program is killed
during the launch, the file has the inputs only. On the emulator
CUDA_LAUNCH_EMULATOR_TIMEOUT=SECONDS ends a kernel that hangs with a fault,
which is recorded.

Exit codes:
  that of the program, or 128 plus the number of the signal that ended it
If the program did not fail:
  1  the launch or its outputs were not recorded
If it was not started:
  2  the command line is wrong
  3  a file cannot be read or written, or the program cannot be started
  4  no usable driver";

#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// The kernel's name as the driver knows it (mangled); * matches any text
    #[arg(long, value_name = "NAME", default_value = "*")]
    kernel: String,
    /// Which of its launches, counted from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::ordinal)]
    nth: u64,
    /// Limit for the memory that the launch can reach, in bytes (K, M, G)
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = number::bytes)]
    limit: u64,
    /// Where to write the recording
    #[arg(long, short, value_name = "FILE", default_value = "launch.record")]
    output: PathBuf,
    #[command(flatten)]
    started: Started,
}

pub(crate) fn run(arguments: &Arguments, json: bool) -> Result<Outcome, Failure> {
    let mut prepared = arguments.started.prepare(json)?;
    files::try_to_replace(&arguments.output)?;
    let lines = prepared.lines();
    let output = std::path::absolute(&arguments.output).unwrap_or_else(|_| arguments.output.clone());
    prepared
        .command
        .env("CUDA_LAUNCH_RECORD_FILE", &lines)
        .env("CUDA_LAUNCH_RECORD_KERNEL", &arguments.kernel)
        .env("CUDA_LAUNCH_RECORD_NTH", arguments.nth.to_string())
        .env("CUDA_LAUNCH_RECORD_LIMIT", arguments.limit.to_string())
        .env("CUDA_LAUNCH_RECORD_OUTPUT", &output);
    let ended = program::run(&mut prepared.command)?;
    let lines = std::fs::read_to_string(&lines).unwrap_or_default();
    // A program that was killed may leave the last line cut.
    let mut lines: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let cut = parts::settle(&output, &mut lines);
    Ok(answer(arguments, &lines, ended, cut))
}

/// The outcome, from the recorder's lines.
fn answer(arguments: &Arguments, lines: &[Value], ended: Ended, cut: bool) -> Outcome {
    // If several processes have recorded, the last one has written the file.
    let of = |kind: &str| lines.iter().rfind(|line| line["is"] == kind);
    let text_of = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    let file = arguments.output.display();
    let (recorded, failed) = (of("recorded"), of("failed"));
    let mut text = match (recorded, failed) {
        (Some(line), _) => {
            Columns::err().wrap(&format!("{} {file}: {}", style::good("recorded"), text_of(line, "what")), "")
                + &fault(line)
        }
        (None, Some(line)) => {
            Columns::err().wrap(&format!("{}: {}", style::bad("not recorded"), text_of(line, "why")), "")
        }
        (None, None) if cut => {
            style::bad("not recorded") + ": the process was ended while the recording was written\n"
        }
        (None, None) => {
            style::bad("not recorded") + &unended(lines).unwrap_or_else(|| none(lines) + &launches(lines))
        }
    };
    if let Some(signal) = ended.signal {
        text += &format!("  the program was ended by signal {signal}\n");
    }
    let is_whole = recorded.is_some_and(|line| line["why_no_outputs"].is_null());
    let own = if is_whole { Exit::Well } else { Exit::Found } as u8;
    let program = Some(ended.exit_code()).filter(|code| *code != 0).unwrap_or(own);
    let answer = json!({
        "schema": "cuda-launch.record.1",
        "file": recorded.map(|_| file.to_string()),
        "launch": recorded.map(|line| text_of(line, "what")),
        "why_no_outputs": recorded.map_or(&Value::Null, |line| &line["why_no_outputs"]),
        "why_not": failed.filter(|_| recorded.is_none()).map(|line| text_of(line, "why")),
        "launches": counted(lines),
        "captured": captured(lines),
        "program_code": ended.code,
        "program_signal": ended.signal,
    });
    Outcome { is_error: true, program: Some(program), ..Outcome::new(text, answer) }
}

/// What the file lacks: the outputs of a launch that failed, or of which they were not recorded.
fn fault(recorded: &Value) -> String {
    if let Some(why) = recorded["why_no_outputs"].as_str() {
        let text = format!("the file has the inputs of the launch, and no outputs: {why}");
        return Columns::err().wrap(&text, "  ");
    }
    let code = recorded["code"].as_u64().and_then(|code| u32::try_from(code).ok()).unwrap_or(0);
    match cuda_launch::sys::CUresult(code) {
        cuda_launch::sys::CUresult::SUCCESS => String::new(),
        code => format!("  the launch failed with {code:?}: the file has the memory from before it\n"),
    }
}

/// Why there is none, where a process was ended before it could say what it launched.
fn unended(lines: &[Value]) -> Option<String> {
    let count = |kind: &str| lines.iter().filter(|line| line["is"] == kind).count();
    if count("end") >= count("start") {
        return None;
    }
    let begun = lines.iter().rfind(|line| line["is"] == "begun");
    let why = match begun.and_then(|line| line["kernel"].as_str()) {
        // To a pipe or a device: other files have the inputs.
        Some(kernel) => format!(
            ": the launch of `{kernel}` had begun, and the process was ended before the launch was done\n  \
             help: write the recording to a file, which then has the inputs"
        ),
        None => ": the process was ended before the launch, and before it could say what it had launched"
            .to_owned(),
    };
    Some(Columns::err().wrap_lines(&why, ""))
}

/// How many launches of the kernel were captured into graphs, in all processes.
fn captured(lines: &[Value]) -> u64 {
    lines.iter().filter_map(|line| line["captured"].as_u64()).sum()
}

/// Why there is no recording.
fn none(lines: &[Value]) -> String {
    match captured(lines) {
        0 => ": there was no such launch\n".to_owned(),
        count => {
            let launches = if count == 1 { "one was" } else { &format!("{count} were") };
            Columns::err().wrap(
                &format!(
                    ": there was no such launch, but {launches} captured into a graph, whose launches are not recorded: run the program without graphs"
                ),
                "",
            )
        }
    }
}

/// How often each kernel was launched, in all processes.
fn counted(lines: &[Value]) -> serde_json::Map<String, Value> {
    let mut all = serde_json::Map::new();
    for (kernel, times) in lines.iter().filter_map(|line| line["launches"].as_object()).flatten() {
        let before = all.get(kernel).and_then(Value::as_u64).unwrap_or(0);
        all.insert(kernel.clone(), (before + times.as_u64().unwrap_or(0)).into());
    }
    all
}

/// The available names.
fn launches(lines: &[Value]) -> String {
    const SHOWN: usize = 20;
    let counted = counted(lines);
    if counted.is_empty() {
        return "  the program launched nothing, or does not load libcuda.so.1\n".to_owned();
    }
    let mut kernels: Vec<_> =
        counted.iter().map(|(name, times)| (times.as_u64().unwrap_or(0), name)).collect();
    kernels.sort_by(|one, other| other.cmp(one));
    let mut text = "  times  kernel\n".to_owned();
    for (times, name) in kernels.iter().take(SHOWN) {
        text += &format!("  {times:5}  {name}\n");
    }
    match kernels.len().saturating_sub(SHOWN) {
        0 => text,
        more => text + &format!("  and {more} more: `--json` lists all\n"),
    }
}
