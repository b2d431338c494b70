//! What programs do with their process: they fork, close files, empty their environment, and have threads with small stacks. Neither the
//! recorder nor the emulator's library may notice.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_harness::or_skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{Run, emulator_library, finished, recorder, root, scratch, tool};

/// A folder with a library under the driver's name, and programs that are linked with it.
struct Programs {
    folder: PathBuf,
}

impl Programs {
    fn new(test: &str, library: Option<PathBuf>) -> Option<Self> {
        let library = library?;
        let is_there = Command::new("cc").arg("--version").stdout(Stdio::null()).status().is_ok();
        or_skip(is_there.then_some(()), "there is no C compiler")?;
        let folder = scratch(test);
        // Under the name that programs ask for, and under its own, which programs that are linked with it look for.
        for name in [library.file_name().unwrap(), "libcuda.so.1".as_ref()] {
            std::os::unix::fs::symlink(&library, folder.join(name)).unwrap();
        }
        Some(Self { folder })
    }

    fn compile(&self, name: &str, options: &[&str]) -> PathBuf {
        let source = root().join("cli/tests/processes").join(format!("{name}.c"));
        let program = self.folder.join(name);
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-pthread"]);
        cc.arg(source).arg("-o").arg(&program).arg("-L").arg(&self.folder).args(options).arg("-ldl");
        assert!(cc.status().unwrap().success(), "{name}");
        program
    }

    /// The tool, before the name of the program.
    fn command(&self, command: &str) -> Command {
        let mut tool = tool();
        tool.args([command, "--driver", "emulator", "--recorder"]).arg(self.folder.join("libcuda.so.1"));
        match command {
            "trace" => drop(tool.arg("-o").arg(self.folder.join("trace.json"))),
            "record" => drop(tool.arg("-o").arg(self.folder.join("launch.record"))),
            // The threads of `forks` use the same memory.
            _ => drop(tool.args(["--allow", "stream-race", "--level", "error"])),
        }
        tool.arg("--");
        tool
    }

    fn run(&self, command: &str, program: &[&Path]) -> Run {
        finished(&self.command(command).args(program).output().unwrap())
    }

    /// The program on the emulator's library.
    fn alone(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(root()).env("LD_LIBRARY_PATH", &self.folder);
        command
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const LINKED: &[&str] = &["-l:libcuda.so.1"];

#[test]
fn a_report_gets_into_no_file_of_the_program_and_ends_it_by_no_signal() {
    let Some(programs) = Programs::new("processes-files", emulator_library()) else { return };
    let program = programs.compile("files", LINKED);
    let data = programs.folder.join("data");
    let run = finished(&programs.alone(&program).arg("closed").arg(&data).output().unwrap());
    assert_eq!((run.code, std::fs::read(&data).unwrap()), (0, vec![]), "{}", run.err);
    let run = finished(&programs.alone(&program).arg("put").arg(&data).output().unwrap());
    let text = std::fs::read_to_string(&data).unwrap();
    assert!(run.code == 0 && text.contains("cuda-emulator: illegal write"), "{text}");
    // Nobody reads a pipe; what was written would be a fault's report.
    let mut waits = programs.alone(&program);
    waits.arg("waits").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = waits.spawn().unwrap();
    drop(child.stderr.take());
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let run = finished(&programs.alone(&program).arg("waits").stdin(Stdio::null()).output().unwrap());
    assert!(run.code == 0 && run.says("cuda-emulator: illegal write"), "{}", run.err);
}

#[test]
fn a_forked_process_says_that_nothing_is_recorded_and_does_not_hang() {
    let Some(programs) = Programs::new("processes-forks", recorder()) else { return };
    let program = programs.compile("forks", LINKED);
    for (command, done) in [("trace", "traced"), ("check", "checked"), ("record", "recorded")] {
        let run = programs.run(command, &[&program]);
        let words = format!("was forked after its parent had used CUDA: it is not {done}");
        assert_eq!((run.code, run.err.matches(&words).count()), (0, 24), "{command}: {}", run.err);
    }
}

/// Of 16 KiB, which the emulator alone needs most of.
#[test]
fn a_thread_may_have_the_smallest_stack() {
    let Some(programs) = Programs::new("processes-stacks", recorder()) else { return };
    for wrong in [None, Some("-DWRONG")] {
        let options: Vec<&str> = wrong.into_iter().chain(LINKED.iter().copied()).collect();
        let program = programs.compile("stacks", &options);
        for command in ["trace", "check", "record"] {
            let run = programs.run(command, &[&program]);
            assert_eq!(run.code, 0, "{command} {wrong:?}: {}", run.err);
        }
    }
}

#[test]
fn an_empty_environment_does_not_silently_mean_the_emulator() {
    let Some(programs) = Programs::new("processes-environment", recorder()) else { return };
    // It was there when the process was started.
    let run = programs.run("trace", &[&programs.compile("environment", &[])]);
    assert!(run.code == 0 && run.says("trace.json: 1 call,"), "{}", run.err);
    // It was not, and the library is found by a path in the program.
    let here = format!("-Wl,-rpath,{}", programs.folder.display());
    let program = programs.compile("forks", &[&here, LINKED[0]]);
    let run = programs.run("trace", &[Path::new("env"), Path::new("-i"), &program]);
    let words =
        "is not recorded, and its calls go to the emulator: its environment lacks CUDA_LAUNCH_TRACE_DRIVER";
    assert!(run.says(words), "{}", run.err);
}
