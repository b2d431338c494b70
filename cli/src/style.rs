//! Colours, each with a meaning; only on terminals.

use anstyle::{AnsiColor, Style};

fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Names and headings.
pub(crate) fn strong(text: &str) -> String {
    painted(Style::new().bold(), text)
}

/// Unimportant text.
pub(crate) fn faint(text: &str) -> String {
    painted(Style::new().dimmed(), text)
}

/// What works.
pub(crate) fn good(text: &str) -> String {
    painted(AnsiColor::Green.on_default(), text)
}

/// Text about something wrong.
pub(crate) fn bad(text: &str) -> String {
    painted(AnsiColor::Red.on_default().bold(), text)
}
