//! A graph of files, and the circles in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use super::Accepted;

/// Which file imports which.
#[derive(Clone, Default)]
pub(super) struct Graph {
    /// The folder of each file.
    folders: BTreeMap<String, String>,
    /// By importing file and imported one: a path that does it.
    imports: BTreeMap<String, BTreeMap<String, String>>,
}

impl Graph {
    /// Adds an import; each file with its folder.
    pub(super) fn add(&mut self, from: (&Path, &Path), to: (&Path, &Path), path: &str) {
        for (file, folder) in [from, to] {
            self.folders.insert(text(file), text(folder));
        }
        if from.0 != to.0 {
            let imports = self.imports.entry(text(from.0)).or_default();
            imports.entry(text(to.0)).or_insert_with(|| path.to_owned());
        }
    }

    /// All files below such a folder are parts of one thing.
    pub(super) fn whole(&mut self, whole: &str) {
        for (file, folder) in &mut self.folders {
            if file.strip_prefix(whole).is_some_and(|rest| rest.starts_with('/')) {
                whole.clone_into(folder);
            }
        }
    }

    pub(super) fn merge(&mut self, other: Graph) {
        self.folders.extend(other.folders);
        for (file, imports) in other.imports {
            self.imports.entry(file).or_default().extend(imports);
        }
    }

    /// The same without some imports.
    pub(super) fn without(&self, imports: &Accepted) -> Graph {
        let mut rest = self.clone();
        for (from, to) in imports {
            rest.imports.entry(from.clone()).and_modify(|others| {
                others.remove(to);
            });
        }
        rest
    }

    pub(super) fn has(&self, (from, to): &(String, String)) -> bool {
        self.imports.get(from).is_some_and(|imports| imports.contains_key(to))
    }

    pub(super) fn files(&self) -> usize {
        self.folders.len()
    }

    fn next<'a>(&'a self, file: &str) -> impl Iterator<Item = &'a String> {
        self.imports.get(file).into_iter().flat_map(|imports| imports.keys())
    }

    /// What can be reached from a file, with the file before each.
    fn reached<'a>(&'a self, file: &'a String) -> BTreeMap<&'a String, &'a String> {
        let mut before = BTreeMap::new();
        let mut left = VecDeque::from([file]);
        while let Some(at) = left.pop_front() {
            for next in self.next(at) {
                before.entry(next).or_insert_with(|| {
                    left.push_back(next);
                    at
                });
            }
        }
        before
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Sets of files of more than one folder that all reach each other.
pub(super) fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<_, BTreeSet<_>> =
        graph.imports.keys().map(|file| (file, graph.reached(file).into_keys().collect())).collect();
    let reaches = |from: &String, to: &String| reached.get(from).is_some_and(|files| files.contains(to));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for file in graph.imports.keys() {
        if !reaches(file, file) || seen.contains(file) {
            continue;
        }
        let together = reached[file].iter().filter(|other| reaches(other, file));
        let files: BTreeSet<String> = together.map(|other| (*other).clone()).collect();
        seen.extend(files.iter().cloned());
        let folders: BTreeSet<_> = files.iter().map(|file| &graph.folders[file]).collect();
        if folders.len() > 1 {
            found.push(files);
        }
    }
    found
}

/// The shortest circle of those files that leaves a folder, a line for each import.
pub(super) fn circle(graph: &Graph, files: &BTreeSet<String>) -> String {
    let crosses = |from: &String, to: &String| graph.folders[from] != graph.folders[to];
    let imports = files.iter().flat_map(|from| graph.next(from).map(move |to| (from, to)));
    let ways = imports.filter(|(from, to)| files.contains(*to) && crosses(from, to)).map(|(from, to)| {
        let before = graph.reached(to);
        let mut way = vec![from];
        let mut at = from;
        while at != to {
            at = before[at];
            way.push(at);
        }
        way
    });
    let Some(mut way) = ways.min_by_key(|way| way.len()) else { return String::new() };
    way.reverse();
    let next = way.iter().cycle().skip(1);
    let line = |(from, to): (&&String, &&String)| format!("  {from}: {} ({to})", graph.imports[*from][*to]);
    way.iter().zip(next).map(line).collect::<Vec<_>>().join("\n")
}
