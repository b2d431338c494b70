//! The orders of events that loom tries: how the end of work reaches a future (`src/operation/completion.rs` with loom's locks,
//! `mark_queues.rs`, which decides what the worker asks, and `src/driver/table.rs`, the way to it), that no access to memory loses its order (the core of
//! `src/ordering`), and that a capture has all that its streams were given (`src/ordering/capture_turns.rs`), also beside waits for its context
//! (`src/driver/capture/context_waits.rs`).
//!
//! A model is a small program: it submits work, a device comes to the end of it or faults, a future is awaited, dropped or kept,
//! the worker sleeps, looks and retires. Loom runs it in every order with 2 to 4 switches of threads that do not wait (each model says how many), and fails where a thread waits forever, where
//! memory is touched by two at a time, or where a check here fails. `cargo xtask gate loom` runs them, by
//!
//! ```text
//! RUSTFLAGS="--cfg cuda_launch_loom" cargo test --release --package cuda-launch-loom --target-dir target/loom
//! ```

#![cfg(cuda_launch_loom)]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../src/ordering/accesses.rs"]
#[allow(dead_code)] // Only the models use it.
mod accesses;
#[path = "../../src/ordering/capture_turns.rs"]
#[allow(dead_code)] // Only the models use it.
mod capture_turns;
#[cfg(test)]
mod captures;
#[path = "../../src/operation/completion.rs"]
#[allow(dead_code)] // Only the models use it.
mod completion;
#[path = "../../src/driver/capture/context_waits.rs"]
#[allow(dead_code)] // Only the models use it.
mod context_waits;
#[cfg(test)]
mod ended;
#[path = "../../src/ordering/entries.rs"]
#[allow(dead_code)] // Only the models use it.
mod entries;
#[cfg(test)]
mod lanes;
#[path = "../../src/operation/mark_queues.rs"]
#[allow(dead_code)] // Only the models use it.
mod mark_queues;
#[cfg(test)]
mod models;
#[cfg(test)]
mod ordering;
#[path = "../../src/ordering/submissions.rs"]
#[allow(dead_code)] // Only the models use it.
mod submissions;
mod sync;
#[path = "../../src/driver/table.rs"]
#[allow(dead_code)] // Only the models use it.
mod table;
#[path = "../../src/ordering/unborrowed.rs"]
#[allow(dead_code)] // Only the models use it.
mod unborrowed;
#[path = "../../src/ordering/waits.rs"]
#[allow(dead_code)] // Only the models use it.
mod waits;
mod world;
