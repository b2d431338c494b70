//! Coverage of device code in the format of `lcov`, which `genhtml` and coverage services read.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

use super::{InstructionProfile, KernelProfile};

/// What is known of a source file.
#[derive(Default)]
struct File {
    /// How often each line ran, in warps: the instruction of it that ran most often.
    lines: BTreeMap<u32, u64>,
    /// Conditional branches by line, in the order of the text: threads that jumped, and that did not; `None` where it never ran.
    branches: BTreeMap<u32, Vec<Option<[u64; 2]>>>,
    /// Functions: their first line that has instructions, and how often they were begun.
    functions: BTreeMap<String, (u32, u64)>,
}

/// The lines, branches and functions that ran, by source file. Kernels whose PTX has no `.loc` are reported by the lines of their PTX: `name`
/// says which file has that text.
pub fn lcov(kernels: &[KernelProfile], name: impl Fn(&str) -> Option<String>) -> String {
    let mut files: BTreeMap<String, File> = BTreeMap::new();
    for function in functions(kernels) {
        let ptx = if function.has_source { None } else { name(function.text) };
        // How often it was begun, until that is told, at the first instruction that has a line.
        let mut begun = function.instructions.first().map(|first| first.counts.warps);
        for instruction in &function.instructions {
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
            if let Some(times) = begun.take() {
                // Modules may have functions of the same name.
                file.functions.entry(instruction.function.to_string()).or_insert((line, 0)).1 += times;
            }
        }
    }
    let mut text = String::new();
    for (path, file) in &files {
        // Writing to a string does not fail.
        let _ = record(&mut text, path, file);
    }
    text
}

/// A function of a module, with what all kernels that reach it did there.
struct Function<'k> {
    text: &'k str,
    /// Whether its module has `.loc`.
    has_source: bool,
    instructions: Vec<InstructionProfile>,
}

/// Each function once, in the order of the kernels that reach them.
fn functions(kernels: &[KernelProfile]) -> Vec<Function<'_>> {
    let mut all: Vec<Function<'_>> = Vec::new();
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for kernel in kernels {
        let has_source = kernel.instructions.iter().any(|instruction| instruction.source.is_some());
        for instructions in kernel.instructions.chunk_by(|one, next| one.function == next.function) {
            let Some(first) = instructions.first() else { continue };
            match known.entry((&first.function, &kernel.text)) {
                Entry::Occupied(place) => {
                    // Decoded from the same lines, the instructions are the same.
                    let function = all.get_mut(*place.get()).map(|function| &mut function.instructions);
                    let pairs = function.into_iter().flatten().zip(instructions);
                    pairs.for_each(|(known, new)| known.counts += new.counts);
                }
                Entry::Vacant(place) => {
                    place.insert(all.len());
                    all.push(Function {
                        text: &kernel.text,
                        has_source,
                        instructions: instructions.to_vec(),
                    });
                }
            }
        }
    }
    all
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Counts;
    use super::*;

    fn instruction(function: &str, ptx_line: u32, counts: Counts) -> InstructionProfile {
        let (function, name, conditional) = (function.into(), "add.u32".into(), false);
        InstructionProfile { function, name, ptx_line, source: None, conditional, counts }
    }

    fn kernel(text: &Arc<str>, instructions: Vec<InstructionProfile>) -> KernelProfile {
        let (kernel, text, allocations) = ("k".to_owned(), Arc::clone(text), Vec::new());
        KernelProfile { kernel, text, launches: 1, blocks: 1, threads: 1, instructions, allocations }
    }

    #[test]
    fn what_no_thread_executed_did_not_run() {
        let text: Arc<str> = "a".into();
        let on = |threads_on, taken, not_taken| Counts {
            warps: 3,
            threads_on,
            taken,
            not_taken,
            ..Counts::default()
        };
        let counts = [on(0, 0, 0), on(1, 0, 0), on(0, 1, 0), on(0, 0, 1)];
        let all = (1..).zip(counts).map(|(line, counts)| instruction("k", line, counts)).collect();
        let report = lcov(&[kernel(&text, all)], |_| Some("a.ptx".to_owned()));
        let lines: Vec<&str> = report.lines().filter(|line| line.starts_with("DA:")).collect();
        assert_eq!(lines, ["DA:1,0", "DA:2,3", "DA:3,3", "DA:4,3"]);
        assert!(report.contains("LF:4\nLH:3\n"), "{report}");
    }

    #[test]
    fn one_name_in_two_texts_is_two_functions() {
        let [one, other]: [Arc<str>; 2] = ["a".into(), "b".into()];
        let ran = |warps| Counts { warps, threads_on: 1, ..Counts::default() };
        let kernels = [
            kernel(&one, vec![instruction("k", 1, ran(2)), instruction("f", 9, ran(5))]),
            kernel(&other, vec![instruction("k", 1, ran(4))]),
            // Reached by another kernel of the same text.
            kernel(&one, vec![instruction("f", 9, ran(7))]),
        ];
        let report = lcov(&kernels, |text| Some(format!("{text}.ptx")));
        let of = |file: &str| {
            report.split("TN:\n").find(|part| part.starts_with(&format!("SF:{file}\n"))).unwrap_or_default()
        };
        assert!(of("a.ptx").contains("FNDA:12,f\nFNDA:2,k\nFNF:2\nFNH:2\n"), "{report}");
        assert!(of("a.ptx").contains("DA:1,2\nDA:9,12\n"), "{report}");
        assert!(of("b.ptx").contains("FNDA:4,k\nFNF:1\n") && of("b.ptx").contains("DA:1,4\n"), "{report}");
        // Of the same file the two are one line of the list.
        let report = lcov(&kernels, |_| Some("c.ptx".to_owned()));
        assert!(report.contains("FNDA:6,k\n") && report.contains("DA:1,4\n"), "{report}");
    }
}
