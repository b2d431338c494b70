//! `cargo xtask api`: the public items of each published library, one per line, in `docs/api/`.
//!
//! The crate `public-api` lists. What says little is left out: methods of a trait's implementation, what the compiler derives for
//! itself, `Send` and `Sync` where a type has them without condition, and what the macro of `bitflags` writes.

mod order;
mod shown;
mod text;

use std::collections::BTreeSet;
use std::fs;

use public_api::Builder;
use serde_json::Value;

use crate::Result;
use crate::cargo::root;
use crate::rustdoc;
use order::Item;
use shown::Shown;

/// The published libraries: package and library.
pub(crate) const LIBRARIES: &[(&str, &str)] = &[
    ("cuda-launch", "cuda_launch"),
    ("cuda-launch-sys", "cuda_driver_sys"),
    ("cuda-launch-macros", "cuda_launch_macros"),
    ("cuda-ptx", "cuda_ptx"),
    ("cuda-emulator", "cuda_emulator"),
    ("cuda-harness", "cuda_harness"),
];

/// How many lines of a difference are printed.
const MOST_LINES: usize = 60;

/// Writes the lists.
pub(crate) fn write() -> Result<()> {
    let folder = root()?.join("docs/api");
    fs::create_dir_all(&folder)?;
    for (package, library) in LIBRARIES {
        fs::write(folder.join(format!("{package}.txt")), list(package, library)?)?;
    }
    Ok(())
}

/// Fails if a list does not match the library.
pub(crate) fn check() -> Result<()> {
    let mut changed = Vec::new();
    for (package, library) in LIBRARIES {
        let file = format!("docs/api/{package}.txt");
        let (old, new) =
            (fs::read_to_string(root()?.join(&file)).unwrap_or_default(), list(package, library)?);
        println!("{file:32} {:5} lines", new.lines().count());
        if old != new {
            changed.push(format!("{file}:\n{}", difference(&old, &new)));
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let what = "the public API has changed; if that is meant, `cargo xtask api` writes it down";
    Err(format!("{what}:\n\n{}", changed.join("\n\n")).into())
}

/// The list of one library.
fn list(package: &str, library: &str) -> Result<String> {
    let file = rustdoc::json(package, library)?;
    let json: Value = serde_json::from_slice(&fs::read(&file)?)?;
    let shown = Shown::of(&json).ok_or("rustdoc's JSON has another form than this program knows")?;
    let api = Builder::from_rustdoc_json(&file).omit_blanket_impls(true).build();
    let api =
        api.map_err(|e| format!("{}: {e}; `public-api` and `rust-version` belong together", file.display()))?;
    let items: Vec<Item> = api.items().filter_map(|item| shown.item(item, text::of(item, library))).collect();
    let title =
        format!("# The public API of {package} with all features. `cargo xtask api` writes this file.\n");
    Ok(title + &order::lines(&items).join("\n") + "\n")
}

/// The lines that only one of two lists has.
fn difference(old: &str, new: &str) -> String {
    let [olds, news] = [old, new].map(|text| text.lines().collect::<BTreeSet<_>>());
    let gone = olds.difference(&news).map(|line| format!("- {line}"));
    let come = news.difference(&olds).map(|line| format!("+ {line}"));
    let lines: Vec<String> = gone.chain(come).collect();
    let rest = lines.len().saturating_sub(MOST_LINES);
    let shown = lines.iter().take(MOST_LINES).cloned().collect::<Vec<_>>().join("\n");
    match (lines.len(), rest) {
        (0, _) => "the same lines in another order".into(),
        (_, 0) => shown,
        _ => format!("{shown}\n  and {rest} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_LINES, difference};

    #[test]
    fn a_difference_names_what_went_and_what_came() {
        assert_eq!(difference("a\nb\n", "b\nc\n"), "- a\n+ c");
        assert_eq!(difference("a\nb\n", "b\na\n"), "the same lines in another order");
        let many: String = (0..MOST_LINES + 2).map(|n| format!("{n}\n")).collect();
        assert!(difference("", &many).ends_with("and 2 more"));
    }
}
