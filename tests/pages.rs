//! The pages of the repository: links and the files that they name are there, programs are compiled, the README shows whole programs in narrow lines,
//! `docs/environment.md` names every variable of ours, and phrases that are not idiomatic stay away.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder with one of the extensions, but for what is built or hidden.
fn below(folder: &Path, extensions: &[&str], into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            below(&path, extensions, into);
        } else if extensions.iter().any(|wanted| path.extension().is_some_and(|it| it == *wanted)) {
            into.push(path);
        }
    }
}

/// Names in quotes that begin as ours do, and those that `var` or `var_os` reads.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let is_name =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase() || b"_0123456789".contains(&byte));
    let ours = text
        .split('"')
        .filter(|text| ["CUDA_LAUNCH_", "CUDA_EMULATOR_"].iter().any(|start| text.starts_with(start)));
    let read = ["var(\"", "var_os(\""].into_iter().flat_map(|call| text.split(call).skip(1));
    ours.chain(read.filter_map(|rest| rest.split('"').next())).filter(move |name| is_name(name))
}

#[test]
fn every_variable_is_in_the_table() {
    let page = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let mut files = Vec::new();
    below(root(), &["rs"], &mut files);
    files.retain(|file| !file.ends_with("tests/pages.rs"));
    let texts: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let names: BTreeSet<_> = texts.iter().flat_map(|text| variables(text)).collect();
    assert!(names.len() > 60, "only {names:?} were found");
    // NVIDIA's, with our prefix; Cargo's; and those by which tests talk to the processes that they start.
    let is_known = |name: &&str| {
        ["CUDA_LAUNCH_BLOCKING", "CARGO", "OUT_DIR", "OPT_LEVEL"].contains(name)
            || ["CARGO_", "CUDA_LAUNCH_TEST_"].iter().any(|start| name.starts_with(start))
    };
    let is_told = |name: &&str| ["`", "="].iter().any(|end| page.contains(&format!("`{name}{end}")));
    let missing: Vec<_> = names.into_iter().filter(|name| !is_known(name) && !is_told(name)).collect();
    assert!(missing.is_empty(), "docs/environment.md lacks {missing:?}");
}

/// The names in the first column of a section's table.
fn names_of(page: &str, section: &str) -> Vec<String> {
    let (_, rest) = page.split_once(&format!("\n## {section}\n")).unwrap();
    let table = rest.split("\n## ").next().unwrap();
    table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(name, _)| name.into())
        .collect()
}

#[test]
fn doctor_tells_every_variable_of_the_crate_and_the_emulator() {
    let page = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let known = fs::read_to_string(root().join("src/doctor/variables.rs")).unwrap();
    let names = [names_of(&page, "The crate"), names_of(&page, "The emulator")].concat();
    assert!(names.len() > 10, "only {names:?} were found");
    let untold: Vec<_> = names.iter().filter(|name| !known.contains(&format!("(\"{name}\", "))).collect();
    assert!(untold.is_empty(), "doctor knows nothing of {untold:?}");
}

/// The Markdown files of the repository.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    below(root(), &["md"], &mut found);
    assert!(found.len() > 25, "only {found:?} were found");
    found
}

/// What a page links to: `](target)`, outside of blocks of code.
fn links(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    outside.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next()).collect()
}

/// The name that a heading has in a link.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
}

const REPOSITORY: &str = "https://github.com/cuda-launch/cuda-launch/blob/main/";

/// Whether a link in a file leads to a file of the repository that is there, with the heading.
fn is_alive(file: &Path, link: &str) -> bool {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = match path.strip_prefix(REPOSITORY) {
        Some(path) => root().join(path),
        None if path.contains("://") => return true,
        None if path.is_empty() => file.to_owned(),
        None => file.parent().unwrap().join(path),
    };
    let is_heading = |line: &str| line.starts_with('#') && anchor(line.trim_matches('#')) == heading;
    let has_heading = || fs::read_to_string(&target).unwrap_or_default().lines().any(is_heading);
    target.exists() && (heading.is_empty() || has_heading())
}

/// The files of pictures that are one for light and another for dark.
fn pictures(text: &str) -> Vec<&str> {
    let after = ["src=\"", "srcset=\""].into_iter().flat_map(|start| text.split(start).skip(1));
    after.filter_map(|rest| Some(rest.split_once('"')?.0)).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut dead = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let lost = links(&text).into_iter().chain(pictures(&text)).filter(|link| !is_alive(&page, link));
        dead.extend(lost.map(|link| format!("{}: {link}", page.strip_prefix(root()).unwrap().display())));
        // Other ways to write a link are not looked at.
        let is_definition = |line: &str| line.starts_with('[') && line.contains("]: ");
        let others = text.contains("href=") || text.lines().any(is_definition);
        assert!(!others, "{}: write links as `[text](target)`", page.display());
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// In manifests, documentation, errors and help texts.
#[test]
fn links_to_the_repository_lead_somewhere() {
    let mut files = Vec::new();
    below(root(), &["rs", "toml"], &mut files);
    let mut count = 0;
    for file in files.iter().filter(|file| !file.ends_with("tests/pages.rs")) {
        let text = fs::read_to_string(file).unwrap();
        for (at, _) in text.match_indices(REPOSITORY) {
            let link = text[at..].split(|c: char| c.is_whitespace() || "\")`>".contains(c)).next().unwrap();
            assert!(is_alive(file, link), "{}: {link}", file.display());
            count += 1;
        }
    }
    assert!(count >= 3, "only {count} were found");
}

/// `src/launch/check.rs` in a page is a file, there or in the library that the page is about.
#[test]
fn files_that_pages_name_are_there() {
    const EXAMPLES: [&str; 2] = ["tests/file.rs", "examples/name.rs"];
    let is_path = |word: &&str| {
        let is_of_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let extension = word.rsplit_once('.').map(|(_, extension)| extension);
        word.contains('/')
            && word.chars().all(is_of_path)
            && extension.is_some_and(|it| ["md", "rs", "toml", "py", "sh", "cu", "ptx", "svg"].contains(&it))
    };
    let mut gone = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let named = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).filter(is_path);
        let folders = [root(), page.parent().unwrap(), &root().join("src"), &root().join("emulator/src")];
        let lost = named.filter(|path| !folders.iter().any(|folder| folder.join(path).exists()));
        let lost = lost.filter(|path| !EXAMPLES.contains(path));
        gone.extend(lost.map(|path| format!("{}: {path}", page.strip_prefix(root()).unwrap().display())));
    }
    assert!(gone.is_empty(), "not there:\n{}", gone.join("\n"));
}

/// `src/lib.rs` includes them, so that `cargo test --doc pages` compiles and runs their programs.
#[test]
fn every_program_of_the_docs_is_compiled() {
    let included = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let docs = root().join("docs");
    let with_programs: Vec<_> = pages()
        .into_iter()
        .filter(|page| page.starts_with(&docs) && fs::read_to_string(page).unwrap().contains("```rust"))
        .map(|page| page.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    assert!(with_programs.len() > 5, "only {with_programs:?} were found");
    let left_out: Vec<_> =
        with_programs.iter().filter(|page| !included.contains(&format!("../{page}\")"))).collect();
    assert!(left_out.is_empty(), "src/lib.rs compiles no program of {left_out:?}");
}

/// rustdoc compiles all examples of a crate as one program in another folder. If a relative path leads nowhere from there, it compiles
/// each example alone instead, without saying so: that takes two minutes more.
#[test]
fn examples_that_include_a_file_stand_alone() {
    let mut files = Vec::new();
    for folder in ["src", "sys/src", "ptx/src", "emulator/src", "harness/src", "macros/src"] {
        below(&root().join(folder), &["rs"], &mut files);
    }
    let (mut count, mut wrong) = (0, Vec::new());
    for file in &files {
        let mut fence = String::new();
        for (number, line) in fs::read_to_string(file).unwrap().lines().enumerate() {
            let Some(line) = line.trim_start().strip_prefix("//").and_then(|it| it.strip_prefix(['/', '!']))
            else {
                continue;
            };
            if let Some(words) = line.trim_start().strip_prefix("```") {
                words.clone_into(&mut fence);
            }
            if line.contains("include_str!(\"") || line.contains("include_bytes!(\"") {
                count += 1;
                if !["standalone_crate", "compile_fail"].iter().any(|word| fence.contains(word)) {
                    wrong.push(format!("{}:{}", file.strip_prefix(root()).unwrap().display(), number + 1));
                }
            }
        }
    }
    assert!(count > 20, "only {count} were found");
    assert!(wrong.is_empty(), "write ```standalone_crate above:\n{}", wrong.join("\n"));
}

/// docs.rs and the registry show it, too: links name the repository. Hidden lines are shown on GitHub, and wide ones scroll.
#[test]
fn the_readme_serves_everywhere() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    for link in links(&text) {
        assert!(link.contains("://") || link.starts_with('#'), "{link} is dead on docs.rs");
    }
    for block in text.split("```").skip(1).step_by(2) {
        for line in block.lines().skip(1) {
            assert!(line.chars().count() <= 90, "scrolls sideways: {line}");
            assert!(!block.starts_with("rust") || !line.starts_with("# "), "hidden on docs.rs only: {line}");
        }
    }
}

/// Phrases of former pages and messages that are not idiomatic English, each of which was there more than once.
const PHRASES: &[&str] = &[
    "nobody wrote",
    "no whole number",
    "stays yours",
    "atever the driver answers",
    "or on none",
    "so to speak",
    "in vain",
    "is told so",
    "what is no ",
    "which is no ",
    "is no stream",
    "is no kernel",
    "is no handle",
    "but for ",
    "tell of ",
    "tells of ",
    "he same of ",
    "give back",
    "gives back",
    "stand there",
    "on Linux alone",
    "for ever ",
];

#[test]
fn phrases_that_are_not_idiomatic_stay_away() {
    let mut texts: Vec<(PathBuf, String)> =
        pages().into_iter().map(|page| (page.clone(), fs::read_to_string(page).unwrap())).collect();
    let mut files = Vec::new();
    for folder in ["src", "sys/src", "ptx/src", "emulator/src", "harness/src", "macros/src", "cli/src"] {
        below(&root().join(folder), &["rs"], &mut files);
    }
    // What programs print: a line with a text, and not a comment.
    let prints = |line: &&str| line.contains('"') && !line.trim_start().starts_with("//");
    texts.extend(files.into_iter().map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        (file, text.lines().filter(prints).collect::<Vec<_>>().join("\n"))
    }));
    let mut found = Vec::new();
    for (file, text) in &texts {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let bad = PHRASES.iter().filter(|phrase| words.contains(**phrase));
        found.extend(bad.map(|phrase| format!("{}: {phrase}", file.strip_prefix(root()).unwrap().display())));
    }
    assert!(found.is_empty(), "say it otherwise:\n{}", found.join("\n"));
}
