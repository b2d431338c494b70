//! Names and types of parameters from debug information; what is broken there is passed over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use std::path::PathBuf;
use support::{json, root, run, scratch};

const PTX: &str = "ptx/tests/data/named.debug.ptx";
/// As clang has it, without an optimizer: with one it writes lines only.
const CLANG: &str = "ptx/tests/data/named.clang.ptx";
const CUBIN: &str = "ptx/tests/data/named.debug.sm_90.cubin";
/// The parameters of `scale` as the source has them.
const SCALE: [&str; 5] = ["input", "output", "range", "count", "mode"];

fn read(image: &str) -> Vec<u8> {
    std::fs::read(root().join(image)).unwrap()
}

/// The kernel in an answer of `inspect`.
fn kernel<'v>(image: &'v Value, name: &str) -> &'v Value {
    image["kernels"].as_array().unwrap().iter().find(|kernel| kernel["name"] == name).unwrap()
}

/// One field of each parameter.
fn list<'v>(kernel: &'v Value, field: &str) -> Vec<&'v str> {
    let parameters = kernel["parameters"].as_array().unwrap();
    parameters.iter().map(|parameter| parameter[field].as_str().unwrap_or("-")).collect()
}

fn inspect(path: &str) -> Value {
    let (code, answer) = json(&["inspect", path]);
    assert_eq!(code, 0, "{path}: {answer}");
    answer
}

/// What `inspect` says of an image that is made here.
fn inspect_bytes(name: &str, bytes: impl AsRef<[u8]>) -> Value {
    let path: PathBuf = scratch("names").join(name);
    std::fs::write(&path, bytes).unwrap();
    inspect(path.to_str().unwrap())
}

#[test]
fn parameters_are_named_as_in_the_source() {
    for file in [PTX, CLANG, CUBIN] {
        let answer = inspect(file);
        let image = &answer["images"][0];
        let scale = kernel(image, "scale");
        assert_eq!(list(scale, "name"), SCALE, "{file}");
        assert_eq!(list(scale, "c"), ["const float *", "float *", "-", "int", "unsigned int"], "{file}");
        assert_eq!(scale["parameters"][0]["access"], "read");
        let tally = kernel(image, "tally");
        let names = ["counter", "values", "unused", "enabled", "least", "limit", "weight"];
        assert_eq!(list(tally, "name"), names, "{file}");
        let types = ["*mut u32", "*const u16", "*const u8", "u8", "i8", "i64", "f32"];
        assert_eq!(list(tally, "rust"), types, "{file}");
        let blur = kernel(image, "_ZN7filters4blurIdLi4EEEvPKT_PS1_j");
        assert_eq!(list(blur, "name"), ["source", "target", "length"], "{file}");
        let shown = run(&["inspect", file, "--kernel", "scale"]).out;
        assert!(SCALE.iter().all(|name| shown.lines().any(|line| line.ends_with(name))), "{shown}");
    }
    // What the body writes is known from PTX, whatever is declared.
    assert_eq!(inspect(PTX)["images"][0]["kernels"][1]["parameters"][0]["access"], "read-write");
    let bound = run(&["bind", CUBIN]).out;
    assert!(bound.contains("(source: *const f64, target: *mut f64, length: u32)"), "{bound}");
}

#[test]
fn rust_names_its_parameters_too() {
    let answer = inspect("ptx/tests/data/rust.debug.ptx");
    let choose = kernel(&answer["images"][0], "choose");
    assert_eq!(list(choose, "name"), ["p", "s", "n", "f", "text"]);
    assert_eq!(list(choose, "rust")[3], "*const f32");
}

/// A fatbin of entries that are not compressed: kind, content.
fn fatbin(entries: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, content) in entries {
        let mut header = vec![0; 64];
        header[..2].copy_from_slice(&kind.to_le_bytes());
        header[2..8].copy_from_slice(&[1, 1, 64, 0, 0, 0]);
        header[8..16].copy_from_slice(&(content.len() as u64).to_le_bytes());
        header[28] = 90;
        body.extend(header);
        body.extend(*content);
    }
    [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0], &(body.len() as u64).to_le_bytes()[..], &body].concat()
}

#[test]
fn names_travel_between_the_entries_of_a_fatbin() {
    let (ptx, cubin) = (read(PTX), read(CUBIN));
    let text = String::from_utf8(ptx.clone()).unwrap();
    let bare_ptx = text.split("\t.section").next().unwrap();
    let mut bare_cubin = cubin.clone();
    let info = debug_info(&cubin);
    bare_cubin[info..info + 64].fill(0);
    for (name, entries) in [
        ("ptx.fatbin", [(2, &bare_cubin[..]), (1, &ptx)]),
        ("cubin.fatbin", [(2, &cubin), (1, bare_ptx.as_bytes())]),
    ] {
        let answer = inspect_bytes(name, fatbin(&entries));
        for image in answer["images"].as_array().unwrap() {
            assert_eq!(list(kernel(image, "scale"), "name"), SCALE, "{name}: {}", image["kind"]);
            assert_eq!(list(kernel(image, "scale"), "rust")[0], "*const f32", "{name}");
        }
    }
}

/// Where `.debug_info` begins in the cubin: its first string says who made it.
fn debug_info(cubin: &[u8]) -> usize {
    cubin.windows(6).position(|bytes| bytes == b"lgenfe").unwrap() - 12
}

#[test]
fn broken_debug_information_is_an_answer_without_names() {
    let cubin = read(CUBIN);
    let info = debug_info(&cubin);
    let length = 4 + u32::from_le_bytes(cubin[info..info + 4].try_into().unwrap()) as usize;
    let types = |answer: &Value| list(kernel(&answer["images"][0], "scale"), "bytes").len();
    // Every byte, in the tests of the module; here the whole way, now and then.
    for place in (0..length).step_by(37) {
        let mut damaged = cubin.clone();
        damaged[info + place..info + length].fill(0xff);
        let answer = inspect_bytes("damaged.cubin", damaged);
        assert_eq!(types(&answer), 5, "{place}");
    }
    let text = String::from_utf8(read(PTX)).unwrap();
    let start = text.find("\t.section").unwrap();
    let (code, sections) = text.split_at(start);
    let lines: Vec<&str> = sections.lines().collect();
    for place in (0..lines.len()).step_by(29).filter(|place| lines[*place].starts_with(".b")) {
        for other in ["", ".b8 nonsense!", ".b64 1e9", "what is this", ".b32 -"] {
            let damaged = [&lines[..place], &[other], &lines[place + 1..]].concat().join("\n");
            let answer = inspect_bytes("damaged.ptx", format!("{code}{damaged}\n"));
            assert_eq!(types(&answer), 5, "{place}: {other}");
        }
    }
}

/// Names that a terminal or a compiler would take for something else.
#[test]
fn names_that_are_none_are_left_out() {
    for name in ["in\u{1b}ut", "in,ut", "in ut", "1nput", "in\nut"] {
        let mut cubin = read(CUBIN);
        let info = debug_info(&cubin);
        let place = info + cubin[info..].windows(6).position(|bytes| bytes == b"input\0").unwrap();
        cubin[place..place + 5].copy_from_slice(name.as_bytes());
        let answer = inspect_bytes("name.cubin", cubin);
        let scale = kernel(&answer["images"][0], "scale");
        assert_eq!(list(scale, "name"), ["-", "output", "range", "count", "mode"], "{name:?}");
        assert_eq!(list(scale, "rust")[0], "*const f32", "{name:?}");
    }
}
