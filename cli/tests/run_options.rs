//! The options of `run` that shape a launch, and arguments by value: what the kernel then writes, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::{Value, json};
use support::{finished, json, run, tool};

const CLUSTERS: &str = "tests/kernels/clusters.ptx";
const SHARED: &str = "tests/kernels/shared.ptx";
const PARAMETERS: &str = "tests/kernels/parameters.ptx";
const MIX: &str = "examples/kernels/mix.ptx";

/// A command line: the file, the kernel, and the rest with spaces between its words.
fn command<'a>(file: &'a str, kernel: &'a str, rest: &'a str) -> Vec<&'a str> {
    [vec!["run", file, kernel], rest.split_whitespace().collect()].concat()
}

/// What the kernel left in each of its outputs.
fn written(answer: &Value) -> Vec<&Value> {
    answer["outputs"].as_array().unwrap().iter().map(|output| &output["values"]).collect()
}

/// Runs each, and compares its last output.
fn same(cases: &[(&str, &str, &str, Value)]) {
    for (file, kernel, rest, expected) in cases {
        let (code, answer) = json(&command(file, kernel, rest));
        assert_eq!(code, 0, "{kernel} {rest}: {answer}");
        assert_eq!(written(&answer).last(), Some(&expected), "{kernel} {rest}: {answer}");
    }
}

/// Runs each, which is refused with a code and in words.
fn refused(cases: &[(&str, &str, &str, i32, &str)]) {
    for (file, kernel, rest, code, words) in cases {
        let found = run(&command(file, kernel, rest));
        assert_eq!(found.code, *code, "{kernel} {rest}: {}{}", found.out, found.err);
        assert!(found.says(words) && found.out.is_empty(), "{kernel} {rest}: {}", found.err);
    }
}

/// Each block passes its number on to the next one of its cluster.
#[test]
fn blocks_are_launched_in_clusters() {
    let ring = |blocks: u32, cluster: u32| -> Value {
        (0..blocks).map(|block| block / cluster * cluster + (block + cluster - 1) % cluster).collect()
    };
    same(&[
        (CLUSTERS, "pass_on", "--grid 6 --block 32 --cluster 3 --arg out:u32:6", ring(6, 3)),
        (CLUSTERS, "pass_on", "--grid 6 --block 32 --cluster 1 --arg out:u32:6", ring(6, 1)),
        // Larger than every device with clusters allows: the tool opts in.
        (CLUSTERS, "pass_on", "--grid 32 --block 32 --cluster 16 --arg out:u32:32", ring(32, 16)),
        // The kernel says its own clusters.
        (
            CLUSTERS,
            "cluster_histogram",
            "--grid 2 --block 32 --cluster 2,1,1 --print 4 --arg in:u32:1,1,3 --arg u32:3 --arg out:u32:128",
            json!([0, 2, 0, 1]),
        ),
    ]);
    // Places in a cluster of two dimensions: 14 words for each block, the eighth its rank.
    let rest = "--grid 2,4 --block 32 --cluster 2x2 --print 112 --arg out:u32:112";
    let (code, answer) = json(&command(CLUSTERS, "cluster_indices", rest));
    let words = written(&answer)[0].as_array().unwrap();
    let ranks: Vec<u64> = words.iter().skip(7).step_by(14).map(|word| word.as_u64().unwrap()).collect();
    assert_eq!((code, ranks), (0, vec![0, 1, 2, 3, 0, 1, 2, 3]));
    refused(&[
        (
            CLUSTERS,
            "pass_on",
            "--grid 6 --cluster 4 --arg out:u32:6",
            2,
            "must be a multiple of the cluster's",
        ),
        (
            CLUSTERS,
            "pass_on",
            "--grid 6 --cluster 0 --arg out:u32:6",
            2,
            "no dimension of a cluster may be 0",
        ),
        (CLUSTERS, "pass_on", "--grid 32 --cluster 32 --arg out:u32:6", 2, "clusters of more than 16"),
        (CLUSTERS, "pass_on", "--cluster two --arg out:u32:6", 2, "`two` is not a number"),
        (CLUSTERS, "pass_on", "--cluster 1,1,1,2 --arg out:u32:6", 2, "at most three dimensions"),
        (
            CLUSTERS,
            "cluster_histogram",
            "--grid 4 --cluster 4 --arg in:u32:1 --arg u32:1 --arg out:u32:128",
            2,
            "compiled for clusters of (2, 1, 1)",
        ),
    ]);
}

/// The kernel waits for the whole grid, which a launch that is not cooperative cannot.
#[test]
fn a_cooperative_grid_waits_for_itself() {
    const SUM: &str = "--block 96 --arg in:u32:0..1000 --arg u32:1000 --arg out:u32:7 --arg out:u32:1";
    same(&[(MIX, "grid_sum", &format!("--grid 7 --cooperative {SUM}"), json!([499_500]))]);
    let (code, alone) = json(&command(MIX, "grid_sum", &format!("--grid 7 {SUM}")));
    assert_eq!((code, &alone["fault"]["kind"]), (1, &"Trap".into()), "{alone}");
    refused(&[
        (
            MIX,
            "grid_sum",
            &format!("--grid 100000 --cooperative {SUM}"),
            4,
            "100000 blocks cannot run at once",
        ),
        (
            MIX,
            "grid_sum",
            &format!("--cooperative=yes {SUM}"),
            2,
            "unexpected value 'yes' for '--cooperative'",
        ),
    ]);
}

#[test]
fn dynamic_shared_memory_is_as_large_as_asked() {
    // Each thread adds a column of the numbers below 25600, which lie backwards.
    let column = |thread: u64| (0..100).map(|row| row * 256 + thread).sum::<u64>();
    let columns: Value = (0..256).rev().map(column).collect();
    same(&[
        (SHARED, "shared_sizes", "--grid 1 --block 64 --shared 100 --arg out:u32:2", json!([100, 356])),
        (SHARED, "shared_sizes", "--grid 1 --block 64 --arg out:u32:2", json!([0, 256])),
        (
            SHARED,
            "dynamic_reverse",
            "--grid 1 --shared 20 --arg u32:5 --arg out:u32:5",
            json!([12, 9, 6, 3, 0]),
        ),
        // More than a launch gets without asking: the tool asks.
        (
            SHARED,
            "dynamic_100k",
            "--grid 1 --block 256 --shared 102400 --print 256 --arg out:u32:256",
            columns,
        ),
    ]);
    let short = run(&command(SHARED, "dynamic_reverse", "--grid 1 --shared 16 --arg u32:5 --arg out:u32:5"));
    assert!(
        short.code == 1 && short.out.contains("illegal write of 4 bytes at shared address"),
        "{}",
        short.out
    );
    refused(&[
        (
            SHARED,
            "dynamic_100k",
            "--shared 300000 --arg out:u32:256",
            2,
            "this device allows 232448 bytes in all",
        ),
        (
            SHARED,
            "dynamic_100k",
            "--shared 5000000000 --arg out:u32:256",
            2,
            "it should be at most 4294967295",
        ),
        (
            SHARED,
            "dynamic_100k",
            "--shared 4k --arg out:u32:256",
            2,
            "invalid value '4k' for '--shared <SHARED>'",
        ),
    ]);
}

#[test]
fn a_device_is_chosen_by_its_number() {
    const REST: &str = "--grid 1 --shared 8 --arg out:u32:2";
    let on = |device: &str, devices: &str| {
        let rest = format!("--device {device} --json {REST}");
        let mut command_line = tool();
        command_line.args(command(SHARED, "shared_sizes", &rest)).env("CUDA_EMULATOR_DEVICES", devices);
        finished(&command_line.output().unwrap())
    };
    for (device, devices) in [("0", "1"), ("1", "2"), ("2", "3")] {
        let run = on(device, devices);
        let answer: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!((run.code, written(&answer)), (0, vec![&json!([8, 264])]), "{device} of {devices}");
    }
    for (device, devices) in [("1", "1"), ("2", "2")] {
        let run = on(device, devices);
        let answer: Value = serde_json::from_str(&run.out).unwrap();
        let message = answer["error"]["message"].as_str().unwrap();
        assert_eq!((run.code, &answer["error"]["kind"]), (2, &"usage".into()), "{device} of {devices}");
        assert!(
            message.starts_with(&format!("--device {device}: the driver has no such device")),
            "{message}"
        );
    }
    refused(&[
        (SHARED, "shared_sizes", "--device 4294967295 --arg out:u32:2", 2, "no such device"),
        (SHARED, "shared_sizes", "--device first --arg out:u32:2", 2, "invalid value 'first' for '--device"),
    ]);
}

#[test]
fn arrays_and_bytes_are_passed_by_value() {
    same(&[
        (
            PARAMETERS,
            "one_array_i32x4",
            "--grid 1 --arg i32:1,-2,3,0x40 --arg out:i32:4",
            json!([1, -2, 3, 64]),
        ),
        (
            PARAMETERS,
            "one_array_f64x3",
            "--grid 1 --arg f64:0.5,-1,1e3 --arg out:f64:3",
            json!([0.5, -1, 1000]),
        ),
        (PARAMETERS, "one_array_u8x3", "--grid 1 --arg u8:255,0,7 --arg out:u8:3", json!([255, 0, 7])),
        (PARAMETERS, "one_u128", "--grid 1 --arg u64:7,8 --arg out:u64:2", json!([7, 8])),
        (PARAMETERS, "one_float3", "--grid 1 --arg f32:1,2,3 --arg out:f32:3", json!([1, 2, 3])),
        // An unsigned, two shorts, a float.
        (
            PARAMETERS,
            "one_twelve",
            "--grid 1 --arg hex:01000000_ffff_0200_0000C03f --arg out:u16:6",
            json!([1, 0, 0xffff, 2, 0, 0x3fc0]),
        ),
        (
            PARAMETERS,
            "one_pointer",
            "--grid 1 --arg hex:efcdab8967452301 --arg out:u64:1",
            json!([0x0123_4567_89ab_cdef_u64]),
        ),
        (PARAMETERS, "one_f32", "--grid 1 --arg hex:0000c03f --arg out:f32:1", json!([1.5])),
    ]);
    const FOUR: &str = "one_array_i32x4";
    refused(&[
        (PARAMETERS, FOUR, "--arg i32:1,2,3 --arg out:i32:4", 2, "argument 0 is 12 bytes"),
        (PARAMETERS, FOUR, "--arg i32:1,2,3,4,5 --arg out:i32:4", 2, "parameter 0 is 16 bytes"),
        (PARAMETERS, FOUR, "--arg i32:1,2,3,4x --arg out:i32:4", 2, "`4x` is not an integer"),
        (PARAMETERS, FOUR, "--arg i32: --arg out:i32:4", 2, "expected numbers"),
        (PARAMETERS, FOUR, "--arg i32:1,,3 --arg out:i32:4", 2, "expected a number before the comma"),
        (PARAMETERS, FOUR, "--arg i32:4*1 --arg out:i32:4", 2, "`4*1` is not an integer"),
        (PARAMETERS, "one_array_u8x3", "--arg u8:256,0,7 --arg out:u8:3", 2, "256 does not fit in u8"),
        (PARAMETERS, "one_f32", "--arg f32:1,2 --arg out:f32:1", 2, "the kernel's parameter 0 is 4 bytes"),
        (
            PARAMETERS,
            FOUR,
            "--arg hex:0100000 --arg out:i32:4",
            2,
            "`0100000` is not a list of bytes in hexadecimal",
        ),
        (PARAMETERS, FOUR, "--arg hex:zz --arg out:i32:4", 2, "`zz` is not a list of bytes in hexadecimal"),
        (PARAMETERS, FOUR, "--arg hex: --arg out:i32:4", 2, "needs at least one byte"),
        (PARAMETERS, FOUR, "--arg hex:01 --arg out:i32:4", 2, "argument 0 is 1 byte"),
    ]);
}

#[test]
fn the_architecture_of_the_emulated_device_is_chosen() {
    let (file, kernel, rest) = (CLUSTERS, "pass_on", "--grid 6 --block 32 --cluster 3 --arg out:u32:6");
    let on = |more: &str| format!("{rest} {more}");
    let ring: Value = json!([2, 0, 1, 5, 3, 4]);
    same(&[(file, kernel, &on("--arch sm_90"), ring.clone()), (file, kernel, &on("--arch 120"), ring)]);
    let newer = "SM version specified by .target is higher";
    refused(&[
        (file, kernel, &on("--arch sm_86"), 4, newer),
        (file, kernel, &on("--arch sm_86 --check"), 4, newer),
        (file, kernel, &on("--arch sm_91"), 2, "no device can be of the architecture `sm_91`"),
        (
            file,
            kernel,
            &on("--arch sm_90 --driver system"),
            2,
            "--arch runs on the emulator, not on `system` help: leave out --driver system",
        ),
    ]);
}
