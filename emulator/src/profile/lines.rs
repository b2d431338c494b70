//! The counts by line.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Counts, KernelProfile, Operations};

/// What the instructions of a line did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineProfile {
    /// The source file; `None` for a line of the PTX.
    pub file: Option<Arc<str>>,
    /// Its number, counted from 1.
    pub line: u32,
    /// The counts of all its instructions.
    pub counts: Counts,
    /// Their arithmetic.
    pub operations: Operations,
}

impl KernelProfile {
    /// The counts of all its instructions.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.instructions.iter().for_each(|instruction| total += instruction.counts);
        total
    }

    /// The counts by line, in the order of file and number: lines of the source if the PTX has `.loc`, else those of the PTX. Lines whose
    /// instructions never ran are included. If some instructions have a line of the source, those without one are left out.
    pub fn lines(&self) -> Vec<LineProfile> {
        let has_source = self.instructions.iter().any(|instruction| instruction.source.is_some());
        let mut lines = BTreeMap::<_, (Counts, Operations)>::new();
        for instruction in &self.instructions {
            let place = match &instruction.source {
                Some((file, line)) => (Some(file), *line),
                None if has_source => continue,
                None => (None, instruction.ptx_line),
            };
            let (counts, operations) = lines.entry(place).or_default();
            *counts += instruction.counts;
            *operations += instruction.operations();
        }
        let told = |((file, line), (counts, operations)): ((Option<&Arc<str>>, u32), _)| LineProfile {
            file: file.cloned(),
            line,
            counts,
            operations,
        };
        lines.into_iter().map(told).collect()
    }
}

/// A table: a line for each line, and one for the total.
impl fmt::Display for KernelProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} blocks, {} threads", self.kernel, self.blocks, self.threads)?;
        writeln!(
            f,
            "{:>6} {:>10} {:>12} {:>12} {:>10} {:>8} {:>6}",
            "line", "warps", "threads", "guard on", "sectors", "ideal", "banks"
        )?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, counts: &Counts| {
            writeln!(
                f,
                "{name:>6} {:>10} {:>12} {:>12} {:>10} {:>8} {:>6}",
                counts.warps,
                counts.threads,
                counts.threads_on,
                counts.global_sectors,
                counts.global_sectors_ideal,
                counts.shared_wavefronts
            )
        };
        let mut file = None;
        for line in self.lines() {
            if line.file != file {
                writeln!(f, "{}", line.file.as_deref().unwrap_or("PTX"))?;
                file.clone_from(&line.file);
            }
            row(f, &line.line.to_string(), &line.counts)?;
        }
        row(f, "total", &self.total())
    }
}
