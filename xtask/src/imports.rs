//! `cargo xtask gate imports`: no circle of imports between files of different folders.
//!
//! A file imports another one that defines what a `use` or a longer path of it names; names are followed through re-exports, which
//! are signposts and no imports. Files of one folder may know each other: they are parts of one thing. Tests are left out.
//! `xtask/imports.toml` lists the imports that are accepted, and folders that are one thing with all below them, with the reasons; an
//! import that closes no circle has to go.

mod circles;
mod names;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use toml::Table;

use crate::Result;
use crate::cargo::{cargo, root};
use circles::{Graph, circle, circles};
use names::imports;
use source::Crate;

/// An import that is accepted: from and to as paths in the repository.
type Accepted = BTreeSet<(String, String)>;

/// Checks every library and program of the workspace.
pub(crate) fn check() -> Result<()> {
    let root = root()?;
    let read = |path: &Path| fs::read_to_string(root.join(path)).ok();
    let mut all = Graph::default();
    for target in targets(root)? {
        all.merge(imports(&Crate::read(Path::new(&target), &read)?));
    }
    let list = fs::read_to_string(root.join("xtask/imports.toml"))?.parse()?;
    entries(&list, "whole", |text| text("folder"))?.iter().for_each(|folder| all.whole(folder));
    verdict(&all, &accepted(&list)?)
}

/// Root files of all libraries and programs, as paths in the repository.
fn targets(root: &Path) -> Result<Vec<String>> {
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1", "--offline"])?.output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let is_code = |kind: &Value| matches!(kind.as_str(), Some("lib" | "bin" | "proc-macro" | "cdylib"));
    let code =
        targets.filter(|target| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(is_code)));
    code.map(|target| {
        let path = Path::new(target["src_path"].as_str().unwrap_or_default());
        Ok(path.strip_prefix(root)?.to_string_lossy().replace('\\', "/"))
    })
    .collect()
}

/// The imports of the list.
fn accepted(list: &Table) -> Result<Accepted> {
    Ok(entries(list, "accepted", |text| Ok((text("from")?, text("to")?)))?.into_iter().collect())
}

/// The entries of a kind, each of which has a reason.
fn entries<T>(
    list: &Table,
    kind: &str,
    read: impl Fn(&dyn Fn(&str) -> Result<String>) -> Result<T>,
) -> Result<Vec<T>> {
    let entries = list.get(kind).and_then(|entries| entries.as_array()).into_iter().flatten();
    let entry = |entry: &toml::Value| -> Result<T> {
        let text = |key: &str| {
            let text = entry.get(key).and_then(|text| text.as_str()).filter(|text| !text.is_empty());
            let missing = || format!("xtask/imports.toml: no `{key}` in {entry:?}").into();
            text.map(str::to_owned).ok_or_else(missing)
        };
        text("why")?;
        read(&text)
    };
    entries.map(entry).collect()
}

/// Fails where a circle is left, or an accepted import closes none.
fn verdict(all: &Graph, accepted: &Accepted) -> Result<()> {
    let mut problems = Vec::new();
    let rest = all.without(accepted);
    for files in circles(&rest) {
        problems.push(format!(
            "{} files import each other across folders; the shortest way round:\n{}",
            files.len(),
            circle(&rest, &files)
        ));
    }
    for import in accepted {
        let others = accepted.iter().filter(|other| *other != import).cloned().collect();
        let with_it = all.without(&others);
        let closes = |files: &BTreeSet<String>| files.contains(&import.0) && files.contains(&import.1);
        if !all.has(import) || !circles(&with_it).iter().any(closes) {
            let (from, to) = import;
            problems.push(format!("xtask/imports.toml: {from} -> {to} closes no circle any more: remove it"));
        }
    }
    if problems.is_empty() {
        println!("{} files, {} imports that are accepted", all.files(), accepted.len());
        return Ok(());
    }
    Err(problems.join("\n\n").into())
}

#[cfg(test)]
mod tests;
