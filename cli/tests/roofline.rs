//! `run --bench --roofline`: on the emulator, and on a driver that is the emulator's library with the name of a GPU.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{compiled, emulator_library, finished, json, run, scratch, tool};

/// All else is found in the library that it needs. `LATER` sets a variable for the emulator that counts, which starts later.
const GPU: &str = r#"
#include <stdlib.h>
#include <string.h>
int cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    strncpy(name, getenv("GPU"), size);
    if (getenv("LATER"))
        putenv(getenv("LATER"));
    return 0;
}
"#;

const VECADD: &str = "run examples/kernels/vecadd.ptx vecadd --print 0 --bench 3 --roofline \
                      --arg in:f32[]:4096*1 --arg in:f32[]:4096*2 --arg out:f32[]:4096";
const MANDELBROT: &str = "run examples/kernels/mandelbrot.ptx mandelbrot_f64 --print 0 --bench 1 --roofline --grid 2,2 --block 16,16 \
                          --arg out:u32:1024 --arg u32:32 --arg u32:32 --arg f64:-0.1 --arg f64:-0.1 --arg f64:0.001 --arg f64:0.001 \
                          --arg u32:50";

/// A driver whose device has a GPU's name; `None` without what it is made of.
fn gpu(folder: &Path) -> Option<PathBuf> {
    std::os::unix::fs::symlink(emulator_library()?, folder.join("libcuda.so.1")).unwrap();
    let emulator = folder.join("libcuda.so.1");
    let options =
        ["-shared", "-fPIC", "-Wl,--no-as-needed", emulator.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
    compiled(folder, "gpu.so", GPU, &options)
}

/// The tool on that driver.
fn on(driver: &Path, name: &str, command: &str) -> Command {
    let mut tool = tool();
    tool.args(command.split_whitespace()).arg("--driver").arg(driver).env("GPU", name).env_remove("LATER");
    tool
}

/// The part of the answer about the bench.
fn bench(mut command: Command) -> Value {
    let run = finished(&command.arg("--json").output().unwrap());
    let answer: Value =
        serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}{}", run.out, run.err));
    assert_eq!(run.code, 0, "{answer:#}");
    answer["bench"].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[track_caller]
fn near(one: f64, other: f64) {
    assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
}

#[test]
fn a_kernel_is_placed_in_the_roofline_of_its_gpu() {
    let folder = scratch("roofline");
    let Some(driver) = gpu(&folder) else { return };
    let answer = bench(on(&driver, "NVIDIA H200", VECADD));
    let (roofline, peak) = (&answer["roofline"], &answer["peak"]);
    // An addition for each element; three arrays.
    assert_eq!((&roofline["operations"]["f32"], &roofline["bytes"]), (&4096.into(), &(3 * 4 * 4096).into()));
    assert_eq!((&roofline["why_not"], &roofline["roof_moved_once"]), (&Value::Null, &Value::Null));
    let (reached, roof) = (number(&roofline["operations_per_second"]), &roofline["roof"]);
    near(reached, 4096.0 / (number(&answer["median_us"]) / 1e6));
    assert_eq!(roof["limit"], "memory");
    near(number(&roof["operations_per_byte"]), 1.0 / 12.0);
    near(number(&roof["operations_per_second"]), number(&peak["memory_bytes_per_second"]) / 12.0);
    near(number(&roof["ridge"]), number(&peak["f32_per_second"]) / number(&peak["memory_bytes_per_second"]));
    near(number(&roof["reached"]), reached / number(&roof["operations_per_second"]));
    let text = finished(&on(&driver, "NVIDIA H200", VECADD).output().unwrap());
    for words in [
        "vecadd on NVIDIA H200: ",
        "\nroofline: memory is the limit: with 0.083 operations per byte at most 401 GFLOP/s without caches (4814 GB/s and 66.9 TFLOP/s meet at 13.9)\n",
        "\n  counted in one launch on the emulator: 4096 f32 operations, 49152 bytes, whether or not a cache has them\n",
    ] {
        assert!(text.code == 0 && text.out.contains(words), "{}{}", text.out, text.err);
    }
    // The times alone, as without the option.
    let plain = VECADD.replace("--roofline", "");
    assert_eq!(bench(on(&driver, "NVIDIA H200", &plain))["roofline"], Value::Null);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn f64_has_its_own_peak_and_the_counts_are_those_of_profile() {
    let folder = scratch("roofline-f64");
    let Some(driver) = gpu(&folder) else { return };
    let answer = bench(on(&driver, "a GPU that nobody knows", MANDELBROT));
    let (roofline, peak) = (&answer["roofline"], &answer["peak"]);
    near(2.0 * number(&peak["f64_per_second"]), number(&peak["f32_per_second"]));
    assert_eq!((&roofline["roof"]["limit"], &peak["f16_per_second"]), (&"arithmetic".into(), &Value::Null));
    near(number(&roofline["roof"]["operations_per_second"]), number(&peak["f64_per_second"]));
    let profile = MANDELBROT.replace("run ", "profile ").replace("--print 0 --bench 1 --roofline", "");
    let (code, profile) = json(&profile.split_whitespace().collect::<Vec<_>>());
    assert_eq!((code, &profile["operations"]), (0, &roofline["operations"]));
    near(number(&profile["operations_per_byte"]), number(&roofline["roof"]["operations_per_byte"]));
    std::fs::remove_dir_all(folder).unwrap();
}

/// The times are there all the same.
#[test]
fn what_cannot_be_counted_says_why() {
    let folder = scratch("roofline-why");
    let Some(driver) = gpu(&folder) else { return };
    let copy = "run examples/kernels/strided_copy.ptx strided_copy --bench 1 --roofline --print 0 \
                --arg out:f32:1000 --arg in:f32:0..4000 --arg u32:1000 --arg u32:4";
    let clusters = "run tests/kernels/clusters.ptx pass_on --bench 1 --roofline --print 0 --grid 6 --block 32 --cluster 3 --arg out:u32:6";
    for (command, later, words) in [
        (copy, None, "not placed: it has no operations on floating-point numbers; compare its GB/s with"),
        // It is counted on a device of the GPU's architecture, whatever the environment says: older ones have no clusters.
        (clusters, Some("CUDA_LAUNCH_EMULATOR_ARCH=sm_75"), "not placed: it has no operations"),
        (
            MANDELBROT,
            Some("CUDA_LAUNCH_EMULATOR_TIMEOUT=0.000001"),
            "not placed: on the emulator: the kernel ran for longer than",
        ),
        (
            MANDELBROT,
            Some("CUDA_LAUNCH_EMULATOR_DEVICES=0"),
            "not placed: on the emulator: cuInit: CUDA_ERROR_NO_DEVICE",
        ),
    ] {
        let mut text = on(&driver, "NVIDIA H200", command);
        let mut answer = on(&driver, "NVIDIA H200", command);
        if let Some(later) = later {
            text.env("LATER", later);
            answer.env("LATER", later);
        }
        let text = finished(&text.output().unwrap());
        assert!(text.code == 0 && text.out.contains("bench: median "), "{}{}", text.out, text.err);
        let line = text.out.split_once("roofline: ").unwrap().1.lines().next().unwrap();
        assert!(line.starts_with(words), "{line}");
        let answer = bench(answer);
        assert_eq!(answer["roofline"]["roof"], Value::Null);
        assert_eq!(line, format!("not placed: {}", answer["roofline"]["why_not"].as_str().unwrap()));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn without_a_gpu_there_is_no_roofline() {
    let command: Vec<&str> = VECADD.split_whitespace().collect();
    let text = run(&command);
    let line = "\nroofline: not placed: the device is no GPU; `cuda-launch profile --roof GPU` compares with published peaks\n";
    assert!(text.code == 0 && text.out.ends_with(line), "{}", text.out);
    let (code, answer) = json(&command);
    // Nothing is counted, which might take long.
    assert_eq!((code, &answer["bench"]["roofline"]["operations"]), (0, &Value::Null));
}

#[test]
fn it_goes_with_a_bench_only() {
    let alone = VECADD.replace("--bench 3", "");
    let profiled = VECADD.replace("run ", "profile ").replace("--print 0 --bench 3", "");
    for (command, words) in [
        (alone, "--roofline needs the time of a launch: add --bench"),
        (profiled, "--bench and --roofline belong to `cuda-launch run`"),
    ] {
        let refused = run(&command.split_whitespace().collect::<Vec<_>>());
        assert!(refused.code == 2 && refused.says(words), "{}", refused.err);
    }
}
