//! `cuda-launch run --schedules` and `--seed`, and the variables. docs/schedules.md shows what they print.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use support::{finished, json, run, tool};

const FORGETS: &[&str] = &[
    "run",
    "cli/tests/schedules.ptx",
    "forgets",
    "--arg",
    "in:u32:0..256",
    "--arg",
    "inout:u32:8*0",
    "--arg",
    "inout:u32:1*0",
    "--arg",
    "out:u32:1",
    "--grid",
    "8",
    "--block",
    "32",
];

fn forgets<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [FORGETS, rest].concat()
}

/// What the ordinary order leaves in the last argument.
const SUM: u64 = 255 * 128;

#[test]
fn a_seed_is_replayed_in_another_process() {
    let (code, answer) = json(&forgets(&["--schedules", "30", "--seed", "7"]));
    assert_eq!(code, 1);
    assert_eq!(answer["outputs"][2]["values"][0], SUM);
    let first = &answer["differences"][0];
    assert_eq!((&first["kind"], &first["orders"]), (&"memory".into(), &30.into()));
    assert_eq!(first["unseen_stores"][0], serde_json::json!([26, 36]));
    let seed = first["seed"].as_u64().unwrap();
    assert!((7..37).contains(&seed));
    let (code, again) = json(&forgets(&["--seed", &seed.to_string()]));
    let again = &again["differences"][0];
    assert_eq!((code, &again["orders"]), (1, &1.into()));
    for name in ["kind", "seed", "bytes", "address", "contents", "ptx_lines", "place", "unseen_stores"] {
        assert_eq!(again[name], first[name], "{name}");
    }
}

#[test]
fn without_it_nothing_is_said() {
    let (code, answer) = json(&forgets(&[]));
    assert_eq!((code, &answer["differences"]), (0, &Value::Null));
}

#[test]
fn any_program_is_asked_by_variables() {
    let program = |seed: Option<&str>| {
        let mut program = tool();
        program.args(forgets(&["--print", "0"]));
        match seed {
            Some(seed) => program.env("CUDA_LAUNCH_EMULATOR_SEED", seed),
            None => program.env("CUDA_LAUNCH_EMULATOR_SCHEDULES", "20"),
        };
        finished(&program.output().unwrap()).err
    };
    let told = program(None);
    let at = told.find("seed ").unwrap_or_else(|| panic!("{told}"));
    assert!(told.contains("kernel `forgets` depends on the order of its threads"), "{told}");
    let seed = told[at + 5..].split_whitespace().next().unwrap();
    let again = program(Some(seed));
    assert!(again.contains(&format!("seed {seed} (1 of 1 orders)")), "{again}");
}

#[test]
fn it_is_refused_where_it_has_no_meaning() {
    let profile = [&["profile"], &FORGETS[1..], &["--schedules", "3"]].concat();
    let refused = run(&profile);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("--seed, --bench and --roofline belong to `cuda-launch run`"),
        "{}",
        refused.err
    );
    for rest in [&["--schedules", "3", "--bench"][..], &["--schedules", "0"], &["--seed", "x"]] {
        assert_eq!(run(&forgets(rest)).code, 2, "{rest:?}");
    }
    let elsewhere = run(&forgets(&["--schedules", "3", "--driver", "system"]));
    assert!(elsewhere.err.contains("--schedules runs on the emulator"), "{}", elsewhere.err);
}

/// "No difference" would be no news of a kernel of which no other order was run.
#[test]
fn of_a_kernel_that_runs_in_one_order_it_is_said() {
    let once =
        ["run", "cli/tests/schedules.ptx", "on_the_heap", "--arg", "inout:u32:1*0", "--schedules", "5"];
    let told = run(&once);
    assert_eq!(told.code, 4, "{}", told.out);
    let words = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("of 5 orders (seeds 1 to 5) none was run"), "{words}");
    assert!(words.contains("it can call malloc or free"), "{words}");
    let (code, answer) = json(&once);
    assert_eq!(
        (code, &answer["one_order"], &answer["differences"]),
        (4, &"heap".into(), &serde_json::json!([]))
    );
    let (_, answer) = json(&forgets(&["--schedules", "5"]));
    assert_eq!((&answer["one_order"], answer["differences"].as_array().unwrap().len()), (&Value::Null, 1));
    let mut program = tool();
    program.args(&once[..5]).env("CUDA_LAUNCH_EMULATOR_SCHEDULES", "5");
    let told = finished(&program.output().unwrap());
    assert!(told.err.contains("kernel `on_the_heap` ran in the ordinary order only"), "{}", told.err);
}
