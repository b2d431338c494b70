//! Options with odd values: refused before anything runs, in words that lead on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use support::{Run, emulator_library, finished, json, recorder, root, run, scratch, tool};

const VECADD: &str = "examples/kernels/vecadd.ptx";
const SAXPY: &str = "examples/kernels/saxpy.ptx";
const FOUR: &[&str] = &["--arg", "u32:4", "--arg", "f32:1", "--arg", "in:f32:4*1", "--arg", "inout:f32:4*1"];

/// Each command line, the exit code, and words of the error.
fn refused(cases: &[(&[&str], i32, &str)]) {
    for (arguments, code, words) in cases {
        let found = run(arguments);
        assert_eq!(found.code, *code, "{arguments:?}: {}", found.err);
        assert!(found.says(words) && found.out.is_empty(), "{arguments:?}: {}", found.err);
    }
}

/// `saxpy` with these options.
fn saxpy<'a>(options: &[&'a str]) -> Vec<&'a str> {
    [&["run", SAXPY, "saxpy"], FOUR, options].concat()
}

#[test]
fn a_negative_number_is_a_value_and_no_option() {
    for (option, words) in [
        ("--grid", "`-1` is less than 0"),
        ("--block", "`-1` is less than 0"),
        ("--shared", "it should be a number of bytes"),
        ("--device", "-1 is not in 0..=4294967295"),
        ("--print", "it should be a whole number from 0 on"),
        ("--bench", "-1 is not in 0..=4294967295"),
        ("--seed", "it should be a whole number from 0 on"),
        ("--schedules", "-1 is not in 1..=4294967295"),
    ] {
        let found = run(&saxpy(&[option, "-1"]));
        assert!(found.code == 2 && found.says("invalid value '-1' for"), "{option}: {}", found.err);
        assert!(found.says(words), "{option}: {}", found.err);
    }
    refused(&[
        (&["record", "--nth", "-1", "--", "true"], 2, "it should be a whole number from 0 on"),
        (&["record", "--nth", "0", "--", "true"], 2, "they are counted from 1"),
        (&["harness", "--devices", "-1", "--", "true"], 2, "-1 is not in 0..=8"),
        (&["occupancy", VECADD, "vecadd", "--registers", "-1"], 2, "-1 is not in 1..=255"),
    ]);
}

#[test]
fn shapes_and_sizes_say_what_is_wrong() {
    for (options, words) in [
        (["--block", "x"], "a number is missing in `x`: give X, X,Y or X,Y,Z"),
        (["--grid", "1,,2"], "a number is missing in `1,,2`"),
        (["--grid", "4294967296"], "`4294967296` is more than 4294967295"),
        (["--shared", "5G"], "it should be at most 4294967295"),
        (["--print", "99999999999999999999"], "it is too large"),
        (["--arg", "4"], "expected TYPE:VALUE, hex:BYTES, in:TYPE:DATA, inout:TYPE:DATA or out:TYPE:COUNT"),
    ] {
        refused(&[(&saxpy(&options), 2, words)]);
    }
    let shared = run(&[
        "run",
        "tests/kernels/shared.ptx",
        "shared_sizes",
        "--grid",
        "1",
        "--block",
        "64",
        "--shared",
        "1K",
        "--arg",
        "out:u32:2",
    ]);
    assert!(shared.code == 0 && shared.out.contains("1024 bytes of dynamic shared memory"), "{}", shared.err);
    for registers in ["0", "256"] {
        refused(&[(&["occupancy", VECADD, "vecadd", "--registers", registers], 2, "is not in 1..=255")]);
    }
    for arch in ["999", "sm_999"] {
        let known = "these are known here: sm_50, sm_52,";
        refused(&[(&["occupancy", VECADD, "vecadd", "--registers", "8", "--arch", arch], 2, known)]);
    }
    refused(&[(&["bind", VECADD, "--crate", "a b"], 2, "it should be a path in Rust")]);
}

/// A finite number that its type does not hold is no infinity.
#[test]
fn a_number_is_never_replaced_by_infinity() {
    let with = |number: &str| {
        let words = [
            "run",
            SAXPY,
            "saxpy",
            "--arg",
            "u32:1",
            "--arg",
            number,
            "--arg",
            "in:f32:1",
            "--arg",
            "inout:f32:0",
        ];
        run(&words)
    };
    let large = with("f32:1e40");
    assert!(large.code == 2 && large.says("1e40 does not fit in f32"), "{}", large.err);
    assert!(large.says("write inf for infinity"), "{}", large.err);
    let infinite = with("f32:inf");
    assert!(infinite.code == 0 && infinite.out.contains("inf"), "{}", infinite.err);
}

#[test]
fn drivers_and_devices_that_are_not_there() {
    let names = "help: --driver takes `system`, `emulator` or the path of a libcuda";
    refused(&[(&saxpy(&["--driver", "Emulator"]), 4, names)]);
    let other = run(&saxpy(&["--device", "7"]));
    assert!(
        other.says(
            "the driver has no such device (cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (101): device 7) help:"
        ),
        "{}",
        other.err
    );
    assert!(other.says("`cuda-launch doctor` lists them"), "{}", other.err);
}

#[test]
fn a_replay_on_a_device_that_is_not_there() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("replay-device");
    let file = folder.join("launch.record");
    let mut command = tool();
    command.args(["record", "--recorder"]).arg(recorder).arg("-o").arg(&file).args(["--", support::TOOL]);
    assert_eq!(finished(&command.args(saxpy(&[])).output().unwrap()).code, 0);
    let file = file.to_str().unwrap();
    refused(&[(&["replay", file, "--device", "3"], 2, "--device 3: the driver has no such device")]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Each option that writes a file, with the kernel file as its value.
#[test]
fn a_kernel_file_is_not_overwritten() {
    let folder = scratch("overwritten");
    let kernel = folder.join("saxpy.ptx");
    std::fs::copy(root().join(SAXPY), &kernel).unwrap();
    let name = kernel.to_str().unwrap();
    let other = folder.join(".").join("saxpy.ptx");
    let other = other.to_str().unwrap();
    let saved = format!("inout:f32:4*1@{other}");
    let launch = |command| [&[command, name, "saxpy"], FOUR].concat();
    for arguments in [
        vec!["bind", name, "-o", other],
        vec!["occupancy", name, "saxpy", "--svg", other],
        [launch("profile"), vec!["--html", other]].concat(),
        [launch("profile"), vec!["--lcov", other]].concat(),
        [&launch("run")[..9], &["--arg", &saved]].concat(),
    ] {
        let found = run(&arguments);
        assert!(
            found.code == 2 && found.says("is the kernel file, which would be overwritten"),
            "{arguments:?}: {}",
            found.err
        );
        assert_eq!(
            std::fs::read(&kernel).unwrap(),
            std::fs::read(root().join(SAXPY)).unwrap(),
            "{arguments:?}"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn two_outputs_are_two_files() {
    let folder = scratch("two-outputs");
    let file = folder.join("out");
    let name = file.to_str().unwrap();
    let profile = [&["profile", SAXPY, "saxpy"], FOUR, &["--html", name, "--lcov", name]].concat();
    refused(&[(&profile, 2, "--html and --lcov both write to")]);
    let twice = format!("inout:f32:4*1@{name}");
    let run_twice = [
        "run",
        VECADD,
        "vecadd",
        "--arg",
        "in:f32[]:4*1",
        "--arg",
        &twice.replace("f32", "f32[]"),
        "--arg",
        &twice.replace("f32", "f32[]"),
    ];
    refused(&[(&run_twice, 2, "both write to")]);
    if let Some(recorder) = recorder() {
        let recorder = recorder.to_str().unwrap();
        let check = ["check", "--recorder", recorder, "-o", name, "--log", name, "--", "true"];
        refused(&[(&check, 2, "--output and --log both write to")]);
    }
    // A device takes both.
    if cfg!(unix) {
        let null =
            [&["profile", SAXPY, "saxpy"], FOUR, &["--html", "/dev/null", "--lcov", "/dev/null"]].concat();
        assert_eq!(run(&null).code, 0);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The files that a command puts in front of a program's driver.
#[test]
#[cfg(target_os = "linux")]
fn a_library_that_is_none_is_refused() {
    let readme = root().join("README.md");
    let readme = readme.to_str().unwrap();
    for (command, option, name) in [
        ("trace", "--recorder", "cuda-launch-recorder"),
        ("check", "--recorder", "cuda-launch-recorder"),
        ("record", "--recorder", "cuda-launch-recorder"),
        ("harness", "--library", "cuda-launch-emulator"),
        ("emulate", "--library", "cuda-launch-emulator"),
    ] {
        let none = format!("README.md: it is not a shared library help: {option} takes the file `{name}`");
        refused(&[
            (&[command, option, readme, "--", "true"], 3, &none),
            (&[command, option, "/no/such", "--", "true"], 3, "cannot read /no/such"),
        ]);
    }
}

#[test]
fn settings_of_the_emulator_are_tried_first() {
    for bytes in ["0", "foo", "1T", "-5", "99999999999999G"] {
        refused(&[(&["emulate", "--memory", bytes, "--", "true"], 2, "invalid value")]);
    }
    let fault = "--fail: \"cuMemAlloc:0\" should be a function, which of its calls";
    refused(&[(&["harness", "--fail", "cuMemAlloc:0", "--", "true"], 2, fault)]);
    let Some(library) = emulator_library() else { return };
    let mut command = tool();
    command.args(["harness", "--check=all", "--library"]).arg(library);
    command.args(["--", "sh", "-c", "echo $CUDA_LAUNCH_EMULATOR_CHECK"]);
    let told: Run = finished(&command.output().unwrap());
    assert_eq!((told.code, told.out.as_str()), (0, "all\n"), "{}", told.err);
}

#[test]
#[cfg(unix)]
fn a_missing_folder_for_temporary_files_is_named() {
    let Some(library) = emulator_library() else { return };
    let mut command = tool();
    command.args(["harness", "--library"]).arg(library).args(["--", "true"]).env("TMPDIR", "/no/such");
    let found = finished(&command.output().unwrap());
    assert!(found.code == 3 && found.says("set TMPDIR to a folder that can be written"), "{}", found.err);
}

#[test]
#[cfg(unix)]
fn a_folder_is_no_program() {
    let Some(library) = emulator_library() else { return };
    let mut command = tool();
    command.args(["harness", "--library"]).arg(library).args(["--", "/"]);
    let found = finished(&command.output().unwrap());
    assert!(found.code == 3 && found.says("it is a folder: name a program"), "{}", found.err);
}

/// What has no command of its own is found.
#[test]
fn words_for_what_is_elsewhere_lead_there() {
    refused(&[
        (&["coverage"], 2, "tip: `cuda-launch profile --lcov FILE` reports the coverage of one launch"),
        (&["schedules", VECADD], 2, "tip: `cuda-launch run --schedules N` runs a kernel in N orders"),
        (&["occupation"], 2, "a similar subcommand exists: 'occupancy'"),
    ]);
    let (code, answer): (i32, Value) = json(&["coverage"]);
    assert_eq!(
        (code, answer["error"]["message"].as_str().unwrap().contains("--lcov")),
        (2, true),
        "{answer}"
    );
}

/// What the help says is so.
#[test]
fn help_is_complete() {
    for command in [
        "doctor",
        "inspect",
        "bind",
        "run",
        "profile",
        "occupancy",
        "trace",
        "check",
        "record",
        "replay",
        "harness",
        "emulate",
    ] {
        let help = run(&[command, "--help"]);
        assert!(help.code == 0 && help.out.matches("Exit codes:").count() == 1, "{command}: {}", help.out);
        assert_eq!(
            help.out.to_lowercase().matches("exit code").count(),
            1 + usize::from(command == "replay"),
            "{command}: {}",
            help.out
        );
    }
    let unknown = run(&saxpy(&["--arg", "f33:1"]));
    let types = unknown.err.split("the types are ").nth(1).unwrap().lines().next().unwrap();
    let help = run(&["run", "--help"]).out;
    let listed = help.lines().find(|line| line.starts_with("TYPE is one of")).unwrap();
    assert_eq!(
        types.split(", ").collect::<Vec<_>>(),
        listed.trim_end_matches('.').split(' ').skip(4).collect::<Vec<_>>()
    );
    // Options of `run` that `profile` does not have.
    let profile = run(&["profile", "--help"]).out;
    for option in ["--print", "--driver", "--check", "--bench", "--roofline", "--schedules", "--seed"] {
        assert!(!profile.lines().any(|line| line.trim_start().starts_with(option)), "{option}");
    }
    let (code, answer): (i32, Value) = json(&[&["profile", SAXPY, "saxpy", "--print", "3"], FOUR].concat());
    assert_eq!((code, &answer["error"]["kind"]), (2, &"usage".into()), "{answer}");
}
