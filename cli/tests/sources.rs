//! Files that are compiled before they run: CUDA C++, NVVM IR, LTO IR. Needs the compilers' libraries, and says so where they are not;
//! fails then if `CUDA_LAUNCH_REQUIRE_COMPILERS` is 1.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_harness::skipped;
use support::{Run, finished, scratch, tool};

/// Each kind of file with `vecadd` in it, and its compiler.
const KINDS: [(&str, &str, &str); 3] = [
    ("examples/kernels/vecadd.cu", "CUDA C++ by NVRTC", "NVRTC"),
    ("tests/kernels/vecadd.ll", "NVVM IR by libNVVM", "libNVVM"),
    ("tests/kernels/vecadd.ltoir", "LTO IR by nvJitLink", "nvJitLink"),
];

/// Runs the tool with a cache that is its own; `None` if the compiler is not here, which is said in one sentence.
fn run(arguments: &[&str], compiler: &str) -> Option<Run> {
    let cache = scratch("cache");
    let run = finished(&tool().args(arguments).env("CUDA_LAUNCH_CACHE_DIR", cache).output().unwrap());
    // An answer in JSON is on standard output, an error too.
    let says = |words: &str| run.says(words) || run.out.contains(words);
    if !says(&format!("{compiler} is not on this machine")) {
        return Some(run);
    }
    assert_ne!(std::env::var("CUDA_LAUNCH_REQUIRE_COMPILERS").as_deref(), Ok("1"), "{}", run.err);
    assert!(run.code == 4 && says("help: install"), "{}{}", run.err, run.out);
    skipped(format!("{compiler} is not on this machine"));
    None
}

#[test]
fn a_source_is_run() {
    for (file, _, compiler) in KINDS {
        let arguments = [
            "run",
            file,
            "vecadd",
            "--arg",
            "in:f32[]:0..100",
            "--arg",
            "in:f32[]:100*0.5",
            "--arg",
            "out:f32[]:100",
            "--json",
        ];
        let Some(run) = run(&arguments, compiler) else { continue };
        let answer: serde_json::Value =
            serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err));
        assert_eq!((run.code, &answer["outputs"][0]["values"][31]), (0, &31.5.into()), "{file}");
    }
}

#[test]
fn a_source_is_shown_by_its_ptx() {
    for (file, origin, compiler) in KINDS {
        let Some(run) = run(&["inspect", file, "--json"], compiler) else { continue };
        let answer: serde_json::Value =
            serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err));
        let image = &answer["images"][0];
        assert!(image["source"].as_str().unwrap().starts_with(origin), "{answer:#}");
        let kernel = &image["kernels"][0];
        assert_eq!((&kernel["name"], kernel["parameters"].as_array().unwrap().len()), (&"vecadd".into(), 6));
        assert_eq!(kernel["parameters"][0]["rust"], "*const f32", "{file}");
    }
}

#[test]
fn a_typed_module_is_written_for_a_source() {
    let Some(run) = run(&["bind", "examples/kernels/vecadd.cu"], "NVRTC") else { return };
    assert!(run.out.contains("cuda_module(\"examples/kernels/vecadd.cu\")"), "{}{}", run.out, run.err);
    assert!(run.out.contains("fn vecadd("), "{}", run.out);
}

#[test]
fn a_mistake_in_a_source_is_told_with_its_line() {
    let file = scratch("mistake").join("mistake.cu");
    std::fs::write(&file, "extern \"C\" __global__ void k(float* x) {\n    x[0] = y;\n}\n").unwrap();
    let Some(run) = run(&["run", file.to_str().unwrap(), "k"], "NVRTC") else { return };
    assert!(run.code == 3 && run.says("mistake.cu:2: error: identifier \"y\" is undefined"), "{}", run.err);
}

/// As on a machine without the libraries.
#[test]
fn without_its_compiler_a_source_is_one_sentence() {
    for (file, _, compiler) in KINDS {
        let mut command = tool();
        for variable in ["CUDA_LAUNCH_NVRTC", "CUDA_LAUNCH_NVVM", "CUDA_LAUNCH_NVJITLINK"] {
            command.env(variable, "/no/such/library.so");
        }
        let run = finished(&command.args(["run", file, "vecadd"]).output().unwrap());
        let start = format!("error: {file} is ");
        assert!(run.code == 4 && run.err.starts_with(&start), "{}", run.err);
        assert!(
            run.says(&format!("{compiler} is not on this machine (1 place tried)"))
                && run.says("help: CUDA_LAUNCH_"),
            "{}",
            run.err
        );
    }
}
