//! What the commands answer, and with which code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::process::Stdio;
use support::{finished, images, json, run, run_in, scratch, tool};

const VECADD: &[&str] = &["run", "examples/kernels/vecadd.ptx", "vecadd"];
const SAXPY: &[&str] = &["run", "examples/kernels/saxpy.ptx", "saxpy"];

#[test]
fn doctor_names_the_driver_that_serves() {
    let (code, answer) = json(&["doctor"]);
    assert_eq!(
        (code, &answer["schema"], &answer["serving"]),
        (0, &"cuda-launch.doctor.1".into(), &"emulator".into())
    );
    let text = run(&["doctor"]);
    assert!(text.out.contains("* used  emulator") && !text.out.contains('\x1b'), "{}", text.out);
    // No device to play: no driver serves.
    let none = finished(&tool().arg("doctor").env("CUDA_EMULATOR_DEVICES", "0").output().unwrap());
    assert!(none.code == 1 && none.out.contains("CUDA_EMULATOR_DEVICES"), "{}", none.out);
}

#[test]
fn every_image_of_the_tree_is_shown() {
    for path in images() {
        let path = path.to_str().unwrap();
        let (code, answer) = json(&["inspect", path]);
        assert_eq!((code, &answer["schema"]), (0, &"cuda-launch.inspect.1".into()), "{path}");
        assert!(!answer["images"].as_array().unwrap().is_empty(), "{path}");
        let text = run_in(80, &["inspect", path]);
        // The name of the file may be as long as it likes.
        let wide = text.out.lines().skip(1).find(|line| line.chars().count() > 80 && !line.starts_with('_'));
        assert_eq!((text.code, wide), (0, None), "{path}");
    }
}

#[test]
fn parameters_are_told_from_what_the_body_does() {
    let (_, answer) = json(&["inspect", "ptx/tests/data/basic.ptx", "--kernel", "scale"]);
    let kernels = answer["images"][0]["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 1);
    let field = |name: &str| -> Vec<&serde_json::Value> {
        kernels[0]["parameters"].as_array().unwrap().iter().map(|p| &p[name]).collect()
    };
    assert_eq!(field("rust"), ["*mut f64", "f64", "i32", "u8", "i16"]);
    assert_eq!(field("c"), ["double *", "double", "int", "unsigned char", "short"]);
    assert_eq!(field("offset"), [0, 8, 16, 20, 22]);
    assert_eq!(
        (&field("access")[0], &kernels[0]["max_threads"]),
        (&&"read-write".into(), &serde_json::json!([256, 1, 1]))
    );
    // A cubin has sizes only; in a fatbin the PTX beside it tells.
    let (_, cubin) = json(&["inspect", "ptx/tests/data/basic.sm_90.cubin", "--kernel", "scale"]);
    assert!(cubin["images"][0]["kernels"][0]["parameters"][0]["rust"].is_null());
    let (_, fatbin) = json(&["inspect", "ptx/tests/data/basic.zstd.fatbin", "--kernel", "scale"]);
    let entry = &fatbin["images"][0];
    assert_eq!((&entry["kind"], &entry["compression"]), (&"cubin".into(), &"zstd".into()));
    assert_eq!(entry["kernels"][0]["parameters"][0]["rust"], "*mut f64");
    assert!(entry["kernels"][0]["registers"].is_u64());
}

#[test]
fn a_kernel_runs_and_its_output_is_saved() {
    let folder = scratch("saved");
    for (ending, bytes) in [("npy", 128 + 400), ("bin", 400), ("txt", 0)] {
        let file = folder.join(format!("sum.{ending}"));
        let out = format!("out:f32[]:100@{}", file.display());
        let first =
            [VECADD, &["--arg", "in:f32[]:0..100", "--arg", "in:f32[]:100*0.5", "--arg", &out]].concat();
        let (code, answer) = json(&first);
        assert_eq!((code, &answer["outputs"][0]["values"][31]), (0, &31.5.into()));
        assert!(bytes == 0 || std::fs::metadata(&file).unwrap().len() == bytes, "{ending}");
        // What was saved is what is read.
        let again = format!("in:f32[]:@{}", file.display());
        let second =
            [VECADD, &["--arg", &again, "--arg", "in:f32[]:100*1", "--arg", "out:f32[]:100"]].concat();
        let (code, answer) = json(&second);
        assert_eq!((code, &answer["outputs"][0]["values"][2]), (0, &3.5.into()), "{ending}");
    }
    let file = folder.join("sum.npy").display().to_string();
    let other = format!("in:i32[]:@{file}");
    let wrong = run(&[VECADD, &["--arg", &other, "--arg", "in:f32[]:9*1", "--arg", "out:f32[]:9"]].concat());
    assert!(wrong.code == 3 && wrong.says("not i32"), "{}", wrong.err);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let cases: &[(&[&str], &[&str], i32, &str)] = &[
        (SAXPY, &["--arg", "u32:1"], 2, "has 4 parameters, the arguments make 1"),
        (
            SAXPY,
            &["--arg", "u32:1", "--arg", "u32:2", "--arg", "u64:0", "--arg", "u64:0"],
            2,
            "parameter 1 is .f32",
        ),
        (SAXPY, &["--arg", "u64:1", "--arg", "f32:2", "--arg", "u64:0", "--arg", "u64:0"], 2, "saxpy"),
        (SAXPY, &["--arg", "u99:1"], 2, "unknown type `u99`"),
        (SAXPY, &["--arg", "u8:256"], 2, "does not fit in u8"),
        (SAXPY, &["--arg", "out:f32:x"], 2, "not a number of elements"),
        (SAXPY, &["--arg", "in:f32:@/no/such/file.bin"], 3, "/no/such/file.bin"),
        (
            SAXPY,
            &["--bench", "0", "--arg", "u32:1", "--arg", "f32:1", "--arg", "out:f32:1", "--arg", "out:f32:1"],
            2,
            "at least one",
        ),
        (
            SAXPY,
            &[
                "--driver",
                "/no/such/lib.so",
                "--arg",
                "u32:1",
                "--arg",
                "f32:1",
                "--arg",
                "out:f32:1",
                "--arg",
                "out:f32:1",
            ],
            4,
            "/no/such/lib.so",
        ),
        (
            VECADD,
            &["--block", "2000", "--arg", "in:f32[]:1,2", "--arg", "in:f32[]:1,2", "--arg", "out:f32[]:2"],
            2,
            "1 to 1024",
        ),
        (
            VECADD,
            &["--arg", "in:f32[]:@/no/such.npy", "--arg", "in:f32[]:1", "--arg", "out:f32[]:2"],
            3,
            "/no/such.npy",
        ),
        (&["run", "examples/kernels/vecadd.ptx", "vecad"], &[], 2, "it has vecadd"),
        (&["run", "README.md", "k"], &[], 3, "byte 0"),
        (&["inspect", "/no/such.ptx"], &[], 3, "/no/such.ptx"),
        (&["inspect", "src"], &[], 3, "src"),
        (&["frobnicate"], &[], 2, "frobnicate"),
    ];
    for (command, arguments, code, message) in cases {
        let found = run(&[*command, *arguments].concat());
        assert_eq!(found.code, *code, "{arguments:?}: {}", found.err);
        assert!(found.says(message) && found.out.is_empty(), "{arguments:?}: {}", found.err);
    }
}

#[test]
fn a_check_finds_what_a_gpu_hides() {
    let check = |arguments: &[&str]| json(&[SAXPY, &["--check"], arguments].concat());
    let (code, good) =
        check(&["--arg", "u32:100", "--arg", "f32:2", "--arg", "in:f32:0..100", "--arg", "inout:f32:100*1"]);
    assert_eq!((code, &good["findings"]), (0, &serde_json::json!([])));
    // One element too many.
    let (code, over) =
        check(&["--arg", "u32:101", "--arg", "f32:2", "--arg", "in:f32:0..100", "--arg", "inout:f32:100*1"]);
    let fault = &over["fault"];
    assert_eq!(
        (code, &fault["kind"], &fault["thread"]),
        (1, &"IllegalAddress".into(), &serde_json::json!([100, 0, 0]))
    );
    assert!(
        fault["ptx_line"].is_u64() && fault["message"].as_str().unwrap().contains("past the end"),
        "{fault}"
    );
    // y = 2 x + y, of a y that nobody wrote.
    let (code, bare) =
        check(&["--arg", "u32:100", "--arg", "f32:2", "--arg", "in:f32:1..101", "--arg", "out:f32:120"]);
    let kinds: Vec<_> = bare["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["kind"].as_str().unwrap(), f["elements"].as_u64().or(f["times"].as_u64()).unwrap()))
        .collect();
    // Both runs have a hundred threads that read.
    let expected = vec![("uninitialised-read", 200), ("uninitialised", 100), ("never-written", 20)];
    assert_eq!((code, kinds), (1, expected));
    let read = &bare["findings"][0];
    assert_eq!(
        (&read["access"]["thread"], &read["bytes"]),
        (&serde_json::json!([0, 0, 0]), &4.into()),
        "{read}"
    );
    assert!(read["access"]["ptx_line"].is_u64() && read["other"].is_null(), "{read}");
    let refused = run(&[
        SAXPY,
        &[
            "--check",
            "--driver",
            "system",
            "--arg",
            "u32:1",
            "--arg",
            "f32:1",
            "--arg",
            "out:f32:1",
            "--arg",
            "out:f32:1",
        ],
    ]
    .concat());
    assert!(refused.code == 2 && refused.says("emulator"), "{}", refused.err);
}

#[test]
fn a_check_names_both_threads_of_a_race() {
    let turn = |kernel: &str| {
        let file = "cli/tests/races.ptx";
        ["run", file, kernel, "--check", "--block", "64", "--arg", "inout:u32:0..128"].map(str::to_owned)
    };
    let check = |kernel: &str| {
        let command = turn(kernel);
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        (json(&command), run_in(80, &command))
    };
    let ((code, answer), text) = check("waits");
    assert_eq!((code, &answer["findings"], text.code), (0, &serde_json::json!([]), 0));
    let ((code, answer), text) = check("forgets");
    let race = answer["findings"].as_array().unwrap().iter().find(|found| found["kind"] == "race").unwrap();
    assert_eq!((code, text.code, &race["space"], &race["bytes"]), (1, 1, &"shared".into(), &4.into()));
    // Warp 0 reads what warp 1 has not written yet: the write comes later.
    let (write, read) = (&race["access"], &race["other"]);
    assert_eq!((&read["verb"], &read["ptx_line"]), (&"read".into(), &25.into()), "{race}");
    assert_eq!((&write["verb"], &write["ptx_line"]), (&"write".into(), &22.into()), "{race}");
    assert_eq!(read["thread"][0].as_u64().unwrap() + write["thread"][0].as_u64().unwrap(), 63);
    assert!(
        text.out.contains("race on 4 bytes of shared memory at 0x") && text.err.is_empty(),
        "{}",
        text.err
    );
    assert!(text.out.lines().all(|line| line.chars().count() <= 80), "{}", text.out);
}

#[test]
fn a_check_names_both_parts_of_a_warp_at_a_barrier() {
    let command = "run cli/tests/races.ptx parts --check --block 64 --arg inout:u32:0..64";
    let command: Vec<&str> = command.split(' ').collect();
    let ((code, answer), text) = (json(&command), run(&command));
    let [found] = &answer["findings"].as_array().unwrap()[..] else { panic!("{answer}") };
    assert_eq!((code, text.code, &found["kind"]), (1, 1, &"divergent-barrier".into()));
    assert_eq!((&found["bytes"], &found["place"]), (&serde_json::Value::Null, &serde_json::Value::Null));
    let thread =
        |actor: &serde_json::Value| (actor["thread"][0].as_u64().unwrap(), actor["ptx_line"].as_u64());
    let mut threads = [thread(&found["access"]), thread(&found["other"])];
    threads.sort_unstable();
    let line = |number| {
        let source = include_str!("races.ptx").lines();
        source
            .enumerate()
            .filter(|(_, line)| line.contains("bar.sync 0"))
            .nth(number)
            .map(|(at, _)| at as u64 + 1)
    };
    assert_eq!(threads, [(0, line(2)), (10, line(1))], "the first of each part; one barrier is of `waits`");
    assert!(
        text.out.contains("threads of a warp are at different barriers\n    arrival by block (0, 0, 0)"),
        "{}",
        text.out
    );
}

#[test]
fn a_bench_counts_bytes() {
    let (code, answer) = json(
        &[
            VECADD,
            &["--bench", "5", "--arg", "in:f32[]:64*1", "--arg", "in:f32[]:64*1", "--arg", "out:f32[]:64"],
        ]
        .concat(),
    );
    let bench = &answer["bench"];
    assert_eq!((code, &bench["launches"], &bench["bytes"]), (0, &5.into(), &768.into()));
    let number = |field: &str| bench[field].as_f64().unwrap();
    assert!(number("least_us") <= number("median_us") && number("median_us") <= number("most_us"), "{bench}");
}

#[test]
fn templates_are_found_by_their_name_in_the_source() {
    let features = "ptx/tests/data/features.ptx";
    let two = run(&["occupancy", features, "tiled"]);
    assert!(two.code == 2 && two.says("_Z5tiledIdLi8EEvPKT_PS0_i"), "{}", two.err);
    let one = run(&["occupancy", features, "_Z5tiledIdLi8EEvPKT_PS0_i"]);
    assert_eq!(one.code, 0, "{}", one.err);
}

/// The tool's own arithmetic against the answer of a driver.
#[test]
fn occupancy_is_what_the_driver_says() {
    let context = cuda_launch::CudaContext::with_driver(&cuda_emulator::driver(), 0).unwrap();
    let text = std::fs::read(support::root().join("examples/kernels/matmul.ptx")).unwrap();
    let function = context.load_module(text).unwrap().load_function("matmul").unwrap();
    function.set_max_dynamic_shared_memory(200 << 10).unwrap();
    for shared in [0, 10_000, 100_000] {
        let (code, answer) =
            json(&["occupancy", "examples/kernels/matmul.ptx", "matmul", "--shared", &shared.to_string()]);
        assert_eq!(code, 0);
        for row in answer["by_block"].as_array().unwrap() {
            let threads = u32::try_from(row["threads"].as_u64().unwrap()).unwrap();
            let driver = function.max_active_blocks(threads, shared).unwrap();
            assert_eq!(row["blocks"], driver, "{threads} threads, {shared} bytes: {row}");
        }
    }
    let folder = scratch("svg");
    let file = folder.join("matmul.svg");
    let drawn = run(&["occupancy", "examples/kernels/matmul.ptx", "matmul", "--svg", file.to_str().unwrap()]);
    assert_eq!(drawn.code, 0, "{}", drawn.err);
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    std::fs::remove_dir_all(folder).unwrap();
    // Without a driver, by the published limits.
    let for_arch =
        |arch| json(&["occupancy", "ptx/tests/data/attributes.sm_90.cubin", "bounds", "--arch", arch]).1;
    let cubin = for_arch("sm_90");
    assert_eq!(cubin, for_arch("90"));
    assert_eq!((&cubin["registers"], &cubin["by_block"][5]["blocks"]), (&10.into(), &10.into()));
    assert_eq!(cubin["registers_estimated"], false);
    // The emulator compiles nothing, and says so.
    let matmul = ["occupancy", "examples/kernels/matmul.ptx", "matmul"];
    assert_eq!(json(&matmul).1["registers_estimated"], true);
    assert!(run(&matmul).out.replace("\n ", "").contains("emulator's estimate"));
    let given = json(&[&matmul[..], &["--registers", "32"]].concat()).1;
    assert_eq!((&given["registers"], &given["registers_estimated"]), (&32.into(), &false.into()));
    assert_eq!(run(&["occupancy", "examples/kernels/matmul.ptx", "matmul", "--arch", "sm_86"]).code, 2);
}

#[test]
fn errors_are_json_too() {
    let (code, answer) = json(&["inspect", "README.md"]);
    let error = &answer["error"];
    assert_eq!((code, &answer["schema"], &error["kind"]), (3, &"cuda-launch.error.1".into(), &"file".into()));
    assert_eq!(error["offset"], 0);
}

#[test]
#[cfg(target_os = "linux")]
fn an_answer_that_nobody_can_get_is_an_error() {
    for json in ["--json", "--"] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "exec \"$0\" inspect \"$@\" >&-", support::TOOL]);
        let output =
            command.args([json, "examples/kernels/fill.ptx"]).current_dir(support::root()).output().unwrap();
        let run = finished(&output);
        assert_eq!(
            (run.code, run.says("cannot write the output to standard output: it is closed")),
            (3, true)
        );
    }
}

/// A reader that goes away is not the tool's affair.
#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = tool()
        .args(["inspect", "ptx/tests/data/features.ptx"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let run = finished(&child.wait_with_output().unwrap());
    assert_eq!((run.code, run.err.as_str()), (0, ""));
}
