//! Lines fit the terminal, and files and pipes get them whole. Tables keep their columns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use support::{run, run_in};

const SCALE: [&str; 4] = ["inspect", "ptx/tests/data/basic.zstd.fatbin", "--kernel", "scale"];
/// saxpy takes a u32, a f32 and two addresses.
const SAXPY: [&str; 3] = ["run", "examples/kernels/saxpy.ptx", "saxpy"];

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn a_pipe_gets_whole_lines() {
    let answer = run(&SCALE).out;
    let facts = "  10 registers, 0 bytes shared, 0 bytes local, 24 bytes of parameters, at most 256 threads per block";
    assert!(answer.lines().any(|line| line == facts), "{answer}");
    let error = run(&["inspect", "ptx/tests/data/basic.ptx", "--kernel", &"k".repeat(200)]).err;
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn a_terminal_gets_lines_that_fit() {
    for columns in [40, 60, 80, 120] {
        let found = run_in(columns, &SCALE);
        assert!(widest(&found.out) <= columns as usize, "{columns}: {}", found.out);
        assert_eq!(found.out.contains('…'), columns == 40, "{columns}: {}", found.out);
        let error = run_in(columns, &["run", "README.md", "k"]).err;
        assert!(widest(&error) <= columns as usize && error.lines().count() > 1, "{columns}: {error}");
    }
    assert!(run_in(120, &SCALE).out.contains("at most 256 threads per block\n"));
    // No number of columns is as none.
    for odd in ["", "0", "-1", "wide"] {
        let output = support::tool().args(SCALE).env("COLUMNS", odd).output().unwrap();
        assert_eq!(support::finished(&output).out, run(&SCALE).out, "{odd}");
    }
}

/// As people have it: no variable, but a terminal.
#[test]
#[cfg(target_os = "linux")]
fn the_terminal_itself_is_asked() {
    let wide = of_terminal(50, &SCALE);
    let plain = without_colours(&wide.replace('\r', ""));
    assert!(widest(&plain) <= 50 && plain.contains("no debug\n  information"), "{plain}");
}

#[cfg(target_os = "linux")]
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_, rest)| rest))
}

/// What the tool writes to a terminal of so many columns.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)] // A pseudo-terminal is made by a call of the system.
fn of_terminal(columns: u16, arguments: &[&str]) -> String {
    use std::io::Read;
    use std::os::fd::{FromRawFd, OwnedFd};
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut own, mut other) = (0, 0);
    // SAFETY: the places and the size outlive the call; null is no name and no settings, as POSIX systems document it.
    let code = unsafe { libc::openpty(&mut own, &mut other, std::ptr::null_mut(), std::ptr::null(), &size) };
    assert_eq!(code, 0);
    // SAFETY: the call made both descriptors, and nobody else has them.
    let (own, other) = unsafe { (OwnedFd::from_raw_fd(own), OwnedFd::from_raw_fd(other)) };
    let mut command = support::tool();
    command.args(arguments).stdout(other.try_clone().unwrap()).stderr(other);
    let mut child = command.spawn().unwrap();
    // The command keeps copies of the terminal's other end, which would keep it open.
    drop(command);
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    let mut terminal = std::fs::File::from(own);
    // It ends with an error where nobody has the other end any more.
    while let Ok(count @ 1..) = terminal.read(&mut part) {
        text.extend_from_slice(&part[..count]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap()
}

fn mismatch(columns: Option<u32>, arguments: &[&str]) -> String {
    let mut words = SAXPY.to_vec();
    arguments.iter().for_each(|argument| words.extend(["--arg", argument]));
    let found = columns.map_or_else(|| run(&words), |columns| run_in(columns, &words));
    assert_eq!((found.code, found.out.as_str()), (2, ""), "{}", found.err);
    found.err
}

#[test]
fn the_table_of_a_mismatch_keeps_its_columns() {
    let long = format!("in:f32:{}1", "1,".repeat(60));
    for columns in [None, Some(60), Some(80)] {
        for (arguments, marked, help) in [
            (vec!["u8:1,2", "f32:2", &long, "out:f32:3"], 0, "help: write u32:VALUE"),
            (vec!["u32:1", "hex:00ff00", &long, "out:f32:3"], 1, "help: write f32:VALUE"),
            (vec!["u32:1", "f32:2", "f32:3", &long], 2, "help: write in:f32:DATA"),
            (vec!["u32:1", "f32:2", &long], 3, "help: give one --arg per parameter"),
            (vec!["u32:1", "f32:2", "in:f32[]:1", &long], 4, "help: give one --arg per parameter"),
        ] {
            let error = mismatch(columns, &arguments);
            let rows: Vec<&str> = error.lines().skip_while(|line| !line.trim().starts_with('#')).collect();
            let heading = rows.first().unwrap_or_else(|| panic!("{error}"));
            let at = |word: &str| heading.find(word).unwrap_or_else(|| panic!("{error}"));
            let (number, argument, bytes) = (at("#"), at("argument"), at("bytes") + "bytes".len());
            let table: Vec<Vec<char>> = rows[1..]
                .iter()
                .take_while(|row| !row.contains("help:"))
                .map(|row| row.chars().collect())
                .collect();
            assert_eq!(table.len(), 4.max(marked + 1), "{error}");
            for (index, row) in table.iter().enumerate() {
                assert_eq!(row[number], char::from(b'0' + u8::try_from(index).unwrap()), "{error}");
                assert_eq!(row.contains(&'>'), index == marked, "{error}");
                assert!(row[argument - 1] == ' ' && row[argument] != ' ', "{error}");
                assert!(row[bytes - 1] != ' ' && row[bytes] == ' ', "{error}");
                assert!(columns.is_none_or(|columns| row.len() <= columns as usize), "{error}");
            }
            assert!(error.split_whitespace().collect::<Vec<_>>().join(" ").contains(help), "{error}");
            assert!(!error.contains("repr(C)"), "{error}");
        }
    }
}
