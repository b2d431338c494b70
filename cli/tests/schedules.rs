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
        finished(&program.output().unwrap())
    };
    let first = program(None);
    assert!(
        first.code == 1 && first.out.contains("schedules: 1 difference, on standard error"),
        "{}",
        first.out
    );
    let told = first.err;
    let at = told.find("seed ").unwrap_or_else(|| panic!("{told}"));
    assert!(told.contains("kernel `forgets` depends on the order of its threads"), "{told}");
    let seed = told[at + 5..].split_whitespace().next().unwrap();
    let again = program(Some(seed)).err;
    assert!(again.contains(&format!("seed {seed} (1 of 1 order)")), "{again}");
}

/// What the variables find is in the answer, and in the exit code.
#[test]
fn what_variables_request_is_in_the_answer() {
    let (orders, checks) = ("CUDA_LAUNCH_EMULATOR_SCHEDULES", "CUDA_LAUNCH_EMULATOR_CHECK");
    let start = |arguments: &[&str], name: &str, value: &str| {
        let run = finished(&tool().args(arguments).arg("--json").env(name, value).output().unwrap());
        let answer: Value = serde_json::from_str(&run.out).unwrap();
        (run.code, answer["differences"].clone(), answer["findings"].clone())
    };
    let (code, differences, findings) = start(&forgets(&[]), orders, "20");
    assert_eq!((code, &differences[0]["kind"], findings), (1, &"memory".into(), Value::Null));
    let fences: Vec<&str> =
        forgets(&[]).into_iter().map(|word| if word == "forgets" { "fences" } else { word }).collect();
    assert_eq!(start(&fences, orders, "20"), (0, serde_json::json!([]), Value::Null));
    assert_eq!(start(&fences, orders, "0"), (0, Value::Null, Value::Null));
    assert_eq!(start(&fences, "CUDA_LAUNCH_EMULATOR_SEED", "3").1, serde_json::json!([]));
    let races = ["run", "cli/tests/races.ptx", "forgets", "--block", "64", "--arg", "inout:u32:0..64"];
    let (code, differences, findings) = start(&races, checks, "all");
    assert_eq!((code, differences), (1, Value::Null));
    let kinds: Vec<&str> =
        findings.as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["uninitialised-read", "race"]);
    // Which is found when the context ends.
    let heap =
        ["run", "tests/kernels/heap.ptx", "build", "--grid", "1", "--block", "32", "--arg", "out:u64:64"];
    let (code, _, findings) = start(&heap, checks, "leak");
    assert_eq!((code, &findings[0]["kind"]), (1, &"leak".into()));
    assert_eq!(start(&races, checks, "none"), (0, Value::Null, Value::Null));
    assert_eq!(start(&fences, checks, "barrier"), (0, Value::Null, serde_json::json!([])));
}

/// A kernel that prints a line, and then does this: what the command shows if a signal comes a second after that line.
#[cfg(unix)]
fn interrupted(test: &str, body: &str, options: &[&str]) -> String {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let folder = support::scratch(test);
    let file = folder.join("k.ptx");
    let text = format!(
        ".version 7.8\n.target sm_75\n.address_size 64\n.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
         .global .align 1 .b8 begun[7] = {{98, 101, 103, 117, 110, 10, 0}};\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b64 %a; .reg .b32 %n;\nmov.u64 %a, begun; cvta.global.u64 %a, %a;\n\
         {{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %a; st.param.b64 [v], 0; call.uni (r), vprintf, (f, v); }}\n\
         ld.param.u64 %a, [p];\n{body}\nret;\n}}\n"
    );
    std::fs::write(&file, text).unwrap();
    let mut command = tool();
    command.arg("run").arg(&file).args(["k", "--block", "1", "--arg", "out:u32:1"]).args(options);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert_eq!(first, "begun\n");
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let mut shown = String::new();
    out.read_to_string(&mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{shown}");
    assert!(shown.contains("interrupted by a signal: no output is shown or saved"), "{shown}");
    std::fs::remove_dir_all(folder).unwrap();
    shown
}

#[cfg(unix)]
#[test]
fn what_was_found_before_an_interrupt_is_shown() {
    let last = "mov.u32 %n, %ctaid.x; st.global.u32 [%a], %n;";
    let shown = interrupted("interrupted-orders", last, &["--grid", "8", "--schedules", "4294967295"]);
    let (done, rest) = shown.split_once(" of 4294967295 orders, interrupted, 1 difference").unwrap();
    let done: u32 = done.rsplit_once("schedules: ").unwrap().1.parse().unwrap();
    assert!(done > 0 && rest.contains("memory differs, in "), "{shown}");
    let endless = "ld.global.u32 %n, [%a];\nLOOP: add.u32 %n, %n, 1;\nbra LOOP;";
    let shown = interrupted("interrupted-check", endless, &["--grid", "1", "--check"]);
    assert!(shown.contains("check: 1 finding\n") && shown.contains("never written"), "{shown}");
    let shown = interrupted("interrupted-first", endless, &["--grid", "1", "--schedules", "9"]);
    assert!(shown.contains("schedules: 0 of 9 orders, interrupted, no difference"), "{shown}");
}

/// `--check` launches a kernel twice, each time under all orders.
#[test]
fn what_is_counted_is_said() {
    let (_, answer) = json(&forgets(&["--schedules", "20", "--check"]));
    let first = &answer["differences"][0];
    assert_eq!(first["orders"], 40);
    let shown = run(&forgets(&["--schedules", "20", "--check"])).out;
    let words =
        format!("memory differs, in {} of 40 runs; --seed {} is the first:", first["times"], first["seed"]);
    assert!(shown.contains("schedules: 20 orders (seeds 1 to 20) of each of 2 launches, "), "{shown}");
    assert!(shown.contains(&words), "{shown}");
    let one = run(&forgets(&["--seed", &first["seed"].to_string()])).out;
    assert!(one.contains(&format!("memory differs, with --seed {}:", first["seed"])), "{one}");
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
