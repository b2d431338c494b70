//! A progress bar for work that takes a while, if standard error is a terminal.

use std::io::{IsTerminal, Write};

/// Columns of the bar.
const COLUMNS: u32 = 40;

pub(super) struct Progress {
    total: u32,
    shown: bool,
}

impl Progress {
    pub(super) fn new(total: u32) -> Self {
        Self { total, shown: std::io::stderr().is_terminal() }
    }

    pub(super) fn at(&self, done: u32) {
        if self.shown {
            let full = (u64::from(COLUMNS) * u64::from(done) / u64::from(self.total.max(1))) as usize;
            let rest = COLUMNS as usize - full.min(COLUMNS as usize);
            let _ = write!(
                std::io::stderr(),
                "\r[{}{}] {done}/{}",
                "#".repeat(full),
                " ".repeat(rest),
                self.total
            );
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // Back to the start of the line, which is cleared.
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
