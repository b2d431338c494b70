//! `docs/migration.md` shows only what is compiled: each call in the right column of a table stands in the block below it, which
//! is a doctest of this crate.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

const PAGE: &str = include_str!("../docs/migration.md");

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
    for section in PAGE.split("\n## ").skip(1) {
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
                    lost.push(format!("{title}: {call}"));
                }
            }
        }
    }
    assert!(calls > 150, "only {calls} calls were found");
    assert!(lost.is_empty(), "not in the block of their section:\n{}", lost.join("\n"));
}
