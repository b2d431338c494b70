//! `docs/comparison.md` says what is there: each capability has tests in `tests/capabilities.md`, these exist, and the names in
//! our column are public. The same for the tests that the head of `misuse.rs` names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of a page's tables, cell by cell, of those with as many cells as the line that begins with `head`.
fn rows(page: &str, head: &str) -> Vec<Vec<String>> {
    let page = read(page);
    let width = |line: &str| line.split(" | ").count();
    let mut of_ours = false;
    let mut rows = Vec::new();
    for line in page.lines() {
        if line.starts_with(head) {
            of_ours = true;
        } else if !line.starts_with('|') {
            of_ours = false;
        } else if of_ours && line.starts_with("| ") {
            assert_eq!(
                width(line),
                width(page.lines().find(|line| line.starts_with(head)).unwrap()),
                "{line}"
            );
            let cells = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")).unwrap();
            rows.push(cells.split(" | ").map(str::to_owned).collect());
        }
    }
    assert!(rows.len() > 150, "only {} rows were found", rows.len());
    rows
}

/// Capability, cuda-launch, three others, where it was seen.
fn capabilities() -> Vec<Vec<String>> {
    rows("docs/comparison.md", "| capability | cuda-launch |")
}

/// Capability, tests.
fn proofs() -> Vec<Vec<String>> {
    rows("tests/capabilities.md", "| capability | tests |")
}

/// The parts of a text between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The file of tests that `name` stands for: `streams`, `sys/loader`, `examples/interop/nccl`, `emulator/engine/bulk`.
fn file(name: &str) -> PathBuf {
    let is_package = |&(at, _): &(usize, &str)| root().join(&name[..at]).join("Cargo.toml").exists();
    match name.rmatch_indices('/').find(is_package) {
        Some((at, _)) => Path::new(&name[..at]).join("tests").join(&name[at + 1..]).with_extension("rs"),
        None => Path::new("tests").join(name).with_extension("rs"),
    }
}

/// Whether this test is there.
fn exists(test: &str) -> bool {
    if let Some(example) = test.strip_prefix("example ") {
        return root().join("examples").join(example).with_extension("rs").exists();
    }
    if let Some(case) = test.strip_prefix("compile_fail/") {
        return root().join("tests/compile_fail/cases").join(case).with_extension("rs").exists();
    }
    let Some((place, function)) = test.split_once("::") else { return false };
    if !root().join(file(place)).exists() {
        return false;
    }
    let text = read(file(place));
    let wanted = if function == "*" { "fn ".to_owned() } else { format!("fn {function}(") };
    // Attributes may stand between the two.
    text.split("#[test]").skip(1).any(|after| {
        let declaration = after.find("fn ").map(|start| &after[start..]);
        declaration.is_some_and(|declaration| declaration.starts_with(&wanted))
    })
}

#[test]
fn every_test_that_is_named_exists() {
    let mut missing = Vec::new();
    for row in proofs() {
        missing
            .extend(quoted(&row[1]).filter(|test| !exists(test)).map(|test| format!("{}: {test}", row[0])));
    }
    let misuse = read("tests/misuse.rs");
    let table = misuse.lines().filter(|line| line.starts_with("//! | "));
    for test in table.flat_map(|line| quoted(line.rsplit(" | ").next().unwrap_or_default())) {
        if !exists(test) {
            missing.push(format!("misuse.rs: {test}"));
        }
    }
    assert!(missing.is_empty(), "no such test:\n{}", missing.join("\n"));
}

#[test]
fn each_capability_has_tests_and_each_cell_says_something() {
    let (capabilities, proofs) = (capabilities(), proofs());
    for row in &capabilities {
        assert!(row.iter().all(|cell| !cell.trim().is_empty()), "{}: an empty cell", row[0]);
    }
    for row in capabilities.iter().zip(&proofs) {
        let (capability, proof) = row;
        assert_eq!(capability[0], proof[0], "the rows of the two pages differ from here on");
        // What is not there has no test, and was seen nowhere.
        let absent = capability[1].starts_with('-');
        assert_eq!(absent, proof[1] == "-", "{}: {}", capability[0], proof[1]);
        assert_eq!(absent, capability[5] == "-", "{}: {}", capability[0], capability[5]);
        assert!(
            absent || proof[1].contains('`') || proof[1].starts_with("all"),
            "{}: names no test",
            proof[0]
        );
    }
    assert_eq!(capabilities.len(), proofs.len());
}

#[test]
fn where_something_was_seen_is_explained() {
    let page = read("docs/comparison.md");
    for row in capabilities().iter().filter(|row| row[5] != "-") {
        for word in row[5].split(", ") {
            let explained = page.lines().any(|line| {
                line.strip_prefix("| ").is_some_and(|line| line.split(" | ").next().unwrap().contains(word))
            });
            assert!(explained, "{}: {word:?} is not explained", row[0]);
        }
    }
}

/// All Rust files below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// What this crate and its packages declare for others: items that are `pub`, re-exports, macros, variants, flags and the
/// entries of the tables that macros turn into them.
fn declared() -> HashSet<String> {
    let mut files = Vec::new();
    ["src", "sys/src", "macros/src"].iter().for_each(|folder| sources(&root().join(folder), &mut files));
    let mut names = HashSet::new();
    for text in files.iter().map(read) {
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            let mut start = words(line);
            match start.next() {
                Some("pub") => names.extend(words(line).map(str::to_owned)),
                // Methods of traits.
                Some("unsafe") => names.extend(start.nth(1).map(str::to_owned)),
                Some("macro_rules" | "const" | "fn") => names.extend(start.take(1).map(str::to_owned)),
                Some(word) if !["let", "use", "impl", "if", "match", "return"].contains(&word) => {
                    names.insert(word.to_owned());
                }
                _ => {}
            }
        }
    }
    names.extend(words(&read("src/lib.rs")).map(str::to_owned));
    names
}

#[test]
fn the_names_in_our_column_are_there() {
    let known = declared();
    // Words of Rust, of the macro's syntax, of the environment, and of features.
    let other = ["unsafe", "derive", "static", "Send", "include_bytes", "include_str", "name", "await"];
    let mut missing = Vec::new();
    for row in capabilities() {
        for word in quoted(&row[1]).flat_map(words).filter(|word| word.len() > 1 && !other.contains(word)) {
            if !known.contains(word) && !word.starts_with("CUDA_") && word.parse::<f64>().is_err() {
                missing.push(format!("{}: {word}", row[0]));
            }
        }
    }
    assert!(missing.is_empty(), "no such public name:\n{}", missing.join("\n"));
}
