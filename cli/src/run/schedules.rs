//! `--schedules`: runs the kernel on the emulator under several orders of its warps and blocks, and shows results that depend on the
//! order.

use cuda_emulator::{DifferenceKind, DifferentBytes, Fault, OneOrderReason, ScheduleDifference, Schedules};
use serde_json::{Value, json};

use super::Arguments;
use crate::style;
use crate::table::{count, wrap};

/// The requested orders. A seed alone means its one order.
pub(super) fn asked(arguments: &Arguments) -> Option<Schedules> {
    let orders = arguments.schedules.or(arguments.seed.map(|_| 1))?;
    let schedules = Schedules::new(orders);
    Some(arguments.seed.map_or(schedules, |seed| schedules.seed(seed)))
}

/// Makes the emulator run launches under these orders. Must be called before the first driver call.
pub(super) fn start(schedules: Schedules) {
    // An error if a driver was called before; `run` calls none.
    cuda_emulator::set_schedules(schedules);
}

/// Why the kernel ran in the ordinary order only, if it did.
pub(super) fn one_order(kernel: &str) -> Option<OneOrderReason> {
    cuda_emulator::take_one_order().iter().find(|once| once.kernel == kernel).map(|once| once.reason)
}

/// For people.
pub(super) fn text(
    schedules: Schedules,
    found: &[ScheduleDifference],
    one_order: Option<OneOrderReason>,
) -> String {
    let orders = count(schedules.count() as usize, "order");
    let first = schedules.first_seed();
    let last = first.wrapping_add(u64::from(schedules.count().saturating_sub(1)));
    let seeds = if first == last { format!("seed {first}") } else { format!("seeds {first} to {last}") };
    if let Some(reason) = one_order.filter(|_| found.is_empty()) {
        let why = format!(
            "schedules: of {orders} ({seeds}) none was run, only the ordinary order: {reason}, which cannot be undone between two orders"
        );
        return style::bad(&wrap(&why, ""));
    }
    if found.is_empty() {
        return format!("{}\n", style::good(&format!("schedules: {orders} ({seeds}), no difference")));
    }
    let differences = count(found.len(), "difference");
    let mut text = format!("{}\n", style::bad(&format!("schedules: {orders} ({seeds}), {differences}")));
    for difference in found {
        let ScheduleDifference { seed, times, orders, kind, unseen_stores, .. } = difference;
        text += &wrap(
            &format!("{}, in {times} of {orders} orders; --seed {seed} is the first:", name(kind)),
            "  ",
        );
        for line in lines(kind) {
            text += &wrap(&line, "    ");
        }
        for [store, load] in unseen_stores {
            text += &wrap(&format!("PTX line {load} did not see what line {store} had stored"), "    ");
        }
    }
    text
}

fn name(kind: &DifferenceKind) -> &'static str {
    match kind {
        DifferenceKind::Memory(_) => "memory differs",
        DifferenceKind::Hang(_) => "it hangs",
        DifferenceKind::Fault(_) => "it faults",
        DifferenceKind::Check(_) => "a check finds something",
        _ => kind.name(),
    }
}

fn lines(kind: &DifferenceKind) -> Vec<String> {
    match kind {
        DifferenceKind::Memory(bytes) => {
            let DifferentBytes { count: number, address, place, contents, ptx_lines, .. } = bytes;
            let side = |order: &str, side: usize| {
                let value = u32::from_le_bytes(contents[side]);
                let written = match ptx_lines[side] {
                    0 => "not written".to_owned(),
                    line => format!("written by PTX line {line}"),
                };
                format!("{order} order: {value} (0x{value:08x}), {written}")
            };
            let total = count(*number as usize, "byte");
            vec![
                format!("{total}, the first at 0x{address:x}, {place}"),
                side("ordinary", 0),
                side("this", 1),
            ]
        }
        DifferenceKind::Hang(fault) => fault.message.split("; block ").enumerate().map(restored).collect(),
        DifferenceKind::Fault(fault) => vec![fault.to_string()],
        DifferenceKind::Check(finding) => vec![finding.to_string()],
        other => vec![format!("{other:?}")],
    }
}

/// A part of a report in which each group of threads has a line.
fn restored((part, text): (usize, &str)) -> String {
    if part == 0 { text.to_owned() } else { format!("block {text}") }
}

/// For programs: the list.
pub(super) fn json(found: &[ScheduleDifference]) -> Value {
    found.iter().map(one).collect()
}

fn one(difference: &ScheduleDifference) -> Value {
    let mut json = json!({
        "kind": difference.kind.name(),
        "seed": difference.seed,
        "times": difference.times,
        "orders": difference.orders,
        "unseen_stores": difference.unseen_stores,
        "message": difference.to_string(),
    });
    match &difference.kind {
        DifferenceKind::Memory(bytes) => {
            json["bytes"] = bytes.count.into();
            json["address"] = bytes.address.into();
            json["place"] = bytes.place.as_str().into();
            json["contents"] = bytes.contents.map(u32::from_le_bytes).to_vec().into();
            json["ptx_lines"] = bytes.ptx_lines.to_vec().into();
        }
        DifferenceKind::Hang(fault) | DifferenceKind::Fault(fault) => {
            let Fault { block, thread, ptx_line, .. } = fault;
            json["block"] = block.to_vec().into();
            json["thread"] = thread.to_vec().into();
            json["ptx_line"] = (*ptx_line).into();
        }
        _ => {}
    }
    json
}
