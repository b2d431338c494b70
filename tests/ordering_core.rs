//! The core of `src/ordering` alone, on one thread: what is ordered, what waits for what, and how long its lists become. It includes
//! the files, as `tests/loom` does, which runs them with threads. Runs under Miri (`cargo miri test --test ordering_core`).

#![allow(clippy::unwrap_used)]

#[path = "../src/ordering/accesses.rs"]
#[allow(dead_code, unreachable_pub)] // This program uses a part of it.
mod accesses;
#[path = "../src/ordering/capture_turns.rs"]
#[allow(dead_code, unreachable_pub)]
mod capture_turns;
#[path = "../src/ordering/entries.rs"]
mod entries;
#[path = "../src/ordering/submissions.rs"]
#[allow(dead_code, unreachable_pub)]
mod submissions;
#[path = "../src/ordering/sync.rs"]
mod sync;
#[path = "../src/ordering/unborrowed.rs"]
mod unborrowed;
#[path = "../src/ordering/waits.rs"]
mod waits;

#[path = "ordering_core/captures.rs"]
mod captures;
#[path = "ordering_core/counts.rs"]
mod counts;
#[path = "ordering_core/ended.rs"]
mod ended;
#[path = "ordering_core/handles.rs"]
mod handles;
#[path = "ordering_core/launches.rs"]
mod launches;
#[path = "ordering_core/lists.rs"]
mod lists;
#[path = "ordering_core/model.rs"]
mod model;
#[path = "ordering_core/order.rs"]
mod order;
