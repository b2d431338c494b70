//! docs/tool.md and docs/schedules.md show what the tool prints: each ` ```console ` block is run and compared, in 80 columns.
//!
//! In a block, a line `...` stands for any lines, and `[..]` for anything within a line. `UPDATE_TRANSCRIPTS=1` writes the
//! blocks anew that differ. Two blocks show a source on a machine with its compiler and on one without: each machine runs one
//! of the two. Blocks with `trace`, `check` and `record` need the recorder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_harness::skipped;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{TOOL, finished, recorder, root, scratch, tool};

/// Files that the page's reader has in a folder of their own: commands that name one run there.
const OWN: [&str; 4] = ["vecadd.ptx", "vecadd.cu", "mistake.cu", "vecadd.record"];

/// That folder.
fn folder(page: &str) -> PathBuf {
    let folder = scratch(&page.replace(['/', '.'], "-"));
    for name in ["vecadd.ptx", "vecadd.cu"] {
        std::fs::copy(root().join("examples/kernels").join(name), folder.join(name)).unwrap();
    }
    let mistake = "extern \"C\" __global__ void k(float* x) {\n    x[0] = y;\n}\n";
    std::fs::write(folder.join("mistake.cu"), mistake).unwrap();
    folder
}

#[test]
fn the_page_shows_what_the_tool_prints() {
    page_shows_what_the_tool_prints("docs/tool.md", 16);
}

#[test]
fn the_page_about_schedules_shows_what_the_tool_prints() {
    page_shows_what_the_tool_prints("docs/schedules.md", 3);
}

/// Compares the blocks of a page, at least so many.
fn page_shows_what_the_tool_prints(page: &str, least: usize) {
    let file = root().join(page);
    let text = std::fs::read_to_string(&file).unwrap();
    let (mut written, mut wrong, mut blocks) = (String::new(), Vec::new(), 0);
    let (mut lines, own) = (text.lines(), folder(page));
    while let Some(line) = lines.next() {
        written += &format!("{line}\n");
        if line != "```console" {
            continue;
        }
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let shown = block.join("\n");
        let printed = transcript(&block, &own);
        blocks += 1;
        let is_other = printed.as_ref().is_none_or(|printed| lacks(&shown) != lacks(printed));
        if is_other {
            skipped(format!("{:?} prints something else without its compiler", block[0]));
        }
        let printed = printed.filter(|_| !is_other).unwrap_or_else(|| shown.clone());
        if is_other || matches(&shown.lines().collect::<Vec<_>>(), &printed.lines().collect::<Vec<_>>()) {
            written += &format!("{shown}\n```\n");
        } else {
            wrong.push(format!("shown:\n{shown}\n\nprinted:\n{printed}"));
            written += &format!("{printed}\n```\n");
        }
    }
    assert!(blocks >= least, "{blocks} blocks");
    std::fs::remove_dir_all(own).unwrap();
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(file, written).unwrap();
    } else {
        assert!(wrong.is_empty(), "UPDATE_TRANSCRIPTS=1 writes it anew\n{}", wrong.join("\n\n"));
    }
}

/// Whether a compiler is missing.
fn lacks(text: &str) -> bool {
    text.contains("is not on this machine")
}

/// The tool for these arguments; `None` without the recorder that they need.
fn command(arguments: &[String], own: &Path) -> Option<Command> {
    let mut command = tool();
    if arguments.iter().any(|argument| OWN.contains(&argument.as_str())) {
        command.current_dir(own).env("CUDA_LAUNCH_CACHE_DIR", own.join("cache"));
    } else {
        // `doctor` would show where this machine's compilers lie.
        for name in ["NVRTC", "NVVM", "NVJITLINK"] {
            command.env_remove(format!("CUDA_LAUNCH_{name}"));
        }
    }
    if ["trace", "check", "record"].contains(&arguments[0].as_str())
        && !arguments.iter().any(|argument| argument == "--help")
    {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            Path::new(TOOL).parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&folders));
        // Found beside the tool, as after `cargo install`.
        recorder()?;
        command.env_remove("CUDA_LAUNCH_RECORDER").env("PATH", std::env::join_paths(folders).unwrap());
    }
    command.env("COLUMNS", "80").args(arguments);
    Some(command)
}

/// The commands of a block, each with what it prints, and its exit code where that is not 0.
fn transcript(block: &[&str], own: &Path) -> Option<String> {
    let mut text = String::new();
    let mut lines = block.iter();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("$ cuda-launch") else { continue };
        text += &format!("{line}\n");
        let mut words = first.to_owned();
        while let Some(rest) = words.strip_suffix('\\') {
            let next = lines.next().unwrap();
            text += &format!("{next}\n");
            words = format!("{rest}{}", next.trim_start_matches('>').trim_start());
        }
        let arguments: Vec<String> =
            words.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect();
        // Words for a debugger of the emulator stand on standard error too.
        let run = finished(&command(&arguments, own)?.output().unwrap());
        let complaints = run
            .err
            .lines()
            .filter(|line| !line.starts_with("cuda-emulator:") && !line.starts_with("  CUDA_ERROR"));
        for line in run.out.lines().chain(complaints) {
            // Source code is as wide as rustfmt has it.
            assert!(line.chars().count() <= 80 || first.starts_with(" bind"), "over 80 columns: {line}");
            text += &format!("{line}\n");
        }
        if run.code != 0 {
            text += &format!("$ echo $?\n{}\n", run.code);
        }
    }
    Some(text.trim_end().to_owned())
}

fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match shown {
        [] => printed.is_empty(),
        ["...", rest @ ..] => (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..])),
        [line, rest @ ..] => {
            printed.split_first().is_some_and(|(first, others)| is_like(line, first) && matches(rest, others))
        }
    }
}

fn is_like(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
