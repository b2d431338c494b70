//! `cuda-launch check` reports nothing of the examples, and docs/check.md names those that it is not tried with.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_harness::{or_skip, skipped};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{TOOL, finished, recorder, root, tool};

/// An example: its name, its arguments, and the kinds of objects that it keeps as long as the process lives.
type Example = (&'static str, &'static [&'static str], &'static [&'static str]);

const EXAMPLES: &[Example] = &[
    ("vecadd", &[], &[]),
    ("raw", &[], &[]),
    ("builder", &[], &[]),
    ("typed", &[], &[]),
    ("graph", &[], &[]),
    ("everything", &[], &[]),
    ("compile", &[], &[]),
    ("doctor", &[], &[]),
    ("async", &[], &["primary context", "stream", "event"]),
    ("tracing", &[], &[]),
    ("nvtx", &[], &[]),
    ("cudarc", &[], &[]),
    ("scaled", &[], &[]),
    ("nccl", &[], &[]),
    ("ranks", &["--local", "2"], &[]),
    ("dlpack", &[], &["primary context", "module"]),
];

/// The command of an example, which cargo has built beside the tool: with all tests, or by `cargo build --workspace --examples`.
fn example_command((name, arguments, _): &Example) -> Option<Vec<PathBuf>> {
    let folder = Path::new(TOOL).parent().unwrap();
    let there = |file: PathBuf| {
        let why = format!("{} is not built", file.display());
        or_skip(file.exists().then_some(file), why)
    };
    if *name == "dlpack" {
        let library = there(folder.join("libcuda_launch_dlpack.so"))?;
        let python = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
        or_skip(python.ok(), "there is no python3")?;
        return Some(vec!["python3".into(), root().join("examples/interop/dlpack.py"), library]);
    }
    if matches!(*name, "nccl" | "ranks") {
        there(folder.join("libcuda_launch_stand_in.so"))?;
    }
    // A program of its own package, so that that package's tests find it.
    let program = if *name == "ranks" { folder.join(name) } else { folder.join("examples").join(name) };
    let arguments = arguments.iter().map(PathBuf::from);
    Some([there(program)?].into_iter().chain(arguments).collect())
}

/// What a leak says of the kind of its objects: `8 objects of kind stream were not released`, or `module#1 was not released`.
fn kind_of_leak(finding: &Value) -> Option<&str> {
    let message = finding["message"].as_str().filter(|_| finding["rule"] == "leak")?;
    let several = message.split_once(" objects of kind ").and_then(|(_, kind)| kind.split_once(" were "));
    several.or(message.split_once('#')).map(|(kind, _)| kind)
}

#[test]
fn the_examples_are_not_reported() {
    let Some(recorder) = recorder() else { return };
    for example @ (name, _, keeps) in EXAMPLES {
        let Some(program) = example_command(example) else { continue };
        let mut command = tool();
        command.args(["check", "--json", "--driver", "emulator", "--recorder"]).arg(&recorder);
        command.env("CUDA_LAUNCH_KERNEL_DIR", root().join("examples/kernels"));
        command.env("CUDA_LAUNCH_EMULATOR_DEVICES", "2");
        command.env("CUDA_LAUNCH_NCCL", Path::new(TOOL).with_file_name("libcuda_launch_stand_in.so"));
        let run = finished(&command.arg("--").args(program).output().unwrap());
        // The answer follows what the program prints.
        let answer = run.out.rfind("\n{\n").map_or(run.out.as_str(), |at| &run.out[at..]);
        let answer: Value = serde_json::from_str(answer).unwrap_or_else(|e| panic!("{e}: {}", run.err));
        if run.says("needs NVRTC, which is not on this machine") {
            skipped(format!("{name} has no NVRTC here"));
            continue;
        }
        let findings = answer["findings"].as_array().unwrap();
        let kinds: Vec<Option<&str>> = findings.iter().map(kind_of_leak).collect();
        let is_kept = |kind: &Option<&str>| kind.is_some_and(|kind| keeps.contains(&kind));
        assert!(run.code == 0 && kinds.iter().all(is_kept), "{name}: {} {}{answer:#}", run.code, run.err);
        assert!(keeps.iter().all(|kind| kinds.contains(&Some(kind))), "{name} keeps less: {kinds:?}");
        assert!(answer["calls"].as_u64().unwrap() > 10, "{name}: {}", run.err);
    }
}

/// Each file and folder of `examples/` that is a program: the test runs it, or the page says why it does not.
#[test]
fn the_page_names_the_examples() {
    let page = std::fs::read_to_string(root().join("docs/check.md")).unwrap();
    let (_, section) = page.split_once("\n### Examples\n").unwrap();
    let (ran, left_out) = section.split_once("Not among them").unwrap();
    let (left_out, _) = left_out.split_once("\n## ").unwrap();
    for folder in ["examples", "examples/interop"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            if name.starts_with(['.', '_']) {
                continue;
            }
            // Kernels, tests and what they need, manifests, and a part of `every_failure`.
            let is_part = ["kernels", "interop", "tests", "stand_in", "Cargo", "failures"].contains(&name);
            if is_part || path.extension().is_some_and(|ending| ending == "toml") {
                continue;
            }
            let is_ran = EXAMPLES.iter().any(|(example, ..)| *example == name);
            let place = if is_ran { ran } else { left_out };
            assert!(place.contains(&format!("`{name}`")), "{name} is not where docs/check.md should have it");
        }
    }
}
