//! Commands that start programs, with odd files, folders and options: each is refused with what to do, or works.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/recordings.rs"]
mod recordings;
mod support;

use recordings::{Folder, saxpy};
use std::path::Path;
use support::{Run, finished, recorder, root, run, tool};

/// Starts a program on the emulator.
fn started(command: &str, recorder: &Path, options: &[&str], program: &[&str]) -> Run {
    let mut tool = tool();
    tool.args([command, "--driver", "emulator", "--recorder"]).arg(recorder).args(options).arg("--");
    finished(&tool.args(program).output().unwrap())
}

#[test]
fn what_cannot_be_started_is_named_with_what_to_do() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("odd-start");
    let output = folder.0.join("out.json");
    let options = ["-o", output.to_str().unwrap()];
    let text = root().join("examples/kernels/saxpy.ptx");
    for command in ["check", "record", "trace"] {
        let run = started(command, &recorder, &options, &[folder.0.to_str().unwrap()]);
        assert!(run.code == 3 && run.says("it is a folder: name a program"), "{command}: {}", run.err);
        let run = started(command, &text, &options, &["true"]);
        let says = "it is not a shared library help: --recorder takes the file `cuda-launch-recorder`";
        assert!(run.code == 3 && run.says(says), "{command}: {}", run.err);
        // A list of folders is divided by colons.
        let odd = folder.0.join("a:b");
        std::fs::create_dir_all(&odd).unwrap();
        let mut within = tool();
        within
            .env("TMPDIR", odd)
            .args([command, "--recorder"])
            .arg(&recorder)
            .args(options)
            .args(["--", "true"]);
        let run = finished(&within.output().unwrap());
        assert!(run.code == 3 && run.says("help: set TMPDIR to another folder"), "{command}: {}", run.err);
    }
}

#[test]
fn two_outputs_are_two_files() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("odd-two");
    let file = folder.0.join("file");
    let (one, other) = (file.display().to_string(), format!("{}/./file", folder.0.display()));
    for there in [false, true] {
        let run = started("check", &recorder, &["--log", &one, "-o", &other], &["true"]);
        let says = format!("--output and --log both write to {one}");
        assert!(run.code == 2 && run.says(&says), "{there}: {}", run.err);
        std::fs::write(&file, "kept").unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    let found = run(&["profile", "examples/kernels/saxpy.ptx", "saxpy", "--html", &one, "--lcov", &other]);
    assert!(found.code == 2 && found.says("--html and --lcov both write to"), "{}", found.err);
}

/// Somebody reads it to its end.
#[test]
fn a_log_may_be_a_pipe() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("odd-pipe");
    let pipe = folder.0.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::process::Command::new("timeout")
        .args(["60", "cat"])
        .arg(&pipe)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let program = [&["timeout", "60"], saxpy("u32:100").as_slice()].concat();
    let run = started("check", &recorder, &["--log", pipe.to_str().unwrap()], &program);
    assert_eq!(run.code, 0, "{}", run.err);
    let log = reader.wait_with_output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.starts_with("#1 ") && log.contains("cuLaunchKernel"), "{log}");
}

#[test]
fn a_list_of_rules_is_text_and_a_device_is_one_of_the_driver() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("odd-list");
    let list = folder.0.join("list");
    std::fs::write(&list, b"leak\xff\n").unwrap();
    let run = started("check", &recorder, &["--allow-file", list.to_str().unwrap()], &["true"]);
    assert!(run.code == 3 && run.says("help: it has to be text in UTF-8: convert it"), "{}", run.err);
    let (run, _) = folder.record(&recorder, &[], &saxpy("u32:100"));
    assert_eq!(run.code, 0, "{}", run.err);
    let run = finished(&tool().args(["replay", "--device", "99"]).arg(folder.file()).output().unwrap());
    assert!(run.code == 2 && run.says("--device 99: the driver has no such device"), "{}", run.err);
}
