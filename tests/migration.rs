//! The pages in `docs/migration/` show only what is compiled: each call in the right column of a table stands in the block below it,
//! which is a doctest of this crate.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

/// The pages, by name.
fn pages() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/migration");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    files
        .map(|file| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap()))
        .collect()
}

/// Without white space, which the blocks have more of.
fn packed(text: &str) -> String {
    text.replace("\\|", "|").split_whitespace().collect()
}

/// The parts of a cell between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_call_in_a_table_is_compiled() {
    let (mut calls, mut lost) = (0, Vec::new());
    let pages = pages();
    let sections =
        pages.iter().flat_map(|(page, text)| text.split("\n## ").skip(1).map(move |it| (page, it)));
    for (page, section) in sections {
        let block: String = section.split("```").skip(1).step_by(2).collect();
        let (title, block) = (section.lines().next().unwrap_or_default(), packed(&block));
        let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
        for row in rows {
            let here = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
            // Words for what is none of our calls.
            let ours = quoted(here)
                .filter(|call| !["async", "cuda_launch!", "include_bytes!", "#[cuda_module]"].contains(call));
            for call in ours {
                calls += 1;
                if !block.contains(&packed(call)) && call != "Copy" {
                    lost.push(format!("{page}, {title}: {call}"));
                }
            }
        }
    }
    assert!(calls > 400, "only {calls} calls were found");
    assert!(lost.is_empty(), "not in the block of their section:\n{}", lost.join("\n"));
}

#[test]
fn every_page_is_in_the_index() {
    let index = include_str!("../docs/migration/README.md");
    for (page, _) in pages().iter().filter(|(page, _)| page != "README.md") {
        assert!(index.contains(&format!("]({page})")), "the index lacks {page}");
    }
}
