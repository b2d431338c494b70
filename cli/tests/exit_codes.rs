//! `cuda-launch emulate` and `harness`: what the emulator finds makes a program fail that did not fail itself.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{Run, compiled, emulator_library, finished, scratch, tool};

/// Runs the kernel `k` of the file on 64 threads and 256 bytes, ignores whatever goes wrong, releases what it has unless it is told not to, and
/// ends as its second argument says.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define CALL(name, ...) ((int (*)())dlsym(cuda, #name))(__VA_ARGS__)
int main(int count, char **words)
{
    const char *end = words[2];
    if (!strcmp(end, "fork") && fork() == 0)
        end = "exit";
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *function;
    unsigned long long memory;
    void *parameters[] = {&memory};
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoad, &module, words[1]);
    CALL(cuModuleGetFunction, &function, module, "k");
    CALL(cuMemAlloc_v2, &memory, (size_t)256);
    CALL(cuMemsetD8_v2, memory, 0, (size_t)256);
    CALL(cuLaunchKernel, function, 1, 1, 1, 64, 1, 1, 0, (void *)0, parameters, (void *)0);
    CALL(cuCtxSynchronize);
    if (strcmp(end, "keep"))
        CALL(cuMemFree_v2, memory);
    CALL(cuDevicePrimaryCtxRelease_v2, 0);
    if (!strcmp(end, "graphics")) {
        CALL(cuGraphicsGLRegisterBuffer, &memory, 0, 0);
        CALL(cuGraphicsGLRegisterBuffer, &memory, 0, 0);
    }
    if (!strcmp(end, "_exit"))
        _exit(0);
    if (!strcmp(end, "signal"))
        raise(SIGKILL);
    if (!strcmp(end, "fork"))
        wait(0);
    return !strcmp(end, "fail") ? 7 : 0;
}
"#;

/// All threads write their number to one place.
const RACE: &str = "st.global.u32 [%a], %t;";
/// Each thread writes to a place of its own.
const FINE: &str = "mad.wide.u32 %a, %t, 4, %a; st.global.u32 [%a], %t;";
/// No thread writes where there is memory.
const FAULT: &str = "st.global.u32 [%a+4096], %t;";

fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{ .reg .b64 %a; .reg .b32 %t; ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; {body} ret; }}\n"
    )
}

struct Case {
    folder: PathBuf,
    program: PathBuf,
}

impl Case {
    fn new(test: &str) -> Option<Self> {
        emulator_library()?;
        let folder = scratch(test);
        let program = compiled(&folder, "program", PROGRAM, &[])?;
        Some(Self { folder, program })
    }

    fn file(&self, name: &str, body: &str) -> String {
        let file = self.folder.join(name);
        std::fs::write(&file, kernel(body)).unwrap();
        file.to_str().unwrap().to_owned()
    }

    fn program(&self) -> &str {
        self.program.to_str().unwrap()
    }

    /// The code, and the answer with `--json`, which has the same code.
    fn run(&self, options: &[&str], program: &[&str]) -> (i32, Value, Run) {
        let start = |more: &[&str]| {
            let mut command = tool();
            command
                .env_remove("CUDA_LAUNCH_EMULATOR_LIBRARY")
                .args(options)
                .args(more)
                .arg("--")
                .args(program);
            finished(&command.output().unwrap())
        };
        let (text, answer) = (start(&[]), start(&["--json"]));
        assert_eq!(text.code, answer.code, "{}{}", text.err, answer.err);
        let value = serde_json::from_str(&answer.out).unwrap();
        (text.code, value, text)
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_finding_fails_a_program_that_does_not_look() {
    let Some(case) = Case::new("found-check") else { return };
    let (race, fine, fault) =
        (case.file("race.ptx", RACE), case.file("fine.ptx", FINE), case.file("fault.ptx", FAULT));
    for command in ["emulate", "harness"] {
        let run = |options: &[&str], file: &str, end: &str| {
            let (code, answer, run) = case.run(&[&[command], options].concat(), &[case.program(), file, end]);
            (code, answer["findings"].as_u64().unwrap(), run)
        };
        let (code, findings, told) = run(&["--check"], &race, "exit");
        assert_eq!((code, findings), (1, 1), "{command}: {}", told.err);
        assert!(told.says("the program exited with 0, but the emulator reported 1 finding"), "{}", told.err);
        for (options, file, end, expected) in [
            (&["--check"][..], &fine, "exit", (0, 0)),
            (&[], &race, "exit", (0, 0)),
            (&["--check=init"], &race, "exit", (0, 0)),
            // It is counted when it happens.
            (&["--check"], &race, "_exit", (1, 1)),
            // The program's own end says more.
            (&["--check"], &race, "fail", (7, 1)),
            (&["--check"], &race, "signal", (128 + 9, 1)),
            // Both processes.
            (&["--check"], &race, "fork", (1, 2)),
            // A fault is the program's to see, and where kernels are checked a finding.
            (&[], &fault, "exit", (0, 0)),
            (&["--check=race"], &fault, "exit", (1, 1)),
        ] {
            let (code, findings, told) = run(options, file, end);
            assert_eq!((code, findings), expected, "{command} {options:?} {file} {end}: {}", told.err);
        }
    }
    // Each process that a shell starts.
    let both = format!("'{program}' {race} exit; '{program}' {race} exit", program = case.program());
    let (code, answer, run) = case.run(&["emulate", "--check"], &["sh", "-c", &both]);
    assert_eq!((code, &answer["findings"]), (1, &2.into()), "{}", run.err);
}

#[test]
fn a_difference_between_schedules_fails_a_program() {
    let Some(case) = Case::new("found-schedules") else { return };
    let race = case.file("race.ptx", RACE);
    let mut command = tool();
    command.env("CUDA_LAUNCH_EMULATOR_SCHEDULES", "5").args(["emulate", "--json", "--"]);
    let run = finished(&command.args([case.program(), &race, "exit"]).output().unwrap());
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &answer["differences"]), (1, &1.into()), "{}", run.err);
    for command in ["emulate", "harness"] {
        for (options, orders) in [
            (&["--schedules", "7"][..], "of 7 orders)"),
            (&["--schedules", "7", "--seed", "5"], "of 7 orders)"),
            (&["--seed", "5"], "seed 5 (1 of 1 order)"),
        ] {
            let (code, answer, run) =
                case.run(&[&[command], options].concat(), &[case.program(), &race, "exit"]);
            assert_eq!((code, &answer["differences"]), (1, &1.into()), "{command} {options:?}: {}", run.err);
            assert!(run.says(orders), "{command} {options:?}: {}", run.err);
        }
    }
    // The option goes before the variables where this program is started.
    let mut command = tool();
    command.env("CUDA_LAUNCH_EMULATOR_SCHEDULES", "3").args(["emulate", "--seed", "5", "--"]);
    let run = finished(&command.args([case.program(), &race, "exit"]).output().unwrap());
    assert!(run.code == 1 && run.says("seed 5 (1 of 1 order)"), "{}", run.err);
}

/// Where the report of coverage cannot be written: `cuInit` says so, or, if that comes later, the exit code.
#[test]
fn coverage_that_cannot_be_written_is_told() {
    let Some(case) = Case::new("found-coverage") else { return };
    let fine = case.file("fine.ptx", FINE);
    let emulate = |folder: &Path, program: &[&str]| {
        let mut command = tool();
        command.env("CUDA_LAUNCH_EMULATOR_COVERAGE", folder).args(["emulate", "--"]).args(program);
        finished(&command.output().unwrap())
    };
    let folder = case.folder.join("coverage");
    let run = emulate(&folder, &[case.program(), &fine, "exit"]);
    assert_eq!((run.code, std::fs::read_dir(&folder).unwrap().count()), (0, 2), "{}", run.err);
    std::fs::remove_dir_all(&folder).unwrap();
    // A file in its place.
    let run = emulate(Path::new(&fine), &[case.program(), &fine, "exit"]);
    assert!(run.says("CUDA_LAUNCH_EMULATOR_COVERAGE=") && run.says("cuInit fails"), "{}", run.err);
    let init = PROGRAM.replace("    CALL(cuInit, 0);", "    return CALL(cuInit, 0);");
    let Some(init) = compiled(&case.folder, "init", &init, &[]) else { return };
    // Nor can one be made in `/proc`, whoever the user is.
    for folder in [&*fine, "/proc"] {
        let run = emulate(Path::new(folder), &[init.to_str().unwrap(), &fine, "exit"]);
        assert_eq!(run.code, 1, "{folder}: {}", run.err);
    }
    // The same, while the program runs.
    let source = PROGRAM
        .replace("    return !strcmp", "    rmdir(words[3]); close(creat(words[3], 0600)); return !strcmp");
    let source = format!("#include <fcntl.h>\n{source}");
    let Some(lost) = compiled(&case.folder, "lost", &source, &[]) else { return };
    let run = emulate(&folder, &[lost.to_str().unwrap(), &fine, "exit", folder.to_str().unwrap()]);
    assert!(run.code == 3 && run.says("cuda-emulator: coverage: "), "{} {}", run.code, run.err);
    std::fs::remove_file(&folder).unwrap();
    let run = emulate(&folder, &[lost.to_str().unwrap(), &fine, "fail", folder.to_str().unwrap()]);
    assert_eq!(run.code, 7, "{}", run.err);
}

/// As in `cargo test`, whose tests run in the folders of their packages.
#[test]
fn coverage_goes_to_one_folder_wherever_processes_run() {
    let Some(case) = Case::new("found-folders") else { return };
    let fine = case.file("fine.ptx", FINE);
    std::fs::create_dir(case.folder.join("package")).unwrap();
    let both =
        format!("'{program}' {fine} exit; cd package; '{program}' {fine} exit", program = case.program());
    let mut command = tool();
    command.current_dir(&case.folder).env("CUDA_LAUNCH_EMULATOR_COVERAGE", "coverage");
    let run = finished(&command.args(["emulate", "--", "sh", "-c", &both]).output().unwrap());
    assert_eq!(run.code, 0, "{}", run.err);
    let names =
        std::fs::read_dir(case.folder.join("coverage")).unwrap().map(|file| file.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_string_lossy().ends_with(".info")).count(), 2);
}

#[test]
fn a_leak_fails_a_program() {
    let Some(case) = Case::new("found-leaks") else { return };
    let fine = case.file("fine.ptx", FINE);
    let run = |options: &[&str], end: &str| {
        let (code, answer, run) = case.run(&[&["harness"], options].concat(), &[case.program(), &fine, end]);
        (code, answer["leaks"].as_u64(), run)
    };
    let (code, leaks, told) = run(&["--leaks"], "keep");
    assert_eq!((code, leaks), (1, Some(2)), "{}", told.err);
    assert!(told.says("the emulator reported 2 leaked objects"), "{}", told.err);
    assert_eq!(run(&[], "keep").0, 0);
    // Nobody reports: the program is told that this is no success.
    let (code, leaks, told) = run(&["--leaks"], "_exit");
    assert_eq!((code, leaks), (0, None), "{}", told.err);
    assert!(told.says("no process reported its leaks"), "{}", told.err);
}

/// The obstacles that `--explain` lists: kind, code and subject, and the text for people.
fn explained(options: &[&str], program: &[&str]) -> (Vec<(String, u64, String)>, String) {
    let start = |more: &[&str]| {
        let mut command = tool();
        command.args(["emulate", "--explain"]).args(options).args(more).arg("--").args(program);
        finished(&command.output().unwrap())
    };
    let answer: Value = serde_json::from_str(&start(&["--json"]).out).unwrap();
    let reasons = answer["explanation"].as_array().unwrap().iter().map(|reason| {
        let word = |field: &str| reason[field].as_str().unwrap().to_owned();
        (word("kind"), reason["code"].as_u64().unwrap(), word("subject"))
    });
    let said = start(&[]).err.split_whitespace().collect::<Vec<_>>().join(" ");
    (reasons.collect(), said)
}

fn with(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let file = folder.join(name);
    std::fs::write(&file, bytes).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn what_the_emulator_refused_is_explained() {
    let Some(case) = Case::new("found-refused") else { return };
    let text = kernel(FINE);
    let cubin = std::fs::read(support::root().join("ptx/tests/data/archs.sm_89.cubin")).unwrap();
    let unknown = text
        .replace("ret;", "tcgen05.wait::ld.sync.aligned; ret;")
        .replace("8.0", "8.6")
        .replace("sm_90", "sm_100a");
    for (name, image, options, (kind, code), way) in [
        ("k.cubin", cubin, &[][..], ("cubin", 209), "code=compute_90"),
        (
            "new.ptx",
            text.replace("8.0", "9.4").into_bytes(),
            &[],
            ("ptx-version", 222),
            "CUDA_LAUNCH_EMULATOR_PTX=9.4",
        ),
        (
            "newest.ptx",
            text.replace("8.0", "9.9").into_bytes(),
            &[],
            ("ptx-version", 222),
            "compile with an older toolkit",
        ),
        (
            "blackwell.ptx",
            text.replace("8.0", "8.6").replace("sm_90", "sm_100").into_bytes(),
            &[],
            ("target", 218),
            "CUDA_LAUNCH_EMULATOR_ARCH=sm_100 (`--arch sm_100`,",
        ),
        (
            "wrong.ptx",
            text.replace("%t,", "%u,").into_bytes(),
            &[],
            ("invalid-ptx", 218),
            "ptxas refuses it, too",
        ),
        (
            "unknown.ptx",
            unknown.into_bytes(),
            &["--arch", "sm_100"],
            ("unsupported", 801),
            "run the kernel on a GPU",
        ),
    ] {
        let file = with(&case.folder, name, &image);
        let (reasons, said) = explained(options, &[case.program(), &file, "exit"]);
        let subject = if kind == "unsupported" { "kernel `k`".to_owned() } else { file };
        assert_eq!(reasons, [(kind.to_owned(), code, subject)], "{said}");
        assert!(said.contains(way) && said.contains(&code.to_string()), "{name}: {said}");
    }
    let fine = with(&case.folder, "fine.ptx", text.as_bytes());
    let (reasons, said) = explained(&[], &[case.program(), &fine, "exit"]);
    assert!(reasons.is_empty() && said.contains("nothing was found"), "{said}");
    let (reasons, said) = explained(&[], &[case.program(), &fine, "graphics"]);
    assert_eq!(reasons, [("function".to_owned(), 801, "cuGraphicsGLRegisterBuffer".to_owned())], "{said}");
    assert!(said.contains("copy through host memory"), "{said}");
}

/// What is asked of the emulator by name goes before what drivers of the version read that it plays.
#[test]
fn the_newest_ptx_that_is_asked_for_goes_before_the_version() {
    let Some(case) = Case::new("found-ptx") else { return };
    let file = case.file("fine.ptx", FINE);
    let loads = PROGRAM.replace("    CALL(cuModuleLoad,", "    return CALL(cuModuleLoad,");
    let Some(program) = compiled(&case.folder, "loads", &loads, &[]) else { return };
    for (ptx, expected) in [(None, 222), (Some("9.0"), 0), (Some("8.0"), 0), (Some("7.8"), 222)] {
        let mut command = tool();
        if let Some(ptx) = ptx {
            command.env("CUDA_LAUNCH_EMULATOR_PTX", ptx);
        }
        command.args(["harness", "--as-of", "11.8", "--"]).arg(&program).args([&file, "exit"]);
        let run = finished(&command.output().unwrap());
        assert_eq!(run.code, expected, "{ptx:?}: {}", run.err);
    }
}
