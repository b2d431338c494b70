//! Columns of text that fit a terminal.

use crate::style;

/// Columns of a terminal that is as narrow as they come.
pub(crate) const WIDTH: usize = 80;

/// Rows of cells under a heading.
pub(crate) struct Table {
    heading: Vec<&'static str>,
    /// Columns of numbers, which end at the same place.
    right: &'static [usize],
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[&'static str], right: &'static [usize]) -> Self {
        Self { heading: heading.to_vec(), right, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines, each behind `indent`; the last column is cut where the terminal ends.
    pub(crate) fn print(&self, indent: &str) -> String {
        let widths: Vec<usize> = (0..self.heading.len()).map(|column| self.width(column)).collect();
        let heading: Vec<String> = self.heading.iter().map(ToString::to_string).collect();
        let mut text = format!("{}\n", style::faint(&self.line(&heading, &widths, indent)));
        for row in &self.rows {
            text += &self.line(row, &widths, indent);
            text.push('\n');
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| length(cell));
        cells.chain(self.heading.get(column).map(|cell| length(cell))).max().unwrap_or(0)
    }

    fn line(&self, cells: &[String], widths: &[usize], indent: &str) -> String {
        let mut line = indent.to_owned();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let padding = " ".repeat(width.saturating_sub(length(cell)));
            if self.right.contains(&column) {
                line.push_str(&padding);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&padding);
            }
        }
        shorten(line.trim_end(), WIDTH)
    }
}

/// Columns on a terminal: what sets colours has none.
fn length(text: &str) -> usize {
    let mut in_escape = false;
    let is_seen = |c: &char| {
        let was = in_escape;
        in_escape = *c == '\x1b' || in_escape && *c != 'm';
        !was && !in_escape
    };
    text.chars().filter(is_seen).count()
}

/// The text, with an ellipsis for what is over `width`.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Words in lines of at most the terminal's width, each behind `indent`.
pub(crate) fn wrap(text: &str, indent: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && indent.len() + length(&line) + 1 + length(word) > WIDTH {
            lines += &format!("{indent}{line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines += &format!("{indent}{line}\n");
    }
    lines
}

/// Long lines in lines that fit; a source line stays above the caret that points into it.
pub(crate) fn wrap_lines(message: &str, indent: &str) -> String {
    let mut text = String::new();
    let mut lines = message.lines().peekable();
    while let Some(line) = lines.next() {
        let is_pointed = lines.peek().is_some_and(|next| next.trim() == "^");
        let own = format!("{indent}{}", &line[..line.len() - line.trim_start().len()]);
        if is_pointed || line.trim() == "^" {
            text += &format!("{indent}{line}\n")
        } else {
            text += &wrap(line, &own)
        }
    }
    text
}

/// `1 kernel`, `2 kernels`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
