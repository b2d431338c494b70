//! A profile as a self-contained HTML page.

use cuda_emulator::Counts;

use super::lines::Line;
use super::text::{Column, active, cells, optional, summary};
use super::{Answer, argument, pictures, ratio};
use crate::markup::{self, HOTTEST, escaped};

/// This page's additions to the common style.
const STYLE: &str = "\
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem } dt { font-weight: 600 } dd { margin: 0 }
th { position: sticky; top: 0; background: var(--paper) }
tr.gap td { border-top: 1px solid var(--line); height: .3rem } tr.never td.code { color: var(--bad) }
td.part { min-width: 4rem } .bar { display: inline-block; height: .7em; background: var(--bar); vertical-align: baseline }
h2, h3 { font-size: 1rem; margin: 1rem 0 .3rem } h3 { font-weight: 500 } dd { overflow-wrap: anywhere; min-width: 0 }
.picture { width: 100%; max-width: 500px; height: auto } .picture text { fill: var(--ink); font: 11px system-ui, sans-serif }
.maps { display: flex; flex-wrap: wrap; gap: .8rem } .maps .picture { flex: 1 1 260px }
.axis, .frame { stroke: var(--line); fill: none } .roof { stroke: var(--bar); stroke-width: 2; fill: none }
.kernel { stroke: rgb(var(--heat)); fill: rgb(var(--heat)) } line.kernel { stroke-dasharray: 3 3 } .heat { fill: rgb(var(--heat)) }
@media (max-width: 600px) { dl { grid-template-columns: 1fr } dd { margin-bottom: .3rem } }
";

pub(super) fn draw(answer: &Answer) -> String {
    let heading = anstream::adapter::strip_str(&answer.heading).to_string();
    let mut page = format!("<p>{}</p>\n", escaped(&heading));
    if let Some(fault) = &answer.fault {
        page += &format!("<p class=\"bad\">The kernel was stopped: {}</p>\n", escaped(fault));
    }
    page += "<dl>\n";
    for (name, told) in summary(answer) {
        page += &format!("<dt>{name}</dt><dd>{}</dd>\n", escaped(&told));
    }
    page += "</dl>\n";
    page += &answer.place.as_ref().map_or_else(|_| String::new(), |place| pictures::roofline(*place));
    page += "<p class=\"faint\">The stronger the colour of a line, the more of all warp instructions it is. Active threads are drawn as a bar, a full one \
             is 32; those with the guard on stand behind a stroke, if they are fewer. Sectors of 32 bytes per access to global memory, and passes over the banks per access to shared memory, stand before \
             the number that would do. Bytes are those that threads requested, by space; operations those on floating-point numbers; integer, the \
             instructions on integers and bits.</p>\n";
    page += &table(answer);
    let blocks = answer.profile.blocks / answer.profile.launches.max(1);
    if !answer.profile.allocations.is_empty() {
        page += "<h2>Accesses to memory</h2>\n<p class=\"faint\">A row of a map is a block, or a 64th of all blocks; the stronger the colour of a cell, \
                 the more sectors.</p>\n";
    }
    for allocation in &answer.profile.allocations {
        let name = match argument(answer, allocation) {
            Some(index) => format!("Argument {index}"),
            None => format!("Allocation at {:#x}", allocation.address),
        };
        page += &pictures::maps(allocation, &name, blocks);
    }
    markup::page(&format!("Profile of {}", answer.profile.kernel), STYLE, &page)
}

fn table(answer: &Answer) -> String {
    let most = answer.listing.most(|counts| counts.warps);
    // Behind the code stands what would push it out of a window.
    let (behind, before): (Vec<_>, Vec<_>) =
        optional(answer, true).into_iter().partition(|column| column.name == "integer");
    let headings = |columns: &[&Column]| -> String {
        columns.iter().map(|column| format!("<th>{}</th>", column.name)).collect()
    };
    let cells_of = |columns: &[&Column], line: &Line| -> String {
        columns.iter().map(|column| format!("<td>{}</td>", column.cell(line))).collect()
    };
    let columns = 8 + before.len() + behind.len();
    let mut text = String::from("<div class=\"scroll\"><table>\n");
    let mut file = None;
    for line in &answer.listing.lines {
        if file != Some(&line.file) {
            let title = line.file.as_deref().unwrap_or("PTX");
            text += &format!(
                "<tr><th>line</th><th>warps</th><th>threads</th><th></th><th>sectors</th><th>banks</th>{}<th class=\"code\">{}</th><th>bytes</th>{}</tr>\n",
                headings(&before),
                escaped(title),
                headings(&behind),
            );
            file = Some(&line.file);
            continue;
        }
        if line.number == 0 {
            text += &format!("<tr class=\"gap\"><td colspan=\"{columns}\"></td></tr>\n");
            continue;
        }
        let [warps, threads, sectors, banks] = cells(line.counts.as_ref());
        let counts = line.counts.unwrap_or_default();
        let never = line.counts.is_some_and(|counts| !counts.ran());
        let heat = ratio(counts.warps, most).unwrap_or(0.0) * HOTTEST;
        let bar = active(&counts) / 32.0 * 4.0;
        text += &format!(
            "<tr{class}><td class=\"faint\">{number}</td><td>{warps}</td><td>{threads}</td><td class=\"part\" style=\"text-align:left\">{bar}</td><td>{sectors}</td><td>{banks}</td>{before}<td class=\"code\" style=\"background:rgba(var(--heat),{heat:.3})\">{code}</td><td>{bytes}</td>{behind}</tr>\n",
            before = cells_of(&before, line),
            bytes = bytes(&counts),
            behind = cells_of(&behind, line),
            class = if never { " class=\"never\"" } else { "" },
            number = line.number,
            bar = if bar > 0.0 {
                format!("<span class=\"bar\" style=\"width:{bar:.2}rem\"></span>")
            } else {
                String::new()
            },
            code = escaped(&line.text),
        );
    }
    text + "</table></div>\n"
}

/// The bytes that a line accesses, by space.
fn bytes(counts: &Counts) -> String {
    let spaces = [
        ("global", counts.global_bytes),
        ("shared", counts.shared_bytes),
        ("local", counts.local_bytes),
        ("constant", counts.constant_bytes),
        ("texture", counts.texture_bytes),
        ("surface", counts.surface_bytes),
    ];
    let told = spaces.iter().filter(|(_, bytes)| *bytes > 0).map(|(space, bytes)| format!("{bytes} {space}"));
    told.collect::<Vec<_>>().join("<br>")
}
