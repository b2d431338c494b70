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

/// How much was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) schedules: Schedules,
    /// `--check` launches the kernel twice.
    pub(super) launches: u32,
    /// Whether a signal ended it.
    pub(super) interrupted: bool,
    /// All launches, under all orders that were run to their end.
    pub(super) done: u64,
    /// Why no other order was run.
    pub(super) one_order: Option<OneOrderReason>,
}

impl Extent {
    /// What a difference counts: of several launches, each order several times.
    fn unit(self) -> &'static str {
        if self.launches == 1 { "order" } else { "run" }
    }

    fn text(self) -> String {
        let orders = self.schedules.count();
        let first = self.schedules.first_seed();
        let last = first.wrapping_add(u64::from(orders.saturating_sub(1)));
        let seeds = if first == last { format!("seed {first}") } else { format!("seeds {first} to {last}") };
        let launches = if self.launches == 1 {
            String::new()
        } else {
            format!(" of each of {} launches", self.launches)
        };
        if self.interrupted {
            let all = u64::from(orders) * u64::from(self.launches);
            return format!("{} of {}, interrupted", self.done, count(all as usize, self.unit()));
        }
        format!("{} ({seeds}){launches}", count(orders as usize, "order"))
    }
}

/// For people.
pub(super) fn text(extent: Extent, found: &[ScheduleDifference]) -> String {
    let ran = extent.text();
    if let Some(reason) = extent.one_order.filter(|_| found.is_empty()) {
        let why = format!(
            "schedules: of {ran} none was run, only the ordinary order: {reason}, which cannot be undone between two orders"
        );
        return style::bad(&wrap(&why, ""));
    }
    if found.is_empty() {
        let told = format!("schedules: {ran}, no difference");
        return format!("{}\n", if extent.interrupted { told } else { style::good(&told) });
    }
    let differences = count(found.len(), "difference");
    let mut text = format!("{}\n", style::bad(&format!("schedules: {ran}, {differences}")));
    for difference in found {
        let ScheduleDifference { seed, times, orders, kind, unseen_stores, .. } = difference;
        let told = match orders {
            1 => format!("with --seed {seed}"),
            _ => format!("in {times} of {orders} {}s; --seed {seed} is the first", extent.unit()),
        };
        text += &wrap(&format!("{}, {told}:", name(kind)), "  ");
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
