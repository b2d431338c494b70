//! `cuda-launch harness`: what its options do to a program in C, and what the program gives back.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_harness::{or_skip, skipped};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Run, compiled, emulator_library, finished, scratch, tool};

/// Opens the driver by its name, says what it has, and keeps memory if there is none for more. Its exit code is the driver's.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stddef.h>
typedef unsigned long long address;
int main(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda)
        return printf("no driver\n"), 99;
    int (*init)(unsigned) = dlsym(cuda, "cuInit");
    int (*version)(int *) = dlsym(cuda, "cuDriverGetVersion");
    int (*count)(int *) = dlsym(cuda, "cuDeviceGetCount");
    int (*retain)(void **, int) = dlsym(cuda, "cuDevicePrimaryCtxRetain");
    int (*current)(void *) = dlsym(cuda, "cuCtxSetCurrent");
    int (*allocate)(address *, size_t) = dlsym(cuda, "cuMemAlloc_v2");
    int (*release)(address) = dlsym(cuda, "cuMemFree_v2");
    int (*end)(int) = dlsym(cuda, "cuDevicePrimaryCtxRelease_v2");
    int number = 0, code;
    void *context;
    address a, b;
    if ((code = init(0)))
        return code;
    version(&number);
    printf("version %d\n", number);
    count(&number);
    printf("devices %d\n", number);
    retain(&context, 0);
    current(context);
    if ((code = allocate(&a, 1 << 20)) || (code = allocate(&b, 1 << 20)))
        return code;
    release(a);
    release(b);
    return end(0);
}
"#;

/// The program, where it can be made and there is a library to run it with.
fn program(folder: &Path) -> Option<PathBuf> {
    emulator_library()?;
    compiled(folder, "program", PROGRAM, &[])
}

fn harness(options: &[&str], program: &[&str]) -> Run {
    let mut command = tool();
    // Where cargo names the folder of the tool.
    command.env_remove("LD_LIBRARY_PATH");
    command.env_remove("CUDA_LAUNCH_EMULATOR_LIBRARY").arg("harness");
    finished(&command.args(options).arg("--").args(program).output().unwrap())
}

#[test]
fn a_program_runs_on_the_emulator_and_its_faults_are_found() {
    let folder = scratch("harness-faults");
    let Some(program) = program(&folder) else { return };
    let program = [program.to_str().unwrap()];
    let plain = harness(&["--leaks"], &program);
    assert_eq!((plain.code, plain.out.as_str()), (0, "version 13000\ndevices 1\n"), "{}", plain.err);
    assert!(plain.says("0 live, 0 mistakes"), "{}", plain.err);

    let failed = harness(&["--fail", "cuMemAlloc:2:OUT_OF_MEMORY", "--leaks"], &program);
    assert_eq!(failed.code, 2, "{}", failed.err);
    assert!(failed.says("memory#1 (1048576 bytes)"), "{}", failed.err);
    // Any call, from the second on, and by its number; without a code; a fault that stays.
    for (fault, code) in
        [("cuMemAlloc:2..:304", 48), ("cuMemAlloc", 231), ("*:1:999", 231), ("cuMemAlloc:1:!700", 188)]
    {
        let run = harness(&["--fail", fault], &program);
        assert_eq!(run.code, code, "{fault}: {}", run.err);
        assert!(!run.says("never met"), "{fault}: {}", run.err);
    }
    // A fault that the program never met has tested nothing.
    for (fault, told) in [
        (
            "cuMemAlloc:9:OUT_OF_MEMORY",
            "the fault cuMemAlloc@9=OUT_OF_MEMORY was never met: its function was called 2 times",
        ),
        ("cuEventCreate", "the fault cuEventCreate=UNKNOWN was never met: its function was called 0 times"),
    ] {
        let run = harness(&["--fail", fault], &program);
        assert!(run.code == 0 && run.says(told), "{fault}: {}", run.err);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The first block of a language in a section of a page.
fn block<'page>(page: &'page str, section: &str, language: &str) -> &'page str {
    let (_, section) = page.split_once(&format!("\n## {section}\n")).expect(section);
    let (_, block) = section.split_once(&format!("\n```{language}\n")).expect(language);
    block.split_once("\n```").expect("an end").0
}

/// The page's program is compiled as it stands there, by the commands of the page, and prints what that says.
#[test]
fn the_program_in_c_of_the_page_about_testing_does_what_the_page_says() {
    let folder = scratch("harness-page");
    if emulator_library().is_none()
        || compiled(&folder, "nothing", "int main(void) { return 0; }", &[]).is_none()
    {
        return;
    }
    let page = std::fs::read_to_string(support::root().join("docs/testing.md")).unwrap();
    let section = "A program in any language";
    let source = block(&page, section, "c");
    std::fs::write(folder.join("program.c"), source).unwrap();
    let console = block(&page, section, "console");
    // What `cargo install` would have put there.
    let tools = Path::new(support::TOOL).parent().unwrap().to_str().unwrap().to_owned();
    let path = [tools, std::env::var("PATH").unwrap_or_default()].join(":");
    let (_, commands) = console.split_once("$ cargo install cuda-launch-cli\n").expect("the installation");
    let commands = commands.lines().take_while(|line| !line.contains("$ cuda-launch harness"));
    let commands: Vec<&str> = commands.map(|line| line.strip_prefix("$ ").expect("a command")).collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    for command in commands {
        let mut shell = Command::new("sh");
        shell.args(["-ec", command]).current_dir(&folder).env("PATH", &path).env_remove("LD_LIBRARY_PATH");
        assert!(shell.status().unwrap().success(), "{command}");
    }
    let program = folder.join("program");
    let program = program.to_str().unwrap();
    let (command, output) = console
        .split_once("\n$ cuda-launch harness ")
        .and_then(|(_, rest)| rest.split_once(" -- ./program\n"))
        .expect("the command and its output");
    let options: Vec<&str> = command.split(' ').collect();
    let run = harness(&options, &[program]);
    assert_eq!((run.err.trim_end(), run.code), (output, 2));
    // Without the failure nothing is wrong, which is why the page injects one.
    let run = harness(&["--leaks"], &[program]);
    assert_eq!((run.err.as_str(), run.code), ("cuda-harness: 0 live, 0 mistakes\nnothing is live\n", 0));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Whether a text has these parts, one after the other.
fn has_parts<'part>(text: &str, mut parts: impl Iterator<Item = &'part str>) -> bool {
    parts.try_fold(text, |rest, part| rest.split_once(part).map(|(_, rest)| rest)).is_some()
}

/// The page's program prints what the page says, with its lines folded and `..` for what is left out; corrected as the page says, it passes.
#[test]
fn the_program_in_python_of_the_page_about_testing_does_what_the_page_says() {
    if emulator_library().is_none() {
        return;
    }
    let mut python = Command::new("python");
    let found = python.args(["-c", "import numba, numba_cuda, numpy, pytest"]).output();
    let has_all = found.is_ok_and(|output| output.status.success());
    if or_skip(has_all.then_some(()), "there is no Python with numba-cuda and pytest").is_none() {
        return;
    }
    let folder = scratch("harness-numba");
    let page = std::fs::read_to_string(support::root().join("docs/testing.md")).unwrap();
    let section = "A program in Python, with numba";
    let (source, console) = (block(&page, section, "python"), block(&page, section, "console"));
    let (_, rest) = console.split_once("\n$ cuda-launch ").expect("the command");
    let (command, said) = rest.split_once('\n').expect("what it prints");
    let run = |source: &str| {
        let file = folder.join(command.rsplit(' ').next().unwrap());
        std::fs::write(file, source).unwrap();
        // pytest shortens its last line to the width of the terminal.
        finished(&tool().current_dir(&folder).env("COLUMNS", "80").args(command.split(' ')).output().unwrap())
    };
    let wrong = run(source);
    let text = format!("{}{}", wrong.out, wrong.err);
    let (fault, failed) = said.split_once("\nFAILED").expect("pytest's line");
    // Which line of PTX it is depends on the version of numba-cuda.
    let fault = fault.replace('\n', " ");
    let (before, after) = fault.split_once("PTX line ").unwrap();
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let failed = failed.strip_suffix("...").unwrap();
    let parts = before.split("..").chain(["PTX line "]).chain(after.split("..")).chain([failed]);
    assert!(wrong.code == 1 && has_parts(&text, parts), "{}: {text}\nthe page says\n{said}", wrong.code);
    let right = run(&source.replace("if i < target.size:", "if i < target.size - 1:"));
    assert_eq!(right.code, 0, "{}{}", right.out, right.err);
    std::fs::remove_dir_all(folder).unwrap();
}

/// By the first ABI, on a thread's own stream and into a graph: the ledger has it, whichever function began it.
#[test]
fn a_capture_that_is_left_open_is_reported() {
    let folder = scratch("harness-captures");
    let Some(library) = emulator_library() else { return };
    std::os::unix::fs::symlink(library, folder.join("libcuda.so.1")).unwrap();
    let sources = support::root().join("cli/tests/check");
    let source = std::fs::read_to_string(sources.join("open_captures.c")).unwrap();
    let linked = ["-I", sources.to_str().unwrap(), "-L", folder.to_str().unwrap(), "-l:libcuda.so.1"];
    let faulty = [&["-DWRONG"], linked.as_slice()].concat();
    let Some(wrong) = compiled(&folder, "wrong", &source, &faulty) else { return };
    let right = compiled(&folder, "right", &source, &linked).unwrap();
    for way in ["0", "1", "2", "3", "4", "5", "6"] {
        let run = harness(&["--leaks"], &[wrong.to_str().unwrap(), way]);
        assert!(run.code == 1 && run.says("live: capture#1, created by call"), "{way}: {}", run.err);
        let run = harness(&["--leaks"], &[right.to_str().unwrap(), way]);
        // It keeps other objects.
        assert!(run.code == 1 && !run.says("capture#"), "{way}: {}", run.err);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_driver_is_as_old_as_small_and_as_poor_as_it_is_told() {
    let folder = scratch("harness-driver");
    let Some(program) = program(&folder) else { return };
    let program = [program.to_str().unwrap()];
    let old = harness(&["--as-of", "11.8", "--devices", "3"], &program);
    assert_eq!((old.code, old.out.as_str()), (0, "version 11080\ndevices 3\n"), "{}", old.err);
    let small = harness(&["--memory", "1536K"], &program);
    assert_eq!(small.code, 2, "{}", small.err);
    let poor = harness(&["--hide", "cuInit,cuMemFree_v2"], &program);
    assert_eq!(poor.code, 36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER: {}", poor.err);
    let none = harness(&["--devices", "0"], &program);
    assert_eq!(none.code, 100, "CUDA_ERROR_NO_DEVICE: {}", none.err);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_log_that_lacks_calls_is_an_error() {
    let folder = scratch("harness-full");
    let Some(program) = program(&folder) else { return };
    let program = [program.to_str().unwrap()];
    let run = harness(&["--log", "/dev/full"], &program);
    assert!(run.code == 3 && run.says("cannot write /dev/full"), "{}: {}", run.code, run.err);
    assert_eq!(run.err.matches("/dev/full").count(), 1, "{}", run.err);
    // The program's own failure comes first.
    let run = harness(&["--log", "/dev/full", "--fail", "cuMemAlloc"], &program);
    assert!(run.code == 231 && run.says("cannot write /dev/full"), "{}: {}", run.code, run.err);
    // Without the tool, the library says it.
    let mut command = Command::new(program[0]);
    let library = folder.join("libcuda.so.1");
    std::os::unix::fs::symlink(emulator_library().unwrap(), library).unwrap();
    command.env("LD_LIBRARY_PATH", &folder).env("CUDA_LAUNCH_HARNESS_LOG", "/dev/full");
    let run = finished(&command.output().unwrap());
    assert!(run.code == 0 && run.says("cuda-harness: the log /dev/full lacks calls"), "{}", run.err);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn calls_are_written_down_and_checks_are_asked_for() {
    let folder = scratch("harness-log");
    let Some(program) = program(&folder) else { return };
    let log = folder.join("calls");
    let run = harness(&["--log", log.to_str().unwrap()], &[program.to_str().unwrap()]);
    let calls = std::fs::read_to_string(&log).unwrap();
    assert!(run.code == 0 && calls.matches("cuMemAlloc_v2(").count() == 2, "{}{calls}", run.err);
    let run = harness(&["--log", "-"], &[program.to_str().unwrap()]);
    assert!(run.code == 0 && run.says("cuMemAlloc_v2("), "{}", run.err);

    let asks = ["sh", "-c", "echo $CUDA_LAUNCH_EMULATOR_CHECK"];
    assert_eq!(harness(&["--check"], &asks).out, "init,race,barrier\n");
    assert_eq!(harness(&["--check=race,leak"], &asks).out, "race,leak\n");
    assert_eq!(harness(&[], &asks).out, "\n");
    std::fs::remove_dir_all(folder).unwrap();
}

/// In an argument, and in the configuration of a launch.
#[test]
fn the_null_stream_of_a_per_thread_function_has_its_own_name_in_the_log() {
    let folder = scratch("harness-per-thread");
    let Some(library) = emulator_library() else { return };
    std::os::unix::fs::symlink(library, folder.join("libcuda.so.1")).unwrap();
    let sources = support::root().join("cli/tests/check");
    let source = r#"
#include "driver.h"
typedef struct { u32 grid[3], block[3], shared; handle stream; void *attributes; u32 count; } config;
int cuLaunchKernelEx(const config *, handle, void **, void **);
int cuLaunchKernelEx_ptsz(const config *, handle, void **, void **);
int cuMemsetD32Async_ptsz(ptr, u32, size_t, handle);
int cuStreamSynchronize_ptsz(handle);
int main(void) {
    begin();
    ptr x;
    handle stream;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&stream, 0));
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, &value};
    config asked = {{1, 1, 1}, {64, 1, 1}, 0, NULL, NULL, 0};
    OK(cuLaunchKernelEx(&asked, fill, arguments, NULL));
    OK(cuLaunchKernelEx_ptsz(&asked, fill, arguments, NULL));
    asked.stream = stream;
    OK(cuLaunchKernelEx_ptsz(&asked, fill, arguments, NULL));
    OK(cuMemsetD32Async_ptsz(x, 1, 64, NULL));
    OK(cuStreamSynchronize_ptsz(NULL));
    return asked.stream != stream;
}
"#;
    let linked = ["-I", sources.to_str().unwrap(), "-L", folder.to_str().unwrap(), "-l:libcuda.so.1"];
    let Some(program) = compiled(&folder, "program", source, &linked) else { return };
    let log = folder.join("calls");
    let run = harness(&["--log", log.to_str().unwrap()], &[program.to_str().unwrap()]);
    let calls = std::fs::read_to_string(&log).unwrap();
    assert_eq!(run.code, 0, "{}{calls}", run.err);
    let streams = |function: &str| -> Vec<&str> {
        let lines = calls.lines().filter(|line| line.contains(&format!(" {function}")));
        let names = ["per-thread", "stream#1", "default"];
        lines.map(|line| *names.iter().find(|name| line.contains(*name)).unwrap_or(&line)).collect()
    };
    assert_eq!(streams("cuLaunchKernelEx"), ["default", "per-thread", "stream#1"], "{calls}");
    assert_eq!(streams("cuMemsetD32Async("), ["per-thread"], "{calls}");
    assert_eq!(streams("cuStreamSynchronize("), ["per-thread"], "{calls}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn exit_codes_and_signals_are_passed_on() {
    if emulator_library().is_none() {
        return;
    }
    assert_eq!(harness(&[], &["sh", "-c", "exit 7"]).code, 7);
    let killed = harness(&[], &["sh", "-c", "kill -TERM $$"]);
    assert!(killed.code == 143 && killed.says("signal 15 ended the program"), "{}", killed.err);
    let answer = harness(&["--json"], &["sh", "-c", "echo words; exit 7"]);
    let value: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!((&value["schema"], &value["program_code"]), (&"cuda-launch.harness.1".into(), &7.into()));
    assert!(answer.says("words"), "{}", answer.err);
    let absent = harness(&[], &["/no/such/program"]);
    assert!(absent.code == 3 && absent.says("/no/such/program"), "{}", absent.err);
}

/// A signal that the tool alone gets goes to the program, which decides.
#[test]
#[allow(unsafe_code)]
fn a_signal_goes_to_the_program() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("harness-signal");
    let script = "trap 'exit 5' TERM; touch ready; for i in $(seq 3000); do sleep 0.01; done";
    let mut command = tool();
    command.current_dir(&folder).args(["harness", "--", "sh", "-c", script]);
    let mut tool = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    while !folder.join("ready").exists() {
        assert!(tool.try_wait().unwrap().is_none(), "the program ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // SAFETY: takes two numbers; the process is this test's, and nobody has waited for it.
    assert_eq!(unsafe { libc::kill(i32::try_from(tool.id()).unwrap(), libc::SIGTERM) }, 0);
    assert_eq!(tool.wait().unwrap().code(), Some(5));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_understood_starts_nothing() {
    if emulator_library().is_none() {
        return;
    }
    for (options, word) in [
        (["--fail", "cuMemAlloc:second"], "--fail"),
        (["--fail", "cuMemAlloc:2:NO_SUCH_CODE"], "--fail"),
        (["--fail", "cuMemAlloc:1:2:3"], "NAME:N:CODE"),
        (["--fail", "cuNoSuchFunction"], "cuNoSuchFunction"),
        (["--fail", "cuMemAloc"], "did you mean `cuMemAlloc`?"),
        (["--hide", "cuNoSuchFunction"], "cuNoSuchFunction"),
        (["--memory", "much"], "--memory"),
        (["--as-of", "new"], "--as-of"),
        (["--as-of", "13.5"], "--as-of: \"13.5\" should be a version from 11.4 to 13.0"),
        (["--as-of", "10.2"], "--as-of: \"10.2\" should be a version from 11.4 to 13.0"),
        (["--devices", "9"], "--devices"),
        (["--check=speed", "--leaks"], "--check"),
    ] {
        let run = harness(&options, &["sh", "-c", "echo it started"]);
        assert!(run.code == 2 && run.out.is_empty() && run.says(word), "{options:?}: {}{}", run.out, run.err);
    }
    let run = harness(&["--library", "/no/such.so"], &["true"]);
    assert!(run.code == 3 && run.says("cargo install cuda-launch-cli"), "{}", run.err);
}

/// The loader takes `LD_LIBRARY_PATH` from most programs, not from all.
#[test]
fn a_program_that_finds_another_driver_is_named() {
    let folder = scratch("harness-reach");
    let Some(plain) = program(&folder) else { return };
    let other = folder.join("other");
    std::fs::create_dir_all(&other).unwrap();
    let stub = "int cuInit(unsigned flags) { return 77; }";
    let shared = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"];
    compiled(&other, "libcuda.so.1", stub, &shared).unwrap();
    let linked = |name: &str, dtags: &str| {
        let rpath = format!("-Wl,{dtags},-rpath,$ORIGIN/other");
        let library = other.join("libcuda.so.1");
        let calls = "int cuInit(unsigned); int main(void) { return cuInit(0); }";
        compiled(&folder, name, calls, &[&rpath, library.to_str().unwrap()]).unwrap()
    };
    let old = harness(&[], &[linked("rpath", "--disable-new-dtags").to_str().unwrap()]);
    assert!(old.code == 77 && old.says("RPATH") && old.says("other/libcuda.so.1"), "{}", old.err);
    let new = harness(&[], &[linked("runpath", "--enable-new-dtags").to_str().unwrap()]);
    assert!(new.code == 0 && !new.says("note:"), "{}", new.err);

    // A script is as good as its interpreter.
    let script = folder.join("script");
    std::fs::write(&script, format!("#!{}\n", folder.join("rpath").display())).unwrap();
    set_mode(&script, 0o755);
    let run = harness(&[], &[script.to_str().unwrap()]);
    assert!(run.code == 77 && run.says("RPATH"), "{}", run.err);

    let bare = folder.join("static.c");
    std::fs::write(&bare, "int main(void) { return 4; }").unwrap();
    let made = std::process::Command::new("cc")
        .args(["-static", "-o"])
        .arg(folder.join("static"))
        .arg(&bare)
        .output();
    if or_skip(made.ok().filter(|made| made.status.success()), "no static C library here").is_some() {
        let run = harness(&[], &[folder.join("static").to_str().unwrap()]);
        assert!(run.code == 4 && run.says("statically linked"), "{}", run.err);
    }

    // For whoever owns it the bit changes nothing.
    set_mode(&plain, 0o4755);
    let run = harness(&[], &[plain.to_str().unwrap()]);
    assert!(run.code == 0 && !run.says("set-user-ID"), "{}", run.err);
    if std::os::unix::fs::chown(&plain, Some(65534), None).is_ok() {
        set_mode(&plain, 0o4755);
        let run = harness(&[], &[plain.to_str().unwrap()]);
        assert!(run.says("set-user-ID"), "{}", run.err);
    } else {
        skipped("this user cannot give a file to another");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn set_mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}
