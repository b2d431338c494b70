//! The timeline as a self-contained HTML page, which is complete without its script.

use super::picture::Timeline;
use super::summary::HEADING;
use crate::markup::{self, escaped};

/// This page's additions to the common style.
const STYLE: &str = "\
#timeline { display: block; width: 100%; min-width: 700px; margin: .5rem 0; touch-action: pan-y }
#tools { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center } #tools button { font: inherit; min-width: 2.2rem }
#told { white-space: pre-wrap; font: 13px/1.35 ui-monospace, monospace; min-height: 4em; overflow-wrap: anywhere }
";
/// The script that zooms, and shows the details of a selected bar.
const SCRIPT: &str = include_str!("zoom.js");
/// The zoom factor up to which merged bars are not visible as such.
const SCALE: f64 = 64.0;

pub(super) fn draw(timeline: &Timeline) -> String {
    let (figure, drawn) = timeline.figure(SCALE);
    let (facts, more) = timeline.summary.facts(timeline.ended);
    let mut body = format!("<p>{}</p>\n", escaped(&facts));
    for line in more {
        body += &format!("<p class=\"bad\">{}</p>\n", escaped(&line));
    }
    body += &format!("<div class=\"scroll\">\n{figure}</div>\n");
    for note in timeline.notes(&drawn) {
        body += &format!("<p class=\"faint\">{}</p>\n", escaped(&note));
    }
    body += &sums(timeline);
    body += &format!("<script>\n{SCRIPT}</script>\n");
    markup::page(&timeline.heading(), STYLE, &body)
}

/// The table of the text.
fn sums(timeline: &Timeline) -> String {
    let rows = timeline.summary.sums();
    if rows.is_empty() {
        return String::new();
    }
    let cells = |row: &[String; 4], tag: &str| {
        let cell = |(at, cell): (usize, &String)| {
            let class = if at == 3 { " class=\"code\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escaped(cell))
        };
        format!("<tr>{}</tr>\n", row.iter().enumerate().map(cell).collect::<String>())
    };
    let heading = cells(&HEADING.map(str::to_owned), "th");
    let rows: String = rows.iter().map(|row| cells(row, "td")).collect();
    format!("<div class=\"scroll\"><table>\n{heading}{rows}</table></div>\n")
}
