//! Whoever calls an unsafe function answers for its duties by number: so each has some. And what safe code rests on is where
//! `docs/safety.md` says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::skipped;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of what programs use, and what those are made with.
const FOLDERS: &[&str] = &[
    "src",
    "sys/src",
    "emulator/src",
    "emulator/libcuda/src",
    "emulator/nvml/src",
    "emulator/stand_ins/src",
    "harness/src",
    "ptx/src",
    "macros/src",
    "cli/src",
    "cli/recorder/src",
];

/// Macros that can be used only inside `unsafe`.
const MACROS: &[&str] = &["cuda_launch", "cuda_launch_async"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    files(folder, &["rs"], found);
}

fn files(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files(&entry, extensions, found);
        } else if entry.extension().is_some_and(|extension| extensions.iter().any(|one| extension == *one)) {
            found.push(entry);
        }
    }
}

/// Whether line `number` declares something unsafe that has a name and callers in other files; C functions have C's duties.
fn is_declaration(lines: &[&str], number: usize) -> bool {
    let line = lines[number].trim_start();
    if let Some(name) = line.strip_prefix("macro_rules! ").and_then(|rest| rest.strip_suffix(" {")) {
        return MACROS.contains(&name);
    }
    let (public, line) = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => (true, rest.split_once(") ").map_or("", |(_, line)| line)),
        Some(rest) => (true, rest.trim_start()),
        None => (false, line),
    };
    let line = line.strip_prefix("const ").unwrap_or(line);
    let name = line.strip_prefix("unsafe fn ").or_else(|| line.strip_prefix("unsafe trait "));
    let named = name.is_some_and(|name| !name.starts_with(['$', '(']) && !name.starts_with("cu"));
    named && (public || is_of_a_trait(lines, number))
}

/// Whether line `number` stands in the declaration of a trait.
fn is_of_a_trait(lines: &[&str], number: usize) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let block = |line: &str| {
        let text = line.trim_start();
        let text = text.split_once(") ").filter(|_| text.starts_with("pub(")).map_or(text, |(_, text)| text);
        let text = text.strip_prefix("pub ").unwrap_or(text);
        let text = text.strip_prefix("unsafe ").unwrap_or(text);
        let is_trait = text.starts_with("trait ");
        (indent(line) < indent(lines[number]) && (is_trait || text.starts_with("impl"))).then_some(is_trait)
    };
    lines[..number].iter().rev().find_map(|line| block(line)).unwrap_or(false)
}

/// The documentation above line `number`, attributes between them left out.
fn documentation<'a>(lines: &[&'a str], number: usize) -> Vec<&'a str> {
    let above = lines[..number].iter().rev().take_while(|line| !line.trim().is_empty() && line.trim() != "}");
    let mut text: Vec<&str> = above.filter_map(|line| line.trim_start().strip_prefix("///")).collect();
    text.reverse();
    text
}

#[test]
fn what_is_unsafe_numbers_its_duties() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let there = FOLDERS.iter().map(|folder| root.join(folder)).filter(|folder| folder.exists());
    there.for_each(|folder| sources(&folder, &mut files));
    if files.is_empty() {
        return skipped("the sources are not on this machine");
    }
    let (mut seen, mut without) = (0, Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for number in (0..lines.len()).filter(|number| is_declaration(&lines, *number)) {
            seen += 1;
            let text = documentation(&lines, number);
            let duties = text.iter().map(|line| line.trim()).skip_while(|line| *line != "# Safety").skip(1);
            let duties = duties.take_while(|line| !line.starts_with('#'));
            // A list is rendered with the numbers 1, 2, 3 whatever its lines say: they have to say that.
            let numbers = duties.filter_map(|line| line.split_once(". ")?.0.parse::<usize>().ok());
            let numbers: Vec<usize> = numbers.collect();
            if numbers.is_empty() || !numbers.iter().copied().eq(1..=numbers.len()) {
                let file = file.strip_prefix(root).unwrap().display();
                without.push(format!("{file}:{}: {}", number + 1, lines[number].trim()));
            }
        }
    }
    assert!(seen > 150, "only {seen} were found");
    assert!(without.is_empty(), "unsafe, and without numbered duties:\n{}", without.join("\n"));
}

/// The duties that a comment answers, as in `1: ..; 2, 3: ..; 4 to 6, here and below: ..`.
fn answered(comment: &str) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    let numbers = |word: &str| word.trim_end_matches([',', ':']).parse::<usize>().ok();
    let words: Vec<&str> = comment.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let Some(first) =
            numbers(word).filter(|_| word.ends_with([',', ':']) || words.get(at + 1) == Some(&"to"))
        else {
            continue;
        };
        let last = words.get(at + 2).filter(|_| words[at + 1] == "to").and_then(|last| numbers(last));
        all.extend(first..=last.unwrap_or(first));
    }
    all
}

#[test]
fn who_launches_answers_for_each_duty() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    let folders = ["src", "examples", "benches", "tests", "docs", "cli/src"].map(|folder| root.join(folder));
    folders
        .iter()
        .filter(|folder| folder.exists())
        .for_each(|folder| files(folder, &["rs", "md"], &mut paths));
    // Those are only compiled.
    paths.retain(|path| !path.starts_with(root.join("tests/compile_fail")));
    let (mut seen, mut without) = (0, Vec::new());
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        // Examples are code in comments of documentation.
        let lines: Vec<&str> = lines
            .into_iter()
            .map(|line| line.trim_start_matches("///").trim_start_matches("//!").trim_start())
            .collect();
        let launches = |line: &str| {
            let calls = |name: &str| ["! {", "!("].iter().any(|open| line.contains(&format!("{name}{open}")));
            !line.starts_with("//") && MACROS.iter().any(|name| calls(name))
        };
        for number in (0..lines.len()).filter(|number| launches(lines[*number])) {
            let begins =
                (number.saturating_sub(3)..=number).rev().find(|line| lines[*line].contains("unsafe"));
            let above = lines[..begins.unwrap_or(0)].iter().rev().map_while(|line| line.strip_prefix("// "));
            let mut comment: Vec<&str> = above.collect();
            comment.reverse();
            let comment = comment.join(" ");
            let Some((_, comment)) = comment.split_once("SAFETY: ") else { continue };
            seen += 1;
            if !answered(comment).into_iter().eq(1..=6) {
                let file = path.strip_prefix(root).unwrap().display();
                without.push(format!("{file}:{}: {comment}", number + 1));
            }
        }
    }
    if seen == 0 {
        return skipped("the sources are not on this machine");
    }
    assert!(seen > 70, "only {seen} were found");
    assert!(without.is_empty(), "of the duties 1 to 6 not all are answered:\n{}", without.join("\n"));
}

/// Handles of what a driver destroys.
const HANDLES: &[&str] = &[
    "CUarray",
    "CUcontext",
    "CUevent",
    "CUexternalMemory",
    "CUexternalSemaphore",
    "CUgraph",
    "CUgraphExec",
    "CUgreenCtx",
    "CUlibrary",
    "CUlinkState",
    "CUmemGenericAllocationHandle",
    "CUmemoryPool",
    "CUmipmappedArray",
    "CUmodule",
    "CUstream",
    "CUsurfObject",
    "CUtexObject",
];

/// It compares the handle with those of values that there are.
const COMPARES: &str = "fn find";

/// Two values of one handle would both destroy it, or one would be used after the other has: whoever makes one answers for the handle.
#[test]
fn what_makes_a_value_of_a_handle_is_unsafe() {
    let mut files = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    if !folder.exists() {
        return skipped("the sources are not on this machine");
    }
    sources(&folder, &mut files);
    let (mut seen, mut safe) = (0, Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices("fn ") {
            let line = text[..at].rsplit('\n').next().unwrap();
            if line.contains("//") || !line.is_empty() && !line.ends_with(' ') {
                continue;
            }
            let Some((parameters, result)) =
                text[at..].split_once('{').and_then(|(signature, _)| signature.split_once("->"))
            else {
                continue;
            };
            let is_handle = |word: &str| {
                let ty = word.split_once(": ").map_or("", |(_, ty)| ty);
                HANDLES.contains(&ty.trim().rsplit("::").next().unwrap().trim_end_matches(')'))
            };
            let name = parameters.split('(').next().unwrap();
            if result.contains("Self") && parameters.split(',').any(is_handle) && name != COMPARES {
                seen += 1;
                if !line.contains("unsafe ") {
                    safe.push(format!("{}: {name}", file.display()));
                }
            }
        }
    }
    assert!(seen > 20, "only {seen} were found");
    assert!(safe.is_empty(), "they make values of handles, and are not unsafe:\n{}", safe.join("\n"));
}

#[test]
fn the_safety_page_names_files_functions_and_tests_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(page) = fs::read_to_string(root.join("docs/safety.md")) else {
        return skipped("the page is not on this machine");
    };
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    let sources: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let has = |ty: &str, function: &str| {
        let ends = ["(", "<"].map(|end| format!("fn {function}{end}"));
        sources.iter().any(|text| text.contains(ty) && ends.iter().any(|it| text.contains(it)))
    };
    // What stands between back quotes, outside of programs: files, functions by their type, and tests by the file they are in.
    let text: String = page.split("```").step_by(2).collect();
    let names = text.split('`').skip(1).step_by(2);
    let (mut seen, mut missing) = (0, Vec::new());
    for name in names {
        let there = if name.starts_with("src/") || name.starts_with("tests/") {
            root.join(name).exists()
        } else if let Some((file, test)) = name.split_once("::")
            && file.starts_with(|first: char| first.is_ascii_lowercase())
        {
            let text = fs::read_to_string(root.join(format!("tests/{file}.rs")));
            text.is_ok_and(|text| text.contains(&format!("#[test]\nfn {test}() ")))
        } else if let Some((ty, function)) = name.split_once("::")
            && function.starts_with(|first: char| first.is_ascii_lowercase())
        {
            has(ty, function)
        } else {
            continue;
        };
        seen += 1;
        if !there {
            missing.push(name);
        }
    }
    assert!(seen > 30, "only {seen} were found");
    assert!(missing.is_empty(), "named, and not there: {missing:#?}");
}
