//! Driver calls and allocations of each way, where the log of `cuda-launch harness --log` tells of the driver calls.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use crate::Bench;
use crate::measure::Effort;
use crate::rows::{self, ROWS, WAYS, Way};

/// The system's allocator. It counts nothing while ways are timed.
struct Counting;

thread_local! {
    /// Allocations of this thread, where they are counted.
    static ALLOCATIONS: Cell<Option<usize>> = const { Cell::new(None) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note() {
    // A thread that ends allocates nothing that matters here.
    let _ = ALLOCATIONS.try_with(|count| {
        if let Some(so_far) = count.get() {
            count.set(Some(so_far + 1));
        }
    });
}

// SAFETY: everything is the system's allocator's; `note` neither allocates, as the thread-local cell needs no initialiser and no drop,
// nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's duties are those of this call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's duties are those of this call.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller's duties are those of this call.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's duties are those of this call.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Before they are counted.
const WARM: usize = 5;
const TIMES: usize = 20;

/// Prints a table of driver calls, and of allocations on the thread that makes them; `log` grows by a line with each driver call.
pub(crate) fn print(bench: &mut Bench, effort: &Effort, log: &Path) {
    let ways = WAYS.iter().filter(|(way, _)| *way != Way::Again);
    println!(
        "| |{}",
        ways.clone().map(|(_, name)| format!(" {} |", name.trim_end_matches(", ns"))).collect::<String>()
    );
    println!("|---{}|", "|---".repeat(ways.clone().count()));
    // What polls makes as many calls as it takes.
    for row in ROWS.iter().filter(|row| row.name != "await") {
        let mut cell = |way: Way| match row.ways.iter().find(|(known, _)| *known == way) {
            None => " - |".into(),
            Some((_, run)) => {
                (row.before)(bench, WARM + TIMES);
                (0..WARM).for_each(|_| run(bench));
                let before = settled(log);
                ALLOCATIONS.set(Some(0));
                (0..TIMES).for_each(|_| run(bench));
                let allocations = ALLOCATIONS.take().unwrap_or_default();
                let calls = settled(log) - before;
                format!(" {} / {} |", each(calls), each(allocations))
            }
        };
        let cells: String = ways.clone().map(|(way, _)| cell(*way)).collect();
        println!("| {} |{cells}", rows::title(row.name, effort));
    }
}

/// Of one, where `TIMES` took so many.
fn each(count: usize) -> String {
    if count.is_multiple_of(TIMES) {
        (count / TIMES).to_string()
    } else {
        format!("{:.1}", count as f64 / TIMES as f64)
    }
}

/// The driver calls so far, once no thread makes any: cuda-core frees memory on a thread of its own.
fn settled(log: &Path) -> usize {
    let (mut calls, mut quiet) = (driver_calls(log), 0);
    while quiet < 5 {
        std::thread::sleep(Duration::from_millis(10));
        let now = driver_calls(log);
        quiet = if now == calls { quiet + 1 } else { 0 };
        calls = now;
    }
    calls
}

fn driver_calls(log: &Path) -> usize {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().filter(|line| line.starts_with('#')).count()
}
