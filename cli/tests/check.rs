//! `cuda-launch check`: each rule finds its fault in a C program over the driver API, and nothing in the twin that is right.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "check/faults.rs"]
mod faults;
mod support;

use cuda_harness::check::Rule;
use cuda_harness::or_skip;
use faults::{FAULTS, Fault};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{Run, finished, recorder, root, scratch, tool};

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

    /// Compiles a file of `cli/tests/check/runtime`, which is linked with no driver.
    fn compile_runtime(&self, name: &str, options: &[&str]) -> PathBuf {
        let source = root().join("cli/tests/check/runtime").join(format!("{name}.c"));
        let made = self.folder.join(name);
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]).args(options).arg(source).arg("-o").arg(&made);
        assert!(cc.arg("-ldl").status().unwrap().success(), "{name}");
        made
    }

    /// The program over the CUDA runtime. It loads what stands in for that on the emulator.
    fn runtime(&self) -> PathBuf {
        self.compile_runtime("stand_in", &["-shared", "-fPIC"]);
        self.compile_runtime("faults", &[])
    }

    /// The tool, before the name of the program.
    fn command(&self, options: &[&str]) -> Command {
        let mut command = tool();
        command.env("CUDA_LAUNCH_CUDART", self.folder.join("stand_in"));
        // For the fault that needs two.
        command.env("CUDA_LAUNCH_EMULATOR_DEVICES", "2");
        command.args(options).args(["--driver", "emulator", "--recorder"]).arg(&self.recorder).arg("--");
        command
    }

    fn run(&self, options: &[&str], program: &[&str]) -> Run {
        finished(&self.command(options).args(program).output().unwrap())
    }

    fn check(&self, options: &[&str], program: &[&Path]) -> (Run, Value) {
        let run = self.command(&[&["check", "--json"], options].concat()).args(program).output().unwrap();
        let run = finished(&run);
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

/// Compares lines with those of a file, and shows the ones that differ; with `UPDATE_MATRIX`, writes them there before.
fn is_in_file(file: &str, lines: &str) {
    let path = root().join(file);
    if std::env::var_os("UPDATE_MATRIX").is_some() {
        std::fs::write(&path, lines).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    let only_in = |one: &str, other: &str, sign: char| {
        let others: Vec<&str> = other.lines().collect();
        let own = one.lines().filter(|line| !others.contains(line));
        own.map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    let (missing, unexpected) = (only_in(&written, lines, '-'), only_in(lines, &written, '+'));
    let hint = "(- is in the file only, + was found only; UPDATE_MATRIX=1 rewrites it)";
    assert!(missing.is_empty() && unexpected.is_empty(), "{file} {hint}:\n{missing}{unexpected}");
    assert!(
        written == lines,
        "{file} has the same lines in another order or number; UPDATE_MATRIX=1 rewrites it"
    );
}

/// The rules that a program broke, as the matrix has them; and why it is not as it should be, if it is not.
fn cell(run: &Run, answer: &Value, fault: &Fault, is_wrong: bool) -> (String, Option<String>) {
    let (rule, words) = if is_wrong { (fault.1, fault.4) } else { ("", "") };
    let found = rules(answer).join(" ");
    let is_error = Rule::named(rule).is_some_and(|rule| rule.level().name() == "error");
    let says = words.split("[..]").all(|part| run.says(part));
    let is_right = found == rule && says && run.code == i32::from(is_error);
    let what = || format!("{} {} {is_wrong}: {} {}{answer:#}", fault.0, fault.2, run.code, run.err);
    (if found.is_empty() { "-".to_owned() } else { found }, (!is_right).then(what))
}

/// Each fault with the rule that finds it, and what is reported of the same program without it: the rows are those that
/// `cli/tests/check/matrix/emulator.txt` has, and that `matrix.sh` prints on other drivers.
#[test]
fn each_rule_finds_its_fault_and_nothing_in_the_right_twin() {
    let Some(programs) = Programs::new("check-faults") else { return };
    let runtime = programs.runtime();
    let (mut wrong, mut rows) = (Vec::new(), String::new());
    for fault @ (api, rule, program, options, _) in FAULTS {
        let mut cells = Vec::new();
        for is_wrong in [true, false] {
            let (run, answer) = match *api {
                "driver" => programs.check(options, &[&programs.compile(program, is_wrong)]),
                _ => {
                    let (faults, program) = (runtime.as_path(), Path::new(program));
                    let twin = [faults, program, Path::new("right")];
                    programs.check(options, if is_wrong { &twin[..2] } else { &twin })
                }
            };
            let (found, why) = cell(&run, &answer, fault, is_wrong);
            cells.push(found);
            wrong.extend(why);
        }
        let rule = if rule.is_empty() { "-" } else { rule };
        let row = format!("{api:7} {rule:18} {program:28} {:18} | {}", options.join(" "), cells.join(" | "));
        rows += &format!("{row}\n");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    is_in_file("cli/tests/check/matrix/emulator.txt", &rows);
}

/// It asks the driver for tables that the emulator does not have, and says that there is no device.
#[test]
fn the_actual_runtime_does_not_take_the_emulator_and_nothing_is_reported() {
    let library = std::env::var_os("CUDA_LAUNCH_CUDART").map(PathBuf::from);
    let library = or_skip(library.filter(|file| file.exists()), "CUDA_LAUNCH_CUDART names no CUDA runtime");
    let Some((library, programs)) = library.zip(Programs::new("check-runtime")) else { return };
    let faults = programs.compile_runtime("faults", &[]);
    let mut command = programs.command(&["check", "--json"]);
    command.env("CUDA_LAUNCH_CUDART", library).arg(faults).arg("none");
    let run = finished(&command.output().unwrap());
    let answer: Value = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err));
    assert_eq!((run.code, rules(&answer)), (77, vec![]), "{}", run.err);
    assert!(run.says("the runtime has no device here: cudaErrorNotSupported"), "{}", run.err);
}

#[test]
fn a_process_that_is_checked_is_counted_and_its_end() {
    let Some(programs) = Programs::new("check-processes") else { return };
    let (run, answer) = programs.check(&[], &[&programs.compile("cost", false)]);
    assert_eq!((run.code, rules(&answer)), (0, vec![]), "{}", run.err);
    assert_eq!((&answer["processes"], &answer["processes_ended"]), (&1.into(), &1.into()));
}

/// A process that a signal ended has not told how many calls it made.
#[test]
fn the_calls_of_a_process_that_was_ended_early_are_not_known() {
    let Some(programs) = Programs::new("check-ended") else { return };
    let program = programs.compile("cost", false);
    let command = [Path::new("sh"), Path::new("-c"), Path::new("\"$0\"; kill -9 $$"), &program];
    let (run, answer) = programs.check(&[], &command);
    assert_eq!((run.code, &answer["processes_ended"]), (137, &1.into()), "{}", run.err);
    assert!(answer["calls"].as_u64().is_some_and(|calls| calls > 0), "{answer}");
    let source =
        "#include <signal.h>\n#include \"driver.h\"\nint main(void) { cuInit(0); return raise(SIGKILL); }\n";
    let file = programs.folder.join("ended.c");
    std::fs::write(&file, source).unwrap();
    let program = programs.folder.join("ended");
    let mut cc = Command::new("cc");
    cc.arg("-I")
        .arg(root().join("cli/tests/check"))
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&programs.folder);
    assert!(cc.arg("-l:libcuda.so.1").status().unwrap().success());
    let (run, answer) = programs.check(&[], &[&program]);
    assert_eq!(
        (run.code, &answer["processes"], &answer["processes_ended"]),
        (137, &1.into(), &0.into()),
        "{}",
        run.err
    );
    assert!(answer["calls"].is_null(), "{answer}");
}

#[test]
fn a_log_that_lacks_calls_is_an_error() {
    let Some(programs) = Programs::new("check-full") else { return };
    let program = programs.compile("cost", false);
    let run = programs.run(&["check", "--log", "/dev/full"], &[program.to_str().unwrap()]);
    assert!(run.code == 3 && run.says("cannot write /dev/full"), "{}: {}", run.code, run.err);
    assert_eq!(run.err.matches("/dev/full").count(), 1, "{}", run.err);
}

#[test]
fn what_is_no_driver_is_refused_before_the_program_starts() {
    let Some(programs) = Programs::new("check-no-driver") else { return };
    let text = programs.folder.join("text");
    std::fs::write(&text, "no library").unwrap();
    for file in ["/bin/true", "/no/such/file", text.to_str().unwrap()] {
        let mut command = tool();
        command.args(["check", "--driver", file, "--recorder"]).arg(&programs.recorder);
        let run = finished(&command.args(["--", "echo", "started"]).output().unwrap());
        assert_eq!((run.code, run.out.as_str()), (4, ""), "{}", run.err);
        assert!(run.says(file), "{}", run.err);
    }
    // A library, but no driver.
    let library = programs.compile_runtime("stand_in", &["-shared", "-fPIC"]);
    let mut command = tool();
    command.args(["check", "--driver"]).arg(library).arg("--recorder").arg(&programs.recorder);
    let run = finished(&command.args(["--", "echo", "started"]).output().unwrap());
    assert!(run.code == 4 && run.says("it is not a CUDA driver"), "{}: {}", run.code, run.err);
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

/// Its file may get the number of standard error, or of the file that findings go to.
#[test]
fn findings_do_not_get_into_a_file_of_the_program() {
    let Some(programs) = Programs::new("check-files") else { return };
    let program = programs.compile("own_files", false);
    for what in ["stderr", "others", "environment"] {
        let data = programs.folder.join(what);
        let log = programs.folder.join("log");
        let options = ["--log", log.to_str().unwrap()];
        let (run, answer) = programs.check(&options, &[&program, Path::new(what), &data]);
        assert_eq!((run.code, rules(&answer)), (1, vec!["stream-race"]), "{what}: {}", run.err);
        assert_eq!(answer["findings"][0].get("late"), None);
        assert_eq!(
            (std::fs::read(&data).unwrap(), &answer["processes_ended"]),
            (vec![], &1.into()),
            "{what}"
        );
        let run = programs.run(&["check"], &[program.to_str().unwrap(), what, data.to_str().unwrap()]);
        let told = run.err.matches("error[stream-race]: call 10, cuLaunchKernel of fill").count();
        assert_eq!((run.code, told), (1, 1), "{what}: {}", run.err);
        let log = std::fs::read_to_string(&log).unwrap();
        assert!(log.contains("#2 ") && log.contains("cuDevicePrimaryCtxRelease_v2"), "{what}: {log}");
    }
}

/// The signals of a pipe that nobody reads and of a file at its limit are not the program's.
#[test]
fn a_finding_that_cannot_be_written_does_not_end_the_program() {
    let Some(programs) = Programs::new("check-pipe") else { return };
    let program = programs.compile("stream_race", true);
    let file = programs.folder.join("found.json");
    let mut command = programs.command(&["check", "-o", file.to_str().unwrap()]);
    let mut child = command.arg(program).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    child.wait().unwrap();
    let answer: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!((&answer["program_code"], rules(&answer)), (&0.into(), vec!["stream-race"]), "{answer:#}");
    let limited = format!("ulimit -f 0 && exec {}", programs.folder.join("stream_race-wrong").display());
    let run = programs.run(&["check"], &["sh", "-c", &limited]);
    assert!(run.code == 0 && run.says("error[stream-race]"), "{} {}", run.code, run.err);
}

/// The error that the runtime still has is what the program ended for, not one that it has not looked at.
#[test]
fn a_program_of_the_runtime_that_ends_with_an_error_has_seen_it() {
    let Some(programs) = Programs::new("check-told") else { return };
    let runtime = programs.runtime();
    let (run, answer) = programs.check(&["--allow", "leak"], &[&runtime, Path::new("failed_and_told")]);
    assert_eq!((run.code, rules(&answer)), (5, vec![]), "{}", run.err);
    let (run, answer) = programs.check(&["--allow", "leak"], &[&runtime, Path::new("failed_call")]);
    assert_eq!((run.code, rules(&answer)), (0, vec!["failed-call"]), "{}", run.err);
}

/// What is to be called at the end is still there then.
#[test]
fn a_program_may_close_the_library() {
    let Some(programs) = Programs::new("check-closed") else { return };
    let program = programs.compile_runtime("closed", &["-pthread"]);
    let (run, answer) = programs.check(&[], &[&program]);
    assert_eq!((run.code, rules(&answer), &answer["processes_ended"]), (0, vec![], &1.into()), "{}", run.err);
}

/// Each function of the runtime, and the calls of the driver that it makes, from the log of `runtime/calls.c`.
fn calls_of_the_runtime(log: &str) -> String {
    let mut text = String::new();
    // The runtime asks for all functions at once, and this file for each when it needs it.
    for line in log.lines().filter(|line| !line.contains("cuGetProcAddress")) {
        match line.strip_prefix("== ") {
            Some(function) => text += &format!("\n{function}:"),
            None => {
                let name =
                    line.split_once(' ').and_then(|(_, call)| call.split_once('(')).map(|(name, _)| name);
                text += &format!(" {}", name.unwrap_or("?"));
            }
        }
    }
    format!("{}\n", text.trim_start())
}

/// The file that `check.sh` compares the actual runtime's with.
#[test]
fn the_calls_of_the_stand_in_are_written_down() {
    let Some(programs) = Programs::new("check-calls") else { return };
    programs.compile_runtime("stand_in", &["-shared", "-fPIC"]);
    let calls = programs.compile_runtime("calls", &[]);
    let log = programs.folder.join("calls.log");
    let arguments = [calls.to_str().unwrap(), log.to_str().unwrap()];
    let run = programs.run(&["check", "--log", log.to_str().unwrap()], &arguments);
    assert!(run.code == 0 && run.says("0 errors, 0 warnings"), "{} {}", run.code, run.err);
    let log = std::fs::read_to_string(log).unwrap();
    let set = log.lines().find(|line| line.contains("cuMemsetD8Async(")).unwrap_or_default();
    let words = ["#", "dstDevice: memory#1, uc: 1, N: 1024, hStream: stream#2)"];
    assert!(words.iter().all(|words| set.contains(words)), "{set}");
    assert!(log.contains("cuMemAlloc_v2(dptr -> memory#1, bytesize: 1024)"), "{log}");
    let text = calls_of_the_runtime(&log);
    is_in_file("cli/tests/check/runtime/stand_in_calls.txt", &text);
    // An answer that is an error is there, too; and the file is a new one each time.
    let failed = programs.compile("failed_call", true);
    let file = programs.folder.join("failed.log");
    for _ in 0..2 {
        programs.run(&["check", "--log", file.to_str().unwrap()], &[failed.to_str().unwrap()]);
        let log = std::fs::read_to_string(&file).unwrap();
        assert_eq!(log.matches(") = CUDA_ERROR_OUT_OF_MEMORY").count(), 1, "{log}");
        assert!(log.starts_with("#1 cuInit(Flags: 0)"), "{log}");
    }
    let run = programs.run(&["check", "--log", "/no/such/folder/log"], &["true"]);
    assert!(run.code == 3 && run.says("/no/such/folder/log"), "{} {}", run.code, run.err);
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
        let (run, answer) = programs.check(options, &[program]);
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
    let (_, answer) = programs.check(&["--refuse"], &[&program]);
    assert_eq!(rules(&answer), ["bad-pointer"]);
    let (_, answer) = programs.check(&[], &[&program]);
    assert_eq!(rules(&answer), ["bad-pointer", "sticky-fault"]);
    // What is allowed is not refused.
    let (_, answer) = programs.check(&["--refuse", "--allow", "bad-pointer:fill"], &[&program]);
    assert_eq!(rules(&answer), ["sticky-fault"]);
}

#[test]
fn every_rule_has_its_program_and_its_row() {
    let page = std::fs::read_to_string(root().join("docs/check.md")).unwrap();
    for rule in Rule::ALL {
        let row = format!("\n| `{rule}` | {} | ", rule.level().name());
        assert!(page.contains(&row), "docs/check.md has no row {row}");
        assert!(FAULTS.iter().any(|(_, name, ..)| *name == rule.name()), "{rule} has no program");
    }
    assert_eq!(page.matches("\n| `").count() - page.matches("\n| `-").count(), Rule::ALL.len());
}

/// A row of a matrix: API, rule, and what is reported of the fault and of the program without it.
type Row<'line> = (&'line str, &'line str, &'line str, &'line str);

fn row(line: &str) -> Row<'_> {
    let mut cells = line.split('|').map(str::trim);
    let mut words = cells.next().unwrap().split_whitespace();
    let (api, rule) = (words.next().unwrap(), words.next().unwrap());
    (api, rule, cells.next().unwrap(), cells.next().unwrap())
}

/// How often what is expected was reported, of how many times.
fn share(rows: &[Row<'_>], is_it: impl Fn(&Row<'_>) -> Option<bool>) -> String {
    let answers: Vec<bool> = rows.iter().filter_map(is_it).collect();
    match answers.iter().filter(|answer| **answer).count() {
        _ if answers.is_empty() => "-".to_owned(),
        right => format!("{right} of {}", answers.len()),
    }
}

/// Of each program of `cli/tests/check/nvcc`, the fault that `faults.txt` names was reported on a GPU, and nothing of the program without it.
#[test]
fn programs_that_nvcc_compiles_have_their_rows() {
    let folder = root().join("cli/tests/check");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (faults, rows) = (text("nvcc/faults.txt"), text("matrix/nvcc_h200.txt"));
    let mut expected: Vec<String> = Vec::new();
    for fault in faults.lines() {
        let (program, rule) = fault.split_once(' ').unwrap();
        assert!(folder.join(format!("nvcc/{program}.cu")).exists() && Rule::named(rule).is_some(), "{fault}");
        let row = |runtime| format!("{runtime} {rule} {program} | {rule} | -");
        expected.extend(["static", "shared"].map(row));
    }
    let sources = std::fs::read_dir(folder.join("nvcc")).unwrap();
    let programs =
        sources.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|e| e == "cu"));
    assert_eq!(programs.count(), faults.lines().count());
    let (examples, found): (Vec<&str>, Vec<&str>) = rows.lines().partition(|row| row.starts_with("example "));
    assert_eq!(found, expected);
    assert!(examples.len() == 7 && examples.iter().all(|row| row.ends_with(" | -")), "{examples:?}");
}

/// The table of docs/check.md is what the files of `cli/tests/check/matrix` say. A driver without a file was not tried.
#[test]
fn the_page_has_the_matrix() {
    let page = std::fs::read_to_string(root().join("docs/check.md")).unwrap();
    let matrix = |driver: &str| {
        std::fs::read_to_string(root().join(format!("cli/tests/check/matrix/{driver}.txt"))).ok()
    };
    let texts = [matrix("emulator"), matrix("h200")];
    let lines = |is_it: &dyn Fn(&Row<'_>) -> Option<bool>| {
        let of = |text: &Option<String>, api: &str| {
            let Some(text) = text else { return "not run".to_owned() };
            let rows: Vec<_> = text.lines().map(row).filter(|(of, ..)| *of == api).collect();
            share(&rows, is_it)
        };
        let cells = texts.iter().flat_map(|text| ["driver", "runtime"].map(|api| of(text, api)));
        cells.collect::<Vec<_>>().join(" | ")
    };
    let mut wanted = Vec::new();
    for rule in Rule::ALL {
        let found = |row: &Row<'_>| {
            (row.1 == rule.name()).then(|| row.2.split(" signal ").next() == Some(rule.name()))
        };
        wanted.push(format!("| {rule} | {} |", lines(&found)));
    }
    wanted.push(format!("| nothing, of correct programs | {} |", lines(&|row| Some(row.3 == "-"))));
    let missing: Vec<_> = wanted.iter().filter(|line| !page.contains(*line)).map(String::as_str).collect();
    assert!(missing.is_empty(), "docs/check.md lacks\n{}", missing.join("\n"));
}

/// The functions of the header whose NULL stream is the thread's own: symbol, name, since when, and whether one of today is the same.
macro_rules! own_forms {
    ($($symbol:ident($($argument:ident: $type:ty),*) $since:literal $name:literal $default:ident $how:ident $plain:ident;)*) => {
        &[$((
            stringify!($symbol), $name, stringify!($since), stringify!($default), stringify!($how), stringify!($plain)
        )),*]
    };
}

type Export = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

static EXPORTS: &[Export] = cuda_launch::sys::for_each_export!(own_forms);

/// By its symbol, as programs are linked, and by a name with a flag, as the CUDA runtime asks: each arrives as a call on the thread's own
/// stream. Older ABIs that no function of today is, and those of graphics APIs, are passed on.
#[test]
fn each_function_of_a_threads_own_stream_is_checked() {
    let Some(programs) = Programs::new("check-own") else { return };
    let own: Vec<&Export> = EXPORTS.iter().filter(|(.., own, _, _)| *own == "per_thread").collect();
    let passed_on: Vec<&str> = own.iter().filter(|(.., how, _)| *how != "same").map(|row| row.0).collect();
    let older = [
        "cuGLMapBufferObjectAsync_v2_ptsz",
        "cuGLMapBufferObject_v2_ptds",
        "cuStreamBatchMemOp_ptsz",
        "cuStreamBeginCapture_ptsz",
        "cuStreamGetCaptureInfo_ptsz",
        "cuStreamWaitValue32_ptsz",
        "cuStreamWaitValue64_ptsz",
        "cuStreamWriteValue32_ptsz",
        "cuStreamWriteValue64_ptsz",
    ];
    assert_eq!(passed_on, older);
    // The emulator is a driver of CUDA 13.0: of what came later the recorder's own list is all there is, which the compiler compares.
    let is_there = |row: &&&Export| row.4 == "same" && row.2.parse().is_ok_and(|since: u32| since <= 13_000);
    let rows: Vec<&Export> = own.iter().copied().filter(|row| is_there(&row)).collect();
    assert!(rows.len() > 80, "{}", rows.len());
    let program = programs.compile("per_thread_forms", false);
    let log = programs.folder.join("own.log");
    let log = log.to_str().unwrap();
    let mut arguments = vec![program.to_str().unwrap(), log];
    rows.iter().for_each(|(symbol, name, since, ..)| arguments.extend([*symbol, *name, *since]));
    let run = programs.run(&["check", "--log", log], &arguments);
    assert!(run.out.ends_with(" of them failed\n"), "{} {} {}", run.code, run.out, run.err);
    let text = std::fs::read_to_string(log).unwrap();
    let mut parts = text.split("== ").skip(1);
    for (symbol, _, _, _, _, plain) in rows {
        for way in ["linked", "asked"] {
            let part = parts.next().unwrap_or_default();
            assert_eq!(part.lines().next(), Some(format!("{way} {symbol}").as_str()));
            let calls: Vec<&str> =
                part.lines().skip(1).filter(|line| !line.contains("cuGetProcAddress")).collect();
            // A copy that has no stream is one on the thread's own that is waited for.
            let name = plain.trim_end_matches("_v1").trim_end_matches("_v2");
            let is_it = |line: &&str| {
                let call = line.split_once(' ').map_or("", |(_, call)| call);
                call.starts_with(&format!("{plain}(")) || call.starts_with(&format!("{name}Async"))
            };
            let found = calls.first().filter(|line| is_it(line));
            let is_on_own = |line: &&&str| line.contains("per-thread") || WITHOUT_STREAM.contains(plain);
            assert!(found.filter(is_on_own).is_some(), "{way} {symbol}: {calls:?}");
        }
    }
}

/// Their argument is a structure, or they are made by the driver's own function.
const WITHOUT_STREAM: [&str; 6] = [
    "cuLaunchKernelEx",
    "cuGraphInstantiateWithParams",
    "cuMemcpy2DUnaligned_v2",
    "cuMemcpyAtoA_v2",
    "cuMemcpyAtoD_v2",
    "cuMemcpyDtoA_v2",
];

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
