//! Checks and orders that variables request of the emulator and no option does: the emulator prints what it finds, and the answer of the tool
//! counts and lists it.

use cuda_emulator::Checks;
use serde_json::Value;

use super::check::Found;
use super::{findings, schedules};
use crate::style;
use crate::table::count;

const CHECK: &str = "CUDA_LAUNCH_EMULATOR_CHECK";
const SCHEDULES: &str = "CUDA_LAUNCH_EMULATOR_SCHEDULES";
const SEED: &str = "CUDA_LAUNCH_EMULATOR_SEED";

/// Adds what checks have found, if the variable requested them; whether they found anything.
pub(super) fn add_findings(text: &mut String, json: &mut Value) -> bool {
    let checks = value(CHECK).and_then(|list| Checks::parse(list.trim())).unwrap_or_default();
    if checks == Checks::NONE {
        return false;
    }
    let found = Found { accesses: cuda_emulator::take_findings(), ..Found::default() };
    findings::add_json(&found, json);
    *text += &told("check", found.count(), "finding");
    found.count() > 0
}

/// The same for what other orders of warps and blocks have shown.
pub(super) fn add_differences(text: &mut String, json: &mut Value) -> bool {
    // A seed alone is its one order.
    let orders = value(SCHEDULES).or(value(SEED).map(|_| "1".to_owned()));
    if orders.is_none_or(|orders| orders.trim() == "0") {
        return false;
    }
    let found = cuda_emulator::take_differences();
    json["differences"] = schedules::json(&found);
    *text += &told("schedules", found.len(), "difference");
    !found.is_empty()
}

fn value(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A line, if there is something: the findings themselves are on standard error.
fn told(what: &str, number: usize, one: &str) -> String {
    match number {
        0 => String::new(),
        _ => format!("{}\n", style::bad(&format!("{what}: {}, on standard error", count(number, one)))),
    }
}
