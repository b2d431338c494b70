//! The pictures of the page: the roofline, and maps of a kernel's accesses.

use cuda_emulator::AllocationProfile;

use crate::markup::{escaped, label};
use crate::roofline::{Place, digits, scaled};

const SIDE: usize = AllocationProfile::SIDE;
/// The frame of the roofline.
const LEFT: f64 = 20.0;
const WIDTH: f64 = 460.0;
const TOP: f64 = 14.0;
const HEIGHT: f64 = 170.0;

/// The roofline with the kernel's position.
pub(super) fn roofline(place: Place) -> String {
    // The powers of ten that enclose the shown values.
    let (least, most) = (place.intensity.min(place.ridge()), place.intensity.max(place.ridge()));
    let (from, to) = ((least.log10() - 0.7).floor(), (most.log10() + 0.7).ceil());
    let x = |intensity: f64| LEFT + WIDTH * (intensity.log10() - from) / (to - from);
    let memory = place.memory;
    let low = (memory * 10f64.powf(from)).log10();
    let high = place.peak.log10() + 0.3;
    let y = |speed: f64| TOP + HEIGHT * (1.0 - (speed.log10() - low) / (high - low));
    let bottom = TOP + HEIGHT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" viewBox=\"0 0 500 226\" role=\"img\" aria-label=\"Roofline\">\n\
         <line class=\"axis\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\n",
        LEFT + WIDTH
    );
    for power in from as i32..=to as i32 {
        let (at, text) = (x(10f64.powi(power)), 10f64.powi(power));
        svg += &format!(
            "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{:.1}\"/>\n",
            bottom + 4.0
        );
        svg += &label(at, bottom + 17.0, "middle", &text.to_string());
    }
    svg += &label(LEFT + WIDTH / 2.0, bottom + 34.0, "middle", "operations per byte of global memory");
    svg += &format!(
        "<polyline class=\"roof\" points=\"{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\"/>\n",
        x(10f64.powf(from)),
        y(memory * 10f64.powf(from)),
        x(place.ridge()),
        y(place.peak),
        LEFT + WIDTH,
        y(place.peak),
    );
    let memory = format!("{:.0} GB/s", memory / 1e9);
    svg += &label(LEFT + WIDTH, y(place.peak) - 5.0, "end", &format!("{}FLOP/s", scaled(place.peak)));
    svg += &label(x(place.ridge()) - 6.0, y(place.peak) + 3.0, "end", &memory);
    let (at, roof) = (x(place.intensity), y(place.roof()));
    svg += &format!(
        "<line class=\"kernel\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{roof:.1}\"/>\n\
         <circle class=\"kernel\" cx=\"{at:.1}\" cy=\"{roof:.1}\" r=\"4\"/>\n"
    );
    let anchor = if at > LEFT + WIDTH / 2.0 { "end" } else { "start" };
    let aside = if anchor == "end" { -8.0 } else { 8.0 };
    svg += &label(at + aside, bottom - 8.0, anchor, &format!("this kernel: {}", digits(place.intensity)));
    svg + "</svg>\n"
}

/// The map of when and where the blocks access an allocation.
pub(super) fn maps(allocation: &AllocationProfile, name: &str, blocks: u64) -> String {
    let rows = usize::try_from(blocks).unwrap_or(SIDE).clamp(1, SIDE);
    let ends = [
        format!("{} instructions", allocation.column_time * SIDE as u64),
        format!("{} bytes", allocation.bytes),
    ];
    let maps = [("by time", &allocation.by_time, &ends[0]), ("by place", &allocation.by_place, &ends[1])];
    let mut text = format!("<h3>{}</h3>\n<div class=\"maps\">\n", escaped(name));
    for (title, cells, end) in maps {
        text += &map(title, cells, rows, end);
    }
    text + "</div>\n"
}

fn map(title: &str, cells: &[u64], rows: usize, end: &str) -> String {
    let most = cells.iter().copied().max().unwrap_or(0).max(1) as f64;
    // With 64 rows, cells in the picture are square.
    let height = (SIDE as f64 * 4.0 / rows as f64).min(16.0);
    let bottom = 18.0 + height * rows as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" viewBox=\"0 0 260 {:.0}\" role=\"img\" aria-label=\"Accesses {title}\">\n",
        bottom + 18.0
    );
    svg += &label(2.0, 12.0, "start", &format!("sectors {title}"));
    svg +=
        &format!("<rect class=\"frame\" x=\"2\" y=\"18\" width=\"256\" height=\"{:.1}\"/>\n", bottom - 18.0);
    for row in 0..rows {
        let source = row * SIDE / rows;
        let line = cells.get(source * SIDE..(source + 1) * SIDE).unwrap_or_default();
        for (column, sectors) in line.iter().enumerate().filter(|(_, sectors)| **sectors > 0) {
            svg += &format!(
                "<rect class=\"heat\" x=\"{}\" y=\"{:.1}\" width=\"4\" height=\"{height:.1}\" fill-opacity=\"{:.2}\"><title>{sectors} sectors</title></rect>\n",
                2 + column * 4,
                18.0 + height * row as f64,
                0.15 + 0.85 * *sectors as f64 / most,
            );
        }
    }
    svg += &label(2.0, bottom + 13.0, "start", "0");
    svg += &label(258.0, bottom + 13.0, "end", end);
    svg + "</svg>\n"
}
