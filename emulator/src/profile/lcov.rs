//! Coverage of device code in the format of `lcov`, which `genhtml` and coverage services read.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{InstructionProfile, KernelProfile};

/// What is known of a source file. What several functions were compiled from the same lines, in kernels or modules, is added up, as
/// `lcov --add-tracefile` does.
#[derive(Default)]
struct File {
    /// How often each line ran, in warps: of each function, the instruction of it that ran most often.
    lines: BTreeMap<u32, u64>,
    /// Branches by line.
    branches: BTreeMap<u32, BTreeMap<Branch, Ways>>,
    /// Functions: their first line that has instructions, and how often warps entered them.
    functions: BTreeMap<String, (u32, u64)>,
}

/// A branch on a line: its column, how many ways it can go, and which one of these it is in its function.
type Branch = (u32, usize, usize);

/// Threads that went each way; `None` where it never ran.
type Ways = Option<Vec<u64>>;

/// What compilers call a source that has no name: NVRTC, and clang of its standard input.
const NAMELESS: &[&str] = &["default_program", "<stdin>"];

/// The lines, branches and functions that ran, by source file. Kernels whose PTX has no `.loc` are reported by the lines of their PTX: `name`
/// says which file has that text. So are modules compiled from sources without a name, if there are several: nothing else tells them apart.
pub fn lcov(kernels: &[KernelProfile], name: impl Fn(&str) -> Option<String>) -> String {
    let mut files: BTreeMap<String, File> = BTreeMap::new();
    let nameless: BTreeSet<&str> =
        kernels.iter().filter(|kernel| has_no_name(kernel)).map(|kernel| &*kernel.text).collect();
    for function in functions(kernels) {
        let is_one_of_many = nameless.len() > 1 && nameless.contains(function.text);
        let ptx = if function.has_source && !is_one_of_many { None } else { name(function.text) };
        function.add_to(&mut files, ptx.as_deref());
    }
    let mut text = String::new();
    for (path, file) in &files {
        // Writing to a string does not fail.
        let _ = record(&mut text, path, file);
    }
    text
}

fn has_no_name(kernel: &KernelProfile) -> bool {
    kernel.instructions.iter().any(|one| one.source.as_ref().is_some_and(|(file, _)| is_nameless(file)))
}

fn is_nameless(file: &str) -> bool {
    file.rsplit(['/', '\\']).next().is_some_and(|name| NAMELESS.contains(&name))
}

/// A function of a module, with what all kernels that reach it did there.
struct Function<'k> {
    text: &'k str,
    /// Whether its module has `.loc`.
    has_source: bool,
    instructions: Vec<InstructionProfile>,
}

impl Function<'_> {
    /// Adds it to the files that it was compiled from; what has no source, or none with a name, to that of the PTX, if there is one.
    fn add_to(&self, files: &mut BTreeMap<String, File>, ptx: Option<&str>) {
        let mut lines: BTreeMap<(&str, u32), u64> = BTreeMap::new();
        let mut branches: BTreeMap<(&str, u32, u32, usize), usize> = BTreeMap::new();
        // Its name and how often it was entered, until that is told, at the first instruction that has a line.
        let mut begun = self.instructions.first().map(|first| (first.function.to_string(), first.entries));
        for instruction in &self.instructions {
            let (path, line) = match (&instruction.source, ptx) {
                (Some((file, line)), None) => (&**file, *line),
                (Some((file, line)), Some(_)) if !is_nameless(file) => (&**file, *line),
                (_, Some(file)) => (file, instruction.ptx_line),
                (None, None) => continue,
            };
            let file = files.entry(path.to_owned()).or_default();
            let counts = &instruction.counts;
            let times = lines.entry((path, line)).or_default();
            *times = (*times).max(if counts.ran() { counts.warps } else { 0 });
            if let Some(ways) = ways(instruction) {
                let number = branches.entry((path, line, instruction.column, ways.len())).or_default();
                let branch = (instruction.column, ways.len(), *number);
                *number += 1;
                add(file.branches.entry(line).or_default().entry(branch).or_default(), ways);
            }
            if let Some((name, times)) = begun.take() {
                // Modules may have functions of the same name.
                file.functions.entry(name).or_insert((line, 0)).1 += times;
            }
        }
        for ((path, line), times) in lines {
            if let Some(file) = files.get_mut(path) {
                *file.lines.entry(line).or_default() += times;
            }
        }
    }
}

/// Threads that went each way, if it is a branch.
fn ways(instruction: &InstructionProfile) -> Option<Vec<u64>> {
    let counts = &instruction.counts;
    if instruction.conditional {
        return Some(vec![counts.taken, counts.not_taken]);
    }
    (!instruction.targets.is_empty()).then(|| instruction.targets.clone())
}

/// Adds threads that went each way: none of them, where the branch never ran.
fn add(known: &mut Ways, new: Vec<u64>) {
    match known {
        _ if new.iter().all(|threads| *threads == 0) => {}
        Some(known) => known.iter_mut().zip(new).for_each(|(known, new)| *known += new),
        None => *known = Some(new),
    }
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
                    pairs.for_each(|(known, new)| *known += new);
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
        for (block, ((_, count, _), ways)) in branches.iter().enumerate() {
            for way in 0..*count {
                let taken = ways.as_ref().and_then(|ways| ways.get(way).copied());
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
        InstructionProfile {
            function: function.into(),
            name: "add.u32".into(),
            ptx_line,
            source: None,
            column: 0,
            conditional: false,
            entries: 0,
            targets: Vec::new(),
            counts,
        }
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
        let first = |function, line, warps| {
            let counts = Counts { warps: 10 * warps, threads_on: 1, ..Counts::default() };
            InstructionProfile { entries: warps, ..instruction(function, line, counts) }
        };
        let kernels = [
            kernel(&one, vec![first("k", 1, 2), first("f", 9, 5)]),
            kernel(&other, vec![first("k", 1, 4)]),
            // Reached by another kernel of the same text.
            kernel(&one, vec![first("f", 9, 7)]),
        ];
        let report = lcov(&kernels, |text| Some(format!("{text}.ptx")));
        let of = |file: &str| {
            report.split("TN:\n").find(|part| part.starts_with(&format!("SF:{file}\n"))).unwrap_or_default()
        };
        assert!(of("a.ptx").contains("FNDA:12,f\nFNDA:2,k\nFNF:2\nFNH:2\n"), "{report}");
        assert!(of("a.ptx").contains("DA:1,20\nDA:9,120\n"), "{report}");
        assert!(of("b.ptx").contains("FNDA:4,k\nFNF:1\n") && of("b.ptx").contains("DA:1,40\n"), "{report}");
        // Of the same file the two are one line of the list.
        let report = lcov(&kernels, |_| Some("c.ptx".to_owned()));
        assert!(report.contains("FNDA:6,k\n") && report.contains("DA:1,60\n"), "{report}");
    }

    /// Programs that NVRTC was given without a name are all called the same.
    #[test]
    fn sources_without_a_name_are_told_apart_by_their_modules() {
        let of = |text: &str, path: &str, name: &str| {
            let counts = Counts { warps: 1, threads_on: 1, ..Counts::default() };
            let at = |ptx_line, file: &str, line| InstructionProfile {
                source: Some((file.into(), line)),
                entries: 1,
                ..instruction(name, ptx_line, counts)
            };
            kernel(&text.into(), vec![at(10, path, 2), at(11, "lib.h", 7), at(12, path, 3)])
        };
        let ptx = |text: &str| Some(format!("{text}.ptx"));
        let path = "/project/default_program";
        let report = lcov(&[of("a", path, "saxpy"), of("b", path, "dot")], ptx);
        let mut parts = report.split("TN:\n").skip(1);
        let [a, b, header] = [(); 3].map(|()| parts.next().unwrap_or_default());
        assert!(a.starts_with("SF:a.ptx\nFN:10,saxpy\n") && a.contains("DA:10,1\nDA:12,1\nLF:2\n"), "{a}");
        assert!(b.starts_with("SF:b.ptx\nFN:10,dot\n") && b.contains("DA:10,1\nDA:12,1\nLF:2\n"), "{b}");
        assert!(header.starts_with("SF:lib.h\n") && header.contains("DA:7,2\nLF:1\n"), "{header}");
        // There is one only, in two kernels; and a name means one file.
        let report = lcov(&[of("a", path, "saxpy"), of("a", path, "dot")], ptx);
        assert!(report.contains("SF:/project/default_program\n") && !report.contains(".ptx"), "{report}");
        let report = lcov(&[of("a", "a.cu", "saxpy"), of("b", "a.cu", "dot")], ptx);
        assert!(report.contains("SF:a.cu\n") && report.contains("DA:2,2\n"), "{report}");
    }

    /// An instruction on a line and column of `a.cu`.
    fn at(function: &str, (line, column): (u32, u32), counts: Counts) -> InstructionProfile {
        InstructionProfile { source: Some(("a.cu".into(), line)), column, ..instruction(function, 1, counts) }
    }

    #[test]
    fn what_was_compiled_several_times_is_added_up() {
        let branch = |function, at_column, taken, not_taken| {
            let warps = u64::from(taken + not_taken > 0);
            let counts = Counts { warps, taken, not_taken, ..Counts::default() };
            InstructionProfile { conditional: true, ..at(function, (5, at_column), counts) }
        };
        let ran = |warps| Counts { warps, threads_on: 1, ..Counts::default() };
        let [one, other]: [Arc<str>; 2] = ["a".into(), "b".into()];
        let kernels = [
            // One line of a function is as often executed as that of its instructions which is most often executed.
            kernel(
                &one,
                vec![
                    branch("k", 3, 4, 0),
                    at("k", (5, 3), ran(7)),
                    branch("k", 3, 0, 0),
                    branch("k", 9, 1, 2),
                ],
            ),
            kernel(&one, vec![branch("l", 3, 0, 2), branch("l", 9, 0, 0)]),
            kernel(&other, vec![branch("k", 9, 8, 8), branch("k", 3, 0, 0)]),
        ];
        let report = lcov(&kernels, |_| None);
        let of = |start: &str| -> Vec<&str> {
            report.lines().filter_map(|line| line.strip_prefix(start)).collect()
        };
        let branches = ["5,0,0,4", "5,0,1,2", "5,1,0,-", "5,1,1,-", "5,2,0,9", "5,2,1,10"];
        assert_eq!(
            (of("BRDA:"), of("BRF:"), of("BRH:")),
            (branches.to_vec(), vec!["6"], vec!["4"]),
            "{report}"
        );
        assert_eq!(of("DA:"), ["5,9"], "{report}");
    }

    #[test]
    fn each_target_of_a_table_is_a_way() {
        let counts = Counts { warps: 1, threads_on: 5, ..Counts::default() };
        let table =
            |targets: &[u64]| InstructionProfile { targets: targets.to_vec(), ..at("k", (5, 3), counts) };
        let [one, other]: [Arc<str>; 2] = ["a".into(), "b".into()];
        let kernels = [kernel(&one, vec![table(&[3, 0, 2])]), kernel(&other, vec![table(&[1, 0, 4])])];
        let report = lcov(&kernels, |_| None);
        assert!(report.contains("BRDA:5,0,0,4\nBRDA:5,0,1,0\nBRDA:5,0,2,6\nBRF:3\nBRH:2\n"), "{report}");
    }
}
