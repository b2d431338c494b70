//! What a real driver answered, asked of the emulator: every case of `rows.txt` in a process of its own.
//! `CUDA_LAUNCH_DRIVER=system` asks the system's driver instead, which must give exactly the answers of the rows (it did
//! on an H200, all cases but those of `UNDEFINED`).
//!
//! A row is `case: label=code | label=code | ..`, as an H200 with driver 580.159.04 (CUDA 13.0) answered on 2026-11-21.
//! `DEVIATIONS` lists where the emulator answers otherwise, each with its reason: it is stricter there, or the answer
//! depends on the one chip that was asked.
//!
//! Rows of that record that are not here: `args_few`, `cubin_cut_*`, `cubin_flip_*`, `ptx_nonul`, `htod_wild_src` and
//! `stream_double_destroy` crash the real process (where the emulator answers is in the other tests); `capture` needs
//! graphs; `cubin_arch` needs machine code, and the other cubins are refused (`driver_modules.rs`); the durations of
//! `busy_*` are replaced by whether the call waits (`driver_streams.rs`).

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../driver_support/mod.rs"]
mod support;

mod captures;
mod contexts;
mod devices;
mod events;
mod faults;
mod functions;
mod graph_changes;
mod green;
mod launches;
mod memory;
mod modules;
mod streams;
mod textures;

use std::collections::BTreeMap;

use cuda_driver_sys::CUresult;

/// One case: fills in what the driver answers.
type Case = fn(&mut Row);

/// The answers of one case.
#[derive(Default)]
pub(crate) struct Row(Vec<String>);

impl Row {
    /// An answer that is a code.
    pub(crate) fn code(&mut self, label: &str, code: CUresult) {
        self.0.push(format!("{label}={}", code.0));
    }

    /// A code, and a value that came with it.
    pub(crate) fn value(&mut self, label: &str, code: CUresult, value: impl std::fmt::Display) {
        self.0.push(format!("{label}={}({value})", code.0));
    }

    /// An answer in words.
    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }
}

const ROWS: &str = include_str!("rows.txt");

/// Case, what the real driver answered, what the emulator answers, and why.
const DEVIATIONS: &[(&str, &str, &str, &str)] = &[
    ("oob_near", "+4096=0", "+4096=700", "the emulator sees the first byte behind an allocation"),
    ("oob_near", "+65536=0", "+65536=700", "as above"),
    ("memory", "set_overflow=0", "set_overflow=1", "a size that overflows is a mistake"),
    ("occupancy", "act3=0(327)", "act3=0(336)", "depends on the chip: which of its multiprocessors work"),
    ("occupancy", "act8_1024=0(30)", "act8_1024=0(31)", "as above"),
    ("occupancy", "act16_np=0(58)", "act16_np=0(62)", "as above"),
    (
        "capture_of_others",
        "synchronize stream g-same=900/901",
        "synchronize stream g-same=0/0",
        "the emulator waits for other streams beside a capture",
    ),
    ("capture_of_others", "synchronize stream g-other=900/901", "synchronize stream g-other=0/0", "as above"),
    ("capture_of_others", "synchronize stream t-same=900/901", "synchronize stream t-same=0/0", "as above"),
    ("capture_of_others", "query stream g-same=900/901", "query stream g-same=0/0", "as above"),
    ("capture_of_others", "query stream g-other=900/901", "query stream g-other=0/0", "as above"),
    ("capture_of_others", "query stream t-same=900/901", "query stream t-same=0/0", "as above"),
];

/// Cases of which a real driver makes something else each time, crashes included: it follows handles that are dead, and
/// the neighbours of an allocation are chance; a misaligned access is answered by 700 or by 716. The rows have what it answered once, which the emulator always answers.
const UNDEFINED: &[&str] = &[
    "context_double_destroy",
    "destroyed_getfn",
    "destroyed_unload",
    "event_destroyed_query",
    "event_destroyed_record",
    "event_double_destroy",
    "fault_misaligned",
    "oob_near",
    "stream_after_ctx",
];

fn rows() -> BTreeMap<&'static str, Vec<&'static str>> {
    let lines = ROWS.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (case, answers) = line.split_once(": ").unwrap();
            (case, answers.split(" | ").map(str::trim).collect())
        })
        .collect()
}

fn cases() -> BTreeMap<&'static str, Case> {
    let families = [
        launches::CASES,
        functions::CASES,
        graph_changes::CASES,
        green::CASES,
        devices::CASES,
        captures::CASES,
        contexts::CASES,
        streams::CASES,
        events::CASES,
        memory::CASES,
        modules::CASES,
        faults::CASES,
        textures::CASES,
    ];
    families.into_iter().flatten().copied().collect()
}

const VARIABLE: &str = "DRIVER_TRUTH_CASE";

#[test]
fn the_emulator_answers_as_the_driver_did() {
    let (rows, cases) = (rows(), cases());
    assert_eq!(rows.keys().collect::<Vec<_>>(), cases.keys().collect::<Vec<_>>());
    assert!(UNDEFINED.iter().all(|case| cases.contains_key(case)));
    let next = std::sync::atomic::AtomicUsize::new(0);
    let asked = |(case, _): &(&&str, _)| !(support::on_system() && UNDEFINED.contains(case));
    let rows: Vec<_> = rows.iter().filter(asked).collect();
    let work = || {
        let mut wrong = Vec::new();
        while let Some((case, expected)) = rows.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            wrong.extend(ask(case, expected));
        }
        wrong
    };
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(8);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let answers: usize = rows.iter().map(|(_, answers)| answers.len()).sum();
    println!("{} cases, {answers} answers", rows.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asks one case; what is wrong, if something is.
fn ask(case: &str, expected: &[&str]) -> Option<String> {
    let output = support::child("one_case", &[(VARIABLE, case)]);
    let text = String::from_utf8_lossy(&output.stdout);
    let found: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("answer ")).collect();
    let expected: Vec<_> = expected.iter().map(|answer| deviated(case, answer)).collect();
    if found == expected {
        return None;
    }
    let pairs = expected.iter().zip(found.iter().chain(std::iter::repeat(&"nothing")));
    let differ: Vec<_> = pairs.filter(|(a, b)| a != b).map(|(a, b)| format!("{a} but {b}")).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    Some(format!("{case}: {}, expected {}\n{errors}", output.status, differ.join(", ")))
}

#[test]
fn every_deviation_is_one() {
    let rows = rows();
    for (case, real, ours, reason) in DEVIATIONS {
        assert!(rows[case].contains(real), "{case} {real}");
        assert!(real != ours && !reason.is_empty());
    }
}

fn deviated<'a>(case: &str, answer: &'a str) -> &'a str {
    if support::on_system() {
        return answer;
    }
    let found = DEVIATIONS.iter().find(|(of, real, _, _)| *of == case && *real == answer);
    found.map_or(answer, |(_, _, ours, _)| ours)
}

/// Runs in a process of its own, for the case `oob_near`: does nothing when the tests are run.
#[test]
fn near() {
    if let Ok(distance) = std::env::var("CUDA_LAUNCH_TEST_DISTANCE") {
        faults::near(distance.parse().unwrap());
    }
}

/// Runs in a process of its own, for the case `visible`: does nothing when the tests are run.
#[test]
fn no_device() {
    if std::env::var_os("CUDA_LAUNCH_EMULATOR_DEVICES").is_some() {
        devices::hidden();
    }
}

#[test]
fn list_cases() {
    if std::env::var_os("DRIVER_TRUTH_LIST").is_some() {
        cases().keys().for_each(|name| println!("\ncase {name}"));
    }
}

/// Runs in a process of its own: does nothing when the tests are run.
#[test]
fn one_case() {
    let Ok(name) = std::env::var(VARIABLE) else { return };
    // A driver that hangs in one case shall not keep the others from being asked.
    std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_secs(60));
        std::process::exit(3);
    });
    let mut row = Row::default();
    cases()[name.as_str()](&mut row);
    // The harness prints on the same line before.
    println!();
    for answer in row.0 {
        println!("answer {answer}");
    }
}
