//! The plots, drawn with letters.

use super::Answer;
use crate::style;
use crate::table::{Table, wrap};
use cuda_emulator::architecture::Fit;

/// Columns of a full bar.
const BAR: f64 = 32.0;
/// Rows of a plot.
const ROWS: usize = 16;

pub(super) fn show(answer: &Answer) -> String {
    let Answer { kernel, origin, machine, resources, estimated, shared, block, by_block, by_shared } = answer;
    let kib = |bytes: u32| f64::from(bytes) / 1024.0;
    let facts = format!(
        "{} registers per thread, {} bytes of static shared memory, at most {} threads per block; a multiprocessor has {} \
         threads, {} blocks, {} registers, {} KiB of shared memory",
        resources.registers,
        resources.shared,
        resources.max_threads,
        machine.threads,
        machine.blocks,
        machine.registers,
        kib(machine.shared)
    );
    let note = "the registers are the emulator's estimate, and ptxas may need a few more or less: --registers takes the number that \
                `ptxas -v` prints";
    let mut text = wrap(&format!("{} on {origin}", style::strong(kernel)), "") + &wrap(&facts, "  ");
    if *estimated {
        text += &wrap(note, "  ");
    }
    text += "\n";
    text += &wrap(&style::strong(&format!("by block size, {shared} bytes of dynamic shared memory")), "");
    let sizes = thinned(by_block);
    text +=
        &plot("threads", &sizes, |(threads, fit)| (threads.to_string(), machine.occupancy(fit, *threads)));
    text += "\n";
    text += &wrap(&style::strong(&format!("by dynamic shared memory, {block} threads per block")), "");
    let steps = thinned(by_shared);
    text += &plot("bytes", &steps, |(bytes, fit)| (bytes.to_string(), machine.occupancy(fit, *block)));
    text
}

/// Enough rows to see where the occupancy changes.
fn thinned(list: &[(u32, Fit)]) -> Vec<(u32, Fit)> {
    let step = list.len().div_ceil(ROWS).max(1);
    let last = list.len().saturating_sub(1);
    // Multiples of the step, aligned so that powers of two of warps are among them, and the last row.
    let first_is_zero = list.first().is_some_and(|(x, _)| *x == 0);
    let shown = |index: usize| {
        if first_is_zero { index.is_multiple_of(step) } else { (index + 1).is_multiple_of(step) }
    };
    list.iter().enumerate().filter(|(i, _)| *i == 0 || *i == last || shown(*i)).map(|(_, row)| *row).collect()
}

fn plot(x: &'static str, rows: &[(u32, Fit)], place: impl Fn(&(u32, Fit)) -> (String, f64)) -> String {
    let mut table = Table::new(&[x, "blocks", "", "occupancy", "limited by"], &[0, 1, 3]);
    for row in rows {
        let (label, part) = place(row);
        let full = "#".repeat((part * BAR).round() as usize);
        let fit = row.1;
        table.row(vec![
            label,
            fit.blocks.to_string(),
            format!("{full:.<0$}", BAR as usize),
            format!("{:.0} %", part * 100.0),
            fit.limiter.name().into(),
        ]);
    }
    table.print("  ")
}
