//! Findings of `--check` as text.

use cuda_emulator::{Actor, Bytes, Finding as Access, FindingKind};
use serde_json::{Value, json};

use super::check::{Finding, Found};
use super::data::Input;
use crate::style;
use crate::table::{count, wrap};

/// For people.
pub(super) fn text(found: &Found, inputs: &[Input<'_>]) -> String {
    let incomplete = match found.accesses.incomplete {
        true => wrap("the kernel accesses more memory than can be watched for races", "  "),
        false => String::new(),
    };
    let left_out = found.accesses.left_out;
    if found.count() == 0 && left_out == 0 {
        return format!("{}\n{incomplete}", style::good("check: nothing found"));
    }
    let mut text = format!("{}\n", style::bad(&format!("check: {}", count(found.count(), "finding"))));
    text.extend(found.accesses.list.iter().map(access_text));
    text.extend(found.outputs.iter().map(|finding| output_text(finding, inputs)));
    if left_out > 0 {
        text += &wrap(&format!("and {left_out} more at other places"), "  ");
    }
    text + &incomplete
}

fn access_text(access: &Access) -> String {
    let Access { bytes, times, .. } = access;
    let what = match access.kind {
        FindingKind::Race => "race on ",
        FindingKind::Uninitialised => "read of memory that was never written: ",
        FindingKind::DivergentBarrier if access.advice.is_some() => {
            "threads of a warp do not come to a barrier together"
        }
        FindingKind::DivergentBarrier => "threads of a warp are at different barriers",
        FindingKind::ClusterBarrier => "misuse of the cluster's barrier",
        FindingKind::MissingWait => "missing wait for asynchronous work on ",
        FindingKind::MissingFence => "missing fence before asynchronous work on ",
        FindingKind::UndefinedValue => "use of an undefined value",
        FindingKind::UninitialisedCopy => "copy to the host of memory that was never written: ",
        FindingKind::OutOfBounds => "access outside the memory that its address is computed from: ",
        FindingKind::ConstantWrite => "write to constant memory: ",
        FindingKind::StaleTexture => "fetch of what the kernel has just written: ",
        FindingKind::LiveMbarrier => "initialisation of an mbarrier that is in use: ",
        _ => access.kind.name(),
    };
    let without = match access.kind {
        FindingKind::MissingWait | FindingKind::MissingFence => "registers",
        _ => "",
    };
    let bytes = bytes.as_ref().map_or_else(|| without.to_owned(), Bytes::to_string);
    let mut text = wrap(&format!("{what}{bytes}"), "  ");
    // A copy has no threads.
    let first = Some(&access.access).filter(|_| access.kind != FindingKind::UninitialisedCopy);
    for actor in [first, access.other.as_ref()].into_iter().flatten() {
        text += &wrap(&actor.to_string(), "    ");
    }
    if let Some(advice) = access.advice {
        text += &wrap(advice, "    ");
    }
    if *times > 1 {
        text += &wrap(&format!("{} times in all", times), "    ");
    }
    text
}

fn output_text(finding: &Finding, inputs: &[Input<'_>]) -> String {
    let Finding { kind, argument, elements, first } = finding;
    let total = inputs.get(*argument).and_then(Input::elements).unwrap_or(0);
    let sentence = kind.sentence();
    wrap(&format!("arg {argument}: {elements} of {total} elements, the first at {first}, {sentence}"), "  ")
}

/// For programs: the fields.
pub(super) fn add_json(found: &Found, json: &mut Value) {
    json["findings"] = list(found);
    json["incomplete"] = found.accesses.incomplete.into();
    json["findings_left_out"] = found.accesses.left_out.into();
}

fn list(found: &Found) -> Value {
    let accesses = found.accesses.list.iter().map(access_json);
    accesses.chain(found.outputs.iter().map(output_json)).collect()
}

fn output_json(finding: &Finding) -> Value {
    let Finding { kind, argument, elements, first } = finding;
    json!({ "kind": kind.name(), "argument": argument, "elements": elements, "first": first })
}

fn access_json(access: &Access) -> Value {
    json!({
        "kind": access.kind.name(),
        "message": access.to_string(),
        "space": access.bytes.as_ref().map(|bytes| bytes.space.name()),
        "address": access.bytes.as_ref().map(|bytes| bytes.address),
        "bytes": access.bytes.as_ref().map(|bytes| bytes.count),
        "place": access.bytes.as_ref().map(|bytes| &bytes.place),
        "access": actor_json(&access.access),
        "other": access.other.as_ref().map(actor_json),
        "advice": access.advice,
        "times": access.times,
    })
}

fn actor_json(actor: &Actor) -> Value {
    json!({
        "verb": actor.verb,
        "block": actor.block,
        "thread": actor.thread,
        "ptx_line": actor.ptx_line,
        "source": actor.source.as_ref().map(|(file, line)| json!({ "file": file, "line": line })),
        "function": actor.function,
        "kernel": actor.kernel,
    })
}
