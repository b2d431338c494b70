//! Which file a path leads to.

use std::path::{Path, PathBuf};

use super::circles::Graph;
use super::source::{Crate, Module};

/// Where a path leads.
#[derive(Clone)]
enum Target {
    Module(usize),
    /// Something that this file defines.
    Item(PathBuf),
}

/// Longest way through re-exports that is followed: they can lead in a circle.
const DEPTH: usize = 16;

/// The imports of a crate, file by file.
pub(super) fn imports(of: &Crate) -> Graph {
    let mut graph = Graph::default();
    for (at, module) in of.modules.iter().enumerate() {
        let from = folder(of, &module.file);
        let mut add = |path: &[String], target: Option<Target>| {
            if let Some(Target::Item(file)) = target {
                graph.add((&module.file, &from), (&file, &folder(of, &file)), &path.join("::"));
            }
        };
        for import in &module.uses {
            // A re-export is an import where the name is used here, too.
            let signpost = import.public && (import.name == "*" || !module.words.contains(&import.name));
            let target = resolve(of, at, &import.path, DEPTH);
            match (&import.name, target) {
                _ if signpost => {}
                (name, Some(Target::Module(other))) if name == "*" => {
                    add(&import.path, Some(Target::Item(of.modules[other].file.clone())));
                }
                (_, target) => add(&import.path, target),
            }
        }
        for path in &module.paths {
            add(path, resolve(of, at, path, DEPTH));
        }
    }
    graph
}

/// The folder that a file belongs to: for `a.rs` beside a folder `a` of its children, that one, as if it were `a/mod.rs`.
fn folder(of: &Crate, file: &Path) -> PathBuf {
    let own = file.with_extension("");
    if of.modules.iter().any(|module| module.file.starts_with(&own)) {
        return own;
    }
    file.parent().unwrap_or(Path::new("")).to_owned()
}

/// Follows a path that stands in a module.
fn resolve(of: &Crate, at: usize, path: &[String], depth: usize) -> Option<Target> {
    let (first, rest) = path.split_first()?;
    let mut here = match first.as_str() {
        "crate" => Target::Module(0),
        "self" => Target::Module(at),
        "super" => Target::Module(of.modules[at].parent?),
        name => lookup(of, at, name, depth)?,
    };
    for segment in rest {
        here = match here {
            Target::Item(_) => return Some(here),
            Target::Module(module) if segment == "super" => Target::Module(of.modules[module].parent?),
            Target::Module(module) => match lookup(of, module, segment, depth) {
                Some(found) => found,
                // Made by a macro there, or a name of another crate that it re-exports.
                None if imported(&of.modules[module], segment) => return None,
                None => return Some(Target::Item(of.modules[module].file.clone())),
            },
        };
    }
    Some(here)
}

/// What a name means in a module.
fn lookup(of: &Crate, at: usize, name: &str, depth: usize) -> Option<Target> {
    let depth = depth.checked_sub(1)?;
    let module = &of.modules[at];
    if let Some(child) = module.children.get(name) {
        return Some(Target::Module(*child));
    }
    if let Some(file) = module.items.get(name) {
        return Some(Target::Item(file.clone()));
    }
    let mut named = module.uses.iter().filter(|import| import.name == name);
    if let Some(found) = named.find_map(|import| resolve(of, at, &import.path, depth)) {
        return Some(found);
    }
    module.uses.iter().filter(|import| import.name == "*").find_map(|import| {
        match resolve(of, at, &import.path, depth)? {
            Target::Module(other) => lookup(of, other, name, depth),
            Target::Item(_) => None,
        }
    })
}

/// Whether the module imports that name by itself.
fn imported(module: &Module, name: &str) -> bool {
    module.uses.iter().any(|import| import.name == name)
}
