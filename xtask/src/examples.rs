//! `cargo xtask examples`: how many public items of the library have an example in their documentation.
//!
//! rustdoc's `--show-coverage` leaves out the methods of types that private modules define and public ones export, which are most of
//! ours. So this counts in rustdoc's JSON: functions, macros, types, traits, and the methods of both. Fields, variants, constants
//! and modules need no example, and what the macro of `bitflags` writes can have none.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use crate::rustdoc::{self, inner, is_public, item};

/// Per cent of the items.
const LEAST: usize = 35;

/// The kinds that can have one, beside methods.
const KINDS: &[&str] = &["function", "macro", "proc_macro", "struct", "enum", "union", "trait"];

/// Prints the share, and the files that lack most; fails below the least.
pub(crate) fn check() -> Result<()> {
    let json: Value = serde_json::from_slice(&std::fs::read(rustdoc::json("cuda-launch", "cuda_launch")?)?)?;
    let counted = Counted::of(&json).ok_or("rustdoc's JSON has another form than this program knows")?;
    let (with, all) = counted.files.values().fold((0, 0), |(with, all), n| (with + n.0, all + n.1));
    let mut files: Vec<_> = counted.files.iter().collect();
    files.sort_by_key(|(_, (with, all))| with.wrapping_sub(*all));
    for (file, (with, all)) in files.iter().take(20) {
        println!("{with:5} of {all:4}  {file}");
    }
    let share = with * 100 / all.max(1);
    println!("{with} of {all} public items have an example: {share} %");
    if share < LEAST { Err(format!("less than {LEAST} %").into()) } else { Ok(()) }
}

/// Items with an example and all, by file.
#[derive(Default)]
struct Counted {
    files: BTreeMap<String, (usize, usize)>,
    seen: BTreeSet<String>,
}

impl Counted {
    fn of(json: &Value) -> Option<Self> {
        let mut counted = Self::default();
        let index = json.get("index")?;
        counted.visit(index, json.get("root")?)?;
        (!counted.files.is_empty()).then_some(counted)
    }

    /// An item that a path leads to.
    fn visit(&mut self, index: &Value, id: &Value) -> Option<()> {
        let Some(item) = item(index, id).filter(|item| is_public(item)) else { return Some(()) };
        if !self.seen.insert(id.to_string()) {
            return Some(());
        }
        let (kind, inner) = inner(item)?;
        match kind {
            "module" => inner["items"].as_array()?.iter().try_for_each(|id| self.visit(index, id))?,
            "use" if inner["is_glob"] != true && !inner["id"].is_null() => self.visit(index, &inner["id"])?,
            kind if KINDS.contains(&kind) => self.count(item),
            _ => {}
        }
        for id in inner["impls"].as_array().into_iter().flatten() {
            let Some(own) = self::item(index, id).map(|item| &item["inner"]["impl"]) else { continue };
            if own["trait"].is_null() {
                self.methods(index, &own["items"]);
            }
        }
        if kind == "trait" {
            self.methods(index, &inner["items"]);
        }
        Some(())
    }

    fn methods(&mut self, index: &Value, ids: &Value) {
        let items = || ids.as_array().into_iter().flatten().filter_map(|id| item(index, id));
        // `bitflags` writes two blocks: one with these, one with the iterators.
        let is_flags = |item: &Value| item["name"] == "from_bits_retain" || item["name"] == "iter_names";
        if items().any(is_flags) {
            return;
        }
        items()
            .filter(|item| is_public(item) && item["inner"]["function"].is_object())
            .for_each(|item| self.count(item));
    }

    fn count(&mut self, item: &Value) {
        let file = item["span"]["filename"].as_str().unwrap_or("elsewhere").to_owned();
        let (with, all) = self.files.entry(file).or_default();
        *with += usize::from(item["docs"].as_str().is_some_and(has_example));
        *all += 1;
    }
}

/// A block of code that rustdoc would compile.
fn has_example(docs: &str) -> bool {
    let fences: Vec<&str> = docs.lines().filter_map(|line| line.trim_start().strip_prefix("```")).collect();
    let plain = |words: &str| {
        words.split(',').all(|word| !["text", "ignore", "console", "toml", "c"].contains(&word.trim()))
    };
    fences.iter().step_by(2).any(|words| plain(words))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Counted, has_example};
    use serde_json::json;

    #[test]
    fn blocks_of_code_are_examples() {
        for (docs, is) in [
            ("Says.\n\n```\nf();\n```", true),
            ("```no_run\nf();\n```", true),
            ("```compile_fail,E0277\nf();\n```", true),
            ("Says.", false),
            ("```text\na\n```", false),
            ("```text\na\n```\n\n```\nf();\n```", true),
        ] {
            assert_eq!(has_example(docs), is, "{docs}");
        }
    }

    #[test]
    fn what_a_path_leads_to_is_counted_once() {
        let item = |name: &str, inner, docs: &str| {
            json!({ "name": name, "visibility": "public", "attrs": [], "inner": inner, "docs": docs,
                    "span": { "filename": "src/lib.rs" } })
        };
        let function = || json!({ "function": {} });
        let block = |items| item("", json!({ "impl": { "trait": null, "items": items } }), "");
        let index = json!({
            "0": item("root", json!({ "module": { "items": [1, 1, 7] } }), ""),
            "1": item("", json!({ "use": { "id": 2, "is_glob": false } }), ""),
            "2": item("Type", json!({ "struct": { "impls": [3, 5] } }), "```\n```"),
            "3": block(json!([4])),
            "4": item("method", function(), ""),
            "5": block(json!([6])),
            "6": item("from_bits_retain", function(), ""),
            "7": json!({ "name": "private", "visibility": "crate", "inner": function() }),
        });
        let counted = Counted::of(&json!({ "root": 0, "index": index })).unwrap();
        assert_eq!(counted.files.get("src/lib.rs"), Some(&(1, 2)), "the type has one, its method has none");
        assert!(Counted::of(&json!({})).is_none());
    }
}
