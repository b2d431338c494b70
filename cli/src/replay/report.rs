//! The report of a replay.

use cuda_emulator::Findings;
use cuda_harness::record::Recording;
use cuda_launch::sys::CUresult;
use serde_json::{Value, json};

use super::device::{Difference, Replayed};
use crate::output::Outcome;
use crate::run::DeviceOptions;
use crate::style;
use crate::table::{count, wrap};

pub(super) fn outcome(
    recording: &Recording,
    replayed: &Replayed,
    findings: &Findings,
    place: &DeviceOptions,
    adjacent: usize,
) -> Outcome {
    let fault = if place.is_emulator() { cuda_emulator::last_fault() } else { None };
    let fault = fault.map(|fault| fault.to_string());
    let mut text = wrap(&recording.to_string(), "") + &notes(replayed);
    if adjacent > 0 && place.is_emulator() {
        let allocations = count(adjacent, "allocation");
        text += &wrap(
            &format!(
                "note: {allocations} directly after another: --apart also finds accesses past the end of the first"
            ),
            "",
        );
    }
    if replayed.code != CUresult::SUCCESS {
        text += &format!("{}: {:?}\n", style::bad("the launch failed"), replayed.code);
        text += &fault.as_deref().map_or_else(String::new, |fault| wrap(fault, "  "));
    }
    for finding in &findings.list {
        text += &wrap(&finding.to_string(), "  ");
    }
    if !findings.list.is_empty() {
        text += &format!("{}\n", style::bad(&count(findings.list.len(), "finding")));
    }
    text += &compared(recording, replayed);
    Outcome::new(text, json(recording, replayed, findings, fault, adjacent))
}

/// The differences from the recorded launch's conditions.
fn notes(replayed: &Replayed) -> String {
    let mut text = String::new();
    if replayed.moved > 0 {
        let allocations = count(replayed.moved, "allocation");
        text += &wrap(
            &format!(
                "note: {allocations} at another address than recorded; pointers among the arguments were adjusted"
            ),
            "",
        );
    }
    if replayed.changed > 0 {
        text +=
            &format!("note: {} in memory that may be pointers adjusted\n", count(replayed.changed, "word"));
    }
    if replayed.stale > 0 {
        let words = count(replayed.stale, "word");
        text += &wrap(
            &format!(
                "note: {words} in memory may be pointers to recorded addresses: --relocate adjusts them"
            ),
            "",
        );
    }
    for limit in &replayed.limits {
        let now = limit.now.map_or("unknown to this driver".to_owned(), |now| now.to_string());
        let told = format!("note: {} was {}, and is {now} here", limit.name, limit.recorded);
        text += &wrap(&told, "");
    }
    if !replayed.left_out.is_empty() {
        let ids: Vec<String> = replayed.left_out.iter().map(u32::to_string).collect();
        text += &format!("note: launch attributes not applied: {}\n", ids.join(", "));
    }
    text
}

fn compared(recording: &Recording, replayed: &Replayed) -> String {
    if !replayed.is_compared && recording.is_unfinished() {
        return "outputs not recorded: the launch was not over when the file was written\n".to_owned();
    }
    if !replayed.is_compared {
        return match CUresult(recording.code) {
            CUresult::SUCCESS => String::new(),
            code => {
                format!("the recorded launch failed with {code:?}: there are no outputs to compare with\n")
            }
        };
    }
    if replayed.differences.is_empty() {
        let same = count(usize::try_from(replayed.same).unwrap_or(usize::MAX), "byte");
        return format!("{}: {same} of memory\n", style::good("as recorded"));
    }
    let mut text = String::new();
    for difference in &replayed.differences {
        let Difference { region, bytes, first, recorded, now } = difference;
        let Some(memory) = recording.regions.get(*region) else { continue };
        let argument = match &memory.variable {
            Some(name) => format!(", variable {name}"),
            None => {
                argument_of(recording, *region).map_or(String::new(), |number| format!(", argument {number}"))
            }
        };
        text += &wrap(
            &format!(
                "{} {bytes} of {} bytes at {:#x}{argument}; the first at offset {first}: {}, recorded {}",
                style::bad("differs:"),
                memory.bytes,
                memory.address,
                hex(now),
                hex(recorded)
            ),
            "",
        );
    }
    text
}

/// The first argument that points into the memory.
fn argument_of(recording: &Recording, region: usize) -> Option<usize> {
    let region = recording.regions.get(region)?;
    let points = |(offset, size): &(u32, u32)| {
        let bytes = recording.arguments.get(*offset as usize..*offset as usize + *size as usize);
        let words = bytes.unwrap_or_default().as_chunks::<8>().0.iter();
        words
            .map(|word| u64::from_le_bytes(*word))
            .any(|word| word.wrapping_sub(region.address) < region.bytes)
    };
    recording.parameters.iter().position(points)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json(
    recording: &Recording,
    replayed: &Replayed,
    findings: &Findings,
    fault: Option<String>,
    adjacent: usize,
) -> Value {
    let differences = replayed.differences.iter().map(|difference| {
        let memory = recording.regions.get(difference.region);
        json!({
            "address": memory.map(|memory| memory.address),
            "bytes": memory.map(|memory| memory.bytes),
            "variable": memory.and_then(|memory| memory.variable.as_deref()),
            "argument": argument_of(recording, difference.region),
            "differing": difference.bytes,
            "first": difference.first,
            "recorded": hex(&difference.recorded),
            "now": hex(&difference.now),
        })
    });
    let findings = findings.list.iter();
    json!({
        "schema": "cuda-launch.replay.1",
        "kernel": recording.kernel,
        "grid": recording.grid,
        "block": recording.block,
        "recorded_code": recording.code,
        "code": replayed.code.0,
        "fault": fault,
        "findings": findings.map(|one| json!({ "kind": one.kind.name(), "message": one.to_string() })).collect::<Value>(),
        "is_compared": replayed.is_compared,
        "same_bytes": replayed.same,
        "differences": differences.collect::<Value>(),
        "adjacent": adjacent,
        "moved": replayed.moved,
        "stale_pointers": replayed.stale,
        "changed_pointers": replayed.changed,
        "limits_not_set": replayed.limits.iter().map(|limit| json!({
            "name": limit.name,
            "recorded": limit.recorded,
            "now": limit.now,
        })).collect::<Value>(),
        "attributes_left_out": replayed.left_out,
    })
}
