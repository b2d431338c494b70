//! Files that are well formed, and meant to harm whoever looks into them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::PathBuf;
use support::{Run, finished, json, root, scratch, tool_within};

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

fn written(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = scratch("hostile").join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Runs the tool, which has to be done within seconds.
fn run(arguments: &[&str]) -> Run {
    finished(&tool_within(20).args(arguments).output().unwrap())
}

/// Every command that only looks.
fn looks(path: &str, kernel: &str) {
    for arguments in [&["inspect", path][..], &["bind", path], &["occupancy", path, kernel]] {
        let run = run(arguments);
        assert!(run.code == 0 || run.code == 2 || run.code == 4, "{arguments:?}: {}", run.err);
    }
}

#[test]
fn numbers_that_multiply_to_more_than_there_is() {
    let text =
        format!("{HEADER}.visible .entry k(.param .u64 x)\n.maxntid {0}, {0}, {0}\n{{ ret; }}\n", u32::MAX);
    let path = written("maxntid.ptx", text);
    looks(path.to_str().unwrap(), "k");
    let path = root().join("ptx/tests/data/attributes.sm_90.cubin");
    for (registers, expected) in [("0", 2), ("1", 0), ("255", 0), ("4294967295", 2)] {
        let code = run(&[
            "occupancy",
            path.to_str().unwrap(),
            "bounds",
            "--arch",
            "sm_90",
            "--registers",
            registers,
        ])
        .code;
        assert_eq!(code, expected, "{registers}");
    }
}

/// Debug information as text: its words, labels and sections are far more than what they take in the file.
#[test]
fn debug_information_that_is_more_than_its_text() {
    let kernel = ".visible .entry k(.param .u64 x) { ret; }\n";
    let labels: String = (0..500_000).map(|i| format!("a{i}:\n")).collect();
    for sections in [
        format!(".section .debug_info {{ .b64 0{} }}", ",0".repeat(4 << 20)),
        format!(".section .debug_info {{ .b64 a{} }}\n.section .debug_str {{ a: }}", ",a".repeat(1 << 20)),
        format!(".section .debug_str {{ {labels} }}\n.section .debug_info {{ .b8 0 }}"),
        ".section .debug_info{}".repeat(300_000),
    ] {
        let path = written("debug.ptx", format!("{HEADER}{kernel}{sections}\n"));
        looks(path.to_str().unwrap(), "k");
    }
}

/// A name that would clear the screen, and one that would end a comment.
#[test]
fn names_do_nothing_to_a_terminal_or_to_source() {
    for (name, replaced) in [("\u{1b}[2Jx!", "vecadd"), ("a\n]b()", "vecadd")] {
        let bytes = std::fs::read(root().join("ptx/tests/data/basic.sm_90.cubin")).unwrap();
        let mut bytes = bytes.clone();
        let places: Vec<usize> =
            bytes.windows(6).enumerate().filter(|(_, w)| *w == replaced.as_bytes()).map(|(i, _)| i).collect();
        assert!(!places.is_empty());
        for place in places {
            bytes[place..place + 6].copy_from_slice(&name.as_bytes()[..6]);
        }
        let path = written("name.cubin", bytes);
        let path = path.to_str().unwrap();
        let shown = run(&["inspect", path]);
        assert!(shown.code == 0 && !shown.out.contains('\u{1b}'), "{}", shown.out);
        let bound = run(&["bind", path]);
        // The second line of the name would stand for itself.
        assert!(bound.code == 0 && !bound.out.lines().any(|line| line.starts_with(']')), "{}", bound.out);
    }
}

/// Compilers make PTX of tens of megabytes, which drivers load.
#[test]
fn large_ptx_is_read_up_to_a_limit() {
    let folder = scratch("hostile-large");
    let file = folder.join("large.ptx");
    for (megabytes, is_read) in [(20, true), (64, false)] {
        let line = format!("// {}\n", "x".repeat(1020));
        let text = format!(
            "{}.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{ ret; }}\n",
            line.repeat(megabytes << 10)
        );
        std::fs::write(&file, text).unwrap();
        let found = run(&["inspect", file.to_str().unwrap()]);
        if is_read {
            assert!(found.code == 0 && found.out.contains('k'), "{}", found.err);
        } else {
            assert!(found.code == 3 && found.says("over the limit of 67108864"), "{}", found.err);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn many_kernels_take_no_longer_than_their_length() {
    let kernels: String = (0..20_000)
        .map(|i| format!(".entry k{}$() {{ ret; }}\n", "$_".repeat(i % 7) + &i.to_string()))
        .collect();
    let same: String = (0..1u32 << 14)
        .map(|i| {
            let name: String = (0..14).map(|bit| if i >> bit & 1 == 0 { '$' } else { '_' }).collect();
            format!(".entry s{name}() {{ ret; }}\n.shared .b8 v{name}[4];\n")
        })
        .collect();
    let path = written("many.ptx", format!("{HEADER}{kernels}{same}"));
    let path = path.to_str().unwrap();
    assert_eq!(run(&["inspect", path]).code, 0);
    assert_eq!(run(&["bind", path]).code, 0);
    let missing = run(&["occupancy", path, "missing"]);
    assert!(missing.code == 2 && missing.says("more") && missing.err.len() < 2000, "{}", missing.err.len());
}

#[test]
fn numbers_on_the_command_line_ask_for_no_more_than_there_is() {
    let vecadd = ["run", "examples/kernels/vecadd.ptx", "vecadd"];
    for spec in [
        "out:f64[]:99999999999999",
        "inout:f64[]:0..9223372036854775807",
        "inout:u8[]:18446744073709551615*1",
    ] {
        let (code, answer) = json(&[&vecadd[..], &["--arg", spec]].concat());
        assert_eq!((code, &answer["error"]["kind"]), (2, &"usage".into()), "{spec}");
    }
    let (code, answer) = json(&["inspect"]);
    assert_eq!((code, &answer["error"]["kind"]), (2, &"usage".into()));
}

/// A fatbin of these PTX texts, not compressed.
fn fatbin(texts: &[String]) -> Vec<u8> {
    let mut body = Vec::new();
    for text in texts {
        let mut entry = [0u8; 64];
        entry[0] = 1;
        entry[2..4].copy_from_slice(&0x0101u16.to_le_bytes());
        entry[4] = 64;
        entry[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
        entry[28] = 90;
        body.extend(entry);
        body.extend(text.as_bytes());
    }
    let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// Kernels, parameters and variables, in one image or in all of a file.
#[test]
fn a_file_has_no_more_symbols_than_the_limit() {
    let with_parameters = |count: usize| {
        let list: Vec<String> = (0..count).map(|i| format!(".param .u8 p{i}")).collect();
        format!("{HEADER}.visible .entry k({}) {{ ret; }}\n", list.join(","))
    };
    let kernels: String = (0..100_001).map(|i| format!(".entry k{i}(){{}}\n")).collect();
    let variables: String = (0..100_001).map(|i| format!(".global .u8 v{i};\n")).collect();
    let entries = [with_parameters(60_000), with_parameters(60_000)];
    for (name, bytes) in [
        ("parameters.ptx", with_parameters(100_001).into_bytes()),
        ("kernels.ptx", format!("{HEADER}{kernels}").into_bytes()),
        ("variables.ptx", format!("{HEADER}{variables}").into_bytes()),
        ("entries.fatbin", fatbin(&entries)),
    ] {
        let path = written(name, bytes);
        for command in ["inspect", "bind"] {
            let run = run(&[command, path.to_str().unwrap()]);
            assert!(
                run.code != 0 && run.says("the limit of 100000 for a file"),
                "{command} {name}: {}",
                run.err
            );
        }
    }
    let path = written("entry.fatbin", fatbin(&entries[..1]));
    assert_eq!(run(&["bind", path.to_str().unwrap()]).code, 0);
}

/// Text and JSON of a file are not both made; counted in the bytes that the process may ask for at all.
#[cfg(target_os = "linux")]
#[test]
fn many_kernels_take_no_more_than_a_few_kilobytes_each() {
    let kernels: String = (0..40_000).map(|i| format!(".visible .entry kernel{i}() {{ ret; }}\n")).collect();
    let path = written("many.ptx", format!("{HEADER}{kernels}"));
    for arguments in ["inspect", "--json inspect"] {
        let script = format!("ulimit -v 150000; exec \"$0\" {arguments} \"$1\"");
        let output = std::process::Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_cuda-launch"), path.to_str().unwrap()])
            .output()
            .unwrap();
        let run = support::finished(&output);
        assert!(run.code == 0 && run.out.contains("kernel39999"), "{arguments}: {}", run.err);
    }
}
