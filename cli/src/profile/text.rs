//! A profile for the terminal.

use cuda_emulator::Counts;

use super::{Answer, ratio};
use crate::style;
use crate::table::{Columns, Table, count, wrap};

/// Columns of numbers, which end at the same place.
const RIGHT: &[usize] = &[0, 1, 2, 3, 4];
const HEADING: [&str; 6] = ["line", "warps", "threads", "sectors", "banks", ""];

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
    let legend = "warps: instructions that warps executed on the line; threads: active ones of 32; sectors: of 32 bytes per access to global \
                  memory, and how many would do; banks: passes per access to shared memory, and how many would do";
    text + &wrap(&style::faint(legend), "")
}

/// What is true of the whole launch: names and sentences.
pub(super) fn summary(answer: &Answer) -> Vec<(&'static str, String)> {
    let Answer { total, arithmetic, .. } = answer;
    let mut lines = Vec::new();
    let active = active(total);
    lines.push((
        "instructions:",
        format!(
            "{} by warps, {} by threads; {active:.1} of 32 threads active",
            total.warps, total.threads_on
        ),
    ));
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
                "{} accesses, {each:.1} sectors each; {used:.0} % of these were needed",
                total.global_requests
            ),
        ));
    }
    if total.shared_requests > 0 {
        let conflicts = total.shared_wavefronts - total.shared_wavefronts_ideal;
        lines.push((
            "shared memory:",
            format!("{} accesses, {conflicts} bank conflicts", total.shared_requests),
        ));
    }
    if total.collisions > 0 {
        lines.push(("atomics:", format!("{} collisions of threads of a warp", total.collisions)));
    }
    if arithmetic.all() > 0 {
        let kinds = [
            ("f64", arithmetic.double),
            ("f32", arithmetic.single),
            ("f16", arithmetic.half),
            ("matrix", arithmetic.matrix),
        ];
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|(_, number)| *number > 0)
            .map(|(name, number)| format!("{number} {name}"))
            .collect();
        let intensity = arithmetic.intensity(total);
        let each =
            intensity.map_or_else(String::new, |each| format!("; {each:.2} per byte of global memory"));
        lines.push(("operations:", format!("{}{each}", kinds.join(", "))));
    }
    let (never, one_way) = uncovered(answer);
    if never + one_way > 0 {
        lines.push((
            "not covered:",
            format!(
                "{} never ran, {one_way} {} went one way only",
                count(never, "instruction"),
                if one_way == 1 { "branch" } else { "branches" }
            ),
        ));
    }
    lines
}

/// Instructions that never ran, and branches that always went the same way.
fn uncovered(answer: &Answer) -> (usize, usize) {
    let instructions = &answer.profile.instructions;
    let never = instructions.iter().filter(|instruction| !instruction.counts.ran()).count();
    let one_way = |counts: &Counts| (counts.taken == 0) != (counts.not_taken == 0);
    (never, instructions.iter().filter(|instruction| one_way(&instruction.counts)).count())
}

fn listing(answer: &Answer) -> String {
    let mut text = String::new();
    let mut table: Option<Table> = None;
    let mut file = None;
    for line in &answer.listing.lines {
        if table.is_none() || file != Some(&line.file) {
            text += &table.take().map_or_else(String::new, |table| table.print(""));
            text += &line.file.as_ref().map_or_else(String::new, |file| format!("{}\n", style::strong(file)));
            table = Some(Table::new(&HEADING, RIGHT));
            file = Some(&line.file);
        }
        let Some(table) = &mut table else { continue };
        if line.number == 0 {
            continue;
        }
        let [warps, threads, sectors, banks] = cells(line.counts.as_ref());
        table.row(vec![line.number.to_string(), warps, threads, sectors, banks, line.text.clone()]);
    }
    text + &table.map_or_else(String::new, |table| table.print(""))
}

/// Threads of a warp that take part on average: those whose guard holds, and those that come to a branch.
pub(super) fn active(counts: &Counts) -> f64 {
    ratio(counts.threads_on + counts.not_taken, counts.warps).unwrap_or(0.0)
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
        format!("{:.1}", active(counts)),
        each(counts.global_sectors, counts.global_sectors_ideal, counts.global_requests),
        each(counts.shared_wavefronts, counts.shared_wavefronts_ideal, counts.shared_requests),
    ]
}
