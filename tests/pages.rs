//! The pages of the repository: links lead somewhere, programs are compiled, the README shows whole programs in narrow lines, and
//! `docs/environment.md` names every variable of ours.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
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

/// Names in quotes that begin as ours do.
fn ours(text: &str) -> impl Iterator<Item = &str> {
    let is_name =
        |text: &&str| text.bytes().all(|byte| byte.is_ascii_uppercase() || b"_0123456789".contains(&byte));
    text.split('"')
        .filter(|text| ["CUDA_LAUNCH_", "CUDA_EMULATOR_"].iter().any(|start| text.starts_with(start)))
        .filter(is_name)
}

#[test]
fn every_variable_is_in_the_table() {
    let page = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let mut files = Vec::new();
    ["src", "sys/src", "ptx/src", "emulator/src", "harness/src", "macros/src", "cli/src", "cli/recorder/src"]
        .iter()
        .for_each(|folder| sources(&root().join(folder), &mut files));
    let texts: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let names: BTreeSet<_> = texts.iter().flat_map(|text| ours(text)).collect();
    assert!(names.len() > 12, "only {names:?} were found");
    // NVIDIA's, with our prefix.
    let missing: Vec<_> = names
        .into_iter()
        .filter(|name| *name != "CUDA_LAUNCH_BLOCKING" && !page.contains(&format!("`{name}`")))
        .collect();
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

/// The Markdown files that users read.
fn pages() -> Vec<PathBuf> {
    let folders = [
        "",
        "docs",
        "docs/migration",
        "sys",
        "ptx",
        "emulator",
        "harness",
        "macros",
        "cli",
        "cli/recorder",
        "examples/kernels",
    ];
    let files = folders.iter().flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect()
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

#[test]
fn links_lead_somewhere() {
    const REPOSITORY: &str = "https://github.com/cuda-launch/cuda-launch/blob/main/";
    let mut dead = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path.strip_prefix(REPOSITORY) {
                Some(path) => root().join(path),
                None if path.contains("://") => continue,
                None if path.is_empty() => page.clone(),
                None => page.parent().unwrap().join(path),
            };
            let has_heading = || {
                let text = fs::read_to_string(&target).unwrap_or_default();
                heading.is_empty()
                    || text
                        .lines()
                        .any(|line| line.starts_with('#') && anchor(line.trim_matches('#')) == heading)
            };
            if !target.exists() || !has_heading() {
                dead.push(format!("{}: {link}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
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
