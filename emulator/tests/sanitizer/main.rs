//! The kernels of `tests/sanitizer` on the emulator: of each planted fault is reported what `cases.txt` and docs/sanitizer.md say, of correct
//! kernels nothing. `compare.py` there runs the same cases under the tools of compute-sanitizer.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]
// Relies on the cases for what they pass to kernels, which the emulator checks.

mod cases;
mod run;

use cases::{Case, cases, text};
use cuda_driver_sys::CUresult;
use cuda_emulator::{Checks, Instance, InstanceOptions, Schedules};

/// An emulator of its own, with all checks.
fn instance(schedules: Option<Schedules>) -> Instance {
    let options = InstanceOptions::new().workers(1).checks(Checks::ALL);
    let options = schedules.into_iter().fold(options, InstanceOptions::schedules);
    options.start().unwrap()
}

/// What is reported of a kernel, each word once: faults, findings, and under 32 orders differences.
fn reported(case: &Case, wrong: bool, orders: bool) -> Vec<String> {
    let instance = instance(orders.then(|| Schedules::new(32)));
    let outcome = run::run(&instance.driver(), case, wrong);
    let faults = instance.faults();
    let left = instance.live_handles().allocations;
    if faults.is_empty() {
        assert_eq!(unsafe { instance.driver().cuDevicePrimaryCtxRelease(0) }, CUresult::SUCCESS);
    }
    assert_eq!(outcome.is_err(), !faults.is_empty(), "{}: {outcome:?}", case.name);
    let mut words: Vec<String> = faults.iter().map(|fault| format!("fault:{:?}", fault.kind)).collect();
    words.extend(instance.take_findings().list.iter().map(|finding| finding.kind.name().to_owned()));
    words.extend(instance.take_differences().iter().map(|at| format!("schedules:{}", at.kind.name())));
    // Of a kernel that runs in one order it would be no news that nothing differs.
    let once = !instance.take_one_order().is_empty();
    assert_eq!(once, orders && faults.is_empty() && ONE_ORDER.contains(&&*case.name), "{}", case.name);
    if left > 0 && faults.is_empty() {
        words.push("check:leak".to_owned());
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// The cases whose kernels run in one order, whatever was requested: they use the heap, or store to surfaces.
const ONE_ORDER: &[&str] = &[
    "heap",
    "heap_double_free",
    "heap_free_foreign",
    "heap_free_inside",
    "heap_freed",
    "heap_past_end",
    "leak_heap",
    "list_on_the_heap",
    "surface_outside",
];

#[test]
fn each_fault_is_reported_and_nothing_of_its_twin() {
    for case in cases() {
        let Some(finds) = &case.finds else { continue };
        let words = reported(&case, true, finds.starts_with("schedules:"));
        let is_expected = match finds.as_str() {
            "nothing" => words.is_empty(),
            finds => words.iter().any(|word| word == finds),
        };
        assert!(is_expected, "{}: {finds} is expected, not {words:?}", case.name);
        assert_eq!(reported(&case, false, true), [""; 0], "the twin of {}", case.name);
    }
}

#[test]
fn nothing_is_reported_of_correct_kernels() {
    for case in cases().iter().filter(|case| case.finds.is_none()) {
        assert_eq!(reported(case, false, true), [""; 0], "{}", case.name);
    }
}

/// What the page says in the emulator's column.
fn shown(finds: &str) -> String {
    match finds.split_once(':') {
        Some(("fault", kind)) => kind.to_owned(),
        Some(("check", rule)) => format!("`check`: {rule}"),
        Some((_, kind)) => format!("`--schedules`: {kind}"),
        None if finds == "nothing" => "-".to_owned(),
        None => finds.to_owned(),
    }
}

#[test]
fn the_page_has_each_case_and_the_sums() {
    let page = text("docs/sanitizer.md");
    let cells = |line: &str| -> Vec<String> {
        line.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned()).collect()
    };
    let rows: Vec<Vec<String>> = page.lines().filter(|line| line.starts_with("| `")).map(cells).collect();
    let all = cases();
    let faults: Vec<&Case> = all.iter().filter(|case| case.finds.is_some()).collect();
    for case in &faults {
        let row = rows.iter().find(|row| row[0] == format!("`{}`", case.name));
        let row = row.unwrap_or_else(|| panic!("{} is not in the page", case.name));
        assert_eq!(row.last(), case.finds.as_deref().map(shown).as_ref(), "{}", case.name);
    }
    let found = |such: &dyn Fn(&str) -> bool| {
        faults.iter().filter_map(|case| case.finds.as_deref()).filter(|finds| such(finds)).count().to_string()
    };
    let by_checks =
        |finds: &str| finds != "nothing" && !finds.starts_with("check:") && !finds.starts_with("schedules:");
    let sums = [
        (
            format!("| found, of {} faults |", faults.len()),
            [found(&by_checks), found(&|finds| finds != "nothing")],
        ),
        // As `nothing_is_reported_of_correct_kernels` and the twins show.
        (format!("| reported, of {} correct kernels |", all.len()), ["0".to_owned(), "0".to_owned()]),
    ];
    for (head, last) in sums {
        let row = page.lines().find(|line| line.starts_with(&head)).unwrap_or_else(|| panic!("{head}"));
        let cells = cells(row);
        assert_eq!(cells[cells.len() - 2..], last, "{head}");
    }
}
