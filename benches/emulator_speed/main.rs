//! How fast the emulator's interpreter is: sixteen kernels, in nanoseconds per PTX instruction and thread, each beside a loop in Rust that
//! does the same on one core.
//!
//! `cargo bench --bench emulator_speed [NAME]` measures the kernels whose names contain NAME, on one worker and on two. The numbers of one
//! worker and of the loops are times of the processor; those of two are those of a quiet machine or none. "cpu 2/1" is the processor's time of
//! two workers together divided by that of one: what they cost each other, also on a busy machine; on a quiet one two are twice as fast as one,
//! divided by that. What does not depend on the machine is how many instructions it takes, one kernel at a time:
//! `valgrind --tool=callgrind '--toggle-collect=*grid::Work::run*' target/release/deps/emulator_speed-HASH --count NAME` runs it once, small,
//! and collects what the worker executes. `callgrind_annotate` says where that goes.
//!
//! `cargo bench --bench emulator_speed -- --looks [NAME]` measures what it costs to look at kernels, on one worker: the processor's time of a
//! run that is counted (`profile`, and coverage of device code, which counts the same), of one under all checks, and of each order of
//! `--schedules`, divided by that of a plain run. The kernels are small there.
//!
//! The last row is a launch of an empty kernel and the wait for it, through the driver. `--launches COUNT` does that alone: the difference of
//! what callgrind counts for two such numbers, divided by theirs, is what it costs in instructions. `--variables COUNT` loads a module with
//! that many variables. `cargo xtask gate emulator-cost` compares these counts, and those of the kernels, with limits. The program fails if a
//! kernel's result is not that of its loop.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod case;
mod cases;
mod clock;
mod launch;
mod looks;

/// Runs of which the best counts.
const RUNS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let counts = arguments.iter().any(|argument| argument == "--count");
    let name = arguments.iter().find(|argument| !argument.starts_with("--")).map_or("", String::as_str);
    if counts {
        return count(name);
    }
    if arguments.iter().any(|argument| argument == "--launches") {
        return launch::launches(name.parse().unwrap(), drop);
    }
    if arguments.iter().any(|argument| argument == "--variables") {
        return launch::variables(name.parse().unwrap());
    }
    if arguments.iter().any(|argument| argument == "--looks") {
        return looks::measure(name);
    }
    println!(
        "{:<18} {:>12} {:>12} {:>8} {:>12} {:>9} {:>8}",
        "", "ns, 1 worker", "2 workers", "cpu 2/1", "million", "loop", "ratio"
    );
    for case in cases::all(false).into_iter().filter(|case| case.name.contains(name)) {
        let (loop_time, wanted) = case.native(RUNS);
        let [one, two] = [1, 2].map(|workers| {
            let (time, result) = case.run(workers, RUNS);
            case.compare(&result, &wanted);
            time
        });
        let each = |time: case::Time| time.time.as_nanos() as f64 / time.instructions as f64;
        println!(
            "{:<18} {:>12.3} {:>12.3} {:>8.2} {:>12.0} {:>7.1?} {:>8.0}",
            case.name,
            each(one),
            each(two),
            two.processor.as_secs_f64() / one.processor.as_secs_f64(),
            one.instructions as f64 / 1e6,
            loop_time,
            one.time.as_secs_f64() / loop_time.as_secs_f64(),
        );
    }
    if "launch and wait".contains(name) {
        println!("{:<18} {:>12.0} ns", "launch and wait", launch::empty());
    }
}

/// Runs each kernel of that name once on one worker: for a simulator that counts instructions.
fn count(name: &str) {
    for case in cases::all(true).into_iter().filter(|case| case.name.contains(name)) {
        let (time, result) = case.run(1, 1);
        case.compare(&result, &case.native(1).1);
        println!("{}: {} instructions of threads", case.name, time.instructions);
    }
}
