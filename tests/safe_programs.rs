//! Random programs in safe code against what the same steps do one after the other: buffers of every kind of memory (of pools, also those
//! of another device, managed, pinned, mapped, growing, variables of modules), halves and chunks of them on several threads, pitched rows,
//! arrays, levels of arrays, textures and surfaces, tensor maps, constants, memory that is lent, tensors, batches of copies, copies through
//! the host, streams of all kinds, and more of them than memory has bits for, events, graphs of all kinds of nodes, loops and choices among
//! them, captures, plans and prepared launches, operations, two devices, host functions, drops, closes, forgets, panics. Whatever a program
//! does, its results are those of its text, and nothing stays behind.
//!
//! A failure names its seed. Another number of programs, one of them, some from that one on, or only steps with certain names:
//!
//! ```text
//! CUDA_LAUNCH_RANDOM_PROGRAMS=20000 cargo test --test safe_programs -- --nocapture
//! CUDA_LAUNCH_SEED=123 cargo test --test safe_programs -- --nocapture
//! CUDA_LAUNCH_SEED=20000 CUDA_LAUNCH_RANDOM_PROGRAMS=10000 cargo test --test safe_programs -- --nocapture
//! CUDA_LAUNCH_STEPS='two halves,wait' cargo test --test safe_programs -- --nocapture
//! ```
//!
//! On a driver as of an older version, or without a function: with the variables of the harness, such as `CUDA_LAUNCH_HARNESS_VERSION=11.8`.

#![allow(unsafe_code)] // The environment, before anything else runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/at_thread_end.rs"]
mod at_thread_end;
#[path = "safe_programs/branches.rs"]
mod branches;
#[path = "safe_programs/change.rs"]
mod change;
#[path = "safe_programs/chunks.rs"]
mod chunks;
#[path = "safe_programs/copies.rs"]
mod copies;
#[path = "safe_programs/events.rs"]
mod events;
#[path = "safe_programs/graph_witness.rs"]
mod graph_witness;
#[path = "safe_programs/graphs.rs"]
mod graphs;
#[path = "safe_programs/host_memory.rs"]
mod host_memory;
#[path = "safe_programs/kinds.rs"]
mod kinds;
#[path = "safe_programs/lent.rs"]
mod lent;
#[path = "safe_programs/levels.rs"]
mod levels;
#[path = "safe_programs/mappings.rs"]
mod mappings;
#[path = "safe_programs/memory.rs"]
mod memory;
#[path = "safe_programs/named.rs"]
mod named;
#[path = "safe_programs/operations.rs"]
mod operations;
#[path = "safe_programs/own_streams.rs"]
mod own_streams;
#[path = "safe_programs/pause.rs"]
mod pause;
#[path = "safe_programs/pictures.rs"]
mod pictures;
#[path = "safe_programs/pools.rs"]
mod pools;
#[path = "safe_programs/program.rs"]
mod program;
#[path = "safe_programs/replays.rs"]
mod replays;
#[path = "safe_programs/rows.rs"]
mod rows;
#[path = "safe_programs/shared_pools.rs"]
mod shared_pools;
#[path = "support/spies.rs"]
mod spies;
#[path = "safe_programs/streams.rs"]
mod streams;
#[path = "safe_programs/tensors.rs"]
mod tensors;
#[path = "safe_programs/tiles.rs"]
mod tiles;
#[path = "safe_programs/transfers.rs"]
mod transfers;
#[path = "safe_programs/tree_launches.rs"]
mod tree_launches;
#[path = "safe_programs/trees.rs"]
mod trees;
#[path = "safe_programs/variables.rs"]
mod variables;

use cuda_harness::{Environment, Kind, Ledger, Spy, wait_until};
use cuda_launch::operation::in_flight;
use std::panic::{AssertUnwindSafe, catch_unwind};

const PROGRAMS: u64 = 500;

/// Whether nothing is there but pools that were made current.
fn is_released(ledger: &Ledger) -> bool {
    let pools = ledger.count(Kind::Pool);
    ledger.live().len() == pools && pools == pools::lasting()
}

/// What is there once the work that nobody waits for has ended.
fn left(spy: &Spy) -> Ledger {
    // The caller says what is left.
    let _ = wait_until("all is released", || in_flight() == 0 && is_released(&spy.ledger()));
    spy.ledger()
}

/// A binary with this test alone: it counts what the process has.
#[test]
fn random_programs_do_what_their_text_says_and_leave_nothing() {
    // SAFETY: the binary has this test alone: the harness's own thread waits for it, and no driver was asked for anything yet.
    unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") };
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (first, programs) = (number("CUDA_LAUNCH_SEED"), number("CUDA_LAUNCH_RANDOM_PROGRAMS"));
    let programs = programs.unwrap_or(if first.is_some() { 1 } else { PROGRAMS });
    let seeds = first.unwrap_or(0)..first.unwrap_or(0) + programs;
    let only = std::env::var("CUDA_LAUNCH_STEPS").unwrap_or_default();
    let only: Vec<_> = only.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let asked = Environment::read().unwrap();
    let spy =
        asked.map_or_else(spies::spy, |asked| asked.over(&cuda_launch::default_driver().unwrap()).unwrap());
    let driver = pause::driver(spy.driver());
    let mut steps = 0;
    for seed in seeds {
        // The calls of the one before are not needed.
        spy.clear();
        // Panics are part of the programs.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let result = catch_unwind(AssertUnwindSafe(|| program::run(&driver, seed, &only, programs == 1)));
        std::panic::set_hook(hook);
        let again = format!("again: CUDA_LAUNCH_SEED={seed} cargo test --test safe_programs -- --nocapture");
        steps += result.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            panic!("program {seed}: {text}\n  {again}")
        });
        let left = left(&spy);
        assert!(
            is_released(&left) && left.problems().is_empty(),
            "program {seed} left these behind\n{left}\n  {again}"
        );
    }
    println!("{steps} steps");
}
