//! The output of a run.

use serde_json::{Value, json};

use super::argument::Direction;
use super::bench::Timed;
use super::check::Found;
use super::data::{Input, show};
use super::findings;
use super::global::Variable;
use super::launch::{Fault, Finished, Launcher};
use super::roof::Roof;
use super::roofline::Roofline;
use crate::scalar::Scalar;
use crate::style;
use crate::table::{Columns, wrap};

/// Text and JSON.
pub(super) fn answer(
    launcher: &Launcher,
    inputs: &[Input<'_>],
    finished: &Finished,
    checked: Option<&Found>,
    timed: Option<&Timed>,
    most: usize,
) -> (String, Value) {
    let (mut text, mut json) = heading(launcher);
    checked.into_iter().for_each(|found| findings::add_json(found, &mut json));
    json["bench"] = timed.map(timed_json).into();
    match finished {
        Finished::Fault(fault) => {
            text += &fault_text(fault);
            text.extend(checked.filter(|found| found.count() > 0).map(|found| findings::text(found, inputs)));
            json["fault"] = fault_json(fault);
        }
        Finished::Outputs(outputs) => {
            let (shown, list) = written(inputs, &outputs.arguments, most);
            text += &shown;
            json["outputs"] = Value::Array(list);
            let (shown, list) = variables(&launcher.variables, &outputs.variables, most);
            text += &shown;
            json["globals"] = Value::Array(list);
            text.extend(checked.map(|found| findings::text(found, inputs)));
        }
    }
    text.extend(timed.map(timed_text));
    (text, json)
}

/// The kernel and the device.
pub(super) fn heading(launcher: &Launcher) -> (String, Value) {
    let (kernel, config) = (launcher.function.name(), launcher.config);
    let device = launcher.context.device_name().unwrap_or_default();
    let ((gx, gy, gz), (bx, by, bz)) = (config.grid_dim, config.block_dim);
    let shared = config.shared_mem_bytes;
    let name = style::strong(kernel);
    let text = format!(
        "{name} on {device}: grid {gx} x {gy} x {gz}, block {bx} x {by} x {bz}, {shared} bytes of dynamic shared memory"
    );
    let json = json!({
        "schema": "cuda-launch.run.2",
        "kernel": kernel,
        "device": device,
        "grid": [gx, gy, gz],
        "block": [bx, by, bz],
        "shared_bytes": shared,
        "fault": null,
        "findings": null,
        "incomplete": null,
        "findings_left_out": null,
        "differences": null,
        "one_order": null,
        "outputs": [],
        "globals": [],
    });
    (wrap(&text, ""), json)
}

/// The memory that the kernel may have written.
fn written(inputs: &[Input<'_>], outputs: &[Vec<u8>], most: usize) -> (String, Vec<Value>) {
    let (mut text, mut list) = (String::new(), Vec::new());
    for (index, (input, bytes)) in inputs.iter().zip(outputs).enumerate() {
        let Some((direction, scalar)) = input.memory().filter(|(d, _)| *d != Direction::In) else { continue };
        text += &output_text(&format!("arg {index}:"), direction, scalar, bytes, most);
        list.push(output_json("argument", index.into(), scalar, bytes, most));
    }
    (text, list)
}

/// The variables to be shown.
fn variables(variables: &[Variable], outputs: &[Vec<u8>], most: usize) -> (String, Vec<Value>) {
    let (mut text, mut list) = (String::new(), Vec::new());
    let shown = variables.iter().zip(outputs).filter(|(variable, _)| variable.direction != Direction::In);
    for (variable, bytes) in shown {
        let Variable { name, direction, scalar, .. } = variable;
        text += &output_text(&format!("global {name}:"), *direction, *scalar, bytes, most);
        list.push(output_json("name", name.as_str().into(), *scalar, bytes, most));
    }
    (text, list)
}

fn output_text(label: &str, direction: Direction, scalar: Scalar, bytes: &[u8], most: usize) -> String {
    if most == 0 {
        return String::new();
    }
    let total = bytes.len() / scalar.size();
    let word = if direction == Direction::Out { "out" } else { "inout" };
    let mut text = format!("{} {word} {} x {total}\n", style::strong(label), scalar.rust());
    let cells: Vec<String> = show(bytes, scalar).take(most).collect();
    let wide = cells.iter().map(String::len).max().unwrap_or(1);
    let digits = total.saturating_sub(1).to_string().len();
    // A number of columns that people can count in.
    let room = Columns::out().or_usual().saturating_sub(4 + digits) / (wide + 1);
    let columns = [16, 10, 8, 5, 4, 2].into_iter().find(|n| *n <= room).unwrap_or(1);
    for (row, cells) in cells.chunks(columns).enumerate() {
        let line: Vec<String> = cells.iter().map(|cell| format!("{cell:>wide$}")).collect();
        text += &format!("  {:>digits$}  {}\n", row * columns, line.join(" "));
    }
    if total > most {
        let rest = format!("and {} more; --print N shows more, @FILE saves all", total - most);
        text += &wrap(&style::faint(&rest), "  ");
    }
    text
}

fn output_json(key: &str, whose: Value, scalar: Scalar, bytes: &[u8], most: usize) -> Value {
    // Infinities and NaN are no numbers of JSON: they stay words.
    let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
    let values: Vec<Value> = show(bytes, scalar).take(most).map(value).collect();
    json!({ key: whose, "type": scalar.rust(), "elements": bytes.len() / scalar.size(), "values": values })
}

fn fault_text(fault: &Fault) -> String {
    format!("{}\n{}", style::bad("the kernel was stopped"), Columns::out().wrap_lines(&fault.message, "  "))
}

fn fault_json(fault: &Fault) -> Value {
    let report = fault.report.as_ref();
    json!({
        "message": fault.message,
        "kind": report.map(|report| format!("{:?}", report.kind)),
        "block": report.map(|report| report.block),
        "thread": report.map(|report| report.thread),
        "address": report.and_then(|report| report.address),
        "ptx_line": report.map(|report| report.ptx_line).filter(|line| *line > 0),
        "source": report.and_then(|report| report.source.as_ref()).map(|(file, line)| json!({ "file": file, "line": line })),
    })
}

fn timed_text(timed: &Timed) -> String {
    let Timed { launches, median, least, most, spread: (low, high), bytes, roof, roofline } = timed;
    let name = style::strong("bench:");
    let (low, high, least, most) = (time(*low), time(*high), time(*least), time(*most));
    let mut text = wrap(&format!("{name} median {} in {launches} launches", time(*median)), "");
    text += &wrap(&format!("10 to 90 %: {low} to {high}, all: {least} to {most}"), "  ");
    if let Some(bandwidth) = timed.bandwidth() {
        let moved = format!("{:.2} GB/s, if each of the {bytes} bytes is moved once", bandwidth / 1e9);
        text += &wrap(&moved, "  ");
    }
    let lines = roof.map(|roof| roof.lines(*bytes, timed.bandwidth())).unwrap_or_default();
    lines.iter().for_each(|line| text += &wrap(line, "  "));
    text + &roofline.as_ref().map(Roofline::text).unwrap_or_default()
}

/// Microseconds in a readable unit.
fn time(microseconds: f64) -> String {
    match microseconds {
        us if us < 1e3 => format!("{us:.2} us"),
        us if us < 1e6 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.2} s", us / 1e6),
    }
}

fn timed_json(timed: &Timed) -> Value {
    json!({
        "launches": timed.launches,
        "median_us": timed.median,
        "least_us": timed.least,
        "most_us": timed.most,
        "p10_us": timed.spread.0,
        "p90_us": timed.spread.1,
        "bytes": timed.bytes,
        "bytes_per_second": timed.bandwidth(),
        "peak": timed.roof.map(Roof::json),
        "roofline": timed.roofline.as_ref().map(Roofline::json),
    })
}
