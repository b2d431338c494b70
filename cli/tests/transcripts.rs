//! docs/tool.md shows what the tool prints: each ` ```console ` block is run and compared, in 80 columns.
//!
//! In a block, a line `...` stands for any lines, and `[..]` for anything within a line. `UPDATE_TRANSCRIPTS=1` writes the
//! blocks anew that differ.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use support::{finished, root, tool};

#[test]
fn the_page_shows_what_the_tool_prints() {
    let file = root().join("docs/tool.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (mut written, mut wrong, mut blocks) = (String::new(), Vec::new(), 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        written += &format!("{line}\n");
        if line != "```console" {
            continue;
        }
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let shown = block.join("\n");
        let printed = transcript(&block);
        blocks += 1;
        if matches(&shown.lines().collect::<Vec<_>>(), &printed.lines().collect::<Vec<_>>()) {
            written += &format!("{shown}\n```\n");
        } else {
            wrong.push(format!("shown:\n{shown}\n\nprinted:\n{printed}"));
            written += &format!("{printed}\n```\n");
        }
    }
    assert!(blocks > 8, "{blocks} blocks");
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(file, written).unwrap();
    } else {
        assert!(wrong.is_empty(), "UPDATE_TRANSCRIPTS=1 writes it anew\n{}", wrong.join("\n\n"));
    }
}

/// The commands of a block, each with what it prints, and its exit code where that is not 0.
fn transcript(block: &[&str]) -> String {
    let mut text = String::new();
    let mut lines = block.iter();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("$ cuda-launch") else { continue };
        text += &format!("{line}\n");
        let mut command = first.to_owned();
        while let Some(rest) = command.strip_suffix('\\') {
            let next = lines.next().unwrap();
            text += &format!("{next}\n");
            command = format!("{rest}{}", next.trim_start_matches('>').trim_start());
        }
        let arguments = command.split_whitespace().map(|word| word.trim_matches('\'').to_owned());
        // Words for a debugger of the emulator stand on standard error too.
        let run = finished(&tool().args(arguments).output().unwrap());
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
    text.trim_end().to_owned()
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
