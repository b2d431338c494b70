//! A profile for the terminal.

use cuda_emulator::{Counts, Operations};
use serde_json::{Value, json};

use super::lines::{Line, place};
use super::{Answer, intensity, ratio};
use crate::roofline;
use crate::style;
use crate::table::{Columns, Table, count, numbers, wrap};

/// Columns of numbers, which are right-aligned.
const RIGHT: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7];

pub(super) fn show(answer: &Answer) -> String {
    let mut text = wrap(&answer.heading, "");
    if let Some(fault) = &answer.fault {
        text +=
            &format!("{}\n{}", style::bad("the kernel was stopped"), Columns::out().wrap_lines(fault, "  "));
    }
    summary(answer)
        .iter()
        .for_each(|(name, told)| text += &wrap(&format!("{} {told}", style::strong(name)), ""));
    text += &listing(answer);
    let mut legend = String::from(
        "warps: instructions that warps executed on the line; threads: active ones of 32, and those with the guard on, if fewer; sectors: of \
                  32 bytes per access to global memory, and how many would do; banks: passes per access to shared memory, and how many would do",
    );
    for column in optional(answer, false) {
        legend += "; ";
        legend += column.meaning;
    }
    text + &wrap(&style::faint(&legend), "")
}

/// Information about the whole launch: names and sentences.
pub(super) fn summary(answer: &Answer) -> Vec<(&'static str, String)> {
    let Answer { total, operations, .. } = answer;
    let mut lines = Vec::new();
    let mut told = format!("{} by warps, {} by threads", total.warps, total.threads);
    if total.threads_on < total.threads {
        told += &format!(" (guard on: {})", total.threads_on);
    }
    lines.push(("instructions:", format!("{told}; {:.1} of 32 threads active", active(total))));
    let conditional = || answer.profile.instructions.iter().filter(|instruction| instruction.conditional);
    let branches: u64 = conditional().map(|instruction| instruction.counts.warps).sum();
    if branches > 0 {
        let part = 100.0 * ratio(total.divergent, branches).unwrap_or(0.0);
        lines
            .push(("branches:", format!("{branches} by warps, {} divergent ({part:.1} %)", total.divergent)));
    }
    if let Some(each) = ratio(total.global_sectors, total.global_requests) {
        let used = 100.0 * ratio(total.global_sectors_ideal, total.global_sectors).unwrap_or(0.0);
        lines.push((
            "global memory:",
            format!(
                "{}, {each:.1} sectors each; {used:.0} % of these were needed",
                accesses(total.global_requests)
            ),
        ));
    }
    if total.shared_requests > 0 {
        let conflicts = total.shared_wavefronts - total.shared_wavefronts_ideal;
        lines.push((
            "shared memory:",
            format!("{}, {}", accesses(total.shared_requests), count(conflicts as usize, "bank conflict")),
        ));
    }
    let others = [
        ("local memory:", total.local_requests, total.local_bytes),
        ("constants:", total.constant_requests, total.constant_bytes),
        ("textures:", total.texture_requests, total.texture_bytes),
        ("surfaces:", total.surface_requests, total.surface_bytes),
    ];
    for (name, requests, bytes) in others.into_iter().filter(|(_, requests, _)| *requests > 0) {
        lines.push((name, format!("{}, {}", accesses(requests), count(bytes as usize, "byte"))));
    }
    if total.barrier_wait > 0 {
        let part = 100.0 * ratio(total.barrier_wait, total.warps + total.barrier_wait).unwrap_or(0.0);
        let told = format!(
            "warps wait for {} of others, {part:.0} % of their time",
            count(total.barrier_wait as usize, "instruction")
        );
        lines.push(("barriers:", told));
    }
    if total.collisions > 0 {
        lines.push((
            "atomics:",
            format!("{} of threads of a warp", count(total.collisions as usize, "collision")),
        ));
    }
    if operations.floating_point() > 0 {
        let each = intensity(*operations, total).map_or_else(String::new, |each| {
            format!("; {} per byte of global memory", roofline::digits(each))
        });
        lines.push(("operations:", format!("{}{each}", numbers(&roofline::kinds(*operations)))));
    }
    let kinds =
        [(operations.integer, "integer"), (operations.bit, "bit"), (operations.conversion, "conversion")];
    if kinds.iter().any(|(number, _)| *number > 0) {
        lines.push(("other arithmetic:", format!("{} instructions", numbers(&kinds))));
    }
    let roofline = match &answer.place {
        Ok(place) => {
            format!("on {}, {}", answer.gpu.map_or("", |gpu| gpu.name), place.text_with_peaks())
        }
        Err(why) => {
            let on = answer.gpu.map_or_else(String::new, |gpu| format!(" on {}", gpu.name));
            format!("not placed{on}: {why}")
        }
    };
    lines.push(("roofline:", roofline));
    if !answer.listing.missing.is_empty() {
        let files =
            answer.listing.missing.iter().map(|missing| format!("{} ({})", missing.file, missing.why));
        let files: Vec<String> = files.collect();
        let told = format!(
            "{}: the lines have counts, and no text; copy the files to the folder of the image, or list the PTX with --ptx",
            files.join(", ")
        );
        lines.push(("no source:", told));
    }
    let uncovered = uncovered(answer);
    if !uncovered.is_empty() {
        let told: Vec<String> = uncovered.iter().map(Uncovered::text).collect();
        lines.push(("not covered:", told.join("; ")));
    }
    lines
}

fn accesses(number: u64) -> String {
    if number == 1 { "1 access".to_owned() } else { format!("{number} accesses") }
}

/// Code that did not run.
pub(super) struct Uncovered {
    file: Option<String>,
    /// First and last line.
    lines: [u32; 2],
    what: Missed,
}

/// The part of the code that was not executed.
enum Missed {
    /// The number of instructions that never ran.
    Instructions(usize),
    /// A branch, or the end of a function under a guard, always went the same way: whether that was a jump or the end.
    Way { of: &'static str, jumps: bool },
    /// A `brx.idx` never jumped to some of its targets.
    Targets { missed: usize, of: usize },
}

impl Uncovered {
    fn text(&self) -> String {
        let file = self.file.as_ref().map_or_else(String::new, |file| format!("{file} "));
        let lines = match self.lines {
            [first, last] if first == last => format!("line {first}"),
            [first, last] => format!("lines {first} to {last}"),
        };
        match self.what {
            Missed::Instructions(number) => format!("{file}{lines} ({})", count(number, "instruction")),
            Missed::Way { of, jumps: true } => format!("{file}{lines} (the {of} is always taken)"),
            Missed::Way { of, jumps: false } => format!("{file}{lines} (the {of} is never taken)"),
            Missed::Targets { missed, of } => {
                format!("{file}{lines} (the branch never goes to {missed} of its {of} targets)")
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        let (instructions, branch, targets) = match self.what {
            Missed::Instructions(number) => (Some(number), None, None),
            Missed::Way { jumps, .. } => {
                (None, Some(if jumps { "always-taken" } else { "never-taken" }), None)
            }
            Missed::Targets { missed, .. } => (None, Some("targets-never-taken"), Some(missed)),
        };
        json!({
            "file": self.file,
            "first_line": self.lines[0],
            "last_line": self.lines[1],
            "instructions": instructions,
            "branch": branch,
            "targets": targets,
        })
    }
}

/// Instructions that never ran, and branches with outcomes that never occurred, in the order of the text.
pub(super) fn uncovered(answer: &Answer) -> Vec<Uncovered> {
    let mut all: Vec<Uncovered> = Vec::new();
    let mut goes_on = false;
    for instruction in &answer.profile.instructions {
        let counts = &instruction.counts;
        let Some((file, line)) = place(instruction, answer.listing.is_source) else { continue };
        let missed = instruction.targets.iter().filter(|threads| **threads == 0).count();
        let what = match (counts.taken == 0) != (counts.not_taken == 0) {
            true => Missed::Way { of: way(&instruction.name), jumps: counts.taken > 0 },
            false if counts.ran() && missed > 0 => Missed::Targets { missed, of: instruction.targets.len() },
            false => Missed::Instructions(1),
        };
        let runs_on = matches!(what, Missed::Instructions(_));
        let is_covered = counts.ran() && runs_on;
        match all.last_mut() {
            _ if is_covered => {}
            Some(Uncovered { file: known, lines: [_, last], what: Missed::Instructions(number) })
                if goes_on && runs_on && known.as_deref() == file && line >= *last =>
            {
                (*last, *number) = (line, *number + 1);
            }
            _ => all.push(Uncovered { file: file.map(str::to_owned), lines: [line, line], what }),
        }
        goes_on = !is_covered;
    }
    all
}

/// What an instruction that may leave the next one out is called.
fn way(name: &str) -> &'static str {
    match name.split('.').next() {
        Some("ret") => "return",
        Some("exit") => "exit",
        _ => "branch",
    }
}

/// A column that only some kernels need.
pub(super) struct Column {
    pub(super) name: &'static str,
    meaning: &'static str,
    of: fn(&Counts, &Operations) -> u64,
}

impl Column {
    /// Its cell in a line.
    pub(super) fn cell(&self, line: &Line) -> String {
        let number = (self.of)(&line.counts.unwrap_or_default(), &line.operations);
        if number == 0 { String::new() } else { number.to_string() }
    }
}

const OPTIONAL: [Column; 4] = [
    Column {
        name: "waits",
        meaning: "waits: instructions of others for which warps wait at a barrier",
        of: |counts, _| counts.barrier_wait,
    },
    Column {
        name: "collisions",
        meaning: "collisions: atomic operations on an address that another thread of the warp updates at once",
        of: |counts, _| counts.collisions,
    },
    Column {
        name: "operations",
        meaning: "operations: floating-point operations of all threads",
        of: |_, operations| operations.floating_point(),
    },
    Column {
        name: "integer",
        meaning: "integer: instructions of all threads on integers and bits",
        of: |_, operations| operations.integer + operations.bit,
    },
];

/// Those of a kernel. A terminal has no room for integers, unless they are most of what it does: elsewhere they are addresses.
pub(super) fn optional(answer: &Answer, is_wide: bool) -> Vec<&'static Column> {
    let (total, operations) = (&answer.total, &answer.operations);
    let is_of_integers = 2 * (operations.integer + operations.bit) > total.threads_on;
    let wanted = |column: &&Column| {
        (column.of)(total, operations) > 0 && (is_wide || is_of_integers || column.name != "integer")
    };
    OPTIONAL.iter().filter(wanted).collect()
}

fn listing(answer: &Answer) -> String {
    let optional = optional(answer, false);
    let mut text = String::new();
    let mut table: Option<Table> = None;
    let mut file = None;
    for line in &answer.listing.lines {
        if table.is_none() || file != Some(&line.file) {
            text += &table.take().map_or_else(String::new, |table| table.print(""));
            text += &line.file.as_ref().map_or_else(String::new, |file| format!("{}\n", style::strong(file)));
            let mut heading = vec!["line", "warps", "threads", "sectors", "banks"];
            heading.extend(optional.iter().map(|column| column.name));
            let right = RIGHT.get(..heading.len()).unwrap_or(RIGHT);
            heading.push("");
            table = Some(Table::new(&heading, right));
            file = Some(&line.file);
        }
        let Some(table) = &mut table else { continue };
        if line.number == 0 {
            continue;
        }
        let [warps, threads, sectors, banks] = cells(line.counts.as_ref());
        let mut row = vec![line.number.to_string(), warps, threads, sectors, banks];
        row.extend(optional.iter().map(|column| column.cell(line)));
        row.push(line.text.clone());
        table.row(row);
    }
    text + &table.map_or_else(String::new, |table| table.print(""))
}

/// The average number of active threads of a warp.
pub(super) fn active(counts: &Counts) -> f64 {
    ratio(counts.threads, counts.warps).unwrap_or(0.0)
}

/// The same, and if it is less, the average number of those whose guard held.
fn threads(counts: &Counts) -> String {
    let on = ratio(counts.threads_on, counts.warps).filter(|_| counts.threads_on < counts.threads);
    format!("{:.1}{}", active(counts), on.map_or_else(String::new, |on| format!("/{on:.1}")))
}

/// Warps, threads, sectors and banks of a line.
pub(super) fn cells(counts: Option<&Counts>) -> [String; 4] {
    let Some(counts) = counts else { return Default::default() };
    if !counts.ran() {
        return ["never".to_owned(), String::new(), String::new(), String::new()];
    }
    let each = |number, ideal, requests| match (ratio(number, requests), ratio(ideal, requests)) {
        (Some(number), Some(ideal)) => format!("{number:.1}/{ideal:.1}"),
        _ => String::new(),
    };
    [
        counts.warps.to_string(),
        threads(counts),
        each(counts.global_sectors, counts.global_sectors_ideal, counts.global_requests),
        each(counts.shared_wavefronts, counts.shared_wavefronts_ideal, counts.shared_requests),
    ]
}
