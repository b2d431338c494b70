//! Launches that are described, and not submitted, on several threads at once: what they share shows here.

use std::sync::Barrier;
use std::time::Instant;

use crate::Bench;
use crate::measure::{Effort, median};
use crate::ours::Ours;
use crate::with_cuda_rust::CudaRust;

pub(crate) const NAME: &str = "threads";
const THREADS: [usize; 3] = [1, 4, 16];

/// Measures and prints a table: launches described per second, of all threads together.
pub(crate) fn print(bench: &Bench, effort: &Effort) {
    println!("\nLaunches described and dropped on several threads; millions per second:\n");
    println!(
        "| threads | `AsyncKernelLaunch::new` of cuda-launch | `AsyncKernelLaunchBuilder::new` of cuda-async |"
    );
    println!("|---|---|---|");
    let (function, theirs) = (&bench.ours.function, &bench.cuda_rust.function);
    for threads in THREADS {
        let mut rates = [const { Vec::new() }; 2];
        // The first round warms everything up.
        for round in 0..=effort.rounds {
            let pair = [
                rate(threads, effort.described, || Ours::describe(function)),
                rate(threads, effort.described, || CudaRust::describe(theirs)),
            ];
            if round > 0 {
                rates.iter_mut().zip(pair).for_each(|(rates, rate)| rates.push(rate));
            }
        }
        let [ours, theirs] = rates.map(median);
        println!("| {threads} | {ours:.1} | {theirs:.1} |");
    }
}

/// Millions per second: each thread does it so often, and the last one to end stops the clock.
fn rate(threads: usize, times: usize, what: impl Fn() + Sync) -> f64 {
    let (barrier, what) = (Barrier::new(threads + 1), &what);
    let time = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                barrier.wait();
                (0..times).for_each(|_| what());
            });
        }
        barrier.wait();
        Instant::now()
    })
    .elapsed();
    (threads * times) as f64 / time.as_secs_f64() / 1e6
}
