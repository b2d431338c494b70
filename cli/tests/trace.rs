//! The tool traces itself: a program that finds its driver by a variable, and one that finds it by name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Run, finished, scratch, tool};

const TOOL: &str = env!("CARGO_BIN_EXE_cuda-launch");

/// The recorder, built as this test was; `None` on a machine that only runs tests.
fn recorder() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO")?;
    let folder = Path::new(TOOL).parent().unwrap();
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        profile => profile,
    };
    let built = Command::new(cargo)
        .args(["build", "--quiet", "-p", "cuda-launch-recorder", "--profile", profile])
        // As the tool has it, so that nothing is compiled twice.
        .args(["-p", "cuda-ptx", "--features", "cuda-ptx/zstd", "--target-dir"])
        .arg(folder.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.unwrap().success());
    let name =
        format!("{}cuda_launch_recorder{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    Some(folder.join(name))
}

/// Traces `program`; the answer, and the events of the timeline.
fn trace(recorder: &Path, folder: &Path, program: &[&str]) -> (Run, Vec<Value>) {
    let file = folder.join("trace.json");
    let mut command = tool();
    command
        .args(["trace", "--json", "--driver", "emulator", "--recorder"])
        .arg(recorder)
        .arg("-o")
        .arg(&file)
        .arg("--");
    let run = finished(&command.args(program).output().unwrap());
    let whole: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    (run, whole["traceEvents"].as_array().unwrap().clone())
}

fn named<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["name"] == name).collect()
}

/// saxpy's arguments are count, factor, x, y.
fn saxpy(count: &str) -> Vec<&str> {
    let mut program = vec![TOOL, "run", "examples/kernels/saxpy.ptx", "saxpy"];
    program.extend([
        "--print",
        "0",
        "--arg",
        count,
        "--arg",
        "f32:2",
        "--arg",
        "in:f32:0..100",
        "--arg",
        "inout:f32:100*1",
    ]);
    program
}

#[test]
fn a_timeline_has_launches_copies_and_waits() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace");
    let good = saxpy("u32:100");
    // By the variable, and by the name of the library.
    let by_name = [&["env", "CUDA_LAUNCH_DRIVER=system"], good.as_slice()].concat();
    let ways = if cfg!(target_os = "linux") { vec![good, by_name] } else { vec![good] };
    for program in ways {
        let (run, events) = trace(&recorder, &folder, &program);
        assert_eq!(run.code, 0, "{}", run.err);
        let answer: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!((&answer["schema"], &answer["unfinished"]), (&"cuda-launch.trace.1".into(), &0.into()));
        assert_eq!(answer["bytes_copied"], 1200);
        let [kernel] = named(&events, "saxpy")[..] else { panic!("{events:?}") };
        assert_eq!(
            (&kernel["cat"], &kernel["args"]["block"]),
            (&"kernel".into(), &serde_json::json!([256, 1, 1]))
        );
        assert_eq!(kernel["args"]["arguments"].as_array().unwrap()[..2], ["0x00000064", "0x40000000"]);
        assert!(kernel["dur"].as_f64().unwrap() > 0.0);
        // The device begins after the call, and the host waits for it.
        assert!(
            kernel["ts"].as_f64().unwrap() + 50.0 > kernel["args"]["called_us"].as_f64().unwrap(),
            "{kernel}"
        );
        assert_eq!((named(&events, "host to device").len(), named(&events, "device to host").len()), (2, 1));
        assert!(named(&events, "cuStreamSynchronize").iter().all(|wait| wait["cat"] == "wait"));
        assert!(events.iter().any(|event| event["name"] == "thread_name" && event["pid"] == 2));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_that_fails_leaves_its_timeline() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-fault");
    let (run, events) = trace(&recorder, &folder, &saxpy("u32:101"));
    assert_eq!(run.code, 1, "{}", run.err);
    assert_eq!(named(&events, "saxpy: not finished").len(), 1);
    let answers = |event: &&Value| {
        event["args"]["answer"].as_str().is_some_and(|code| code.contains("ILLEGAL_ADDRESS"))
    };
    assert!(events.iter().any(|event| answers(&event)));
    if cfg!(unix) {
        let (run, events) = trace(&recorder, &folder, &["sh", "-c", "exit 7"]);
        assert_eq!((run.code, events.iter().filter(|event| event["ph"] != "M").count()), (7, 0));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_start_says_why() {
    let run = finished(&tool().args(["trace", "--recorder", "/no/such.so", "--", "true"]).output().unwrap());
    assert!(run.code == 3 && run.says("cargo build --release -p cuda-launch-recorder"), "{}", run.err);
    let Some(recorder) = recorder() else { return };
    let mut command = tool();
    command.arg("trace").arg("--recorder").arg(recorder).args(["--", "/no/such/program"]);
    let run = finished(&command.output().unwrap());
    assert!(run.code == 3 && run.says("/no/such/program"), "{}", run.err);
    assert_eq!(finished(&tool().arg("trace").output().unwrap()).code, 2);
}
