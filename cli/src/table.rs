//! Columns of text that fit a terminal.

use std::sync::LazyLock;

use crate::style;

/// The width of lists of numbers if there is no other limit.
const USUAL: usize = 80;
/// The narrowest terminal that lines are fitted to.
const LEAST: usize = 20;

/// The maximum width of lines: that of the terminal. A file or a pipe has no limit; its reader can wrap lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns(Option<usize>);

impl Columns {
    /// The width of standard output, for results.
    pub(crate) fn out() -> Self {
        static OUT: LazyLock<Columns> =
            LazyLock::new(|| Columns::of(terminal_size::terminal_size_of(std::io::stdout())));
        *OUT
    }

    /// The width of standard error, for errors.
    pub(crate) fn err() -> Self {
        static ERR: LazyLock<Columns> =
            LazyLock::new(|| Columns::of(terminal_size::terminal_size_of(std::io::stderr())));
        *ERR
    }

    /// The variable `COLUMNS` overrides the terminal's own number, as in POSIX.
    fn of(terminal: Option<(terminal_size::Width, terminal_size::Height)>) -> Self {
        let wish = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let own = || terminal.map(|(width, _)| usize::from(width.0));
        Self(wish.filter(|columns| *columns > 0).or_else(own).map(|columns| columns.max(LEAST)))
    }

    /// For text that is laid out in columns in any case.
    pub(crate) fn or_usual(self) -> usize {
        self.0.unwrap_or(USUAL)
    }

    fn most(self) -> usize {
        self.0.unwrap_or(usize::MAX)
    }

    /// Wraps words into lines that fit, each after `indent`.
    pub(crate) fn wrap(self, text: &str, indent: &str) -> String {
        let (mut lines, mut line) = (String::new(), String::new());
        for word in text.split_whitespace() {
            if !line.is_empty() && indent.len() + length(&line) + 1 + length(word) > self.most() {
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

    /// Wraps the lines of a message into lines that fit. Source stays above the caret that points into it, and rows of a
    /// table stay rows, which are cut where the terminal ends.
    pub(crate) fn wrap_lines(self, message: &str, indent: &str) -> String {
        let mut text = String::new();
        let mut lines = message.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let is_pointed = lines.peek().is_some_and(|(_, next)| next.trim() == "^");
            let words = line.trim();
            let own = format!("{indent}{}", &line[..line.len() - line.trim_start().len()]);
            text += &if is_pointed || words == "^" || words.starts_with('|') {
                format!("{indent}{line}\n")
            } else if words.contains("  ") && number > 0 && !words.starts_with("help:") {
                format!("{}\n", shorten(&format!("{indent}{line}"), self.most()))
            } else {
                self.wrap(line, &own)
            };
        }
        text
    }
}

/// Rows of cells under a heading.
pub(crate) struct Table {
    heading: Vec<&'static str>,
    /// Columns of numbers, which are right-aligned.
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

    /// The lines, each after `indent`, truncated to the terminal's width.
    pub(crate) fn print(&self, indent: &str) -> String {
        self.print_in(indent, Columns::out())
    }

    /// The same for another width than that of standard output.
    pub(crate) fn print_in(&self, indent: &str, columns: Columns) -> String {
        let (heading, rows) = self.lines(indent, columns);
        format!("{}\n{rows}", style::faint(&heading))
    }

    /// The same for a message, which is fitted when it is printed.
    pub(crate) fn plain(&self, indent: &str) -> String {
        let (heading, rows) = self.lines(indent, Columns(None));
        format!("{heading}\n{rows}")
    }

    fn lines(&self, indent: &str, columns: Columns) -> (String, String) {
        let widths: Vec<usize> = (0..self.heading.len()).map(|column| self.width(column)).collect();
        let heading: Vec<String> = self.heading.iter().map(ToString::to_string).collect();
        let line = |cells: &[String]| self.line(cells, &widths, indent, columns);
        (line(&heading), self.rows.iter().map(|row| line(row) + "\n").collect())
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| length(cell));
        cells.chain(self.heading.get(column).map(|cell| length(cell))).max().unwrap_or(0)
    }

    fn line(&self, cells: &[String], widths: &[usize], indent: &str, columns: Columns) -> String {
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
        shorten(line.trim_end(), columns.most())
    }
}

/// The width on a terminal, without colour sequences.
fn length(text: &str) -> usize {
    let mut in_escape = false;
    let is_seen = |c: &char| {
        let was = in_escape;
        in_escape = *c == '\x1b' || in_escape && *c != 'm';
        !was && !in_escape
    };
    text.chars().filter(is_seen).count()
}

/// The text, truncated to `width` with an ellipsis.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Wraps words into lines that fit standard output, each after `indent`.
pub(crate) fn wrap(text: &str, indent: &str) -> String {
    Columns::out().wrap(text, indent)
}

/// `1 kernel`, `2 kernels`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Those that are not zero, each with its name.
pub(crate) fn numbers(all: &[(u64, &str)]) -> String {
    let told = all.iter().filter(|(number, _)| *number > 0).map(|(number, name)| format!("{number} {name}"));
    told.collect::<Vec<_>>().join(", ")
}
