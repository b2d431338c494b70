//! `cuda-launch check`: each rule finds its fault in a C program over the driver API, and nothing in the twin that is right.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_harness::check::Rule;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::skip::or_skip;
use support::{Run, TOOL, finished, recorder, root, scratch, tool};

/// A folder with the recorder under the driver's name, for programs that are linked with it.
struct Programs {
    recorder: PathBuf,
    folder: PathBuf,
}

impl Programs {
    /// None on a machine without the recorder, or without a C compiler.
    fn new(test: &str) -> Option<Self> {
        let recorder = recorder()?;
        let is_there = Command::new("cc").arg("--version").stdout(Stdio::null()).status().is_ok();
        or_skip(is_there.then_some(()), "there is no C compiler")?;
        let folder = scratch(test);
        std::os::unix::fs::symlink(&recorder, folder.join("libcuda.so.1")).unwrap();
        Some(Self { recorder, folder })
    }

    /// Compiles a program of `cli/tests/check`, with its fault or without.
    fn compile(&self, name: &str, is_wrong: bool) -> PathBuf {
        let source = root().join("cli/tests/check").join(format!("{name}.c"));
        let program = self.folder.join(format!("{name}{}", if is_wrong { "-wrong" } else { "" }));
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-pthread"]);
        cc.args(is_wrong.then_some("-DWRONG")).arg(source).arg("-o").arg(&program);
        assert!(cc.arg("-L").arg(&self.folder).arg("-l:libcuda.so.1").status().unwrap().success(), "{name}");
        program
    }

    fn run(&self, options: &[&str], program: &[&str]) -> Run {
        let mut command = tool();
        command.args(options).args(["--driver", "emulator", "--recorder"]).arg(&self.recorder).arg("--");
        finished(&command.args(program).output().unwrap())
    }

    fn check(&self, options: &[&str], program: &Path) -> (Run, Value) {
        let run = self.run(&[&["check", "--json"], options].concat(), &[program.to_str().unwrap()]);
        let answer = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}{}", run.out, run.err));
        (run, answer)
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The rules that were broken.
fn rules(answer: &Value) -> Vec<&str> {
    answer["rules"].as_array().unwrap().iter().map(|rule| rule["rule"].as_str().unwrap()).collect()
}

/// Each rule with its program, the options that this needs, and words of the message.
const FAULTS: &[(&str, &str, &[&str], &str)] = &[
    (
        "missing-arguments",
        "missing_arguments",
        &["--refuse"],
        "of fill: kernelParams is null, but the kernel has 3 parameters",
    ),
    ("null-argument", "null_argument", &["--refuse"], "of fill: element 2 of kernelParams is 0x0"),
    (
        "argument-packet",
        "argument_packet",
        &["--refuse"],
        "has 12 bytes, but the kernel's parameters take 16",
    ),
    ("freed-pointer", "freed_pointer", &[], "argument 0 is memory#1, which call 7 freed"),
    ("launch-dimensions", "launch_dimensions", &[], "the grid has size 0 in x"),
    ("block-size", "block_size", &[], "has 64 threads, but this kernel allows 32 threads per block"),
    (
        "shared-memory",
        "shared_memory",
        &[],
        "61440 bytes of dynamic shared memory, but this kernel allows 49152",
    ),
    ("null-handle", "null_handle", &[], "f is null, but has to be a function"),
    ("wrong-handle", "wrong_handle", &[], "hEvent is stream#1, but has to be an event"),
    ("wrong-context", "wrong_context", &[], "uses event#1, which belongs to another context"),
    ("dead-handle", "dead_handle", &[], "cuStreamQuery: uses stream#1, which call 10 destroyed"),
    (
        "dead-handle",
        "reset",
        &["--allow", "failed-call"],
        "cuStreamSynchronize: uses stream#1, which call 10 destroyed",
    ),
    ("use-after-free", "use_after_free", &[], "cuMemcpyDtoH_v2: uses memory#1, which call 8 freed"),
    ("double-free", "double_free", &[], "releases memory#1 again; call 7 already released it"),
    ("bad-pointer", "bad_pointer", &["--refuse"], "of fill: argument 0: the first thread writes 4 bytes at"),
    (
        "bad-pointer",
        "past_the_end",
        &["--refuse"],
        "the last thread writes 4 bytes at 0x[..], where the driver has no memory, 0 bytes past the end of memory#1 (508 bytes)",
    ),
    (
        "misaligned-pointer",
        "misaligned_pointer",
        &["--refuse"],
        "of fill: argument 0: the first thread writes 4 bytes at memory#1+2",
    ),
    (
        "stream-race",
        "stream_race",
        &[],
        "cuMemcpyDtoHAsync_v2 reads 256 bytes at memory#1 on stream#2, and fill of call 11 writes there on stream#1",
    ),
    (
        "stream-race",
        "unrecorded_event",
        &[],
        "fill writes 4 bytes at memory#1 on stream#2, and fill of call 10 writes there on stream#1",
    ),
    (
        "stream-race",
        "race_of_kernels",
        &[],
        "fill writes 4 bytes at memory#1 on stream#2, and fill of call 11 writes there on stream#1",
    ),
    (
        "stream-race",
        "race_with_the_default_stream",
        &[],
        "fill writes 4 bytes at memory#1 on stream#1, and cuMemsetD32_v2 of call 8 writes there on the default stream",
    ),
    (
        "stream-race",
        "race_with_free",
        &[],
        "cuMemFreeAsync frees memory#1 on stream#1, and cuMemsetD32Async of call 10 uses it on stream#2",
    ),
    (
        "stream-race",
        "per_thread",
        &[],
        "of fill: fill writes 4 bytes at memory#1 on stream#1, and cuMemsetD32Async of call 17 writes there on the per-thread stream",
    ),
    (
        "wrong-handle",
        "odd_handle",
        &["--refuse"],
        "of fill: hStream is 0x7, which is not a handle, but has to be a stream",
    ),
    (
        "leak",
        "per_thread_leak",
        &[],
        "memory#1 (256 bytes) was not released; it was created by call 7, cuMemAlloc_v2",
    ),
    (
        "sticky-fault",
        "sticky_fault",
        &[],
        "launches that had not completed: call 12: through on the default stream fix:",
    ),
    (
        "leak",
        "leak",
        &[],
        "2 objects of kind event were not released; cuEventCreate created them, event#1 first, in call 6",
    ),
    (
        "open-capture",
        "open_capture",
        &["--allow", "leak"],
        "the capture that call 8, cuStreamBeginCapture_v2, began was not ended",
    ),
    (
        "failed-call",
        "failed_call",
        &[],
        "cuMemAlloc_v2 returned CUDA_ERROR_OUT_OF_MEMORY once, first in call 6",
    ),
];

#[test]
fn each_rule_finds_its_fault_and_nothing_in_the_right_twin() {
    let Some(programs) = Programs::new("check-faults") else { return };
    let mut wrong = Vec::new();
    for (rule, program, options, words) in FAULTS {
        let (run, answer) = programs.check(options, &programs.compile(program, true));
        let is_error = Rule::named(rule).unwrap().level().name() == "error";
        let says = words.split("[..]").all(|part| run.says(part));
        let found = rules(&answer) == [*rule] && says && run.code == i32::from(is_error);
        if !found {
            wrong.push(format!("{program}: {} {}{:#}", run.code, run.err, answer));
        }
        let (run, answer) = programs.check(options, &programs.compile(program, false));
        if run.code != 0 || !rules(&answer).is_empty() {
            wrong.push(format!("the twin of {program}: {} {}", run.code, run.err));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Programs that are right, and try to look wrong.
const QUIET: &[&str] = &[
    "cost",
    "quiet_alignment",
    "quiet_reuse",
    "quiet_slices",
    "quiet_threads",
    "quiet_memory",
    "quiet_orders",
    "quiet_captures",
    "quiet_contexts",
];

#[test]
fn programs_that_are_right_are_not_reported() {
    let Some(programs) = Programs::new("check-quiet") else { return };
    for program in QUIET {
        let (run, answer) = programs.check(&[], &programs.compile(program, false));
        assert_eq!((run.code, rules(&answer)), (0, vec![]), "{program}: {}", run.err);
        assert_eq!((&answer["processes"], &answer["processes_ended"]), (&1.into(), &1.into()), "{program}");
    }
}

/// By the first ABI, on a thread's own stream, into a graph, and by functions that the driver hands out.
#[test]
fn a_capture_is_seen_whichever_function_begins_it() {
    let Some(programs) = Programs::new("check-captures") else { return };
    let (wrong, right) = (programs.compile("open_captures", true), programs.compile("open_captures", false));
    for way in ["0", "1", "2", "3", "4", "5", "6"] {
        for (program, found) in [(&wrong, &["open-capture"][..]), (&right, &[])] {
            let run =
                programs.run(&["check", "--json", "--allow", "leak"], &[program.to_str().unwrap(), way]);
            let answer = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err));
            assert_eq!((rules(&answer), run.code), (found.to_vec(), 0), "{way}: {}", run.err);
        }
    }
}

#[test]
fn what_is_not_wanted_is_not_reported() {
    let Some(programs) = Programs::new("check-options") else { return };
    let (leak, race) = (programs.compile("leak", true), programs.compile("race_of_kernels", true));
    let file = programs.folder.join("allowed");
    std::fs::write(&file, "# known\nleak\n\n stream-race:fi* # ours\n").unwrap();
    let file = file.to_str().unwrap();
    for (program, options, found) in [
        (&leak, &["--level", "error"][..], &[][..]),
        (&leak, &["--allow", "leak"], &[]),
        (&leak, &["--allow", "stream-race"], &["leak"]),
        (&leak, &["--allow-file", file], &[]),
        (&race, &["--level", "error"], &["stream-race"]),
        (&race, &["--allow", "stream-race:f*l"], &[]),
        (&race, &["--allow", "stream-race:f*k"], &["stream-race"]),
        (&race, &["--allow-file", file], &[]),
    ] {
        let (run, answer) = programs.check(options, program);
        assert_eq!(rules(&answer), found, "{options:?} {}", run.err);
        assert_eq!(run.code, i32::from(found == ["stream-race"]), "{options:?}");
    }
    std::fs::write(file, "leak\nleeks\n").unwrap();
    let run = programs.run(&["check", "--allow-file", file], &["true"]);
    assert!(run.code == 3 && run.says("line 2: `leeks` is not a rule"), "{}", run.err);
    for wrong in [["--allow", "leeks"], ["--level", "note"]] {
        let run = programs.run(&[&["check"][..], &wrong].concat(), &["true"]);
        assert_eq!(run.code, 2, "{}", run.err);
    }
}

#[test]
fn the_answer_is_a_file_too_and_counts_what_is_not_said() {
    let Some(programs) = Programs::new("check-answer") else { return };
    let file = programs.folder.join("found.json");
    let often = programs.compile("often", true);
    let run = programs.run(&["check", "-o", file.to_str().unwrap()], &[often.to_str().unwrap()]);
    assert!(run.code == 1 && run.says("cuda-launch check: 10 errors, 0 warnings"), "{}", run.err);
    assert_eq!(run.err.matches("error[launch-dimensions]: call ").count(), 3, "{}", run.err);
    let answer: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(answer["schema"], "cuda-launch.check.1");
    assert_eq!(answer["findings"].as_array().unwrap().len(), 3);
    let rule = &answer["rules"][0];
    assert_eq!((&rule["rule"], &rule["times"]), (&"launch-dimensions".into(), &10.into()));
    let finding = &answer["findings"][0];
    assert_eq!((&finding["kernel"], &finding["function"]), (&"fill".into(), &"cuLaunchKernel".into()));
}

/// Without the checks, as `trace` sees it.
#[test]
fn a_program_is_answered_the_same() {
    let Some(programs) = Programs::new("check-same") else { return };
    let program = programs.compile("answers", true);
    let program = program.to_str().unwrap();
    let timeline = programs.folder.join("trace.json");
    let without = programs.run(&["trace", "-o", timeline.to_str().unwrap()], &[program]);
    let with = programs.run(&["check"], &[program]);
    assert_eq!(with.out, without.out);
    assert!(with.out.lines().count() > 10 && with.code == 1, "{}", with.err);
    assert_eq!(with.err.matches("error[double-free]").count(), 2, "{}", with.err);
    // A program that fails keeps its code, also by a signal, and what was found until then is said.
    let run = programs.run(&["check"], &[program, "abort"]);
    assert!(run.code == 134 && run.says("signal 6 ended the program"), "{}", run.err);
    assert!(run.says("error[double-free]") && run.says("the program was ended early"), "{}", run.err);
    let run = programs.run(&["check"], &["sh", "-c", "exit 7"]);
    assert!(run.code == 7 && run.says("the program made no driver call"), "{}", run.err);
}

/// Without it the kernel runs, and faults.
#[test]
fn launches_that_break_a_rule_are_refused_where_that_is_asked() {
    let Some(programs) = Programs::new("check-refuse") else { return };
    let program = programs.compile("past_the_end", true);
    let (_, answer) = programs.check(&["--refuse"], &program);
    assert_eq!(rules(&answer), ["bad-pointer"]);
    let (_, answer) = programs.check(&[], &program);
    assert_eq!(rules(&answer), ["bad-pointer", "sticky-fault"]);
    // What is allowed is not refused.
    let (_, answer) = programs.check(&["--refuse", "--allow", "bad-pointer:fill"], &program);
    assert_eq!(rules(&answer), ["sticky-fault"]);
}

/// The examples that cargo has built beside the tool: with all tests, or by `cargo build --examples`.
#[test]
fn the_examples_are_not_reported() {
    let Some(recorder) = recorder() else { return };
    let folder = Path::new(TOOL).parent().unwrap().join("examples");
    for (name, options) in [
        ("vecadd", &[][..]),
        ("raw", &[]),
        ("builder", &[]),
        ("typed", &[]),
        ("graph", &[]),
        ("everything", &[]),
        // It has streams that live as long as the process.
        ("async", &["--allow", "leak"]),
    ] {
        let Some(program) =
            or_skip(Some(folder.join(name)).filter(|file| file.exists()), "examples are not built")
        else {
            continue;
        };
        let mut command = tool();
        command
            .args(["check", "--json", "--driver", "emulator"])
            .args(options)
            .arg("--recorder")
            .arg(&recorder);
        command.env("CUDA_LAUNCH_KERNEL_DIR", root().join("examples/kernels")).arg("--").arg(program);
        let run = finished(&command.output().unwrap());
        let answer: Value = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err));
        assert_eq!((run.code, rules(&answer)), (0, vec![]), "{name}: {}", run.err);
        assert!(answer["calls"].as_u64().unwrap() > 10, "{name}: {}", run.err);
    }
}

#[test]
fn every_rule_has_its_program_and_its_row() {
    let page = std::fs::read_to_string(root().join("docs/check.md")).unwrap();
    for rule in Rule::ALL {
        let row = format!("\n| `{rule}` | {} | ", rule.level().name());
        assert!(page.contains(&row), "docs/check.md has no row {row}");
        assert!(FAULTS.iter().any(|(name, ..)| *name == rule.name()), "{rule} has no program");
    }
    assert_eq!(page.matches("\n| `").count() - page.matches("\n| `-").count(), Rule::ALL.len());
}

/// Libraries look for functions that today's headers do not declare: cuBLAS fails where one is missing.
#[test]
fn every_export_of_a_driver_is_there_and_is_passed_on() {
    let Some(programs) = Programs::new("check-exports") else { return };
    let listed = std::fs::read_to_string(root().join("emulator/libcuda/exports.txt")).unwrap();
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.len() > 700 && names.contains(&"cuCtxPushCurrent"), "{names:?}");
    let program = programs.compile("passed_on", false);
    let program = [&[program.to_str().unwrap()], names.as_slice()].concat();
    let trace = programs.folder.join("trace.json");
    for command in [&["check"] as &[&str], &["trace", "-o", trace.to_str().unwrap()]] {
        let run = programs.run(command, &program);
        assert_eq!(
            (run.code, run.out.lines().next()),
            (0, Some("1 1 0, and cuGLInit is refused")),
            "{}",
            run.err
        );
    }
}
