//! `run --global`: variables that are set before the kernel runs, and shown or saved after it; what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::{Value, json};
use support::{json, run, scratch};

const FILE: &str = "tests/kernels/globals.ptx";

fn command<'a>(kernel: &'a str, rest: &'a str) -> Vec<&'a str> {
    [vec!["run", FILE, kernel], rest.split_whitespace().collect()].concat()
}

/// What is shown of the arguments and of the variables.
fn shown(kernel: &str, rest: &str) -> (Vec<Value>, Vec<(Value, Value)>) {
    let (code, answer) = json(&command(kernel, rest));
    assert_eq!(code, 0, "{rest}: {answer}");
    let values = |list: &Value| list["values"].clone();
    let outputs = answer["outputs"].as_array().unwrap().iter().map(values).collect();
    let globals = answer["globals"].as_array().unwrap();
    (outputs, globals.iter().map(|global| (global["name"].clone(), values(global))).collect())
}

#[test]
fn constants_and_device_variables_are_set_and_shown() {
    let polynomial = "--block 4 --grid 1 --arg in:f32:0,1,2,3 --arg out:f32:4 --arg u32:4";
    // Of bytes, as compilers declare arrays: the type is written.
    let (outputs, globals) = shown("polynomial", &format!("{polynomial} --global coefficients=f32:1,10,0,0"));
    assert_eq!((outputs, globals), (vec![json!([1, 11, 21, 31])], vec![]));
    let rest = format!("{polynomial} --global coefficients=hex:0000803f00000000_00000000_00000000");
    assert_eq!(shown("polynomial", &rest).0, [json!([1, 1, 1, 1])]);
    // As it is in the file.
    let (outputs, globals) = shown("polynomial", &format!("{polynomial} --global coefficients=out:f32"));
    assert_eq!(
        (outputs, globals),
        (vec![json!([1, 3.5, 31, 107.5])], vec![("coefficients".into(), json!([1, -2, 0.5, 4]))])
    );
    // A number has its own type. The kernel adds its threads; each run of --check begins anew.
    for check in ["", "--check"] {
        let rest =
            format!("--block 32 --grid 2 --arg out:u32:64 --print 1 --global counter=inout:u32:100 {check}");
        assert_eq!(shown("count", &rest).1, [("counter".into(), json!([164]))], "{check}");
    }
    let (code, answer) = json(&command("count", "--block 32 --grid 1 --arg out:u32:32 --global counter=7"));
    assert_eq!((code, &answer["globals"]), (0, &json!([])));
    let text =
        run(&command("count", "--block 32 --grid 1 --print 2 --arg out:u32:32 --global counter=inout:u32:7"));
    assert!(text.out.contains("global counter: inout u32 x 1\n  0  39\n"), "{}", text.out);
}

#[test]
fn files_go_in_and_out() {
    let folder = scratch("globals");
    let name = |name: &str| folder.join(name).display().to_string();
    let words: Vec<u8> = (0..16u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    std::fs::write(folder.join("raw.bin"), &words).unwrap();
    let raw = format!("--block 16 --grid 1 --arg out:u32:16 --global from_host=@{}", name("raw.bin"));
    let squares: Value = (0..16).map(|n| n * n).collect();
    assert_eq!(shown("copy_constant", &raw).0, std::slice::from_ref(&squares));
    let through = format!(
        "--block 16 --grid 1 --arg out:u32:16 --global from_host=inout:u32:@{}@{}",
        name("raw.bin"),
        name("saved.npy")
    );
    shown("copy_constant", &through);
    let again = format!("--block 16 --grid 1 --arg out:u32:16 --global from_host=u32:@{}", name("saved.npy"));
    assert_eq!(shown("copy_constant", &again).0, [squares]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_does_not_fit_is_refused() {
    let counted = "--block 32 --grid 1 --arg out:u32:32";
    for (global, words) in [
        ("countr=7", "has no variable `countr`; it has "),
        ("countr=u32:7", "has no variable `countr`; it has "),
        ("coefficients=1,2", "write coefficients=TYPE:DATA"),
        ("coefficients=f32:1,2", "variable `coefficients` has 16 bytes, the data of f32 8 bytes"),
        ("coefficients=hex:00", "variable `coefficients` has 16 bytes, the data 1 byte"),
        ("shorts=out:u32", "has 6 bytes, which is not a multiple of the 4 bytes of u32"),
        ("counter=-1", "-1 does not fit in u32"),
        ("counter=f33:1", "unknown type `f33`"),
        ("counter", "expected NAME=DATA"),
        ("counter=1 --global counter=2", "set it once"),
    ] {
        let refused = run(&command("count", &format!("{counted} --global {global}")));
        assert!(refused.code == 2 && refused.says(words), "{global}: {} {}", refused.code, refused.err);
    }
    let missing = run(&command("count", &format!("{counted} --global counter=@no/such.bin")));
    assert!(missing.code == 3 && missing.says("no/such.bin"), "{}", missing.err);
}
