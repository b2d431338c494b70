//! Random programs in safe code against what the same steps do one after the other: buffers, halves of them on two threads, arrays,
//! pinned memory, streams of all kinds, graphs, captures, two devices, host functions, drops, forgets, panics. Whatever a program
//! does, its results are those of its text, and nothing stays behind.
//!
//! A failure names its seed. Another number of programs, or one of them:
//!
//! ```text
//! CUDA_LAUNCH_RANDOM_PROGRAMS=20000 cargo test --test safe_programs -- --nocapture
//! CUDA_LAUNCH_SEED=123 cargo test --test safe_programs -- --nocapture
//! ```

#![allow(unsafe_code)] // The environment, before anything else runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/inject.rs"]
mod inject;
#[path = "safe_programs/program.rs"]
mod program;

use std::panic::{AssertUnwindSafe, catch_unwind};

const PROGRAMS: u64 = 500;

/// A binary with this test alone: it counts what the process has.
#[test]
fn random_programs_do_what_their_text_says_and_leave_nothing() {
    // SAFETY: no other thread of this process runs yet that reads the environment.
    unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") };
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let seeds = match number("CUDA_LAUNCH_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("CUDA_LAUNCH_RANDOM_PROGRAMS").unwrap_or(PROGRAMS),
    };
    let driver = inject::driver("");
    let mut steps = 0;
    for seed in seeds {
        // Panics are part of the programs.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let result = catch_unwind(AssertUnwindSafe(|| program::run(&driver, seed)));
        std::panic::set_hook(hook);
        let again = format!("again: CUDA_LAUNCH_SEED={seed} cargo test --test safe_programs");
        steps += result.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            panic!("program {seed}: {text}\n  {again}")
        });
        assert_eq!(inject::live(), Default::default(), "program {seed} left these behind\n  {again}");
    }
    println!("{steps} steps");
}
