//! The timeline as a picture: a row for each thread and each stream, bars by kind, an axis of time.
//!
//! Nothing in it needs a script, and colours follow the reader's choice of light or dark.

use super::axis::{marks, time};
use super::rows::{Bar, Drawn, Kind, Sorted};
use super::summary::{HEADING, Summary, Track};
use crate::markup::{colour, escaped, label};
use crate::program::Ended;
use crate::table::shorten;

/// The width of the picture, the start of the bars, and their width, in its units.
const WIDTH: f64 = 1240.0;
const LEFT: f64 = 220.0;
pub(super) const PLOT: f64 = 1000.0;
/// The axis above the rows, a heading, a line of a row, its bars, the space below a row.
const AXIS: f64 = 24.0;
const HEAD: f64 = 22.0;
const LINE: f64 = 20.0;
const BAR: f64 = 18.0;
const GAP: f64 = 4.0;
/// A character, about, and the fewest that are worth writing.
const CHARACTER: f64 = 6.3;
const FEWEST: usize = 4;
/// Bars of a picture: some megabytes.
const MOST: usize = 12_000;

/// A timeline, to be drawn.
pub(super) struct Timeline<'t> {
    /// Its command line.
    pub(super) program: String,
    pub(super) summary: &'t Summary,
    pub(super) ended: Ended,
    pub(super) rows: Sorted,
}

/// Rows and axis, without words around them.
pub(super) struct Chart {
    /// Elements, from the upper left corner.
    body: String,
    height: f64,
    pub(super) drawn: Drawn,
}

impl Kind {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::ToDevice => "copy to the device",
            Self::ToHost => "copy to the host",
            Self::OnDevice => "other copy",
            Self::Fill => "fill",
            Self::Graph => "graph",
            Self::HostFunction => "host function",
            Self::Call => "call",
            Self::Wait => "wait",
            Self::Unfinished => "not finished",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::ToDevice => "h2d",
            Self::ToHost => "d2h",
            Self::OnDevice => "d2d",
            Self::Fill => "fill",
            Self::Graph => "graph",
            Self::HostFunction => "hostfn",
            Self::Call => "call",
            Self::Wait => "wait",
            Self::Unfinished => "unfinished",
        }
    }

    /// Its colour, and that of words on it.
    fn colours(self) -> (&'static str, &'static str) {
        match self {
            Self::Kernel => (colour::BLUE, "#fff"),
            Self::ToDevice => (colour::GREEN, "#111"),
            Self::ToHost => (colour::ORANGE, "#111"),
            Self::OnDevice => (colour::SKY, "#111"),
            Self::Fill => (colour::PURPLE, "#111"),
            Self::Graph => ("#5b3a8c", "#fff"),
            Self::HostFunction => (colour::YELLOW, "#111"),
            Self::Call => ("#9a9aa2", "#111"),
            Self::Wait => ("#d9d9de", "#333"),
            Self::Unfinished => (colour::VERMILION, "#111"),
        }
    }
}

/// The style of the picture, without variables, which some SVG readers do not support.
fn style() -> String {
    let mut style = String::from(
        ".paper{fill:#fff} .ink{fill:#1c1c1e} .faint{fill:#6b6b70} .mark{stroke:#e4e4e7} .row{fill:#f7f7f8}\n\
         .b{stroke-width:.6;vector-effect:non-scaling-stroke} .l{font-size:11px;pointer-events:none}\n",
    );
    for kind in Kind::ALL {
        let ((fill, words), class) = (kind.colours(), kind.class());
        style += &format!(".{class}{{fill:{fill};stroke:{fill}}} .l.{class}{{fill:{words};stroke:none}}\n");
    }
    style
        + ".unfinished{stroke-width:3} .b.w{stroke:#fff}\n\
           @media (prefers-color-scheme:dark){.paper{fill:#18181b} .ink{fill:#e8e8ea} .faint{fill:#9a9aa2} .mark{stroke:#34343a} \
           .row{fill:#202024} .wait{fill:#4b4b54;stroke:#4b4b54} .l.wait{fill:#e8e8ea} .b.w{stroke:#18181b}}\n"
}

impl Timeline<'_> {
    /// The whole picture: the text of the summary, the chart, the legend, the sums.
    pub(super) fn svg(&self) -> String {
        let chart = self.chart(1.0);
        let (facts, more) = self.summary.facts(self.ended);
        let mut body = text(16.0, 26.0, "ink", 16, &shorten(&self.heading(), 130));
        body += &text(16.0, 46.0, "faint", 12, &facts);
        let mut y = 46.0;
        for line in more {
            y += 18.0;
            body += &text(16.0, y, "ink", 12, &line);
        }
        y += 12.0;
        body += &format!("<g transform=\"translate(0 {y})\">\n{}</g>\n", chart.body);
        y += chart.height + 26.0;
        body += &self.legend(y);
        for note in self.notes(&chart.drawn) {
            y += 20.0;
            body += &text(16.0, y, "faint", 11, &note);
        }
        y += 14.0;
        body += &self.sums(&mut y);
        frame(
            &body,
            y + 16.0,
            &self.heading(),
            &format!("<rect class=\"paper\" width=\"{WIDTH}\" height=\"{:.0}\"/>\n", y + 16.0),
        )
    }

    /// The chart and its legend, for a page; bars are fine enough to be scaled by `scale`.
    pub(super) fn figure(&self, scale: f64) -> (String, Drawn) {
        let Chart { mut body, height, drawn } = self.chart(scale);
        body += &self.legend(height + 22.0);
        (frame(&body, height + 34.0, &self.heading(), ""), drawn)
    }

    pub(super) fn heading(&self) -> String {
        format!("Timeline of {}", self.program)
    }

    /// Notes for the reader of the picture.
    pub(super) fn notes(&self, drawn: &Drawn) -> Vec<String> {
        let mut notes = Vec::new();
        if drawn.merged > 0 {
            let pixel = self.rows.span / PLOT;
            let is_pixel = (0.999..1.001).contains(&(drawn.resolution / pixel));
            notes.push(format!(
                "{} of {} events are drawn together with their neighbours: each is shorter than {}{}.",
                drawn.merged,
                self.rows.events,
                time(drawn.resolution),
                if is_pixel { ", less than a pixel" } else { "" }
            ));
        }
        if self.rows.left_out > 0 {
            notes.push(format!("{} rows with fewer events are not drawn.", self.rows.left_out));
        }
        if self.summary.processes() > 1 {
            notes.push("The times of each process begin with its first call.".to_owned());
        }
        notes
    }

    fn chart(&self, scale: f64) -> Chart {
        let drawn = self.rows.draw(self.rows.span / PLOT / scale, MOST);
        let (mut bars, mut labels, mut names) = (String::new(), String::new(), String::new());
        let mut y = AXIS;
        let mut section = None;
        for row in &drawn.rows {
            let is_host = matches!(row.track, Track::Thread(_));
            if section != Some(is_host) {
                section = Some(is_host);
                names += &text(
                    16.0,
                    y + 15.0,
                    "ink",
                    12,
                    if is_host { "host: driver calls" } else { "device: streams" },
                );
                y += HEAD;
            }
            let height = LINE * row.lines.len() as f64;
            names += &row_name(&self.summary.name(row.track), y, height);
            for line in &row.lines {
                for bar in line {
                    self.bar(bar, y, &mut bars, &mut labels);
                }
                y += LINE;
            }
            y += GAP;
        }
        let mut body = names;
        if drawn.rows.is_empty() {
            body += &text(LEFT, y, "faint", 12, "no calls");
        } else {
            body += &self.axis(y);
        }
        // Bars have a separate frame, so that a page can scale it.
        body += &format!(
            "<svg id=\"bars\" x=\"{LEFT}\" y=\"0\" width=\"{PLOT}\" height=\"{y}\" viewBox=\"0 0 {PLOT} {y}\" \
             preserveAspectRatio=\"none\" data-span=\"{}\">\n{bars}</svg>\n<g id=\"labels\">\n{labels}</g>\n",
            self.rows.span
        );
        Chart { body, height: y, drawn }
    }

    fn bar(&self, bar: &Bar, y: f64, bars: &mut String, labels: &mut String) {
        let scale = PLOT / self.rows.span;
        let (x, width) = ((bar.start - self.rows.begin) * scale, (bar.end - bar.start) * scale);
        let class = bar.kind.class();
        let wide = if width > 3.0 { " w" } else { "" };
        *bars += &format!(
            "<rect class=\"b {class}{wide}\" x=\"{x:.3}\" y=\"{y}\" width=\"{width:.3}\" height=\"{BAR}\"><title>{}</title></rect>\n",
            escaped(&bar.title)
        );
        if let Some(words) = fitting(&bar.name, width) {
            *labels += &format!(
                "<text class=\"l {class}\" x=\"{:.1}\" y=\"{}\">{}</text>\n",
                LEFT + x + 4.0,
                y + 13.0,
                escaped(&words)
            );
        }
    }

    fn axis(&self, height: f64) -> String {
        let mut axis = String::from("<g id=\"axis\">\n");
        for (at, words) in marks(self.rows.span) {
            let x = LEFT + at / self.rows.span * PLOT;
            axis +=
                &format!("<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"16\" y2=\"{height}\"/>\n");
            axis += &format!(
                "<text class=\"l faint\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"12\">{words}</text>\n"
            );
        }
        axis + "</g>\n"
    }

    fn legend(&self, y: f64) -> String {
        let mut x = 16.0;
        let mut legend = String::new();
        for kind in &self.rows.kinds {
            legend += &format!(
                "<rect class=\"{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"11\" height=\"11\"/>\n",
                kind.class(),
                y - 10.0
            );
            legend += &text(x + 17.0, y, "ink", 11, kind.words());
            x += 17.0 + CHARACTER * kind.words().len() as f64 + 18.0;
        }
        legend
    }

    /// The table of the text.
    fn sums(&self, y: &mut f64) -> String {
        let sums = self.summary.sums();
        let mut body = String::new();
        if sums.is_empty() {
            return body;
        }
        let heading = HEADING.map(str::to_owned);
        for (index, row) in std::iter::once(&heading).chain(&sums).enumerate() {
            *y += 18.0;
            let class = if index == 0 { "faint" } else { "ink" };
            for (cell, right) in row.iter().zip([70.0, 170.0, 260.0]) {
                body += &text(right, *y, class, 12, cell).replacen("<text ", "<text text-anchor=\"end\" ", 1);
            }
            body += &text(280.0, *y, class, 12, &shorten(&row[3], 140));
        }
        body
    }
}

/// The element around a picture.
fn frame(body: &str, height: f64, name: &str, ground: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"timeline\" viewBox=\"0 0 {WIDTH} {height:.0}\" font-family=\"sans-serif\" \
         role=\"img\" aria-label=\"{}\">\n<style>\n{}</style>\n{ground}{body}</svg>\n",
        escaped(name),
        style()
    )
}

fn text(x: f64, y: f64, class: &str, size: u32, words: &str) -> String {
    let start = format!("<text class=\"{class}\" font-size=\"{size}\" ");
    label(x, y, "start", words).replacen("<text ", &start, 1).replacen(" text-anchor=\"start\"", "", 1)
}

/// A row's name and the ground of its bars.
fn row_name(name: &str, y: f64, height: f64) -> String {
    let ground = format!(
        "<rect class=\"row\" x=\"{LEFT}\" y=\"{y}\" width=\"{PLOT}\" height=\"{}\"/>\n",
        height - LINE + BAR
    );
    let shown = shorten(name, ((LEFT - 32.0) / CHARACTER) as usize);
    let title = if shown == name { String::new() } else { format!("<title>{}</title>", escaped(name)) };
    ground + &text(28.0, y + 13.0, "ink", 11, &shown).replacen("</text>", &format!("{title}</text>"), 1)
}

/// The part of a name that fits into a bar.
fn fitting(name: &str, width: f64) -> Option<String> {
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    (room >= FEWEST || room >= name.chars().count() && room > 0).then(|| shorten(name, room))
}
