//! `docs/parity.md` says what is there: its tests exist, its names are public, and nothing that matters is left empty. The
//! same for the tests that the head of `misuse.rs` names.

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

/// A row of a table of the page.
struct Row {
    /// Its number in the list of capabilities; `+` for what the list lacks.
    id: String,
    tier: String,
    ours: String,
    tests: String,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let cells: Vec<_> = line.split(" | ").map(str::to_owned).collect();
        let [id, tier, _capability, _oxide, _cutile, _cudarc, ours, tests] = cells.try_into().ok()?;
        (id != "row").then_some(Self { id, tier, ours, tests })
    }
}

fn rows() -> Vec<Row> {
    let page = read("docs/parity.md");
    let lines: Vec<_> =
        page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| row")).collect();
    let rows: Vec<_> = lines.iter().filter_map(|line| Row::parse(line)).collect();
    assert_eq!(rows.len(), lines.len(), "each row has eight cells");
    assert!(rows.len() > 150, "only {} rows were found", rows.len());
    rows
}

/// The parts of a text between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The file of tests that `name` stands for: `streams`, `sys/loader`, `examples/interop/nccl`.
fn file(name: &str) -> PathBuf {
    match name.rsplit_once('/') {
        Some((package, name)) => Path::new(package).join("tests").join(name).with_extension("rs"),
        None => Path::new("tests").join(name).with_extension("rs"),
    }
}

/// Whether this test is there.
fn exists(test: &str) -> bool {
    if let Some(example) = test.strip_prefix("example ") {
        return root().join("examples").join(example).with_extension("rs").exists();
    }
    if let Some(case) = test.strip_prefix("compile_fail/") {
        return root().join("tests/compile_fail").join(case).with_extension("rs").exists();
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
    for row in rows() {
        missing.extend(
            quoted(&row.tests).filter(|test| !exists(test)).map(|test| format!("{}: {test}", row.id)),
        );
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
fn nothing_that_must_be_there_is_empty() {
    let rows = rows();
    for row in rows.iter().filter(|row| ["T0", "T1"].contains(&row.tier.as_str())) {
        for cell in [&row.ours, &row.tests] {
            assert!(!["", "-"].contains(&cell.trim()), "{}: an empty cell", row.id);
            let later = (4..=6).any(|issue| *cell == format!("issue {issue}"));
            assert!(
                later || cell.contains('`') || row.ours.starts_with("no "),
                "{}: {cell} names nothing",
                row.id
            );
        }
    }
    // Each number of the list has a row: none was lost.
    let ids: HashSet<_> = rows.iter().map(|row| row.id.as_str()).collect();
    for (section, last) in [('A', 11), ('B', 15), ('C', 14), ('D', 23), ('E', 17), ('F', 12), ('G', 19)] {
        let lost: Vec<_> =
            (1..=last).map(|n| format!("{section}{n}")).filter(|id| !ids.contains(id.as_str())).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
    assert!((1..=23).all(|n| ids.contains(format!("H{n}").as_str())));
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
    for row in rows() {
        for word in quoted(&row.ours).flat_map(words).filter(|word| word.len() > 1 && !other.contains(word)) {
            if !known.contains(word) && !word.starts_with("CUDA_") && word.parse::<f64>().is_err() {
                missing.push(format!("{}: {word}", row.id));
            }
        }
    }
    assert!(missing.is_empty(), "no such public name:\n{}", missing.join("\n"));
}
