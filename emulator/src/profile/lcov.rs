//! Coverage of device code in the format of `lcov`, which `genhtml` and coverage services read.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::KernelProfile;

/// What is known of a source file.
#[derive(Default)]
struct File {
    /// How often each line ran, in warps: the instruction of it that ran most often.
    lines: BTreeMap<u32, u64>,
    /// Conditional branches by line, in the order of the text: threads that jumped, and that did not; `None` where it never ran.
    branches: BTreeMap<u32, Vec<Option<[u64; 2]>>>,
    /// Functions: their first line, and how often they were begun.
    functions: BTreeMap<String, (u32, u64)>,
}

/// The lines, branches and functions that ran, by source file. Kernels whose PTX has no `.loc` are reported by the lines of their PTX: `name`
/// says which file has that text.
pub fn lcov(kernels: &[KernelProfile], name: impl Fn(&str) -> Option<String>) -> String {
    let mut files: BTreeMap<String, File> = BTreeMap::new();
    for kernel in kernels {
        let has_source = kernel.instructions.iter().any(|instruction| instruction.source.is_some());
        let ptx = if has_source { None } else { name(&kernel.text) };
        for instruction in &kernel.instructions {
            let place = match (&instruction.source, &ptx) {
                (Some((file, line)), _) => (file.to_string(), *line),
                (None, Some(file)) => (file.clone(), instruction.ptx_line),
                (None, None) => continue,
            };
            let (file, line) = (files.entry(place.0).or_default(), place.1);
            let counts = &instruction.counts;
            let times = file.lines.entry(line).or_default();
            *times = (*times).max(if counts.ran() { counts.warps } else { 0 });
            if instruction.conditional {
                let ran = counts.taken + counts.not_taken > 0;
                let ways = ran.then_some([counts.taken, counts.not_taken]);
                file.branches.entry(line).or_default().push(ways);
            }
            // The first of its instructions is the first in the list.
            file.functions.entry(instruction.function.to_string()).or_insert((line, counts.warps));
        }
    }
    let mut text = String::new();
    for (path, file) in &files {
        // Writing to a string does not fail.
        let _ = record(&mut text, path, file);
    }
    text
}

fn record(text: &mut String, path: &str, file: &File) -> std::fmt::Result {
    writeln!(text, "TN:\nSF:{path}")?;
    for (name, (line, _)) in &file.functions {
        writeln!(text, "FN:{line},{name}")?;
    }
    for (name, (_, times)) in &file.functions {
        writeln!(text, "FNDA:{times},{name}")?;
    }
    let begun = file.functions.values().filter(|(_, times)| *times > 0).count();
    writeln!(text, "FNF:{}\nFNH:{begun}", file.functions.len())?;
    let (mut found, mut hit) = (0, 0);
    for (line, branches) in &file.branches {
        for (block, ways) in branches.iter().enumerate() {
            for way in 0..2 {
                let taken = ways.map(|ways| ways[way]);
                let shown = taken.map_or_else(|| "-".to_owned(), |times| times.to_string());
                writeln!(text, "BRDA:{line},{block},{way},{shown}")?;
                found += 1;
                hit += usize::from(taken.is_some_and(|times| times > 0));
            }
        }
    }
    writeln!(text, "BRF:{found}\nBRH:{hit}")?;
    for (line, times) in &file.lines {
        writeln!(text, "DA:{line},{times}")?;
    }
    let ran = file.lines.values().filter(|times| **times > 0).count();
    writeln!(text, "LF:{}\nLH:{ran}\nend_of_record", file.lines.len())
}
